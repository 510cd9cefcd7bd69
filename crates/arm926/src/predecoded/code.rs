//! The cache of blocks made ready to run.
//!
//! Layer: rank 3. [`Codes`] finds a [`Code`] by its key, chains codes to each other, and forgets all of them when there are too many. A
//! chain is a hint only: whether a code may run is decided by the stamp of its line. Processes that run the same program at the same addresses share its codes.

use std::cell::Cell;

use super::block::{Block, Key};
use super::chain::From;
use super::lower::{LoweredBlock, Source, lower};
use super::step::Step;
use crate::memory::lookaside::LineHit;
use crate::timing::Pipeline;

/// No code.
pub(super) const NONE: u32 = u32::MAX;

/// Entries of a code that is not to be compiled.
const COLD: u32 = u32::MAX;

/// More codes than this are forgotten.
const MOST: usize = 1 << 14;

/// Lists of codes by hash.
const LISTS: usize = 1 << 12;

/// Places for the targets of dynamic jumps.
const JUMPS: usize = 1 << 10;

/// Addresses that were executed once.
const SEEN: usize = 1 << 12;

/// A way out of a code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Way {
    pub(super) cycles: u32,
    /// The code that follows, as far as known.
    pub(super) link: u32,
}

/// A block ready to run.
#[derive(Debug)]
pub(super) struct Code {
    /// Its first line.
    pub(super) line: LineHit,
    /// The most cycles that it takes; as many as there are if it has no pieces.
    pub(super) longest: u32,
    /// Its instructions.
    pub(super) count: u32,
    /// Behind the last piece: executed, skipped.
    pub(super) ways: [Way; 2],
    pub(super) steps: Box<[Step]>,
    pub(super) block: Box<Block>,
    /// The first step of each piece.
    firsts: Box<[u16]>,
    /// The piece of each step.
    sources: Box<[Source]>,
    /// How often it may be entered until it counts as hot.
    heat: Cell<u32>,
}

/// A code's key, and the next code in its list: apart from the codes, so that a search touches little memory.
#[derive(Debug)]
struct Link {
    key: Key,
    next: u32,
}

/// A target of dynamic jumps: the address with the state in bit 0, and bit 32 set for privileged modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JumpKey(u64);

impl JumpKey {
    /// The key of `target`, with the state in bit 0.
    #[inline(always)]
    pub(super) const fn new(target: u32, privileged: bool) -> Self {
        Self(target as u64 | (privileged as u64) << 32)
    }

    /// Its place in the table.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "an index below the length of the table")]
    const fn place(self) -> usize {
        (self.0 >> 1 ^ self.0 >> 11) as usize % JUMPS
    }
}

impl Code {
    #[allow(clippy::cast_possible_truncation, reason = "places and counts are below 1024")]
    fn new(block: Block) -> Self {
        let LoweredBlock { steps, firsts, sources } = lower(&block);
        let way = |exit: Option<super::block::Exit>| Way {
            cycles: exit.map_or(0, |exit| exit.cycles),
            link: NONE,
        };
        Self {
            line: block.key.line,
            longest: if block.pieces.is_empty() { u32::MAX } else { block.longest() },
            count: block.pieces.len() as u32,
            ways: [way(block.executed), way(block.skipped)],
            steps: steps.into(),
            firsts: firsts.into(),
            sources: sources.into(),
            block: Box::new(block),
            heat: Cell::new(COLD),
        }
    }

    /// Whether it was entered so often that it is worth compiling; counts.
    #[inline(always)]
    pub(super) fn is_hot(&self) -> bool {
        let heat = self.heat.get();
        self.heat.set(heat.saturating_sub(1));
        heat == 0
    }

    /// It is not worth asking again for long.
    pub(super) fn cool(&self) {
        self.heat.set(COLD);
    }

    /// The first step of a piece whose line was entered.
    pub(super) fn first_step(&self, piece: usize) -> usize {
        let entry = piece != 0 && self.block.enters_line(piece);
        usize::from(self.firsts[piece]) + usize::from(entry)
    }

    /// The number of the step that is `left` before the end, and where it is from.
    #[inline(always)]
    pub(super) fn source(&self, left: usize) -> (usize, Source) {
        let index = self.steps.len() - left;
        (index, self.sources[index])
    }

    /// Without pieces: the reference executes what is there.
    pub(super) const fn is_rare(&self) -> bool {
        self.count == 0
    }

    /// It was entered so often that it is worth compiling.
    pub(super) fn was_hot(&self) -> bool {
        self.heat.get() == 0
    }
}

/// All codes.
#[derive(Debug)]
pub(super) struct Codes {
    codes: Vec<Code>,
    /// Of each code.
    links: Vec<Link>,
    lists: Box<[u32]>,
    /// Where dynamic jumps led.
    jumps: Box<[(JumpKey, u32)]>,
    seen: Box<[u32]>,
    /// How often a code is entered until it is hot.
    threshold: u32,
}

impl Default for Codes {
    fn default() -> Self {
        Self {
            codes: Vec::new(),
            links: Vec::new(),
            lists: vec![NONE; LISTS].into(),
            jumps: vec![(JumpKey(0), NONE); JUMPS].into(),
            seen: vec![1; SEEN].into(),
            threshold: COLD,
        }
    }
}

/// The list of a key.
const fn list(key: &Key) -> usize {
    let mixed = key.at.0 >> 1 ^ key.at.0 >> 13 ^ key.line.stamp().wrapping_mul(0x9E5);
    mixed as usize % LISTS
}

impl Codes {
    /// None yet; each is hot when it was entered so often.
    #[cfg(feature = "compiler")]
    pub(super) fn with_threshold(threshold: u32) -> Self {
        Self { threshold, ..Self::default() }
    }

    /// The code of a number that was got from here since the last [`Codes::clear`].
    #[inline(always)]
    pub(super) fn get(&self, index: u32) -> Option<&Code> {
        self.codes.get(index as usize)
    }

    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut Code> {
        self.codes.get_mut(index as usize)
    }

    pub(super) fn clear(&mut self) {
        self.codes.clear();
        self.links.clear();
        self.lists.fill(NONE);
        self.jumps.fill((JumpKey(0), NONE));
        self.seen.fill(1);
    }

    pub(super) fn find(&self, key: &Key) -> Option<u32> {
        let mut index = self.lists[list(key)];
        while let Some(link) = self.links.get(index as usize) {
            if link.key == *key {
                return Some(index);
            }
            index = link.next;
        }
        None
    }

    /// Whether `at` was asked for before, lately: code that runs once is not worth a block.
    pub(super) fn is_warm(&mut self, at: u32) -> bool {
        let place = &mut self.seen[at as usize / 2 % SEEN];
        std::mem::replace(place, at & !1) == at & !1
    }

    /// Takes in a block; all others are forgotten if there are too many.
    #[allow(clippy::cast_possible_truncation, reason = "there are 16,384 at most")]
    pub(super) fn add(&mut self, block: Block) -> u32 {
        if self.codes.len() >= MOST {
            self.clear();
        }
        let index = self.codes.len() as u32;
        let first = &mut self.lists[list(&block.key)];
        self.links.push(Link { key: block.key, next: std::mem::replace(first, index) });
        self.codes.push(Code { heat: Cell::new(self.threshold), ..Code::new(block) });
        index
    }

    /// Whether there is a code of this number, and it has no pieces.
    pub(super) fn is_rare(&self, index: u32) -> bool {
        self.get(index).is_some_and(Code::is_rare)
    }

    /// The key of a code.
    pub(super) fn key(&self, index: u32) -> Option<&Key> {
        Some(&self.links.get(index as usize)?.key)
    }

    /// A code one of whose further lines has other contents now is found and entered no more.
    pub(super) fn retire(&mut self, index: u32) {
        let Some(code) = self.codes.get_mut(index as usize) else { return };
        code.line = LineHit::NEVER;
        let Some(&Link { key, next }) = self.links.get(index as usize) else { return };
        let first = &mut self.lists[list(&key)];
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

    /// Counts from the beginning what is not hot yet: only what is entered often in a short time is worth compiling.
    #[cfg(feature = "compiler")]
    pub(super) fn reset_counts(&self) {
        for code in &self.codes {
            let heat = &code.heat;
            if (1..self.threshold).contains(&heat.get()) {
                heat.set(self.threshold);
            }
        }
    }

    /// The code that a dynamic jump led to.
    #[inline(always)]
    pub(super) fn jump(&self, key: JumpKey) -> u32 {
        match self.jumps.get(key.place()) {
            Some(&(to, code)) if to == key => code,
            _ => NONE,
        }
    }

    /// Where `from` led last, as far as known.
    pub(super) fn next(&self, from: From) -> u32 {
        match from {
            From::Way { code, way } => self.get(code).map_or(NONE, |code| code.ways[way].link),
            From::Rare { code } => self.get(code).map_or(NONE, |code| code.ways[0].link),
            From::Jump(key) => self.jump(key),
        }
    }

    /// Chains `from` to a code, if that is what it leads to: all codes may have been forgotten meanwhile.
    pub(super) fn link(&mut self, from: From, index: u32) {
        let Some(&key) = self.key(index) else { return };
        match from {
            From::Way { code, way } => {
                let Some(code) = self.get_mut(code) else { return };
                let exit = if way == 0 { code.block.executed } else { code.block.skipped };
                let leads = exit.is_some_and(|exit| {
                    exit.to == Some((key.at, key.thumb)) && exit.pipeline == key.pipeline
                });
                if leads && code.block.key.privileged == key.privileged {
                    code.ways[way].link = index;
                }
            }
            From::Rare { code } => {
                // A guess: whoever follows it compares keys.
                if let Some(code) = self.get_mut(code).filter(|code| code.is_rare()) {
                    code.ways[0].link = index;
                }
            }
            From::Jump(jump) => {
                let leads = jump == JumpKey::new(key.at.0 | u32::from(key.thumb), key.privileged);
                if leads && key.pipeline == Pipeline::IDLE {
                    self.jumps[jump.place()] = (jump, index);
                }
            }
        }
    }
}
