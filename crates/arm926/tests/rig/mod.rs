//! A core on 64 KiB of plain memory, and instructions by their text.
//!
//! [`arm`] and [`thumb`] look up the instructions of a test in the table in encodings.rs, which
//! `the_table_is_what_the_assembler_makes` (tests/execute.rs) compares with the GNU assembler.

pub(crate) mod board;
pub(crate) mod encodings;

use boardlab_arm926::{Config, Limit, Mode, Processor, Psr, Ram, Stop, Waits};
use encodings::{ARM, THUMB};

/// Where the programs of the tests lie.
pub(crate) const PROGRAM: u32 = 0x1000;

/// Where their data lie.
pub(crate) const DATA: u32 = 0x4000;

/// Bytes of memory; beyond it every access is an external abort.
pub(crate) const SIZE: u32 = 0x1_0000;

/// Words of ARM instructions, separated by `; `.
pub(crate) fn arm(text: &str) -> Vec<u32> {
    let find = |line: &str| ARM.iter().find(|(known, _)| *known == line).map(|&(_, word)| word);
    text.split("; ").map(|line| find(line).unwrap_or_else(|| panic!("no ARM {line}"))).collect()
}

/// Half-words of Thumb instructions, separated by `; `.
pub(crate) fn thumb(text: &str) -> Vec<u16> {
    let find = |line: &str| THUMB.iter().find(|(known, _)| *known == line).map(|&(_, half)| half);
    text.split("; ").map(|line| find(line).unwrap_or_else(|| panic!("no Thumb {line}"))).collect()
}

/// A core in supervisor mode with interrupts masked, before the program `words`.
pub(crate) fn core(words: &[u32]) -> Processor<Ram> {
    let config = Config { stop_without_handler: false, ..Config::default() };
    let mut core = Processor::new(&config, Ram::new(SIZE as usize, Waits::default()));
    core.bus.put(PROGRAM as usize, words);
    core.registers.pc = PROGRAM;
    core
}

/// As [`core`], in Thumb state.
pub(crate) fn core_in_thumb(halves: &[u16]) -> Processor<Ram> {
    let mut core = core(&[]);
    put_halves(&mut core, PROGRAM, halves);
    core.registers.set_thumb(true);
    core
}

/// Writes a Thumb program.
pub(crate) fn put_halves(core: &mut Processor<Ram>, at: u32, halves: &[u16]) {
    for (place, half) in core.bus.bytes_mut()[at as usize..].chunks_exact_mut(2).zip(halves) {
        place.copy_from_slice(&half.to_le_bytes());
    }
}

/// The word in memory at `at`.
pub(crate) fn word(core: &Processor<Ram>, at: u32) -> u32 {
    let at = at as usize;
    u32::from_le_bytes(core.bus.bytes()[at..at + 4].try_into().unwrap())
}

/// Executes `count` instructions.
pub(crate) fn run(core: &mut Processor<Ram>, count: u64) {
    let to = core.counts.instructions + count;
    assert_eq!(core.run(Limit::instructions(to)), Stop::Limit);
}

/// The flags N, Z, C, V as a number.
pub(crate) fn nzcv(core: &Processor<Ram>) -> u32 {
    core.registers.cpsr().0 >> 28
}

/// Switches to `mode` and keeps the other status bits.
pub(crate) fn enter(core: &mut Processor<Ram>, mode: Mode) {
    let status = core.registers.cpsr().0 & !31 | mode.bits();
    core.registers.set_cpsr(Psr(status));
}
