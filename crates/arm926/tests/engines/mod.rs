//! The engines against the reference interpreter: after each stretch of the same program, the complete
//! states are equal.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

#[path = "../../examples/own_memory_map.rs"]
mod own_memory_map;
mod points;
mod program;
mod world;

#[cfg(feature = "compiler")]
use boardlab_arm926::Compiled;
use boardlab_arm926::{Cycles, Engine, Interpreter, Limit, Predecoded, Processor, Psr};
use boardlab_sim::{Seed, Stream};
use world::{Board, draw};

/// The whole state as bytes.
fn state(processor: &Processor<Board>) -> Vec<u8> {
    postcard::to_stdvec(processor).unwrap()
}

/// A limit at a random distance in cycles or instructions, often short.
fn limit(stream: &mut Stream, processor: &Processor<Board>) -> Limit {
    let reach = [3, 100, 600, 2000][draw(stream, 4) as usize];
    let ahead = 1 + stream.below(reach);
    if stream.chance(1, 2) {
        Limit::instructions(processor.counts.instructions + ahead)
    } else {
        Limit::cycles(Cycles(processor.now.0 + ahead))
    }
}

/// The differences of two cores.
fn differences(expected: &Processor<Board>, found: &Processor<Board>) -> String {
    let short = |core: &Processor<Board>| {
        format!(
            "{:?}\n{:?}\n{:?}\n{:?}\n{:?}\n",
            core.registers,
            core.pipeline,
            core.now,
            core.counts,
            core.memory.statistics()
        )
    };
    let memory = expected.bus.ram.bytes().iter().zip(found.bus.ram.bytes());
    let first = memory.enumerate().find(|(_, (a, b))| a != b).map(|(at, _)| at);
    format!(
        "expected {}found {}first byte of memory that differs: {first:x?}",
        short(expected),
        short(found)
    )
}

/// Runs a random program by the reference, and by `engine` alternating with the reference; returns the
/// instructions.
fn compare(seed: u64, engine: &mut impl Engine<Board>) -> u64 {
    let mut stream = Seed::new(seed).stream("engines");
    let (arm, thumb) = (program::arm(&mut stream), program::thumb(&mut stream));
    let mut expected = world::start(&mut stream, &arm, &thumb);
    let mut found = expected.clone();
    engine.forget();
    for stretch in 0..40 {
        if stream.chance(2, 3) {
            let (place, mode) =
                (program::target(&mut stream), [0x10, 0x1F, 0x13][draw(&mut stream, 3) as usize]);
            let bases: [u32; 7] =
                std::array::from_fn(|_| world::BACK + world::DATA + draw(&mut stream, 0x4000));
            for core in [&mut expected, &mut found] {
                world::go_on_at(core, place, mode, bases);
            }
        }
        let limit = limit(&mut stream, &expected);
        let stop = Interpreter.run(&mut expected, limit);
        let other = if stream.chance(1, 8) {
            Interpreter.run(&mut found, limit)
        } else {
            engine.run(&mut found, limit)
        };
        let place = format!("seed {seed}, stretch {stretch}");
        assert_eq!(stop, other, "{place}: {}", differences(&expected, &found));
        assert!(state(&expected) == state(&found), "{place}: {}", differences(&expected, &found));
    }
    expected.counts.instructions
}

/// The number of programs; larger in full runs.
fn programs() -> u64 {
    if std::env::var_os("BOARDLAB_FULL").is_some() { 20_000 } else { 100 }
}

#[test]
fn the_fast_engine_leaves_the_same_state_as_the_reference_at_any_instant() {
    let mut engine = Predecoded::new();
    let instructions: u64 = (0..programs()).map(|seed| compare(seed, &mut engine)).sum();
    let stepped = engine.stepped();
    eprintln!("{instructions} instructions, {stepped} of them by the reference");
    assert!(stepped * 10 < instructions * 9, "the fast engine ran hardly anything itself");
}

/// Accesses that miss, each before a branch that only takes cycles.
const MISSES: [u32; 8] = [
    0xE598_0000, // ldr r0, [r8]
    0xEAFF_FFFF, // b to the next one
    0xE489_0020, // str r0, [r9], #32
    0xEAFF_FFFF, // b to the next one
    0xE8BA_0006, // ldmia r10!, {r1, r2}
    0xEAFF_FFFF, // b to the next one
    0xE288_8024, // add r8, r8, #36
    0xEAFF_FFF7, // b to the start
];

/// Critical sections, with a line to clean between them. An interrupt often arrives within one.
const SECTIONS: [u32; 10] = [
    0xE10F_0000, // mrs r0, cpsr
    0xE380_1080, // orr r1, r0, #0x80
    0xE121_F001, // msr cpsr_c, r1
    0xE282_2020, // add r2, r2, #32
    0xE582_3000, // str r3, [r2]
    0xE121_F000, // msr cpsr_c, r0
    0xE283_3001, // add r3, r3, #1
    0xEE07_2F3A, // mcr p15, 0, r2, c7, c10, 1
    0xE284_4001, // add r4, r4, #1
    0xEAFF_FFF5, // b to the start
];

/// The same by constants, with registers of user mode stored and loaded in another mode between.
const CONSTANT_SECTIONS: [u32; 11] = [
    0xE321_F0DF, // msr cpsr_c, #0xdf
    0xE282_2040, // add r2, r2, #64
    0xE582_3000, // str r3, [r2]
    0xE321_F05F, // msr cpsr_c, #0x5f
    0xE283_3001, // add r3, r3, #1
    0xE321_F0D3, // msr cpsr_c, #0xd3
    0xE8C2_7FFF, // stmia r2, {r0-r14}^
    0xE8D2_7FFF, // ldmia r2, {r0-r14}^
    0xE321_F05F, // msr cpsr_c, #0x5f
    0xE284_4001, // add r4, r4, #1
    0xEAFF_FFF4, // b to the start
];

/// Thumb code that goes on in ARM code, where the reference executes some of the instructions.
const STATES: [u32; 12] = [
    0xE28F_1010, // add r1, pc, #16: the ARM code
    0xE28F_0001, // add r0, pc, #1: the Thumb code
    0xE12F_FF10, // bx r0
    0x4708_3201, // add r2, #1; bx r1
    0xE1A0_0000, // nop
    0xE1A0_0000, // nop
    0xE14F_3000, // mrs r3, spsr
    0xE10F_4000, // mrs r4, cpsr
    0xE129_F003, // msr cpsr_fc, r3
    0xE321_F012, // msr cpsr_c, #0x12
    0xE321_F01F, // msr cpsr_c, #0x1f
    0xEAFF_FFF3, // b to the start
];

/// Compares the engine with the reference after each few cycles of `code`, from system mode.
fn compare_closely(code: &[u32]) {
    let mut stream = Seed::new(7).stream("engines");
    let mut expected = world::start(&mut stream, code, &[]);
    expected.registers.set_cpsr(Psr(0x1F));
    let mut found = expected.clone();
    let mut engine = Predecoded::new();
    for stretch in 0..1_000 {
        let limit = Limit::cycles(expected.now.plus(20 + stretch % 41));
        Interpreter.run(&mut expected, limit);
        engine.run(&mut found, limit);
        assert!(state(&expected) == state(&found), "{}", differences(&expected, &found));
    }
}

#[test]
fn an_engine_stops_at_the_first_boundary_behind_an_access_that_waits_beyond_the_limit() {
    compare_closely(&MISSES);
}

#[test]
fn an_interrupt_enters_behind_the_instruction_that_permits_it() {
    compare_closely(&SECTIONS);
    compare_closely(&CONSTANT_SECTIONS);
}

#[test]
fn the_low_bits_of_the_base_of_a_block_transfer_change_nothing() {
    const CODE: [u32; 4] = [
        0xE898_003F, // ldmia r8, {r0-r5}
        0xE889_003F, // stmia r9, {r0-r5}
        0xE899_00FE, // ldmia r9, {r1-r7}
        0xEAFF_FFFB, // b to the start
    ];
    let run = |base: u32| {
        let mut core = world::start(&mut Seed::new(3).stream("words"), &CODE, &[]);
        core.registers.set_cpsr(Psr(0xDF));
        (core.registers.r[8], core.registers.r[9]) = (base, base + 0x100);
        // Twice, so that all lines have been filled at the end.
        Interpreter.run(&mut core, Limit::instructions(7));
        let memory = core.bus.ram.bytes().to_vec();
        (core.registers.r[..8].to_vec(), core.now, *core.memory.statistics(), memory)
    };
    for area in [world::BACK, world::THROUGH, world::UNCACHED] {
        for offset in (0..32).step_by(4) {
            let base = area + world::DATA + 0x40 + offset;
            let expected = run(base);
            for low in 1..4 {
                assert!(run(base + low) == expected, "base {base:#x} + {low}");
            }
        }
    }
}

#[test]
fn a_system_instruction_is_executed_in_the_state_of_its_code() {
    compare_closely(&STATES);
}

#[cfg(feature = "compiler")]
#[test]
fn compiled_code_leaves_the_same_state_as_the_reference_at_any_instant() {
    let mut engine = Compiled::with_threshold(1).verified();
    let instructions: u64 = (0..programs() / 10).map(|seed| compare(seed, &mut engine)).sum();
    eprintln!("{instructions} instructions, {} of them in compiled code", engine.executed());
    assert!(engine.executed() * 10 > instructions, "compiled code ran hardly anything itself");
}
