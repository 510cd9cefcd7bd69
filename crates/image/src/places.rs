//! Places on a flash: block, page, and offset in the file.
//!
//! Layer: rank 7. Main type: [`Places`].

use crate::dump::Dump;
use crate::health::Step;
use crate::shape::Shape;
use boardlab_sim::Bytes;
use std::ops::Range;

/// Converts flash offsets to block, page, and place in the file.
#[derive(Debug, Clone, Copy)]
pub struct Places {
    shape: Shape,
    /// The offset of the filesystem in the file.
    start: Bytes,
    /// The bytes of a page, or of the unit used instead.
    pub unit: Bytes,
    /// The data bytes of an ECC step.
    pub step: Bytes,
}

/// The conversion for a NOR without damage.
impl Default for Places {
    fn default() -> Self {
        let shape = Shape::nor(Bytes::kib(64));
        Self { shape, start: Bytes::ZERO, unit: Bytes::new(512), step: Bytes::ZERO }
    }
}

impl Places {
    /// The conversion for the flash `dump`, which begins at `start` of the file.
    pub(crate) fn of(dump: &Dump, start: Bytes) -> Self {
        Self { shape: dump.shape(), start, unit: dump.unit(), step: dump.step() }
    }

    /// The block of an offset.
    #[must_use]
    pub fn block(&self, at: Bytes) -> u64 {
        at / self.shape.block
    }

    /// The page of an offset within its block; `None` without pages.
    #[must_use]
    pub fn page(&self, at: Bytes) -> Option<u64> {
        let within = at - self.shape.block * self.block(at);
        self.shape.is_nand().then(|| within / self.shape.page)
    }

    /// The offset in the file.
    #[must_use]
    pub fn in_file(&self, at: Bytes) -> Bytes {
        self.start + self.shape.in_file(at)
    }

    /// The range of an ECC step on the flash.
    #[must_use]
    pub fn of_step(&self, step: &Step) -> Range<Bytes> {
        let start = self.unit * step.page + self.step * step.step;
        start..start + self.step
    }
}
