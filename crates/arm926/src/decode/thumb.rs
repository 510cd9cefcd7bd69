//! The encodings of Thumb state.
//!
//! Layer: rank 3. [`decode`] classifies a half-word by its upper bits, as in figure A6-1 of ARM DDI
//! 0100E, and converts it to the ARM operation of the same effect. SBZ fields are ignored.

use crate::instruction::{
    BlockTransfer, Condition, DataOperation, Index, Instruction, Item, Offset, Operand, Operation,
    Register, Shift, Transfer,
};

/// Decodes a half-word.
pub(super) fn decode(half: u16) -> Instruction {
    let code = u32::from(half);
    if code >> 12 == 0b1101 {
        return conditional(code);
    }
    let operation = match code >> 10 {
        0b00_0000..=0b00_0101 => shift_by_constant(code),
        0b00_0110..=0b00_0111 => add_or_subtract(code),
        0b00_1000..=0b00_1111 => immediate(code),
        0b01_0000 => low_registers(code),
        0b01_0001 => high_registers(code),
        0b01_0010..=0b10_0111 => transfer(code),
        0b10_1000..=0b10_1011 => address(code),
        0b10_1100..=0b10_1111 => miscellaneous(code),
        0b11_0000..=0b11_0011 => block_transfer(code),
        _ => branch(code),
    };
    Instruction { condition: Condition::Al, operation }
}

/// B with a condition, and SWI as condition 1111; condition 1110 is undefined.
const fn conditional(code: u32) -> Instruction {
    let (condition, operation) = match super::arm::condition(code >> 8) {
        None => (Condition::Al, Operation::SoftwareInterrupt { comment: code & 0xFF }),
        Some(Condition::Al) => (Condition::Al, Operation::Undefined),
        Some(condition) => {
            (condition, Operation::Branch { offset: sign(code, 8) * 2, link: false })
        }
    };
    Instruction { condition, operation }
}

/// LSL, LSR, ASR by a constant: zero means 32 for LSR and ASR.
const fn shift_by_constant(code: u32) -> Operation {
    let (shift, amount) = match (code >> 11, small(code >> 6 & 31)) {
        (0, amount) => (Shift::Lsl, amount),
        (1, 0) => (Shift::Lsr, 32),
        (1, amount) => (Shift::Lsr, amount),
        (_, 0) => (Shift::Asr, 32),
        (_, amount) => (Shift::Asr, amount),
    };
    let operand = Operand::Shifted { rm: low(code, 3), shift, amount };
    data(DataOperation::Mov, low(code, 0), low(code, 0), operand)
}

const fn add_or_subtract(code: u32) -> Operation {
    let operation = if bit(code, 9) { DataOperation::Sub } else { DataOperation::Add };
    let operand = if bit(code, 10) { constant(code >> 6 & 7) } else { plain(low(code, 6)) };
    data(operation, low(code, 0), low(code, 3), operand)
}

/// MOV, CMP, ADD, SUB with eight bits.
const fn immediate(code: u32) -> Operation {
    let operation = match code >> 11 & 3 {
        0 => DataOperation::Mov,
        1 => DataOperation::Cmp,
        2 => DataOperation::Add,
        _ => DataOperation::Sub,
    };
    data(operation, low(code, 8), low(code, 8), constant(code & 0xFF))
}

/// The sixteen operations on two low registers.
const fn low_registers(code: u32) -> Operation {
    let (rd, rm) = (low(code, 0), low(code, 3));
    let operation = match code >> 6 & 15 {
        0 => DataOperation::And,
        1 => DataOperation::Eor,
        2 => return shift_by_register(rd, Shift::Lsl, rm),
        3 => return shift_by_register(rd, Shift::Lsr, rm),
        4 => return shift_by_register(rd, Shift::Asr, rm),
        5 => DataOperation::Adc,
        6 => DataOperation::Sbc,
        7 => return shift_by_register(rd, Shift::Ror, rm),
        8 => DataOperation::Tst,
        9 => return data(DataOperation::Rsb, rd, rm, constant(0)),
        10 => DataOperation::Cmp,
        11 => DataOperation::Cmn,
        12 => DataOperation::Orr,
        13 => return Operation::Multiply { s: true, rd, rm, rs: rd, rn: None },
        14 => DataOperation::Bic,
        _ => DataOperation::Mvn,
    };
    data(operation, rd, rd, plain(rm))
}

const fn shift_by_register(rd: Register, shift: Shift, rs: Register) -> Operation {
    data(DataOperation::Mov, rd, rd, Operand::ShiftedBy { rm: rd, shift, rs })
}

/// ADD, CMP, MOV on any registers, of which only CMP sets flags; BX and BLX.
const fn high_registers(code: u32) -> Operation {
    let rm = Register::field(code >> 3);
    let rd = Register::field(code >> 4 & 8 | code & 7);
    let (operation, s) = match code >> 8 & 3 {
        0 => (DataOperation::Add, false),
        1 => (DataOperation::Cmp, true),
        2 => (DataOperation::Mov, false),
        _ => return Operation::BranchExchange { rm, link: bit(code, 7) },
    };
    Operation::Data { operation, s, rd, rn: rd, operand: plain(rm) }
}

/// The loads and stores of one item.
const fn transfer(code: u32) -> Operation {
    match code >> 12 {
        0b0100 => {
            let offset = Offset::Literal(signed(code & 0xFF) * 4);
            single(true, Item::Word, low(code, 8), Register::PC, offset)
        }
        0b0101 => transfer_by_register(code),
        0b0110 => transfer_by_constant(code, Item::Word, 4),
        0b0111 => transfer_by_constant(code, Item::Byte, 1),
        0b1000 => transfer_by_constant(code, Item::Half, 2),
        _ => {
            let offset = Offset::Immediate(signed(code & 0xFF) * 4);
            single(bit(code, 11), Item::Word, low(code, 8), Register::SP, offset)
        }
    }
}

const fn transfer_by_register(code: u32) -> Operation {
    let (load, item) = match code >> 9 & 7 {
        0 => (false, Item::Word),
        1 => (false, Item::Half),
        2 => (false, Item::Byte),
        3 => (true, Item::SignedByte),
        4 => (true, Item::Word),
        5 => (true, Item::Half),
        6 => (true, Item::Byte),
        _ => (true, Item::SignedHalf),
    };
    let rm = low(code, 6);
    let offset = Offset::Register { rm, shift: Shift::Lsl, amount: 0, subtract: false };
    single(load, item, low(code, 0), low(code, 3), offset)
}

const fn transfer_by_constant(code: u32, item: Item, size: i32) -> Operation {
    let offset = Offset::Immediate(signed(code >> 6 & 31) * size);
    single(bit(code, 11), item, low(code, 0), low(code, 3), offset)
}

const fn single(load: bool, item: Item, rd: Register, rn: Register, offset: Offset) -> Operation {
    Operation::Transfer(Transfer { load, item, rd, rn, offset, index: Index::Offset })
}

/// ADD Rd, PC or SP, with a constant.
const fn address(code: u32) -> Operation {
    let (rd, offset) = (low(code, 8), (code & 0xFF) * 4);
    if bit(code, 11) {
        let (operation, operand) = (DataOperation::Add, constant(offset));
        Operation::Data { operation, s: false, rd, rn: Register::SP, operand }
    } else {
        Operation::Address { rd, offset }
    }
}

/// The stack: ADD and SUB of SP, PUSH, POP; BKPT.
const fn miscellaneous(code: u32) -> Operation {
    match code >> 8 & 15 {
        0 => {
            let operation = if bit(code, 7) { DataOperation::Sub } else { DataOperation::Add };
            let (rd, operand) = (Register::SP, constant((code & 0x7F) * 4));
            Operation::Data { operation, s: false, rd, rn: rd, operand }
        }
        0b0100 | 0b0101 => stack(code, false, 14),
        0b1100 | 0b1101 => stack(code, true, 15),
        0b1110 => Operation::Breakpoint { comment: code & 0xFF },
        _ => Operation::Undefined,
    }
}

/// PUSH (with r14) or POP (with r15): a full descending stack.
const fn stack(code: u32, load: bool, extra: u32) -> Operation {
    let list = code & 0xFF | (code >> 8 & 1) << extra;
    let (rn, up, before) = (Register::SP, load, !load);
    block(BlockTransfer { load, rn, list: short(list), up, before, writeback: true, user: false })
}

/// LDMIA and STMIA; no write-back of a base that is loaded (A7.1.28).
const fn block_transfer(code: u32) -> Operation {
    let (load, rn) = (bit(code, 11), low(code, 8));
    let list = short(code & 0xFF);
    let writeback = !(load && list >> rn.index() & 1 != 0);
    block(BlockTransfer { load, rn, list, up: true, before: false, writeback, user: false })
}

const fn block(transfer: BlockTransfer) -> Operation {
    Operation::BlockTransfer(transfer)
}

/// B, and the two halves of BL and BLX; the second half of a BLX with bit 0 set is undefined.
const fn branch(code: u32) -> Operation {
    match code >> 11 & 3 {
        0 => Operation::Branch { offset: sign(code, 11) * 2, link: false },
        1 if bit(code, 0) => Operation::Undefined,
        1 => Operation::BranchSuffix { offset: (code & 0x7FF) * 2, exchange: true },
        2 => Operation::BranchPrefix { offset: sign(code, 11) << 12 },
        _ => Operation::BranchSuffix { offset: (code & 0x7FF) * 2, exchange: false },
    }
}

/// Data processing with flags.
const fn data(operation: DataOperation, rd: Register, rn: Register, operand: Operand) -> Operation {
    Operation::Data { operation, s: true, rd, rn, operand }
}

const fn plain(rm: Register) -> Operand {
    Operand::Shifted { rm, shift: Shift::Lsl, amount: 0 }
}

const fn constant(value: u32) -> Operand {
    Operand::Immediate { value, carry: None }
}

/// A low register.
const fn low(code: u32, from: u32) -> Register {
    Register::field(code >> from & 7)
}

const fn bit(code: u32, at: u32) -> bool {
    code >> at & 1 != 0
}

/// The lowest `count` bits as a signed number.
#[allow(clippy::cast_possible_wrap, reason = "const: the sign of the field is meant")]
const fn sign(code: u32, count: u32) -> i32 {
    ((code << (32 - count)) as i32) >> (32 - count)
}

#[allow(clippy::cast_possible_wrap, reason = "const: a field of at most eight bits")]
const fn signed(field: u32) -> i32 {
    field as i32
}

#[allow(clippy::cast_possible_truncation, reason = "const: a field of at most eight bits")]
const fn small(field: u32) -> u8 {
    field as u8
}

#[allow(clippy::cast_possible_truncation, reason = "const: a list of sixteen registers")]
const fn short(list: u32) -> u16 {
    list as u16
}
