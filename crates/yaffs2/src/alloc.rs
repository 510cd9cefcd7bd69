//! Where new chunks go, and what becomes of blocks.
//!
//! Layer: rank 5. Main type: [`Space`]. Chunks are taken from one block at a time, page by page; the next block
//! is the next erased one in the order of the flash. The first program into a block is checked before and
//! after, the others are not, unless the flash says that they failed.
//!
//! ```text
//!  Empty --first chunk--> Allocating --last chunk--> Full --no chunk in use--> Dirty --erased--> Empty
//!                                                    Full --being collected--> Collecting --/
//!  any --erase or program failed--> Dead
//! ```
//! Source: `core/yaffs_guts.c`: `yaffs_alloc_chunk`, `yaffs_write_new_chunk`, `yaffs_chunk_del`,
//! `yaffs_block_became_dirty`; `core/yaffs_yaffs2.c`: the oldest dirty block.

use crate::Yaffs;
use crate::block::State;
use crate::error::Error;
use crate::flash::Ecc;
use crate::format::{SEQUENCE_BAD, Tags, summary};
use crate::layout::{Block, Chunk, Layout};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// How often a write is tried, each time in another block.
const ATTEMPTS: u32 = 5 * 64;
/// How often a block that is not erased is erased again.
const ERASES: u32 = 1;

/// The account of chunks and blocks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Space {
    /// Chunks that hold nothing of use, on blocks that are not bad.
    pub(crate) free_chunks: i32,
    pub(crate) erased_blocks: i32,
    /// The block that chunks are taken from.
    pub(crate) block: Option<Block>,
    /// The next page in it.
    pub(crate) page: u32,
    /// The block after which the search for an erased one begins.
    pub(crate) finder: Block,
    /// The sequence number of the newest block.
    pub(crate) sequence: u32,
    /// Files whose data wait for garbage collection.
    pub(crate) deleted_files: i32,
    pub(crate) unlinked_files: i32,
    /// The oldest block with chunks that are not in use, and its sequence number; 0 when not known.
    pub(crate) oldest_dirty: u32,
    pub(crate) oldest_dirty_block: Option<Block>,
}

impl<M: Mtd> Yaffs<M> {
    pub(crate) fn chunks_per_block(&self) -> i32 {
        self.layout.chunks_per_block.cast_signed()
    }

    pub(crate) fn reserved_blocks(&self) -> i32 {
        self.options.reserved_blocks.cast_signed()
    }

    /// Whether `count` chunks can be written without the reserve.
    pub(crate) fn has_room_for(&self, count: i32) -> bool {
        let blocks = self.reserved_blocks() + self.checkpoint_blocks_required();
        self.space.free_chunks > blocks * self.chunks_per_block() + count
    }

    /// The next erased block.
    fn next_erased_block(&mut self, clock: &mut Clock) -> Result<Option<Block>, Error> {
        if self.space.erased_blocks < 1 {
            return Ok(None);
        }
        for _ in self.layout.all() {
            let next = self.space.finder + 1;
            let next = if self.layout.all().contains(&next) { next } else { Layout::FIRST };
            self.space.finder = next;
            if self.blocks.get(next).state == State::Empty && self.is_erased_block(clock, next)? {
                self.space.sequence += 1;
                self.space.erased_blocks -= 1;
                let block = self.blocks.get_mut(next);
                block.state = State::Allocating;
                block.sequence = self.space.sequence;
                return Ok(Some(next));
            }
        }
        Ok(None)
    }

    /// Whether a block that seems to be erased is so. The sources look at the first chunk alone, and only if they
    /// have not erased the block themselves. But where an erase was broken off, cells that seem to be erased lose
    /// what is written. A repaired YAFFS erases again what was erased before a scan, and looks at all chunks.
    fn is_erased_block(&mut self, clock: &mut Clock, block: Block) -> Result<bool, Error> {
        if !self.options.repaired {
            return Ok(true);
        }
        for _ in 0..=ERASES {
            let sure = self.blocks.get(block).skip_erased_check;
            if !sure && !self.erase_flash(clock, block)? {
                break;
            }
            let erased = self.are_chunks_erased(clock, block)?;
            self.blocks.get_mut(block).skip_erased_check = erased;
            if erased {
                return Ok(true);
            }
        }
        self.counts.erase_failures += 1;
        self.space.erased_blocks -= 1;
        self.space.free_chunks -= self.chunks_per_block();
        self.retire_block(clock, block)?;
        Ok(false)
    }

    fn are_chunks_erased(&mut self, clock: &mut Clock, block: Block) -> Result<bool, Error> {
        for page in 0..self.layout.chunks_per_block {
            if !self.is_erased(clock, self.layout.chunk_of(block, page))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn take_chunk(&mut self, clock: &mut Clock, use_reserve: bool) -> Result<Option<Chunk>, Error> {
        if self.space.block.is_none() {
            self.space.block = self.next_erased_block(clock)?;
            self.space.page = 0;
        }
        if !use_reserve && !self.has_room_for(1) {
            return Ok(None);
        }
        let Some(block) = self.space.block else { return Ok(None) };
        let page = self.space.page;
        self.blocks.take(block, page);
        self.space.page += 1;
        self.space.free_chunks -= 1;
        if self.space.page >= self.layout.chunks_per_block {
            self.blocks.get_mut(block).state = State::Full;
            self.space.block = None;
        }
        Ok(Some(self.layout.chunk_of(block, page)))
    }

    /// Takes no more chunks from the present block.
    pub(crate) fn skip_rest_of_block(&mut self) {
        if let Some(block) = self.space.block {
            let info = self.blocks.get_mut(block);
            if info.state == State::Allocating {
                info.state = State::Full;
                self.space.block = None;
            }
        }
    }

    /// Programs a new chunk; `None` when there is no room.
    pub(crate) fn write_chunk(
        &mut self,
        clock: &mut Clock,
        data: &[u8],
        tags: &Tags,
        use_reserve: bool,
    ) -> Result<Option<Chunk>, Error> {
        self.invalidate_checkpoint(clock)?;
        for attempt in 0..=ATTEMPTS {
            let Some(chunk) = self.take_chunk(clock, use_reserve)? else { return Ok(None) };
            self.counts.retried_writes += u64::from(attempt > 0);
            let (block, _) = self.layout.place(chunk);
            let info = self.blocks.get_mut(block);
            if self.options.always_check_erased {
                info.skip_erased_check = false;
            }
            let check = !info.skip_erased_check;
            if check && !self.is_erased(clock, chunk)? {
                self.delete_chunk(clock, chunk, true)?;
                self.skip_rest_of_block();
                continue;
            }
            let mut done = self.program_with_summary(clock, chunk, data, tags)?;
            if check {
                done = self.is_written(clock, chunk, data, tags)?;
            }
            if !done {
                self.note_chunk_error(block);
                if check {
                    self.blocks.get_mut(block).needs_retiring = true;
                }
                self.delete_chunk(clock, chunk, true)?;
                self.skip_rest_of_block();
                continue;
            }
            self.blocks.get_mut(block).skip_erased_check = true;
            return Ok(Some(chunk));
        }
        Ok(None)
    }

    /// Programs a chunk, and the summary of its block once that has all others.
    fn program_with_summary(
        &mut self,
        clock: &mut Clock,
        chunk: Chunk,
        data: &[u8],
        tags: &Tags,
    ) -> Result<bool, Error> {
        let tags = Tags { sequence: self.space.sequence, ..*tags };
        let done = self.program_chunk(clock, chunk, data, &tags)?;
        let (block, page) = self.layout.place(chunk);
        if let Some(shape) = self.layout.summary.filter(|shape| page < shape.described) {
            let at = crate::format::to_usize(page) * summary::ENTRY;
            let entry = summary::entry(&tags, self.options.byte_order);
            self.summary[at..at + summary::ENTRY].copy_from_slice(&entry);
            if page == shape.described - 1 {
                self.write_summary(clock, block)?;
                self.summary.fill(0);
                self.skip_rest_of_block();
            }
        }
        Ok(done)
    }

    fn is_erased(&mut self, clock: &mut Clock, chunk: Chunk) -> Result<bool, Error> {
        let mut data = self.buffer();
        let read = self.read_chunk(clock, chunk, Some(&mut data))?;
        let erased = boardlab_mtd::is_erased(&data);
        self.give_back(data);
        Ok(read.whole && read.ecc == Ecc::Clean && erased && read.tags.is_none())
    }

    fn is_written(
        &mut self,
        clock: &mut Clock,
        chunk: Chunk,
        expected: &[u8],
        tags: &Tags,
    ) -> Result<bool, Error> {
        let mut data = self.buffer();
        let read = self.read_chunk(clock, chunk, Some(&mut data))?;
        let same = data == expected;
        self.give_back(data);
        let wanted = (tags.object, tags.chunk, tags.bytes);
        let tags = read.tags.map(|tags| (tags.object, tags.chunk, tags.bytes));
        Ok(read.whole && same && tags == Some(wanted))
    }

    /// An error occurred in a block: it is collected before others, and after four times it is retired.
    pub(crate) fn note_chunk_error(&mut self, block: Block) {
        let info = self.blocks.get_mut(block);
        if !info.prioritised {
            info.prioritised = true;
            info.strikes = (info.strikes + 1) % 8;
            info.needs_retiring |= info.strikes > 3;
            self.collector.prioritised_exist = true;
        }
    }

    /// A chunk is of no more use. A block with no other is erased.
    pub(crate) fn delete_chunk(
        &mut self,
        clock: &mut Clock,
        chunk: Chunk,
        mark: bool,
    ) -> Result<(), Error> {
        if !self.layout.has(chunk) {
            return Ok(());
        }
        let (block, page) = self.layout.place(chunk);
        self.note_dirty(block);
        let state = self.blocks.get(block).state;
        // The sources do not mark what is in a block being collected. It comes back when the power fails before
        // the erase.
        let marked = state != State::Collecting || self.options.repaired;
        if mark && !self.options.tags.is_yaffs2() && marked {
            self.program_deletion(clock, chunk)?;
        }
        let counted =
            matches!(state, State::Allocating | State::Full | State::NeedsScan | State::Collecting);
        if !counted {
            return Ok(());
        }
        self.space.free_chunks += 1;
        self.blocks.release(block, page);
        let info = self.blocks.get(block);
        let closed = matches!(state, State::Full | State::Collecting);
        if info.in_use == 0 && !info.has_shrink_header && closed {
            self.erase_block(clock, block)?;
        }
        Ok(())
    }

    /// Erases a block with nothing of use, or retires it.
    pub(crate) fn erase_block(&mut self, clock: &mut Clock, block: Block) -> Result<(), Error> {
        self.forget_oldest_dirty(block);
        self.blocks.get_mut(block).state = State::Dirty;
        self.collector.forget(block);
        let mut erased = false;
        if !self.blocks.get(block).needs_retiring {
            self.invalidate_checkpoint(clock)?;
            erased = self.erase_flash(clock, block)?;
            self.counts.erase_failures += u64::from(!erased);
        }
        if !erased {
            self.space.free_chunks -= self.chunks_per_block();
            return self.retire_block(clock, block);
        }
        let info = self.blocks.get_mut(block);
        *info = crate::block::BlockInfo {
            state: State::Empty,
            skip_erased_check: true,
            strikes: info.strikes,
            ..crate::block::BlockInfo::default()
        };
        self.space.erased_blocks += 1;
        self.blocks.clear_used(block);
        Ok(())
    }

    fn retire_block(&mut self, clock: &mut Clock, block: Block) -> Result<(), Error> {
        self.invalidate_checkpoint(clock)?;
        self.forget_oldest_dirty(block);
        if !self.mark_bad(clock, block)? && self.erase_flash(clock, block)? {
            let tags = Tags { sequence: SEQUENCE_BAD, ..Tags::default() };
            let data = vec![0xFF; self.layout.chunk];
            let first = self.layout.chunk_of(block, 0);
            self.program_chunk(clock, first, &data, &tags)?;
        }
        let info = self.blocks.get_mut(block);
        info.state = State::Dead;
        info.prioritised = false;
        info.needs_retiring = false;
        self.counts.retired_blocks += 1;
        Ok(())
    }

    /// Finds the oldest full block with chunks that are not in use, unless it is known.
    pub(crate) fn find_oldest_dirty(&mut self) {
        if !self.options.tags.is_yaffs2() || self.space.oldest_dirty != 0 {
            return;
        }
        let chunks = self.layout.chunks_per_block;
        let dirty = self.blocks.iter().filter(|(_, info)| {
            info.state == State::Full
                && info.live() < chunks
                && info.sequence <= self.space.sequence
        });
        if let Some((block, info)) = dirty.min_by_key(|&(block, info)| (info.sequence, block)) {
            self.space.oldest_dirty = info.sequence;
            self.space.oldest_dirty_block = Some(block);
        }
    }

    /// A chunk of the block goes out of use.
    pub(crate) fn note_dirty(&mut self, block: Block) {
        let sequence = self.blocks.get(block).sequence;
        if self.options.tags.is_yaffs2()
            && self.space.oldest_dirty != 0
            && self.space.oldest_dirty > sequence
        {
            self.space.oldest_dirty = sequence;
            self.space.oldest_dirty_block = Some(block);
        }
    }

    fn forget_oldest_dirty(&mut self, block: Block) {
        if self.blocks.get(block).sequence == self.space.oldest_dirty {
            self.space.oldest_dirty = 0;
            self.space.oldest_dirty_block = None;
        }
    }

    /// Whether a block may be collected: the header of a truncation must stay until the data that it voids
    /// are erased.
    pub(crate) fn may_collect(&mut self, block: Block) -> bool {
        if !self.options.tags.is_yaffs2() || !self.blocks.get(block).has_shrink_header {
            return true;
        }
        self.find_oldest_dirty();
        self.blocks.get(block).sequence <= self.space.oldest_dirty
    }
}
