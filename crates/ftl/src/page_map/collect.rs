//! Moves data: garbage collection, wear levelling and background work.
//!
//! Layer: the other half of the mechanism in [`crate::page_map`]. One function moves data for every
//! cause: it copies the valid pages of a block to the open block of a stream, and erases the block.
//! Each call states its cause.

use crate::cause::Cause;
use crate::geometry::{Page, PageRun};
use crate::medium::{Copies, Medium};
use crate::page_map::PageMapped;
use crate::page_map::policies::{LevellingTime, Policies};
use crate::policy::levelling::Move;
use crate::policy::streams::Streams;
use crate::pool::Tier;
use boardlab_sim::Instant;

impl<M: Medium> PageMapped<M> {
    /// Empties the victim that the policy chooses; returns whether it could.
    pub(crate) fn collect_next(&mut self) -> bool {
        if !self.write_due_trims() {
            return false;
        }
        let (pages, clock) = (self.flash.geometry.pages_per_block(), self.clock());
        let tier = self.tier_to_collect();
        let victim =
            self.collector.choose(&mut self.flash.pool, tier, pages, clock, &mut self.random);
        let victim = victim.expect("a part with enough blocks has closed ones");
        self.flash.counters.victims += 1;
        self.flash.counters.victim_pages += u64::from(self.flash.pool.valid(victim));
        let stream = self.stream_of_copy(victim);
        self.empty(victim, stream, Cause::Collection)
    }

    /// The tier to search for the next victim: a pool of fixed size that has all of its blocks
    /// returns one.
    fn tier_to_collect(&self) -> Tier {
        let hot = self.flash.pool.closed(Tier::Hot).len();
        match self.policies.streams {
            Streams::ByClass { hot_blocks, .. } if hot >= hot_blocks as usize => Tier::Hot,
            _ => Tier::Main,
        }
    }

    /// Moves the valid pages of `victim` into the open block of `stream` and erases it. When there
    /// is no space because blocks have worn out, nothing is done, and false is returned.
    pub(crate) fn empty(&mut self, victim: u32, stream: u8, cause: Cause) -> bool {
        if !self.write_due_trims() {
            return false;
        }
        let room = self.frontiers[usize::from(stream)].room();
        let (stale, pages) = (self.moves_stale(victim, cause), self.pages_to_move(victim, cause));
        if self.flash.pool.free(Tier::Main) == 0 && pages > room {
            assert!(self.flash.pool.retired() > 0, "the reserve has a block for each collection");
            return false;
        }
        if !self.can_open(u32::from(pages > room)) {
            return false;
        }
        self.flash.pool.take_victim(victim);
        let mut offsets = std::mem::take(&mut self.offsets);
        offsets.clear();
        match stale {
            true => offsets.extend(0..pages),
            false => self.flash.table.valid_offsets(victim, &mut offsets),
        }
        let valid = self.flash.pool.valid(victim);
        assert_eq!(offsets.len(), pages as usize, "the count of valid pages is right");
        let mut rest = &offsets[..];
        while !rest.is_empty() {
            while self.frontiers[usize::from(stream)].room() == 0 {
                if !self.open(stream) {
                    let moved = offsets.len() - rest.len();
                    self.leave_rest(victim, &offsets[..moved]);
                    self.offsets = offsets;
                    return false;
                }
            }
            let most = u32::try_from(rest.len()).expect("at most a block");
            let run = self.frontiers[usize::from(stream)].take(most);
            let (now, later) = rest.split_at(run.count as usize);
            self.copy(victim, now, stale, run, cause);
            rest = later;
        }
        self.offsets = offsets;
        self.flash.table.drop_block(victim);
        self.flash.pool.invalidate(victim, valid);
        self.erase(victim, cause);
        true
    }

    /// No block is left for the rest of `victim`, which stays as it is, without the moved pages.
    #[cold]
    fn leave_rest(&mut self, victim: u32, moved: &[u32]) {
        let mut gone = 0;
        for &offset in moved {
            let page = Page { block: victim, offset };
            gone += u32::from(self.flash.table.holder(page).is_some());
            self.flash.table.drop_run(page, 1);
        }
        self.flash.pool.invalidate(victim, gone);
        self.flash.pool.close(victim, self.clock());
    }

    /// Moves pages of a block, of which some may be stale, to erased pages of another.
    #[inline]
    fn copy(&mut self, from: u32, offsets: &[u32], stale: bool, to: PageRun, cause: Cause) {
        let target = Page { block: to.block, offset: to.offset };
        let valid = match stale {
            true => self.flash.table.relocate_all(from, offsets, target),
            false => {
                self.flash.table.relocate(from, offsets, target);
                to.count
            }
        };
        self.flash.pool.add_valid(to.block, valid);
        let logical = self.flash.table.logical_run(target, to.count);
        self.flash.medium.copy(Copies { from, offsets, logical, to }, cause);
        self.note_moved(target, to.count);
        self.flash.counters.reads[cause] += u64::from(to.count);
        self.flash.counters.programs[cause] += u64::from(to.count);
    }

    /// Erases and frees an open block.
    pub(crate) fn erase(&mut self, block: u32, cause: Cause) {
        self.make_durable_before_erase();
        if self.has_failed(block) {
            self.retire(block);
            return;
        }
        self.flash.medium.erase(block, cause);
        self.flash.counters.erases[cause] += 1;
        self.release(block);
        self.leveller.erased(block);
        self.flash.counters.assert_conserved(self.flash.medium.operations());
    }

    /// Does at most `most` moves of wear levelling; returns whether there was one.
    pub(crate) fn level(&mut self, most: u32) -> bool {
        let mut moved = false;
        for _ in 0..most {
            if self.flash.pool.free(Tier::Main) < self.policies.reserve {
                break;
            }
            let Some(next) = self.leveller.next(&self.flash.pool, &mut self.random) else { break };
            let (block, stream) = match next {
                Move::OntoWorn(block)
                    if !matches!(self.policies.streams, Streams::ByClass { .. }) =>
                {
                    (block, self.policies.streams.count())
                }
                Move::OntoWorn(block) | Move::Anywhere(block) => {
                    (block, self.stream_of_copy(block))
                }
            };
            if !self.empty(block, stream, Cause::Levelling) {
                break;
            }
            self.flash.counters.levelled += 1;
            moved = true;
        }
        moved
    }

    /// Does one step of background work at `now`; returns whether there was any.
    pub(crate) fn background(&mut self, now: Instant) -> bool {
        if self.refresh_next() {
            return true;
        }
        if self.policies.levelling_time == LevellingTime::Idle && self.level(1) {
            return true;
        }
        if self.fold_due().is_some_and(|due| due <= now) && self.fold_oldest() {
            return true;
        }
        if self.policies.idle_blocks == 0 || self.flash.pool.free(Tier::Main) >= self.free_wanted()
        {
            return false;
        }
        let tier = self.tier_to_collect();
        let (pages, closed) = (self.flash.geometry.pages_per_block(), self.flash.pool.closed(tier));
        let gain = closed.iter().any(|&block| self.flash.pool.valid(block) < pages);
        gain && self.collect_next()
    }

    /// The number of free blocks that background collection aims at: no more than the data leave,
    /// or it would move them forever where padding keeps blocks from being full.
    fn free_wanted(&self) -> u32 {
        let Policies { reserve, idle_blocks, cache, .. } = self.policies;
        let cached = if cache.fixed_blocks() == 0 { self.cache_blocks() } else { 0 };
        let held = self.blocks_needed(self.flash.mapped) - reserve + cached;
        let good = self.flash.geometry.blocks() - self.flash.pool.retired();
        reserve.saturating_add(idle_blocks).min(good.saturating_sub(held))
    }
}
