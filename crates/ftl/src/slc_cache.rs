//! A cache of cells used with one bit: quick to program, and folded into ordinary blocks later.
//!
//! Layer: a stream of the mechanism with blocks of its own. Main types: [`Cache`], [`CacheSize`],
//! [`WhenFull`]. Host data go into an open cache block first. Folding moves what is still valid of the
//! oldest cache block into ordinary blocks: garbage collection by another name ([`Cause::Fold`]), and a block
//! whose data were overwritten meanwhile costs nothing.
//!
//! ```text
//!   host --> open cache block --> closed cache blocks --fold--> stream 0 --> ordinary blocks
//!              `-- no room: fold now, or write to stream 0 at once
//! ```
//!
//! Source: the static and dynamic caches that data sheets and reviews describe (Micron, "Optimized
//! client computing with dynamic write acceleration", 2014); the policies of one product are
//! not published, so which is used is a parameter. Left out: reading data to decide what is worth caching, and
//! folding within the die without a transfer.

use crate::cause::Cause;
use crate::error::Error;
use crate::geometry::Geometry;
use crate::medium::{CellMode, Medium};
use crate::page_map::PageMapped;
use crate::pool::Tier;
use crate::translation::Event;

/// Which blocks the cache uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CacheSize {
    /// There is no cache.
    #[default]
    None,
    /// So many blocks, which are never used otherwise.
    Fixed(u32),
    /// At most so many blocks, of those that are free at the time.
    Dynamic(u32),
}

/// What a write does that finds the cache full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WhenFull {
    /// It waits until a block is folded.
    #[default]
    Fold,
    /// It goes to ordinary blocks.
    Bypass,
}

/// The cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cache {
    /// Which blocks.
    pub size: CacheSize,
    /// Bits of a cell in ordinary use: a cache block has so many times fewer pages.
    pub bits: u32,
    /// What happens when it is full.
    pub when_full: WhenFull,
    /// Whether it is folded while the host is away.
    pub fold_when_idle: bool,
}

impl Default for Cache {
    fn default() -> Self {
        let (size, when_full) = (CacheSize::None, WhenFull::Fold);
        Self { size, bits: 3, when_full, fold_when_idle: true }
    }
}

impl Cache {
    /// Whether there is one.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        !matches!(self.size, CacheSize::None)
    }

    /// Blocks that ordinary data never get.
    #[must_use]
    pub const fn fixed_blocks(&self) -> u32 {
        match self.size {
            CacheSize::Fixed(blocks) => blocks,
            CacheSize::None | CacheSize::Dynamic(_) => 0,
        }
    }

    /// Pages of a cache block: whole rows.
    #[must_use]
    pub fn pages(&self, geometry: &Geometry) -> u32 {
        let row = geometry.stripe().row_pages();
        geometry.pages_per_block() / self.bits.max(1) / row * row
    }

    /// The same, when it makes sense on this part.
    ///
    /// # Errors
    /// [`Error::Policy`] when there are no blocks, or a block would have no page.
    pub fn checked(self, geometry: &Geometry) -> Result<Self, Error> {
        if matches!(self.size, CacheSize::Fixed(0) | CacheSize::Dynamic(0)) {
            let (what, most) = ("blocks of the cache", geometry.blocks().into());
            return Err(Error::Policy { what, found: 0, least: 1, most });
        }
        let rows = geometry.pages_per_block() / geometry.stripe().row_pages();
        if self.is_on() && !(1..=rows).contains(&self.bits) {
            let (what, found) = ("bits of a cell", self.bits.into());
            return Err(Error::Policy { what, found, least: 1, most: rows.into() });
        }
        Ok(self)
    }
}

impl<M: Medium> PageMapped<M> {
    /// The open block that the host's data go to: the cache's with room in it, or stream 0.
    #[inline]
    pub(crate) fn cache_or_main(&mut self) -> u8 {
        let stream = self.policies.cache_stream();
        if self.frontiers[usize::from(stream)].room() > 0 || self.open_cache_block() {
            stream
        } else {
            0
        }
    }

    /// Opens the next cache block, after folding if need be; whether there is one.
    #[cold]
    fn open_cache_block(&mut self) -> bool {
        let stream = self.policies.cache_stream();
        self.close(stream);
        loop {
            if let Some(block) = self.take_cache_block() {
                self.fill(block, stream, CellMode::SingleBit);
                return true;
            }
            self.events.add(Event::CacheFull);
            if self.policies.cache.when_full == WhenFull::Bypass || !self.fold_oldest() {
                return false;
            }
        }
    }

    fn take_cache_block(&mut self) -> Option<u32> {
        let CacheSize::Dynamic(most) = self.policies.cache.size else {
            return self.pool.take_free(Tier::Cache);
        };
        let used = u32::try_from(self.pool.closed(Tier::Cache).len()).expect("blocks fit u32");
        // The data must fit into ordinary blocks without those of the cache, this one included.
        let map = self.policies.map.pages(&self.geometry);
        let pages = self.mapped + map + self.policies.cache.pages(&self.geometry);
        let logical = pages.div_ceil(self.geometry.pages_per_block());
        let needed = self.policies.blocks_needed(logical) + used + 1;
        let good = self.geometry.blocks() - self.pool.retired();
        if used >= most || needed > good || self.pool.free(Tier::Main) <= self.policies.reserve {
            return None;
        }
        let block = self.pool.take_free(Tier::Main)?;
        self.pool.set_tier(block, Tier::Cache);
        Some(block)
    }

    /// Empties the oldest closed block of the cache; whether there was one.
    pub(crate) fn fold_oldest(&mut self) -> bool {
        let stream = self.policies.cache_stream();
        if self.frontiers[usize::from(stream)].room() == 0 {
            self.close(stream);
        }
        let Some(victim) = self.pool.by_age(Tier::Cache).next() else { return false };
        let room = self.frontiers[0].room();
        while self.pool.valid(victim) > room && self.pool.free(Tier::Main) <= self.policies.reserve
        {
            if !self.collect_next() {
                return false;
            }
        }
        self.empty(victim, 0, Cause::Fold)
    }

    /// The set that an erased block returns to.
    pub(crate) fn home(&self, block: u32) -> Tier {
        match self.policies.cache.size {
            CacheSize::Fixed(_) => self.pool.tier(block),
            CacheSize::None | CacheSize::Dynamic(_) => Tier::Main,
        }
    }
}
