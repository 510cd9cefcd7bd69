//! Makes the requests of a trace fit a device.
//!
//! Layer: rank 6. Main types: [`Fit`], [`Beyond`], [`Ragged`], [`Fitted`]. A trace comes from another disk, often a
//! larger one, perhaps with other blocks. What is done with requests that do not fit is chosen, and
//! what was done is counted, so that a report can say it.

use super::problem::Problem;
use super::record::{Kind, Record};
use boardlab_block::Geometry;
use boardlab_sim::Bytes;

/// What is done with a request, or a part of one, behind the end of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Beyond {
    /// It is an error.
    #[default]
    Refuse,
    /// That part is left out.
    Clamp,
    /// Places count modulo the size of the device.
    Wrap,
}

/// What is done with a request that is not made of whole blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Ragged {
    /// It is an error.
    #[default]
    Refuse,
    /// It takes the blocks that it touches.
    Widen,
}

/// What was done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Fitted {
    /// Requests that were cut.
    pub cut: u64,
    /// Requests that were left out.
    pub dropped: u64,
    /// Requests that were moved by whole sizes of the device.
    pub wrapped: u64,
    /// Requests that were widened to whole blocks.
    pub widened: u64,
}

/// Makes requests fit a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fit {
    size: u64,
    block: Bytes,
    beyond: Beyond,
    ragged: Ragged,
    done: Fitted,
}

impl Fit {
    /// For a device of this shape.
    #[must_use]
    pub fn new(geometry: &Geometry, beyond: Beyond, ragged: Ragged) -> Self {
        let (size, block) = (geometry.size().get(), geometry.block);
        Self { size, block, beyond, ragged, done: Fitted::default() }
    }

    /// What was done so far.
    #[must_use]
    pub const fn done(&self) -> Fitted {
        self.done
    }

    /// Calls `each` with the parts of a request that are asked of the device, in order: none, one, or
    /// two where it goes on at the start.
    ///
    /// # Errors
    /// [`Problem::NotBlocks`], [`Problem::Beyond`].
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
        let beyond = Problem::Beyond { offset: offset_found, length: length_found, size };
        match self.beyond {
            Beyond::Refuse => return Err(beyond),
            Beyond::Clamp if offset >= self.size => self.done.dropped += 1,
            Beyond::Clamp => {
                self.done.cut += 1;
                each(Record { length: Bytes::new(self.size - offset), ..record });
            }
            Beyond::Wrap if length > self.size => return Err(beyond),
            Beyond::Wrap => {
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
            (Ragged::Widen, Some(end)) => {
                self.done.widened += 1;
                let (offset, length) = (Bytes::new(start), Bytes::new(end - start));
                Ok(Record { offset, length, ..record })
            }
            _ => Err(refused),
        }
    }
}
