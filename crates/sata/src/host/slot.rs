//! A command under way: its data, and whether they are as expected.
//!
//! Layer: below [`crate::host::Host`]. Main types: [`Slot`], [`Frame`], [`Contents`]. Described data are compared as
//! descriptions, in a step for any number of words; words one by one.

use crate::host::command::{Code, Command};
use crate::host::job::Pattern;
use crate::host::report::Mismatch;
use crate::wire::{Counting, Tick};

/// What the words of a job are, or what becomes of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Contents {
    Pattern(Pattern),
    Words(Vec<u32>),
    Captured,
    Ignored,
}

/// Words as they come: real ones, or described.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Source<'a> {
    Words(&'a [u32]),
    Counting(Counting),
}

impl Source<'_> {
    fn word(&self, index: usize) -> u32 {
        match self {
            Self::Words(words) => words[index],
            Self::Counting(counting) => counting.word(wide(index)),
        }
    }
}

/// A command that was sent and has not ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) command: Command,
    /// When the timer of a single command was started.
    pub(crate) timer: Tick,
    /// When the host gives it up.
    pub(crate) deadline: Tick,
    /// Dwords that it moves, and those that were.
    pub(crate) total: u64,
    pub(crate) moved: u64,
    /// Some of its data were damaged.
    pub(crate) is_damaged: bool,
    pub(crate) mismatches: u64,
    pub(crate) first_mismatch: Option<Mismatch>,
}

impl Slot {
    pub(crate) const EMPTY: Self = Self {
        command: Command { code: Code::Flush { extended: false }, lba: 0, sectors: 0, tries: 0 },
        timer: Tick::ZERO,
        deadline: Tick::NEVER,
        total: 0,
        moved: 0,
        is_damaged: false,
        mismatches: 0,
        first_mismatch: None,
    };

    pub(crate) fn new(command: Command, timer: Tick, deadline: Tick) -> Self {
        Self { command, timer, deadline, total: command.dwords(), ..Self::EMPTY }
    }

    /// All data were moved, and none was damaged.
    pub(crate) const fn is_complete(&self) -> bool {
        self.moved == self.total && !self.is_damaged
    }

    /// What a good frame brought counts.
    pub(crate) fn add_frame(&mut self, frame: &Frame) {
        self.moved += u64::from(frame.taken);
        self.mismatches += frame.mismatches;
        self.first_mismatch = self.first_mismatch.or(frame.first_mismatch);
    }
}

/// The Data FIS that is coming.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Frame {
    /// Whose data.
    pub(crate) tag: Option<u8>,
    pub(crate) taken: u32,
    /// Dwords that may come.
    pub(crate) capacity: u64,
    pub(crate) overflows: bool,
    mismatches: u64,
    first_mismatch: Option<Mismatch>,
}

impl Frame {
    pub(crate) fn new(tag: u8, capacity: u64) -> Self {
        Self { tag: Some(tag), capacity, ..Self::default() }
    }

    /// Counts `dwords` that came; false when there are more than may come.
    #[inline]
    pub(crate) fn accept(&mut self, dwords: u32) -> bool {
        self.taken += dwords;
        self.overflows |= u64::from(self.taken) > self.capacity;
        !self.overflows
    }

    /// Compares `dwords` words with the pattern that begins with sector `lba`; they are there from dword
    /// `position` on.
    #[inline]
    pub(crate) fn compare_pattern(
        &mut self,
        expected: (Pattern, u64),
        position: u64,
        dwords: u32,
        source: Source<'_>,
    ) {
        let (pattern, lba) = expected;
        let counting = pattern.at(lba).from(position);
        if let Source::Counting(found) = source
            && equal(found, counting, dwords)
        {
            return;
        }
        for index in 0..size(dwords) {
            let word = counting.word(wide(index));
            self.compare_word(lba, position + wide(index), source.word(index), word);
        }
    }

    /// Compares words with `expected`, which are there from dword `position` of sector `lba` on.
    pub(crate) fn compare_words(
        &mut self,
        lba: u64,
        position: u64,
        expected: &[u32],
        source: Source<'_>,
    ) {
        for (index, &word) in expected.iter().enumerate() {
            self.compare_word(lba, position + wide(index), source.word(index), word);
        }
    }

    #[inline]
    fn compare_word(&mut self, lba: u64, position: u64, found: u32, expected: u32) {
        if found != expected {
            self.mismatches += 1;
            self.first_mismatch =
                self.first_mismatch.or_else(|| Some(Mismatch::new(lba, position, found, expected)));
        }
    }
}

/// Writes `dwords` words to where they are kept.
pub(crate) fn copy_words(target: &mut [u32], source: Source<'_>) {
    match source {
        Source::Words(words) => target.copy_from_slice(words),
        Source::Counting(counting) => counting.fill(0, target),
    }
}

#[inline]
fn equal(found: Counting, expected: Counting, dwords: u32) -> bool {
    found == expected || (dwords == 1 && found.first == expected.first)
}

pub(crate) fn size(dwords: u32) -> usize {
    usize::try_from(dwords).expect("usize holds u32")
}

fn wide(index: usize) -> u64 {
    u64::try_from(index).expect("u64 holds usize")
}

/// A pattern's description, for words that are sent.
#[inline]
pub(crate) fn counting_pattern(contents: &Contents, lba: u64, position: u64) -> Option<Counting> {
    match contents {
        Contents::Pattern(pattern) => Some(pattern.at(lba).from(position)),
        Contents::Words(_) | Contents::Captured | Contents::Ignored => None,
    }
}
