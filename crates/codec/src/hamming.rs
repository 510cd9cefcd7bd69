//! Hamming code over 256 or 512 bytes: corrects one bit error and detects two.
//!
//! Layer: rank 1. Main types: [`Step`], [`Correction`]. The ECC bytes equal those of Linux' software
//! ECC on raw NAND without the SmartMedia byte order. Source: Linux 6.1
//! `drivers/mtd/nand/ecc-sw-hamming.c` and `Documentation/driver-api/mtd/nand_ecc.rst`; nandsim uses
//! it by default. Left out: the SmartMedia order, which swaps the first two bytes.
//!
//! The three code bytes, most significant bit first; `Pn` is the parity of all bits of the data
//! whose address has bit `n` set, `P'n` of those where it is clear. Address bits 0 to 2 number the
//! bit in a byte (columns), 3 and up the byte (lines). Every parity is stored inverted, so an erased
//! step has the code FF FF FF.
//!
//! ```text
//!   byte 0: P10 P'10  P9 P'9  P8 P'8  P7 P'7     upper lines
//!   byte 1: P6  P'6   P5 P'5  P4 P'4  P3 P'3     lower lines
//!   byte 2: P2  P'2   P1 P'1  P0 P'0  P11 P'11   columns; the last two are 1 1 with 256 bytes
//! ```

use crate::error::Error;

/// The number of ECC bytes of a step.
pub const CODE: usize = 3;

/// The size of an ECC step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// 256 bytes, Linux' default.
    Bytes256,
    /// 512 bytes.
    Bytes512,
}

impl Step {
    /// The number of data bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bytes256 => 256,
            Self::Bytes512 => 512,
        }
    }

    /// The code bits that are parities; the others are always 1.
    const fn used(self) -> u32 {
        match self {
            Self::Bytes256 => 0xFF_FFFC,
            Self::Bytes512 => 0xFF_FFFF,
        }
    }
}

/// The result of [`correct`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// No bit error.
    None,
    /// One bit error in the data, which is corrected.
    Data {
        /// The byte in the step.
        byte: usize,
        /// The bit in the byte; 0 is the least significant.
        bit: u32,
    },
    /// One bit error in the code; the data are correct.
    Code,
}

/// Calculates the code of a step.
///
/// # Panics
/// If `data` is not as long as the step.
#[must_use]
pub fn calculate(step: Step, data: &[u8]) -> [u8; CODE] {
    let parity = match step {
        Step::Bytes256 => Parity::of::<32>(data),
        Step::Bytes512 => Parity::of::<64>(data),
    };
    parity.code(step)
}

/// Compares the code read with the code calculated from the data, and corrects a bit error of the data
/// in place.
///
/// With 256-byte steps the last two bits of the code are unused: a bit error there does not prevent the
/// correction of one in the data, as in Linux.
///
/// # Errors
/// [`Error::Uncorrectable`] for two bit errors. Three or more may look like one.
///
/// # Panics
/// If `data` is not as long as the step.
pub fn correct(
    step: Step,
    data: &mut [u8],
    stored: [u8; CODE],
    calculated: [u8; CODE],
) -> Result<Correction, Error> {
    assert_eq!(data.len(), step.bytes(), "data of a Hamming step");
    let syndrome = word(stored) ^ word(calculated);
    if syndrome == 0 {
        return Ok(Correction::None);
    }
    // A bit error in the data changes exactly one of each pair of parities.
    let pairs = 0x55_5555 & step.used();
    if (syndrome ^ (syndrome >> 1)) & pairs == pairs {
        let (byte, bit) = address(step, syndrome);
        data[byte] ^= 1 << bit;
        return Ok(Correction::Data { byte, bit });
    }
    if syndrome.count_ones() == 1 { Ok(Correction::Code) } else { Err(Error::Uncorrectable) }
}

fn word(code: [u8; CODE]) -> u32 {
    u32::from_be_bytes([0, code[0], code[1], code[2]])
}

/// The byte and the bit of the error with this syndrome.
fn address(step: Step, syndrome: u32) -> (usize, u32) {
    let odd = every_other_bit(syndrome >> 1);
    // Lines 3 to 10 in bits 4 to 11, columns in 1 to 3, line 11 in 0.
    let lines = (odd >> 4) & 0xFF;
    let upper = if step == Step::Bytes512 { (odd & 1) << 8 } else { 0 };
    ((upper | lines) as usize, (odd >> 1) & 7)
}

/// The bits 0, 2, 4 ... of a 24-bit word, packed.
fn every_other_bit(word: u32) -> u32 {
    (0..12).fold(0, |packed, n| packed | ((word >> (2 * n)) & 1) << n)
}

/// The XOR of all words of a step, and of those whose index has a given bit set.
struct Parity {
    /// All words.
    all: u64,
    /// By bit of the word's index, lowest first.
    lines: [u64; 6],
}

impl Parity {
    /// Folds the step in halves: the XOR of the upper half is the parity of the words whose highest
    /// index bit is set, and the XOR of both halves is processed as a step of half the length.
    fn of<const WORDS: usize>(data: &[u8]) -> Self {
        assert_eq!(data.len(), WORDS * 8, "data of a Hamming step");
        let mut words = [0_u64; WORDS];
        for (word, bytes) in words.iter_mut().zip(data.chunks_exact(8)) {
            *word = u64::from_le_bytes(bytes.try_into().expect("chunks of eight"));
        }
        let mut lines = [0; 6];
        let mut half = WORDS / 2;
        while half > 0 {
            let (low, high) = words[..2 * half].split_at_mut(half);
            let mut line = 0;
            for (low, high) in low.iter_mut().zip(high) {
                line ^= *high;
                *low ^= *high;
            }
            lines[half.trailing_zeros() as usize] = line;
            half /= 2;
        }
        Self { all: words[0], lines }
    }

    fn code(&self, step: Step) -> [u8; CODE] {
        let total = odd(self.all);
        let column = |mask: u8| odd(self.all & (u64::from(mask) * 0x0101_0101_0101_0101));
        let line = |index: usize| odd(self.lines[index]);
        let set = [
            // line 11, only with 512 bytes
            line(5),
            column(0xAA),
            column(0xCC),
            column(0xF0),
            odd(self.all & 0xFF00_FF00_FF00_FF00),
            odd(self.all & 0xFFFF_0000_FFFF_0000),
            odd(self.all & 0xFFFF_FFFF_0000_0000),
            line(0),
            line(1),
            line(2),
            line(3),
            line(4),
        ];
        let mut word = 0;
        for (n, set) in set.into_iter().enumerate() {
            word |= (set << 1 | (set ^ total)) << (2 * n);
        }
        let [_, upper, lower, columns] = (!word | !step.used()).to_be_bytes();
        [upper, lower, columns]
    }
}

/// 1 when an odd number of bits is set.
fn odd(word: u64) -> u32 {
    word.count_ones() & 1
}

#[cfg(test)]
mod tests {
    use super::{Step, calculate};

    /// The definition, bit by bit.
    fn by_definition(step: Step, data: &[u8]) -> [u8; 3] {
        let parity = |address_bit: u32, value: usize| {
            let ones = (0..data.len() * 8)
                .filter(|address| (address >> address_bit) & 1 == value)
                .filter(|address| data[address / 8] >> (address % 8) & 1 == 1)
                .count();
            ones % 2 == 0
        };
        let order = [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11];
        let mut word = 0_u32;
        for bit in order {
            let unused = bit == 11 && step == Step::Bytes256;
            word = word << 1 | u32::from(unused || parity(bit, 1));
            word = word << 1 | u32::from(unused || parity(bit, 0));
        }
        let [_, a, b, c] = word.to_be_bytes();
        [a, b, c]
    }

    #[test]
    fn erased_step_has_an_erased_code() {
        assert_eq!(calculate(Step::Bytes256, &[0xFF; 256]), [0xFF; 3]);
        assert_eq!(calculate(Step::Bytes512, &[0xFF; 512]), [0xFF; 3]);
    }

    #[test]
    fn one_set_bit_sets_its_address() {
        let mut data = [0; 256];
        data[0xA5] = 1 << 6;
        // byte address 1010 0101, bit address 110: inverted parities, set lines first
        assert_eq!(calculate(Step::Bytes256, &data), [0b0110_0110, 0b1001_1001, 0b0101_1011]);
    }

    #[test]
    fn folded_parities_are_those_of_the_definition() {
        let mut stream = boardlab_sim::Seed::new(1).stream("hamming");
        for step in [Step::Bytes256, Step::Bytes512] {
            for _ in 0..50 {
                let mut data = vec![0; step.bytes()];
                stream.fill(&mut data);
                assert_eq!(calculate(step, &data), by_definition(step, &data));
            }
        }
    }
}
