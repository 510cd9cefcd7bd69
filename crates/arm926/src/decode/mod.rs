//! From words and half-words to [`Instruction`]s.
//!
//! Layer: rank 3. [`arm`] and [`thumb`] are total: what is not defined becomes [`Operation::Undefined`].
//!
//! [`Operation::Undefined`]: crate::Operation::Undefined

mod arm;
mod memo;
mod thumb;

use crate::instruction::Instruction;
pub(crate) use memo::{Decoded, Memo};

/// Decodes an ARM word.
#[must_use]
pub fn arm(word: u32) -> Instruction {
    arm::decode(word)
}

/// Decodes a Thumb half-word.
#[must_use]
pub fn thumb(half: u16) -> Instruction {
    thumb::decode(half)
}
