//! Multiplication, saturating addition, and the count of leading zeros.
//!
//! Layer: rank 3. Source: ARM DDI 0100E, A3.3 and A10 (the E extension). Multiplies that set flags
//! leave C and V unchanged, as in ARMv5.

use super::{arithmetic, read, write};
use crate::instruction::{Half, HalfMultiply, Operation, Register, Saturating};
use crate::registers::{Psr, Registers};

/// Executes an instruction of this class.
pub(super) fn execute(registers: &mut Registers, operation: &Operation, at: u32) {
    match *operation {
        Operation::Multiply { s, rd, rm, rs, rn } => {
            let product = read(registers, rm, at).wrapping_mul(read(registers, rs, at));
            let result = product.wrapping_add(rn.map_or(0, |rn| read(registers, rn, at)));
            write(registers, rd, result);
            if s {
                set_sign_and_zero(registers, arithmetic::sign_and_zero(result));
            }
        }
        Operation::MultiplyLong { signed, accumulate, s, high, low, rm, rs } => {
            let (a, b) = (read(registers, rm, at), read(registers, rs, at));
            let before = if accumulate { pair(registers, high, low, at) } else { 0 };
            let result = long_product(signed, a, b).wrapping_add(before);
            write_pair(registers, high, low, result);
            if s {
                let zero = if result == 0 { Psr::Z } else { 0 };
                set_sign_and_zero(registers, upper(result) & Psr::N | zero);
            }
        }
        Operation::MultiplyHalf { kind, rd, rm, rs } => {
            half_multiply(registers, kind, rd, [rm, rs], at);
        }
        Operation::Saturating { kind, rd, rm, rn } => {
            let (a, b) = (read(registers, rm, at), read(registers, rn, at));
            let (result, saturated) = saturating(kind, a, b);
            write(registers, rd, result);
            if saturated {
                registers.saturate();
            }
        }
        Operation::Clz { rd, rm } => {
            let zeros = read(registers, rm, at).leading_zeros();
            write(registers, rd, zeros);
        }
        _ => {}
    }
}

/// Replaces N and Z.
const fn set_sign_and_zero(registers: &mut Registers, flags: u32) {
    registers.set_flags(flags | registers.cpsr().0 & (Psr::C | Psr::V));
}

/// The 64-bit product.
fn long_product(signed: bool, a: u32, b: u32) -> u64 {
    if signed {
        (i64::from(a.cast_signed()) * i64::from(b.cast_signed())).cast_unsigned()
    } else {
        u64::from(a) * u64::from(b)
    }
}

/// The 64-bit number in two registers.
fn pair(registers: &Registers, high: Register, low: Register, at: u32) -> u64 {
    u64::from(read(registers, high, at)) << 32 | u64::from(read(registers, low, at))
}

/// Writes a 64-bit number; if both are the same register, the high word remains.
fn write_pair(registers: &mut Registers, high: Register, low: Register, value: u64) {
    write(registers, low, lower(value));
    write(registers, high, upper(value));
}

/// SMULxy, SMLAxy, SMULWy, SMLAWy and SMLALxy. An accumulation that overflows sets Q.
fn half_multiply(
    registers: &mut Registers,
    kind: HalfMultiply,
    rd: Register,
    [rm, rs]: [Register; 2],
    at: u32,
) {
    let (a, b) = (read(registers, rm, at), read(registers, rs, at));
    let (product, accumulator) = match kind {
        HalfMultiply::Short { x, y, rn } => (half(a, x).wrapping_mul(half(b, y)), rn),
        HalfMultiply::Wide { y, rn } => {
            let product = i64::from(a.cast_signed()) * i64::from(half(b, y));
            (lower((product >> 16).cast_unsigned()).cast_signed(), rn)
        }
        HalfMultiply::Long { x, y, low } => {
            let product = i64::from(half(a, x).wrapping_mul(half(b, y)));
            let sum = pair(registers, rd, low, at).wrapping_add_signed(product);
            write_pair(registers, rd, low, sum);
            return;
        }
    };
    let before = accumulator.map_or(0, |rn| read(registers, rn, at)).cast_signed();
    let (sum, overflow) = product.overflowing_add(before);
    write(registers, rd, sum.cast_unsigned());
    if overflow {
        registers.saturate();
    }
}

/// A half as a signed number.
const fn half(value: u32, half: Half) -> i32 {
    match half {
        Half::Bottom => value.cast_signed() << 16 >> 16,
        Half::Top => value.cast_signed() >> 16,
    }
}

const fn saturating(kind: Saturating, a: u32, b: u32) -> (u32, bool) {
    let (b, doubled) = match kind {
        Saturating::Qadd | Saturating::Qsub => (b, false),
        Saturating::Qdadd | Saturating::Qdsub => arithmetic::saturating_add(b, b),
    };
    let (result, saturated) = match kind {
        Saturating::Qadd | Saturating::Qdadd => arithmetic::saturating_add(a, b),
        Saturating::Qsub | Saturating::Qdsub => arithmetic::saturating_sub(a, b),
    };
    (result, doubled || saturated)
}

#[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
const fn lower(value: u64) -> u32 {
    value as u32
}

#[allow(clippy::cast_possible_truncation, reason = "the upper half fits")]
const fn upper(value: u64) -> u32 {
    (value >> 32) as u32
}
