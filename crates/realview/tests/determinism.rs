//! A run has the same hash, output and state when it is repeated, continued from a snapshot at any
//! instruction, or executed by another engine.
use crate::guest;

use boardlab_arm926::Compiled;
use boardlab_arm926::Predecoded;
use boardlab_arm926::{Config, Interpreter, Limit};
use boardlab_realview::{Card, Error, Machine, Medium, Outcome, Program, Settings};
use boardlab_sim::{Bytes, Seed, Stream};

const TYPED: &[u8] = b" typed.";

type Choice = (&'static str, fn(&mut Machine));

const ENGINES: [Choice; 3] = [
    ("interpreter", |machine| machine.set_engine(Interpreter)),
    ("fast", |machine| machine.set_engine(Predecoded::new())),
    ("compiled", |machine| machine.set_engine(Compiled::with_threshold(20))),
];

/// Programs that use caches, the MMU, and all devices with their interrupts.
const PROGRAMS: [(&str, &[&str]); 3] =
    [("board.c", &[]), ("board.c", &["-mthumb-interwork", "-O1"]), ("hello.c", &[])];

fn machine(elf: &[u8]) -> Machine {
    let mut machine = silent(elf);
    machine.push_input(0, TYPED);
    machine
}

/// A machine without input.
fn silent(elf: &[u8]) -> Machine {
    let settings = Settings { memory: Bytes::mib(4), ..Settings::default() };
    let mut machine = Machine::new(&settings).unwrap();
    machine.load(&Program::parse(elf).unwrap()).unwrap();
    machine.insert_card(Card::new(Medium::empty(Bytes::mib(4)).unwrap(), false).unwrap());
    machine
}

#[derive(Debug, PartialEq, Eq)]
struct End {
    outcome: Outcome,
    console: String,
    instructions: u64,
    cycles: u64,
    hash: u64,
}

/// Runs to the end and returns the final state as well.
fn end(machine: &mut Machine) -> (End, Vec<u8>) {
    let outcome = machine.run(Limit::instructions(20_000_000));
    assert!(matches!(outcome, Outcome::Exit { .. }), "{outcome}");
    let state = machine.snapshot().unwrap();
    let console = String::from_utf8(machine.take_console()).unwrap();
    let instructions = machine.processor().counts.instructions;
    let (cycles, hash) = (machine.now().0, machine.trace_hash());
    (End { outcome, console, instructions, cycles, hash }, state)
}

fn random(name: &str) -> Stream {
    let seed = std::env::var("BOARDLAB_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(1);
    eprintln!("BOARDLAB_SEED={seed}");
    Seed::new(seed).stream(name)
}

#[test]
fn a_run_is_the_same_again_and_in_each_engine() {
    for (name, flags) in PROGRAMS {
        let Some(elf) = guest::build_bytes(name, flags) else { return };
        let expected = end(&mut machine(&elf));
        for (engine, set) in ENGINES {
            let mut again = machine(&elf);
            set(&mut again);
            let found = end(&mut again);
            assert_eq!(found.0, expected.0, "{name} in {engine}");
            assert!(found.1 == expected.1, "{name} in {engine}: the states differ");
        }
    }
}

#[test]
fn a_snapshot_at_any_instruction_goes_on_as_the_run_would_have() {
    let Some(elf) = guest::build_bytes("board.c", &[]) else { return };
    let (expected, _) = end(&mut machine(&elf));
    let mut random = random("snapshots");
    let points = (0..40).map(|_| random.below(expected.instructions));
    let mut points: Vec<u64> = points.chain(100..120).collect();
    points.sort_unstable();
    let mut first = machine(&elf);
    for (index, point) in points.into_iter().enumerate() {
        first.run(Limit::instructions(point));
        let saved = first.snapshot().unwrap();
        let mut restored = Machine::restore(&saved).unwrap();
        assert!(restored.snapshot().unwrap() == saved, "saved again at {point}");
        let (engine, set) = ENGINES[index % ENGINES.len()];
        set(&mut restored);
        let (found, _) = end(&mut restored);
        assert_eq!(found, expected, "restored at {point} in {engine}");
    }
}

#[test]
fn engines_take_turns_and_limits_are_met_exactly() {
    let Some(elf) = guest::build_bytes("board.c", &[]) else { return };
    let (expected, state) = end(&mut machine(&elf));
    let mut random = random("turns");
    let mut turns = machine(&elf);
    let mut at = 0;
    loop {
        let (_, set) = ENGINES[usize::try_from(random.below(3)).unwrap()];
        set(&mut turns);
        at += 1 + random.below(20_000);
        let outcome = turns.run(Limit::instructions(at));
        if outcome != Outcome::Limit {
            break;
        }
        assert_eq!(turns.processor().counts.instructions, at);
    }
    let (found, found_state) = end(&mut turns);
    assert_eq!(found, expected);
    assert!(found_state == state, "the states differ");
}

#[test]
fn typing_wakes_a_program_that_sleeps_at_the_same_cycle_in_each_engine() {
    let Some(elf) = guest::build_bytes("board.c", &[]) else { return };
    let ends = ENGINES.map(|(engine, set)| {
        let mut machine = silent(&elf);
        set(&mut machine);
        let limit = Limit::instructions(20_000_000);
        for _ in 0..3 {
            assert_eq!(machine.run(limit), Outcome::Asleep, "{engine}");
        }
        for byte in TYPED {
            assert_eq!(machine.run(limit), Outcome::Asleep, "{engine}");
            machine.push_input(0, &[*byte]);
        }
        end(&mut machine).0
    });
    assert_eq!(ends[0], ends[1]);
    assert_eq!(ends[0], ends[2]);
    assert!(ends[0].console.contains("received: yped."), "{}", ends[0].console);
}

#[test]
fn another_time_on_the_line_is_another_hash() {
    let Some(elf) = guest::build_bytes("board.c", &[]) else { return };
    let (expected, _) = end(&mut machine(&elf));
    let mut other = machine(&elf);
    other.processor_mut().now.0 += 1;
    assert_ne!(end(&mut other).0.hash, expected.hash);
}

#[test]
fn truncated_and_damaged_snapshots_and_other_versions_are_refused() {
    let Some(elf) = guest::build_bytes("hello.c", &[]) else { return };
    let mut machine = machine(&elf);
    machine.run(Limit::instructions(1_000));
    let saved = machine.snapshot().unwrap();
    let refused = |bytes: &[u8]| Machine::restore(bytes).unwrap_err();
    let mut random = random("damage");
    let lengths = (0..100).map(|_| random.below(Bytes::of(&saved).get()));
    for length in lengths.chain(0..30) {
        let cut = &saved[..usize::try_from(length).unwrap()];
        let error = refused(cut);
        let expected = if length < 8 {
            matches!(error, Error::NotSnapshot)
        } else {
            matches!(error, Error::SnapshotLength { .. })
        };
        assert!(expected, "{length}: {error}");
    }
    for _ in 0..200 {
        let mut damaged = saved.clone();
        let at = usize::try_from(random.below(Bytes::of(&saved).get())).unwrap();
        damaged[at] ^= 1 << random.below(8);
        refused(&damaged);
    }
    let mut other = saved.clone();
    other[8] += 1;
    assert!(matches!(refused(&other), Error::SnapshotVersion { .. }));
    let longer = [&saved[..], &[0]].concat();
    assert!(matches!(refused(&longer), Error::SnapshotLength { .. }));
    assert_eq!(
        refused(b"\x7fELF, or anything else").to_string(),
        "not a snapshot: it has a different magic number"
    );
}

#[test]
fn forged_snapshots_with_a_right_crc_neither_panic_nor_hang() {
    let Some(elf) = guest::build_bytes("hello.c", &[]) else { return };
    let mut machine = machine(&elf);
    machine.run(Limit::instructions(3_000));
    let saved = machine.snapshot().unwrap();
    let mut random = random("forged");
    let mut restored = 0;
    for _ in 0..300 {
        let mut forged = saved.clone();
        for _ in 0..=random.below(3) {
            let at = 24 + random.below(Bytes::of(&saved).get() - 24);
            // Most of what is saved is memory; what is worth forging is at the front.
            let at = if random.chance(2, 3) { 24 + random.below(4096) } else { at };
            forged[usize::try_from(at).unwrap()] = random.next_u64().to_le_bytes()[0];
        }
        let crc = crc32fast::hash(&forged[24..]);
        forged[12..16].copy_from_slice(&crc.to_le_bytes());
        let Ok(mut machine) = Machine::restore(&forged) else { continue };
        restored += 1;
        let limit = machine.processor().counts.instructions.saturating_add(2_000);
        machine.run(Limit { instructions: limit, cycles: machine.now().plus(100_000) });
    }
    assert!(restored > 10, "{restored} were restored");
}

#[test]
fn a_card_on_a_device_cannot_be_saved() {
    use boardlab_block::{Geometry, RamBlock};
    let mut machine = Machine::new(&Settings::default()).unwrap();
    let device = RamBlock::new(Geometry::of_size(Bytes::mib(4)));
    machine.insert_card(Card::new(Medium::Device(Box::new(device)), false).unwrap());
    assert_eq!(machine.snapshot().unwrap_err(), Error::SnapshotOfDevice);
}

#[test]
fn a_snapshot_holds_what_was_printed_and_typed() {
    let mut machine = Machine::new(&Settings {
        core: Config { stop_without_handler: true, ..Config::default() },
        ..Settings::default()
    })
    .unwrap();
    machine.push_input(2, b"abc");
    let restored = Machine::restore(&machine.snapshot().unwrap()).unwrap();
    assert_eq!(restored.processor().bus.input_waiting(2), 3);
}
