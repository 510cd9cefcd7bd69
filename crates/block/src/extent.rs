//! Numbers of logical blocks, and ranges of them.
//!
//! Layer: rank 2. Main types: [`Lba`], [`Extent`].

use std::fmt;
use std::ops::Range;

/// Number of a logical block, counted from the start of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Lba(pub u64);

impl fmt::Display for Lba {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A range of consecutive logical blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Extent {
    /// The first block.
    pub first: Lba,
    /// The number of blocks.
    pub count: u64,
}

impl Extent {
    /// The `count` blocks from `first` on.
    #[must_use]
    pub const fn new(first: u64, count: u64) -> Self {
        Self { first: Lba(first), count }
    }

    /// The numbers of the blocks, truncated at the end of u64.
    #[must_use]
    #[inline]
    pub const fn blocks(self) -> Range<u64> {
        self.first.0..self.first.0.saturating_add(self.count)
    }

    /// Whether the two share a block.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        let (ours, theirs) = (self.blocks(), other.blocks());
        self.count > 0 && other.count > 0 && ours.start < theirs.end && theirs.start < ours.end
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}+{}", self.first, self.count))
    }
}
