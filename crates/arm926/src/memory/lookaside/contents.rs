//! Stamps for the contents of instruction lines.
//!
//! Layer: rank 3. Main type: [`Contents`]. Equal contents at one virtual address get the same stamp at
//! each refill, in any process, while the table keeps them. Engines detect changed code by stamps.

use super::LineHit;
use crate::address::{LINE, Virtual};
use boardlab_sim::mix;

/// The number of sets.
const SETS: usize = 1 << 12;

/// The number of ways. With one, two lines with the same index would get new stamps at each refill.
const WAYS: usize = 4;

/// The contents of a line, and its stamp.
#[derive(Debug, Clone, Copy)]
struct Entry {
    line: LineHit,
    contents: [u8; LINE as usize],
}

/// A table of the contents of lines.
#[derive(Debug, Default)]
pub(super) struct Contents {
    /// The sets by a hash of address and contents; empty before the first use.
    known: Box<[[Entry; WAYS]]>,
    /// The last stamp assigned.
    last: u32,
}

impl Contents {
    /// The line hit of `at` with these contents; `None` if stamps are exhausted.
    pub(super) fn line(&mut self, at: Virtual, contents: &[u8; LINE as usize]) -> Option<LineHit> {
        if self.known.is_empty() {
            let none = Entry { line: LineHit::NONE, contents: [0; LINE as usize] };
            self.known = vec![[none; WAYS]; SETS].into();
        }
        let set = &mut self.known[set(at, contents)];
        let same = |known: &&Entry| known.line.is_of(at.0) && known.contents == *contents;
        if let Some(known) = set.iter().find(same) {
            return Some(known.line);
        }
        self.last = self.last.checked_add(1)?;
        let line = LineHit::new(at.0, self.last);
        set.rotate_right(1);
        set[0] = Entry { line, contents: *contents };
        Some(line)
    }

    /// Whether stamps are running out.
    pub(super) const fn are_exhausted(&self) -> bool {
        self.last > u32::MAX / 2
    }
}

/// The index of the set of these contents.
#[allow(clippy::cast_possible_truncation, reason = "an index below the length of the table")]
fn set(at: Virtual, contents: &[u8; LINE as usize]) -> usize {
    let words = contents.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
    let line = u64::from(at.0 / LINE);
    let folded = words.fold(line, |folded, word| folded.rotate_left(13).wrapping_mul(5) ^ word);
    (mix(folded) as usize) % SETS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_contents_at_the_same_line_have_the_same_stamp() {
        let mut contents = Contents::default();
        let [one, other] = [[1; 32], [2; 32]];
        let at = Virtual(0x100);
        let first = contents.line(at, &one).unwrap();
        let second = contents.line(at, &other).unwrap();
        assert_ne!(first, second);
        assert_eq!(contents.line(Virtual(0x11F), &one), Some(first));
        assert_eq!((first.at(), second.at()), (0x100, 0x100));
        assert_ne!(contents.line(Virtual(0x120), &one).unwrap().stamp(), first.stamp());
        assert_eq!(contents.line(at, &other), Some(second));
    }

    #[test]
    fn lines_in_use_keep_their_stamps() {
        let mut contents = Contents::default();
        let mut fill = || {
            let lines = (0..2_000).map(|line| Virtual(line * LINE));
            lines.filter_map(|at| contents.line(at, &[7; 32])).collect::<Vec<_>>()
        };
        let first = fill();
        let again = fill();
        assert!(first.iter().zip(&again).filter(|(one, other)| one == other).count() > 1_980);
    }

    #[test]
    fn no_stamp_is_given_twice() {
        let mut contents = Contents { last: u32::MAX - 1, ..Contents::default() };
        assert!(contents.are_exhausted());
        assert_eq!(contents.line(Virtual(0), &[1; 32]).unwrap().stamp(), u32::MAX);
        assert_eq!(contents.line(Virtual(0), &[2; 32]), None);
        assert_eq!(contents.line(Virtual(0), &[1; 32]).unwrap().stamp(), u32::MAX);
    }
}
