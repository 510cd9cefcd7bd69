//! The classes of ARM branches, returns, and instructions that end a block.
//!
//! Branches go forward within the block. A branch that changes the state is always taken and skips no
//! target of another branch; the block continues in the new state.

use super::arm::condition;
use super::arm_memory::Shape;
use super::block::{Block, Known};
use super::classes::Class;

/// The classes that do not end a block.
pub fn classes() -> Vec<Class> {
    let mut classes = vec![
        Class::arm("B", |block| branch(block, false)),
        Class::arm("BL", |block| branch(block, true)),
        Class::arm("BX", |block| exchange(block, false)),
        Class::arm("BLX Register", |block| exchange(block, true)),
        Class::arm("BLX Immediate", to_thumb),
        Class::arm("ADD pc, pc", add_to_pc),
        Class::arm("MOV pc", move_to_pc),
        Class::arm("MOVS pc", return_by_move).often(7),
        Class::arm("LDR pc", load_pc),
        Class::arm("ADD address", address),
        Class::arm("MOV index", small_constant),
    ];
    for (n, mode) in (0..).zip(["DA", "IA", "DB", "IB"]) {
        for (user, sign) in [(false, ""), (true, "^")] {
            let name = format!("LDM{mode} pc{sign}");
            let make = move |block: &mut Block<'_>| load_several_and_pc(block, n, user);
            classes.push(Class::arm(&name, make).often(if user { 7 } else { 1 }));
        }
    }
    classes
}

/// The classes that end a block.
pub fn last_classes() -> Vec<Class> {
    let mut classes = vec![
        Class::arm("SWI", |block| end(block, 0x0F00_0000, 24)),
        Class::arm("BKPT", |block| {
            let comment = block.bits(16);
            always(block, 0xE120_0070 | (comment & 0xFFF0) << 4 | comment & 15)
        }),
        Class::arm("undefined: bit 4 of register offsets", |block| {
            let filler = block.bits(20) << 5 | block.bits(4);
            end_with(block, 0x0600_0010 | filler)
        }),
        Class::arm("undefined: MOVT and MOVW of later versions", |block| {
            let high = block.bits(1) << 22;
            end(block, 0x0300_0000 | high, 20)
        }),
        Class::arm("undefined: multiplies of later versions", |block| {
            let filler = (4 + block.below(4)) << 20 | block.bits(16) << 8 & 0xF_FF00;
            let rm = block.bits(4);
            end_with(block, filler | 9 << 4 | rm)
        }),
    ];
    let spaces: [(&str, u32); 4] = [
        ("undefined: LDC and STC", 0x0C00_0000),
        ("undefined: CDP", 0x0E00_0000),
        ("undefined: MCR and MRC", 0x0E00_0010),
        ("undefined: MCRR and MRRC", 0x0C40_0000),
    ];
    for (name, space) in spaces {
        classes.push(Class::arm(name, move |block| coprocessor(block, space)));
    }
    classes
}

fn branch(block: &mut Block<'_>, link: bool) -> Option<u32> {
    let (condition, _) = condition(block);
    let at = block.at();
    let offset = block.forward(4).wrapping_sub(block.pc()) >> 2 & 0x00FF_FFFF;
    if link {
        block.set_free(14);
    }
    block.word(condition | 5 << 25 | u32::from(link) << 24 | offset);
    Some(at)
}

/// ADD rm, pc, #distance: rm = `target` (at most 255 bytes ahead).
fn address_of(block: &mut Block<'_>, rm: u32, target: u32) {
    let distance = target - block.pc();
    assert!(distance < 256, "the target is near");
    block.word(0xE28F_0000 | rm << 12 | distance);
}

/// A target for a taken branch after `bytes` of instructions that may change the state.
fn landing(block: &mut Block<'_>, bytes: u32, thumb: bool) -> u32 {
    let gap = 2 * block.below(8);
    let target = block.at() + bytes + gap;
    if thumb { target } else { (target + 3) & !3 }
}

fn exchange(block: &mut Block<'_>, link: bool) -> Option<u32> {
    let rm = block.free(15)?;
    if !block.undivided(8) {
        return None;
    }
    let code = 0x012F_FF10 | u32::from(link) << 5 | rm;
    if link {
        block.set_free(14);
    }
    let switch = block.chance(1, 3) && block.settled();
    if switch {
        let target = landing(block, 8, true);
        address_of(block, rm, target | 1);
        let at = block.at();
        block.word(0xE000_0000 | code);
        block.go_on(target, true);
        return Some(at);
    }
    let (condition, _) = condition(block);
    let target = block.forward(8);
    address_of(block, rm, target);
    let at = block.at();
    block.word(condition | code);
    Some(at)
}

fn to_thumb(block: &mut Block<'_>) -> Option<u32> {
    if !block.settled() {
        return None;
    }
    let at = block.at();
    let target = landing(block, 4, true);
    let offset = target.wrapping_sub(block.pc());
    block.set_free(14);
    block.word(0xFA00_0000 | (offset >> 1 & 1) << 24 | offset >> 2 & 0x00FF_FFFF);
    block.go_on(target, true);
    Some(at)
}

fn add_to_pc(block: &mut Block<'_>) -> Option<u32> {
    let (condition, _) = condition(block);
    let at = block.at();
    let target = block.forward(8);
    let distance = target - block.pc();
    block.word(condition | 0x028F_F000 | distance);
    Some(at)
}

fn move_to_pc(block: &mut Block<'_>) -> Option<u32> {
    let rm = block.free(15)?;
    if !block.undivided(8) {
        return None;
    }
    let (condition, _) = condition(block);
    let target = block.forward(8);
    address_of(block, rm, target);
    let at = block.at();
    block.word(condition | 0x01A0_F000 | rm);
    Some(at)
}

/// Writes mode, state and carry for a return to the SPSR.
fn saved(block: &mut Block<'_>) -> Option<u32> {
    let spsr = block.spsr?;
    (block.with_banks() && block.has_spsr() && block.settled()).then_some(spsr)
}

fn returned(block: &mut Block<'_>, spsr: u32, target: u32) {
    block.enter(spsr & 31);
    block.carry = Some(spsr >> 29 & 1 != 0);
    block.go_on(target, spsr & 0x20 != 0);
}

/// MOVS pc, rm or SUBS pc, rm, #4.
fn return_by_move(block: &mut Block<'_>) -> Option<u32> {
    let spsr = saved(block)?;
    let rm = block.free(15)?;
    let target = landing(block, 8, spsr & 0x20 != 0);
    let (code, back) =
        if block.chance(1, 2) { (0xE1B0_F000 | rm, 0) } else { (0xE250_F004 | rm << 16, 4) };
    address_of(block, rm, target + back);
    let at = block.at();
    block.word(code);
    returned(block, spsr, target);
    Some(at)
}

/// The word for a branch by a load, and the target if the state changes.
fn loaded_target(block: &mut Block<'_>, bytes: u32) -> (u32, Option<u32>) {
    if block.chance(1, 3) && block.settled() {
        let target = landing(block, bytes, true);
        (target | 1, Some(target))
    } else {
        (block.forward(bytes), None)
    }
}

/// ADD rn, pc, #place; LDR pc, [rn].
fn load_pc(block: &mut Block<'_>) -> Option<u32> {
    let rn = block.free(15)?;
    let place = block.room(block.pc(), 1, 16, 0xFF0)?;
    if !block.undivided(8) {
        return None;
    }
    let distance = (place - block.pc()) >> 4;
    let (word, switch) = loaded_target(block, 8);
    block.put(place, &[word]);
    block.word(0xE28F_0E00 | rn << 12 | distance);
    let condition = if switch.is_some() { 14 << 28 } else { condition(block).0 };
    let at = block.at();
    block.word(condition | 0x0590_F000 | rn << 16);
    if let Some(target) = switch {
        block.go_on(target, true);
    }
    Some(at)
}

/// ADD rn, pc, #place; LDM rn, {..., pc}, with ^ as a return from an exception.
fn load_several_and_pc(block: &mut Block<'_>, mode: u32, user: bool) -> Option<u32> {
    let spsr = if user { Some(saved(block)?) } else { None };
    let rn = block.free(15)?;
    let writeback = block.chance(1, 2);
    let shape = Shape { load: true, up: mode & 1 != 0, before: mode & 2 != 0, writeback };
    let mut list = block.bits(15);
    list = (0..15).filter(|&n| block.is_free(n)).fold(0, |kept, n| kept | list & 1 << n);
    if writeback {
        list &= !(1 << rn);
    }
    let count = list.count_ones() + 1;
    let lowest = shape.lowest(count);
    let place = block.room(block.pc().wrapping_add_signed(lowest), count, 16, 0xF00)?;
    if !block.undivided(8) {
        return None;
    }
    let distance = place.wrapping_add_signed(-lowest) - block.pc();
    let (word, switch) = match spsr {
        Some(spsr) => {
            let target = landing(block, 8, spsr & 0x20 != 0);
            (target, Some(target))
        }
        None => loaded_target(block, 8),
    };
    let mut words: Vec<u32> = (1..count).map(|_| block.bits(32)).collect();
    words.push(word);
    block.put(place, &words);
    block.word(0xE28F_0E00 | rn << 12 | distance >> 4);
    let condition = if switch.is_some() { 14 << 28 } else { condition(block).0 };
    let at = block.at();
    block.word(condition | shape.bits() | u32::from(user) << 22 | rn << 16 | 1 << 15 | list);
    match (spsr, switch) {
        (Some(spsr), Some(target)) => returned(block, spsr, target),
        (None, Some(target)) => block.go_on(target, true),
        (_, None) => {}
    }
    Some(at)
}

/// ADD rd, pc, #distance: a new pointer.
fn address(block: &mut Block<'_>) -> Option<u32> {
    if !block.settled() || !block.wants_pointers() {
        return None;
    }
    let rd = block.free(15)?;
    let at = block.at();
    let distance = 0x30 + block.below(0x20);
    block.known[rd as usize] = Known::Pointer(vec![block.pc() + 16 * distance]);
    block.word(0xE28F_0E00 | rd << 12 | distance);
    Some(at)
}

/// MOV rd, #offset: a new offset.
fn small_constant(block: &mut Block<'_>) -> Option<u32> {
    if !block.settled() || !block.wants_offsets() {
        return None;
    }
    let rd = block.free(15)?;
    let at = block.at();
    let (value, rotation) = (4 * block.bits(6), if block.chance(1, 3) { block.bits(4) } else { 0 });
    block.known[rd as usize] = Known::Small(value.rotate_right(2 * rotation));
    block.word(0xE3A0_0000 | rd << 12 | rotation << 8 | value);
    Some(at)
}

/// With a condition; if it fails, the block ends normally.
fn end_with(block: &mut Block<'_>, code: u32) -> Option<u32> {
    let (condition, _) = condition(block);
    always(block, condition | code)
}

fn end(block: &mut Block<'_>, code: u32, free_bits: u32) -> Option<u32> {
    let filler = block.bits(free_bits);
    end_with(block, code | filler)
}

fn always(block: &mut Block<'_>, word: u32) -> Option<u32> {
    let at = block.at();
    block.word(word);
    Some(at)
}

/// A coprocessor that does not exist. 10 and 11 are Unicorn's floating point; 14 and 15 exist.
fn coprocessor(block: &mut Block<'_>, space: u32) -> Option<u32> {
    let number = [2, 3, 4, 5, 6, 7, 8, 9, 12, 13][block.below(10) as usize];
    let filler = block.bits(24) & 0x00FF_F0EF & !(space & 0x00F0_0000);
    let filler = match space {
        // Without P, U and W these bits are another instruction.
        0x0C00_0000 => filler | 1 << 23,
        0x0C40_0000 => filler & !0x00E0_0000,
        _ => filler,
    };
    end_with(block, space | number << 8 | filler)
}
