//! What the core did when, as Chrome trace JSON for Perfetto or `chrome://tracing`.
//!
//! Layer: rank 9. Function: [`chrome`], from the events of a [`Recorder`]. One track a process, which is told by the FCSE process number
//! and the translation table that are in force; its slices are what the core did while that process was the current one:
//! user code, a system call by its number, an interrupt, an abort, sleep. A slice ends with the next one. Instant
//! marks show each change of process. A process that was left within a call, and comes back, goes on with that call. Source of the form: "Trace Event Format" (complete, instant and metadata events).

use super::calls::CallNames;
use super::listing::exception_name;
use super::symbols::Symbols;
use boardlab_arm926::{Cycles, Event, Exception, Mode, Recorder};
use boardlab_sim::Hertz;
use indexmap::IndexSet;
use serde_json::{Value, json};
use std::collections::HashMap;

/// Who is current: the FCSE process number and the base of the first-level table.
type Process = (u8, u32);

/// Names for what is in the events.
#[derive(Debug, Clone, Copy)]
pub struct Names<'a> {
    /// Of addresses.
    pub symbols: &'a Symbols,
    /// Of system calls.
    pub calls: &'a CallNames,
}

/// Tracks at most: a guest may write any numbers.
const PROCESSES: usize = 4_096;

/// The events of a run that ended at `end`, with the core at `clock`.
#[must_use]
pub fn chrome(recorder: &Recorder, end: Cycles, clock: Hertz, names: Names<'_>) -> String {
    let mut drawing = Drawing::new(clock, names);
    for &(now, event) in recorder.events() {
        drawing.take(now, event);
    }
    let last = recorder.events().last().map_or(end, |(now, _)| *now);
    // Behind a full recorder nothing is known.
    drawing.close(if recorder.dropped() > 0 { last } else { end });
    drawing.finish(recorder.dropped())
}

/// What the core does, as a slice shows it.
#[derive(Debug, Clone, PartialEq)]
struct Activity {
    name: String,
    category: &'static str,
    at: Option<u32>,
}

struct Drawing<'a> {
    clock: Hertz,
    names: Names<'a>,
    /// Tracks in the order of their first appearance.
    processes: IndexSet<Process>,
    current: Process,
    activity: Activity,
    /// What the other processes did when they were left.
    left: HashMap<Process, Activity>,
    since: Cycles,
    /// What goes on when exceptions return, by the mode that waits.
    below: Vec<(Mode, Activity)>,
    mode: Mode,
    drawn: Vec<Value>,
}

impl<'a> Drawing<'a> {
    fn new(clock: Hertz, names: Names<'a>) -> Self {
        Self {
            clock,
            names,
            processes: IndexSet::from([(0, 0)]),
            current: (0, 0),
            activity: of_mode(Mode::Supervisor),
            left: HashMap::new(),
            since: Cycles(0),
            below: Vec::new(),
            mode: Mode::Supervisor,
            drawn: Vec::new(),
        }
    }

    fn take(&mut self, now: Cycles, event: Event) {
        // A sleep ends with whatever comes next.
        if self.activity.category == "sleep" {
            self.turn_to(now, of_mode(self.mode));
        }
        match event {
            Event::Exception { exception, at, from, call } => {
                if self.below.len() < 16 {
                    self.below.push((from, self.activity.clone()));
                }
                self.mode = exception.mode();
                let activity = self.of_exception(exception, at, call);
                self.turn_to(now, activity);
            }
            Event::Mode { to, at } => self.change_mode(now, to, at),
            Event::Process { pid } => self.switch(now, (pid, self.current.1)),
            Event::Table { base } => self.switch(now, (self.current.0, base)),
            Event::Wait => {
                self.turn_to(now, Activity { name: "sleep".into(), category: "sleep", at: None });
            }
        }
    }

    fn of_exception(&self, exception: Exception, at: u32, call: u32) -> Activity {
        let (name, category) = match exception {
            Exception::SoftwareInterrupt => (self.names.calls.name(call), "call"),
            Exception::Irq | Exception::Fiq => (exception_name(exception).into(), "interrupt"),
            _ => (exception_name(exception).into(), "fault"),
        };
        Activity { name, category, at: Some(at) }
    }

    /// A return goes on with what waits in the mode; another change of mode keeps what is done, save that
    /// user mode is always user code.
    fn change_mode(&mut self, now: Cycles, to: Mode, at: u32) {
        self.mode = to;
        if to == Mode::User {
            self.below.clear();
            let activity = Activity { at: Some(at), ..of_mode(to) };
            self.turn_to(now, activity);
        } else if let Some((mode, _)) = self.below.last()
            && *mode == to
            && let Some((_, activity)) = self.below.pop()
        {
            self.turn_to(now, activity);
        }
    }

    fn switch(&mut self, now: Cycles, to: Process) {
        if to == self.current {
            return;
        }
        self.close(now);
        if self.processes.len() < PROCESSES {
            self.left.insert(self.current, self.activity.clone());
            self.processes.insert(to);
        }
        self.current = to;
        // A process that was left in a call goes on with it; a new one begins with what its maker does.
        if let Some(activity) = self.left.remove(&to).filter(|left| left.category != "user") {
            self.activity = activity;
        }
        let mark = json!({
            "name": format!("switch to {}", title(to)), "cat": "switch", "ph": "i", "s": "p",
            "ts": self.microseconds(now), "pid": 1, "tid": self.track(),
        });
        self.drawn.push(mark);
    }

    fn turn_to(&mut self, now: Cycles, activity: Activity) {
        self.close(now);
        self.activity = activity;
    }

    /// Draws the slice up to `now`.
    fn close(&mut self, now: Cycles) {
        let length = now.0.saturating_sub(self.since.0);
        if length > 0 {
            let mut arguments = json!({ "cycles": length });
            if let Some(at) = self.activity.at {
                arguments["from"] = self.names.symbols.name(at).into();
            }
            let slice = json!({
                "name": self.activity.name, "cat": self.activity.category, "ph": "X",
                "ts": self.microseconds(self.since), "dur": self.microseconds(Cycles(length)),
                "pid": 1, "tid": self.track(), "args": arguments,
            });
            self.drawn.push(slice);
        }
        self.since = now;
    }

    fn track(&self) -> usize {
        self.processes.get_index_of(&self.current).unwrap_or_default() + 1
    }

    /// Microseconds with the three decimals that the form allows.
    fn microseconds(&self, span: Cycles) -> f64 {
        let nanoseconds = u128::from(span.0) * 1_000_000_000 / u128::from(self.clock.get().max(1));
        boardlab_result::prose::float(u64::try_from(nanoseconds).unwrap_or(u64::MAX)) / 1_000.0
    }

    fn finish(self, dropped: u64) -> String {
        let named = |(index, process): (usize, &Process)| {
            let arguments = json!({ "name": title(*process) });
            json!({ "name": "thread_name", "ph": "M", "pid": 1, "tid": index + 1, "args": arguments })
        };
        let head = json!({ "name": "process_name", "ph": "M", "pid": 1, "args": { "name": "ARM926EJ-S" } });
        let names = std::iter::once(head).chain(self.processes.iter().enumerate().map(named));
        let events: Vec<Value> = names.chain(self.drawn).collect();
        let lines: Vec<String> = events.iter().map(Value::to_string).collect();
        format!(
            "{{\"displayTimeUnit\":\"ns\",\"otherData\":{{\"core_clock_hz\":{},\"events_dropped\":{dropped}}},\n\
             \"traceEvents\":[\n{}\n]}}\n",
            self.clock.get(),
            lines.join(",\n")
        )
    }
}

fn of_mode(mode: Mode) -> Activity {
    let (name, category) = match mode {
        Mode::User => ("user", "user"),
        Mode::Irq | Mode::Fiq => ("interrupt", "interrupt"),
        Mode::Abort | Mode::Undefined => ("fault", "fault"),
        Mode::Supervisor | Mode::System => ("kernel", "kernel"),
    };
    Activity { name: name.into(), category, at: None }
}

fn title((pid, base): Process) -> String {
    match (pid, base) {
        (0, 0) => "no process".into(),
        (0, base) => format!("table {base:#010x}"),
        (pid, base) => format!("FCSE PID {pid}, table {base:#010x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(events: &[(u64, Event)], end: u64) -> Vec<Value> {
        let mut recorder = Recorder::new(100);
        for (now, event) in events {
            recorder.note(Cycles(*now), *event);
        }
        let (symbols, calls) = (Symbols::default(), CallNames::default());
        let names = Names { symbols: &symbols, calls: &calls };
        let text = chrome(&recorder, Cycles(end), Hertz::from_hz(200_000_000), names);
        let all: Value = serde_json::from_str(&text).unwrap();
        let events = all["traceEvents"].as_array().unwrap().clone();
        events.into_iter().filter(|event| event["ph"] == "X").collect()
    }

    fn slices(events: &[(u64, Event)], end: u64) -> Vec<(String, f64, f64, u64)> {
        let of = |slice: &Value| {
            let number = |key: &str| slice[key].as_f64().unwrap();
            (
                slice["name"].as_str().unwrap().to_owned(),
                number("ts"),
                number("dur"),
                slice["tid"].as_u64().unwrap(),
            )
        };
        drawn(events, end).iter().map(of).collect()
    }

    const fn call(call: u32) -> Event {
        Event::Exception {
            exception: Exception::SoftwareInterrupt,
            at: 0x100,
            from: Mode::User,
            call,
        }
    }

    #[test]
    fn slices_cover_the_run_without_gap_or_overlap() {
        let events = [
            (200, Event::Mode { to: Mode::User, at: 0 }),
            (1_000, call(4)),
            (1_100, Event::Process { pid: 2 }),
            (1_200, Event::Mode { to: Mode::User, at: 0x40 }),
            (
                1_400,
                Event::Exception { exception: Exception::Irq, at: 8, from: Mode::User, call: 0 },
            ),
            (1_500, Event::Wait),
            (9_000, Event::Mode { to: Mode::User, at: 0x40 }),
        ];
        let slices = slices(&events, 10_000);
        let names: Vec<_> = slices.iter().map(|(name, ..)| name.as_str()).collect();
        assert_eq!(names, ["kernel", "user", "call 4", "call 4", "user", "IRQ", "sleep", "user"]);
        let mut at = 0.0;
        for (name, start, length, _) in &slices {
            assert!((start - at).abs() < 1e-6, "{name} begins at {start}, not {at}");
            at = start + length;
        }
        assert!((at - 50.0).abs() < 1e-6, "10,000 cycles at 200 MHz are 50 us, not {at}");
        let tracks: Vec<_> = slices.iter().map(|(.., track)| *track).collect();
        assert_eq!(tracks, [1, 1, 1, 2, 2, 2, 2, 2]);
    }

    #[test]
    fn an_interrupt_of_a_call_returns_to_the_call() {
        let from = Mode::Supervisor;
        let events = [
            (0, Event::Mode { to: Mode::User, at: 0 }),
            (100, call(1)),
            (200, Event::Exception { exception: Exception::Irq, at: 8, from, call: 0 }),
            (300, Event::Mode { to: Mode::Supervisor, at: 8 }),
            (400, Event::Mode { to: Mode::User, at: 0 }),
        ];
        let names: Vec<_> = slices(&events, 500).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names, ["user", "call 1", "IRQ", "call 1", "user"]);
    }

    #[test]
    fn a_process_that_was_left_in_a_call_comes_back_to_it() {
        let events = [
            (0, Event::Process { pid: 1 }),
            (0, Event::Mode { to: Mode::User, at: 0 }),
            (100, call(1)),
            (200, Event::Process { pid: 2 }),
            (300, Event::Mode { to: Mode::User, at: 0 }),
            (400, call(2)),
            (500, Event::Process { pid: 1 }),
            (600, Event::Mode { to: Mode::User, at: 0 }),
        ];
        let slices = slices(&events, 700);
        let names: Vec<_> =
            slices.iter().map(|(name, _, _, track)| (name.as_str(), *track)).collect();
        let expected = [
            ("user", 2),
            ("call 1", 2),
            ("call 1", 3),
            ("user", 3),
            ("call 2", 3),
            ("call 1", 2),
            ("user", 2),
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn a_full_recorder_draws_nothing_behind_its_last_event() {
        let mut recorder = Recorder::new(1);
        recorder.note(Cycles(200), Event::Mode { to: Mode::User, at: 0 });
        recorder.note(Cycles(400), call(1));
        let (symbols, calls) = (Symbols::default(), CallNames::default());
        let names = Names { symbols: &symbols, calls: &calls };
        let text = chrome(&recorder, Cycles(1_000), Hertz::from_hz(200_000_000), names);
        assert!(text.contains("\"events_dropped\":1"), "{text}");
        assert_eq!(text.matches("\"ph\":\"X\"").count(), 1, "{text}");
    }
}
