//! Blocks that wear out, pages to be refreshed, and failed programs.
//!
//! Layer: part of the mechanism; [`crate::reliability`] and `failures` have the probabilities.

use super::PageMapped;
use crate::cause::Cause;
use crate::error::Error;
use crate::geometry::PageRun;
use crate::medium::{Medium, Stamp};
use crate::pool::Tier;
use crate::reliability::Reliability;
use boardlab_sim::Seed;

impl<M: Medium> PageMapped<M> {
    /// The same layer with blocks that wear out and pages that have bit errors.
    ///
    /// # Errors
    /// [`Error::TooFewBlocks`] when too few blocks are good initially, [`Error::Policy`] when the
    /// reserve is less than two blocks, since an erase that fails takes one of them, or less than
    /// four where programs fail.
    ///
    /// # Panics
    /// When the layer has been used.
    pub fn with_reliability(mut self, of: &Reliability, seed: Seed) -> Result<Self, Error> {
        let (reserve, blocks) = (self.policies.reserve, self.flash.geometry.blocks());
        let least = self.reserve_needed(of.program_failures > 0);
        if reserve < least {
            let what = "reserve of free blocks, where blocks wear out,";
            let (found, least, most) = (reserve.into(), least.into(), blocks.into());
            return Err(Error::Policy { what, found, least, most });
        }
        self.flash.draw_quality(of, seed)?;
        if self.is_worn_out() {
            let logical = self.policies.logical_blocks(&self.flash.geometry);
            let needed = self.blocks_needed(self.flash.table.len());
            let blocks = self.flash.good_blocks();
            return Err(Error::TooFewBlocks { blocks, needed, logical });
        }
        Ok(self)
    }

    /// Good blocks beyond those that the device needs to accept data.
    #[must_use]
    pub fn spare_blocks(&self) -> u32 {
        let needed = self.blocks_needed(self.flash.table.len());
        self.flash.good_blocks().saturating_sub(needed)
    }

    pub(crate) fn is_worn_out(&self) -> bool {
        self.flash.good_blocks() < self.blocks_needed(self.flash.table.len())
    }

    /// Returns an erased block to its tier, or retires it.
    pub(crate) fn release(&mut self, block: u32) {
        if self.flash.health.as_deref_mut().is_some_and(|health| health.erase_fails(block)) {
            self.retire(block);
        } else {
            let home = self.home(block);
            self.flash.pool.release(block, home);
        }
    }

    /// Refreshes the next queued block; returns whether there was one.
    pub(crate) fn refresh_next(&mut self) -> bool {
        let Some(block) = self.flash.next_to_refresh() else { return false };
        let stream = match self.flash.pool.tier(block) {
            Tier::Main | Tier::Hot => self.stream_of_copy(block),
            Tier::Cache => 0,
        };
        self.empty(block, stream, Cause::Refresh)
    }

    /// Handles a stream block without space left: if the reason is that its next program fails,
    /// that is tried, and the block will be retired.
    pub(crate) fn try_failing_program(&mut self, block: u32) {
        let units = self.flash.geometry.stripe().units;
        let Some(health) = self.flash.health.as_deref_mut() else { return };
        let Some(offset) = health.failures.try_next(block) else { return };
        health.failed_programs += 1;
        health.queue(block);
        let run = PageRun { block, offset, count: units };
        self.flash.medium.program(run, Stamp::FILLER, Cause::Retry);
        self.flash.counters.programs[Cause::Retry] += u64::from(units);
    }

    /// Whether a program of `block` failed since it was opened.
    pub(crate) fn has_failed(&self, block: u32) -> bool {
        self.flash.health.as_deref().is_some_and(|health| health.failures.has_failed(block))
    }

    /// Marks a block without valid pages bad.
    pub(crate) fn retire(&mut self, block: u32) {
        self.flash.medium.mark_bad(block);
        self.flash.pool.retire(block);
        self.flash.read_only |= self.is_worn_out();
    }

    /// Whether enough blocks are free to open `blocks` for data: always, unless blocks have worn
    /// out. Trims must be written before anything is erased, so a block is kept for that, and
    /// another because it may fail.
    pub(crate) fn can_open(&self, blocks: u32) -> bool {
        let Some(health) = self.flash.health.as_deref() else { return true };
        let trims = u32::from(self.trims.is_some()) * (1 + u32::from(health.failures.any()));
        self.flash.pool.free(Tier::Main) >= blocks + trims
    }

    /// Collects until the pending trims can be written.
    pub(crate) fn make_room_for_trims(&mut self) -> Result<(), Error> {
        while !self.can_open(0) {
            if self.flash.read_only || !self.collect_next() {
                self.flash.read_only = true;
                return Err(Error::ReadOnly { retired: self.flash.pool.retired() });
            }
        }
        Ok(())
    }

    /// The minimum reserve of a part whose blocks wear out: what failed erases and programs may
    /// take at once.
    pub(crate) fn reserve_needed(&self, programs_fail: bool) -> u32 {
        2 + 2 * u32::from(programs_fail) + 2 * u32::from(self.trims.is_some())
    }
}
