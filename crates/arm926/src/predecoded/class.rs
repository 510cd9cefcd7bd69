//! The predecoder's classes of instructions.
//!
//! Layer: rank 3. [`of`] returns the [`Class`]. Rare instructions, and unusual uses of r15, are left to
//! the reference interpreter and so are implemented once.

use crate::instruction::{
    BlockTransfer, Condition, Index, Instruction, Item, Operand, Operation, Register, Transfer,
};
use crate::memory::maintenance::is_line_operation;

/// How an instruction is predecoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// As one that continues with the next.
    Plain,
    /// As a jump, the last instruction of its block.
    Jump,
    /// Within its block, by a step or by the reference.
    System,
    /// Not at all: the reference interpreter executes it.
    Rare,
}

/// The size of an instruction in bytes.
pub(super) const fn size(thumb: bool) -> u32 {
    if thumb { 2 } else { 4 }
}

/// The class of an instruction.
pub(super) fn of(instruction: &Instruction, thumb: bool, privileged: bool) -> Class {
    if privileged && is_system(instruction) {
        return Class::System;
    }
    match instruction.operation {
        Operation::Data { operation, s, rd, rn, operand } => {
            let late = match operand {
                Operand::ShiftedBy { rm, rs, .. } => [rm, rs, rn].contains(&Register::PC),
                _ => false,
            };
            let jumps = rd == Register::PC && operation.has_result();
            match (late, jumps, s) {
                (true, ..) | (_, true, true) => Class::Rare,
                (_, true, false) => Class::Jump,
                _ => Class::Plain,
            }
        }
        Operation::Address { rd, .. } => plain_unless(rd == Register::PC),
        Operation::Multiply { rd, rm, rs, rn, .. } => {
            plain_unless([rd, rm, rs, rn.unwrap_or(rd)].contains(&Register::PC))
        }
        Operation::MultiplyLong { high, low, rm, rs, .. } => {
            plain_unless([high, low, rm, rs].contains(&Register::PC))
        }
        Operation::Clz { rd, rm } => plain_unless([rd, rm].contains(&Register::PC)),
        Operation::Transfer(transfer) => single(&transfer),
        Operation::BlockTransfer(transfer) => several(&transfer),
        Operation::Preload { .. } => Class::Plain,
        Operation::ReadStatus { rd, saved } => plain_unless(saved || rd == Register::PC),
        Operation::BranchPrefix { .. } => plain_unless(!thumb),
        Operation::Branch { .. }
        | Operation::BranchToThumb { .. }
        | Operation::BranchSuffix { .. } => Class::Jump,
        Operation::BranchExchange { rm, .. } => {
            if rm == Register::PC {
                Class::Rare
            } else {
                Class::Jump
            }
        }
        _ => Class::Rare,
    }
}

/// Whether an instruction of a privileged mode is [`Class::System`]: one that kernels execute for each
/// critical section or cache line, and that always completes. An unconditional one, so that the block
/// knows whether the current line is forgotten.
fn is_system(instruction: &Instruction) -> bool {
    instruction.condition == Condition::Al
        && match instruction.operation {
            Operation::WriteStatus { .. } | Operation::ReadStatus { saved: true, .. } => true,
            Operation::Coprocessor(access) => is_line_operation(&access),
            _ => false,
        }
}

const fn plain_unless(rare: bool) -> Class {
    if rare { Class::Rare } else { Class::Plain }
}

fn single(transfer: &Transfer) -> Class {
    let Transfer { load, item, rd, rn, index, .. } = *transfer;
    let writes_base = index != Index::Offset;
    let odd = item == Item::Double && (rd.index() % 2 != 0 || rd.index() >= 14);
    let unusual_base = writes_base && (rn == Register::PC || rn == rd);
    let unusual_pair = item == Item::Double && writes_base && rn.index() == rd.index() + 1;
    if index == Index::PostUser || odd || unusual_base || unusual_pair {
        return Class::Rare;
    }
    match (rd == Register::PC, load, item) {
        (false, ..) => Class::Plain,
        (true, true, Item::Word) => Class::Jump,
        _ => Class::Rare,
    }
}

fn several(transfer: &BlockTransfer) -> Class {
    let BlockTransfer { load, rn, list, writeback, user, .. } = *transfer;
    let with_base = writeback && list >> rn.index() & 1 != 0;
    if user || list == 0 || rn == Register::PC || with_base {
        return Class::Rare;
    }
    match (list >> 15 != 0, load) {
        (false, _) => Class::Plain,
        (true, true) => Class::Jump,
        (true, false) => Class::Rare,
    }
}
