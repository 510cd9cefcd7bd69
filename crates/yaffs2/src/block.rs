//! Erase blocks and the chunks in use in them.
//!
//! Layer: rank 5. Main types: [`BlockInfo`], [`State`], [`Blocks`]. Source: `struct yaffs_block_info` in
//! `core/yaffs_guts.h`, `core/yaffs_bitmap.c`.

use crate::format::checkpoint::BlockRecord;
use crate::format::{to_u32, to_usize};
use crate::layout::{Block, Layout};

/// What a block is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum State {
    /// Not known yet.
    #[default]
    Unknown,
    /// Being scanned.
    Scanning,
    /// Something is on it, and a scan will tell what.
    NeedsScan,
    /// Erased.
    Empty,
    /// Chunks are taken from it.
    Allocating,
    /// No more chunks are taken from it.
    Full,
    /// Nothing on it is of use.
    Dirty,
    /// It holds a part of a checkpoint.
    Checkpoint,
    /// It is being collected.
    Collecting,
    /// It is bad.
    Dead,
}

impl State {
    const ALL: [Self; 10] = [
        Self::Unknown,
        Self::Scanning,
        Self::NeedsScan,
        Self::Empty,
        Self::Allocating,
        Self::Full,
        Self::Dirty,
        Self::Checkpoint,
        Self::Collecting,
        Self::Dead,
    ];

    fn of(number: u32) -> Self {
        Self::ALL.get(to_usize(number)).copied().unwrap_or_default()
    }

    /// The number in checkpoints.
    fn number(self) -> u32 {
        to_u32(Self::ALL.iter().position(|&state| state == self).unwrap_or(0))
    }
}

/// A block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockInfo {
    /// What it is used for.
    pub state: State,
    /// Chunks in use.
    pub in_use: u32,
    /// Those of them whose file was deleted softly (YAFFS1).
    pub soft_deleted: u32,
    /// Whether it is to be marked bad.
    pub needs_retiring: bool,
    /// Whether it is known to be erased.
    pub skip_erased_check: bool,
    /// Whether it is to be collected first.
    pub prioritised: bool,
    /// How often errors occurred in it, modulo eight.
    pub strikes: u32,
    /// Whether it ends with a summary.
    pub has_summary: bool,
    /// Whether a header in it shrinks a file.
    pub has_shrink_header: bool,
    /// Its sequence number; 0 while it is erased.
    pub sequence: u32,
}

impl BlockInfo {
    /// Chunks that garbage collection would copy.
    pub(crate) const fn live(&self) -> u32 {
        self.in_use.saturating_sub(self.soft_deleted)
    }

    pub(crate) fn record(&self) -> BlockRecord {
        BlockRecord {
            soft_deleted: self.soft_deleted,
            in_use: self.in_use,
            state: self.state.number(),
            needs_retiring: self.needs_retiring,
            skip_erased_check: self.skip_erased_check,
            prioritised: self.prioritised,
            strikes: self.strikes,
            has_summary: self.has_summary,
            has_shrink_header: self.has_shrink_header,
            sequence: self.sequence,
        }
    }

    pub(crate) fn from_record(record: &BlockRecord) -> Self {
        Self {
            state: State::of(record.state),
            in_use: record.in_use,
            soft_deleted: record.soft_deleted,
            needs_retiring: record.needs_retiring,
            skip_erased_check: record.skip_erased_check,
            prioritised: record.prioritised,
            strikes: record.strikes,
            has_summary: record.has_summary,
            has_shrink_header: record.has_shrink_header,
            sequence: record.sequence,
        }
    }
}

/// All blocks.
#[derive(Debug, Clone)]
pub struct Blocks {
    list: Vec<BlockInfo>,
    /// A bit for each chunk in use, from the lowest on.
    bits: Vec<u8>,
    /// Bytes of bits of a block.
    stride: usize,
}

impl Blocks {
    pub(crate) fn new(layout: &Layout) -> Self {
        let (count, stride) =
            (to_usize(layout.blocks), to_usize(layout.chunks_per_block).div_ceil(8));
        Self { list: vec![BlockInfo::default(); count], bits: vec![0; count * stride], stride }
    }

    fn index(block: Block) -> usize {
        to_usize(block - Layout::FIRST)
    }

    /// A block.
    #[must_use]
    pub fn get(&self, block: Block) -> &BlockInfo {
        &self.list[Self::index(block)]
    }

    pub(crate) fn get_mut(&mut self, block: Block) -> &mut BlockInfo {
        &mut self.list[Self::index(block)]
    }

    /// All blocks with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Block, &BlockInfo)> {
        (Layout::FIRST..).zip(&self.list)
    }

    pub(crate) const fn stride(&self) -> usize {
        self.stride
    }

    fn row(&self, block: Block) -> std::ops::Range<usize> {
        let start = Self::index(block) * self.stride;
        start..start + self.stride
    }

    /// Whether a chunk is in use.
    #[must_use]
    pub fn is_used(&self, block: Block, page: u32) -> bool {
        self.bits[self.row(block).start + to_usize(page / 8)] >> (page % 8) & 1 == 1
    }

    /// Takes a chunk into use.
    pub(crate) fn take(&mut self, block: Block, page: u32) {
        let at = self.row(block).start + to_usize(page / 8);
        self.bits[at] |= 1 << (page % 8);
        self.get_mut(block).in_use += 1;
    }

    /// Takes a chunk out of use. On a forged flash that may happen twice.
    pub(crate) fn release(&mut self, block: Block, page: u32) {
        let at = self.row(block).start + to_usize(page / 8);
        self.bits[at] &= !(1 << (page % 8));
        let info = self.get_mut(block);
        info.in_use = info.in_use.saturating_sub(1);
    }

    pub(crate) fn clear_used(&mut self, block: Block) {
        let row = self.row(block);
        self.bits[row].fill(0);
    }

    pub(crate) fn has_used(&self, block: Block) -> bool {
        self.bits[self.row(block)].iter().any(|&byte| byte != 0)
    }

    pub(crate) fn count_used(&self, block: Block) -> u32 {
        self.bits[self.row(block)].iter().map(|byte| byte.count_ones()).sum()
    }

    pub(crate) fn bits(&self) -> &[u8] {
        &self.bits
    }

    pub(crate) fn bits_mut(&mut self) -> &mut [u8] {
        &mut self.bits
    }

    /// Blocks in a state.
    #[must_use]
    pub fn count(&self, state: State) -> u32 {
        to_u32(self.list.iter().filter(|block| block.state == state).count())
    }
}
