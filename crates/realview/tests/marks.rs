//! A write to the LEDs ends the run while the host watches them: at the same instants in each engine,
//! and without an effect on the machine's state.
use crate::guest;

use boardlab_arm926::Compiled;
use boardlab_arm926::Predecoded;
use boardlab_arm926::memory::Statistics;
use boardlab_arm926::{Event, Exception, Interpreter, Limit};
use boardlab_realview::{Machine, Outcome, Program, Settings};
use boardlab_sim::Bytes;

const LIMIT: Limit = Limit::instructions(20_000_000);

/// The state that the host observes at a write to the LEDs.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mark {
    value: u32,
    cycles: u64,
    instructions: u64,
    pc: u32,
    statistics: Statistics,
}

fn machine(elf: &[u8]) -> Machine {
    let settings = Settings { memory: Bytes::mib(4), ..Settings::default() };
    let mut machine = Machine::new(&settings).unwrap();
    machine.load(&Program::parse(elf).unwrap()).unwrap();
    machine
}

fn seen(machine: &Machine, value: u32) -> Mark {
    let processor = machine.processor();
    Mark {
        value,
        cycles: machine.now().0,
        instructions: processor.counts.instructions,
        pc: processor.registers.pc,
        statistics: *processor.memory.statistics(),
    }
}

/// All marks, and how the run ended.
fn marks(machine: &mut Machine) -> (Vec<Mark>, Outcome) {
    machine.watch_marks(true);
    let mut all = Vec::new();
    loop {
        match machine.run(LIMIT) {
            Outcome::Mark { value } => all.push(seen(machine, value)),
            end => return (all, end),
        }
    }
}

/// The final state of a run: its outcome, time and trace hash.
fn left(machine: &Machine, end: Outcome) -> (Outcome, u64, u64) {
    (end, machine.now().0, machine.trace_hash())
}

#[test]
fn marks_come_with_the_same_counts_in_each_engine() {
    let Some(elf) = guest::build_bytes("marks.c", &[]) else { return };
    let (expected, end) = marks(&mut machine(&elf).with_engine(Interpreter));
    assert!(matches!(end, Outcome::Exit { code: 0..=127, .. }), "{end}");
    let engines = [
        ("fast", machine(&elf).with_engine(Predecoded::new())),
        ("compiled", machine(&elf).with_engine(Compiled::with_threshold(20))),
    ];
    for (name, mut machine) in engines {
        let (found, found_end) = marks(&mut machine);
        assert_eq!(found.len(), expected.len(), "{name}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{name}");
        }
        assert_eq!(found_end, end, "{name}");
    }
}

#[test]
fn every_mark_comes_in_order_and_right_behind_its_store() {
    let Some(elf) = guest::build_bytes("marks.c", &[]) else { return };
    let mut machine = machine(&elf);
    let (all, _) = marks(&mut machine);
    let of_program: Vec<u32> =
        all.iter().map(|one| one.value).filter(|value| *value < 0x10000).collect();
    let expected: Vec<u32> =
        [1].into_iter().chain(0x100..0x114).chain(0x1000..0x13E8).chain([2, 3]).collect();
    assert_eq!(of_program, expected);
    let of_interrupts = all.iter().map(|one| one.value).filter(|value| *value >= 0x10000);
    assert!(of_interrupts.clone().count() > 3, "{}", of_interrupts.clone().count());
    assert!(of_interrupts.eq((0x10000..).take(all.len() - of_program.len())));
    for one in &all {
        let before = machine.peek(boardlab_arm926::Virtual(one.pc - 4)).unwrap();
        // A word stored with a condition of "always": STR by immediate or by register.
        assert_eq!(before & 0xFC50_0000, 0xE400_0000, "{before:08x} before {:#x}", one.pc);
    }
}

#[test]
fn nothing_in_the_machine_tells_whether_the_leds_are_watched() {
    let Some(elf) = guest::build_bytes("marks.c", &[]) else { return };
    let mut watched = machine(&elf);
    let (all, end) = marks(&mut watched);
    assert!(all.len() > 1_000);
    let watched = left(&watched, end);
    for engine in [false, true] {
        let mut unwatched = machine(&elf);
        if engine {
            unwatched.set_engine(Compiled::with_threshold(20));
        }
        let end = unwatched.run(LIMIT);
        assert_eq!(left(&unwatched, end), watched);
    }
}

#[test]
fn events_are_taken_at_marks_and_tell_how_long_the_timer_waited_for_its_handler() {
    let Some(elf) = guest::build_bytes("marks.c", &[]) else { return };
    let waits = [false, true].map(|compiled| {
        let mut machine = machine(&elf);
        if compiled {
            machine.set_engine(Compiled::with_threshold(20));
        }
        machine.watch_marks(true);
        machine.record(1_000);
        let mut waits = Vec::new();
        while let Outcome::Mark { value } = machine.run(LIMIT) {
            let events = machine.take_events();
            if value < 0x10000 {
                assert!(events.iter().all(|(_, event)| !is_interrupt(event)), "{value:#x}");
                continue;
            }
            let entered = events.iter().find(|(_, event)| is_interrupt(event)).unwrap().0;
            let began = machine.processor().bus.period_start(0).unwrap();
            assert_eq!(began.0 % 200, 0, "a tick of the timer's clock");
            waits.push(entered.0 - began.0);
        }
        assert!(machine.processor().bus.period_start(2).is_none());
        waits
    });
    assert_eq!(waits[0], waits[1]);
    assert!(waits[0].len() > 3 && waits[0].iter().all(|wait| *wait < 200), "{:?}", waits[0]);
}

fn is_interrupt(event: &Event) -> bool {
    matches!(event, Event::Exception { exception: Exception::Irq, .. })
}

#[test]
fn a_restored_machine_is_still_watched() {
    let Some(elf) = guest::build_bytes("marks.c", &[]) else { return };
    let mut first = machine(&elf);
    first.watch_marks(true);
    assert_eq!(first.run(LIMIT), Outcome::Mark { value: 1 });
    let mut restored = Machine::restore(&first.snapshot().unwrap()).unwrap();
    assert_eq!(restored.run(LIMIT), Outcome::Mark { value: 0x100 });
}
