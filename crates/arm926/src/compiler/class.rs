//! The compiler's classes of instructions.
//!
//! Layer: rank 3. [`class`] tells how an instruction is compiled, or that it is not.

use crate::instruction::{
    BlockTransfer, DataOperation, HalfMultiply, Index, Instruction, Item, Offset, Operand,
    Operation, Register, Shift, Transfer,
};

/// How an instruction is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// Into host instructions. An access that misses the look-aside falls back to the reference.
    Native,
    /// Into a call of the reference. It changes only registers, Q and memory.
    Called,
    /// As a jump, the last instruction of a node.
    Jump,
    /// Not at all: a region exits before it.
    Unsupported,
}

/// The class of `instruction`.
pub(super) fn class(instruction: &Instruction) -> Class {
    let has_pc = |registers: &[Register]| registers.contains(&Register::PC);
    let native = |registers: &[Register]| {
        if has_pc(registers) { Class::Called } else { Class::Native }
    };
    match &instruction.operation {
        Operation::Data { operation, s, rd, operand, .. } => data(*operation, *s, *rd, operand),
        Operation::Address { rd, .. } => native(&[*rd]),
        Operation::Multiply { s, rd, rm, rs, rn } => match native(&[*rd, *rm, *rs]) {
            Class::Native if *rn != Some(Register::PC) => Class::Native,
            _ if *s => Class::Unsupported,
            _ => Class::Called,
        },
        Operation::MultiplyLong { s, high, low, rm, rs, .. } => {
            match native(&[*high, *low, *rm, *rs]) {
                Class::Called if *s => Class::Unsupported,
                class => class,
            }
        }
        Operation::MultiplyHalf { kind, rd, rm, rs } => match *kind {
            HalfMultiply::Short { rn: None, .. } | HalfMultiply::Wide { rn: None, .. } => {
                native(&[*rd, *rm, *rs])
            }
            HalfMultiply::Long { low, .. } => native(&[*rd, low, *rm, *rs]),
            _ => Class::Called,
        },
        Operation::Clz { rd, rm } => native(&[*rd, *rm]),
        Operation::Saturating { .. } | Operation::Swap { .. } => Class::Called,
        Operation::Transfer(transfer) => single(transfer),
        Operation::BlockTransfer(transfer) => block(transfer),
        Operation::Preload { .. } | Operation::BranchPrefix { .. } => Class::Native,
        Operation::Branch { .. }
        | Operation::BranchToThumb { .. }
        | Operation::BranchExchange { .. }
        | Operation::BranchSuffix { .. } => Class::Jump,
        _ => Class::Unsupported,
    }
}

fn data(operation: DataOperation, s: bool, rd: Register, operand: &Operand) -> Class {
    let by_register = matches!(operand, Operand::ShiftedBy { .. });
    if !operation.has_result() || rd != Register::PC {
        Class::Native
    } else if s || by_register {
        Class::Unsupported
    } else {
        Class::Jump
    }
}

fn single(transfer: &Transfer) -> Class {
    let writes_base = transfer.writes_base();
    let through_carry = matches!(transfer.offset, Offset::Register { shift: Shift::Rrx, .. });
    let double = transfer.item == Item::Double;
    let odd = transfer.rd.index() % 2 == 1;
    if through_carry || (double && transfer.rd.index() >= 14) {
        return Class::Unsupported;
    }
    if transfer.load && transfer.rd == Register::PC {
        let plain = transfer.item == Item::Word
            && transfer.index != Index::PostUser
            && !(writes_base && transfer.rn == Register::PC);
        return if plain { Class::Jump } else { Class::Unsupported };
    }
    let rare = transfer.index == Index::PostUser
        || (writes_base && transfer.rn == Register::PC)
        || (double && odd);
    if rare { Class::Called } else { Class::Native }
}

fn block(transfer: &BlockTransfer) -> Class {
    let jumps = transfer.jumps();
    let rare = transfer.user || transfer.rn == Register::PC || transfer.list == 0;
    match (jumps, rare) {
        (true, true) => Class::Unsupported,
        (true, false) => Class::Jump,
        (false, true) => Class::Called,
        (false, false) => Class::Native,
    }
}
