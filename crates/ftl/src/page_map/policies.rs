//! The policies of a page-mapped layer, checked against the part.
//!
//! Layer: configuration of the mechanism. Main type: [`Policies`]. It also accounts for
//! over-provisioning: which blocks hold no data, and how many a part needs at least. Source: the
//! definition of the effective spare factor in Desnoyers (SYSTOR 2012): physical pages without
//! reserve and open blocks.

use crate::error::Error;
use crate::geometry::Geometry;
use crate::page_map::demand_map::MapMemory;
use crate::page_map::slc_cache::Cache;
use crate::policy::collection::Collection;
use crate::policy::levelling::Levelling;
use crate::policy::streams::Streams;

/// How a block without valid pages is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum EmptyBlocks {
    /// It is erased and freed at once.
    #[default]
    Returned,
    /// It stays until garbage collection takes it. Dynamic wear levelling then has hardly any free
    /// blocks to choose among, and does nothing: a defect that real controllers had, for what-ifs.
    Kept,
}

/// When wear levelling moves data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum LevellingTime {
    /// Whenever the host needs a new block.
    #[default]
    Foreground,
    /// Only while the host is idle.
    Idle,
}

/// The policies of a page-mapped layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policies {
    /// Victim selection.
    pub collection: Collection,
    /// Wear levelling.
    pub levelling: Levelling,
    /// When wear levelling runs.
    pub levelling_time: LevellingTime,
    /// Write streams.
    pub streams: Streams,
    /// How blocks without valid pages are handled.
    pub emptied: EmptyBlocks,
    /// The SLC cache.
    pub cache: Cache,
    /// Where the page map is kept.
    pub map: MapMemory,
    /// Free blocks below which garbage collection runs: at least one to copy into.
    pub reserve: u32,
    /// Free blocks above the reserve that background collection aims at.
    pub idle_blocks: u32,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            collection: Collection::Greedy,
            levelling: Levelling::Dynamic,
            levelling_time: LevellingTime::Foreground,
            streams: Streams::CopiesApart,
            emptied: EmptyBlocks::Returned,
            cache: Cache::default(),
            map: MapMemory::Whole,
            reserve: 1,
            idle_blocks: 0,
        }
    }
}

impl Policies {
    /// The number of open blocks: one for each stream, one for data moved by wear levelling, one
    /// for translation pages. That of the cache is one of its own blocks.
    #[must_use]
    pub fn frontiers(&self) -> u32 {
        let map = matches!(self.map, MapMemory::Cached { .. });
        u32::from(self.streams.count()) + u32::from(self.levelling.moves()) + u32::from(map)
    }

    /// The number of blocks that hold no data in the steady state: the reserve, and all open blocks
    /// but the one that counts as full when it is the victim.
    #[must_use]
    pub fn kept_blocks(&self) -> u32 {
        self.reserve + self.frontiers() - 1 + self.cache.fixed_blocks()
    }

    /// The minimum number of good blocks to hold `logical` blocks of data: with fewer, garbage
    /// collection could find only valid pages.
    #[must_use]
    pub fn blocks_needed(&self, logical: u32) -> u32 {
        let kept = self.reserve.saturating_add(self.cache.fixed_blocks());
        logical.saturating_add(kept).saturating_add(self.frontiers())
    }

    /// Whole blocks that the host's pages and the translation pages fill.
    #[must_use]
    pub fn logical_blocks(&self, geometry: &Geometry) -> u32 {
        let pages = geometry.logical_pages().saturating_add(self.map.pages(geometry));
        pages.div_ceil(geometry.pages_per_block())
    }

    /// Index of the open block of translation pages.
    pub(crate) fn map_stream(&self) -> u8 {
        self.cache_stream() + 1
    }

    /// Index of the open block of the cache, behind all others.
    pub(crate) fn cache_stream(&self) -> u8 {
        self.streams.count() + u8::from(self.levelling.moves())
    }

    pub(crate) fn checked(self, geometry: &Geometry) -> Result<Self, Error> {
        self.collection.checked()?;
        self.levelling.checked()?;
        self.streams.checked(geometry)?;
        if matches!(self.streams, Streams::ByClass { .. }) && self.cache.is_on() {
            let what = "caches beside streams of known classes";
            return Err(Error::Policy { what, found: 1, least: 0, most: 0 });
        }
        self.cache.checked(geometry)?;
        self.map.checked(geometry)?;
        if self.reserve == 0 {
            let (what, most) = ("reserve of free blocks", u64::from(geometry.blocks()));
            return Err(Error::Policy { what, found: 0, least: 1, most });
        }
        let logical = self.logical_blocks(geometry);
        let pool = self.streams.pool_spare(geometry.pages_per_block());
        let (blocks, needed) =
            (geometry.blocks(), self.blocks_needed(logical).saturating_add(pool));
        if blocks < needed {
            return Err(Error::TooFewBlocks { blocks, needed, logical });
        }
        Ok(self)
    }
}
