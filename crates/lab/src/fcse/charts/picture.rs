//! Who runs when during a few switches, as a picture.
//!
//! Layer: rank 11. Function: [`all`]. A lane for each process, which is told by the FCSE process number and the translation table in force.

use crate::fcse::run::measure::{Measurements, OfWay, Way};
use crate::fcse::run::spent::nanoseconds;
use crate::fcse::scenario::Scenario;
use boardlab_arm926::{Cycles, Event, Exception, Mode};
use boardlab_result::prose::{float, round};
use boardlab_result::{Activity, Span, Timeline};
use boardlab_sim::Hertz;

/// Activities by their index.
const USER: usize = 0;
const KERNEL: usize = 1;
const INTERRUPT: usize = 2;

/// One for each of the two ways of the publication.
pub(crate) fn all(scenario: &Scenario, measured: &Measurements) -> Vec<Timeline> {
    let clock = scenario.computer.settings.core_clock;
    [Way::Tables, Way::Fcse].map(|way| of(measured.of(way), clock)).into()
}

fn of(one: &OfWay, clock: Hertz) -> Timeline {
    let title = format!("Two processes that sum 2 KiB each and switch by chg: {}", one.way.title());
    let caption = match one.way {
        Way::Tables => {
            "In the kernel the caches are written back and emptied, and after it the process fetches its code and data again."
        }
        _ => "The switch writes two registers and leaves the caches as they are.",
    };
    let id = format!("fcse-switches-{}", one.way.id());
    let mut timeline = Timeline::new(id, title, caption, "time (us)");
    timeline.activities =
        ["the process itself", "the kernel for it", "an interrupt"].map(Activity::new).into();
    let mut drawing = Drawing::new(clock, &one.at_once.events);
    for (now, event) in &one.at_once.events {
        drawing.take(*now, *event);
    }
    timeline.lanes = (1..=drawing.processes.len()).map(|lane| format!("process {lane}")).collect();
    timeline.spans = drawing.spans;
    timeline
}

/// The FCSE process number and the first-level table.
type Process = (u8, u32);

struct Drawing {
    clock: Hertz,
    begin: Cycles,
    processes: Vec<Process>,
    /// What is in force. The registers before the first event are not known.
    current: Option<Process>,
    activity: usize,
    since: Cycles,
    spans: Vec<Span>,
}

impl Drawing {
    fn new(clock: Hertz, events: &[(Cycles, Event)]) -> Self {
        // Drawing begins at the first switch: only from there on is it known who runs.
        let is_switch =
            |event: &Event| matches!(event, Event::Process { .. } | Event::Table { .. });
        let first = events.iter().find(|(_, event)| is_switch(event));
        let begin = first.map_or(Cycles(0), |(now, _)| *now);
        let (activity, current) = (KERNEL, None);
        Self {
            clock,
            begin,
            processes: Vec::new(),
            current,
            activity,
            since: begin,
            spans: Vec::new(),
        }
    }

    fn take(&mut self, now: Cycles, event: Event) {
        match event {
            Event::Exception { exception: Exception::Irq, .. } => self.turn(now, INTERRUPT),
            Event::Exception { .. } => self.turn(now, KERNEL),
            Event::Mode { to: Mode::User, .. } => self.turn(now, USER),
            Event::Mode { .. } if self.activity == INTERRUPT => {}
            Event::Mode { .. } | Event::Wait => self.turn(now, KERNEL),
            Event::Process { pid } => {
                let table = self.current.map_or(0, |(_, table)| table);
                self.switch(now, (pid, table));
            }
            Event::Table { base } => {
                let pid = self.current.map_or(0, |(pid, _)| pid);
                self.switch(now, (pid, base));
            }
        }
    }

    fn switch(&mut self, now: Cycles, to: Process) {
        if self.current == Some(to) {
            return;
        }
        self.close(now);
        if !self.processes.contains(&to) {
            self.processes.push(to);
        }
        self.current = Some(to);
    }

    fn turn(&mut self, now: Cycles, activity: usize) {
        if activity != self.activity {
            self.close(now);
            self.activity = activity;
        }
    }

    fn close(&mut self, now: Cycles) {
        let lane = self.current.and_then(|one| self.processes.iter().position(|p| *p == one));
        if let Some(lane) = lane.filter(|_| now > self.since) {
            let at = |cycles: Cycles| {
                round(nanoseconds(float(cycles.0 - self.begin.0), self.clock) / 1e3, 3)
            };
            let (from, to, activity) = (at(self.since), at(now), self.activity);
            let label = format!("{} cycles", now.0 - self.since.0);
            self.spans.push(Span { lane, activity, from, to, label });
        }
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_change_at_switches_and_colours_at_changes_of_mode() {
        let call = Event::Exception {
            exception: Exception::SoftwareInterrupt,
            at: 0,
            from: Mode::User,
            call: 22,
        };
        let user = Event::Mode { to: Mode::User, at: 0 };
        let events = [
            (Cycles(100), call),
            (Cycles(200), Event::Process { pid: 3 }),
            (Cycles(300), user),
            (Cycles(500), call),
            (Cycles(600), Event::Process { pid: 4 }),
            (Cycles(700), user),
            (Cycles(900), call),
            (Cycles(1_000), Event::Process { pid: 3 }),
        ];
        let mut drawing = Drawing::new(Hertz::from_hz(200_000_000), &events);
        for (now, event) in events {
            drawing.take(now, event);
        }
        let spans: Vec<_> = drawing
            .spans
            .iter()
            .map(|span| (span.lane, span.activity, span.from, span.to))
            .collect();
        let expected = [
            (0, KERNEL, 0.0, 0.5),
            (0, USER, 0.5, 1.5),
            (0, KERNEL, 1.5, 2.0),
            (1, KERNEL, 2.0, 2.5),
            (1, USER, 2.5, 3.5),
            (1, KERNEL, 3.5, 4.0),
        ];
        assert_eq!(spans, expected);
    }
}
