//! Rebuilds the block map after a power cut, from the contents of the flash alone.
//!
//! Layer: above [`super::power`] and [`crate::contents`]. Main type: [`LogBlocksAfterCut`]. All
//! pages that are not erased are read once ([`Cause::Map`]). Of each logical page the copy with the
//! highest version is valid, unless it is older than the label of a block that holds its whole
//! unit. Then every unit is merged into one block:
//!
//! ```text
//!   scan -> newest whole block of each unit -> newest copies -> erase what has none, labels apart
//!        -> units with pages in a log, or in several blocks, are merged -> erase the labels left over
//! ```
//!
//! So no log is open afterwards. A merge needs one free block, which there was before the cut. A
//! block is erased only when a label or higher versions elsewhere void all of it, so recovery is
//! safe against another power cut.
//!
//! A worn-out device may have no free block: then scattered pages stay where they are, and can be read.
//!
//! Left out: logs that stay open, checkpoints that shorten the scan.

use super::policies::LogPolicies;
use super::{AcceptedPages, Log, LogBlocks, NONE};
use crate::cause::Cause;
use crate::contents::{Contents, PageState};
use crate::error::Error;
use crate::flash::Flash;
use crate::frontier::Frontier;
use crate::geometry::{Geometry, Page, PageRun};
use crate::medium::{CellMode, Label, Medium, Stamp, Version};
use crate::page_map::power::PowerSafety;
use crate::pool::State;
use crate::reliability::Health;
use boardlab_sim::Seed;

/// The remains after a power cut: the flash, and the configuration of the part.
#[derive(Debug, Clone)]
pub struct LogBlocksAfterCut {
    /// The flash; [`Contents::restart`] restores its power.
    pub medium: Contents,
    geometry: Geometry,
    policies: LogPolicies,
    safety: PowerSafety,
    /// The state of the cells, without the volatile state of the controller.
    health: Option<Box<Health>>,
}

/// The result of the scan.
struct ScanResult {
    /// By unit: the newest block that holds the whole unit, and its label.
    whole: Vec<Option<(Label, u32)>>,
    /// By block: whether it is one of these.
    is_label: Vec<bool>,
    /// By logical page: its newest copy.
    newest: Vec<Option<(Version, Page)>>,
    /// By block: the pages with data, void or not, and the end of the pages that are not erased.
    data: Vec<u32>,
    used: Vec<u32>,
    version: Version,
}

impl LogBlocks<Contents> {
    /// Drops everything in memory.
    ///
    /// # Errors
    /// Returns the layer when it was not [`LogBlocks::power_safe`].
    pub fn into_remains(self) -> Result<LogBlocksAfterCut, Box<Self>> {
        let Some(safety) = self.safety else { return Err(Box::new(self)) };
        let (policies, Flash { medium, geometry, mut health, .. }) = (self.policies, self.flash);
        if let Some(health) = &mut health {
            health.drop_volatile();
        }
        Ok(LogBlocksAfterCut { medium, geometry, policies, safety, health })
    }
}

impl LogBlocksAfterCut {
    /// Rebuilds the layer. Counters restart, with the work of recovery; `seed` is for random policies.
    ///
    /// # Errors
    /// As for [`LogBlocks::new`].
    pub fn recover(self, seed: Seed) -> Result<LogBlocks<Contents>, Error> {
        let layer = LogBlocks::new(self.geometry, self.policies, self.medium, seed)?;
        let mut layer = layer.power_safe(self.safety);
        layer.flash.health = self.health;
        layer.flash.pool.read_marks(&layer.flash.medium);
        layer.flash.read_only = layer.is_worn_out();
        let found = layer.scan();
        layer.fill_tables(&found);
        layer.erase_void(|block| !found.is_label[block as usize]);
        layer.adopt(&found);
        if layer.merge_scattered(&found) {
            layer.erase_void(|_| true);
        } else {
            layer.keep_scattered();
        }
        layer.flash.counters.assert_conserved(layer.flash.medium.operations());
        Ok(layer)
    }
}

impl ScanResult {
    fn take(&mut self, stamp: Stamp, page: Page, unit: u32) {
        self.version = self.version.max(stamp.version);
        let whole = self.whole[unit as usize];
        let void = whole
            .is_some_and(|(label, block)| block != page.block && stamp.version < label.version);
        let newest = &mut self.newest[stamp.logical as usize];
        if !void && newest.is_none_or(|(version, _)| version < stamp.version) {
            *newest = Some((stamp.version, page));
        }
    }
}

impl LogBlocks<Contents> {
    fn scan(&mut self) -> ScanResult {
        let blocks = self.flash.geometry.blocks();
        let mut found = ScanResult {
            whole: vec![None; self.data.len()],
            is_label: vec![false; blocks as usize],
            newest: vec![None; self.flash.table.len() as usize],
            data: vec![0; blocks as usize],
            used: vec![0; blocks as usize],
            version: Version(0),
        };
        let mut order: Vec<u32> = (0..blocks).filter(|&b| !self.flash.medium.is_bad(b)).collect();
        order.sort_by_key(|&block| self.flash.medium.opened(block));
        for &block in &order {
            let Some(label) = self.flash.medium.whole(block) else { continue };
            found.version = found.version.max(label.version);
            let newest = &mut found.whole[label.unit as usize];
            if newest.is_none_or(|(other, _)| other.version <= label.version) {
                *newest = Some((label, block));
            }
        }
        found.whole.iter().flatten().for_each(|&(_, block)| found.is_label[block as usize] = true);
        // Of equal versions the first, the original, is valid.
        order.into_iter().for_each(|block| self.scan_block(block, &mut found));
        self.flash.version = found.version;
        found
    }

    fn scan_block(&mut self, block: u32, found: &mut ScanResult) {
        for offset in 0..self.flash.geometry.pages_per_block() {
            let page = Page { block, offset };
            match self.flash.medium.state(page) {
                PageState::Erased => continue,
                PageState::Data(stamp) if stamp.logical != Stamp::NOTHING => {
                    found.take(stamp, page, self.flash.geometry.locate(stamp.logical).block);
                    found.data[block as usize] += 1;
                }
                PageState::Data(_) | PageState::Torn => {}
            }
            found.used[block as usize] = offset + 1;
        }
        let count = found.used[block as usize];
        if count > 0 {
            self.flash.medium.read(PageRun { block, offset: 0, count }, Cause::Map);
            self.flash.counters.reads[Cause::Map] += u64::from(count);
        }
    }

    /// Fills map, valid pages and cell modes. Blocks that are not erased are open for now.
    fn fill_tables(&mut self, found: &ScanResult) {
        for block in 0..self.flash.geometry.blocks() {
            self.mode_of[block as usize] = self.flash.medium.mode(block);
            if found.used[block as usize] > 0 {
                self.flash.pool.take(block);
            }
        }
        for (logical, newest) in (0..).zip(&found.newest) {
            let Some((_, page)) = *newest else { continue };
            self.flash.table.set(logical, page);
            self.flash.pool.add_valid(page.block, 1);
            self.flash.mapped += 1;
        }
    }

    /// Erases the open blocks without valid pages for which `may` holds.
    fn erase_void(&mut self, may: impl Fn(u32) -> bool) {
        for block in 0..self.flash.geometry.blocks() {
            let void =
                self.flash.pool.state(block) == State::Open && self.flash.pool.valid(block) == 0;
            if void && may(block) {
                self.discard(block, Some(Cause::Map));
            }
        }
    }

    /// Makes data blocks of those that hold all pages of a unit at their own offsets, and no void page.
    fn adopt(&mut self, found: &ScanResult) {
        for unit in 0..self.flash.geometry.logical_blocks() {
            let (first, pages) = self.pages_of(unit);
            let mut held = (0..pages).filter_map(|offset| {
                self.flash.table.get(first + offset).map(|page| (page, offset))
            });
            let Some((Page { block, .. }, _)) = held.clone().next() else { continue };
            let all = held.clone().count();
            // A labelled block has no pages of other units, and a clean one has no other pages at all.
            let placed = held.all(|(page, offset)| page == Page { block, offset });
            let whole = found.whole[unit as usize].is_some_and(|(_, whole)| whole == block);
            let clean = whole || found.data[block as usize] as usize == all;
            let ordinary = self.mode_of[block as usize] == CellMode::Native;
            if placed && clean && ordinary {
                self.data[unit as usize] = block;
                self.unit_of[block as usize] = unit;
                self.flash.pool.close(block, 0);
            }
        }
    }

    /// Merges every other unit with data into a free block. Returns whether there were enough.
    fn merge_scattered(&mut self, found: &ScanResult) -> bool {
        for unit in 0..self.flash.geometry.logical_blocks() {
            if self.data[unit as usize] != NONE || !self.has_data(unit) {
                continue;
            }
            let Ok(target) = self.take_target() else { return false };
            self.gather(unit, 0, target, None);
            self.merges.full += 1;
            self.replace_data_block(unit, target, None);
            // The new block carries the label of the unit.
            let old = found.whole[unit as usize].map(|(_, block)| block);
            self.erase_void(|block| Some(block) == old || !found.is_label[block as usize]);
        }
        true
    }

    /// Keeps blocks that could not be merged as full logs.
    fn keep_scattered(&mut self) {
        assert!(self.flash.read_only, "before the cut there was a block to merge into");
        for block in 0..self.flash.geometry.blocks() {
            if self.flash.pool.state(block) == State::Open {
                self.logs.push(Log {
                    unit: NONE,
                    takes: AcceptedPages::Any,
                    frontier: Frontier::new(block, 1),
                    in_order: false,
                    whole: false,
                    used: 0,
                });
            }
        }
    }
}
