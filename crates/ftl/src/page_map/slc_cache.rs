//! The SLC cache: blocks in SLC mode, fast to program, and folded into ordinary blocks later.
//!
//! Layer: a stream of the mechanism with blocks of its own. Main types: [`Cache`], [`CacheSize`],
//! [`WhenFull`], [`Folding`]. Admitted host data ([`Admission`]) go into an open cache block first.
//! Folding moves the valid pages of the oldest cache block into ordinary blocks, like garbage
//! collection ([`Cause::Fold`]). A block whose data were all overwritten meanwhile needs no copies.
//!
//! ```text
//!   host --> admitted? --> open cache block --> closed cache blocks --fold--> stream 0 --> ordinary blocks
//!               |            `-- no room: fold now, or write to stream 0 at once
//!               `-- no --> stream 0
//! ```
//!
//! Source: the static and dynamic caches that data sheets and reviews describe (Micron, "Optimized
//! client computing with dynamic write acceleration", 2014); the policies of one product are not
//! published, so which is used is a parameter. Folding within the die, SLC pages into one word
//! line: SanDisk, US 8,144,512; that it takes whole blocks is assumed. Left out: admission by the
//! content of data, and the channel time that folding within the die saves.

use crate::cause::Cause;
use crate::error::Error;
use crate::geometry::Geometry;
use crate::medium::{CellMode, Medium};
use crate::page_map::PageMapped;
use crate::policy::admission::Admission;
use crate::pool::Tier;
use crate::translation::Event;
use boardlab_sim::{Duration, Instant};

/// Which blocks the cache uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CacheSize {
    /// There is no cache.
    #[default]
    None,
    /// This many blocks, which are never used otherwise (static).
    Fixed(u32),
    /// At most this many of the blocks that are free at the time (dynamic).
    Dynamic(u32),
}

/// How a write is handled when the cache is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum WhenFull {
    /// It waits until a block is folded.
    #[default]
    Fold,
    /// It goes to ordinary blocks.
    Bypass,
}

/// Which pages of a cache block are folded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Folding {
    /// What is valid.
    #[default]
    Valid,
    /// All programmed pages: stale pages are read and programmed too, and occupy space until
    /// garbage collection finds them. Only a block without valid pages is skipped.
    Whole,
}

/// The cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cache {
    /// Which blocks.
    pub size: CacheSize,
    /// Bits of a cell in native mode: a cache block has this many times fewer pages.
    pub bits: u32,
    /// Which writes are admitted.
    pub admission: Admission,
    /// What happens when it is full.
    pub when_full: WhenFull,
    /// Which pages of a block are folded.
    pub folding: Folding,
    /// The idle time of the host before the cache is folded in the background, counted from when
    /// its last request was accepted. Never when `None`.
    pub fold_after: Option<Duration>,
}

impl Default for Cache {
    fn default() -> Self {
        Self {
            size: CacheSize::None,
            bits: 3,
            admission: Admission::All,
            when_full: WhenFull::Fold,
            folding: Folding::Valid,
            fold_after: Some(Duration::ZERO),
        }
    }
}

impl Cache {
    /// Whether there is a cache.
    #[must_use]
    pub const fn is_on(&self) -> bool {
        !matches!(self.size, CacheSize::None)
    }

    /// The number of blocks that never hold ordinary data.
    #[must_use]
    pub const fn fixed_blocks(&self) -> u32 {
        match self.size {
            CacheSize::Fixed(blocks) => blocks,
            CacheSize::None | CacheSize::Dynamic(_) => 0,
        }
    }

    /// The pages of a cache block, in whole rows.
    #[must_use]
    pub fn pages(&self, geometry: &Geometry) -> u32 {
        let row = geometry.stripe().row_pages();
        geometry.pages_per_block() / self.bits.max(1) / row * row
    }

    /// Returns the cache if its numbers are valid on this part.
    ///
    /// # Errors
    /// [`Error::Policy`] when it has no blocks, a block would have no page, or no write is admitted.
    pub fn checked(self, geometry: &Geometry) -> Result<Self, Error> {
        self.admission.checked()?;
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
    /// The open block for the host's data: that of the cache if it has space, or that of stream 0.
    #[inline]
    pub(crate) fn cache_or_main(&mut self) -> u8 {
        let stream = self.policies.cache_stream();
        if self.frontiers[usize::from(stream)].room() > 0 || self.open_cache_block() {
            stream
        } else {
            0
        }
    }

    /// Opens the next cache block, after folding if necessary; returns whether there is one.
    #[cold]
    fn open_cache_block(&mut self) -> bool {
        let stream = self.policies.cache_stream();
        self.close(stream);
        loop {
            if let Some(block) = self.take_cache_block() {
                self.fill(block, stream, CellMode::Slc);
                return true;
            }
            self.flash.events.add(Event::CacheFull);
            if self.policies.cache.when_full == WhenFull::Bypass || !self.fold_oldest() {
                return false;
            }
        }
    }

    fn take_cache_block(&mut self) -> Option<u32> {
        let CacheSize::Dynamic(most) = self.policies.cache.size else {
            return self.flash.pool.take_free(Tier::Cache);
        };
        let (used, more) = (self.cache_blocks(), self.policies.cache.pages(&self.flash.geometry));
        let room = self.flash.pool.free(Tier::Main) > self.policies.reserve;
        if used >= most || !room || !self.fit_beside(used + 1, more) {
            return None;
        }
        let block = self.flash.pool.take_free(Tier::Main)?;
        self.flash.pool.set_tier(block, Tier::Cache);
        Some(block)
    }

    /// Blocks of the cache that hold data, the open one included.
    pub(crate) fn cache_blocks(&self) -> u32 {
        let open = self.frontiers[usize::from(self.policies.cache_stream())].block();
        let closed =
            u32::try_from(self.flash.pool.closed(Tier::Cache).len()).expect("blocks fit u32");
        closed + u32::from(open.is_some())
    }

    /// Whether all data fit into ordinary blocks while the cache has `cached` of them, and open blocks
    /// and `more` pages are filled with new data.
    fn fit_beside(&self, cached: u32, more: u32) -> bool {
        let open = [0, self.policies.cache_stream()];
        let room: u32 = open.iter().map(|&stream| self.frontiers[usize::from(stream)].room()).sum();
        let map = self.policies.map.pages(&self.flash.geometry);
        let pages = (self.flash.mapped + map + room + more).min(self.flash.table.len());
        let good = self.flash.geometry.blocks() - self.flash.pool.retired();
        self.blocks_needed(pages) + cached + u32::from(self.flash.health.is_some()) <= good
    }

    /// Prepares to fill an ordinary block: a dynamic cache returns blocks that the data will need.
    pub(crate) fn shrink_cache(&mut self) {
        if !matches!(self.policies.cache.size, CacheSize::Dynamic(_)) {
            return;
        }
        let more = self.flash.geometry.pages_per_block();
        while self.cache_blocks() > 0 && !self.fit_beside(self.cache_blocks(), more) {
            if self.flash.pool.closed(Tier::Cache).is_empty() {
                self.close(self.policies.cache_stream());
            } else if !self.fold_oldest() {
                break;
            }
        }
    }

    /// Empties the oldest closed block of the cache; returns whether there was one.
    pub(crate) fn fold_oldest(&mut self) -> bool {
        let stream = self.policies.cache_stream();
        if self.frontiers[usize::from(stream)].room() == 0 {
            self.close(stream);
        }
        let Some(victim) = self.flash.pool.by_age(Tier::Cache).next() else { return false };
        let (room, pages) = (self.frontiers[0].room(), self.pages_to_move(victim, Cause::Fold));
        while pages > room && self.flash.pool.free(Tier::Main) <= self.policies.reserve {
            if !self.collect_next() {
                return false;
            }
        }
        self.empty(victim, 0, Cause::Fold)
    }

    /// Whether emptying a block for `cause` moves all its pages, stale ones among them.
    pub(crate) fn moves_stale(&self, victim: u32, cause: Cause) -> bool {
        let whole = cause == Cause::Fold && self.policies.cache.folding == Folding::Whole;
        whole && self.flash.pool.valid(victim) > 0
    }

    /// Pages that emptying a block for `cause` programs.
    pub(crate) fn pages_to_move(&self, victim: u32, cause: Cause) -> u32 {
        match self.moves_stale(victim, cause) {
            true => self.flash.medium.programmed(victim),
            false => self.flash.pool.valid(victim),
        }
    }

    /// When the cache may be folded in the background, if the host does not come back before.
    pub(crate) fn fold_due(&self) -> Option<Instant> {
        self.policies.cache.fold_after.map(|away| self.last_request.saturating_add(away))
    }

    /// The tier that an erased block returns to.
    pub(crate) fn home(&self, block: u32) -> Tier {
        match self.policies.cache.size {
            CacheSize::Fixed(_) => self.flash.pool.tier(block),
            CacheSize::None | CacheSize::Dynamic(_) => Tier::Main,
        }
    }
}
