//! An open block and its fill level.
//!
//! Layer: part of the mechanism. Main type: [`Frontier`].

use crate::geometry::PageRun;

const NONE: u32 = u32::MAX;

/// The block that a stream fills, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frontier {
    block: u32,
    next: u32,
    end: u32,
}

impl Frontier {
    /// No block is open.
    pub(crate) const CLOSED: Self = Self { block: NONE, next: 0, end: 0 };

    /// An erased block of `pages` pages.
    pub(crate) const fn new(block: u32, pages: u32) -> Self {
        Self { block, next: 0, end: pages }
    }

    pub(crate) fn block(&self) -> Option<u32> {
        (self.block != NONE).then_some(self.block)
    }

    /// Pages that are still erased.
    #[inline]
    pub(crate) const fn room(&self) -> u32 {
        self.end - self.next
    }

    /// The first page that is still erased.
    #[inline]
    pub(crate) const fn next(&self) -> u32 {
        self.next
    }

    /// Takes the next pages: `most`, or all that are left if fewer.
    #[inline]
    pub(crate) fn take(&mut self, most: u32) -> PageRun {
        let run = PageRun { block: self.block, offset: self.next, count: most.min(self.room()) };
        self.next += run.count;
        run
    }

    /// Whether the pages taken so far end at a multiple of `units`.
    pub(crate) const fn is_aligned(&self, units: u32) -> bool {
        self.next.is_multiple_of(units)
    }

    /// Takes the pages up to the next multiple of `units`, if there are any.
    pub(crate) fn fill_up(&mut self, units: u32) -> Option<PageRun> {
        let missing = self.next.next_multiple_of(units) - self.next;
        (missing > 0 && self.room() > 0).then(|| self.take(missing))
    }
}
