//! The encodings of Arm state.
//!
//! Layer: rank 3. Source: ARM DDI 0100E, chapters A3 to A7.

use crate::instruction::{Condition, Instruction, Operation};

/// Decodes one.
pub(super) fn decode(_code: u32) -> Instruction {
    Instruction { condition: Condition::Al, operation: Operation::Undefined }
}
