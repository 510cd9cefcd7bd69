//! Sources of the bytes to write: a slice of memory, or an endless pattern.
//!
//! Layer: rank 6. Main types: [`Source`], [`Pattern`]. Nothing here reads a file; the caller
//! provides its bytes.

use boardlab_sim::{Seed, Stream};

/// A sequence of bytes.
pub trait Source {
    /// Writes the next bytes to the start of `buffer` and returns their number; zero only at the
    /// end of the source or for an empty buffer.
    fn fill(&mut self, buffer: &mut [u8]) -> usize;

    /// Takes the next `count` bytes where they are, if all of them are in memory; `None` takes nothing.
    fn lend(&mut self, _count: usize) -> Option<&[u8]> {
        None
    }
}

/// The slice advances past the bytes taken.
impl Source for &[u8] {
    fn fill(&mut self, buffer: &mut [u8]) -> usize {
        let (taken, rest) = self.split_at(self.len().min(buffer.len()));
        buffer[..taken.len()].copy_from_slice(taken);
        *self = rest;
        taken.len()
    }

    fn lend(&mut self, count: usize) -> Option<&[u8]> {
        self.split_off(..count)
    }
}

impl<S: Source + ?Sized> Source for &mut S {
    fn fill(&mut self, buffer: &mut [u8]) -> usize {
        (**self).fill(buffer)
    }

    fn lend(&mut self, count: usize) -> Option<&[u8]> {
        (**self).lend(count)
    }
}

/// A rule that generates bytes. They do not depend on the sizes of the reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pattern {
    /// 00h: every bit of the flash is programmed.
    Zeros,
    /// FFh: nothing of an erased flash is programmed.
    Ones,
    /// 00h, 01h, ..., FFh, 00h, ...
    Incrementing,
    /// Random bytes from the seed: half of the bits, and nothing to compress.
    Random(Seed),
}

impl Pattern {
    /// The endless bytes of the pattern, from its beginning.
    #[must_use]
    pub fn source(self) -> PatternSource {
        match self {
            Self::Zeros => PatternSource(State::Constant(0x00)),
            Self::Ones => PatternSource(State::Constant(0xFF)),
            Self::Incrementing => PatternSource(State::Incrementing(0)),
            Self::Random(seed) => {
                let stream = seed.stream("workload.pattern");
                PatternSource(State::Random { stream, word: [0; WORD], used: WORD })
            }
        }
    }
}

/// The bytes of a [`Pattern`].
#[derive(Debug, Clone)]
pub struct PatternSource(State);

/// The bytes that the random stream yields at once.
const WORD: usize = 8;

#[derive(Debug, Clone)]
enum State {
    Constant(u8),
    /// The next byte.
    Incrementing(u8),
    /// The rest of the last word begins at `used`.
    Random {
        stream: Stream,
        word: [u8; WORD],
        used: usize,
    },
}

impl Source for PatternSource {
    fn fill(&mut self, buffer: &mut [u8]) -> usize {
        match &mut self.0 {
            State::Constant(byte) => buffer.fill(*byte),
            State::Incrementing(next) => {
                for byte in &mut *buffer {
                    *byte = *next;
                    *next = next.wrapping_add(1);
                }
            }
            State::Random { stream, word, used } => {
                for byte in &mut *buffer {
                    if *used == WORD {
                        (*word, *used) = (stream.next_u64().to_le_bytes(), 0);
                    }
                    *byte = word[*used];
                    *used += 1;
                }
            }
        }
        buffer.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(source: &mut dyn Source, sizes: &[usize]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &size in sizes {
            let mut piece = vec![0xAA; size];
            let count = source.fill(&mut piece);
            bytes.extend_from_slice(&piece[..count]);
        }
        bytes
    }

    #[test]
    fn a_pattern_does_not_depend_on_the_sizes_asked_for() {
        let patterns =
            [Pattern::Zeros, Pattern::Ones, Pattern::Incrementing, Pattern::Random(Seed::new(4))];
        for pattern in patterns {
            let whole = take(&mut pattern.source(), &[600]);
            let pieces = take(&mut pattern.source(), &[1, 7, 8, 9, 0, 300, 275]);
            assert_eq!(whole, pieces, "{pattern:?}");
        }
    }

    #[test]
    fn patterns_are_what_their_names_say() {
        let start = |pattern: Pattern| take(&mut pattern.source(), &[258]);
        assert_eq!(start(Pattern::Zeros), [0; 258]);
        assert_eq!(start(Pattern::Ones), [0xFF; 258]);
        assert_eq!(start(Pattern::Incrementing)[254..], [254, 255, 0, 1]);
        let random = |seed| start(Pattern::Random(Seed::new(seed)));
        assert_ne!(random(1), random(2));
        let ones: u32 = random(1).iter().map(|byte| byte.count_ones()).sum();
        assert!((900..1_160).contains(&ones), "{ones}");
    }

    #[test]
    fn a_slice_ends() {
        let mut slice = &b"abcde"[..];
        assert_eq!(take(&mut slice, &[2, 2, 2, 2]), b"abcde");
        assert_eq!(slice.fill(&mut [0; 4]), 0);
    }
}
