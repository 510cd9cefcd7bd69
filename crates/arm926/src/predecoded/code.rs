//! The cache of blocks made ready to run.
//!
//! Layer: rank 3. [`Codes`] finds a [`Code`] by its key, chains codes to each other, and forgets all of them when there are too many. A
//! chain is a hint only: whether a code may run is decided by the stamp of its line.

use std::cell::Cell;

use super::block::{Block, Key};
use super::lower::{Lowered, lower};
use super::step::{Step, line_entry};
use crate::address::Virtual;
use crate::memory::lookaside::Hits;

/// No code.
pub(super) const NONE: u32 = u32::MAX;

/// A stamp that no line has.
const NO_STAMP: u64 = u64::MAX;

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
    /// The stay of its first line in the cache during which it was last seen to have the right contents.
    pub(super) stamp: u64,
    /// The place of its first line among the hits.
    pub(super) place: u32,
    /// The most cycles that it takes.
    pub(super) longest: u32,
    /// Its instructions.
    pub(super) count: u32,
    /// Behind the last piece: executed, skipped.
    pub(super) ways: [Way; 2],
    pub(super) steps: Box<[Step]>,
    pub(super) block: Box<Block>,
    /// The first step of each piece.
    pub(super) firsts: Box<[u16]>,
    /// The step that enters a line, of each line but the first.
    entries: Box<[u16]>,
    /// How often it may be entered until it counts as hot.
    heat: Cell<u32>,
}

/// A code's key, and the next code in its list: apart from the codes, so that a search touches little memory.
#[derive(Debug)]
struct Link {
    key: Key,
    next: u32,
}

/// A target of dynamic jumps: the modified address with the state in bit 0, and bit 32 set for privileged modes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct JumpKey(u64);

impl JumpKey {
    /// The key of `target`, with the state in bit 0, under the FCSE process number `pid`.
    #[inline(always)]
    pub(super) fn new(target: u32, pid: u8, privileged: bool) -> Self {
        Self(u64::from(Virtual(target).modified(pid).0) | u64::from(privileged) << 32)
    }

    /// Its place in the table; the process number, which is in the highest bits of an address, counts.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "an index below the length of the table")]
    const fn place(self) -> usize {
        (self.0 >> 1 ^ self.0 >> 25 << 3) as usize % JUMPS
    }
}

impl Code {
    #[allow(clippy::cast_possible_truncation, reason = "places and counts are below 1024")]
    fn new(block: Block) -> Self {
        let Lowered { steps, firsts, entries } = lower(&block);
        let way = |exit: Option<super::block::Exit>| Way {
            cycles: exit.map_or(0, |exit| exit.cycles),
            link: NONE,
        };
        Self {
            stamp: NO_STAMP,
            place: Hits::line_place(block.key.at.0) as u32,
            longest: if block.pieces.is_empty() { u32::MAX } else { block.longest() },
            count: block.pieces.len() as u32,
            ways: [way(block.executed), way(block.skipped)],
            steps: steps.into(),
            firsts: firsts.into(),
            entries: entries.into(),
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

    /// Notes that line `index` has the right contents during the stay `stamp`.
    pub(super) fn set_stamp(&mut self, index: usize, stamp: u64) {
        let line = &mut self.block.lines[index];
        line.stamp = stamp;
        match index.checked_sub(1) {
            None => self.stamp = stamp,
            Some(entry) => {
                self.steps[usize::from(self.entries[entry])] = line_entry(line.at.0, stamp);
            }
        }
    }

    /// The steps from a piece on; without the entry of its line if that is `entered`.
    pub(super) fn steps_from(&self, piece: usize, entered: bool) -> &[Step] {
        let first = usize::from(self.firsts[piece]);
        let entry = piece != 0 && entered && self.block.enters_line(piece);
        self.steps.get(first + usize::from(entry)..).unwrap_or(&[])
    }

    /// The piece whose steps begin with, or are among, those from `left` before the end.
    pub(super) fn piece(&self, left: usize) -> usize {
        let step = self.steps.len() - left;
        self.firsts.partition_point(|&first| usize::from(first) <= step) - 1
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
    let mixed = key.at.0 >> 1 ^ key.at.0 >> 13 ^ key.modified.0 >> 22;
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

    /// A code whose lines have other contents now is found and entered no more.
    pub(super) fn retire(&mut self, index: u32) {
        let Some(code) = self.codes.get_mut(index as usize) else { return };
        code.stamp = NO_STAMP;
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
    pub(super) fn count_again(&self) {
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

    pub(super) fn note_jump(&mut self, key: JumpKey, code: u32) {
        self.jumps[key.place()] = (key, code);
    }
}
