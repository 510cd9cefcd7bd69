//! Blocks that die and pages that do not read, where whole blocks are mapped.
//!
//! Layer: [`crate::reliability`] attached to [`crate::log_block`]. An erase beyond the life of a block
//! retires it. When too few are left for data, logs and one to merge into, the layer is read-only; a fixed log
//! block that dies is replaced by one of the others. What must be written anew is a unit at a time, after a merge or
//! while the host is away.
//!
//! Left out: refresh of what lies in logs, which do not keep it for long.

use super::LogBlocks;
use crate::cause::Cause;
use crate::error::Error;
use crate::medium::Medium;
use crate::pool::Tier;
use crate::reliability::Reliability;
use boardlab_sim::Seed;

impl<M: Medium> LogBlocks<M> {
    /// The same part, whose blocks die and whose pages have errors.
    ///
    /// # Errors
    /// [`Error::TooFewBlocks`] when too few are good from the factory; [`Error::Policy`], also for
    /// programs that fail, which are not modelled here.
    ///
    /// # Panics
    /// When the part has been used.
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

    /// Good blocks beyond those that the device needs to take data.
    #[must_use]
    pub fn spare_blocks(&self) -> u32 {
        self.flash.good_blocks().saturating_sub(self.blocks_needed())
    }

    pub(super) fn is_worn_out(&self) -> bool {
        self.flash.good_blocks() < self.blocks_needed()
    }

    /// An erased block goes where it belongs: back to its set, or out of use.
    pub(super) fn release(&mut self, block: u32) {
        if self.flash.health.as_deref_mut().is_some_and(|health| health.dies(block)) {
            self.flash.medium.mark_bad(block);
            self.flash.pool.retire(block);
            self.flash.read_only |= self.is_worn_out();
        } else {
            self.flash.pool.release(block, self.flash.pool.tier(block));
        }
    }

    /// Writes the next queued data block anew; whether there was one.
    pub(super) fn refresh_next(&mut self) -> bool {
        let Some(block) = self.flash.next_to_refresh() else { return false };
        let Some(target) = self.flash.pool.take_free(Tier::Main) else { return false };
        self.rewrite(block, target, Cause::Refresh);
        true
    }
}
