//! Codes as controllers have them.
//!
//! Layer: rank 7, over `boardlab_codec`. Main types: [`EccCode`], a code by its parameters; [`CodePattern`], what
//! a user says of one; [`WordCode`], which checks and corrects words. A word is a message and its code bits, as
//! one string of bits. Its check is the same for all right words, zero or any other constant.
//!
//! Sources: the polynomials 0x201b and 0x402b are those of Linux (`lib/bch.c`); 0x4443 is that of PMECC
//! (`drivers/mtd/nand/raw/atmel/pmecc.c`) and MediaTek, 0x5803 that of sunxi (`tools/sunxi-spl-image-builder.c` of
//! U-Boot) and of Broadcom's controllers since version 5. Hamming as OMAP has it: `omap_calculate_ecc` in
//! `drivers/mtd/nand/raw/omap2.c`.

use super::bits::BitOrder;
use boardlab_codec::bch::field::Field;
use boardlab_codec::{Bch, hamming};
use std::fmt;
use std::str::FromStr;

/// The primitive polynomial of Linux for steps of 512 bytes.
pub(crate) const POLYNOMIAL_13: u32 = 0x201B;
/// That for steps of 1024 bytes.
pub(crate) const POLYNOMIAL_14: u32 = 0x402B;
/// That of other controllers for 1024 bytes.
pub(crate) const POLYNOMIAL_14_OTHER: u32 = 0x4443;
/// That of sunxi and Broadcom.
pub(crate) const POLYNOMIAL_14_THIRD: u32 = 0x5803;
/// That for more.
pub(crate) const POLYNOMIAL_15: u32 = 0x8003;

/// The arrangement of the code bits of Hamming.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HammingOrder {
    /// That of Linux in software.
    Linux,
    /// With the first two bytes swapped.
    SmartMedia,
    /// That of OMAP's memory controller.
    Omap,
}

/// A family of codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// One bit in a step.
    Hamming(HammingOrder),
    /// BCH over the field of a primitive polynomial.
    Bch {
        /// The polynomial: bit `i` is the coefficient of the power `i`.
        polynomial: u32,
        /// The order of bits.
        order: BitOrder,
    },
}

/// A code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EccCode {
    /// The family.
    pub family: Family,
    /// Bits that are corrected.
    pub bits: u32,
    /// Data bytes of a step, which other bytes may be added to.
    pub step: usize,
}

impl EccCode {
    /// A BCH code.
    #[must_use]
    pub const fn bch(bits: u32, step: usize, polynomial: u32, order: BitOrder) -> Self {
        Self { family: Family::Bch { polynomial, order }, bits, step }
    }

    /// A Hamming code.
    #[must_use]
    pub const fn hamming(step: usize, order: HammingOrder) -> Self {
        Self { family: Family::Hamming(order), bits: 1, step }
    }

    /// Code bits of a word.
    #[must_use]
    pub const fn code_bits(&self) -> usize {
        match self.family {
            Family::Hamming(_) => 24,
            Family::Bch { polynomial, .. } => (polynomial.ilog2() * self.bits) as usize,
        }
    }

    /// Bytes of them.
    #[must_use]
    pub const fn code_bytes(&self) -> usize {
        self.code_bits().div_ceil(8)
    }

    /// The order of bits in a byte.
    #[must_use]
    pub const fn order(&self) -> BitOrder {
        match self.family {
            Family::Hamming(_) => BitOrder::Most,
            Family::Bch { order, .. } => order,
        }
    }

    /// `BCH` or `Hamming`, and how much it corrects, as tables say it.
    #[must_use]
    pub fn described(&self) -> String {
        let name = if matches!(self.family, Family::Hamming(_)) { "Hamming" } else { "BCH" };
        let bits = if self.bits == 1 { "bit" } else { "bits" };
        format!("{name}, {} {bits} in {} B", self.bits, self.step)
    }
}

/// As `--ecc` takes it: `8/512`, `24/1024:0x4443:lsb`, `1/256:smartmedia`.
impl fmt::Display for EccCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.bits, self.step)?;
        match self.family {
            Family::Hamming(HammingOrder::Linux) => {}
            Family::Hamming(HammingOrder::SmartMedia) => f.write_str(":smartmedia")?,
            Family::Hamming(HammingOrder::Omap) => f.write_str(":omap")?,
            Family::Bch { polynomial, order } => {
                if ![POLYNOMIAL_13, POLYNOMIAL_14, POLYNOMIAL_15].contains(&polynomial) {
                    write!(f, ":{polynomial:#x}")?;
                }
                if order == BitOrder::Least {
                    f.write_str(":lsb")?;
                }
            }
        }
        Ok(())
    }
}

/// What a user says of a code; what is left out is tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodePattern {
    bits: u32,
    step: usize,
    polynomial: Option<u32>,
    order: Option<BitOrder>,
    hamming: Option<HammingOrder>,
    /// As it was written.
    text: String,
}

impl CodePattern {
    /// Whether it means this code.
    #[must_use]
    pub fn means(&self, code: &EccCode) -> bool {
        let same = (self.bits, self.step) == (code.bits, code.step);
        same && match code.family {
            Family::Hamming(order) => {
                let other = self.polynomial.is_some() || self.order.is_some();
                !other && self.hamming.is_none_or(|wanted| wanted == order)
            }
            Family::Bch { polynomial, order } => {
                self.hamming.is_none()
                    && self.polynomial.is_none_or(|wanted| wanted == polynomial)
                    && self.order.is_none_or(|wanted| wanted == order)
            }
        }
    }
}

impl fmt::Display for CodePattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for CodePattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "expected bits and bytes, such as 8/512, and what more is known: \
                        8/512:lsb, 24/1024:0x4443, 1/256:smartmedia, 1/512:omap";
        let mut parts = text.split(':');
        let numbers = parts.next().and_then(|numbers| numbers.split_once('/'));
        let (bits, step) = numbers.ok_or(expected)?;
        let (bits, step) = (bits.parse().ok(), step.parse().ok());
        let (bits, step) =
            bits.zip(step).filter(|&(bits, step)| bits > 0 && step > 0).ok_or(expected)?;
        let text = text.to_owned();
        let mut found = Self { bits, step, polynomial: None, order: None, hamming: None, text };
        for part in parts {
            match part {
                "msb" => found.order = Some(BitOrder::Most),
                "lsb" => found.order = Some(BitOrder::Least),
                "linux" => found.hamming = Some(HammingOrder::Linux),
                "smartmedia" => found.hamming = Some(HammingOrder::SmartMedia),
                "omap" => found.hamming = Some(HammingOrder::Omap),
                _ => {
                    let digits = part.strip_prefix("0x").ok_or(expected)?;
                    let number = u32::from_str_radix(digits, 16).map_err(|_| expected)?;
                    found.polynomial = Some(number);
                }
            }
        }
        Ok(found)
    }
}

/// Checks and corrects the words of a code.
#[derive(Debug, Clone)]
pub(crate) struct WordCode {
    pub(crate) code: EccCode,
    /// `None` for Hamming.
    bch: Option<Bch>,
}

impl WordCode {
    /// `None` if there is no such code.
    pub(crate) fn new(code: EccCode) -> Option<Self> {
        let bch = match code.family {
            Family::Hamming(_) => None,
            // The length of a word is checked with each word.
            Family::Bch { polynomial, .. } => {
                Some(Bch::over(Field::of(polynomial)?, code.bits, 1).ok()?)
            }
        };
        (bch.is_some() || hamming_step(code.step).is_some()).then_some(Self { code, bch })
    }

    /// The same tables for a code that differs in step or order of bits alone.
    pub(crate) fn with(self, code: EccCode) -> Self {
        Self { code, ..self }
    }

    /// The check of a word: the same for all right ones. `None` for one that is too short.
    pub(crate) fn check(&self, word: &[u8]) -> Option<Vec<u8>> {
        let Some(bch) = &self.bch else {
            let (data, stored) = word.split_at_checked(self.code.step)?;
            let calculated = hamming::calculate(hamming_step(self.code.step)?, data);
            let stored = self.to_linux(stored.try_into().ok()?);
            return Some(calculated.iter().zip(stored).map(|(a, b)| a ^ b).collect());
        };
        let mut check = vec![0; bch.code_bytes()];
        bch.remainder(word, &mut check);
        Some(check)
    }

    /// Corrects a word whose check should be `expected`; the number of bit errors, or `None` if there are too
    /// many.
    pub(crate) fn correct(&self, word: &mut [u8], expected: &[u8]) -> Option<u32> {
        let check = self.check(word)?;
        if check == expected {
            return Some(0);
        }
        let difference: Vec<u8> = check.iter().zip(expected).map(|(a, b)| a ^ b).collect();
        if let Some(bch) = &self.bch {
            return bch.correct_word(word, &difference).ok();
        }
        let data = word.get_mut(..self.code.step)?;
        let step = hamming_step(self.code.step)?;
        let met = hamming::correct(step, data, difference.try_into().ok()?, [0; 3]).ok()?;
        Some(u32::from(met != hamming::Correction::None))
    }

    /// The code bits of a word in which they are zero, with `behind` bits after them.
    pub(crate) fn encode(&self, word: &[u8], expected: &[u8], behind: usize) -> Option<Vec<u8>> {
        let check = self.check(word)?;
        let mut difference: Vec<u8> = check.iter().zip(expected).map(|(a, b)| a ^ b).collect();
        let Some(bch) = &self.bch else {
            // A stored code of zeros is one of zeros in all orders.
            return Some(self.stored_of(difference.try_into().ok()?).to_vec());
        };
        difference = bch.code_for(&difference, behind);
        Some(difference)
    }

    /// Stored code bytes of Hamming as Linux has them.
    fn to_linux(&self, stored: [u8; 3]) -> [u8; 3] {
        match self.code.family {
            Family::Hamming(HammingOrder::SmartMedia) => [stored[1], stored[0], stored[2]],
            Family::Hamming(HammingOrder::Omap) => {
                let [even, odd, upper] = stored;
                let (even, odd) = (u16::from(even), u16::from(odd));
                let even = even | u16::from(upper & 0xF) << 8;
                let odd = odd | u16::from(upper >> 4) << 8;
                linux_of(|bit| odd >> bit & 1 == 1, |bit| even >> bit & 1 == 1)
            }
            _ => stored,
        }
    }

    /// Code bytes as Linux has them in the order in which they are stored.
    fn stored_of(&self, code: [u8; 3]) -> [u8; 3] {
        match self.code.family {
            Family::Hamming(HammingOrder::SmartMedia) => [code[1], code[0], code[2]],
            Family::Hamming(HammingOrder::Omap) => {
                let word = u32::from_be_bytes([0, code[0], code[1], code[2]]);
                let (mut even, mut odd) = (0_u16, 0_u16);
                for (bit, place) in PLACES.into_iter().enumerate() {
                    odd |= u16::from(word >> (place + 1) & 1 == 1) << bit;
                    even |= u16::from(word >> place & 1 == 1) << bit;
                }
                let [lower_even, upper_even] = even.to_le_bytes();
                let [lower_odd, upper_odd] = odd.to_le_bytes();
                [lower_even, lower_odd, upper_odd << 4 | upper_even]
            }
            _ => code,
        }
    }
}

/// Where Linux has the pair of parities of each bit of an address, the lowest first, in 24 bits.
const PLACES: [u32; 12] = [2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 0];

/// The code of Linux with these parities of set and of clear address bits.
fn linux_of(set: impl Fn(usize) -> bool, clear: impl Fn(usize) -> bool) -> [u8; 3] {
    let pairs = PLACES.into_iter().enumerate();
    let word = pairs.fold(0_u32, |word, (bit, place)| {
        word | u32::from(set(bit)) << (place + 1) | u32::from(clear(bit)) << place
    });
    let [_, a, b, c] = word.to_be_bytes();
    [a, b, c]
}

fn hamming_step(bytes: usize) -> Option<hamming::Step> {
    match bytes {
        256 => Some(hamming::Step::Bytes256),
        512 => Some(hamming::Step::Bytes512),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_user_says_means_all_codes_that_it_does_not_exclude() {
        let linux = EccCode::bch(8, 512, POLYNOMIAL_13, BitOrder::Most);
        let other = EccCode::bch(8, 1_024, POLYNOMIAL_14_OTHER, BitOrder::Least);
        let small = EccCode::hamming(256, HammingOrder::SmartMedia);
        for code in [linux, other, small, EccCode::hamming(512, HammingOrder::Omap)] {
            let pattern: CodePattern = code.to_string().parse().unwrap();
            assert!(pattern.means(&code), "{pattern}");
        }
        let means = |text: &str, code| text.parse::<CodePattern>().unwrap().means(&code);
        assert!(means("8/512", linux) && means("8/512:msb", linux) && !means("8/512:lsb", linux));
        assert!(means("8/1024", other) && !means("8/1024:0x402b", other) && !means("8/512", other));
        assert!(
            means("1/256", small) && !means("1/256:linux", small) && !means("1/256:lsb", small)
        );
        for wrong in ["", "8", "8/", "0/512", "8/0", "8/512:", "8/512:0x", "8/512:up", "8/512:0xg"]
        {
            assert!(wrong.parse::<CodePattern>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_code_corrects_its_own_words() {
        let codes = [
            EccCode::hamming(256, HammingOrder::Linux),
            EccCode::hamming(256, HammingOrder::SmartMedia),
            EccCode::hamming(512, HammingOrder::Omap),
            EccCode::bch(8, 512, POLYNOMIAL_13, BitOrder::Most),
            EccCode::bch(40, 1_024, POLYNOMIAL_14_OTHER, BitOrder::Least),
        ];
        for code in codes {
            let words = WordCode::new(code).unwrap();
            let mut word = vec![0; code.step + code.code_bytes()];
            boardlab_sim::Seed::new(7).stream("code").fill(&mut word[..code.step]);
            let expected = vec![0x5A; words.check(&word).unwrap().len()];
            let bits = words.encode(&word, &expected, 0).unwrap();
            word[code.step..].copy_from_slice(&bits);
            let right = word.clone();
            assert_eq!(words.correct(&mut word, &expected), Some(0), "{code}");
            word[100] ^= 8;
            assert_eq!(words.correct(&mut word, &expected), Some(1), "{code}");
            assert_eq!(word, right, "{code}");
        }
    }

    /// By the definition in the manual: the parity of all bits whose address has a bit clear, then set.
    #[test]
    fn the_hamming_code_of_omap_has_its_parities_in_their_places() {
        let words = WordCode::new(EccCode::hamming(512, HammingOrder::Omap)).unwrap();
        let mut word = vec![0; 515];
        word[0x0A5] = 1 << 6;
        // Erased data have even parities, and OMAP stores those as they are.
        let mut erased = vec![0xFF; 515];
        erased[512..].fill(0);
        let expected = words.check(&erased).unwrap();
        // Byte address 0 1010 0101 and bit address 110: 1010 0101 110, and bit 11 clear.
        let code = words.encode(&word, &expected, 0).unwrap();
        assert_eq!(code, [0b1101_0001, 0b0010_1110, 0b0101_1010]);
    }
}
