//! Which pages share open blocks: the separation of hot from cold data.
//!
//! Layer: policy. Main type: [`Streams`]. Each stream fills a block of its own, so pages that
//! become invalid at the same time lie together. Sources: a stream for copies, Dayan, Bonnet,
//! "Garbage collection techniques for flash-resident page-mapping FTLs" (2015) and the measurements
//! in this project's table of anchors; generations, Chiang, Lee, Chang, "Using data clustering to
//! improve cleaning performance for flash memory" (DAC: pages are promoted on update and demoted on
//! cleaning, 1999).
//!
//! Pools of known classes, each with its share of the over-provisioning: Desnoyers, "Analytic
//! modeling of SSD write performance" (SYSTOR 2012), section on hot and cold data. Left out: more
//! than two classes, and pages that change their class.

use crate::error::Error;
use crate::geometry::Geometry;

/// The separation of pages into streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Streams {
    /// All writes share one open block.
    Single,
    /// Copies of garbage collection have an open block of their own.
    #[default]
    CopiesApart,
    /// This many streams from hot to cold. A copy goes one stream colder than its source block; a
    /// write of the host goes one stream hotter than the block with the former version of the page,
    /// and the first write goes to the hottest.
    Generations(u8),
    /// The host has declared the first `hot_pages` hot, as a multi-stream write or a placement hint
    /// does. They have `hot_blocks` blocks of their own, and the other pages have the rest. Each
    /// pool is collected by itself, so its share of the over-provisioning is fixed.
    ByClass {
        /// Logical pages that are hot.
        hot_pages: u32,
        /// The number of blocks for them.
        hot_blocks: u32,
    },
}

impl Streams {
    /// The largest number of streams.
    pub const MOST: u8 = 8;

    /// The number of streams.
    #[must_use]
    pub const fn count(self) -> u8 {
        match self {
            Self::Single => 1,
            Self::CopiesApart | Self::ByClass { .. } => 2,
            Self::Generations(count) => count,
        }
    }

    /// Returns the policy if its numbers are valid on this part.
    ///
    /// # Errors
    /// [`Error::Policy`] for fewer than two or more than eight generations, for a class without
    /// pages, and for a pool without a spare block.
    pub fn checked(self, geometry: &Geometry) -> Result<Self, Error> {
        let count = self.count();
        match self {
            Self::ByClass { hot_pages, hot_blocks } => {
                let most = geometry.logical_pages() - 1;
                let least = hot_pages.div_ceil(geometry.pages_per_block()) + 1;
                let (pages, blocks) = ("hot pages", "blocks of hot pages");
                let refused = |what, found: u32, least: u32, most: u32| Error::Policy {
                    what,
                    found: found.into(),
                    least: least.into(),
                    most: most.into(),
                };
                if hot_pages == 0 || hot_pages > most {
                    return Err(refused(pages, hot_pages, 1, most));
                }
                if hot_blocks < least {
                    return Err(refused(blocks, hot_blocks, least, geometry.blocks()));
                }
                Ok(self)
            }
            Self::Generations(_) if !(2..=Self::MOST).contains(&count) => Err(Error::Policy {
                what: "streams of data",
                found: count.into(),
                least: 2,
                most: Self::MOST.into(),
            }),
            _ => Ok(self),
        }
    }

    /// The stream of a page that is copied from a block of stream `from`.
    #[must_use]
    #[inline]
    pub const fn of_copy(self, from: u8) -> u8 {
        match self {
            Self::Single => 0,
            Self::CopiesApart => 1,
            Self::ByClass { .. } => from,
            Self::Generations(count) if from + 1 < count => from + 1,
            Self::Generations(count) => count - 1,
        }
    }

    /// The stream of a page that the host writes, whose last version lies in a block of stream `old`.
    #[must_use]
    #[inline]
    pub const fn of_host(self, old: u8) -> u8 {
        match self {
            Self::Single | Self::CopiesApart => 0,
            Self::Generations(_) => old.saturating_sub(1),
            Self::ByClass { .. } => old,
        }
    }

    /// The stream of a page whose class is known.
    #[must_use]
    #[inline]
    pub const fn of_class(self, logical: u32) -> Option<u8> {
        match self {
            Self::ByClass { hot_pages, .. } if logical < hot_pages => Some(0),
            Self::ByClass { .. } => Some(1),
            _ => None,
        }
    }

    /// The blocks that a pool of hot pages needs beyond those that its data fill.
    #[must_use]
    pub const fn pool_spare(self, pages_per_block: u32) -> u32 {
        match self {
            Self::ByClass { hot_pages, hot_blocks } => {
                hot_blocks.saturating_sub(hot_pages / pages_per_block)
            }
            _ => 0,
        }
    }

    /// Whether the stream of a write depends on the former location of the page.
    #[must_use]
    pub const fn looks_back(self) -> bool {
        matches!(self, Self::Generations(_))
    }
}
