//! Worn-out blocks and unreadable pages in a block-mapped layer.
//!
//! Layer: [`crate::reliability`] attached to [`crate::log_block`]. An erase beyond the life of a
//! block retires it. When too few are left for data, logs and one merge target, the layer is
//! read-only; a fixed log block that wears out is replaced by another block. Data are refreshed one
//! unit at a time, after a merge or while the host is idle.
//!
//! Left out: refresh of data in logs, which hold them only briefly.

use super::LogBlocks;
use crate::cause::Cause;
use crate::error::Error;
use crate::medium::Medium;
use crate::pool::Tier;
use crate::reliability::Reliability;
use boardlab_sim::Seed;

impl<M: Medium> LogBlocks<M> {
    /// The same layer with blocks that wear out and pages that have bit errors.
    ///
    /// # Errors
    /// [`Error::TooFewBlocks`] when too few blocks are good initially; [`Error::Policy`], also for
    /// failing programs, which are not modelled here.
    ///
    /// # Panics
    /// When the layer has been used.
    pub fn with_reliability(mut self, of: &Reliability, seed: Seed) -> Result<Self, Error> {
        if of.program_failures > 0 {
            let what = "programs that fail of 10^12, where whole blocks are mapped,";
            return Err(Error::Policy { what, found: of.program_failures, least: 0, most: 0 });
        }
        self.flash.draw_quality(of, seed)?;
        let (blocks, needed) = (self.flash.good_blocks(), self.blocks_needed());
        let logical = self.flash.geometry.logical_blocks();
        if blocks < needed {
            Err(Error::TooFewBlocks { blocks, needed, logical })
        } else {
            Ok(self)
        }
    }

    fn blocks_needed(&self) -> u32 {
        self.policies.blocks_needed(self.flash.geometry.logical_blocks())
    }

    /// Good blocks beyond those that the device needs to accept data.
    #[must_use]
    pub fn spare_blocks(&self) -> u32 {
        self.flash.good_blocks().saturating_sub(self.blocks_needed())
    }

    pub(super) fn is_worn_out(&self) -> bool {
        self.flash.good_blocks() < self.blocks_needed()
    }

    /// Returns an erased block to its tier, or retires it.
    pub(super) fn release(&mut self, block: u32) {
        if self.flash.health.as_deref_mut().is_some_and(|health| health.erase_fails(block)) {
            self.flash.medium.mark_bad(block);
            self.flash.pool.retire(block);
            self.flash.read_only |= self.is_worn_out();
        } else {
            self.flash.pool.release(block, self.flash.pool.tier(block));
        }
    }

    /// Refreshes the next queued data block; returns whether there was one.
    pub(super) fn refresh_next(&mut self) -> bool {
        let Some(block) = self.flash.next_to_refresh() else { return false };
        let Some(target) = self.flash.pool.take_free(Tier::Main) else { return false };
        self.rewrite(block, target, Cause::Refresh);
        true
    }
}
