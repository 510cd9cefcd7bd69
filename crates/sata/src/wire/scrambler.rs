//! The scrambler: the key stream with which payload and CRC are XORed, so that no pattern repeats on
//! the wire.
//!
//! Layer: bytes only. Main type: [`Scrambler`]. The key stream comes from a shift register of x^16 +
//! x^15 + x^13 + x^4 + 1, set to all ones at SOF, whose bits fill a dword from the least significant.
//! As a recurrence, bit n+16 of the key stream is the sum of the bits n+15, n+13, n+4 and n. So the
//! sixteen bits before a dword determine it, and the next dword takes two look-ups in 2 KiB. Every
//! frame begins the stream anew, so the stream of the longest frame is a table as well, with which
//! slices are XORed.
//!
//! The stream repeats after 65,535 dwords. Primitives are not scrambled.
//!
//! Source: Serial ATA Revision 3, 9.5.

/// Dwords of the longest frame: header, payload and CRC.
pub const FRAME: usize = crate::LARGEST_DATA as usize + 2;
/// Dwords after which the key stream repeats.
pub const PERIOD: u32 = 65_535;
/// The dword before the first one: its upper half contains the sixteen bits that precede the key
/// stream.
const BEFORE: u32 = 0xF0F6_0000;

/// The contributions of the lower and the upper byte of the sixteen bits before to a dword.
static NEXT: [[u32; 256]; 2] = next_tables();
/// The key stream of the longest frame.
static STREAM: [u32; FRAME] = stream();

/// The 32 bits after the sixteen bits `before`, of which the least significant is the oldest.
#[expect(clippy::cast_possible_truncation, reason = "the first sixteen bits have been moved out")]
const fn after(before: u32) -> u32 {
    let mut bits = before as u64;
    let mut bit = 0;
    while bit < 32 {
        let sum = (bits >> (bit + 15)) ^ (bits >> (bit + 13)) ^ (bits >> (bit + 4)) ^ (bits >> bit);
        bits |= (sum & 1) << (bit + 16);
        bit += 1;
    }
    (bits >> 16) as u32
}

#[expect(clippy::cast_possible_truncation, reason = "an index below 256")]
const fn next_tables() -> [[u32; 256]; 2] {
    let mut tables = [[0; 256]; 2];
    let mut byte = 0;
    while byte < 256 {
        tables[0][byte] = after(byte as u32);
        tables[1][byte] = after((byte as u32) << 8);
        byte += 1;
    }
    tables
}

const fn stream() -> [u32; FRAME] {
    let mut stream = [0; FRAME];
    let (mut last, mut at) = (BEFORE, 0);
    while at < FRAME {
        last = after(last >> 16);
        stream[at] = last;
        at += 1;
    }
    stream
}

/// A position in the key stream, counted from SOF.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Scrambler {
    /// The dwords produced, up to the length of the table.
    at: usize,
    /// The last dword beyond the table.
    last: u32,
}

impl Scrambler {
    /// Creates the state after SOF.
    #[must_use]
    pub const fn new() -> Self {
        Self { at: 0, last: STREAM[FRAME - 1] }
    }

    /// Returns the next dword of the key stream.
    #[inline]
    pub fn key(&mut self) -> u32 {
        if let Some(&key) = STREAM.get(self.at) {
            self.at += 1;
            return key;
        }
        self.last = step(self.last);
        self.last
    }

    /// Scrambles or descrambles the next dwords.
    pub fn apply(&mut self, words: &mut [u32]) {
        let known = &STREAM[self.at..];
        let (near, far) = words.split_at_mut(words.len().min(known.len()));
        near.iter_mut().zip(known).for_each(|(word, key)| *word ^= key);
        self.at += near.len();
        for word in far {
            *word ^= self.key();
        }
    }
}

impl Default for Scrambler {
    fn default() -> Self {
        Self::new()
    }
}

/// The dword of the key stream after `last`.
#[must_use]
#[inline]
pub fn step(last: u32) -> u32 {
    let [_, _, low, high] = last.to_le_bytes();
    NEXT[0][usize::from(low)] ^ NEXT[1][usize::from(high)]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shift register bit by bit, in Galois' form.
    fn register() -> impl Iterator<Item = u32> {
        let mut state: u16 = 0xFFFF;
        std::iter::repeat_with(move || {
            (0..32).fold(0, |dword, bit| {
                let out = state >> 15;
                state = (state << 1) ^ (out * 0xA011);
                dword | u32::from(out) << bit
            })
        })
    }

    #[test]
    fn a_whole_period_agrees_with_the_shift_register() {
        let mut scrambler = Scrambler::new();
        let period = usize::try_from(PERIOD).unwrap();
        for (at, expected) in register().take(period + 10).enumerate() {
            assert_eq!(scrambler.key(), expected, "dword {at}");
        }
    }

    #[test]
    fn slices_of_any_length_are_the_dwords_one_by_one() {
        for cut in [0, 1, 7, FRAME - 1, FRAME, FRAME + 1, 3_000] {
            let mut words: Vec<u32> = (0..4_000).collect();
            let mut scrambler = Scrambler::new();
            let (front, back) = words.split_at_mut(cut);
            scrambler.apply(front);
            scrambler.apply(back);
            let expected = (0..4_000).zip(register()).map(|(word, key)| word ^ key);
            assert!(words.iter().copied().eq(expected), "cut at {cut}");
        }
    }
}
