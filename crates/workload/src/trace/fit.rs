//! Adapts the requests of a trace to a device.
//!
//! Layer: rank 6. Main types: [`Fit`], [`BeyondEnd`], [`UnalignedPolicy`], [`FitCounts`]. A trace comes
//! from another disk, often a larger one, perhaps with other block sizes. The caller chooses how
//! requests that do not fit are handled, and the cases are counted for the report.

use super::problem::Problem;
use super::record::{Kind, Record};
use boardlab_block::Geometry;
use boardlab_sim::Bytes;

/// How a request, or a part of one, beyond the end of the device is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum BeyondEnd {
    /// It is an error.
    #[default]
    Refuse,
    /// The part is dropped.
    Clamp,
    /// Offsets wrap modulo the size of the device.
    Wrap,
}

/// How a request that does not consist of whole blocks is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum UnalignedPolicy {
    /// It is an error.
    #[default]
    Refuse,
    /// It is widened to the blocks that it touches.
    Widen,
}

/// The counts so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct FitCounts {
    /// Requests that were cut.
    pub cut: u64,
    /// Requests that were left out.
    pub dropped: u64,
    /// Requests that were moved by multiples of the device size.
    pub wrapped: u64,
    /// Requests that were widened to whole blocks.
    pub widened: u64,
}

/// Adapts requests to a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    size: u64,
    block: Bytes,
    beyond: BeyondEnd,
    ragged: UnalignedPolicy,
    done: FitCounts,
}

impl Fit {
    /// Adapts requests to a device of this geometry.
    #[must_use]
    pub fn new(geometry: &Geometry, beyond: BeyondEnd, ragged: UnalignedPolicy) -> Self {
        let (size, block) = (geometry.size().get(), geometry.block);
        Self { size, block, beyond, ragged, done: FitCounts::default() }
    }

    /// The counts so far.
    #[must_use]
    pub const fn done(&self) -> FitCounts {
        self.done
    }

    /// Calls `each` with the parts of a request for the device, in order: none, one, or two when it
    /// wraps.
    ///
    /// # Errors
    /// [`Problem::NotBlocks`], [`Problem::BeyondEnd`].
    pub fn fit(&mut self, record: Record, mut each: impl FnMut(Record)) -> Result<(), Problem> {
        if record.kind == Kind::Flush {
            each(record);
            return Ok(());
        }
        let record = self.whole_blocks(record)?;
        let (offset, length) = (record.offset.get(), record.length.get());
        if offset.checked_add(length).is_some_and(|end| end <= self.size) {
            each(record);
            return Ok(());
        }
        let size = Bytes::new(self.size);
        let (offset_found, length_found) = (record.offset, record.length);
        let beyond = Problem::BeyondEnd { offset: offset_found, length: length_found, size };
        match self.beyond {
            BeyondEnd::Refuse => return Err(beyond),
            BeyondEnd::Clamp if offset >= self.size => self.done.dropped += 1,
            BeyondEnd::Clamp => {
                self.done.cut += 1;
                each(Record { length: Bytes::new(self.size - offset), ..record });
            }
            BeyondEnd::Wrap if length > self.size => return Err(beyond),
            BeyondEnd::Wrap => {
                self.done.wrapped += 1;
                let start = offset % self.size;
                let first = length.min(self.size - start);
                each(Record { offset: Bytes::new(start), length: Bytes::new(first), ..record });
                if first < length {
                    let (offset, length) = (Bytes::ZERO, Bytes::new(length - first));
                    each(Record { offset, length, flushed: false, ..record });
                }
            }
        }
        Ok(())
    }

    fn whole_blocks(&mut self, record: Record) -> Result<Record, Problem> {
        let (offset, length) = (record.offset, record.length);
        let block = self.block;
        if offset.is_multiple_of(block) && length.is_multiple_of(block) {
            return Ok(record);
        }
        let refused = Problem::NotBlocks { block, offset, length };
        let unit = block.get();
        let start = offset.get() / unit * unit;
        let end = offset.get().checked_add(length.get()).map(|end| end.div_ceil(unit));
        let end = end.and_then(|end| end.checked_mul(unit));
        match (self.ragged, end) {
            (UnalignedPolicy::Widen, Some(end)) => {
                self.done.widened += 1;
                let (offset, length) = (Bytes::new(start), Bytes::new(end - start));
                Ok(Record { offset, length, ..record })
            }
            _ => Err(refused),
        }
    }
}
