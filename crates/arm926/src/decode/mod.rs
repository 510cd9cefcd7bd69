//! The decoder of words and half-words to [`Instruction`]s.
//!
//! Layer: rank 3. [`arm`] and [`thumb`] accept every encoding: undefined ones become
//! [`Operation::Undefined`]. [`in_line`] decodes an instruction in a cache line.
//!
//! [`Operation::Undefined`]: crate::Operation::Undefined

mod arm;
mod memo;
mod thumb;

use crate::address::LINE;
use crate::instruction::Instruction;
pub(crate) use memo::Memo;

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

/// Decodes the ARM or Thumb instruction at the address `at`, which is in `line`.
#[must_use]
pub fn in_line(line: &[u8; LINE as usize], at: u32, in_thumb: bool) -> Instruction {
    let offset = (at % LINE) as usize;
    if in_thumb {
        thumb(u16::from_le_bytes(line.as_chunks().0[offset / 2]))
    } else {
        arm(u32::from_le_bytes(line.as_chunks().0[offset / 4]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_decoded_by_words_or_by_half_words() {
        let mut line = [0; 32];
        line[28..].copy_from_slice(&[0x01, 0x20, 0xA0, 0xE3]);
        assert_eq!(in_line(&line, 0x107C, false), arm(0xE3A0_2001));
        assert_eq!(in_line(&line, 0x107C, true), thumb(0x2001));
        assert_eq!(in_line(&line, 0x107E, true), thumb(0xE3A0));
        assert_eq!(in_line(&line, 0x1080, false), arm(0));
    }
}
