//! The classes of Thumb instructions that compute, load and store (ARM DDI 0100E, A7.1).
//!
//! Left out: the exceptions of `arm_memory.rs`, and high-register operations on two low registers
//! (unpredictable).

use super::block::{Block, Known, Need};
use super::classes::Class;

const ALU: [&str; 16] = [
    "AND", "EOR", "LSL", "LSR", "ASR", "ADC", "SBC", "ROR", "TST", "NEG", "CMP", "CMN", "ORR",
    "MUL", "BIC", "MVN",
];
/// Register offsets, by opcode: name, load, size.
const REGISTER_OFFSETS: [(&str, bool, u32); 8] = [
    ("STR", false, 4),
    ("STRH", false, 2),
    ("STRB", false, 1),
    ("LDRSB", true, 1),
    ("LDR", true, 4),
    ("LDRH", true, 2),
    ("LDRB", true, 1),
    ("LDRSH", true, 2),
];
/// Immediate offsets: name, load, size, code.
const IMMEDIATE_OFFSETS: [(&str, bool, u32, u32); 6] = [
    ("STR", false, 4, 0x6000),
    ("LDR", true, 4, 0x6800),
    ("STRB", false, 1, 0x7000),
    ("LDRB", true, 1, 0x7800),
    ("STRH", false, 2, 0x8000),
    ("LDRH", true, 2, 0x8800),
];

/// All of them.
pub fn classes() -> Vec<Class> {
    let mut classes = Vec::new();
    for (n, name) in (0..).zip(["LSL", "LSR", "ASR"]) {
        let make = move |block: &mut Block<'_>| low_target(block, n << 11, 8);
        classes.push(Class::thumb(&format!("{name} Immediate"), make));
    }
    for (n, name) in (0..).zip(["ADD Register", "SUB Register", "ADD 3 bits", "SUB 3 bits"]) {
        let make = move |block: &mut Block<'_>| low_target(block, 0x1800 | n << 9, 6);
        classes.push(Class::thumb(name, make));
    }
    for (n, name) in (0..).zip(["MOV", "CMP", "ADD", "SUB"]) {
        let make = move |block: &mut Block<'_>| immediate(block, n);
        classes.push(Class::thumb(&format!("{name} 8 bits"), make));
    }
    for (n, name) in (0..).zip(ALU) {
        classes.push(Class::thumb(&format!("{name} ALU"), move |block| alu(block, n)));
    }
    for (n, name) in (0..).zip(["ADD", "CMP", "MOV"]) {
        classes.push(Class::thumb(&format!("{name} high"), move |block| high(block, n)));
    }
    classes.push(Class::thumb("ADD PC", |block| address(block, false)));
    classes.push(Class::thumb("ADD SP to register", |block| address(block, true)));
    classes.push(Class::thumb("ADD and SUB SP", adjust_stack));
    classes.push(Class::thumb("MOV SP", set_stack));
    memory_classes(&mut classes);
    classes
}

fn memory_classes(classes: &mut Vec<Class>) {
    for (n, (name, load, size)) in (0..).zip(REGISTER_OFFSETS) {
        let need = Need { size, align: size, load };
        let make = move |block: &mut Block<'_>| register_offset(block, n, need);
        classes.push(Class::thumb(&format!("{name} Register"), make).often(2));
    }
    for (name, load, size, code) in IMMEDIATE_OFFSETS {
        let need = Need { size, align: size, load };
        let make = move |block: &mut Block<'_>| immediate_offset(block, code, need);
        classes.push(Class::thumb(&format!("{name} Immediate"), make).often(2));
    }
    for load in [false, true] {
        let (store, letter) = if load { ("LDR", "LDMIA") } else { ("STR", "STMIA") };
        let push = if load { "POP" } else { "PUSH" };
        classes.push(Class::thumb(&format!("{store} SP"), move |block| stack(block, load)));
        classes.push(Class::thumb(letter, move |block| several(block, load)));
        classes.push(Class::thumb(push, move |block| push_pop(block, load)));
    }
    classes.push(Class::thumb("LDR PC", literal));
}

pub fn emit(block: &mut Block<'_>, half: u32) -> Option<u32> {
    let at = block.at();
    block.half(half);
    Some(at)
}

/// Random fields, and a destination in bits 2 to 0.
fn low_target(block: &mut Block<'_>, code: u32, fields: u32) -> Option<u32> {
    let rd = block.free(8)?;
    let filler = block.bits(fields) << 3;
    block.carry = None;
    emit(block, code | filler | rd)
}

fn immediate(block: &mut Block<'_>, kind: u32) -> Option<u32> {
    let rd = if kind == 1 { block.below(8) } else { block.free(8)? };
    let value = block.bits(8);
    block.carry = None;
    if kind == 0 && block.wants_offsets() && block.settled() {
        block.known[rd as usize] = Known::Small(value);
    }
    emit(block, 0x2000 | kind << 11 | rd << 8 | value)
}

fn alu(block: &mut Block<'_>, kind: u32) -> Option<u32> {
    let compares = matches!(kind, 8 | 10 | 11);
    let rd = if compares { block.below(8) } else { block.free(8)? };
    let rm = block.below(8);
    if kind == 13 && rm == rd {
        return None;
    }
    block.carry = None;
    emit(block, 0x4000 | kind << 6 | rm << 3 | rd)
}

fn high(block: &mut Block<'_>, kind: u32) -> Option<u32> {
    let rd = if kind == 1 { block.below(15) } else { block.free(15)? };
    let rm = block.below(16);
    if rd < 8 && rm < 8 {
        return None;
    }
    if kind == 1 {
        block.carry = None;
    }
    emit(block, 0x4400 | kind << 8 | (rd & 8) << 4 | rm << 3 | rd & 7)
}

/// ADD rd, PC, #n and ADD rd, SP, #n.
fn address(block: &mut Block<'_>, stack: bool) -> Option<u32> {
    let rd = block.free(8)?;
    let distance = block.bits(8);
    if block.settled() && block.wants_pointers() {
        let values = match &block.known[13] {
            _ if !stack => vec![(block.pc() & !3) + 4 * distance],
            Known::Pointer(values) => values.iter().map(|value| value + 4 * distance).collect(),
            _ => Vec::new(),
        };
        let near = |value: &u32| value.wrapping_sub(block.base) < 0x1000;
        if !values.is_empty() && values.iter().all(near) {
            block.known[rd as usize] = Known::Pointer(values);
        }
    }
    emit(block, 0xA000 | u32::from(stack) << 11 | rd << 8 | distance)
}

fn adjust_stack(block: &mut Block<'_>) -> Option<u32> {
    let far = block.chance(1, 4);
    let distance = block.bits(if far { 7 } else { 4 });
    let down = block.chance(1, 2);
    let offset = (4 * distance).cast_signed();
    block.moved(13, if down { -offset } else { offset }, true);
    if matches!(block.known[13], Known::Small(_)) {
        block.set_free(13);
    }
    emit(block, 0xB000 | u32::from(down) << 7 | distance)
}

/// MOV SP, rm from a pointer.
fn set_stack(block: &mut Block<'_>) -> Option<u32> {
    let (rm, values) = block.pointer(8)?;
    if !block.settled() {
        return None;
    }
    block.known[13] = Known::Pointer(values);
    emit(block, 0x4685 | rm << 3)
}

/// The register to load or store, below r8.
fn operand(block: &mut Block<'_>, load: bool) -> Option<u32> {
    if load { block.free(8) } else { Some(block.below(8)) }
}

fn register_offset(block: &mut Block<'_>, kind: u32, need: Need) -> Option<u32> {
    let (rn, values) = block.pointer(8)?;
    let (rm, offset) = block.small(8)?;
    if !values.iter().all(|value| block.fits(value.wrapping_add(offset), need)) {
        return None;
    }
    let rd = operand(block, need.load)?;
    let (first, second) = if block.chance(1, 2) { (rm, rn) } else { (rn, rm) };
    emit(block, 0x5000 | kind << 9 | first << 6 | second << 3 | rd)
}

fn immediate_offset(block: &mut Block<'_>, code: u32, need: Need) -> Option<u32> {
    let (rn, values) = block.pointer(8)?;
    let limit = (31 * need.size).cast_signed();
    let offset = block.offset(&values, (0, limit, need.size), need)?.unsigned_abs() / need.size;
    let rd = operand(block, need.load)?;
    emit(block, code | offset << 6 | rn << 3 | rd)
}

fn stack(block: &mut Block<'_>, load: bool) -> Option<u32> {
    let Known::Pointer(values) = block.known[13].clone() else { return None };
    let need = Need { size: 4, align: 4, load };
    let offset = block.offset(&values, (0, 1020, 4), need)?.unsigned_abs() / 4;
    let rd = operand(block, load)?;
    emit(block, 0x9000 | u32::from(load) << 11 | rd << 8 | offset)
}

fn literal(block: &mut Block<'_>) -> Option<u32> {
    let rd = block.free(8)?;
    let place = block.pc() & !3;
    let need = Need { size: 4, align: 4, load: true };
    let offset = block.offset(&[place], (0, 1020, 4), need)?.unsigned_abs() / 4;
    emit(block, 0x4800 | rd << 8 | offset)
}

/// A list of low registers, for a load only those that may change.
fn low_list(block: &mut Block<'_>, load: bool) -> u32 {
    let list = block.bits(8);
    let wanted = |block: &mut Block<'_>, n| !load || block.is_free(n) || block.chance(1, 12);
    (0..8).filter(|&n| list >> n & 1 != 0 && wanted(block, n)).fold(0, |list, n| list | 1 << n)
}

fn several(block: &mut Block<'_>, load: bool) -> Option<u32> {
    let (rn, values) = block.pointer(8)?;
    let mut list = low_list(block, load);
    if load || list.trailing_zeros() != rn {
        list &= !(1 << rn);
    }
    let size = 4 * list.count_ones();
    let need = Need { size, align: 4, load };
    if size == 0 || !values.iter().all(|&value| block.fits(value, need)) {
        return None;
    }
    if load {
        (0..8).filter(|n| list >> n & 1 != 0).for_each(|n| block.set_free(n));
    }
    block.moved(rn, size.cast_signed(), true);
    emit(block, 0xC000 | u32::from(load) << 11 | rn << 8 | list)
}

fn push_pop(block: &mut Block<'_>, load: bool) -> Option<u32> {
    let Known::Pointer(values) = block.known[13].clone() else { return None };
    let list = low_list(block, load);
    let link = u32::from(!load && block.chance(1, 3));
    let size = 4 * (list.count_ones() + link);
    let need = Need { size, align: 4, load };
    let first = |value: u32| if load { value } else { value.wrapping_sub(size) };
    if size == 0 || !values.iter().all(|&value| block.fits(first(value), need)) {
        return None;
    }
    if load {
        (0..8).filter(|n| list >> n & 1 != 0).for_each(|n| block.set_free(n));
    }
    let step = size.cast_signed();
    block.moved(13, if load { step } else { -step }, true);
    emit(block, 0xB400 | u32::from(load) << 11 | link << 8 | list)
}
