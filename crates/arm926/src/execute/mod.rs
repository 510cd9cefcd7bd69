//! What each instruction does: the reference interpreter.
//!
//! Layer: rank 3. [`crate::Processor::step`] fetches, decodes and calls [`execute`]; the fast engine falls back to it for whatever
//! is rare. One file a class: [`arithmetic`] (pure: shifter, adder, flags), `data`, `multiply`, `transfer`, `block`, `branch`, `status`
//! (status registers, coprocessor 15). Source: ARM DDI 0100E, chapters A4 and A7.
//!
//! What the architecture leaves open (unpredictable or implementation defined), and what is done here:
//!
//! - r15 reads as the instruction's address + 8 (Thumb + 4); + 12 with a register-controlled shift, and as a value stored by STR, STM
//!   and MCR, as ARM9 cores do (DDI 0100E A2.4.3; the core stores + 12).
//! - r15 as result of a multiply, CLZ, a saturating addition, MRS or SWP, and as a base that is written back: not written.
//! - A word loaded from an address that is not a multiple of four is rotated, SWP included; half-words, double words and the words of LDM
//!   ignore the lowest address bits; stores do so too. (Alignment faults, where enabled, come first.)
//! - A load to r15 of any size takes bit 0 as the Thumb state (unless the control register's L4 forbids it). Writing r15 with bits 1
//!   and 0 = 10 for ARM state clears them. LDRD and STRD of r14 take r15 as the second register.
//! - A base that is also the result of a load: the loaded value stays. One that is stored: its old value is stored.
//! - LDM with write-back and the base in the list: the base is written back if it is the only or not the last register; STM stores the old
//!   base. An empty list moves nothing, and moves the base by 64. So do ARM9 cores of ARMv5 (GBATEK, ARM9 section).
//! - LDM that aborts changes no register (base restored model, DDI 0100E A2.6.5).
//! - A BKPT with a condition is executed if it holds. A comparison with r15 in its result field is a plain comparison.
//! - SPSR in user and system mode: reads as CPSR; writes do nothing. MSR leaves CPSR's T alone; a mode that there is not leaves
//!   the mode as it was.

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

/// How an instruction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It went this way; `pc` is where execution goes on.
    Done(Outcome),
    /// It is not defined here.
    Undefined,
    /// SWI.
    SoftwareInterrupt {
        /// Its comment field.
        comment: u32,
    },
    /// BKPT.
    Breakpoint,
    /// A data access failed; nothing but memory may have changed, the base register is as before.
    Abort(Abort),
}

impl End {
    /// Executed, and nothing special.
    const EXECUTED: Self = Self::Done(Outcome::Executed);

    const fn software_interrupt(comment: u32) -> Self {
        Self::SoftwareInterrupt { comment }
    }
}

/// Executes `instruction`, which lies at `at`; the pc is already that of the next one.
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

/// What `register` reads as in the instruction at `at`.
#[inline]
pub(crate) fn read(registers: &Registers, register: Register, at: u32) -> u32 {
    match registers.r.get(register.index()) {
        Some(&value) => value,
        None => pipeline_pc(registers, at),
    }
}

/// What `register` reads as in the ARM instruction at `at` one cycle later: as value to be stored, and besides a register-controlled
/// shift. (No Thumb instruction reads r15 so.)
#[inline]
fn read_late(registers: &Registers, register: Register, at: u32) -> u32 {
    registers.r.get(register.index()).copied().unwrap_or(at.wrapping_add(12))
}

/// Writes a result; to r15 nothing.
#[inline]
fn write(registers: &mut Registers, register: Register, value: u32) {
    if let Some(place) = registers.r.get_mut(register.index()) {
        *place = value;
    }
}

/// Writes r15 in the state that there is.
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

/// The offset of a single transfer, to be added.
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

/// Returns from an exception: CPSR from SPSR, and on at `target`.
fn return_to<B: Bus>(processor: &mut Processor<B>, target: u32) {
    let before = processor.registers.cpsr();
    processor.registers.set_cpsr(processor.registers.spsr());
    jump(&mut processor.registers, target);
    note_mode(processor, before);
}

/// Tells the recorder if the mode is another than in `before`.
fn note_mode<B: Bus>(processor: &mut Processor<B>, before: Psr) {
    let to = processor.registers.cpsr().mode();
    if let Some(recorder) = &mut processor.recorder
        && to != before.mode()
    {
        recorder.note(processor.now, Event::Mode { to, at: processor.registers.pc });
    }
}
