//! Location of the errors: syndromes, the error locator polynomial, its roots.
//!
//! Layer: rank 1. The steps are those of the textbook: the power sums of the error positions, the
//! Berlekamp-Massey algorithm for the shortest recurrence that they satisfy, and Chien's search for
//! the inverse roots of its polynomial. A position is an exponent: that of the power of `x` with the
//! erroneous coefficient, so the first bit of the data has the highest.

use super::STRENGTH_MAX;
use super::field::Field;
use crate::error::Error;

const STRENGTH: usize = STRENGTH_MAX as usize;

/// The power sums 1 to `2t`, from index 1.
pub(super) type Syndromes = [u16; 2 * STRENGTH + 1];

/// Positions of errors.
pub(super) struct ErrorPositions {
    exponents: [usize; STRENGTH],
    count: usize,
}

impl ErrorPositions {
    pub(super) fn exponents(&self) -> &[usize] {
        &self.exponents[..self.count]
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.count).expect("at most the strength")
    }
}

/// The power sums of the errors whose remainder is `difference`, of `bits` bits; `None` if the
/// difference is zero.
///
/// The remainder and the error polynomial have the same value at every root of the generator, so it is
/// sufficient to evaluate the remainder at the roots.
pub(super) fn syndromes(
    field: &Field,
    strength: u32,
    bits: usize,
    difference: &[u8],
) -> Option<Syndromes> {
    let mut syndromes = [0; 2 * STRENGTH + 1];
    let last = 2 * strength as usize;
    let mut differ = false;
    for place in (0..bits).filter(|place| difference[place / 8] & (0x80 >> (place % 8)) != 0) {
        differ = true;
        let exponent = bits - 1 - place;
        for odd in (1..last).step_by(2) {
            syndromes[odd] ^= field.power(exponent * odd % field.count());
        }
    }
    // The square of a power sum is the power sum of twice the index.
    for index in 1..=strength as usize {
        syndromes[2 * index] = field.multiply(syndromes[index], syndromes[index]);
    }
    differ.then_some(syndromes)
}

/// The positions, all below `length`, of at most `strength` errors.
pub(super) fn errors(
    field: &Field,
    strength: u32,
    syndromes: &Syndromes,
    length: usize,
) -> Result<ErrorPositions, Error> {
    let (locator, degree) = locator(field, strength as usize, syndromes)?;
    let mut found = ErrorPositions { exponents: [0; STRENGTH], count: 0 };
    // The logarithms of the locator's terms at the inverse of x to the exponent, which starts at 0.
    let count = field.count();
    let mut terms = [(0, 0); STRENGTH];
    let mut used = 0;
    for power in (1..=degree).filter(|&power| locator[power] != 0) {
        terms[used] = (field.logarithm(locator[power]), power);
        used += 1;
    }
    let terms = &mut terms[..used];
    for exponent in 0..length {
        let mut sum = locator[0];
        for (logarithm, power) in &mut *terms {
            sum ^= field.power(*logarithm);
            // Subtract the power modulo the count, which is larger.
            *logarithm += if *logarithm < *power { count } else { 0 };
            *logarithm -= *power;
        }
        if sum == 0 {
            found.exponents[found.count] = exponent;
            found.count += 1;
            if found.count == degree {
                return Ok(found);
            }
        }
    }
    // A root outside the step, a double root, or none in the field: no set of errors has these
    // syndromes.
    Err(Error::Uncorrectable)
}

/// The error locator, lowest power first, and its degree.
fn locator(
    field: &Field,
    strength: usize,
    syndromes: &Syndromes,
) -> Result<([u16; STRENGTH + 1], usize), Error> {
    let mut current = [0; STRENGTH + 1];
    current[0] = 1;
    // The polynomial before the last change of length, its discrepancy, and the shift of its next use.
    let (mut previous, mut previous_discrepancy, mut gap) = (current, 1, 1);
    let mut length = 0;
    for step in 0..2 * strength {
        let discrepancy = (0..=length).fold(0, |sum, power| {
            sum ^ field.multiply(current[power], syndromes[step + 1 - power])
        });
        if discrepancy == 0 {
            gap += 1;
            continue;
        }
        let scale = field.divide(discrepancy, previous_discrepancy);
        let before = current;
        for power in gap..=strength {
            current[power] ^= field.multiply(scale, previous[power - gap]);
        }
        if 2 * length > step {
            gap += 1;
            continue;
        }
        length = step + 1 - length;
        if length > strength {
            return Err(Error::Uncorrectable);
        }
        (previous, previous_discrepancy, gap) = (before, discrepancy, 1);
    }
    let degree = current.iter().rposition(|&coefficient| coefficient != 0).unwrap_or(0);
    if degree == length { Ok((current, degree)) } else { Err(Error::Uncorrectable) }
}
