//! The five-stage pipeline: cycles of each instruction, and interlocks between neighbours.
//!
//! Layer: rank 3. [`Pipeline`] is the state that one instruction leaves to the next: which registers are not
//! ready yet. It is small, so that an engine can use it as part of a block's key. Cycles of waiting for memory
//! freeze the whole pipeline and are added elsewhere. [`Timing`] is what one instruction needs, takes and leaves, by
//! the table of `table.rs`; an engine may keep it with a decoded instruction.
//! Sources: ARM DDI 0222B (ARM9EJ-S), chapter 8; where that was not at hand, DDI 0165B (ARM9E-S) and DDI 0214B (ARM7EJ-S, the same
//! five stages), and the latencies in GCC's description of the ARM926EJ-S. docs/models/arm926-pipeline.md has each row with its source, and
//! which are assumed. Left out: busy-waiting of coprocessors (the memory system adds what CP15 costs), Jazelle.

mod table;

use serde::{Deserialize, Serialize};

use crate::instruction::Instruction;

/// How an instruction went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Its condition was not met.
    Skipped,
    /// It was executed.
    Executed,
    /// It was executed, and a word or half-word was loaded from an address that is not a multiple of its size.
    Unaligned,
}

/// A set of registers: bit n for register n.
pub type RegisterSet = u16;

/// What one instruction needs, takes and leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Timing {
    /// Registers needed in its first cycle of Execute.
    pub operands: RegisterSet,
    /// Registers needed in its first cycle of Memory: data to be stored or sent to a coprocessor.
    pub stored: RegisterSet,
    /// Registers that are added to a product.
    pub accumulated: RegisterSet,
    /// Its cycles without interlock.
    pub cycles: u8,
    /// Registers that it writes.
    pub written: RegisterSet,
    /// Of these, the ones that come late.
    pub late: Pipeline,
}

impl Timing {
    /// The timing of `instruction` if it goes as `outcome` says.
    #[must_use]
    pub fn of(instruction: &Instruction, outcome: Outcome) -> Self {
        let timing = table::look_up(&instruction.operation, outcome == Outcome::Unaligned);
        if outcome == Outcome::Skipped { timing.skipped() } else { timing }
    }

    /// One whose condition is not met: interlocks are found in Decode, before the condition is looked at, so it waits for its operands like
    /// one that is executed; then it takes one cycle and leaves nothing.
    #[inline]
    pub(crate) const fn skipped(self) -> Self {
        Self { cycles: 1, written: 0, late: Pipeline::IDLE, ..self }
    }
}

/// The registers that are not ready when the next instruction issues. A register is in one of the sets at most, so equal futures
/// have equal states.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pipeline {
    /// One cycle late for every use: loaded words, and what MRC brings.
    loaded: RegisterSet,
    /// Two cycles late for every use: loaded bytes and half-words, and words that were rotated.
    rotated: RegisterSet,
    /// One cycle late for every use but accumulation: products.
    product: RegisterSet,
    /// One cycle late for use in the first cycle of Execute, not for stored data or accumulation: saturated sums.
    saturated: RegisterSet,
}

impl Pipeline {
    /// Nothing is pending: after reset, a taken branch or an exception.
    pub const IDLE: Self = Self { loaded: 0, rotated: 0, product: 0, saturated: 0 };

    /// Passes an instruction through: the cycles that it takes with the interlock before it, and what it leaves pending. A branch
    /// that is executed is taken; so is every write of r15.
    #[inline]
    pub fn advance(&mut self, instruction: &Instruction, outcome: Outcome) -> u32 {
        if *self == Self::IDLE && outcome == Outcome::Skipped {
            return 1;
        }
        self.pass(&Timing::of(instruction, outcome))
    }

    /// As [`Pipeline::advance`], with the timing looked up before.
    #[inline]
    pub fn pass(&mut self, timing: &Timing) -> u32 {
        let cycles = self.interlock(timing) + u32::from(timing.cycles);
        let still = if cycles == 1 { self.rotated & !timing.written } else { 0 };
        *self = Self { loaded: timing.late.loaded | still, ..timing.late };
        cycles
    }

    /// The cycles that an instruction waits in Decode.
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
