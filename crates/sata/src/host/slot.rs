//! A command in flight, and the verification of its data.
//!
//! Layer: below [`crate::host::Host`]. Main types: [`Slot`], [`Frame`], [`Contents`]. Counting patterns
//! are compared in one step for any number of words, other data word by word.

use crate::host::command::{Code, Command};
use crate::host::job::Pattern;
use crate::host::report::Mismatch;
use crate::wire::{Counting, Tick};

/// The data of a job, or their destination.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Contents {
    Pattern(Pattern),
    Words(Vec<u32>),
    Captured,
    Ignored,
}

/// Received payload: words, or a counting pattern.
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

/// A command in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    pub(crate) command: Command,
    /// When the timer of a single command was started.
    pub(crate) timer: Tick,
    /// When the command times out.
    pub(crate) deadline: Tick,
    /// The payload dwords of the command, and those transferred.
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

    /// Whether all data were transferred without damage.
    pub(crate) const fn is_complete(&self) -> bool {
        self.moved == self.total && !self.is_damaged
    }

    /// Adds the counts of an undamaged frame.
    pub(crate) fn add_frame(&mut self, frame: &Frame) {
        self.moved += u64::from(frame.taken);
        self.mismatches += frame.mismatches;
        self.first_mismatch = self.first_mismatch.or(frame.first_mismatch);
    }
}

/// The incoming Data FIS.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Frame {
    /// The command that it belongs to.
    pub(crate) tag: Option<u8>,
    pub(crate) taken: u32,
    /// The maximum number of dwords that it may have.
    pub(crate) capacity: u64,
    pub(crate) overflows: bool,
    mismatches: u64,
    first_mismatch: Option<Mismatch>,
}

impl Frame {
    pub(crate) fn new(tag: u8, capacity: u64) -> Self {
        Self { tag: Some(tag), capacity, ..Self::default() }
    }

    /// Counts `dwords` received dwords. Returns false if the frame is too long.
    #[inline]
    pub(crate) fn accept(&mut self, dwords: u32) -> bool {
        self.taken += dwords;
        self.overflows |= u64::from(self.taken) > self.capacity;
        !self.overflows
    }

    /// Compares `dwords` words with `expected`, which begins at dword `position` of sector `lba`.
    #[inline]
    pub(crate) fn compare_pattern(
        &mut self,
        lba: u64,
        position: u64,
        dwords: u32,
        expected: Counting,
        source: Source<'_>,
    ) {
        if let Source::Counting(found) = source
            && equal(found, expected, dwords)
        {
            return;
        }
        for index in 0..size(dwords) {
            let word = expected.word(wide(index));
            self.compare_word(lba, position + wide(index), source.word(index), word);
        }
    }

    /// Compares words with `expected`, which begins at dword `position` of sector `lba`.
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

/// Copies words to `target`.
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

/// Returns the outgoing data from `position` on as a counting pattern, if they are one.
#[inline]
pub(crate) fn counting_pattern(contents: &Contents, lba: u64, position: u64) -> Option<Counting> {
    match contents {
        Contents::Pattern(pattern) => Some(pattern.at(lba).from(position)),
        Contents::Words(_) | Contents::Captured | Contents::Ignored => None,
    }
}
