//! The classes of ARM instructions that load and store.
//!
//! Left out, because the sides may differ: unaligned addresses (Unicorn does not rotate; ARM DDI 0100E,
//! A4.1, LDR and STR), a base loaded with write-back or stored after another register with write-back
//! (LDM, STM), and r15 as a stored value.

use super::arm::condition;
use super::block::{Block, Known, Need};
use super::classes::Class;

/// The item of a class of single transfers, and its encoding.
#[derive(Debug, Clone, Copy)]
struct Item {
    name: &'static str,
    load: bool,
    size: u32,
    align: u32,
    /// The bits of addressing mode 2 or 3.
    code: u32,
    mode3: bool,
}

const fn item(name: &'static str, load: bool, size: u32, code: u32, mode3: bool) -> Item {
    let align = size;
    Item { name, load, size, align, code, mode3 }
}

const ITEMS: [Item; 10] = [
    item("STR", false, 4, 0x0400_0000, false),
    item("LDR", true, 4, 0x0410_0000, false),
    item("STRB", false, 1, 0x0440_0000, false),
    item("LDRB", true, 1, 0x0450_0000, false),
    item("STRH", false, 2, 0x0000_00B0, true),
    item("LDRH", true, 2, 0x0010_00B0, true),
    item("LDRSB", true, 1, 0x0010_00D0, true),
    item("LDRSH", true, 2, 0x0010_00F0, true),
    item("LDRD", true, 8, 0x0000_00D0, true),
    item("STRD", false, 8, 0x0000_00F0, true),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Index {
    Offset,
    Pre,
    Post,
    PostUser,
}

/// All of them.
pub fn classes() -> Vec<Class> {
    let mut classes = Vec::new();
    for item in ITEMS {
        for index in [Index::Offset, Index::Pre, Index::Post, Index::PostUser] {
            if index == Index::PostUser && item.mode3 {
                continue;
            }
            for register in [false, true] {
                let form = if register { "Register" } else { "Immediate" };
                let name = format!("{} {index:?} {form}", item.name);
                let make = move |block: &mut Block<'_>| single(block, item, index, register);
                classes.push(Class::arm(&name, make).often(if item.size == 8 { 7 } else { 2 }));
            }
        }
    }
    for byte in [false, true] {
        let name = if byte { "SWPB" } else { "SWP" };
        classes.push(Class::arm(name, move |block| swap(block, byte)).often(4));
    }
    for load in [false, true] {
        for (n, mode) in (0..).zip(["DA", "IA", "DB", "IB"]) {
            for (writeback, sign) in [(false, ""), (true, "!")] {
                let name = format!("{}{mode}{sign}", if load { "LDM" } else { "STM" });
                let shape = Shape { load, up: n & 1 != 0, before: n & 2 != 0, writeback };
                classes.push(Class::arm(&name, move |block| several(block, shape)).often(2));
            }
        }
        let name = if load { "LDM user registers" } else { "STM user registers" };
        classes.push(Class::arm(name, move |block| user_registers(block, load)).often(30));
    }
    classes
}

/// The offset of a single transfer: its field, and its value.
struct Chosen {
    field: u32,
    value: i32,
    rm: Option<u32>,
}

fn single(block: &mut Block<'_>, item: Item, index: Index, register: bool) -> Option<u32> {
    let (condition, always) = condition(block);
    let (rn, values) = base(block, index, register)?;
    let need = Need { size: item.size, align: item.align, load: item.load };
    let post = matches!(index, Index::Post | Index::PostUser);
    if post && !values.iter().all(|&value| block.fits(value, need)) {
        return None;
    }
    let rd = operand(block, item, rn, index)?;
    let chosen = if register {
        register_offset(block, item, &values, (need, post))?
    } else {
        immediate_offset(block, item, &values, (need, post))?
    };
    let pair = item.size == 8;
    // An index that is also loaded, or is the base with write-back, is unpredictable.
    if let Some(rm) = chosen.rm
        && (rm == rn || pair && (rm == rd || rm == rd + 1))
    {
        return None;
    }
    let bits = match index {
        Index::Offset => 1 << 24,
        Index::Pre => 1 << 24 | 1 << 21,
        Index::Post => 0,
        Index::PostUser => 1 << 21,
    };
    let at = block.at();
    if item.load {
        loaded(block, rd, pair);
    }
    if index != Index::Offset {
        block.moved(rn, chosen.value, always);
    }
    block.word(condition | item.code | bits | rn << 16 | rd << 12 | chosen.field);
    Some(at)
}

/// A base register: a pointer, or r15 without write-back.
fn base(block: &mut Block<'_>, index: Index, register: bool) -> Option<(u32, Vec<u32>)> {
    if index == Index::Offset && !register && block.chance(1, 4) {
        return Some((15, vec![block.pc()]));
    }
    block.pointer(15)
}

/// The register that is loaded or stored.
fn operand(block: &mut Block<'_>, item: Item, rn: u32, index: Index) -> Option<u32> {
    let pair = item.size == 8;
    let rd = if item.load && index == Index::Offset && rn < 13 && block.chance(1, 8) {
        rn
    } else if item.load {
        block.free(15)?
    } else {
        block.below(15)
    };
    let rd = if pair { rd & !1 } else { rd };
    let last = if pair { rd + 1 } else { rd };
    let usable = |n: u32| !item.load || n == rn || block.is_free(n);
    let hit = (rd..=last).contains(&rn);
    let fine = last < 15
        && usable(rd)
        && usable(last)
        && (!hit || index == Index::Offset)
        && !(pair && item.load && hit);
    fine.then_some(rd)
}

/// Records the registers that a load overwrites.
fn loaded(block: &mut Block<'_>, rd: u32, pair: bool) {
    block.set_free(rd);
    if pair {
        block.set_free(rd + 1);
    }
}

fn immediate_offset(
    block: &mut Block<'_>,
    item: Item,
    values: &[u32],
    (need, post): (Need, bool),
) -> Option<Chosen> {
    let limit = if item.mode3 { 255 } else { 4095 };
    let value = if post {
        let magnitude = block.below(64) * if block.chance(3, 4) { 4 } else { 1 };
        let magnitude = magnitude.cast_signed();
        if block.chance(1, 2) { magnitude } else { -magnitude }
    } else {
        block.offset(values, (-limit, limit, 1), need)?
    };
    let up = u32::from(value > 0 || value == 0 && block.chance(1, 2)) << 23;
    let constant = value.unsigned_abs();
    let field =
        if item.mode3 { 1 << 22 | (constant & 0xF0) << 4 | constant & 15 } else { constant };
    Some(Chosen { field: up | field, value, rm: None })
}

fn register_offset(
    block: &mut Block<'_>,
    item: Item,
    values: &[u32],
    (need, post): (Need, bool),
) -> Option<Chosen> {
    for _ in 0..24 {
        let (rm, value) = block.small(15)?;
        let kind = block.bits(2);
        let amount = if block.chance(1, 3) { 0 } else { block.bits(5) };
        let (shift, offset) = if item.mode3 {
            (0, value)
        } else {
            (amount << 7 | kind << 5, shifted(value, kind, amount, block.carry)?)
        };
        let up = block.bits(1);
        let value =
            if up == 1 { offset.cast_signed() } else { offset.wrapping_neg().cast_signed() };
        let suits = |base: &u32| {
            let moved = base.wrapping_add_signed(value);
            block.fits(if post { *base } else { moved }, need)
        };
        if values.iter().all(suits) {
            let register = if item.mode3 { 0 } else { 1 << 25 };
            let field = register | up << 23 | shift | rm;
            return Some(Chosen { field, value, rm: Some(rm) });
        }
    }
    None
}

/// The value of a shift by a constant, as encoded; `None` for RRX with an unknown carry.
fn shifted(value: u32, kind: u32, amount: u32, carry: Option<bool>) -> Option<u32> {
    Some(match (kind, amount) {
        (0, _) => value << amount,
        (1, 0) => 0,
        (1, _) => value >> amount,
        (2, 0) => (value.cast_signed() >> 31).cast_unsigned(),
        (2, _) => (value.cast_signed() >> amount).cast_unsigned(),
        (_, 0) => value >> 1 | u32::from(carry?) << 31,
        _ => value.rotate_right(amount),
    })
}

fn swap(block: &mut Block<'_>, byte: bool) -> Option<u32> {
    let (condition, _) = condition(block);
    let (rn, values) = block.pointer(15)?;
    let size = if byte { 1 } else { 4 };
    let need = Need { size, align: size, load: false };
    let (rd, rm) = (block.free(15)?, block.below(15));
    if rm == rn || !values.iter().all(|&value| block.fits(value, need)) {
        return None;
    }
    let at = block.at();
    block.word(condition | 0x0100_0090 | u32::from(byte) << 22 | rn << 16 | rd << 12 | rm);
    Some(at)
}

/// The addressing mode of a block transfer.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    pub load: bool,
    pub up: bool,
    pub before: bool,
    pub writeback: bool,
}

impl Shape {
    /// The lowest address with `base` and `count` registers, as an offset.
    pub const fn lowest(self, count: u32) -> i32 {
        let bytes = (4 * count).cast_signed();
        match (self.up, self.before) {
            (true, false) => 0,
            (true, true) => 4,
            (false, false) => 4 - bytes,
            (false, true) => -bytes,
        }
    }

    /// The change of the base.
    pub const fn step(self, count: u32) -> i32 {
        let bytes = (4 * count).cast_signed();
        if self.up { bytes } else { -bytes }
    }

    /// The bits of the encoding.
    pub fn bits(self) -> u32 {
        0x0800_0000
            | u32::from(self.load) << 20
            | u32::from(self.writeback) << 21
            | u32::from(self.up) << 23
            | u32::from(self.before) << 24
    }
}

/// Whether all words of a block transfer fit.
pub fn block_fits(block: &Block<'_>, values: &[u32], shape: Shape, count: u32) -> bool {
    let need = Need { size: 4 * count, align: 4, load: shape.load };
    values.iter().all(|value| block.fits(value.wrapping_add_signed(shape.lowest(count)), need))
}

/// A register list, short or long. Loads may overwrite registers, occasionally pointers.
fn list(block: &mut Block<'_>, load: bool) -> u32 {
    let sparse = block.chance(1, 2);
    let mut list = block.bits(15);
    if sparse {
        list &= block.bits(15);
    }
    for n in 0..15 {
        if load && !block.is_free(n) && !block.chance(1, 12) {
            list &= !(1 << n);
        }
    }
    list
}

fn several(block: &mut Block<'_>, shape: Shape) -> Option<u32> {
    let (condition, always) = condition(block);
    let (rn, values) = block.pointer(15)?;
    let mut list = list(block, shape.load);
    let first = list.trailing_zeros();
    if shape.writeback && (shape.load || first != rn) {
        list &= !(1 << rn);
    }
    let count = list.count_ones();
    if count == 0 || !block_fits(block, &values, shape, count) {
        return None;
    }
    if shape.load {
        (0..15).filter(|n| list >> n & 1 != 0).for_each(|n| block.set_free(n));
    }
    if shape.writeback {
        block.moved(rn, shape.step(count), always);
    }
    let at = block.at();
    block.word(condition | shape.bits() | rn << 16 | list);
    Some(at)
}

/// LDM and STM of user registers, and an instruction after it that uses no banked register.
fn user_registers(block: &mut Block<'_>, load: bool) -> Option<u32> {
    if !block.has_spsr() || !block.with_banks() {
        return None;
    }
    let (condition, _) = condition(block);
    let (rn, values) = block.pointer(15)?;
    let (up, before) = (block.chance(1, 2), block.chance(1, 2));
    let shape = Shape { load, up, before, writeback: false };
    let list = list(block, false);
    let seen = if block.mode == 0x11 { 8 } else { 13 };
    let lost = |n: u32| load && list >> n & 1 != 0 && n < seen;
    let count = list.count_ones();
    if count == 0 || !block_fits(block, &values, shape, count) || !block.undivided(8) {
        return None;
    }
    if (0..15).any(|n| lost(n) && matches!(block.known[n as usize], Known::Pointer(_))) {
        return None;
    }
    (0..15).filter(|&n| lost(n)).for_each(|n| block.set_free(n));
    let at = block.at();
    block.word(condition | shape.bits() | 1 << 22 | rn << 16 | list);
    block.word(0xE1A0_0000);
    Some(at)
}
