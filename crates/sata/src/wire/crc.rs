//! The CRC of a frame.
//!
//! Layer: bytes only. Main type: [`Crc`]. The polynomial is 04C11DB7h, the seed 52325032h; each dword
//! is taken from its most significant bit, and nothing is inverted. The CRC covers the dwords of the
//! FIS before scrambling, without SOF and EOF. Over a frame with its CRC the remainder is zero.
//!
//! A dword takes four look-ups. A slice is processed in steps of sixteen bytes, twelve of which do not
//! depend on the remainder before. The compiler builds the tables.
//!
//! Source: Serial ATA Revision 3, 9.5.

/// The generator polynomial without x^32.
const POLYNOMIAL: u32 = 0x04C1_1DB7;
/// The remainder before the first dword.
pub const SEED: u32 = 0x5232_5032;
/// Bytes per step over a slice.
const STRIDE: usize = 16;

/// The contribution of a byte to the remainder, by the number of bytes after it and by its value.
static AFTER: [[u32; 256]; STRIDE] = tables();

#[expect(clippy::cast_possible_truncation, reason = "an index below 256")]
const fn tables() -> [[u32; 256]; STRIDE] {
    let mut tables = [[0; 256]; STRIDE];
    let mut byte = 0;
    while byte < 256 {
        let mut remainder = (byte as u32) << 24;
        let mut bit = 0;
        while bit < 8 {
            let carry = remainder >> 31;
            remainder = (remainder << 1) ^ (carry * POLYNOMIAL);
            bit += 1;
        }
        tables[0][byte] = remainder;
        byte += 1;
    }
    let mut after = 1;
    while after < STRIDE {
        let mut byte = 0;
        while byte < 256 {
            let nearer = tables[after - 1][byte];
            tables[after][byte] = (nearer << 8) ^ tables[0][(nearer >> 24) as usize];
            byte += 1;
        }
        after += 1;
    }
    tables
}

/// The contribution of a dword that `after` bytes follow in its step.
#[inline(always)]
fn dword_before(after: usize, dword: u32) -> u32 {
    let [first, second, third, last] = dword.to_be_bytes();
    AFTER[after + 3][usize::from(first)]
        ^ AFTER[after + 2][usize::from(second)]
        ^ AFTER[after + 1][usize::from(third)]
        ^ AFTER[after][usize::from(last)]
}

/// The CRC of the dwords of a frame so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Crc(u32);

impl Crc {
    /// Creates the CRC of an empty frame.
    #[must_use]
    pub const fn new() -> Self {
        Self(SEED)
    }

    /// Adds the next dword.
    #[inline]
    pub fn update(&mut self, dword: u32) {
        self.0 = dword_before(0, self.0 ^ dword);
    }

    /// Adds the next dwords.
    #[inline]
    pub fn extend(&mut self, words: &[u32]) {
        let (steps, rest) = words.as_chunks::<{ STRIDE / 4 }>();
        for [first, second, third, last] in steps {
            self.0 = dword_before(12, self.0 ^ first)
                ^ dword_before(8, *second)
                ^ dword_before(4, *third)
                ^ dword_before(0, *last);
        }
        for &dword in rest {
            self.update(dword);
        }
    }

    /// The CRC to be sent after the dwords so far.
    #[must_use]
    #[inline]
    pub const fn value(self) -> u32 {
        self.0
    }

    /// Whether the last dword was the CRC of those before it.
    #[must_use]
    #[inline]
    pub const fn is_residue(self) -> bool {
        self.0 == 0
    }
}

impl Default for Crc {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the CRC of `words`.
#[must_use]
pub fn crc(words: &[u32]) -> u32 {
    let mut crc = Crc::new();
    crc.extend(words);
    crc.value()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One bit at a time, from the definition.
    fn bitwise(words: &[u32]) -> u32 {
        words.iter().fold(SEED, |state, dword| {
            (0..32).fold(state ^ dword, |state, _| {
                (state << 1) ^ if state >> 31 == 1 { POLYNOMIAL } else { 0 }
            })
        })
    }

    fn words(length: u32) -> Vec<u32> {
        (0..length).map(|i| i.wrapping_mul(0x9E37_79B9) ^ (i << 7)).collect()
    }

    #[test]
    fn every_length_agrees_with_the_definition() {
        let words = words(100);
        for length in 0..words.len() {
            assert_eq!(crc(&words[..length]), bitwise(&words[..length]), "{length} dwords");
        }
    }

    #[test]
    fn dword_by_dword_and_in_pieces_is_the_same() {
        let words = words(57);
        for cut in 0..words.len() {
            let mut crc = Crc::new();
            crc.extend(&words[..cut]);
            words[cut..].iter().for_each(|&dword| crc.update(dword));
            assert_eq!(crc.value(), bitwise(&words));
        }
    }

    #[test]
    fn a_frame_with_its_crc_leaves_nothing() {
        for length in [0, 1, 5, 33] {
            let mut crc = Crc::new();
            crc.extend(&words(length));
            assert!(!crc.is_residue());
            crc.update(crc.value());
            assert!(crc.is_residue());
        }
    }
}
