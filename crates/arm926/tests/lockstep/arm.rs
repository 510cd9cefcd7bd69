//! The classes of ARM instructions that compute: data processing, multiplies, status registers.
//!
//! A generator writes one instruction of its class and returns its address, or `None` if no registers
//! suit. Should-be-zero fields and those with unpredictable values (ARM DDI 0100E, A4.1) have valid
//! values.

use super::block::Block;
use super::classes::Class;

const DATA_NAMES: [&str; 16] = [
    "AND", "EOR", "SUB", "RSB", "ADD", "ADC", "SBC", "RSC", "TST", "TEQ", "CMP", "CMN", "ORR",
    "MOV", "BIC", "MVN",
];

/// The form of a second operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Immediate,
    Shifted,
    ShiftedBy,
}

/// All of them.
pub fn classes() -> Vec<Class> {
    let mut classes = Vec::new();
    for form in [Form::Immediate, Form::Shifted, Form::ShiftedBy] {
        for (operation, name) in (0..).zip(DATA_NAMES) {
            let name = format!("{name} {form:?}");
            classes.push(Class::arm(&name, move |block| data(block, operation, form)));
        }
    }
    for (n, name) in (0..).zip(["MUL", "MLA", "-", "-", "UMULL", "UMLAL", "SMULL", "SMLAL"]) {
        if name != "-" {
            classes.push(Class::arm(name, move |block| multiply(block, n)));
        }
    }
    for (n, name) in (0..).zip(["SMLAxy", "SMLAWy", "SMLALxy", "SMULxy"]) {
        classes.push(Class::arm(name, move |block| half_multiply(block, n, false)));
    }
    classes.push(Class::arm("SMULWy", |block| half_multiply(block, 1, true)));
    for (n, name) in (0..).zip(["QADD", "QSUB", "QDADD", "QDSUB"]) {
        classes.push(Class::arm(name, move |block| saturating(block, n)));
    }
    classes.push(Class::arm("CLZ", clz));
    classes.push(Class::arm("PLD", preload));
    classes.push(Class::arm("MRS CPSR", |block| read_status(block, false)));
    classes.push(Class::arm("MRS SPSR", |block| read_status(block, true)));
    classes.push(Class::arm("MSR CPSR flags Immediate", write_flags));
    classes.push(Class::arm("MSR CPSR flags Register", write_flags_from_register));
    classes.push(
        Class::arm("MSR CPSR control Immediate", |block| write_control(block, true)).often(2),
    );
    classes.push(
        Class::arm("MSR CPSR control Register", |block| write_control(block, false)).often(2),
    );
    classes.push(Class::arm("MSR CPSR in user mode", write_status_in_user_mode).often(5));
    classes.push(Class::arm("MSR SPSR", write_saved_status));
    classes
}

/// A condition field, shifted, and whether it always holds.
pub fn condition(block: &mut Block<'_>) -> (u32, bool) {
    let field = if block.chance(1, 2) { 14 } else { block.below(15) };
    (field << 28, field == 14)
}

/// A source register: r0 to r14.
fn source(block: &mut Block<'_>) -> u32 {
    block.below(15)
}

fn data(block: &mut Block<'_>, operation: u32, form: Form) -> Option<u32> {
    let compares = (8..12).contains(&operation);
    let s = u32::from(compares || block.chance(1, 2));
    let rd = if compares { 0 } else { block.free(15)? };
    let limit = if form == Form::ShiftedBy { 15 } else { 16 };
    let rn = if operation == 13 || operation == 15 { 0 } else { block.below(limit) };
    let operand = match form {
        Form::Immediate => 1 << 25 | block.bits(12),
        Form::Shifted => block.bits(5) << 7 | block.bits(2) << 5 | block.below(limit),
        Form::ShiftedBy => {
            let rm = source(block);
            source(block) << 8 | block.bits(2) << 5 | 1 << 4 | rm
        }
    };
    let (condition, _) = condition(block);
    if s == 1 {
        block.carry = None;
    }
    emit(block, condition | operation << 21 | s << 20 | rn << 16 | rd << 12 | operand)
}

fn emit(block: &mut Block<'_>, word: u32) -> Option<u32> {
    let at = block.at();
    block.word(word);
    Some(at)
}

fn multiply(block: &mut Block<'_>, kind: u32) -> Option<u32> {
    let (condition, _) = condition(block);
    let (rm, rs) = (source(block), source(block));
    let high = block.free(15)?;
    let low = if kind >= 4 {
        block.free(15)?
    } else if kind == 1 {
        source(block)
    } else {
        0
    };
    // A result in the first factor or two results in one register are unpredictable in ARMv5.
    if high == rm || kind >= 4 && (low == rm || low == high) {
        return None;
    }
    let s = block.bits(1);
    let word = kind << 21 | s << 20 | high << 16 | low << 12 | rs << 8 | 9 << 4 | rm;
    emit(block, condition | word)
}

fn half_multiply(block: &mut Block<'_>, kind: u32, wide_plain: bool) -> Option<u32> {
    let (condition, _) = condition(block);
    let (rm, rs) = (source(block), source(block));
    let (x, y) = (if kind == 1 { u32::from(wide_plain) } else { block.bits(1) }, block.bits(1));
    let rd = block.free(15)?;
    let rn = match kind {
        2 => block.free(15)?,
        3 => 0,
        _ if wide_plain => 0,
        _ => source(block),
    };
    if kind == 2 && rn == rd {
        return None;
    }
    let word = 1 << 24 | kind << 21 | rd << 16 | rn << 12 | rs << 8 | 1 << 7 | y << 6 | x << 5 | rm;
    emit(block, condition | word)
}

fn saturating(block: &mut Block<'_>, kind: u32) -> Option<u32> {
    let (condition, _) = condition(block);
    let (rm, rn) = (source(block), source(block));
    let rd = block.free(15)?;
    emit(block, condition | 1 << 24 | kind << 21 | rn << 16 | rd << 12 | 5 << 4 | rm)
}

fn clz(block: &mut Block<'_>) -> Option<u32> {
    let (condition, _) = condition(block);
    let (rd, rm) = (block.free(15)?, source(block));
    emit(block, condition | 0x016F_0F10 | rd << 12 | rm)
}

fn preload(block: &mut Block<'_>) -> Option<u32> {
    let up = block.bits(1) << 23;
    let rn = source(block) << 16;
    if block.chance(1, 2) {
        let offset = block.bits(12);
        return emit(block, 0xF550_F000 & !(1 << 23) | up | rn | offset);
    }
    let offset = block.bits(5) << 7 | block.bits(2) << 5 | source(block);
    emit(block, 0xF750_F000 & !(1 << 23) | up | rn | offset)
}

fn read_status(block: &mut Block<'_>, saved: bool) -> Option<u32> {
    if saved && !block.has_spsr() {
        return None;
    }
    let (condition, _) = condition(block);
    let rd = block.free(15)?;
    emit(block, condition | 0x010F_0000 | u32::from(saved) << 22 | rd << 12)
}

/// MSR CPSR_f, #flags << 24. Bits 26 to 24 stay zero: Jazelle's is left out, the others do not exist.
fn write_flags(block: &mut Block<'_>) -> Option<u32> {
    let (condition, always) = condition(block);
    let flags = block.bits(5) << 3;
    let certain = always && block.settled();
    block.carry = certain.then_some(flags >> 5 & 1 != 0);
    emit(block, condition | 0x0328_F400 | flags)
}

/// MOV rm, #flags << 24; MSR CPSR_f, rm.
fn write_flags_from_register(block: &mut Block<'_>) -> Option<u32> {
    let rm = block.free(15)?;
    if !block.undivided(8) {
        return None;
    }
    let flags = block.bits(5) << 3;
    block.word(0xE3A0_0400 | rm << 12 | flags);
    let (condition, _) = condition(block);
    block.carry = None;
    emit(block, condition | 0x0128_F000 | rm)
}

/// Changes the mode and the masks, with or without the flags.
fn write_control(block: &mut Block<'_>, immediate: bool) -> Option<u32> {
    if !block.privileged() || !block.with_banks() || !block.settled() {
        return None;
    }
    let mode = mode(block);
    let value = block.bits(2) << 6 | mode;
    if immediate {
        let at = emit(block, 0xE321_F000 | value);
        block.enter(mode);
        return at;
    }
    let rm = block.free(15)?;
    block.word(0xE3A0_0000 | rm << 12 | value);
    // All four fields, or the control field. The two middle ones are reserved and written as zero.
    let fields = if block.chance(1, 2) { 0xF } else { 1 };
    let at = emit(block, 0xE120_F000 | fields << 16 | rm);
    if fields != 1 {
        block.carry = Some(false);
    }
    block.enter(mode);
    at
}

/// The bits of a mode.
fn mode(block: &mut Block<'_>) -> u32 {
    [0x10, 0x11, 0x12, 0x13, 0x17, 0x1B, 0x1F][block.below(7) as usize]
}

/// User mode writes only the flags, whatever the mask.
fn write_status_in_user_mode(block: &mut Block<'_>) -> Option<u32> {
    if block.privileged() {
        return None;
    }
    let (condition, _) = condition(block);
    let fields = 1 | block.bits(1) << 3;
    if block.chance(1, 2) {
        let value = block.bits(2) << 6 | mode(block);
        block.carry = None;
        return emit(block, condition | 0x0320_F000 | fields << 16 | value);
    }
    let rm = block.free(15)?;
    if !block.undivided(8) {
        return None;
    }
    let value = block.bits(2) << 6 | mode(block);
    block.word(0xE3A0_0000 | rm << 12 | value);
    block.carry = None;
    emit(block, condition | 0x0120_F000 | fields << 16 | rm)
}

/// MSR SPSR: control or flags, from an immediate or a register.
fn write_saved_status(block: &mut Block<'_>) -> Option<u32> {
    if !block.has_spsr() {
        return None;
    }
    let control = block.chance(1, 2);
    let (condition, always) = condition(block);
    let (fields, rotation, value) =
        if control { (1, 0, block.bits(3) << 5 | mode(block)) } else { (8, 4, block.bits(5) << 3) };
    let certain = always && block.settled();
    let known = block.spsr.filter(|_| certain).map(|spsr| {
        let shift = if control { 0 } else { 24 };
        spsr & !(0xFF << shift) | value << shift
    });
    if block.chance(1, 2) {
        block.spsr = known;
        return emit(block, condition | 0x0360_F000 | fields << 16 | rotation << 8 | value);
    }
    let rm = block.free(15)?;
    if !block.undivided(8) {
        return None;
    }
    block.spsr = known;
    block.word(0xE3A0_0000 | rm << 12 | rotation << 8 | value);
    emit(block, condition | 0x0160_F000 | fields << 16 | rm)
}
