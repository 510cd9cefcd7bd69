//! Rebuilds the map after a power cut, from the contents of the flash alone.
//!
//! Layer: above [`crate::page_map::power`] and [`crate::contents`]. Main type:
//! [`PageMappedAfterCut`]. Every page carries its logical page and version in its OOB bytes.
//! Recovery reads all pages that are not erased ([`Cause::Map`]): of each logical page the highest
//! version is valid, unless a newer trim page voids it.
//!
//! ```text
//!   scan -> newest copy of each page -> void what trim pages say -> fill map and pool
//!        -> erase blocks without data, the half-erased among them -> collect up to the reserve
//! ```
//!
//! Blocks that were being filled are closed as they are, because the effect of a torn page on its
//! neighbours is unknown. Copies that garbage collection made of a block not yet erased have the
//! version of the original, which then stays valid, so that recovery never needs more free blocks
//! than there were. Recovery is safe against another power cut: it erases only void blocks.
//!
//! Source: the scan of OOB bytes as JFFS2 and UBI do (Linux 6.1, drivers/mtd/ubi/attach.c: the
//! highest sequence number wins; a block without data is erased again), for pages. Left out:
//! checkpoints that shorten the scan.

use crate::cause::Cause;
use crate::contents::{Contents, PageState};
use crate::error::Error;
use crate::flash::Flash;
use crate::geometry::{Geometry, Page, PageRun};
use crate::medium::{CellMode, Medium, Stamp, Version};
use crate::page_map::PageMapped;
use crate::page_map::policies::Policies;
use crate::page_map::power::PowerSafety;
use crate::pool::{State, Tier};
use crate::reliability::Health;
use boardlab_sim::Seed;

/// The remains after a power cut: the flash, and the configuration of the part.
#[derive(Debug, Clone)]
pub struct PageMappedAfterCut {
    /// The flash; [`Contents::restart`] restores its power.
    pub medium: Contents,
    geometry: Geometry,
    policies: Policies,
    safety: PowerSafety,
    /// The state of the cells, without the volatile state of the controller.
    health: Option<Box<Health>>,
}

/// The result of the scan: the newest copy of each logical page.
struct ScanResult {
    newest: Vec<Option<(Version, Page)>>,
    version: Version,
    /// Pages of each block that were not erased.
    used: Vec<u32>,
    reads: u64,
}

impl PageMapped<Contents> {
    /// Drops everything in memory.
    ///
    /// # Errors
    /// Returns the layer when it was not [`PageMapped::power_safe`].
    pub fn into_remains(self) -> Result<PageMappedAfterCut, Box<Self>> {
        let Some(safety) = self.power_safety() else { return Err(Box::new(self)) };
        let mut policies = self.policies;
        policies.reserve -= 2;
        let Flash { medium, geometry, mut health, .. } = self.flash;
        if let Some(health) = &mut health {
            health.drop_volatile();
        }
        Ok(PageMappedAfterCut { medium, geometry, policies, safety, health })
    }
}

impl PageMappedAfterCut {
    /// Rebuilds the layer. Counters restart, with the work of recovery; `seed` is for random policies.
    ///
    /// # Errors
    /// As for [`PageMapped::new`].
    pub fn recover(self, seed: Seed) -> Result<PageMapped<Contents>, Error> {
        let layer = PageMapped::new(self.geometry, self.policies, self.medium, seed)?;
        let mut layer = layer.power_safe(self.safety)?;
        layer.flash.health = self.health;
        layer.flash.pool.read_marks(&layer.flash.medium);
        layer.flash.read_only = layer.is_worn_out();
        let mut found = layer.scan();
        layer.void_trimmed(&mut found);
        layer.fill_tables(&found);
        layer.erase_void_blocks();
        let short =
            |layer: &PageMapped<_>| layer.flash.pool.free(Tier::Main) <= layer.policies.reserve;
        while !layer.flash.read_only && short(&layer) && layer.collect_next() {}
        layer.flash.read_only |= short(&layer);
        layer.flash.counters.assert_conserved(layer.flash.medium.operations());
        Ok(layer)
    }
}

impl PageMapped<Contents> {
    fn scan(&mut self) -> ScanResult {
        let (blocks, pages) = (self.flash.geometry.blocks(), self.flash.geometry.pages_per_block());
        let mut found = ScanResult {
            newest: vec![None; self.flash.table.len() as usize],
            version: Version(0),
            used: vec![0; blocks as usize],
            reads: 0,
        };
        // In the order of opening: of two equal versions the first, the original, stays valid.
        let mut order: Vec<u32> = (0..blocks).filter(|&b| !self.flash.medium.is_bad(b)).collect();
        order.sort_by_key(|&block| self.flash.medium.opened(block));
        for block in order {
            for offset in 0..pages {
                let page = Page { block, offset };
                match self.flash.medium.state(page) {
                    PageState::Erased => continue,
                    PageState::Torn => {}
                    PageState::Data(stamp) => found.take(stamp, page),
                }
                found.used[block as usize] = offset + 1;
            }
            let count = found.used[block as usize];
            if count > 0 {
                self.flash.medium.read(PageRun { block, offset: 0, count }, Cause::Map);
                found.reads += u64::from(count);
            }
        }
        self.flash.counters.reads[Cause::Map] += found.reads;
        self.flash.version = found.version;
        found
    }

    /// Drops the pages that the newest trim pages void.
    fn void_trimmed(&mut self, found: &mut ScanResult) {
        let Some(mut trims) = self.trims.take() else { return };
        for index in 0..trims.pages(&self.flash.geometry) {
            let newest = found.newest[(trims.first + index) as usize];
            let Some((version, page)) = newest else { continue };
            let words = self.flash.medium.words(page).expect("a trim page has its bits");
            let first = trims.first_of(index);
            let set = (0_u32..64).flat_map(|bit| {
                words.iter().zip((0_u32..).step_by(64)).filter_map(move |(word, base)| {
                    (word >> bit & 1 == 1).then_some(first + base + bit)
                })
            });
            for logical in set.filter(|&logical| logical < self.flash.geometry.logical_pages()) {
                let newest = &mut found.newest[logical as usize];
                if newest.is_none_or(|(written, _)| written < version) {
                    *newest = None;
                    trims.note_trimmed(logical);
                }
            }
        }
        self.trims = Some(trims);
    }

    /// Map, valid pages, and blocks in the order in which they were opened.
    fn fill_tables(&mut self, found: &ScanResult) {
        let mut used = Vec::new();
        for block in 0..self.flash.geometry.blocks() {
            if found.used[block as usize] > 0 {
                self.flash.pool.take(block);
                used.push(block);
                self.stream_of[block as usize] = self.policies.streams.count() - 1;
                if self.policies.cache.is_on() && self.flash.medium.mode(block) == CellMode::Slc {
                    self.flash.pool.set_tier(block, Tier::Cache);
                }
            }
        }
        let host = self.flash.geometry.logical_pages();
        let maps = host..host + self.policies.map.pages(&self.flash.geometry);
        for (logical, newest) in (0..).zip(&found.newest) {
            let Some((_, page)) = *newest else { continue };
            self.flash.table.set(logical, page);
            self.flash.pool.add_valid(page.block, 1);
            self.flash.mapped += 1;
            // A block of a known class holds nothing else.
            if self.policies.streams.of_class(logical) == Some(0) {
                self.stream_of[page.block as usize] = 0;
                self.flash.pool.set_tier(page.block, Tier::Hot);
            }
            if maps.contains(&logical) {
                self.stream_of[page.block as usize] = self.policies.map_stream();
            }
            // A translation page may be older than the scan.
            self.note_moved(page, 1);
        }
        used.sort_by_key(|&block| self.flash.medium.opened(block));
        used.into_iter().for_each(|block| self.flash.pool.close(block, 0));
    }

    fn erase_void_blocks(&mut self) {
        for block in 0..self.flash.geometry.blocks() {
            if self.flash.pool.state(block) == State::Closed && self.flash.pool.valid(block) == 0 {
                self.flash.pool.take_victim(block);
                self.erase(block, Cause::Map);
            }
        }
    }
}

impl ScanResult {
    fn take(&mut self, stamp: Stamp, page: Page) {
        self.version = self.version.max(stamp.version);
        if stamp.logical == Stamp::NOTHING {
            return;
        }
        let newest = &mut self.newest[stamp.logical as usize];
        if newest.is_none_or(|(version, _)| version < stamp.version) {
            *newest = Some((stamp.version, page));
        }
    }
}
