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
use crate::geometry::{Page, PageRun};
use crate::medium::Medium;
use crate::pool::{State, Tier};
use crate::reliability::{Health, Reliability};
use boardlab_sim::{Instant, Seed};

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
        assert_eq!(self.counters.programs.total(), 0, "a part has its quality from the beginning");
        let blocks = self.geometry.blocks();
        if of.program_failures > 0 {
            let what = "programs that fail of 10^12, where whole blocks are mapped,";
            return Err(Error::Policy { what, found: of.program_failures, least: 0, most: 0 });
        }
        let mut health = Health::new(of, blocks, seed)?;
        let mut draw = seed.stream("ftl.factory");
        // Block 0 is always good: every data sheet guarantees it.
        for block in 1..blocks {
            if draw.chance(of.factory_bad.into(), 65_536) {
                self.medium.mark_bad(block);
                self.pool.retire(block);
                health.factory_bad += 1;
            }
        }
        self.health = Some(Box::new(health));
        let (blocks, needed) = (blocks - self.pool.retired(), self.blocks_needed());
        let logical = self.geometry.logical_blocks();
        if blocks < needed {
            Err(Error::TooFewBlocks { blocks, needed, logical })
        } else {
            Ok(self)
        }
    }

    /// What has become of the blocks, where that is modelled.
    #[must_use]
    pub fn health(&self) -> Option<&Health> {
        self.health.as_deref()
    }

    fn blocks_needed(&self) -> u32 {
        self.policies.blocks_needed(self.geometry.logical_blocks())
    }

    /// Good blocks beyond those that the device needs to take data.
    #[must_use]
    pub fn spare_blocks(&self) -> u32 {
        (self.geometry.blocks() - self.pool.retired()).saturating_sub(self.blocks_needed())
    }

    pub(super) fn is_worn_out(&self) -> bool {
        self.geometry.blocks() - self.pool.retired() < self.blocks_needed()
    }

    /// An erased block goes where it belongs: back to its set, or out of use.
    pub(super) fn release(&mut self, block: u32) {
        if self.health.as_deref_mut().is_some_and(|health| health.dies(block)) {
            self.medium.mark_bad(block);
            self.pool.retire(block);
            self.read_only |= self.is_worn_out();
        } else {
            self.pool.release(block, self.pool.tier(block));
        }
    }

    /// The host reads pages that lie next to each other: reads again what does not correct.
    pub(super) fn correct(&mut self, run: PageRun) {
        let reads = self.health.as_deref().is_some_and(Health::reads_are_corrected);
        for offset in (run.offset..run.offset + run.count).take_while(|_| reads) {
            self.look_at(Page { block: run.block, offset }, Cause::Host);
        }
    }

    fn look_at(&mut self, page: Page, cause: Cause) {
        let bits = self.geometry.page().get() * 8;
        let Some(health) = self.health.as_deref_mut() else { return };
        let flash = (&mut self.medium, &mut self.counters, &mut self.events);
        health.correct(page, (self.now, bits), flash, cause);
    }

    /// Writes the next queued data block anew; whether there was one.
    pub(super) fn refresh_next(&mut self) -> bool {
        while let Some(block) = self.health.as_deref_mut().and_then(Health::next_queued) {
            if self.pool.state(block) != State::Closed {
                continue;
            }
            let Some(target) = self.pool.take_free(Tier::Main) else { return false };
            self.rewrite(block, target, Cause::Refresh);
            return true;
        }
        false
    }

    /// Looks at the first page of as many data blocks as the patrol has come to by `now`.
    pub(super) fn patrol(&mut self, now: Instant) {
        let blocks = self.geometry.blocks();
        let Some(health) = self.health.as_deref_mut() else { return };
        for block in health.patrolled(now, blocks) {
            let first = Page { block, offset: 0 };
            if self.pool.state(block) == State::Closed && self.table.holder(first).is_some() {
                self.medium.read(first.into(), Cause::Refresh);
                self.counters.reads[Cause::Refresh] += 1;
                self.look_at(first, Cause::Refresh);
            }
        }
    }
}
