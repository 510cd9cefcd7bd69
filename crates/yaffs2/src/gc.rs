//! Garbage collection: which block, when, and how its chunks move.
//!
//! Layer: rank 5. Main type: [`Collector`]. Every write of a chunk looks first whether erased blocks are short.
//! If they are very short it collects the dirtiest block of all, as a whole; else it looks at a few blocks and
//! moves a few chunks of one that has hardly any. The background does the same with more patience. Now and
//! then the oldest block is moved, dirty or not: the only levelling of wear.
//!
//! Source: `yaffs_check_gc`, `yaffs_find_gc_block`, `yaffs_gc_block` in `core/yaffs_guts.c`;
//! `yaffs2_find_refresh_block`.

use crate::Yaffs;
use crate::block::State;
use crate::error::Error;
use crate::format::{ObjectType, header};
use crate::layout::{Block, Chunk, Layout};
use crate::object::Slot;
use crate::options::Mistake;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// A block with so few chunks in use needs no further search.
const GOOD_ENOUGH: u32 = 2;
/// The most chunks in use of a block that is collected without haste, at least.
const PASSIVE_THRESHOLD: u32 = 4;
/// Chunks that a step without haste moves.
const PASSIVE_COPIES: u32 = 5;
/// Steps without a block after which the oldest dirty one is taken.
const PATIENCE: u32 = 20;
const PATIENCE_BACKGROUND: u32 = 10;

/// The state of garbage collection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Collector {
    /// The block being collected, and the next page of it.
    block: Option<Block>,
    page: u32,
    /// Whether no collection may begin.
    pub(crate) disabled: bool,
    /// Whether some block may have to be collected first.
    pub(crate) prioritised_exist: bool,
    finder: Block,
    dirtiest: Option<Block>,
    dirtiest_in_use: u32,
    /// Steps since a block was chosen.
    not_done: u32,
    /// Writes until erased blocks are looked at again.
    skip: u32,
    /// Collections until the oldest block is refreshed.
    refresh_skip: u32,
    /// Soft-deleted files whose last chunk was in the block.
    clean_ups: Vec<u32>,
}

impl Collector {
    /// At a mount a block of the last one may wait.
    pub(crate) fn new() -> Self {
        Self { prioritised_exist: true, ..Self::default() }
    }

    /// A block is erased or retired.
    pub(crate) fn forget(&mut self, block: Block) {
        if self.block == Some(block) {
            self.block = None;
        }
        if self.dirtiest == Some(block) {
            (self.dirtiest, self.dirtiest_in_use) = (None, 0);
        }
    }
}

impl<M: Mtd> Yaffs<M> {
    /// Collects a block, or a part of one, if erased blocks are short.
    pub(crate) fn check_gc(&mut self, clock: &mut Clock, background: bool) -> Result<(), Error> {
        if self.collector.disabled {
            return Ok(());
        }
        for _ in 0..2 {
            let least = self.reserved_blocks() + self.checkpoint_blocks_required() + 1;
            let erased = self.space.erased_blocks * self.chunks_per_block();
            let aggressive = self.space.erased_blocks < least;
            if !aggressive {
                if !background && erased > self.space.free_chunks / 4 {
                    break;
                }
                self.collector.skip = self.collector.skip.min(20);
                let pressing = erased < self.space.free_chunks / 2;
                if !pressing && self.collector.skip >= 1 && !background {
                    self.collector.skip -= 1;
                    break;
                }
            }
            self.collector.skip = 5;
            self.choose_block(aggressive, background);
            if let Some(block) = self.collector.block {
                self.counts.collections += 1;
                self.counts.passive_collections += u64::from(!aggressive);
                self.collect_block(clock, block, aggressive)?;
            }
            let short = self.space.erased_blocks < self.reserved_blocks();
            if !short || self.collector.block.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn choose_block(&mut self, aggressive: bool, background: bool) {
        if self.collector.block.is_none() && !aggressive {
            self.begin_collection(Self::block_to_refresh);
        }
        if self.collector.block.is_none() {
            self.begin_collection(|fs| fs.block_to_collect(aggressive, background));
        }
    }

    fn begin_collection(&mut self, choose: impl FnOnce(&mut Self) -> Option<Block>) {
        self.collector.block = choose(self);
        self.collector.page = 0;
        self.collector.clean_ups.clear();
    }

    /// The oldest block, if it is time to move it.
    fn block_to_refresh(&mut self) -> Option<Block> {
        let period = self.options.refresh_period;
        if !self.options.tags.is_yaffs2() || period < 10 {
            return None;
        }
        self.collector.refresh_skip = self.collector.refresh_skip.min(period);
        if self.collector.refresh_skip > 0 {
            return None;
        }
        self.collector.refresh_skip = period;
        self.counts.refreshes += 1;
        let full = self.blocks.iter().filter(|(_, info)| info.state == State::Full);
        full.min_by_key(|&(block, info)| (info.sequence, block)).map(|(block, _)| block)
    }

    /// A block whose errors ask for it, the dirtiest of those looked at, or the oldest dirty one.
    fn block_to_collect(&mut self, aggressive: bool, background: bool) -> Option<Block> {
        let mut chosen = None;
        if self.collector.prioritised_exist && !aggressive {
            chosen = self.prioritised_block();
        }
        if chosen.is_none() {
            chosen = self.dirtiest_block(aggressive, background);
        }
        let patience = if background { PATIENCE_BACKGROUND } else { PATIENCE };
        if chosen.is_none() && self.options.tags.is_yaffs2() && self.collector.not_done >= patience
        {
            self.find_oldest_dirty();
            chosen = self.space.oldest_dirty_block;
            if chosen.is_none() {
                self.collector.not_done = 0;
            }
        }
        if chosen.is_some() {
            (self.collector.dirtiest, self.collector.dirtiest_in_use) = (None, 0);
            self.collector.not_done = 0;
            self.collector.refresh_skip = self.collector.refresh_skip.saturating_sub(1);
        } else {
            self.collector.not_done += 1;
        }
        chosen
    }

    fn prioritised_block(&mut self) -> Option<Block> {
        self.collector.dirtiest = None;
        let prioritised: Vec<Block> = self
            .blocks
            .iter()
            .filter(|(_, info)| info.prioritised)
            .map(|(block, _)| block)
            .collect();
        if prioritised.is_empty() {
            self.collector.prioritised_exist = false;
            return None;
        }
        let full = |fs: &Self, block| fs.blocks.get(block).state == State::Full;
        let found =
            prioritised.into_iter().find(|&block| full(self, block) && self.may_collect(block));
        found.or(self.space.oldest_dirty_block)
    }

    fn dirtiest_block(&mut self, aggressive: bool, background: bool) -> Option<Block> {
        let (chunks, blocks) = (self.layout.chunks_per_block, self.layout.blocks);
        let (threshold, looks) = if aggressive {
            (chunks, blocks)
        } else {
            let part = if background { chunks / 2 } else { chunks / 8 };
            let most = part.max(PASSIVE_THRESHOLD);
            let patient = if background { (self.collector.not_done + 2) * 2 } else { 0 };
            (patient.max(PASSIVE_THRESHOLD).min(most), (blocks / 16 + 1).min(100))
        };
        for _ in 0..looks {
            if self.collector.dirtiest.is_some() && self.collector.dirtiest_in_use <= GOOD_ENOUGH {
                break;
            }
            let next = self.collector.finder + 1;
            let next = if self.layout.all().contains(&next) { next } else { Layout::FIRST };
            self.collector.finder = next;
            let info = self.blocks.get(next);
            let live = info.live();
            let better = self.collector.dirtiest.is_none() || live < self.collector.dirtiest_in_use;
            if info.state == State::Full && live < chunks && better && self.may_collect(next) {
                self.collector.dirtiest = Some(next);
                self.collector.dirtiest_in_use = live;
            }
        }
        self.collector.dirtiest.filter(|_| self.collector.dirtiest_in_use <= threshold)
    }

    /// Moves the chunks of a block that are in use, or a few of them.
    fn collect_block(&mut self, clock: &mut Clock, block: Block, whole: bool) -> Result<(), Error> {
        let info = self.blocks.get_mut(block);
        let is_checkpoint = info.state == State::Checkpoint;
        if info.state == State::Full {
            info.state = State::Collecting;
        }
        info.has_shrink_header = false;
        self.collector.disabled = true;
        self.drop_summary(block);
        let result = if is_checkpoint || !self.blocks.has_used(block) {
            self.erase_block(clock, block)
        } else {
            self.move_chunks(clock, block, whole)
        };
        if result.is_ok() && self.blocks.get(block).state == State::Collecting {
            // A checkpoint does not know that a block is being collected.
            self.blocks.get_mut(block).state = State::Full;
        } else if result.is_ok() {
            self.clean_up(clock)?;
        }
        self.collector.disabled = false;
        result
    }

    fn move_chunks(&mut self, clock: &mut Clock, block: Block, whole: bool) -> Result<(), Error> {
        let mut copies = if whole { self.layout.chunks_per_block } else { PASSIVE_COPIES };
        while self.collector.page < self.layout.chunks_per_block
            && self.blocks.get(block).state == State::Collecting
            && copies > 0
        {
            let page = self.collector.page;
            let mut moved = true;
            if self.blocks.is_used(block, page) {
                copies -= 1;
                let chunk = self.layout.chunk_of(block, page);
                moved = self.move_chunk(clock, chunk)?;
            }
            self.collector.page += 1;
            if !moved {
                break;
            }
        }
        Ok(())
    }

    /// Moves a chunk; returns whether there was room.
    fn move_chunk(&mut self, clock: &mut Clock, chunk: Chunk) -> Result<bool, Error> {
        let mut data = self.buffer();
        let read = self.read_chunk(clock, chunk, Some(&mut data))?;
        let (block, _) = self.layout.place(chunk);
        let mut tags = read.tags.unwrap_or_default();
        let object = self.objects.find(tags.object);
        let mut mark = true;
        if self.options.mistake == Some(Mistake::ErasesBeforeCopy)
            && self.blocks.count_used(block) == 1
        {
            self.erase_flash(clock, block)?;
        }
        if let Some(slot) = object.filter(|&slot| self.is_softly_deleted(slot) && tags.chunk > 0) {
            self.space.free_chunks -= 1;
            let info = self.blocks.get_mut(block);
            info.soft_deleted = info.soft_deleted.saturating_sub(1);
            let object = self.objects.get_mut(slot);
            object.data_chunks -= 1;
            if object.data_chunks <= 0 {
                self.collector.clean_ups.push(tags.object);
            }
            mark = false;
        } else if let Some(slot) = object {
            tags.serial = (tags.serial + 1) & 3;
            if tags.chunk == 0 {
                self.freshen_header(slot, &mut data, &mut tags);
            }
            let Some(new) = self.write_chunk(clock, &data, &tags, true)? else {
                self.give_back(data);
                return Ok(false);
            };
            self.counts.copies += 1;
            if tags.chunk == 0 {
                let object = self.objects.get_mut(slot);
                (object.header, object.serial) = (new, tags.serial);
            } else {
                self.put_chunk(slot, tags.chunk, new);
            }
        }
        self.give_back(data);
        self.delete_chunk(clock, chunk, mark)?;
        Ok(true)
    }

    fn is_softly_deleted(&self, slot: Slot) -> bool {
        let object = self.objects.get(slot);
        object.deleted && object.soft_deleted
    }

    /// A header that moves has done its work on other objects and older data.
    fn freshen_header(&self, slot: Slot, data: &mut [u8], tags: &mut crate::format::Tags) {
        let order = self.options.byte_order;
        header::clear_marks(data, order);
        if let Some(extra) = &mut tags.extra {
            (extra.shrink, extra.shadows) = (false, false);
        }
        let object = self.objects.get(slot);
        if let (ObjectType::File, Some(file)) = (object.kind(), object.file()) {
            header::put_size(data, order, file.stored_size);
            if let Some(extra) = &mut tags.extra {
                extra.size = file.stored_size;
            }
        }
    }

    /// Deletes the files whose last chunk was in the block that is now erased.
    fn clean_up(&mut self, clock: &mut Clock) -> Result<(), Error> {
        for id in std::mem::take(&mut self.collector.clean_ups) {
            if let Some(slot) = self.objects.find(id) {
                self.delete_header(clock, slot)?;
                self.space.deleted_files -= 1;
            }
        }
        (self.collector.block, self.collector.page) = (None, 0);
        Ok(())
    }

    /// How urgent garbage collection in the background is, 0 to 2 (`yaffs_bg_gc_urgency`).
    pub(crate) fn urgency(&self) -> u32 {
        let erased = self.space.erased_blocks * self.chunks_per_block();
        let free = self.space.free_chunks;
        let scattered = (free - erased).max(0);
        if scattered < 2 * self.chunks_per_block() || erased > free / 2 {
            0
        } else if erased > free / 4 {
            1
        } else {
            2
        }
    }
}
