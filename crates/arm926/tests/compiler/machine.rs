//! The core for tests of compiled code: a megabyte of memory in four sections, one handler for all
//! exceptions.

use crate::rig::board::write_control;
use boardlab_arm926::Compiled;
use boardlab_arm926::{Config, Cycles, Engine, Interpreter, Limit, Processor, Ram, Waits};

const TABLE: u32 = 0x4000;
/// The address of the code.
pub(crate) const CODE: u32 = 0x8000;
const MEGABYTE: u32 = 0x10_0000;

/// Sections: cached and buffered, uncached, write-through, and read-only.
const SECTIONS: [u32; 4] = [0xC1E, 0xC12, 0xC1A, 0xC1E];

/// The handler of all exceptions: sets new bases and restarts the code.
fn handler(thumb: bool) -> Vec<u32> {
    let mut words = vec![
        0xE3A0_8801, // mov r8,#0x10000
        0xE388_9B01, // orr r9,r8,#0x400
        0xE388_AB02, // orr r10,r8,#0x800
        0xE38A_B601, // orr r11,r10,#0x100000
        0xE38A_C602, // orr r12,r10,#0x200000
        0xE388_DB03, // orr r13,r8,#0xc00
        0xE1A0_400D, // mov r4,r13
        0xE1A0_5008, // mov r5,r8
        0xE3A0_0902, // mov r0,#0x8000
        0xE3A0_3003, // mov r3,#3
    ];
    words.push(if thumb { 0xE280_0001 } else { 0xE1A0_0000 }); // add r0,#1, or nop
    words.push(0xE12F_FF10); // bx r0
    words
}

/// A core before its handler, with `code` in memory.
pub(crate) fn processor(code: &[u8], thumb: bool) -> Processor<Ram> {
    let mut ram = Ram::new(MEGABYTE as usize, Waits { first: 3, next: 1 });
    for vector in 0..8_u32 {
        // b 0x40
        ram.put(4 * vector as usize, &[0xEA00_000E - vector]);
    }
    ram.put(0x40, &handler(thumb));
    for (number, section) in (0..).zip(SECTIONS) {
        ram.put((TABLE + 4 * number) as usize, &[section]);
    }
    ram.bytes_mut()[CODE as usize..][..code.len()].copy_from_slice(code);
    let config = Config { semihosting: false, stop_without_handler: false, ..Config::default() };
    let mut processor = Processor::new(&config, ram);
    write_control(&mut processor, (2, 0), TABLE);
    write_control(&mut processor, (3, 0), 1);
    write_control(&mut processor, (1, 0), 0x0005_107D);
    processor.registers.pc = 0x40;
    processor
}

/// Writes the descriptor of section `number`.
pub(crate) fn put_section(processor: &mut Processor<Ram>, number: u32, section: u32) {
    processor.bus.put((TABLE + 4 * number) as usize, &[section]);
}

/// The difference of two processors, if any.
pub(crate) fn difference(a: &Processor<Ram>, b: &Processor<Ram>) -> Option<String> {
    let state = |processor: &Processor<Ram>| postcard::to_stdvec(processor).unwrap();
    let short = |p: &Processor<Ram>| {
        format!("{:?}\n{:?}\n{:?}\n{:?}", p.now, p.counts, p.registers, p.memory.statistics())
    };
    (state(a) != state(b)).then(|| format!("{}\n{}\n", short(a), short(b)))
}

/// Runs the compiler beside the reference and compares both after each of `steps` steps of so many cycles;
/// returns the compiler.
pub(crate) fn compare_steps(
    reference: &mut Processor<Ram>,
    (steps, cycles): (u64, u64),
) -> Compiled {
    let mut other = reference.clone();
    let mut engine = Compiled::with_threshold(1).verified();
    for step in 1..=steps {
        let limit = Limit::cycles(Cycles(cycles * step));
        let stop = Interpreter.run(reference, limit);
        assert_eq!(engine.run(&mut other, limit), stop);
        if let Some(difference) = difference(reference, &other) {
            panic!("step {step}: {difference}");
        }
    }
    engine
}
