//! Switches: those that wait for the timer as in table 1, those that come at once, and rings of processes.
//!
//! Layer: rank 11. Main types: [`Quantum`], [`AtOnce`], [`Point`].

use super::guest::{CommandOutput, Guest, mark};
use super::spent::Costs;
use crate::fcse::scenario::{Published, Ring};
use boardlab_arm926::{Cycles, Event};
use boardlab_experiment::Cause;
use boardlab_sim::{Bytes, Duration};

/// Timer interrupts of a slice while nobody is to be interrupted.
const LONG_SLICE: &str = "bench set slice 100000";
/// A timer that does not come in between; its first interrupt is waited for where it has to be.
const RARE_TICK: &str = "bench set tick 100000";
/// One that never comes while a ring is measured.
const NO_TICK: &str = "bench set tick 10000000";
/// Switches of the picture of who runs when.
const DRAWN: u32 = 6;
/// Events that are kept for it.
const EVENTS: usize = 1 << 16;

/// Switches that waited for the timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Quantum {
    /// How long after a timer interrupt the first one was asked for.
    pub(crate) phase: Duration,
    /// Cycles of all.
    pub(crate) cycles: u64,
    /// Timer interrupts meanwhile.
    pub(crate) ticks: u64,
    /// Switches meanwhile, by the kernel's count.
    pub(crate) switches: u64,
}

/// What the published evaluation did, at each phase.
pub(crate) fn quanta(saved: &[u8], published: &Published) -> Result<Vec<Quantum>, Cause> {
    published.phases.iter().map(|phase| quantum(saved, published, *phase)).collect()
}

/// What is typed to switch so often, each switch at a timer interrupt.
pub(crate) fn quantum_commands(published: &Published, phase: Duration) -> [String; 3] {
    let (tick, phase) = (published.tick.as_micros(), phase.as_micros());
    let switches = published.switches;
    [
        LONG_SLICE.into(),
        format!("bench set tick {tick}"),
        format!("bench chg {switches} tick {phase}"),
    ]
}

/// What is typed to switch so often at once.
pub(crate) fn at_once_commands(published: &Published) -> [String; 3] {
    [LONG_SLICE.into(), RARE_TICK.into(), format!("bench chg {} once", published.switches)]
}

/// What the last of some commands said.
pub(crate) fn last_of(guest: &mut Guest, commands: &[String; 3]) -> Result<CommandOutput, Cause> {
    let [slice, tick, bench] = commands;
    guest.run(slice)?;
    guest.run(tick)?;
    guest.run(bench)
}

fn quantum(saved: &[u8], published: &Published, phase: Duration) -> Result<Quantum, Cause> {
    let mut guest = Guest::restored(saved)?;
    let said = last_of(&mut guest, &quantum_commands(published, phase))?;
    let cycles = said.between(mark::BEGIN, mark::END)?.cycles;
    let (ticks, switches) = (said.number("chg_ticks")?, said.number("chg_switches")?);
    Ok(Quantum { phase, cycles, ticks, switches })
}

/// Switches that came at once.
#[derive(Debug, Clone)]
pub(crate) struct AtOnce {
    pub(crate) spent: Costs,
    pub(crate) switches: u64,
    /// Of these: with caches and TLB flushed.
    pub(crate) flushes: u64,
    /// Events of the first few.
    pub(crate) events: Vec<(Cycles, Event)>,
}

/// The same without waiting for the timer.
pub(crate) fn at_once(saved: &[u8], published: &Published) -> Result<AtOnce, Cause> {
    let mut guest = Guest::restored(saved)?;
    let said = last_of(&mut guest, &at_once_commands(published))?;
    let spent = said.between(mark::BEGIN, mark::END)?;
    let (switches, flushes) = (said.number("chg_switches")?, said.number("chg_flushes")?);
    Ok(AtOnce { spent, switches, flushes, events: events(saved)? })
}

/// Events of a few switches between two processes that sum 2 KiB each.
fn events(saved: &[u8]) -> Result<Vec<(Cycles, Event)>, Cause> {
    let mut guest = Guest::restored(saved)?;
    guest.run(LONG_SLICE)?;
    guest.run(NO_TICK)?;
    guest.machine().record(EVENTS);
    let mut drawn = Vec::new();
    let command = format!("bench ring chg 2 2 {}", DRAWN / 2);
    guest.run_with(&command, Duration::ZERO, &mut |machine, value| {
        let events = machine.take_events();
        if value == mark::END {
            drawn = events;
        }
    })?;
    Ok(drawn)
}

/// What the token of a ring goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// The system call that switches.
    Chg,
    /// Pipes, as lmbench's `lat_ctx` has it.
    Pipe,
}

impl How {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Chg => "chg",
            Self::Pipe => "pipe",
        }
    }
}

/// A ring of so many processes that sum so much each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) processes: u32,
    pub(crate) working_set: Bytes,
    pub(crate) switches: u64,
    /// What was spent on switching: the same work without it is taken off.
    pub(crate) net: Costs,
    /// Cycles of the whole: the work and the switches.
    pub(crate) whole: u64,
}

impl Point {
    /// Cycles of one switch.
    pub(crate) fn cycles(&self) -> f64 {
        Costs::each(self.net.cycles, self.switches)
    }
}

/// Rings of every number of processes with every working set.
pub(crate) fn rings(saved: &[u8], ring: &Ring, how: How) -> Result<Vec<Point>, Cause> {
    let mut guest = Guest::restored(saved)?;
    guest.run(LONG_SLICE)?;
    guest.run(NO_TICK)?;
    let mut points = Vec::new();
    for &processes in &ring.processes {
        for &working_set in &ring.working_sets {
            let kib = working_set.get() / 1_024;
            let command = format!("bench ring {} {processes} {kib} {}", how.name(), ring.laps);
            let said = guest.run(&command)?;
            let alone = said.between(mark::HOT, mark::HOT_END)?;
            let all = said.between(mark::BEGIN, mark::END)?;
            let switches = said.number("ring_switches")?;
            let net = all.without(&alone, processes.into());
            points.push(Point { processes, working_set, switches, net, whole: all.cycles });
        }
    }
    Ok(points)
}
