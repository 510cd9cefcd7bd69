//! Random programs in the reference and in the compiler: all state is equal at each stop.
#![allow(clippy::unwrap_used, clippy::cast_possible_truncation, reason = "tests")]

mod changed;
mod evicted;
mod lowering;
mod machine;

use boardlab_arm926::Compiled;
use boardlab_arm926::Predecoded;
use boardlab_arm926::{Cycles, Engine, Interpreter, Limit, Psr, Ram, Stop};
use boardlab_sim::{Seed, Stream};
use machine::{difference, processor};

/// A word of ARM code that uses registers 0 to 7, with bases in 8 to 13, or jumps within the code.
fn arm_word(stream: &mut Stream, at: u32, count: u32) -> u32 {
    let condition = if stream.chance(1, 3) { stream.below(15) as u32 } else { 14 } << 28;
    let random = stream.next_u64() as u32;
    let (rd, rn, rm) = (random & 7, random >> 3 & 7, random >> 6 & 7);
    let base = 8 + (random >> 9) % 6;
    let word = match stream.below(20) {
        0..=6 => random & 0x03F0_0FF0 & !0x90 | rd << 12 | rn << 16 | rm,
        7 => random & 0x01F0_0F60 | 0x10 | rd << 12 | rn << 16 | rm,
        8..=11 => 0x0400_0000 | random & 0x01D0_001C | base << 16 | rd << 12,
        12 => 0x0600_0000 | random & 0x01D0_0000 | base << 16 | rd << 12 | 0x0420 | 3,
        13 => 0x0140_0090 | random & 0x0190_0064 | base << 16 | (rd & 6) << 12,
        14 => 0x0800_0000 | random & 0x01B0_00FF | base << 16 | 1,
        15 => 0x0000_0090 | random & 0x00F0_0000 | rd << 16 | rn << 12 | rm << 8 | rn,
        16 => 0x0100_0080 | random & 0x0060_0060 | rd << 16 | rn << 12 | rm << 8 | rn,
        17 => 0x016F_0F10 | rd << 12 | rm,
        18 => {
            let target = stream.below(u64::from(count)) as u32;
            let link = random & 0x0100_0000;
            0x0A00_0000 | link | target.wrapping_sub(at + 2) & 0x00FF_FFFF
        }
        _ => match random >> 28 {
            0 => return random,
            1..=4 => 0x012F_FF1E,
            5..=7 => 0x01A0_F00E,
            _ => 0x0100_0050 | random & 0x0060_0000 | rd << 12 | rn << 16 | rm,
        },
    };
    condition | word
}

fn arm_program(stream: &mut Stream) -> Vec<u8> {
    let count = 40 + stream.below(100) as u32;
    let mut words: Vec<u32> = (0..count).map(|at| arm_word(stream, at, count)).collect();
    words.push(0xEA00_0000 | 0u32.wrapping_sub(count + 2) & 0x00FF_FFFF);
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn thumb_program(stream: &mut Stream) -> Vec<u8> {
    let count = 60 + stream.below(200) as u32;
    let mut halves = Vec::new();
    for at in 0..count {
        let random = stream.next_u64() as u32;
        let back = stream.below(u64::from(count)) as u32;
        let half = match stream.below(12) {
            0..=4 => random & 0x5FFF,
            5 => 0x4000 | random & 0x3FF,
            6 => 0x6000 | random & 0x1FC7 | (4 + (random >> 9 & 1)) << 3,
            7 => 0x9000 | random & 0x0FFF,
            8 => 0xB400 | random & 0x08FF,
            9 => 0xD000 | ((random & 0xFFF) % 0xE00) & 0xF00 | back.wrapping_sub(at + 2) & 0xFF,
            10 if random & 1 != 0 => 0xF7FF,
            10 => 0xF800 | (random >> 4 & 0x7F) << 1,
            _ if random & 7 == 0 => random & 0xFFFF,
            _ => 0x8000 | random & 0x1FC7 | 5 << 3,
        };
        halves.push(half);
    }
    halves.push(0xE000 | 0u32.wrapping_sub(count + 2) & 0x7FF);
    halves.iter().flat_map(|&half| (half as u16).to_le_bytes()).collect()
}

/// Runs both in pieces and compares after each.
fn compare(seed: u64, thumb: bool, cycles: u64) -> usize {
    let mut stream = Seed::new(seed).stream("compiler");
    let code = if thumb { thumb_program(&mut stream) } else { arm_program(&mut stream) };
    let mut reference = processor(&code, thumb);
    reference.bus.irq_from = Cycles(stream.below(2 * cycles));
    if stream.chance(1, 2) {
        reference.registers.set_cpsr(Psr(0x5F));
    }
    let mut other = reference.clone();
    let mut engine = Compiled::with_threshold(stream.below(3) as u32).verified();
    while reference.now.0 < cycles {
        let limit = match stream.below(4) {
            0 => Limit::instructions(reference.counts.instructions + 1 + stream.below(50)),
            1 => Limit::cycles(reference.now.plus(1 + stream.below(300))),
            2 => Limit::instructions(reference.counts.instructions + stream.below(5000)),
            _ => Limit::cycles(reference.now.plus(stream.below(20_000))),
        };
        let from = reference.now;
        let stop = Interpreter.run(&mut reference, limit);
        assert_eq!(engine.run(&mut other, limit), stop, "seed {seed}");
        if let Some(difference) = difference(&reference, &other) {
            panic!("seed {seed} thumb {thumb}, from {from:?} {limit:?}: {difference}");
        }
        if stop != Stop::Limit {
            break;
        }
    }
    engine.size().0
}

fn compare_all(thumb: bool) {
    let count = if std::env::var_os("BOARDLAB_FULL").is_some() { 2000 } else { 20 };
    let regions: usize = (0..count).map(|seed| compare(seed, thumb, 60_000)).sum();
    assert!(regions as u64 > 2 * count, "{regions} regions");
}

#[test]
fn random_arm_programs_go_as_in_the_reference() {
    compare_all(false);
}

#[test]
fn random_thumb_programs_go_as_in_the_reference() {
    compare_all(true);
}

#[test]
fn an_engine_that_changes_between_cores_untold_leaves_the_same_state_in_both() {
    let mut engines: [Box<dyn Engine<Ram>>; 2] =
        [Box::new(Predecoded::new()), Box::new(Compiled::with_threshold(1).verified())];
    for engine in &mut engines {
        let mut stream = Seed::new(5).stream("cores");
        // Other code at the same addresses.
        let mut references = [(); 2].map(|()| processor(&arm_program(&mut stream), false));
        let mut others = references.clone();
        for turn in 1..20 {
            for (reference, other) in references.iter_mut().zip(&mut others) {
                let limit = Limit::cycles(Cycles(turn * 1500));
                assert_eq!(Interpreter.run(reference, limit), engine.run(other, limit));
                assert_eq!(difference(reference, other), None, "turn {turn}");
            }
        }
    }
}
