//! The encodings of ARM state.
//!
//! Layer: rank 3. [`decode`] classifies a word by its bits 27 to 25, as in figure A3-1 of ARM DDI
//! 0100E, and then by the extension spaces of A3.16 that ARMv5TE uses. SBZ and SBO fields are
//! ignored. Unpredictable encodings are decoded like defined ones. BXJ is decoded as BX, its
//! behaviour with Jazelle disabled (DDI 0198D, 1.1); Jazelle is left out.

use crate::instruction::{
    BlockTransfer, Condition, CoprocessorAccess, DataOperation, Half, HalfMultiply, Index,
    Instruction, Item, Offset, Operand, Operation, Register, Saturating, Shift, Transfer,
};

/// Decodes a word.
pub(super) fn decode(word: u32) -> Instruction {
    match condition(word >> 28) {
        Some(condition) => Instruction { condition, operation: conditional(word) },
        None => Instruction { condition: Condition::Al, operation: unconditional(word) },
    }
}

/// The condition of a condition field; `None` for 1111.
pub(super) const fn condition(field: u32) -> Option<Condition> {
    let field = (field & 15) as usize;
    if field < Condition::ALL.len() { Some(Condition::ALL[field]) } else { None }
}

const fn conditional(word: u32) -> Operation {
    match bits(word, 25, 3) {
        0b000 => registers(word),
        0b001 => immediates(word),
        0b010 => transfer(word, signed(word, word & 0xFFF)),
        0b011 if bit(word, 4) => Operation::Undefined,
        0b011 => transfer(word, scaled(word)),
        0b100 => block_transfer(word),
        0b101 => Operation::Branch { offset: branch_offset(word), link: bit(word, 24) },
        0b110 => Operation::Undefined,
        _ if bit(word, 24) => Operation::SoftwareInterrupt { comment: word & 0x00FF_FFFF },
        _ if bit(word, 4) => coprocessor(word),
        _ => Operation::Undefined,
    }
}

/// The words with 1111 in the condition field: BLX to an address and PLD.
const fn unconditional(word: u32) -> Operation {
    let preload = word & 0x0D70_F000 == 0x0550_F000;
    if bits(word, 25, 3) == 0b101 {
        let half = if bit(word, 24) { 2 } else { 0 };
        Operation::BranchToThumb { offset: branch_offset(word) + half }
    } else if preload && !bit(word, 25) {
        Operation::Preload { rn: register(word, 16), offset: signed(word, word & 0xFFF) }
    } else if preload && !bit(word, 4) {
        Operation::Preload { rn: register(word, 16), offset: scaled(word) }
    } else {
        Operation::Undefined
    }
}

/// Bits 27 to 25 are zero: data processing with registers, and the extension spaces in it.
const fn registers(word: u32) -> Operation {
    if bit(word, 7) && bit(word, 4) {
        return if bits(word, 5, 2) == 0 { multiply_or_swap(word) } else { extra_transfer(word) };
    }
    if word & 0x0190_0000 == 0x0100_0000 {
        return miscellaneous(word);
    }
    let rm = register(word, 0);
    let operand = if bit(word, 4) {
        let shift = match bits(word, 5, 2) {
            0 => Shift::Lsl,
            1 => Shift::Lsr,
            2 => Shift::Asr,
            _ => Shift::Ror,
        };
        Operand::ShiftedBy { rm, shift, rs: register(word, 8) }
    } else {
        let (shift, amount) = constant_shift(word);
        Operand::Shifted { rm, shift, amount }
    };
    data(word, operand)
}

/// Bits 27 to 25 are 001: data processing with a constant, and MSR of one.
const fn immediates(word: u32) -> Operation {
    let rotation = 2 * bits(word, 8, 4);
    let value = (word & 0xFF).rotate_right(rotation);
    let carry = if rotation == 0 { None } else { Some(bit(value, 31)) };
    let operand = Operand::Immediate { value, carry };
    if word & 0x0190_0000 != 0x0100_0000 {
        data(word, operand)
    } else if bit(word, 21) {
        write_status(word, operand)
    } else {
        Operation::Undefined
    }
}

const fn data(word: u32, operand: Operand) -> Operation {
    let operation = match bits(word, 21, 4) {
        0 => DataOperation::And,
        1 => DataOperation::Eor,
        2 => DataOperation::Sub,
        3 => DataOperation::Rsb,
        4 => DataOperation::Add,
        5 => DataOperation::Adc,
        6 => DataOperation::Sbc,
        7 => DataOperation::Rsc,
        8 => DataOperation::Tst,
        9 => DataOperation::Teq,
        10 => DataOperation::Cmp,
        11 => DataOperation::Cmn,
        12 => DataOperation::Orr,
        13 => DataOperation::Mov,
        14 => DataOperation::Bic,
        _ => DataOperation::Mvn,
    };
    let (rd, rn) = (register(word, 12), register(word, 16));
    Operation::Data { operation, s: bit(word, 20), rd, rn, operand }
}

const fn multiply_or_swap(word: u32) -> Operation {
    let (rm, rs) = (register(word, 0), register(word, 8));
    let s = bit(word, 20);
    match bits(word, 20, 8) {
        0b0000_0000..=0b0000_0011 => {
            let rn = if bit(word, 21) { Some(register(word, 12)) } else { None };
            Operation::Multiply { s, rd: register(word, 16), rm, rs, rn }
        }
        0b0000_1000..=0b0000_1111 => {
            let (high, low) = (register(word, 16), register(word, 12));
            let (signed, accumulate) = (bit(word, 22), bit(word, 21));
            Operation::MultiplyLong { signed, accumulate, s, high, low, rm, rs }
        }
        0b0001_0000 | 0b0001_0100 => {
            let (rd, rn) = (register(word, 12), register(word, 16));
            Operation::Swap { byte: bit(word, 22), rd, rm, rn }
        }
        _ => Operation::Undefined,
    }
}

/// Loads and stores of half-words, signed bytes and double words (undefined in odd registers).
const fn extra_transfer(word: u32) -> Operation {
    let (load, item) = match (bit(word, 20), bits(word, 5, 2)) {
        (load, 1) => (load, Item::Half),
        (true, 2) => (true, Item::SignedByte),
        (true, _) => (true, Item::SignedHalf),
        (false, _) if bit(word, 12) => return Operation::Undefined,
        (false, 2) => (true, Item::Double),
        (false, _) => (false, Item::Double),
    };
    let offset = if bit(word, 22) {
        signed(word, bits(word, 8, 4) << 4 | word & 15)
    } else {
        let subtract = !bit(word, 23);
        Offset::Register { rm: register(word, 0), shift: Shift::Lsl, amount: 0, subtract }
    };
    let index = match (bit(word, 24), bit(word, 21)) {
        (true, false) => Index::Offset,
        (true, true) => Index::Pre,
        (false, _) => Index::Post,
    };
    let (rd, rn) = (register(word, 12), register(word, 16));
    Operation::Transfer(Transfer { load, item, rd, rn, offset, index })
}

/// Comparisons without S encode status registers, branches, CLZ, saturation, 16-bit multiplies.
const fn miscellaneous(word: u32) -> Operation {
    let rm = register(word, 0);
    match (bits(word, 4, 4), bits(word, 21, 2)) {
        (0b0000, 0b00 | 0b10) => {
            Operation::ReadStatus { rd: register(word, 12), saved: bit(word, 22) }
        }
        (0b0000, _) => write_status(word, Operand::Shifted { rm, shift: Shift::Lsl, amount: 0 }),
        (0b0001 | 0b0010, 0b01) => Operation::BranchExchange { rm, link: false },
        (0b0011, 0b01) => Operation::BranchExchange { rm, link: true },
        (0b0001, 0b11) => Operation::Clz { rd: register(word, 12), rm },
        (0b0101, which) => {
            let kind = match which {
                0 => Saturating::Qadd,
                1 => Saturating::Qsub,
                2 => Saturating::Qdadd,
                _ => Saturating::Qdsub,
            };
            Operation::Saturating { kind, rd: register(word, 12), rm, rn: register(word, 16) }
        }
        (0b0111, 0b01) => Operation::Breakpoint { comment: bits(word, 8, 12) << 4 | word & 15 },
        (0b1000 | 0b1010 | 0b1100 | 0b1110, _) => half_multiply(word),
        _ => Operation::Undefined,
    }
}

const fn half_multiply(word: u32) -> Operation {
    let (x, y) = (half(bit(word, 5)), half(bit(word, 6)));
    let third = register(word, 12);
    let kind = match bits(word, 21, 2) {
        0b00 => HalfMultiply::Short { x, y, rn: Some(third) },
        0b01 => HalfMultiply::Wide { y, rn: if bit(word, 5) { None } else { Some(third) } },
        0b10 => HalfMultiply::Long { x, y, low: third },
        _ => HalfMultiply::Short { x, y, rn: None },
    };
    let (rm, rs) = (register(word, 0), register(word, 8));
    Operation::MultiplyHalf { kind, rd: register(word, 16), rm, rs }
}

const fn half(top: bool) -> Half {
    if top { Half::Top } else { Half::Bottom }
}

const fn write_status(word: u32, operand: Operand) -> Operation {
    let mut mask = 0;
    let mut field = 0;
    while field < 4 {
        if bit(word, 16 + field) {
            mask |= 0xFF << (8 * field);
        }
        field += 1;
    }
    Operation::WriteStatus { saved: bit(word, 22), mask, operand }
}

const fn transfer(word: u32, offset: Offset) -> Operation {
    let item = if bit(word, 22) { Item::Byte } else { Item::Word };
    let index = match (bit(word, 24), bit(word, 21)) {
        (true, false) => Index::Offset,
        (true, true) => Index::Pre,
        (false, false) => Index::Post,
        (false, true) => Index::PostUser,
    };
    let (rd, rn) = (register(word, 12), register(word, 16));
    Operation::Transfer(Transfer { load: bit(word, 20), item, rd, rn, offset, index })
}

#[allow(clippy::cast_possible_truncation, reason = "const: masked to sixteen bits")]
const fn block_transfer(word: u32) -> Operation {
    Operation::BlockTransfer(BlockTransfer {
        load: bit(word, 20),
        rn: register(word, 16),
        list: (word & 0xFFFF) as u16,
        up: bit(word, 23),
        before: bit(word, 24),
        writeback: bit(word, 21),
        user: bit(word, 22),
    })
}

const fn coprocessor(word: u32) -> Operation {
    Operation::Coprocessor(CoprocessorAccess {
        load: bit(word, 20),
        coprocessor: small(bits(word, 8, 4)),
        opcode1: small(bits(word, 21, 3)),
        crn: small(bits(word, 16, 4)),
        crm: small(bits(word, 0, 4)),
        opcode2: small(bits(word, 5, 3)),
        rd: register(word, 12),
    })
}

/// A constant offset with the sign of the U bit.
#[allow(clippy::cast_possible_wrap, reason = "const: at most twelve bits")]
const fn signed(word: u32, constant: u32) -> Offset {
    let constant = constant as i32;
    Offset::Immediate(if bit(word, 23) { constant } else { -constant })
}

/// A register offset, shifted by a constant.
const fn scaled(word: u32) -> Offset {
    let (shift, amount) = constant_shift(word);
    Offset::Register { rm: register(word, 0), shift, amount, subtract: !bit(word, 23) }
}

/// A shift by a constant: zero means 32 for LSR and ASR, and RRX for ROR.
const fn constant_shift(word: u32) -> (Shift, u8) {
    let amount = small(bits(word, 7, 5));
    match (bits(word, 5, 2), amount) {
        (0, _) => (Shift::Lsl, amount),
        (1, 0) => (Shift::Lsr, 32),
        (1, _) => (Shift::Lsr, amount),
        (2, 0) => (Shift::Asr, 32),
        (2, _) => (Shift::Asr, amount),
        (_, 0) => (Shift::Rrx, 1),
        (_, _) => (Shift::Ror, amount),
    }
}

/// The 24-bit offset of a branch, in words, with its sign.
#[allow(clippy::cast_possible_wrap, reason = "const: the sign of the field is meant")]
const fn branch_offset(word: u32) -> i32 {
    ((word << 8) as i32) >> 6
}

const fn register(word: u32, from: u32) -> Register {
    Register::field(word >> from)
}

const fn bit(word: u32, at: u32) -> bool {
    word >> at & 1 != 0
}

const fn bits(word: u32, from: u32, count: u32) -> u32 {
    word >> from & ((1 << count) - 1)
}

#[allow(clippy::cast_possible_truncation, reason = "const: a field of at most eight bits")]
const fn small(field: u32) -> u8 {
    field as u8
}
