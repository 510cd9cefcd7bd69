//! The five-stage pipeline: cycles of each instruction, and interlocks between neighbours.
//!
//! Layer: rank 3. [`Pipeline`] is the state that one instruction leaves to the next: which registers are not
//! ready yet. It is small, so that an engine can use it as part of a block's key. Cycles of waiting for memory
//! freeze the whole pipeline and are added elsewhere. Source: ARM DDI 0222B, chapter 8.

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

/// The registers that are not ready when the next instruction issues. Equal states make equal cycles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Pipeline {}

impl Pipeline {
    /// Nothing is pending: after reset, a taken branch or an exception.
    pub const IDLE: Self = Self {};

    /// Passes an instruction through: the cycles that it takes with the interlock before it, and what it leaves pending. A branch
    /// that is executed is taken; so is every write of r15.
    pub fn advance(&mut self, _instruction: &Instruction, _outcome: Outcome) -> u32 {
        1
    }
}
