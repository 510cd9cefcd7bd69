//! The cause of each flash operation: every program, read and erase has exactly one.
//!
//! Layer: vocabulary that all layers below the host share. Main types: [`Cause`], [`ByCause`]. The
//! counts by cause add up to all operations; [`crate::counters`] asserts it. Source: the write
//! amplification of Hu et al. (SYSTOR 2009) split by its sources.

use std::ops::{AddAssign, Index, IndexMut};

/// The cause of an operation of the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A request of the host.
    Host,
    /// Garbage collection moves valid pages.
    Collection,
    /// Wear levelling moves data.
    Levelling,
    /// Data move out of the SLC cache.
    Fold,
    /// A log block is merged with its data block.
    Merge,
    /// The map itself is read or written.
    Map,
    /// A flash page is filled up because the host flushed.
    Padding,
    /// Data are rewritten before retention loss or read disturb makes them unreadable.
    Refresh,
    /// A page is read again because it had too many bit errors.
    Retry,
}

impl Cause {
    /// All causes, in the order in which they are shown.
    pub const ALL: [Self; 9] = [
        Self::Host,
        Self::Collection,
        Self::Levelling,
        Self::Fold,
        Self::Merge,
        Self::Map,
        Self::Padding,
        Self::Refresh,
        Self::Retry,
    ];

    /// The name in tables, such as `collection`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Collection => "collection",
            Self::Levelling => "levelling",
            Self::Fold => "fold",
            Self::Merge => "merge",
            Self::Map => "map",
            Self::Padding => "padding",
            Self::Refresh => "refresh",
            Self::Retry => "retry",
        }
    }
}

/// One number for each cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ByCause([u64; Cause::ALL.len()]);

impl ByCause {
    /// The sum over all causes.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Iterates over causes and numbers, zeros included.
    pub fn iter(&self) -> impl Iterator<Item = (Cause, u64)> + '_ {
        Cause::ALL.into_iter().zip(self.0)
    }

    /// The difference to `earlier`.
    ///
    /// # Panics
    /// When a count has decreased.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut difference = *self;
        for (mine, before) in difference.0.iter_mut().zip(earlier.0) {
            *mine = mine.checked_sub(before).expect("counts by cause never fall");
        }
        difference
    }
}

impl AddAssign<&Self> for ByCause {
    #[inline]
    fn add_assign(&mut self, more: &Self) {
        self.0.iter_mut().zip(more.0).for_each(|(mine, more)| *mine += more);
    }
}

impl Index<Cause> for ByCause {
    type Output = u64;
    #[inline]
    fn index(&self, cause: Cause) -> &u64 {
        &self.0[cause as usize]
    }
}

impl IndexMut<Cause> for ByCause {
    #[inline]
    fn index_mut(&mut self, cause: Cause) -> &mut u64 {
        &mut self.0[cause as usize]
    }
}
