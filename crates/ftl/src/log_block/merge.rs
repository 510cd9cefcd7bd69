//! Merges: all data of a unit are moved into one block, and its logs are erased.
//!
//! Layer: part of [`crate::log_block`]; wear levelling and background work are merges too.
//!
//! ```text
//!   sequential log, nothing behind it  switch   the log becomes the data block
//!   sequential log, not complete       partial  the rest is copied behind it
//!   anything else                      full     all pages are copied into a third block
//! ```
//!
//! Pages copied from a log in SLC mode have the cause fold, all others the cause merge, so the
//! causes of a slow write show its share of each. Wear levelling rewrites the unit of the least
//! worn data block, with the cause levelling.
//!
//! Source: the three merges of Kim et al. (2002) and Lee et al. (2007). When the sequential log of
//! a unit is merged, newer pages of the unit in shared logs stay there (Lee et al.).

use super::policies::Logs;
use super::{AcceptedPages, LogBlocks, NONE};
use crate::cause::Cause;
use crate::error::Error;
use crate::geometry::{Page, PageRun};
use crate::medium::{CellMode, Copies, Medium, Stamp};
use crate::page_map::policies::LevellingTime;
use crate::policy::levelling::Move;
use crate::pool::Tier;
use std::ops::Range;

impl<M: Medium> LogBlocks<M> {
    /// Merges a unit because the host needs a log, then levels wear if due.
    pub(super) fn merge_for_host(&mut self, unit: u32) -> Result<(), Error> {
        self.merge(unit, matches!(self.policies.logs, Logs::Shared { .. }))?;
        self.after_merge()
    }

    /// Merges every unit that has a page in the oldest shared log, and erases the log.
    pub(super) fn merge_oldest_shared(&mut self) -> Result<(), Error> {
        self.empty_oldest_shared()?;
        self.after_merge()
    }

    fn after_merge(&mut self) -> Result<(), Error> {
        self.refresh_next();
        if self.policies.levelling_time == LevellingTime::Foreground {
            self.level();
        }
        self.flash.writable()
    }

    fn empty_oldest_shared(&mut self) -> Result<(), Error> {
        let oldest = self.logs.iter().find(|log| log.takes == AcceptedPages::Any);
        let oldest = oldest.expect("there are too many logs");
        let (block, end) = (oldest.block(), oldest.frontier.next());
        for offset in 0..end {
            let Some(logical) = self.flash.table.holder(Page { block, offset }) else { continue };
            self.merge(self.flash.geometry.locate(logical).block, false)?;
        }
        self.make_durable_before_erase(block)?;
        self.logs.retain(|log| log.frontier.block() != Some(block));
        self.discard(block, None);
        Ok(())
    }

    /// Merges a unit. `leave`: whether newer pages outside of its sequential log stay where they are.
    pub(super) fn merge(&mut self, unit: u32, leave: bool) -> Result<(), Error> {
        let leave = leave && self.safety.is_none();
        let fits = |log: &&super::Log| log.unit == unit && log.in_order && (log.whole || leave);
        let log = self.logs.iter().find(fits).map(|log| (log.block(), log.frontier.next()));
        let (target, from) = match log {
            Some(log) => log,
            None if self.has_data(unit) => (self.take_target()?, 0),
            None => return self.merge_nothing(unit),
        };
        let end = self.gather(unit, from, target, None);
        match (log.is_some(), end > from) {
            (true, false) => self.merges.switches += 1,
            (true, true) => self.merges.partial += 1,
            (false, _) => self.merges.full += 1,
        }
        self.replace_data_block(unit, target, None);
        Ok(())
    }

    pub(super) fn take_target(&mut self) -> Result<u32, Error> {
        // There is none only when blocks have worn out.
        let block = self.flash.pool.take_free(Tier::Main).ok_or_else(|| self.flash.refused())?;
        self.prepare(block, CellMode::Native);
        Ok(block)
    }

    pub(super) fn prepare(&mut self, block: u32, mode: CellMode) {
        self.mode_of[block as usize] = mode;
        self.flash.medium.open(block, mode);
        if let Some(health) = &mut self.flash.health {
            health.open(block, mode, self.flash.now);
        }
    }

    pub(super) fn has_data(&self, unit: u32) -> bool {
        let (first, pages) = self.pages_of(unit);
        self.flash.table.neighbours(first, pages) != (None, pages)
    }

    /// Copies the pages of a unit from offset `from` on to the same offsets of `target`, and pads
    /// them to whole multi-plane programs. Returns the end of the copied pages.
    pub(super) fn gather(
        &mut self,
        unit: u32,
        from: u32,
        target: u32,
        cause: Option<Cause>,
    ) -> u32 {
        let (first, pages) = self.pages_of(unit);
        let held = |offset: &u32| self.flash.table.get(first + offset).is_some();
        let end = (from..pages).rev().find(held).map_or(from, |last| last + 1);
        let full = self.end_of_target(from, end);
        if full > from {
            self.label(target, unit, full);
        }
        self.copy_range(unit, from..end, target, cause);
        if full > end {
            self.fill(PageRun { block: target, offset: end, count: full - end });
        }
        end
    }

    /// Copies pages of a unit to the same offsets of `target`; missing pages are padded.
    fn copy_range(&mut self, unit: u32, range: Range<u32>, target: u32, cause: Option<Cause>) {
        let first = self.flash.geometry.first_page(unit);
        let mut offset = range.start;
        while offset < range.end {
            let (page, same) = self.flash.table.neighbours(first + offset, range.end - offset);
            let to = PageRun { block: target, offset, count: same };
            match page {
                Some(page) => self.copy(page, first + offset, to, cause),
                None => self.fill(to),
            }
            offset += same;
        }
    }

    /// Copies the pages before `offset` that a sequentially filled block skips.
    pub(super) fn fill_gap(&mut self, at: usize, offset: u32) {
        let log = &mut self.logs[at];
        let (unit, from) = (log.unit, log.frontier.next());
        let run = log.frontier.take(offset - from);
        self.copy_range(unit, from..offset, run.block, None);
    }

    fn copy(&mut self, from: Page, logical: u32, to: PageRun, cause: Option<Cause>) {
        let cause = cause.unwrap_or_else(|| self.cause_of(from.block));
        self.offsets.clear();
        self.offsets.extend(from.offset..from.offset + to.count);
        self.logical.clear();
        self.logical.extend(logical..logical + to.count);
        self.flash.table.drop_run(from, to.count);
        self.flash.pool.invalidate(from.block, to.count);
        self.flash.table.set_run(logical, Page { block: to.block, offset: to.offset }, to.count);
        self.flash.pool.add_valid(to.block, to.count);
        let (offsets, logical) = (&self.offsets[..], &self.logical[..]);
        self.flash.medium.copy(Copies { from: from.block, offsets, logical, to }, cause);
        self.flash.counters.reads[cause] += u64::from(to.count);
        self.flash.counters.programs[cause] += u64::from(to.count);
    }

    fn cause_of(&self, block: u32) -> Cause {
        match self.mode_of[block as usize] {
            CellMode::Native => Cause::Merge,
            CellMode::Slc => Cause::Fold,
        }
    }

    fn fill(&mut self, run: PageRun) {
        self.flash.medium.program(run, Stamp::FILLER, Cause::Padding);
        self.flash.counters.programs[Cause::Padding] += u64::from(run.count);
    }

    /// Completes a merge: `target`, or no block, becomes the data block of the unit; its logs and
    /// its former data block are erased.
    pub(super) fn replace_data_block(&mut self, unit: u32, target: u32, cause: Option<Cause>) {
        self.due.remove(&unit);
        let mut at = 0;
        while let Some(log) = self.logs.get(at) {
            if log.unit != unit {
                at += 1;
                continue;
            }
            let block = self.logs.remove(at).block();
            if block != target {
                self.discard(block, cause);
            }
        }
        let old = std::mem::replace(&mut self.data[unit as usize], target);
        if target != NONE {
            self.unit_of[target as usize] = unit;
            self.flash.pool.close(target, self.flash.counters.written);
        }
        if old != NONE {
            self.flash.pool.take_victim(old);
            self.discard(old, cause);
        }
    }

    /// Erases and frees an open block.
    pub(super) fn discard(&mut self, block: u32, cause: Option<Cause>) {
        let cause = cause.unwrap_or_else(|| self.cause_of(block));
        self.flash.medium.erase(block, cause);
        self.flash.counters.erases[cause] += 1;
        self.release(block);
        self.leveller.erased(block);
        self.flash.counters.assert_conserved(self.flash.medium.operations());
    }

    /// Handles a trim in a unit: frees its blocks if it has no data left.
    pub(super) fn return_emptied(&mut self, unit: u32) {
        if !self.has_data(unit) {
            self.flash.counters.emptied += u64::from(self.data[unit as usize] != NONE);
            self.replace_data_block(unit, NONE, Some(Cause::Host));
        }
    }

    /// Does one move of wear levelling. Returns whether there was one.
    fn level(&mut self) -> bool {
        if self.flash.read_only || self.flash.pool.free(Tier::Main) == 0 {
            return false;
        }
        let Some(next) = self.leveller.next(&self.flash.pool, &mut self.random) else {
            return false;
        };
        let (block, target) = match next {
            Move::OntoWorn(block) => (block, self.flash.pool.take_most_worn()),
            Move::Anywhere(block) => (block, self.flash.pool.take_free(Tier::Main)),
        };
        let target = target.expect("a block is free");
        self.rewrite(block, target, Cause::Levelling);
        self.leveller.holds_cold(target);
        self.flash.counters.levelled += 1;
        true
    }

    /// Moves the unit whose data block is `block` into `target`.
    pub(super) fn rewrite(&mut self, block: u32, target: u32, cause: Cause) {
        self.prepare(target, CellMode::Native);
        let unit = self.unit_of[block as usize];
        self.gather(unit, 0, target, Some(cause));
        self.replace_data_block(unit, target, Some(cause));
    }

    /// Does one step of background work; `moves` is the remaining number of wear-levelling moves.
    /// Returns whether there was a step.
    pub(super) fn background(&mut self, moves: &mut u32) -> bool {
        if self.refresh_next() {
            return true;
        }
        if self.policies.levelling_time == LevellingTime::Idle && *moves > 0 && self.level() {
            *moves -= 1;
            return true;
        }
        if !self.policies.merge_when_idle {
            return false;
        }
        let oldest = self.logs.iter().min_by_key(|log| log.used).map(|log| log.unit);
        let merged = match oldest {
            None => return false,
            Some(NONE) => self.empty_oldest_shared(),
            Some(unit) => self.merge(unit, matches!(self.policies.logs, Logs::Shared { .. })),
        };
        merged.is_ok()
    }
}
