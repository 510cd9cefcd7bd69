//! Real time: from the timer's zero to its handler and to the task that waits for it.
//!
//! Layer: rank 11. Main types: [`Latency`], [`Load`]. The zero is known from the timer; the handler begins when the core has entered the
//! interrupt, the task when the core returns to user mode. An instrument sees both from outside, so that nothing is
//! spent on measuring but the system call that marks the end of a sample.

use super::guest::{Guest, mark};
use super::spent::Spread;
use crate::fcse::scenario::RealTime;
use boardlab_arm926::processor::ENTRY;
use boardlab_arm926::{Cycles, Event, Exception, Mode};
use boardlab_experiment::Cause;
use boardlab_realview::Machine;

/// The timer that interrupts the system.
const TIMER: usize = 0;
/// Events between two samples that are kept.
const EVENTS: usize = 1 << 16;

/// Makes the system busy: pipes, memory, files and processes.
pub(crate) const LOAD: &str = "bench load &";

/// What else runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Load {
    /// Nothing.
    Idle,
    /// Pipes, memory, files and processes, all the time.
    Loaded,
}

/// Latencies in cycles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Latency {
    /// To the first instruction of the handler.
    pub(crate) handler: Spread,
    /// To the next instruction of the task.
    pub(crate) task: Spread,
    /// Samples that missed a timer interrupt or more.
    pub(crate) overruns: u64,
    /// Cycles of it all.
    pub(crate) cycles: u64,
}

/// Values of all samples so far.
#[derive(Debug, Default)]
struct Samples {
    handler: Vec<u64>,
    task: Vec<u64>,
    overruns: u64,
    before: Option<Cycles>,
}

/// What the events between two samples tell of an interrupt at `zero`: when the handler and the task began.
fn begun(events: &[(Cycles, Event)], zero: Cycles) -> Option<[Cycles; 2]> {
    let since = |event: &&(Cycles, Event)| event.0 >= zero;
    let is_irq =
        |event: &Event| matches!(event, Event::Exception { exception: Exception::Irq, .. });
    let handler = events.iter().filter(since).find(|(_, event)| is_irq(event))?.0;
    let to_user = |event: &Event| matches!(event, Event::Mode { to: Mode::User, .. });
    let task = events.iter().rev().find(|(_, event)| to_user(event))?.0;
    (task > handler).then_some([handler, task])
}

impl Samples {
    fn take(&mut self, machine: &mut Machine, period: u64) {
        let events = machine.take_events();
        let Some(zero) = machine.processor().bus.period_start(TIMER) else { return };
        let before = self.before.replace(zero);
        // The first sample may have begun anywhere in its period.
        let Some(before) = before else { return };
        let Some([handler, task]) = begun(&events, zero).filter(|_| zero.0 - before.0 == period)
        else {
            self.overruns += 1;
            return;
        };
        // The event is told at the boundary in front of the entry.
        self.handler.push(handler.0 + ENTRY - zero.0);
        self.task.push(task.0 - zero.0);
    }
}

/// Runs a task of the highest priority that sleeps from tick to tick.
pub(crate) fn measure(saved: &[u8], real_time: &RealTime, load: Load) -> Result<Latency, Cause> {
    let mut guest = Guest::restored(saved)?;
    // With short slices before the load, under which the shell would wait long.
    guest.run(&format!("bench set tick {}", real_time.tick.as_micros()))?;
    if load == Load::Loaded {
        guest.run(LOAD)?;
    }
    let period = guest.cycles(real_time.tick);
    let from = guest.machine().now();
    guest.machine().record(EVENTS);
    let mut samples = Samples::default();
    let command = format!("bench latency {}", real_time.samples + 1);
    let known = real_time.tick * u64::from(real_time.samples);
    guest.run_with(&command, known, &mut |machine, value| {
        if value == mark::AWAKE {
            samples.take(machine, period);
        }
    })?;
    let cycles = guest.machine().now().0 - from.0;
    let Samples { handler, task, overruns, .. } = samples;
    let none = || format!("`{command}` gave no samples");
    let (handler, task) =
        (Spread::of(handler).ok_or_else(none)?, Spread::of(task).ok_or_else(none)?);
    Ok(Latency { handler, task, overruns, cycles })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn irq(at: u64) -> (Cycles, Event) {
        let event =
            Event::Exception { exception: Exception::Irq, at: 0, from: Mode::User, call: 0 };
        (Cycles(at), event)
    }

    const fn mode(at: u64, to: Mode) -> (Cycles, Event) {
        (Cycles(at), Event::Mode { to, at: 0 })
    }

    #[test]
    fn the_handler_is_the_first_interrupt_behind_the_zero_and_the_task_the_last_return() {
        let events = [
            irq(90),
            mode(95, Mode::User),
            irq(110),
            mode(120, Mode::Supervisor),
            mode(140, Mode::User),
        ];
        assert_eq!(begun(&events, Cycles(100)), Some([Cycles(110), Cycles(140)]));
        assert_eq!(begun(&events, Cycles(120)), None, "no interrupt since");
        assert_eq!(begun(&events[..4], Cycles(100)), None, "not back in user mode");
    }
}
