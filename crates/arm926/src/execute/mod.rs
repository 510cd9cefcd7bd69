//! The execution of each instruction in the reference interpreter.
//!
//! Layer: rank 3. [`crate::Processor::step`] fetches, decodes and calls [`execute`]; the fast engines
//! use it for rare instructions. One file per class: [`arithmetic`] (pure functions: shifter, adder,
//! flags), `data`, `multiply`, `transfer`, `block`, `branch`, `status` (status registers, coprocessor
//! 15). Source: ARM DDI 0100E, chapters A4 and A7.
//!
//! The behaviour here where the architecture is unpredictable or implementation defined:
//!
//! - r15 reads as the instruction's address + 8 (Thumb + 4). It reads as + 12 with a
//!   register-controlled shift, and as the value stored by STR, STM and MCR, as on ARM9 cores (DDI
//!   0100E A2.4.3; the core stores + 12).
//! - r15 is not written as the result of a multiply, CLZ, a saturating addition, MRS or SWP, nor as a
//!   base with write-back.
//! - A word loaded from an unaligned address is rotated, also by SWP. Half-words, double words, the
//!   words of LDM, and stores ignore the low address bits. (Alignment faults, if enabled, take
//!   precedence.)
//! - A load of any size to r15 takes bit 0 as the Thumb state (unless the control register's L4 bit
//!   disables it). A write of r15 with bits 1 and 0 = 10 for ARM state clears them. LDRD and STRD of
//!   r14 use r15 as the second register.
//! - If the base is also the destination of a load, the loaded value remains. If the base is stored,
//!   its old value is stored.
//! - LDM with write-back and the base in the list writes the base back if it is the only register or
//!   not the last one; STM stores the old base. An empty list transfers nothing, and the base changes
//!   by 64. ARM9 cores of ARMv5 behave so (GBATEK, ARM9 section).
//! - LDM that aborts changes no register (base restored model, DDI 0100E A2.6.5).
//! - BKPT with a condition is executed if the condition holds. A comparison with r15 in its result
//!   field is an ordinary comparison.
//! - In user and system mode SPSR reads as CPSR, and writes to it are ignored. MSR does not change
//!   CPSR's T bit; an invalid mode leaves the mode unchanged.

pub(crate) mod arithmetic;
mod block;
mod branch;
mod data;
mod multiply;
mod status;
mod transfer;

use crate::bus::Bus;
use crate::instruction::{Instruction, Offset, Operation, Register};
use crate::memory::Abort;
use crate::processor::Processor;
use crate::recorder::Event;
use crate::registers::{Psr, Registers};
use crate::timing::Outcome;

/// The result of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It completed with this outcome; `pc` is the next instruction's address.
    Done(Outcome),
    /// It is undefined.
    Undefined,
    /// SWI.
    SoftwareInterrupt {
        /// The comment field.
        comment: u32,
    },
    /// BKPT.
    Breakpoint,
    /// A data access aborted. Memory may have changed; the base register is unchanged.
    Abort(Abort),
}

impl End {
    /// An ordinary execution.
    const EXECUTED: Self = Self::Done(Outcome::Executed);

    const fn software_interrupt(comment: u32) -> Self {
        Self::SoftwareInterrupt { comment }
    }
}

/// Executes `instruction`, whose address is `at`; the pc is already that of the next instruction.
pub fn execute<B: Bus>(processor: &mut Processor<B>, instruction: &Instruction, at: u32) -> End {
    let registers = &mut processor.registers;
    match &instruction.operation {
        Operation::Data { operation, s, rd, rn, operand } => {
            let result = data::evaluate(registers, *operation, *rn, operand, at);
            return data::finish(processor, result, *s, *rd);
        }
        Operation::Transfer(access) => return transfer::single(processor, access, at),
        Operation::BlockTransfer(access) => return block::block(processor, access, at),
        Operation::Branch { offset, link } => branch::plain(registers, *offset, *link, at),
        Operation::BranchToThumb { .. }
        | Operation::BranchExchange { .. }
        | Operation::BranchPrefix { .. }
        | Operation::BranchSuffix { .. } => {
            branch::exchanging(registers, &instruction.operation, at);
        }
        Operation::Address { rd, offset } => {
            write(registers, *rd, (at.wrapping_add(4) & !3).wrapping_add(*offset));
        }
        Operation::Multiply { .. }
        | Operation::MultiplyLong { .. }
        | Operation::MultiplyHalf { .. }
        | Operation::Saturating { .. }
        | Operation::Clz { .. } => multiply::execute(registers, &instruction.operation, at),
        Operation::Swap { byte, rd, rm, rn } => {
            return transfer::swap(processor, *byte, [*rd, *rm, *rn], at);
        }
        Operation::Preload { .. } => {}
        Operation::ReadStatus { rd, saved } => status::read_status(registers, *rd, *saved),
        Operation::WriteStatus { saved, mask, operand } => {
            let value = data::operand(registers, operand, at).0;
            status::write_status(processor, *saved, *mask, value);
        }
        Operation::Coprocessor(access) => return status::coprocessor(processor, access, at),
        Operation::SoftwareInterrupt { comment } => return End::software_interrupt(*comment),
        Operation::Breakpoint { .. } => return End::Breakpoint,
        Operation::Undefined => return End::Undefined,
    }
    End::EXECUTED
}

/// r15 as the instruction at `at` reads it.
#[inline]
const fn pipeline_pc(registers: &Registers, at: u32) -> u32 {
    at.wrapping_add(if registers.cpsr().thumb() { 4 } else { 8 })
}

/// The value of `register` as the instruction at `at` reads it.
#[inline]
pub(crate) fn read(registers: &Registers, register: Register, at: u32) -> u32 {
    match registers.r.get(register.index()) {
        Some(&value) => value,
        None => pipeline_pc(registers, at),
    }
}

/// The value of `register` as the ARM instruction at `at` reads it one cycle later: as a value to be
/// stored, and as an operand of an instruction with a register-controlled shift. (No Thumb
/// instruction reads r15 so.)
#[inline]
fn read_late(registers: &Registers, register: Register, at: u32) -> u32 {
    registers.r.get(register.index()).copied().unwrap_or(at.wrapping_add(12))
}

/// Writes a result; a write to r15 is ignored.
#[inline]
fn write(registers: &mut Registers, register: Register, value: u32) {
    if let Some(place) = registers.r.get_mut(register.index()) {
        *place = value;
    }
}

/// Writes r15 without a change of state.
#[inline]
const fn jump(registers: &mut Registers, target: u32) {
    registers.pc = target & if registers.cpsr().thumb() { !1 } else { !3 };
}

/// Writes r15, with bit 0 as the state.
#[inline]
const fn exchange(registers: &mut Registers, target: u32) {
    registers.set_thumb(target & 1 != 0);
    jump(registers, target);
}

/// The signed offset of a single transfer.
#[inline]
pub(crate) fn offset(registers: &Registers, offset: &Offset, at: u32) -> u32 {
    match *offset {
        Offset::Immediate(constant) | Offset::Literal(constant) => {
            0u32.wrapping_add_signed(constant)
        }
        Offset::Register { rm, shift, amount, subtract } => {
            let value = read(registers, rm, at);
            let carry = registers.cpsr().has(Psr::C);
            let (value, _) = arithmetic::shift(value, shift, u32::from(amount), carry);
            if subtract { value.wrapping_neg() } else { value }
        }
    }
}

/// Returns from an exception: restores CPSR from SPSR and continues at `target`.
fn return_to<B: Bus>(processor: &mut Processor<B>, target: u32) {
    let before = processor.registers.cpsr();
    processor.registers.set_cpsr(processor.registers.spsr());
    jump(&mut processor.registers, target);
    note_mode(processor, before);
}

/// Records a mode event if the mode differs from that in `before`.
fn note_mode<B: Bus>(processor: &mut Processor<B>, before: Psr) {
    let to = processor.registers.cpsr().mode();
    if let Some(recorder) = &mut processor.recorder
        && to != before.mode()
    {
        recorder.note(processor.now, Event::Mode { to, at: processor.registers.pc });
    }
}
