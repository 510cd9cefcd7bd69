//! Allocation of space for nodes: who may use it, in which block it is, and what happens at the end
//! of a block.
//!
//! Layer: rank 5. Main types: [`Priority`], [`SummaryCost`]. All nodes are appended to the one
//! block that is being written. A reservation is at least as large as requested. A writer of data
//! uses as much of the rest as it can, and continues in the next block.
//!
//! ```text
//!  reserve: enough free blocks? --no--> enough dirty space? --yes--> collect garbage, try again
//!                |                          |
//!                yes                        no: ENOSPC (a deletion may go on down to its own reserve)
//!                v
//!  the block being written: | nodes | asked for | entries of the summary, which grow with each node |
//!      does it all fit? --no--> write the summary, file the block, take the first free one
//!                                  none free: erase one; none to erase: ENOSPC
//! ```
//! Source: Linux 6.1, `fs/jffs2/nodemgmt.c` (`jffs2_reserve_space` to `jffs2_find_nextblock`),
//! `summary.c` (`jffs2_sum_write_sumnode`). Left out: the pool reserved for the superuser
//! (`rp_size`), which is 0 by default.

use crate::Jffs2;
use crate::block::{List, NodeState, Owner, is_dirty};
use crate::error::Error;
use crate::format::{pad, summary};
use crate::summary_builder::SummaryBuilder;
use crate::volume::Volume;
use crate::wbuf::NodeWrite;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::Clock;
use boardlab_vfs::Errno;

/// The size limit of a summary (`MAX_SUMMARY_SIZE`).
const SUMMARY_MAX: u32 = 32_768;

/// The priority of a reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Priority {
    /// A write of new data (`ALLOC_NORMAL`).
    Normal,
    /// A deletion, which may need space to free space (`ALLOC_DELETION`).
    Deletion,
}

/// The bytes that the next node will use in the summary; `None` when a summary cannot describe it.
pub(crate) type SummaryCost = Option<u32>;

impl<M> Volume<M> {
    /// The number of blocks that can be written immediately.
    pub(crate) const fn free_blocks(&self) -> u32 {
        self.blocks.on_list(List::Free)
    }

    /// The number of blocks that will be free after their erase.
    pub(crate) const fn erasing_blocks(&self) -> u32 {
        self.blocks.on_list(List::ErasePending)
            + self.blocks.on_list(List::Erasing)
            + self.blocks.on_list(List::EraseComplete)
    }

    /// The bytes that garbage collection may free, without blocks that wait for their erase.
    pub(crate) fn collectable(&self) -> u64 {
        let waiting = u64::from(self.erasing_blocks()) * u64::from(self.blocks.size());
        (self.blocks.totals().dirty + self.blocks.erasing()).saturating_sub(waiting)
    }
}

impl<M: Mtd> Jffs2<M> {
    /// Reserves at least `least` bytes and returns how many are available.
    ///
    /// # Errors
    /// ENOSPC, and the errors of garbage collection.
    pub(crate) fn reserve(
        &mut self,
        clock: &mut Clock,
        least: u32,
        priority: Priority,
        summary: SummaryCost,
    ) -> Result<u32, Error> {
        let least = pad(least);
        loop {
            while self.must_collect(priority)? {
                self.collect_for_space(clock)?;
            }
            if let Some(found) = self.try_reserve(clock, least, summary)? {
                return Ok(found);
            }
        }
    }

    /// Reserves space for garbage collection or a recovery, which may use the last block.
    ///
    /// # Errors
    /// ENOSPC, and the errors of erases.
    pub(crate) fn reserve_gc(
        &mut self,
        clock: &mut Clock,
        least: u32,
        summary: SummaryCost,
    ) -> Result<u32, Error> {
        loop {
            if let Some(found) = self.try_reserve(clock, pad(least), summary)? {
                return Ok(found);
            }
        }
    }

    /// Whether a write must wait for garbage collection.
    fn must_collect(&self, priority: Priority) -> Result<bool, Error> {
        let (volume, reserves) = (&self.volume, &self.volume.reserves);
        if volume.read_only {
            return Err(Errno::RoFs.into());
        }
        let blocks = volume.free_blocks() + volume.erasing_blocks();
        if blocks >= reserves.write {
            return Ok(false);
        }
        let totals = volume.blocks.totals();
        let dirty = volume.collectable() + totals.unchecked;
        let available = totals.free + totals.dirty + volume.blocks.erasing() + totals.unchecked;
        let enough = available / u64::from(volume.blocks.size()) > u64::from(reserves.write);
        if dirty >= reserves.no_space_dirty && enough {
            return Ok(true);
        }
        if priority == Priority::Deletion && blocks >= reserves.deletion {
            return Ok(false);
        }
        Err(Errno::NoSpc.into())
    }

    /// Runs one pass of garbage collection, or an erase when only that can free space.
    fn collect_for_space(&mut self, clock: &mut Clock) -> Result<(), Error> {
        match self.collect(clock)? {
            crate::gc::PassOutcome::Progress => Ok(()),
            crate::gc::PassOutcome::NeedsErase => self.erase_some(clock, 1).map(drop),
        }
    }

    /// Reserves space in the block being written, or in the next; `None` when it must be tried again.
    fn try_reserve(
        &mut self,
        clock: &mut Clock,
        least: u32,
        summary: SummaryCost,
    ) -> Result<Option<u32>, Error> {
        let mut kept = 0;
        let wanted = summary.filter(|_| self.volume.summary);
        if !self.volume.fits_a_block(least, wanted) {
            return Err(Errno::NoSpc.into());
        }
        if let Some(block) = self.volume.blocks.writing {
            let with_entry = wanted.filter(|_| !self.volume.summary_builder.is_disabled());
            let free = self.volume.free_in(block);
            match with_entry {
                Some(entry) => {
                    kept = self.volume.summary_builder.length_with(entry);
                    if least + kept > free {
                        self.write_summary(clock, block)?;
                        if self.volume.summary_builder.is_disabled() {
                            return Ok(None);
                        }
                        self.volume.close_writing(block);
                        kept = self.volume.summary_builder.length_with(entry);
                    }
                }
                None if least > free => {
                    if self.volume.wbuf.is_dirty() {
                        self.flush_wbuf_pad(clock)?;
                        return Ok(None);
                    }
                    self.volume.blocks.link_wasted(block, free);
                    self.volume.close_writing(block);
                }
                None => {}
            }
        }
        if self.volume.blocks.writing.is_none() && !self.take_next_block(clock)? {
            return Ok(None);
        }
        let Some(block) = self.volume.blocks.writing else { return Ok(None) };
        self.room(clock, block, least, kept).map(Some)
    }

    /// The space for nodes in the block being written. Its cleanmarker becomes obsolete as soon as
    /// a node follows it.
    fn room(
        &mut self,
        clock: &mut Clock,
        block: BlockIndex,
        least: u32,
        kept: u32,
    ) -> Result<u32, Error> {
        let room = self.volume.free_in(block).saturating_sub(kept);
        let cleanmarker = self.volume.layout.cleanmarker();
        let used = self.volume.blocks.block(block).space().used;
        if cleanmarker > 0
            && used == u64::from(cleanmarker)
            && let Some(first) = self.volume.blocks.id(block, 0)
            && self.volume.blocks.node(first).owner() == Owner::Nobody
        {
            self.volume.mark_obsolete(clock, first)?;
        }
        if room < least { Err(Errno::NoSpc.into()) } else { Ok(room) }
    }

    /// Writes the summary at the end of the block. When it is too large or cannot be written, the
    /// block gets none, as [`SummaryBuilder`](crate::summary_builder::SummaryBuilder) then says.
    fn write_summary(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        let free = self.volume.free_in(block);
        let volume = &mut self.volume;
        let needed = volume.summary_builder.exact_length();
        let behind_frame = free.saturating_sub(summary::SIZE);
        if needed > free || behind_frame > SUMMARY_MAX || volume.summary_builder.count() == 0 {
            volume.summary_builder.disable();
            return Ok(());
        }
        let marker = volume.layout.cleanmarker();
        let node =
            volume.summary_builder.node(free, volume.layout.block_size, marker, volume.order);
        volume.host.spend(clock, boardlab_vfs::Work::Crc, node.len());
        let at = volume.write_offset();
        volume.summary_builder.reset();
        let (head, data) = node.split_at(crate::format::to_usize(summary::SIZE));
        let piece = NodeWrite { at, parts: [head, data], entry: None, ino: None };
        match self.append_node(clock, &piece) {
            Ok(()) => {
                let volume = &mut self.volume;
                volume.blocks.link(block, free, NodeState::Normal, Owner::Nobody, None);
            }
            Err(error) => {
                self.fail_unless_medium(error)?;
                if self.volume.blocks.writing == Some(block) {
                    self.volume.blocks.link(block, free, NodeState::Obsolete, Owner::Nobody, None);
                }
                self.volume.summary_builder.disable();
            }
        }
        Ok(())
    }

    /// Takes the first free block as the block being written; false when a block had to be erased
    /// or the write buffer to be flushed first.
    fn take_next_block(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        let blocks = &mut self.volume.blocks;
        if let Some(block) = blocks.take_first(List::Free) {
            blocks.writing = Some(block);
            self.volume.summary_builder.reset();
            if !self.volume.wbuf.is_dirty() {
                self.volume.wbuf.at = None;
            }
            return Ok(true);
        }
        if self.volume.erasing_blocks() == 0
            && let Some(block) = self.volume.blocks.first(List::Erasable)
        {
            self.volume.blocks.move_to(block, List::ErasePending);
        }
        if self.volume.erasing_blocks() > 0 {
            self.erase_some(clock, 1)?;
            return Ok(false);
        }
        let waiting = self.volume.blocks.on_list(List::ErasablePendingWbuf) > 0;
        if waiting && self.volume.wbuf.is_dirty() {
            self.flush_wbuf_pad(clock)?;
            return Ok(false);
        }
        Err(Errno::NoSpc.into())
    }
}

impl<M> Volume<M> {
    /// Whether a node of `least` bytes fits an empty block together with its summary. A node that
    /// does not must be refused before the block being written is given up for it.
    pub(crate) fn fits_a_block(&self, least: u32, summary: SummaryCost) -> bool {
        let kept = summary.map_or(0, |entry| SummaryBuilder::default().length_with(entry));
        least + kept <= self.blocks.size() - self.layout.cleanmarker()
    }

    /// The bytes after the nodes of a block.
    pub(crate) fn free_in(&self, block: BlockIndex) -> u32 {
        self.blocks.size() - self.blocks.free_offset(block)
    }

    /// Closes a full block and moves it to its list (`jffs2_close_nextblock`).
    fn close_writing(&mut self, block: BlockIndex) {
        self.blocks.writing = None;
        let space = *self.blocks.block(block).space();
        if !is_dirty(space.wasted + space.dirty) {
            self.blocks.move_to(block, List::Clean);
            return;
        }
        self.blocks.adjust_space(block, |space| {
            space.dirty += space.wasted;
            space.wasted = 0;
        });
        let very = self.blocks.is_very_dirty(space.wasted + space.dirty);
        self.blocks.move_to(block, if very { List::VeryDirty } else { List::Dirty });
    }
}
