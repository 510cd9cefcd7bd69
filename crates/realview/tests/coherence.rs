//! The coherence checker reports each kind of incoherence with its instruction and the missing
//! maintenance, and nothing where the maintenance is right.
use crate::guest;

use boardlab_arm926::Compiled;
use boardlab_arm926::Predecoded;
use boardlab_arm926::memory::check::{Stale, Violation};
use boardlab_arm926::{Config, Engine, Interpreter, Limit};
use boardlab_realview::{Board, Machine, Outcome, Program, Settings};

/// The program's output with all its maintenance.
const RIGHT: &str = "1271234567\n";

/// Runs `coherence.c` with one kind of maintenance left out; what it prints and what the checker finds, with the function.
fn run(
    fault: u32,
    check: bool,
    engine: impl Engine<Board> + Send + 'static,
) -> Option<(String, Vec<(Violation, String)>)> {
    let elf = guest::build_bytes("coherence.c", &[&format!("-DFAULT={fault}"), "-fno-inline"])?;
    let program = Program::parse(&elf).unwrap();
    let core = Config { check_coherence: check, ..Config::default() };
    let settings = Settings { core, ..Settings::default() };
    let mut machine = Machine::new(&settings).unwrap().with_engine(engine);
    machine.load(&program).unwrap();
    let outcome = machine.run(Limit::instructions(1_000_000));
    assert!(matches!(outcome, Outcome::Exit { code: 0, .. }), "{outcome}");
    let console = String::from_utf8(machine.take_console()).unwrap();
    let symbol = |pc| program.symbols.at(pc).map_or_else(String::new, |(at, _)| at.name.clone());
    let found = machine.processor().memory.violations();
    Some((console, found.iter().map(|&found| (found, symbol(found.pc))).collect()))
}

/// The kinds of incoherence found, and the functions in which they occurred.
fn kinds(found: &[(Violation, String)]) -> Vec<(&'static str, &str)> {
    let kind = |stale| match stale {
        Stale::InstructionNotCleaned(_) => "instruction not cleaned",
        Stale::InstructionNotInvalidated => "instruction not invalidated",
        Stale::DirtySynonym(_) => "dirty synonym",
        Stale::DataNotInvalidated => "data not invalidated",
        Stale::DescriptorNotCleaned(_) => "descriptor not cleaned",
        Stale::Translation(_) => "translation",
        Stale::Lost => "lost",
    };
    let mut kinds: Vec<_> =
        found.iter().map(|(found, place)| (kind(found.stale), place.as_str())).collect();
    kinds.dedup();
    kinds
}

#[test]
fn the_right_maintenance_is_not_reported() {
    let Some((console, found)) = run(0, true, Interpreter) else { return };
    assert_eq!(kinds(&found), []);
    assert_eq!(console, RIGHT);
}

#[test]
fn each_missing_operation_is_reported_where_it_strikes() {
    let cases = [
        (1, "instruction not cleaned", "code"),
        (2, "instruction not invalidated", "code"),
        (3, "dirty synonym", "synonym_part"),
        (4, "data not invalidated", "synonym_part"),
        (5, "descriptor not cleaned", "descriptor_part"),
        (6, "translation", "descriptor_part"),
        (7, "lost", "invalidate_part"),
        (8, "data not invalidated", "remap_part"),
        (9, "instruction not invalidated", ""),
    ];
    for (fault, kind, place) in cases {
        let Some((console, found)) = run(fault, true, Interpreter) else { return };
        let kinds = kinds(&found);
        assert!(kinds.contains(&(kind, place)), "fault {fault}: {kinds:?}, printed {console}");
        assert!(kinds.iter().all(|(other, _)| *other == kind), "fault {fault}: {kinds:?}");
        assert_ne!(console, RIGHT, "fault {fault} is one that the program feels");
    }
}

#[test]
fn the_checker_changes_no_result() {
    for fault in [0, 3] {
        let Some((with, _)) = run(fault, true, Interpreter) else { return };
        let Some((without, found)) = run(fault, false, Interpreter) else { return };
        assert_eq!(with, without);
        assert!(found.is_empty());
    }
}

#[test]
fn the_other_engines_find_the_same() {
    for fault in 0..10 {
        let Some(reference) = run(fault, true, Interpreter) else { return };
        let Some(fast) = run(fault, true, Predecoded::new()) else { return };
        assert_eq!(reference, fast, "fault {fault}");
        let Some(compiled) = run(fault, true, Compiled::with_threshold(1)) else { return };
        assert_eq!(reference, compiled, "fault {fault}");
    }
}
