//! Garbage collection: which block is emptied, and how each of its nodes is moved.
//!
//! Layer: rank 5. Main type: [`PassOutcome`]; `Jffs2::collect` does one pass: it checks one inode
//! of the check after a mount, or runs one erase, or moves one node.
//!
//! ```text
//!  choice of a block, n of 0..128:   n < 50 erasable | n < 110 very dirty | n < 126 dirty | else clean
//!                                    (a list that is empty passes on to the next; clean before all is lost)
//!  node:  obsolete                 -> skipped
//!         pristine                 -> copied as it is, if it fits and its checksums are right
//!         metadata                 -> written anew
//!         hole                     -> written anew; with its version when newer nodes lie in it
//!         data                     -> its page is read and written anew, joined with its neighbours
//!         entry                    -> written anew
//!         entry of a removed name  -> written anew while an older entry of the name is anywhere; else dropped
//!  all of the block obsolete -> to be erased
//! ```
//! Two of 128 choices take a clean block. This, and the one in 128 erasable blocks that is kept
//! back, is the only wear levelling.
//!
//! Source: Linux 6.1, `fs/jffs2/gc.c`, `background.c`. Deliberate deviations: `n` comes from the
//! run's random stream, where the kernel uses its tick counter (see `ticks.rs`); a page to be
//! rewritten is always read from flash, where the kernel may have it in its page cache.

mod live;
mod node;

use crate::Jffs2;
use crate::block::{List, NodeId, NodeState, Owner};
use crate::error::Error;
use crate::index::InodeState;
use crate::volume::Volume;
use crate::wbuf::is_power_cut;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::Clock;
use boardlab_vfs::Errno;

/// The outcome of a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PassOutcome {
    /// Progress; there may be more to collect.
    Progress,
    /// Nothing to collect: only an erase can free space (`-EAGAIN`).
    NeedsErase,
}

impl<M: Mtd> Jffs2<M> {
    /// One pass of garbage collection (`jffs2_garbage_collect_pass`).
    ///
    /// # Errors
    /// ENOSPC, [`Errno::Io`] when there is no block to collect, [`Error::Flash`], and the errors of
    /// reads.
    pub(crate) fn collect(&mut self, clock: &mut Clock) -> Result<PassOutcome, Error> {
        if self.volume.blocks.totals().unchecked > 0 {
            return self.check_next(clock).map(|()| PassOutcome::Progress);
        }
        if self.volume.has_erases() && self.erase_some(clock, 1)? > 0 {
            return Ok(PassOutcome::Progress);
        }
        let Some(block) = self.victim(clock)? else {
            let waits = self.volume.erasing_blocks() > 0;
            return if waits { Ok(PassOutcome::NeedsErase) } else { Err(Errno::Io.into()) };
        };
        let result = self.collect_from(clock, block);
        self.volume.finish_victim();
        result.map(|()| PassOutcome::Progress)
    }

    /// Moves the next live node out of a block.
    fn collect_from(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        let dirty = self.volume.blocks.block(block).space().dirty;
        let Some(id) = self.volume.next_to_collect(block) else { return Ok(()) };
        let owner = self.volume.blocks.node(id).owner();
        let result = self.collect_node(clock, id);
        if let Err(Error::Flash(error)) = &result
            && is_power_cut(error)
        {
            return result;
        }
        let space = self.volume.blocks.block(block).space();
        let stuck = self.volume.blocks.collecting == Some(block)
            && space.dirty == dirty
            && self.volume.blocks.node(id).state().is_live();
        if stuck && owner != Owner::Nobody {
            // The kernel reports this as broken: nothing was freed, and the next pass would do the
            // same.
            return result.and(Err(Errno::NoSpc.into()));
        }
        result
    }

    fn collect_node(&mut self, clock: &mut Clock, id: NodeId) -> Result<(), Error> {
        let pristine = self.volume.blocks.node(id).state() == NodeState::Pristine;
        match self.volume.blocks.node(id).owner() {
            Owner::Nobody if pristine => {
                self.copy_node(clock, id)?;
                Ok(())
            }
            Owner::Nobody => self.volume.mark_obsolete(clock, id),
            Owner::Xattr(slot) => self.collect_datum(clock, slot, id),
            Owner::Xref(slot) => self.collect_reference(clock, slot, id),
            Owner::Inode(slot) => self.collect_inode_node(clock, slot, id, pristine),
        }
    }

    fn collect_inode_node(
        &mut self,
        clock: &mut Clock,
        slot: u32,
        id: NodeId,
        pristine: bool,
    ) -> Result<(), Error> {
        let (ino, links, state) = {
            let inode = self.volume.inodes.get(slot);
            (inode.ino, inode.links, inode.state)
        };
        if state == InodeState::Checked && pristine && self.copy_node(clock, id)?.is_some() {
            return Ok(());
        }
        if links == 0 && !self.open.contains_key(&ino) {
            // The inode can never be opened again.
            return self.volume.mark_obsolete(clock, id);
        }
        self.open_to_collect(clock, ino)?;
        let still = self.volume.blocks.node(id).state().is_live();
        if still { self.collect_live(clock, ino, id) } else { Ok(()) }
    }

    /// The victim block: the one being emptied, or the next.
    fn victim(&mut self, clock: &mut Clock) -> Result<Option<BlockIndex>, Error> {
        if let Some(block) = self.volume.blocks.collecting {
            return Ok(Some(block));
        }
        let n = self.volume.ticks.shown();
        loop {
            if let Some(list) = self.volume.list_to_collect(n) {
                return Ok(self.volume.begin_victim(list));
            }
            let waiting = self.volume.blocks.on_list(List::ErasablePendingWbuf) > 0;
            if !waiting || !self.volume.wbuf.is_dirty() {
                return Ok(None);
            }
            self.flush_wbuf_pad(clock)?;
        }
    }
}

impl<M> Volume<M> {
    pub(crate) fn has_erases(&self) -> bool {
        self.blocks.on_list(List::EraseComplete) + self.blocks.on_list(List::ErasePending) > 0
    }

    /// The list from which the next victim is taken (`jffs2_find_gc_block`).
    fn list_to_collect(&self, n: u64) -> Option<List> {
        let filled = |list: &List| self.blocks.on_list(*list) > 0;
        if filled(&List::BadUsed) && self.free_blocks() > 0 {
            return Some(List::BadUsed);
        }
        let by_chance = [(50, List::Erasable), (110, List::VeryDirty), (126, List::Dirty)];
        let chosen = by_chance.into_iter().find(|(below, list)| n < *below && filled(list));
        let fallback = [List::Clean, List::Dirty, List::VeryDirty, List::Erasable];
        chosen.map(|(_, list)| list).or_else(|| fallback.into_iter().find(filled))
    }

    /// Makes the first block of a list the victim; its wasted space becomes dirty.
    fn begin_victim(&mut self, list: List) -> Option<BlockIndex> {
        let block = self.blocks.take_first(list)?;
        self.blocks.collecting = Some(block);
        self.blocks.block_mut(block).gc_position = 0;
        self.blocks.adjust_space(block, |space| {
            space.dirty += space.wasted;
            space.wasted = 0;
        });
        Some(block)
    }

    /// The next live node of the block being emptied.
    fn next_to_collect(&mut self, block: BlockIndex) -> Option<NodeId> {
        if self.blocks.block(block).space().used == 0 {
            return None;
        }
        let from = self.blocks.block(block).gc_position;
        for index in from.. {
            let id = self.blocks.id(block, index)?;
            if self.blocks.node(id).state().is_live() {
                self.blocks.block_mut(block).gc_position = index;
                return Some(id);
            }
        }
        None
    }

    /// Moves the victim to the erase list once it has no live nodes.
    fn finish_victim(&mut self) {
        if let Some(block) = self.blocks.collecting
            && self.blocks.block(block).space().used == 0
        {
            self.blocks.collecting = None;
            self.blocks.move_to(block, List::ErasePending);
        }
    }

    /// Whether the background does a pass: there is reason for one, or it erased a block in the pass before. Each
    /// erase signals the thread, which then does a pass without looking for a reason
    /// (`jffs2_garbage_collect_thread`). It is left out where only clean blocks are there: full of one node
    /// each, they would be moved for ever.
    pub(crate) fn wakes_collector(&self) -> bool {
        let dirty =
            [List::VeryDirty, List::Dirty, List::Erasable].map(|list| self.blocks.on_list(list));
        let has_dirt = self.blocks.collecting.is_some() || dirty.iter().any(|&count| count > 0);
        self.signalled && has_dirt || self.wants_collection()
    }

    /// Whether garbage should be collected in the background (`jffs2_thread_should_wake`).
    fn wants_collection(&self) -> bool {
        if self.has_erases() || self.blocks.totals().unchecked > 0 {
            return true;
        }
        let few = self.free_blocks() + self.erasing_blocks() < self.reserves.gc_trigger;
        let very_dirty = self.blocks.on_list(List::VeryDirty);
        (few && self.collectable() > self.reserves.no_space_dirty)
            || very_dirty >= self.reserves.very_dirty_trigger
    }
}
