//! A table of recently decoded words.
//!
//! Layer: rank 3. [`Memo`] memoizes the decoder. A word always decodes to the same instruction with the
//! same timing, and an entry is compared with the fetched word, so no entry becomes stale. The index is
//! the address, which is known before the word. The reference interpreter is twice as fast with it.

use super::{arm, thumb};
use crate::instruction::{Condition, Instruction, Operation};
use crate::timing::{Outcome, Timing};

/// The number of entries, a power of two.
const ENTRIES: usize = 2048;

/// A decoded word.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    /// The word, with [`THUMB`] set for a Thumb half-word.
    key: u64,
    /// The instruction.
    pub(crate) instruction: Instruction,
    /// Its timing when executed.
    pub(crate) timing: Timing,
}

const THUMB: u64 = 1 << 32;

/// The key of an empty entry, which no word has.
const EMPTY: u64 = 1 << 33;

impl Entry {
    fn new(key: u64, instruction: Instruction) -> Self {
        let timing = Timing::of(&instruction, Outcome::Executed);
        Self { key, instruction, timing }
    }
}

/// A direct-mapped table of decoded words.
#[derive(Debug, Clone)]
pub(crate) struct Memo {
    entries: Box<[Entry; ENTRIES]>,
}

impl Default for Memo {
    fn default() -> Self {
        let undefined = Instruction { condition: Condition::Al, operation: Operation::Undefined };
        Self { entries: Box::new([Entry::new(EMPTY, undefined); ENTRIES]) }
    }
}

impl Memo {
    /// Decodes the word fetched from `at` as an ARM or Thumb instruction.
    #[inline]
    pub(crate) fn decode(&mut self, at: u32, word: u32, in_thumb: bool) -> &Entry {
        let key = u64::from(word) | if in_thumb { THUMB } else { 0 };
        let entry = &mut self.entries[place(at)];
        if entry.key != key {
            *entry = decoded(key, word, in_thumb);
        }
        entry
    }

    /// The last entry at the index of `at`.
    #[inline]
    pub(crate) const fn last(&self, at: u32) -> &Entry {
        &self.entries[place(at)]
    }
}

/// The index of an address in the table.
#[inline]
const fn place(at: u32) -> usize {
    (at >> 1) as usize & (ENTRIES - 1)
}

#[cold]
#[inline(never)]
fn decoded(key: u64, word: u32, in_thumb: bool) -> Entry {
    let instruction = if in_thumb { thumb(low_half(word)) } else { arm(word) };
    Entry::new(key, instruction)
}

#[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
const fn low_half(word: u32) -> u16 {
    word as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_at_one_address_and_both_states_are_kept_apart() {
        let mut memo = Memo::default();
        for word in [0xE3A0_0001, 0xE3A0_0002, 0, 0xE3A0_0001] {
            assert_eq!(memo.decode(0x1000, word, false).instruction, arm(word));
            let half = low_half(word);
            assert_eq!(memo.decode(0x1000, u32::from(half), true).instruction, thumb(half));
            assert_eq!(memo.decode(0x1000, u32::from(half), false).instruction, arm(half.into()));
        }
    }
}
