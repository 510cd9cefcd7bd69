//! The block cache.
//!
//! Layer: rank 3. [`BlockCache`] finds a [`CachedBlock`] by its key, links blocks, and discards all
//! when full. A link is only a hint: the stamp of its line decides whether a block may run. Processes
//! that run the same program at the same addresses share blocks.

use std::cell::Cell;
use std::mem::offset_of;

use super::block::{Block, Key};
use super::chain::Origin;
use super::lower::{LoweredBlock, Source, lower};
use super::step::Step;
use crate::memory::lookaside::LineHit;
use crate::timing::Pipeline;

/// No block.
pub(super) const NONE: u32 = u32::MAX;

/// The heat of a block that is never compiled.
const COLD: u32 = u32::MAX;

/// The number of blocks at which all are discarded.
const BLOCKS_MAX: usize = 1 << 14;

/// The buckets of the hash table.
const BUCKETS: usize = 1 << 12;

/// The entries of the table of dynamic jumps.
const JUMP_ENTRIES: usize = 1 << 10;

/// The entries of the table of addresses executed once.
const SEEN_ENTRIES: usize = 1 << 12;

/// An exit of a cached block.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExitLink {
    pub(super) cycles: u32,
    /// The successor, or [`NONE`].
    pub(super) link: u32,
}

/// A block with its steps. What each entry reads is in one cache line of the host.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct CachedBlock {
    pub(super) steps: Box<[Step]>,
    /// The line of its entry.
    pub(super) line: LineHit,
    /// The exits after the last piece: executed, skipped.
    pub(super) exits: [ExitLink; 2],
    /// The maximum number of cycles without stalls; the largest number without pieces.
    pub(super) longest: u32,
    /// The number of its pieces.
    pub(super) count: u32,
    /// The number of further entries until the block is hot.
    heat: Cell<u32>,
    /// The piece of each step.
    sources: Box<[Source]>,
    pub(super) block: Box<Block>,
    /// The first step of each piece.
    firsts: Box<[u16]>,
}

const _: () = assert!(offset_of!(CachedBlock, sources) <= 64, "what each entry reads");

/// A block's key and the next in its bucket, apart from the blocks for a compact search.
#[derive(Debug)]
struct Link {
    key: Key,
    next: u32,
}

/// A target of dynamic jumps: the address with the state in bit 0, and bit 32 for privileged modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JumpKey(u64);

impl JumpKey {
    /// The key of `target`, with the state in bit 0.
    #[inline(always)]
    pub(super) const fn new(target: u32, privileged: bool) -> Self {
        Self(target as u64 | (privileged as u64) << 32)
    }

    /// The index in the table of dynamic jumps.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "an index below the length of the table")]
    const fn place(self) -> usize {
        (self.0 >> 1 ^ self.0 >> 11) as usize % JUMP_ENTRIES
    }
}

impl CachedBlock {
    #[allow(clippy::cast_possible_truncation, reason = "places and counts are below 1024")]
    fn new(block: Block) -> Self {
        let LoweredBlock { steps, firsts, sources } = lower(&block);
        let link = |exit: Option<super::block::Exit>| ExitLink {
            cycles: exit.map_or(0, |exit| exit.cycles),
            link: NONE,
        };
        Self {
            line: block.key.line,
            longest: if block.pieces.is_empty() { u32::MAX } else { block.longest() },
            count: block.pieces.len() as u32,
            exits: [link(block.executed), link(block.skipped)],
            steps: steps.into(),
            firsts: firsts.into(),
            sources: sources.into(),
            block: Box::new(block),
            heat: Cell::new(COLD),
        }
    }

    /// Whether it ends before `stop` when it is entered at `base`.
    #[inline(always)]
    pub(super) const fn ends_before(&self, stop: u64, base: u64) -> bool {
        base.wrapping_add(self.longest as u64) < stop
    }

    /// Counts an entry; returns whether the block is hot.
    #[inline(always)]
    pub(super) fn is_hot(&self) -> bool {
        let heat = self.heat.get();
        self.heat.set(heat.saturating_sub(1));
        heat == 0
    }

    /// Excludes the block from compilation.
    pub(super) fn mark_cold(&self) {
        self.heat.set(COLD);
    }

    /// The first step of a piece whose line is entered already.
    pub(super) fn first_step(&self, piece: usize) -> usize {
        let entry = piece != 0 && self.block.enters_line(piece);
        usize::from(self.firsts[piece]) + usize::from(entry)
    }

    /// The source of the step that is `left` before the end.
    #[inline(always)]
    pub(super) fn source(&self, left: usize) -> Source {
        self.sources[self.steps.len() - left]
    }

    /// Whether the block has no pieces: the reference executes its instruction.
    pub(super) const fn is_rare(&self) -> bool {
        self.count == 0
    }

    /// Whether the block is hot.
    pub(super) fn was_hot(&self) -> bool {
        self.heat.get() == 0
    }
}

/// All cached blocks.
#[derive(Debug)]
pub(super) struct BlockCache {
    blocks: Vec<CachedBlock>,
    /// The hash link of each block.
    links: Vec<Link>,
    buckets: Box<[u32]>,
    /// The targets of dynamic jumps.
    jumps: Box<[(JumpKey, u32)]>,
    seen: Box<[u32]>,
    /// The number of entries until a block is hot.
    threshold: u32,
}

impl Default for BlockCache {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            links: Vec::new(),
            buckets: vec![NONE; BUCKETS].into(),
            jumps: vec![(JumpKey(0), NONE); JUMP_ENTRIES].into(),
            seen: vec![1; SEEN_ENTRIES].into(),
            threshold: COLD,
        }
    }
}

/// The bucket of a key.
const fn bucket(key: &Key) -> usize {
    let mixed = key.at.0 >> 1 ^ key.at.0 >> 13 ^ key.line.stamp().wrapping_mul(0x9E5);
    mixed as usize % BUCKETS
}

impl BlockCache {
    /// Creates an empty cache with this threshold.
    #[cfg(feature = "compiler")]
    pub(super) fn with_threshold(threshold: u32) -> Self {
        Self { threshold, ..Self::default() }
    }

    /// The block with an index obtained since the last [`BlockCache::clear`].
    #[inline(always)]
    pub(super) fn get(&self, index: u32) -> Option<&CachedBlock> {
        self.blocks.get(index as usize)
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut CachedBlock> {
        self.blocks.get_mut(index as usize)
    }

    pub(super) fn clear(&mut self) {
        self.blocks.clear();
        self.links.clear();
        self.buckets.fill(NONE);
        self.jumps.fill((JumpKey(0), NONE));
        self.seen.fill(1);
    }

    pub(super) fn find(&self, key: &Key) -> Option<u32> {
        let mut index = self.buckets[bucket(key)];
        while let Some(link) = self.links.get(index as usize) {
            if link.key == *key {
                return Some(index);
            }
            index = link.next;
        }
        None
    }

    /// Whether `at` was requested before, recently: code that runs once is not worth a block.
    pub(super) fn is_warm(&mut self, at: u32) -> bool {
        let place = &mut self.seen[at as usize / 2 % SEEN_ENTRIES];
        std::mem::replace(place, at & !1) == at & !1
    }

    /// Adds a block, after discarding all if the cache is full.
    #[allow(clippy::cast_possible_truncation, reason = "there are 16,384 at most")]
    pub(super) fn add(&mut self, block: Block) -> u32 {
        if self.blocks.len() >= BLOCKS_MAX {
            self.clear();
        }
        let index = self.blocks.len() as u32;
        let first = &mut self.buckets[bucket(&block.key)];
        self.links.push(Link { key: block.key, next: std::mem::replace(first, index) });
        self.blocks
            .push(CachedBlock { heat: Cell::new(self.threshold), ..CachedBlock::new(block) });
        index
    }

    /// Whether there is such a block and it has no pieces.
    pub(super) fn is_rare(&self, index: u32) -> bool {
        self.get(index).is_some_and(CachedBlock::is_rare)
    }

    /// The key of a block.
    pub(super) fn key(&self, index: u32) -> Option<&Key> {
        Some(&self.links.get(index as usize)?.key)
    }

    /// Removes a block one of whose lines has changed.
    pub(super) fn retire(&mut self, index: u32) {
        let Some(code) = self.blocks.get_mut(index as usize) else { return };
        code.line = LineHit::NEVER;
        let Some(&Link { key, next }) = self.links.get(index as usize) else { return };
        let first = &mut self.buckets[bucket(&key)];
        if *first == index {
            *first = next;
            return;
        }
        let mut before = *first;
        while let Some(link) = self.links.get_mut(before as usize) {
            if link.next == index {
                link.next = next;
                return;
            }
            before = link.next;
        }
    }

    /// Halves the entry counts of blocks that are not hot: recent entries count most.
    #[cfg(feature = "compiler")]
    pub(super) fn halve_counts(&self) {
        for code in &self.blocks {
            let heat = &code.heat;
            if (1..self.threshold).contains(&heat.get()) {
                heat.set(self.threshold - (self.threshold - heat.get()) / 2);
            }
        }
    }

    /// The target block of a dynamic jump.
    #[inline(always)]
    pub(super) fn jump(&self, key: JumpKey) -> u32 {
        match self.jumps.get(key.place()) {
            Some(&(to, code)) if to == key => code,
            _ => NONE,
        }
    }

    /// The block to which `from` last led, or [`NONE`].
    pub(super) fn next(&self, from: Origin) -> u32 {
        match from {
            Origin::Exit { code, outcome } => {
                self.get(code).map_or(NONE, |code| code.exits[outcome].link)
            }
            Origin::Rare { code } => self.get(code).map_or(NONE, |code| code.exits[0].link),
            Origin::Jump(key) => self.jump(key),
        }
    }

    /// Links `from` to a block if it leads there; the cache may have been cleared meanwhile.
    pub(super) fn link(&mut self, from: Origin, index: u32) {
        let Some(&key) = self.key(index) else { return };
        match from {
            Origin::Exit { code, outcome } => {
                let Some(code) = self.get_mut(code) else { return };
                let exit = if outcome == 0 { code.block.executed } else { code.block.skipped };
                let leads = exit.is_some_and(|exit| {
                    exit.to == Some((key.at, key.thumb)) && exit.pipeline == key.pipeline
                });
                if leads && code.block.key.privileged == key.privileged {
                    code.exits[outcome].link = index;
                }
            }
            Origin::Rare { code } => {
                // A guess: its user compares keys.
                if let Some(code) = self.get_mut(code).filter(|code| code.is_rare()) {
                    code.exits[0].link = index;
                }
            }
            Origin::Jump(jump) => {
                let leads = jump == JumpKey::new(key.at.0 | u32::from(key.thumb), key.privileged);
                if leads && key.pipeline == Pipeline::IDLE {
                    self.jumps[jump.place()] = (jump, index);
                }
            }
        }
    }
}
