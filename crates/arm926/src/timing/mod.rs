//! The five-stage pipeline: cycles of each instruction, and interlocks between instructions.
//!
//! Layer: rank 3. [`Pipeline`] is the state between two instructions: the registers whose results are
//! pending. It is small, so that an engine can use it as part of a block's key. Memory stalls stop
//! the whole pipeline and are added elsewhere. [`Timing`] holds the cycles of one instruction, the
//! registers that it reads and those that it writes, by the table of `table.rs`; an engine may store
//! it with a decoded instruction. Sources: ARM DDI 0222B (ARM9EJ-S), chapter 8; for what it lacks,
//! DDI 0165B (ARM9E-S), DDI 0214B (ARM7EJ-S, the same five stages), and the latencies in GCC's
//! description of the ARM926EJ-S. docs/models/arm926-pipeline.md lists each row with its source, and
//! which are assumed. Left out: busy-waiting of coprocessors (the memory system adds the cycles of
//! CP15), Jazelle.

mod table;

use serde::{Deserialize, Serialize};

use crate::instruction::Instruction;

/// The outcome of an instruction, as far as its timing depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Its condition failed.
    Skipped,
    /// It was executed.
    Executed,
    /// It was executed, and loaded a word or half-word from an unaligned address.
    Unaligned,
}

/// A set of registers: bit n for register n.
pub type RegisterSet = u16;

/// The timing of one instruction: registers read, cycles, and registers written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Timing {
    /// Registers read in the first cycle of Execute.
    pub operands: RegisterSet,
    /// Registers read in the first cycle of Memory: data to be stored or sent to a coprocessor.
    pub stored: RegisterSet,
    /// Registers read as accumulators of a product.
    pub accumulated: RegisterSet,
    /// The cycles without an interlock.
    pub cycles: u8,
    /// Registers written: all that the instruction may change, as compiled code relies on.
    pub written: RegisterSet,
    /// The registers written whose results are late.
    pub late: Pipeline,
}

impl Timing {
    /// The timing of `instruction` with this `outcome`.
    #[must_use]
    pub fn of(instruction: &Instruction, outcome: Outcome) -> Self {
        let timing = table::look_up(&instruction.operation, outcome == Outcome::Unaligned);
        if outcome == Outcome::Skipped { timing.skipped() } else { timing }
    }

    /// The timing if the condition fails. Interlocks are detected in Decode, before the condition is
    /// evaluated, so the instruction stalls for its operands like an executed one; then it takes one
    /// cycle and writes nothing.
    #[inline]
    pub(crate) const fn skipped(self) -> Self {
        Self { cycles: 1, written: 0, late: Pipeline::IDLE, ..self }
    }
}

/// The registers whose results are pending when the next instruction issues. A register is in at most
/// one of the sets, so that states are equal if and only if they cause the same interlocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pipeline {
    /// One cycle late for every use: loaded words, and results of MRC.
    loaded: RegisterSet,
    /// Two cycles late for every use: loaded bytes and half-words, and rotated words.
    rotated: RegisterSet,
    /// One cycle late for every use except accumulation: products.
    product: RegisterSet,
    /// One cycle late in the first cycle of Execute, but not as stored data or accumulators:
    /// saturated sums.
    saturated: RegisterSet,
}

impl Pipeline {
    /// No result is pending: after reset, a taken branch or an exception.
    pub const IDLE: Self = Self { loaded: 0, rotated: 0, product: 0, saturated: 0 };

    /// Issues an instruction: returns its cycles, including the interlock before it, and updates the
    /// pending results. An executed branch is taken, and so is every write of r15.
    #[inline]
    pub fn advance(&mut self, instruction: &Instruction, outcome: Outcome) -> u32 {
        if *self == Self::IDLE && outcome == Outcome::Skipped {
            return 1;
        }
        self.pass(&Timing::of(instruction, outcome))
    }

    /// Like [`Pipeline::advance`], with a timing already looked up.
    #[inline]
    pub fn pass(&mut self, timing: &Timing) -> u32 {
        let cycles = self.interlock(timing) + u32::from(timing.cycles);
        let still = if cycles == 1 { self.rotated & !timing.written } else { 0 };
        *self = Self { loaded: timing.late.loaded | still, ..timing.late };
        cycles
    }

    /// The interlock cycles of an instruction in Decode.
    #[inline]
    #[must_use]
    pub fn interlock(&self, timing: &Timing) -> u32 {
        let memory = timing.operands | timing.stored;
        let all = memory | timing.accumulated;
        if all & self.rotated != 0 {
            return 2;
        }
        let waits = all & self.loaded | memory & self.product | timing.operands & self.saturated;
        u32::from(waits != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instruction::{Condition, Index, Item, Offset, Operation, Register, Transfer};

    fn load(item: Item, rd: u32, rn: u32) -> Instruction {
        let (rd, rn) = (Register::field(rd), Register::field(rn));
        let offset = Offset::Immediate(0);
        let transfer = Transfer { load: true, item, rd, rn, offset, index: Index::Offset };
        Instruction { condition: Condition::Al, operation: Operation::Transfer(transfer) }
    }

    #[test]
    fn a_hazard_ages_by_the_cycles_of_what_lies_between() {
        let mut pipeline = Pipeline::IDLE;
        assert_eq!(pipeline.advance(&load(Item::Byte, 0, 1), Outcome::Executed), 1);
        let byte_pending = pipeline;
        assert_eq!(pipeline.advance(&load(Item::Word, 2, 3), Outcome::Executed), 1);
        assert_eq!(pipeline.advance(&load(Item::Word, 4, 0), Outcome::Executed), 2);
        pipeline = byte_pending;
        assert_eq!(pipeline.advance(&load(Item::Word, 4, 0), Outcome::Skipped), 3);
        assert_eq!(pipeline, Pipeline::IDLE);
    }

    #[test]
    fn a_register_that_is_written_again_is_no_longer_awaited() {
        let mut pipeline = Pipeline::IDLE;
        pipeline.advance(&load(Item::Byte, 0, 1), Outcome::Executed);
        pipeline.advance(&load(Item::Word, 0, 1), Outcome::Executed);
        let mut other = Pipeline::IDLE;
        other.advance(&load(Item::Word, 0, 1), Outcome::Executed);
        assert_eq!(pipeline, other);
        assert_eq!(size_of::<Pipeline>(), 8);
    }
}
