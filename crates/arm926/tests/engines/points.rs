//! Breakpoints and watchpoints: all engines stop at the same points, and stops have no side effects.

use super::world::{self, Board, draw};
use super::{limit, own_memory_map, program, state};
#[cfg(feature = "compiler")]
use boardlab_arm926::Compiled;
use boardlab_arm926::{
    Config, Engine, Interpreter, Limit, Predecoded, Processor, Psr, Ram, Stop, Virtual, Waits,
    WatchKind, Watchpoint,
};
use boardlab_sim::Seed;
use std::num::NonZeroU32;

/// All engines in this build by their names on the command line.
fn engines<B: boardlab_arm926::Bus + 'static>() -> Vec<(&'static str, Box<dyn Engine<B>>)> {
    vec![
        ("interpreter", Box::new(Interpreter)),
        ("predecoded", Box::new(Predecoded::new())),
        #[cfg(feature = "compiler")]
        ("compiled", Box::new(Compiled::with_threshold(1))),
    ]
}

#[test]
fn the_example_stops_and_prints_the_same_with_every_engine() {
    let mut told = Vec::new();
    for (name, mut engine) in engines() {
        let mut out = Vec::new();
        own_memory_map::show(&mut *engine, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("0x2000001d was read, r2 is now 0x2000001e\n"), "{name}: {text}");
        assert!(text.contains("stopped at 0x20000018 after "), "{name}: {text}");
        assert!(text.ends_with("sent: Hi\n"), "{name}: {text}");
        told.push(text);
    }
    told.dedup();
    assert_eq!(told.len(), 1, "{told:#?}");
}

/// A core whose program at 0 increments the word at 0x800 endlessly, with a load and a store.
fn counter() -> Processor<Ram> {
    let mut ram = Ram::new(0x1000, Waits::default());
    // mov r1, #0x800; ldr r0, [r1]; add r0, r0, #1; str r0, [r1]; b 4
    ram.put(0, &[0xE3A0_1B02, 0xE591_0000, 0xE280_0001, 0xE581_0000, 0xEAFF_FFFB]);
    let mut core = Processor::new(&Config::default(), ram);
    core.registers.set_cpsr(Psr(0xD3));
    core
}

fn watch(at: u32, length: u32, of: WatchKind) -> Watchpoint {
    Watchpoint { at: Virtual(at), length: NonZeroU32::new(length).unwrap(), of }
}

#[test]
fn a_breakpoint_stops_each_time_and_a_watchpoint_by_kind() {
    for (name, mut engine) in engines() {
        let mut core = counter();
        core.points.set_breakpoint(Virtual(8));
        for turn in 1..=3 {
            let stop = engine.run(&mut core, Limit::instructions(1_000));
            assert_eq!(stop, Stop::Breakpoint { at: Virtual(8) }, "{name}");
            assert_eq!(
                (core.counts.instructions, core.registers.r[0]),
                (4 * turn - 2, u32::try_from(turn).unwrap() - 1)
            );
        }
        // A limit at a breakpoint does not hide it.
        let mut core = counter();
        core.points.set_breakpoint(Virtual(8));
        assert_eq!(engine.run(&mut core, Limit::instructions(2)), Stop::Limit, "{name}");
        assert_eq!(core.registers.pc, 8);
        let stop = engine.run(&mut core, Limit::NONE);
        assert_eq!(stop, Stop::Breakpoint { at: Virtual(8) }, "{name}");
        core.pass_breakpoint();
        engine.run(&mut core, Limit::NONE);
        assert_eq!(core.counts.instructions, 6, "{name}: it was executed, and came by again");
        core.points.clear();
        for (of, pc, write) in [(WatchKind::Reads, 8, false), (WatchKind::Writes, 16, true)] {
            core.points.clear();
            let watchpoint = watch(0x801, 2, of);
            core.points.set_watchpoint(watchpoint);
            let stop = engine.run(&mut core, Limit::NONE);
            assert_eq!(stop, Stop::Watchpoint { watchpoint, at: Virtual(0x800), write }, "{name}");
            assert_eq!(core.registers.pc, pc, "{name}: behind the instruction");
        }
        core.points.clear();
        core.points.set_watchpoint(watch(0x804, 4, WatchKind::Accesses));
        let limit = Limit::instructions(core.counts.instructions + 100);
        assert_eq!(engine.run(&mut core, limit), Stop::Limit, "{name}: other bytes");
    }
}

#[test]
fn a_program_with_points_does_what_it_does_without_them() {
    let mut all = 0;
    for seed in 0..super::programs() / 5 {
        let mut stops = Vec::new();
        for (name, mut engine) in engines::<Board>() {
            stops.push(stopped_run(seed, name, &mut *engine));
        }
        stops.dedup();
        assert_eq!(stops.len(), 1, "seed {seed}: the engines stop at different points");
        all += stops[0].len();
    }
    assert!(all > 20, "{all} stops: the programs hardly come by a point");
}

/// Runs a random program with and without points; returns the stops.
fn stopped_run(seed: u64, name: &str, engine: &mut dyn Engine<Board>) -> Vec<Stop> {
    let mut stream = Seed::new(seed).stream("points");
    let (arm, thumb) = (program::arm(&mut stream), program::thumb(&mut stream));
    let mut expected = world::start(&mut stream, &arm, &thumb);
    let mut found = expected.clone();
    for _ in 0..20 {
        found.points.set_breakpoint(Virtual(program::target(&mut stream)));
    }
    for of in [WatchKind::Reads, WatchKind::Writes, WatchKind::Accesses] {
        let at = world::BACK + world::DATA + draw(&mut stream, 0x4000);
        found.points.set_watchpoint(watch(at, 64, of));
    }
    let mut stops = Vec::new();
    for stretch in 0..12 {
        let limit = limit(&mut stream, &expected);
        let without = Interpreter.run(&mut expected, limit);
        let with = loop {
            match engine.run(&mut found, limit) {
                stop @ (Stop::Breakpoint { .. } | Stop::Watchpoint { .. }) => stops.push(stop),
                other => break other,
            }
        };
        // A watchpoint takes precedence over a limit after the same instruction.
        assert_eq!(without, with, "{name}, seed {seed}, stretch {stretch}");
        assert!(state(&expected) == state(&found), "{name}, seed {seed}, stretch {stretch}");
    }
    stops
}

#[test]
fn the_reference_is_charged_with_what_it_executed_and_no_stop() {
    // svc 0x123456 (a semihosting call), repeatedly.
    let mut ram = Ram::new(0x1000, Waits::default());
    ram.put(0, &[0xE3A0_0005, 0xEF12_3456, 0xE3A0_0005, 0xEF12_3456]);
    let mut core = Processor::new(&Config::default(), ram);
    core.registers.set_cpsr(Psr(0xD3));
    let mut engine = Predecoded::new();
    for (executed, stepped) in [(1, 1), (3, 2)] {
        assert_eq!(engine.run(&mut core, Limit::NONE), Stop::Semihosting);
        assert_eq!((core.counts.instructions, engine.stepped()), (executed, stepped));
        // Nor does the repeated call, which the host has not served.
        assert_eq!(engine.run(&mut core, Limit::NONE), Stop::Semihosting);
        assert_eq!(engine.stepped(), stepped);
        core.return_from_call(0);
    }
    let mut core = counter();
    let mut engine = Predecoded::new();
    core.points.set_breakpoint(Virtual(8));
    for turn in 1..=3 {
        assert!(matches!(engine.run(&mut core, Limit::NONE), Stop::Breakpoint { .. }));
        assert_eq!(engine.stepped(), 4 * turn - 2);
    }
    core.points.clear();
    assert_eq!(engine.run(&mut core, Limit::instructions(50)), Stop::Limit);
    assert_eq!(engine.stepped(), 50, "without caches there is nothing to predecode");
}
