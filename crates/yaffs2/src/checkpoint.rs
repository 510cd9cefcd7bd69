//! Checkpoints: all tables in memory, written at unmount and read at mount instead of a scan.
//!
//! Layer: rank 5. Main type: [`Checkpoint`]. Nothing may change on the flash while it has a checkpoint: the
//! first write erases it. It is a cache: whatever is wrong with it, a scan finds everything again.
//!
//! Source: `core/yaffs_checkptrw.c`, `core/yaffs_yaffs2.c`.

mod read;
mod write;

use crate::Yaffs;
use crate::block::State;
use crate::error::Error;
use crate::format::checkpoint::{BLOCK, Checksum, DEVICE, OBJECT, VALIDITY};
use crate::format::{to_u32, to_usize};
use crate::layout::{Block, LEAF};
use crate::options::Mistake;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// Smaller flashes get no checkpoint.
const BLOCKS_MIN: u32 = 60;
/// Blocks beyond those that the stream takes, in case some are bad.
const BLOCKS_SPARE: u32 = 3;

/// What is known about the checkpoint.
#[derive(Debug, Clone, Default)]
pub(crate) struct Checkpoint {
    /// Whether it says what is in memory.
    pub(crate) valid: bool,
    /// Blocks that it takes.
    pub(crate) blocks: u32,
}

/// Where a stream stands.
#[derive(Debug, Default)]
struct Stream {
    /// Chunks of the stream so far.
    number: u32,
    checksum: Checksum,
    block: Option<Block>,
    page: u32,
    /// The block from which on the next one is looked for; `None` when there are no more.
    next: Option<Block>,
    /// The present chunk, and the next byte of it.
    data: Vec<u8>,
    at: usize,
    /// What the record of the last object that has a size or a target said.
    size: u64,
}

impl<M: Mtd> Yaffs<M> {
    fn wants_checkpoint(&self) -> bool {
        self.options.tags.is_yaffs2()
            && self.options.write_checkpoint
            && !self.options.read_only
            && self.layout.blocks >= BLOCKS_MIN
    }

    /// Blocks that must stay free for the next checkpoint.
    pub(crate) fn checkpoint_blocks_required(&self) -> i32 {
        if !self.wants_checkpoint() {
            return 0;
        }
        self.blocks_of_checkpoint().saturating_sub(self.checkpoint.blocks).cast_signed()
    }

    /// Blocks that a checkpoint of the present tables would take.
    fn blocks_of_checkpoint(&self) -> u32 {
        let blocks = u64::from(self.layout.blocks);
        let size = |bytes: usize| u64::from(to_u32(bytes));
        let bytes = size(2 * VALIDITY + DEVICE + 4)
            + blocks * size(BLOCK + self.blocks.stride())
            + u64::from(self.objects.count()) * size(OBJECT + 4)
            + u64::from(self.nodes.0) * size(self.layout.node + 4);
        let block = self.layout.chunk_bytes() * u64::from(self.layout.chunks_per_block);
        u32::try_from(bytes / block).unwrap_or(u32::MAX / 2) + BLOCKS_SPARE
    }

    /// Blocks that files never take: those kept for garbage collection, and those kept for a checkpoint.
    #[must_use]
    pub fn kept_blocks(&self) -> [u32; 2] {
        let checkpoint = if self.wants_checkpoint() { self.blocks_of_checkpoint() } else { 0 };
        [self.options.reserved_blocks, checkpoint]
    }

    /// Erases the checkpoint, since something is to be written.
    pub(crate) fn invalidate_checkpoint(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if self.options.tags.is_yaffs2() {
            self.changed = true;
        }
        let keeps = self.options.mistake == Some(Mistake::KeepsStaleCheckpoints);
        if keeps || (!self.checkpoint.valid && self.checkpoint.blocks == 0) {
            return Ok(());
        }
        self.checkpoint.valid = false;
        self.erase_checkpoint(clock)
    }

    fn erase_checkpoint(&mut self, clock: &mut Clock) -> Result<(), Error> {
        for block in self.layout.all() {
            if self.blocks.get(block).state != State::Checkpoint {
                continue;
            }
            if self.erase_flash(clock, block)? {
                self.blocks.get_mut(block).state = State::Empty;
                self.space.erased_blocks += 1;
                self.space.free_chunks += self.chunks_per_block();
            } else {
                self.mark_bad(clock, block)?;
                self.blocks.get_mut(block).state = State::Dead;
            }
        }
        self.checkpoint.blocks = 0;
        Ok(())
    }

    /// The blocks of a checkpoint are neither erased nor free.
    fn account_for_checkpoint(&mut self) {
        let blocks = self.checkpoint.blocks.cast_signed();
        self.space.free_chunks -= blocks * self.chunks_per_block();
        self.space.erased_blocks -= blocks;
    }

    /// Writes a checkpoint, unless there is one that says what is in memory.
    pub(crate) fn save_checkpoint(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if self.checkpoint.valid {
            return Ok(());
        }
        self.invalidate_checkpoint(clock)?;
        self.write_checkpoint(clock)
    }

    /// The bytes of a lowest node of a tree.
    fn pack_leaf(&self, entries: &[u32; LEAF]) -> Vec<u8> {
        let mut words = vec![0_u32; self.layout.node / 4];
        let bits = self.layout.entry_bits;
        for (position, &entry) in (0..).zip(entries) {
            let at = position * bits;
            let (word, shift) = (to_usize(at / 32), at % 32);
            let wide = u64::from(entry) << shift;
            words[word] |= u32::try_from(wide & u64::from(u32::MAX)).expect("masked");
            if wide >> 32 != 0 {
                words[word + 1] |= u32::try_from(wide >> 32).expect("the upper half");
            }
        }
        let order = self.options.byte_order;
        words.into_iter().flat_map(|word| order.bytes32(word)).collect()
    }

    fn unpack_leaf(&self, bytes: &[u8]) -> [u32; LEAF] {
        let (order, bits) = (self.options.byte_order, self.layout.entry_bits);
        let word = |at: usize| {
            bytes.get(at * 4..at * 4 + 4).map_or(0, |bytes| u64::from(order.get32(bytes, 0..4)))
        };
        std::array::from_fn(|position| {
            let at = to_u32(position) * bits;
            let (first, shift) = (to_usize(at / 32), at % 32);
            let wide = (word(first) | word(first + 1) << 32) >> shift;
            u32::try_from(wide & ((1 << bits) - 1)).expect("masked")
        })
    }
}
