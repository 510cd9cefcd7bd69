//! Data processing.
//!
//! Layer: rank 3. [`evaluate`] computes, [`finish`] writes. Source: ARM DDI 0100E, A4.1 and A5.1.

use super::{End, arithmetic, jump, read, read_late, return_to};
use crate::bus::Bus;
use crate::instruction::{DataOperation, Operand, Register};
use crate::processor::Processor;
use crate::registers::{Psr, Registers};

/// The value of a second operand, and the carry out of the shifter.
#[inline]
pub(super) fn operand(registers: &Registers, operand: &Operand, at: u32) -> (u32, bool) {
    let carry = registers.cpsr().has(Psr::C);
    match *operand {
        Operand::Immediate { value, carry: changed } => (value, changed.unwrap_or(carry)),
        Operand::Shifted { rm, shift, amount } => {
            arithmetic::shift(read(registers, rm, at), shift, u32::from(amount), carry)
        }
        Operand::ShiftedBy { rm, shift, rs } => {
            let amount = read_late(registers, rs, at) & 0xFF;
            arithmetic::shift(read_late(registers, rm, at), shift, amount, carry)
        }
    }
}

/// The result and the flags of a data-processing instruction.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataResult {
    result: u32,
    flags: u32,
    kept: bool,
}

/// Computes the result and the flags.
#[inline]
pub(super) fn evaluate(
    registers: &Registers,
    operation: DataOperation,
    rn: Register,
    second: &Operand,
    at: u32,
) -> DataResult {
    let b = operand(registers, second, at);
    let late = matches!(second, Operand::ShiftedBy { .. });
    let a = if late { read_late(registers, rn, at) } else { read(registers, rn, at) };
    let (result, flags) = arithmetic::combine(operation, a, b, registers.cpsr());
    DataResult { result, flags, kept: operation.has_result() }
}

/// Writes the result and the flags. A result in r15 is a jump, with S the return from an exception.
#[inline]
pub(super) fn finish<B: Bus>(
    processor: &mut Processor<B>,
    DataResult { result, flags, kept }: DataResult,
    s: bool,
    rd: Register,
) -> End {
    let registers = &mut processor.registers;
    match registers.r.get_mut(rd.index()) {
        Some(place) if kept => *place = result,
        None if kept && s => {
            return_to(processor, result);
            return End::EXECUTED;
        }
        None if kept => jump(registers, result),
        _ => {}
    }
    if s {
        registers.set_flags(flags);
    }
    End::EXECUTED
}
