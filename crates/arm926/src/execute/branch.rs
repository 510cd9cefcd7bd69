//! Branches, with and without a change of state.
//!
//! Layer: rank 3. Source: ARM DDI 0100E, A4.1 (B, BL, BLX, BX) and A7.1 (the two halves of a Thumb BL).

use super::{exchange, pipeline_pc, read};
use crate::instruction::Operation;
use crate::registers::Registers;

/// B and BL.
#[inline]
pub(super) const fn plain(registers: &mut Registers, offset: i32, link: bool, at: u32) {
    if link {
        registers.r[14] = registers.pc;
    }
    registers.pc = pipeline_pc(registers, at).wrapping_add_signed(offset);
}

/// BX and BLX, and the two halves of a Thumb BL.
pub(super) fn exchanging(registers: &mut Registers, operation: &Operation, at: u32) {
    match *operation {
        Operation::BranchToThumb { offset } => {
            registers.r[14] = registers.pc;
            exchange(registers, pipeline_pc(registers, at).wrapping_add_signed(offset) | 1);
        }
        Operation::BranchExchange { rm, link } => {
            let target = read(registers, rm, at);
            if link {
                registers.r[14] = registers.pc | u32::from(registers.cpsr().thumb());
            }
            exchange(registers, target);
        }
        Operation::BranchPrefix { offset } => {
            registers.r[14] = pipeline_pc(registers, at).wrapping_add_signed(offset);
        }
        Operation::BranchSuffix { offset, exchange: to_arm } => {
            let target = registers.r[14].wrapping_add(offset);
            registers.r[14] = registers.pc | 1;
            exchange(registers, if to_arm { target & !3 } else { target | 1 });
        }
        _ => {}
    }
}
