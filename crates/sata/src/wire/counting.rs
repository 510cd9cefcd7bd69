//! Counting patterns: payload described without its bytes, as 32-bit words that count up or down.
//!
//! Layer: facts. Main type: [`Counting`]. These are the patterns of the evaluation, Inc32 and Dec32.
//! Terabytes of them are transferred and verified symbolically: a sequence of words is its first word
//! and its direction.

/// The direction of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Each word is the word before plus one.
    Up,
    /// Each word is the word before minus one.
    Down,
}

/// A counting pattern that begins with `first` and wraps around at 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Counting {
    /// The first word.
    pub first: u32,
    /// The direction.
    pub step: Step,
}

impl Counting {
    /// The word at position `index`.
    #[must_use]
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "words wrap around at 2^32")]
    pub const fn word(self, index: u64) -> u32 {
        match self.step {
            Step::Up => self.first.wrapping_add(index as u32),
            Step::Down => self.first.wrapping_sub(index as u32),
        }
    }

    /// The pattern from position `index` on.
    #[must_use]
    #[inline]
    pub const fn from(self, index: u64) -> Self {
        Self { first: self.word(index), step: self.step }
    }

    /// Fills `words` with the pattern from position `index` on.
    pub fn fill(self, index: u64, words: &mut [u32]) {
        let start = self.from(index);
        (0..).zip(words).for_each(|(at, word)| *word = start.word(at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_count_and_wrap() {
        let up = Counting { first: u32::MAX - 1, step: Step::Up };
        let mut words = [7; 4];
        up.fill(1, &mut words);
        assert_eq!(words, [u32::MAX, 0, 1, 2]);
        let down = Counting { first: 1, step: Step::Down };
        down.from(1).fill(0, &mut words);
        assert_eq!(words, [0, u32::MAX, u32::MAX - 1, u32::MAX - 2]);
    }
}
