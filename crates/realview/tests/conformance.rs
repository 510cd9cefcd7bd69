//! Where QEMU and the hardware differ and a manual gives the value, the simulator follows the manual.
//!
//! `guests/conformance.c` prints one line for each row of [`ROWS`], here and on QEMU. QEMU's output
//! is checked as well, so that the table stays true; the table in docs/models/arm926-and-qemu.md is
//! compared with it. DDI 0198D is the manual of the ARM926EJ-S, DDI 0100E that of the architecture.
use crate::guest;

use std::io::Write as _;
use std::path::Path;

use boardlab_arm926::Limit;
use boardlab_realview::{Machine, Outcome, Program, Settings};

/// One observation: its name, what the manual says, where, and what QEMU 7.2 makes of it.
struct Row {
    name: &'static str,
    manual: u32,
    source: &'static str,
    qemu: u32,
}

const fn row(name: &'static str, manual: u32, qemu: u32, source: &'static str) -> Row {
    Row { name, manual, source, qemu }
}

const ROWS: [Row; 27] = [
    row("cache-type", 0x1D15_2152, 0x01DD_20D2, "DDI 0198D, c0: 16 KB, four ways, 32 bytes"),
    row(
        "reserved-bits-of-the-control-register",
        0x0005_0078,
        0x0009_0078,
        "DDI 0198D, c1: 18, 16 and 6 to 3 as one",
    ),
    row("load-of-an-unaligned-word", 0x1144_3322, 0x5544_3322, "DDI 0100E, LDR: rotated"),
    row("load-of-a-half-aligned-word", 0x2211_4433, 0x6655_4433, "DDI 0100E, LDR: rotated"),
    row("swap-of-an-unaligned-word", 0x3322_1144, 0, "DDI 0100E, SWP: rotated (QEMU aborts)"),
    row("store-of-an-unaligned-word", 0xDDCC_BBAA, 0xCCBB_AA11, "DDI 0100E, STR: low bits ignored"),
    row("word-behind-an-unaligned-store", 0x8877_6655, 0x8877_66DD, "DDI 0100E, STR"),
    row(
        "load-multiple-from-an-unaligned-base",
        0x4433_2211,
        0,
        "DDI 0100E, LDM: low bits ignored (QEMU aborts)",
    ),
    row("pc-with-a-shift-by-a-register", 12, 8, "ARM9 cores; unpredictable in DDI 0100E, A5.1"),
    row("pc-with-a-shift-by-a-constant", 8, 8, "DDI 0100E, A5.1"),
    row("stale-entry-after-pid-write", 0xA, 0xB, "DDI 0198D, c13, p. 2-34: nothing is flushed"),
    row("stale-entry-after-domain-write", 0xA, 0xB, "DDI 0198D, c3: checked at each access"),
    row("stale-entry-after-table-write", 0xA, 0xA, "DDI 0198D, c2: the TLB keeps what it has"),
    row("locked-entry-after-invalidate-all", 0xA, 0xB, "DDI 0198D, c10: locked entries stay"),
    row("locked-entry-after-invalidate-single", 0xB, 0xB, "DDI 0198D, c10: but not by address"),
    row("fetches-behind-pid-write", 0x42, 0x60, "DDI 0198D, c13, p. 2-34: two in the old slot"),
    row("fault-address-under-fcse", 0x0610_0000, 0x0010_0000, "DDI 0198D, c6: the MVA"),
    row("fault-status-under-fcse", 5, 5, "DDI 0198D, c5: translation of a section"),
    row("synonym-in-another-line", 0x11, 0x22, "DDI 0198D, 4.1: caches by virtual address"),
    row("memory-behind-a-dirty-line", 0x11, 0x22, "DDI 0198D, 4.1: write-back"),
    row("memory-behind-a-cleaned-line", 0x22, 0x22, "DDI 0198D, c7: clean"),
    row("walk-past-a-dirty-descriptor", 0xA, 0xB, "DDI 0198D, 3.3: walks read memory"),
    row("walk-after-cleaning-the-descriptor", 0xB, 0xB, "DDI 0198D, c7: clean"),
    row("code-without-invalidation", 1, 2, "DDI 0198D, 4.1: separate caches"),
    row("code-after-invalidation", 2, 2, "DDI 0198D, c7: invalidate"),
    row("code-without-cleaning", 2, 3, "DDI 0198D, 4.1: separate caches, write-back"),
    row(
        "test-and-clean-at-least-once-a-dirty-line",
        1,
        0,
        "DDI 0198D, c7, p. 2-24: one line cleaned each time",
    ),
];

/// Parses lines of the form `name 0xvalue`, in the order of the output; other lines are ignored.
fn parse(text: &str) -> Vec<(String, u32)> {
    let lines = text.lines().filter_map(|line| line.trim().split_once(" 0x"));
    lines
        .filter_map(|(name, value)| Some((name.to_string(), u32::from_str_radix(value, 16).ok()?)))
        .collect()
}

fn here(elf: &[u8]) -> Vec<(String, u32)> {
    let mut machine = Machine::new(&Settings::default()).unwrap();
    machine.load(&Program::parse(elf).unwrap()).unwrap();
    let outcome = machine.run(Limit::instructions(10_000_000));
    let console = String::from_utf8(machine.take_console()).unwrap();
    assert!(matches!(outcome, Outcome::Exit { code: 0, .. }), "{outcome}: {console}");
    parse(&console)
}

/// A value as the page shows it.
fn shown(value: u32) -> String {
    if value < 0x1000 { format!("{value:#x}") } else { format!("{value:#010x}") }
}

/// A row as the page shows it.
fn line(row: &Row) -> String {
    let name = row.name.replace('-', " ");
    format!("| {name} | {} | {} | {} |", shown(row.manual), shown(row.qemu), row.source)
}

#[test]
fn what_a_manual_defines_is_so_here_and_what_qemu_does_is_as_the_page_says() {
    let Some(elf) = guest::build("conformance.c", &[]) else { return };
    let ours = here(&std::fs::read(&elf).unwrap());
    let Some(output) = guest::qemu(&elf, &[]) else { return };
    let text = [output.stdout, output.stderr].concat();
    let theirs = parse(&String::from_utf8_lossy(&text));
    let mut out = std::io::stderr().lock();
    writeln!(out, "{:42} {:>10} {:>10} {:>10}", "", "manual", "here", "QEMU").unwrap();
    for (row, (_, value)) in ROWS.iter().zip(&ours) {
        let qemu = theirs.iter().find(|(name, _)| name == row.name).map_or(0, |found| found.1);
        let (manual, value, qemu) = (shown(row.manual), shown(*value), shown(qemu));
        writeln!(out, "{:42} {manual:>10} {value:>10} {qemu:>10}", row.name).unwrap();
    }
    let of = |value: fn(&Row) -> u32| -> Vec<(String, u32)> {
        ROWS.iter().map(|row| (row.name.to_string(), value(row))).collect()
    };
    assert_eq!(ours, of(|row| row.manual), "the manual's values");
    assert_eq!(theirs, of(|row| row.qemu), "what the table says of QEMU");
}

#[test]
fn the_page_about_qemu_shows_the_same_table() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/models/arm926-and-qemu.md");
    let page = std::fs::read_to_string(page).unwrap();
    for row in &ROWS {
        assert!(page.contains(&line(row)), "the page lacks or differs in:\n{}", line(row));
    }
}
