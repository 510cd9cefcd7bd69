//! The classes of Thumb branches, and of instructions that end a block.
//!
//! As in ARM code, branches go forward within the block. A BL is generated only as a pair of
//! half-words, which Unicorn treats as one instruction.

use super::block::Block;
use super::classes::Class;
use super::thumb::emit;

/// The classes that do not end a block.
pub fn classes() -> Vec<Class> {
    vec![
        Class::thumb("B", branch),
        Class::thumb("B conditional", branch_conditionally),
        Class::thumb("BL", branch_and_link),
        Class::thumb("BLX Immediate", to_arm),
        Class::thumb("BX", |block| exchange(block, Exchange::Plain)),
        Class::thumb("BLX Register", |block| exchange(block, Exchange::Link)),
        Class::thumb("MOV pc", |block| exchange(block, Exchange::Move)),
        Class::thumb("POP pc", pop_pc),
    ]
}

/// The classes that end a block.
pub fn last_classes() -> Vec<Class> {
    let ends: [(&str, u32, u32); 6] = [
        ("SWI", 0xDF00, 8),
        ("BKPT", 0xBE00, 8),
        ("undefined: condition 14", 0xDE00, 8),
        ("undefined: extensions of later versions", 0xB200, 8),
        ("undefined: reversals of later versions", 0xBA00, 8),
        ("undefined: endianness of later versions", 0xB650, 3),
    ];
    let class = |(name, code, count): (&str, u32, u32)| {
        Class::thumb(name, move |block| {
            let filler = block.bits(count);
            emit(block, code | filler)
        })
    };
    ends.into_iter().map(class).collect()
}

fn branch(block: &mut Block<'_>) -> Option<u32> {
    let offset = block.forward(2).wrapping_sub(block.pc()) >> 1 & 0x7FF;
    emit(block, 0xE000 | offset)
}

fn branch_conditionally(block: &mut Block<'_>) -> Option<u32> {
    let condition = block.below(14);
    let offset = block.forward(2).wrapping_sub(block.pc()) >> 1 & 0xFF;
    emit(block, 0xD000 | condition << 8 | offset)
}

/// Both halves of BL or BLX to `target`.
fn long_branch(block: &mut Block<'_>, target: u32, suffix: u32, from: u32) -> Option<u32> {
    let offset = target.wrapping_sub(from);
    block.set_free(14);
    let at = emit(block, 0xF000 | offset >> 12 & 0x7FF);
    block.half(suffix | offset >> 1 & 0x7FF);
    at
}

fn branch_and_link(block: &mut Block<'_>) -> Option<u32> {
    if !block.undivided(4) {
        return None;
    }
    let from = block.pc();
    let target = block.forward(4);
    long_branch(block, target, 0xF800, from)
}

fn to_arm(block: &mut Block<'_>) -> Option<u32> {
    if !block.settled() {
        return None;
    }
    let target = (block.at() + 4 + 2 * block.below(6) + 3) & !3;
    let from = block.pc() & !3;
    let at = long_branch(block, target, 0xE800, from);
    block.go_on(target, false);
    at
}

/// The use of a register's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exchange {
    Plain,
    Link,
    Move,
}

/// ADD rm, PC, #n (and ADD rm, #1 to stay in Thumb state); then BX, BLX or MOV pc.
fn exchange(block: &mut Block<'_>, kind: Exchange) -> Option<u32> {
    let rm = block.free(8)?;
    let switch = kind != Exchange::Move && block.chance(1, 2) && block.settled();
    let bytes = if switch || kind == Exchange::Move { 4 } else { 6 };
    if !block.undivided(bytes) {
        return None;
    }
    let target = (block.at() + bytes + 2 * block.below(6) + 3) & !3;
    let distance = target - (block.pc() & !3);
    block.half(0xA000 | rm << 8 | distance >> 2);
    if bytes == 6 {
        block.half(0x3001 | rm << 8);
        block.carry = None;
    }
    if kind == Exchange::Link {
        block.set_free(14);
    }
    let code = match kind {
        Exchange::Plain => 0x4700,
        Exchange::Link => 0x4780,
        Exchange::Move => 0x4687,
    };
    let at = emit(block, code | rm << 3);
    if switch {
        block.go_on(target, false);
    } else {
        block.branch_to(target);
    }
    at
}

/// ADD r, PC, #n; MOV SP, r; POP {..., PC}.
fn pop_pc(block: &mut Block<'_>) -> Option<u32> {
    let rm = block.free(8)?;
    let list = block.bits(8);
    let list = (0..8).filter(|&n| block.is_free(n)).fold(0, |kept, n| kept | list & 1 << n);
    let count = list.count_ones() + 1;
    let place = block.room(block.pc() & !3, count, 4, 1020)?;
    if !block.undivided(6) {
        return None;
    }
    let switch = block.chance(1, 3) && block.settled();
    let (word, target) = if switch {
        let target = (block.at() + 6 + 2 * block.below(6) + 3) & !3;
        (target, Some(target))
    } else {
        (block.forward(6) | 1, None)
    };
    let mut words: Vec<u32> = (1..count).map(|_| block.bits(32)).collect();
    words.push(word);
    block.put(place, &words);
    let distance = (place - (block.pc() & !3)) >> 2;
    block.half(0xA000 | rm << 8 | distance);
    block.half(0x4685 | rm << 3);
    block.set_free(13);
    let at = emit(block, 0xBD00 | list);
    if let Some(target) = target {
        block.go_on(target, false);
    }
    at
}
