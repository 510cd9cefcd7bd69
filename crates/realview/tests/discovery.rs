//! A guest program determines the parameters of caches and TLB from timing alone, on machines that it
//! does not know.
//!
//! `guests/discovery.c` describes the method. The same program runs on QEMU, which has no caches:
//! there it must end, and its results have no meaning.
use crate::guest;

use std::collections::BTreeMap;
use std::num::NonZeroU8;

use boardlab_arm926::address::Cycles;
use boardlab_arm926::config::{CacheSize, Config, TlbIndex, TlbReplacement};
use boardlab_arm926::{Limit, Waits};
use boardlab_realview::{Machine, Outcome, Program, Settings};

/// Ten seconds of the core's time.
const LIMIT: Limit = Limit::cycles(Cycles(2_000_000_000));

/// The parameters of a core, with cache sizes in KiB.
#[derive(Debug, Clone, Copy)]
struct Core {
    instruction: u32,
    data: u32,
    index: TlbIndex,
    replacement: TlbReplacement,
    bus_ratio: u8,
    /// Wait states of a read of the SDRAM.
    waits: u16,
}

/// Runs the program, built with `flags`, and returns its results by name.
fn discover(core: Core, flags: &[&str]) -> Option<BTreeMap<String, u32>> {
    let elf = guest::build_bytes("discovery.c", flags)?;
    let mut settings = Settings::default();
    settings.timing.read = Waits { first: core.waits, next: 0 };
    settings.core = Config {
        instruction_cache: CacheSize::from_kib(core.instruction).unwrap(),
        data_cache: CacheSize::from_kib(core.data).unwrap(),
        tlb_index: core.index,
        tlb_replacement: core.replacement,
        bus_ratio: NonZeroU8::new(core.bus_ratio).unwrap(),
        ..settings.core
    };
    let mut machine = Machine::new(&settings).unwrap();
    machine.load(&Program::parse(&elf).unwrap()).unwrap();
    let outcome = machine.run(LIMIT);
    let text = String::from_utf8(machine.take_console()).unwrap();
    assert!(matches!(outcome, Outcome::Exit { code: 0, .. }), "{outcome}\n{text}");
    Some(numbers(&text))
}

/// Parses lines of a name and a number.
fn numbers(text: &str) -> BTreeMap<String, u32> {
    let pairs = text.lines().map(|line| line.rsplit_once(' ').unwrap());
    pairs.map(|(name, number)| (name.to_owned(), number.parse().unwrap())).collect()
}

fn check(core: Core, flags: &[&str]) {
    let Some(found) = discover(core, flags) else { return };
    let expected = [
        ("data line", 32),
        ("data size", core.data << 10),
        ("data ways", 4),
        ("instruction line", 32),
        ("instruction size", core.instruction << 10),
        ("instruction ways", 4),
        ("tlb entries", 64),
        ("tlb lockable", 8),
    ];
    let expected = expected.map(|(name, number)| (name.to_owned(), number));
    assert_eq!(found, BTreeMap::from(expected), "{core:?} {flags:?}");
}

const USUAL: Core = Core {
    instruction: 16,
    data: 16,
    index: TlbIndex::Low,
    replacement: TlbReplacement::RoundRobin,
    bus_ratio: 2,
    waits: 6,
};

#[test]
fn the_usual_core_is_found() {
    check(USUAL, &[]);
}

#[test]
fn the_usual_core_is_found_when_caches_replace_by_turn_and_write_through() {
    check(USUAL, &["-DROUND_ROBIN", "-DWRITE_THROUGH"]);
}

#[test]
fn the_smallest_caches_are_found() {
    check(Core { instruction: 4, data: 4, ..USUAL }, &["-DROUND_ROBIN"]);
}

#[test]
fn the_largest_caches_are_found_with_slow_memory() {
    check(
        Core { instruction: 128, data: 128, bus_ratio: 4, waits: 20, ..USUAL },
        &["-DWRITE_THROUGH"],
    );
}

#[test]
fn caches_of_two_sizes_are_told_apart() {
    check(Core { instruction: 16, data: 8, ..USUAL }, &[]);
    check(Core { instruction: 32, data: 64, ..USUAL }, &["-DROUND_ROBIN"]);
}

#[test]
fn a_tlb_is_found_whatever_its_index_and_replacement_are() {
    let index = TlbIndex::Folded;
    check(Core { instruction: 8, data: 32, index, ..USUAL }, &[]);
    let replacement = TlbReplacement::PseudoRandom;
    check(Core { replacement, ..USUAL }, &["-DROUND_ROBIN"]);
    check(Core { instruction: 4, data: 128, index, replacement, bus_ratio: 1, waits: 0 }, &[]);
}

#[test]
fn the_same_program_comes_to_its_end_on_qemu() {
    let Some(elf) = guest::build("discovery.c", &[]) else { return };
    let output = guest::qemu(&elf, &[]);
    std::fs::remove_file(elf).unwrap();
    let Some(output) = output else { return };
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.rsplit_once(' ')).map(|(name, _)| name).collect();
    assert!(names.contains(&"data size") && names.contains(&"tlb lockable"), "{text}");
}
