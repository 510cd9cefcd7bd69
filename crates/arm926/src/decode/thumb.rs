//! The encodings of Thumb state.
//!
//! Layer: rank 3. Source: ARM DDI 0100E, chapters A3 to A7.

use crate::instruction::{Condition, Instruction, Operation};

/// Decodes one.
pub(super) fn decode(_code: u16) -> Instruction {
    Instruction { condition: Condition::Al, operation: Operation::Undefined }
}
