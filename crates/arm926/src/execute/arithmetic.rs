//! The shifter, the adder and the flags, as functions of their operands alone.
//!
//! Layer: rank 3. Used by the reference interpreter and the predecoded engine. Flags are at their
//! positions in a status register (N, Z, C, V: bits 31 to 28). Source: ARM DDI 0100E, A5.1 (shifter),
//! A4.1 (flags), glossary (saturation).

use crate::instruction::{DataOperation, Shift};
use crate::registers::Psr;

/// Shifts `value` by `amount` (0 to 255; 0 is no shift; RRX shifts by 1 for any amount). Returns the
/// result and the carry out.
#[inline]
#[must_use]
#[allow(clippy::cast_possible_truncation, reason = "const: the cast widens")]
pub(crate) const fn shift(value: u32, shift: Shift, amount: u32, carry: bool) -> (u32, bool) {
    match (shift, amount) {
        (Shift::Rrx, _) => (value >> 1 | (carry as u32) << 31, value & 1 != 0),
        (_, 0) => (value, carry),
        (Shift::Lsl, 1..=31) => (value << amount, value >> (32 - amount) & 1 != 0),
        (Shift::Lsl, _) => (0, amount == 32 && value & 1 != 0),
        (Shift::Lsr, 1..=31) => (value >> amount, value >> (amount - 1) & 1 != 0),
        (Shift::Lsr, _) => (0, amount == 32 && value >> 31 != 0),
        (Shift::Asr, 1..=31) => {
            ((value.cast_signed() >> amount).cast_unsigned(), value >> (amount - 1) & 1 != 0)
        }
        (Shift::Asr, _) => ((value.cast_signed() >> 31).cast_unsigned(), value >> 31 != 0),
        (Shift::Ror, _) => {
            let value = value.rotate_right(amount & 31);
            (value, value >> 31 != 0)
        }
    }
}

/// N and Z of a result.
#[inline]
#[must_use]
pub(crate) const fn sign_and_zero(result: u32) -> u32 {
    result & Psr::N | if result == 0 { Psr::Z } else { 0 }
}

/// `a` + `b` + `carry`, and the four flags.
#[inline]
#[must_use]
#[allow(clippy::cast_possible_truncation, reason = "const: the cast widens")]
pub(crate) const fn add(a: u32, b: u32, carry: bool) -> (u32, u32) {
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(carry as u32);
    let overflow = ((a ^ sum) & (b ^ sum)) >> 31 << 28;
    let carry = if first || second { Psr::C } else { 0 };
    (sum, sign_and_zero(sum) | carry | overflow)
}

/// The result and the flags of a data-processing operation; `carry` is the shifter's carry out.
#[inline]
#[must_use]
pub(crate) const fn combine(
    operation: DataOperation,
    a: u32,
    (b, carry): (u32, bool),
    status: Psr,
) -> (u32, u32) {
    let borrow = status.has(Psr::C);
    let result = match operation {
        DataOperation::And | DataOperation::Tst => a & b,
        DataOperation::Eor | DataOperation::Teq => a ^ b,
        DataOperation::Orr => a | b,
        DataOperation::Mov => b,
        DataOperation::Bic => a & !b,
        DataOperation::Mvn => !b,
        DataOperation::Sub | DataOperation::Cmp => return add(a, !b, true),
        DataOperation::Rsb => return add(b, !a, true),
        DataOperation::Add | DataOperation::Cmn => return add(a, b, false),
        DataOperation::Adc => return add(a, b, borrow),
        DataOperation::Sbc => return add(a, !b, borrow),
        DataOperation::Rsc => return add(b, !a, borrow),
    };
    let carry = if carry { Psr::C } else { 0 };
    (result, sign_and_zero(result) | carry | status.0 & Psr::V)
}

/// The saturated signed sum of `a` and `b`, and whether it saturated.
#[inline]
#[must_use]
pub(crate) const fn saturating_add(a: u32, b: u32) -> (u32, bool) {
    let (a, b) = (a.cast_signed(), b.cast_signed());
    (a.saturating_add(b).cast_unsigned(), a.checked_add(b).is_none())
}

/// The saturated signed difference of `a` and `b`, and whether it saturated.
#[inline]
#[must_use]
pub(crate) const fn saturating_sub(a: u32, b: u32) -> (u32, bool) {
    let (a, b) = (a.cast_signed(), b.cast_signed());
    (a.saturating_sub(b).cast_unsigned(), a.checked_sub(b).is_none())
}
