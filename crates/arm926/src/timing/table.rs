//! The cycle table: one function for each class of instructions.
//!
//! Layer: rank 3. [`look_up`] returns the [`Timing`] of an executed operation.
//! docs/models/arm926-pipeline.md has the rows, their sources and assumptions; the comments here name
//! the row of ARM DDI 0222B, table 8.2.

use super::{Pipeline, RegisterSet, Timing};
use crate::instruction::{
    BlockTransfer, CoprocessorAccess, DataOperation, HalfMultiply, Item, Offset, Operand,
    Operation, Register, Shift, Transfer,
};

/// A timing of `cycles` without registers.
const fn plain(cycles: u8) -> Timing {
    Timing { operands: 0, stored: 0, accumulated: 0, cycles, written: 0, late: Pipeline::IDLE }
}

/// A pipeline state in which `late` are pending like loaded words.
const fn loaded(late: RegisterSet) -> Pipeline {
    Pipeline { loaded: late, ..Pipeline::IDLE }
}

/// A pipeline state in which `late` are pending like loaded bytes.
const fn rotated(late: RegisterSet) -> Pipeline {
    Pipeline { rotated: late, ..Pipeline::IDLE }
}

/// The set of one register; empty for r15, which never causes an interlock.
const fn set(register: Register) -> RegisterSet {
    (1 << register.index()) & !(1 << 15)
}

fn optional(register: Option<Register>) -> RegisterSet {
    register.map_or(0, set)
}

/// The timing of an instruction on registers whose result is not late.
const fn simple(cycles: u8, operands: RegisterSet, rd: Register) -> Timing {
    Timing { operands, written: set(rd), ..plain(cycles) }
}

/// The timing of an executed operation; `unaligned` for a load from an unaligned address.
pub(super) fn look_up(operation: &Operation, unaligned: bool) -> Timing {
    match *operation {
        Operation::Data { operation, rd, rn, operand, .. } => data(operation, rd, rn, operand),
        Operation::Address { rd, .. } => simple(1, 0, rd),
        Operation::Clz { rd, rm } => simple(1, set(rm), rd),
        Operation::Multiply { .. }
        | Operation::MultiplyLong { .. }
        | Operation::MultiplyHalf { .. } => multiply(operation),
        Operation::Saturating { rd, rm, rn, .. } => Timing {
            late: Pipeline { saturated: set(rd), ..Pipeline::IDLE },
            ..simple(1, set(rm) | set(rn), rd)
        },
        Operation::Transfer(transfer) => single(&transfer, unaligned),
        Operation::BlockTransfer(transfer) => block(&transfer),
        Operation::Swap { byte, rd, rm, rn } => swap(byte || unaligned, rd, rm, rn),
        Operation::Preload { rn, offset } => {
            Timing { operands: set(rn) | index(offset), ..plain(1 + scaling(offset)) }
        }
        Operation::BranchPrefix { .. } => simple(1, 0, Register::LR),
        Operation::BranchSuffix { .. } => Timing { operands: set(Register::LR), ..plain(3) },
        Operation::BranchExchange { rm, .. } => Timing { operands: set(rm), ..plain(3) },
        // Taken branches, and the entry of an exception, which has SWI's row.
        Operation::Branch { .. }
        | Operation::BranchToThumb { .. }
        | Operation::SoftwareInterrupt { .. }
        | Operation::Breakpoint { .. }
        | Operation::Undefined => plain(3),
        Operation::ReadStatus { rd, .. } => simple(2, 0, rd),
        Operation::WriteStatus { mask, operand, .. } => write_status(mask, operand),
        Operation::Coprocessor(access) => coprocessor(&access),
    }
}

/// The registers of a second operand.
fn of_operand(operand: Operand) -> RegisterSet {
    match operand {
        Operand::Immediate { .. } => 0,
        Operand::Shifted { rm, .. } => set(rm),
        Operand::ShiftedBy { rm, rs, .. } => set(rm) | set(rs),
    }
}

/// Rows 'Data Op': 1; 2 with a register-controlled shift. With r15 as destination, 3 for ADD, SUB,
/// RSB, ADC and SBC, and 4 for the others (including RSC, as in the manual's list) and with a shifted
/// operand.
fn data(operation: DataOperation, rd: Register, rn: Register, operand: Operand) -> Timing {
    use DataOperation::{Adc, Add, Mov, Mvn, Rsb, Sbc, Sub};
    let by_register = matches!(operand, Operand::ShiftedBy { .. });
    let shifted = match operand {
        Operand::Immediate { .. } => false,
        Operand::Shifted { shift, amount, .. } => shift != Shift::Lsl || amount != 0,
        Operand::ShiftedBy { .. } => true,
    };
    let first = if matches!(operation, Mov | Mvn) { 0 } else { set(rn) };
    let operands = first | of_operand(operand);
    if !operation.has_result() {
        return Timing { operands, ..plain(1 + u8::from(by_register)) };
    }
    let own = if rd != Register::PC {
        1
    } else if matches!(operation, Add | Sub | Rsb | Adc | Sbc) && !shifted {
        3
    } else {
        4
    };
    simple(own + u8::from(by_register), operands, rd)
}

/// Rows MUL, MLA: 2, or 4 with flags; SMULL, SMLAL, UMULL, UMLAL: 3, or 5 with flags; SMULxy, SMLAxy
/// and the wide ones: 1; SMLALxy: 2. A product without flags is one cycle late; of two words, the
/// high one.
fn multiply(operation: &Operation) -> Timing {
    let (cycles, s, result, late, factors, accumulated) = match *operation {
        Operation::Multiply { s, rd, rm, rs, rn } => {
            (2, s, set(rd), set(rd), set(rm) | set(rs), optional(rn))
        }
        Operation::MultiplyLong { accumulate, s, high, low, rm, rs, .. } => {
            let both = set(high) | set(low);
            (3, s, both, set(high), set(rm) | set(rs), if accumulate { both } else { 0 })
        }
        Operation::MultiplyHalf { kind, rd, rm, rs } => {
            let factors = set(rm) | set(rs);
            match kind {
                HalfMultiply::Short { rn, .. } | HalfMultiply::Wide { rn, .. } => {
                    (1, false, set(rd), set(rd), factors, optional(rn))
                }
                HalfMultiply::Long { low, .. } => {
                    let both = set(rd) | set(low);
                    (2, false, both, set(rd), factors, both)
                }
            }
        }
        _ => (1, true, 0, 0, 0, 0),
    };
    let product = Timing { operands: factors, accumulated, written: result, ..plain(cycles) };
    if s {
        Timing { cycles: cycles + 2, ..product }
    } else {
        Timing { late: Pipeline { product: late, ..Pipeline::IDLE }, ..product }
    }
}

fn index(offset: Offset) -> RegisterSet {
    match offset {
        Offset::Immediate(_) | Offset::Literal(_) => 0,
        Offset::Register { rm, .. } => set(rm),
    }
}

/// The additional cycle of a scaled register offset.
fn scaling(offset: Offset) -> u8 {
    match offset {
        Offset::Immediate(_) | Offset::Literal(_) => 0,
        Offset::Register { shift, amount, .. } => u8::from(shift != Shift::Lsl || amount != 0),
    }
}

/// Rows LDR, LDRD, STR, STRD.
fn single(transfer: &Transfer, unaligned: bool) -> Timing {
    let Transfer { load, item, rd, rn, offset, .. } = *transfer;
    let operands = set(rn) | index(offset);
    let base = if transfer.writes_base() { set(rn) } else { 0 };
    let cycles = 1 + scaling(offset) + u8::from(item == Item::Double);
    let timing = Timing { operands, written: base, ..plain(cycles) };
    if !load {
        return Timing { stored: set(rd), ..timing };
    }
    if rd == Register::PC {
        return Timing { cycles: cycles + 4, ..timing };
    }
    if item == Item::Double {
        let second = set(rd.odd());
        return Timing { written: base | set(rd) | second, late: loaded(second), ..timing };
    }
    let straight = item == Item::Word && !unaligned;
    let late = if straight { loaded(set(rd)) } else { rotated(set(rd)) };
    Timing { written: base | set(rd), late, ..timing }
}

/// Rows LDM: n, but 2 for one register; the last word is one cycle late; n + 4 with r15. STM: n, but 2
/// for one register; only the first register can cause an interlock. An empty list counts as one.
fn block(transfer: &BlockTransfer) -> Timing {
    let BlockTransfer { load, rn, list, writeback, .. } = *transfer;
    let count = u8::try_from(transfer.words().max(1)).unwrap_or(16);
    let base = if writeback { set(rn) } else { 0 };
    let timing = Timing { operands: set(rn), written: base, ..plain(count.max(2)) };
    if !load {
        let first = list & list.wrapping_neg() & !(1 << 15);
        return Timing { stored: first, ..timing };
    }
    let written = base | list & !(1 << 15);
    if transfer.jumps() {
        return Timing { cycles: count + 4, written, ..timing };
    }
    if count < 2 {
        return Timing { written, ..timing };
    }
    Timing { written, late: loaded(1 << list.ilog2()), ..timing }
}

/// Row SWP: 2, or 3 if the next instruction uses the loaded byte. A rotated word counts as a byte.
fn swap(late: bool, rd: Register, rm: Register, rn: Register) -> Timing {
    let timing = Timing { stored: set(rm), ..simple(2, set(rn), rd) };
    if late { Timing { late: loaded(set(rd)), ..timing } } else { timing }
}

/// Row MSR: 1 if only the flags are written, otherwise 3.
fn write_status(mask: u32, operand: Operand) -> Timing {
    let flags_only = mask & 0x00FF_FFFF == 0;
    Timing { operands: of_operand(operand), ..plain(if flags_only { 1 } else { 3 }) }
}

/// Rows MCR and MRC without busy-waiting: 1; the result of MRC is one cycle late.
fn coprocessor(access: &CoprocessorAccess) -> Timing {
    if access.load {
        Timing { late: loaded(set(access.rd)), ..simple(1, 0, access.rd) }
    } else {
        Timing { stored: set(access.rd), ..plain(1) }
    }
}
