//! BCH codes: correct up to `t` bit errors in a step.
//!
//! Layer: rank 1. Main type: [`Bch`]. The ECC bytes equal those of Linux' software ECC on raw NAND.
//! Source: Linux 6.1 `lib/bch.c` and `drivers/mtd/nand/ecc-sw-bch.c`; the method is that of any
//! textbook (Lin and Costello, Error Control Coding, chapter 6). [`field`] is the Galois field,
//! [`remainder`] the division that encodes, `locate` the search for error positions. [`Bch::remainder`]
//! and [`Bch::correct_word`] are for the codes of controllers, which have other polynomials, no mask or
//! another one, and a message that is more than the data. Left out: bit-reversed order, which the caller
//! gives by reversed bytes.
//!
//! Data and code are one polynomial over GF(2), first byte and most significant bit first. The code is
//! the remainder of the data, shifted left, divided by the generator polynomial, whose roots are the
//! first `2t` powers of the field's generator. It begins at the most significant bit of the first code
//! byte; the remaining bits of the last one are unused. The code is XORed with a mask, so that the code
//! of an erased step is erased.
//!
//! ```text
//!   m = 13, 512 bytes, t = 4:  52 bits in  7 bytes        m = 13, t = 8:  104 bits in 13 bytes
//! ```

pub mod field;
mod locate;
pub mod remainder;

use crate::error::Error;
use field::{Field, Polynomial};
use remainder::Divider;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The maximum strength of a code.
pub const STRENGTH_MAX: u32 = 64;

/// The maximum number of ECC bytes of a code.
pub const CODE_MAX: usize = 70;

/// A BCH code: tables for a field, a strength and a step. A clone shares them.
#[derive(Clone)]
pub struct Bch {
    tables: Arc<Tables>,
}

struct Tables {
    field: Field,
    generator: Polynomial,
    divider: Divider,
    /// By the generator in reverse, made when it is needed.
    reversed: OnceLock<Divider>,
    /// Bits that are corrected.
    strength: u32,
    /// Data bytes of a step.
    step: usize,
    /// Code bytes of a step.
    code: usize,
    /// The mask that makes the code of an erased step all ones, including unused bits.
    mask: [u8; CODE_MAX],
}

impl fmt::Debug for Bch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bch")
            .field("order", &self.tables.field.order())
            .field("strength", &self.tables.strength)
            .field("step", &self.tables.step)
            .finish_non_exhaustive()
    }
}

impl Bch {
    /// The code that Linux uses for steps of `step` bytes, over the smallest field that is large
    /// enough.
    ///
    /// # Errors
    /// [`Error::NoSuchCode`] if there is no such code.
    pub fn linux(step: usize, strength: u32) -> Result<Self, Error> {
        let bits = step.saturating_mul(8).saturating_add(1);
        Self::new(usize::BITS - bits.leading_zeros(), strength, step)
    }

    /// A code over GF(2^`order`) that corrects `strength` bits in steps of `step` bytes.
    ///
    /// # Errors
    /// [`Error::NoSuchCode`] if the order is not 5 to 15, the strength not 1 to [`STRENGTH_MAX`], the
    /// code longer than [`CODE_MAX`], or data and code longer than 2^order - 1 bits.
    pub fn new(order: u32, strength: u32, step: usize) -> Result<Self, Error> {
        let none = Error::NoSuchCode { order, strength, step };
        Self::over(Field::new(order).ok_or(none)?, strength, step)
    }

    /// As [`Bch::new`], over the field of another primitive polynomial.
    ///
    /// # Errors
    /// As [`Bch::new`].
    pub fn over(field: Field, strength: u32, step: usize) -> Result<Self, Error> {
        let order = field.order();
        let none = Error::NoSuchCode { order, strength, step };
        if !(1..=STRENGTH_MAX).contains(&strength) || step == 0 {
            return Err(none);
        }
        let code = (order * strength).div_ceil(8) as usize;
        if code > CODE_MAX || step.saturating_add(code) >= (1 << order) / 8 {
            return Err(none);
        }
        let generator = field.generator(strength);
        let divider = Divider::new(&generator);
        let mask = [0; CODE_MAX];
        let reversed = OnceLock::new();
        let mut tables = Tables { field, generator, divider, reversed, strength, step, code, mask };
        let mut mask = [0; CODE_MAX];
        tables.divider.remainder(&vec![0xFF; step], &mut mask[..code]);
        for byte in &mut mask[..code] {
            *byte ^= 0xFF;
        }
        tables.mask = mask;
        Ok(Self { tables: Arc::new(tables) })
    }

    /// Bits that are corrected in a step.
    #[must_use]
    pub fn strength(&self) -> u32 {
        self.tables.strength
    }

    /// Data bytes of a step.
    #[must_use]
    pub fn step(&self) -> usize {
        self.tables.step
    }

    /// Code bytes of a step.
    #[must_use]
    pub fn code_bytes(&self) -> usize {
        self.tables.code
    }

    /// Writes the code of `data`.
    ///
    /// # Panics
    /// If a slice is not as long as the step or its code.
    pub fn encode(&self, data: &[u8], code: &mut [u8]) {
        assert_eq!((data.len(), code.len()), (self.step(), self.code_bytes()), "a BCH step");
        self.tables.divider.remainder(data, code);
        for (byte, mask) in code.iter_mut().zip(self.tables.mask) {
            *byte ^= mask;
        }
    }

    /// Corrects bit errors of `data` in place; returns the number of errors in data and ECC bytes
    /// together.
    ///
    /// More bit errors than the strength are usually detected. Occasionally they are within the
    /// strength of another codeword, which is then the result (docs/models/ecc.md has the measured
    /// fraction). One more than the strength is never taken for none, because no codeword is so near.
    ///
    /// # Errors
    /// [`Error::Uncorrectable`]; the data are left unchanged.
    ///
    /// # Panics
    /// If a slice is not as long as the step or its code.
    pub fn decode(&self, data: &mut [u8], code: &[u8]) -> Result<u32, Error> {
        let mut buffer = [0; CODE_MAX];
        let difference = &mut buffer[..self.code_bytes()];
        self.encode(data, difference);
        assert_eq!(code.len(), difference.len(), "code of a BCH step");
        for (byte, read) in difference.iter_mut().zip(code) {
            *byte ^= read;
        }
        self.correct(data, difference)
    }

    /// Bits of a code.
    #[must_use]
    pub fn code_bits(&self) -> usize {
        self.tables.divider.degree()
    }

    /// Writes the remainder of a word of any length, without a mask. Of all words of a code, each a message
    /// and its code bits, it is the same: zero if the code has no mask.
    ///
    /// # Panics
    /// If `remainder` is not as long as a code.
    pub fn remainder(&self, word: &[u8], remainder: &mut [u8]) {
        assert_eq!(remainder.len(), self.code_bytes(), "a BCH remainder");
        self.tables.divider.remainder(word, remainder);
    }

    /// Corrects a whole word in place, whose [`Bch::remainder`] differs by `difference` from that of the
    /// words of the code; returns the number of bit errors.
    ///
    /// # Errors
    /// [`Error::Uncorrectable`]; the word is left unchanged. [`Error::NoSuchCode`] for a word that is too
    /// long.
    pub fn correct_word(&self, word: &mut [u8], difference: &[u8]) -> Result<u32, Error> {
        let tables = &*self.tables;
        let (order, strength, bits) = (tables.field.order(), tables.strength, self.code_bits());
        if word.len() + tables.code >= (1 << order) / 8 {
            return Err(Error::NoSuchCode { order, strength, step: word.len() });
        }
        let Some(syndromes) = locate::syndromes(&tables.field, strength, bits, difference) else {
            return Ok(0);
        };
        // The remainder is that of the word, shifted left by the bits of a code, in which no error is.
        let length = word.len() * 8 + bits;
        let found = locate::errors(&tables.field, strength, &syndromes, length)?;
        if found.exponents().iter().any(|&exponent| exponent < bits) {
            return Err(Error::Uncorrectable);
        }
        for &exponent in found.exponents() {
            let bit = length - 1 - exponent;
            word[bit / 8] ^= 0x80 >> (bit % 8);
        }
        Ok(found.count())
    }

    /// The code bits that turn the remainder of a word by `difference`, if `behind` bits follow them in the
    /// word: the difference, divided by x as often as there are bits of a code and behind it.
    ///
    /// # Panics
    /// If `difference` is not as long as a code.
    #[must_use]
    pub fn code_for(&self, difference: &[u8], behind: usize) -> Vec<u8> {
        assert_eq!(difference.len(), self.code_bytes(), "a BCH remainder");
        // A division by x is a multiplication by x of the reversed polynomials.
        let bits = self.code_bits();
        let reversed = self.tables.reversed.get_or_init(|| {
            let generator = &self.tables.generator;
            let mut words = [0; 9];
            for power in (0..=bits).filter(|&power| generator.has(bits - power)) {
                words[power / 64] |= 1 << (power % 64);
            }
            Divider::new(&Polynomial { words, degree: bits })
        });
        let has = |bytes: &[u8], place: usize| bytes[place / 8] & (0x80 >> (place % 8)) != 0;
        let length = (bits + behind).div_ceil(8);
        let mut dividend = vec![0; length];
        for place in (0..bits).filter(|&place| has(difference, place)) {
            let place = length * 8 - behind - 1 - place;
            dividend[place / 8] |= 0x80 >> (place % 8);
        }
        let (mut remainder, mut code) = (vec![0; self.code_bytes()], vec![0; self.code_bytes()]);
        reversed.remainder(&dividend, &mut remainder);
        for place in (0..bits).filter(|&place| has(&remainder, bits - 1 - place)) {
            code[place / 8] |= 0x80 >> (place % 8);
        }
        code
    }

    /// Like [`Bch::decode`], with the difference between the code read and the one calculated.
    fn correct(&self, data: &mut [u8], difference: &[u8]) -> Result<u32, Error> {
        let tables = &*self.tables;
        let bits = tables.divider.degree();
        let Some(syndromes) = locate::syndromes(&tables.field, tables.strength, bits, difference)
        else {
            return Ok(0);
        };
        let length = tables.step * 8 + bits;
        let found = locate::errors(&tables.field, tables.strength, &syndromes, length)?;
        for &exponent in found.exponents() {
            let bit = length - 1 - exponent;
            if let Some(byte) = data.get_mut(bit / 8) {
                *byte ^= 0x80 >> (bit % 8);
            }
        }
        Ok(found.count())
    }
}

#[cfg(test)]
mod tests {
    use super::Bch;
    use super::field::Field;
    use crate::error::Error;

    #[test]
    fn linux_takes_thirteen_bits_for_512_bytes() {
        for (strength, code) in [(1, 2), (4, 7), (8, 13), (16, 26)] {
            let bch = Bch::linux(512, strength).unwrap();
            assert_eq!((bch.tables.field.order(), bch.code_bytes()), (13, code));
        }
        assert_eq!(Bch::linux(1024, 24).unwrap().code_bytes(), 42);
        assert_eq!(Bch::linux(256, 8).unwrap().code_bytes(), 12);
    }

    #[test]
    fn erased_step_has_an_erased_code() {
        for (order, strength, step) in [(13, 4, 512), (13, 8, 512), (14, 24, 1024), (9, 3, 32)] {
            let bch = Bch::new(order, strength, step).unwrap();
            let mut code = vec![0; bch.code_bytes()];
            bch.encode(&vec![0xFF; step], &mut code);
            assert!(code.iter().all(|&byte| byte == 0xFF), "{bch:?}: {code:x?}");
        }
    }

    #[test]
    fn words_of_controllers_are_corrected_in_message_and_code() {
        // As Broadcom has them before version 5, since it, and as MediaTek: message bits, bits behind the code.
        for (polynomial, strength, message, behind) in [
            (0x201B, 4, 4_172, 0),
            (0x5803, 4, 4_168, 8),
            (0x4443, 32, 8_256, 0),
            (0x4443, 40, 8_200, 0),
        ] {
            let bch = Bch::over(Field::of(polynomial).unwrap(), strength, 512).unwrap();
            let bits = bch.code_bits();
            let mut word = vec![0; (message + bits + behind) / 8];
            boardlab_sim::Seed::new(1).stream("word").fill(&mut word[..message / 8]);
            let remainder = |word: &[u8]| {
                let mut remainder = vec![0; bch.code_bytes()];
                bch.remainder(word, &mut remainder);
                remainder
            };
            let code = bch.code_for(&remainder(&word), behind);
            for bit in (0..bits).filter(|bit| code[bit / 8] & (0x80 >> (bit % 8)) != 0) {
                let bit = message + bit;
                word[bit / 8] ^= 0x80 >> (bit % 8);
            }
            assert!(remainder(&word).iter().all(|&byte| byte == 0), "{polynomial:#x}");
            let right = word.clone();
            for error in 0..strength as usize {
                let bit = error * (message + bits - 1) / (strength as usize - 1);
                word[bit / 8] ^= 0x80 >> (bit % 8);
            }
            let difference = remainder(&word);
            assert_eq!(bch.correct_word(&mut word, &difference), Ok(strength));
            assert_eq!(word, right);
            for error in 0..=strength as usize {
                word[error * 3] ^= 1;
            }
            let difference = remainder(&word);
            assert_eq!(bch.correct_word(&mut word, &difference), Err(Error::Uncorrectable));
        }
    }

    #[test]
    fn impossible_codes_are_refused() {
        for (order, strength, step) in
            [(4, 1, 1), (16, 1, 1), (13, 0, 512), (13, 65, 512), (13, 4, 1024), (13, 4, 0)]
        {
            let none = Error::NoSuchCode { order, strength, step };
            assert_eq!(Bch::new(order, strength, step).unwrap_err(), none);
        }
    }
}
