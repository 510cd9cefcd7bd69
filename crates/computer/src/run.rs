//! Running a program to its end: console, limits, and what is made of the run.
//!
//! Layer: rank 9. Main types: [`Plan`], what is to be looked at; [`Console`], the terminal; [`RunOutcome`], what came out. With all input known
//! at the start a run is the same each time; what is typed meanwhile comes when the host notices it, so such a run is
//! not.

use super::failure::Failure;
use super::instruments::{Profiling, Shared, locked};
use super::profile::Profile;
use super::session::Session;
use super::tables::{self, Measurement};
use super::{findings, timeline};
use boardlab_arm926::{Cycles, Limit, Recorder};
use boardlab_realview::Outcome;
use boardlab_result::RunResult;
use boardlab_sim::{Duration, Instant, Seed};
use std::io;
use std::sync::{Arc, Mutex};

/// Cycles between two looks at the console.
const SLICE: u64 = 2_000_000;
/// Events of a timeline that are kept.
const EVENTS: usize = 1 << 20;

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Until {
    /// So much virtual time from the start of the machine.
    Time(Duration),
    /// So many instructions from the start of the machine.
    Instructions(u64),
}

/// What is to be looked at.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    /// Where to stop, if the program does not end before.
    pub until: Option<Until>,
    /// Count cycles by function and by system call, and while interrupts are masked.
    pub profile: bool,
    /// Note what runs when.
    pub timeline: bool,
}

/// What the user typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TerminalInput {
    /// These bytes.
    Bytes(Vec<u8>),
    /// Nothing yet.
    Nothing,
    /// Nothing any more.
    Ended,
}

/// The terminal of a guest.
pub trait Console {
    /// Shows what the guest printed.
    ///
    /// # Errors
    /// When it cannot be shown.
    fn print(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// What was typed since the last question; with `wait` only when there is something, or the end.
    ///
    /// # Errors
    /// When the input cannot be read.
    fn typed(&mut self, wait: bool) -> io::Result<TerminalInput>;
}

/// What came out of a run.
#[derive(Debug)]
pub struct RunOutcome {
    /// The figures.
    pub result: RunResult,
    /// What ran when, as Chrome trace JSON, if that was planned.
    pub timeline: Option<String>,
    /// Why the run counts as failed, if it does.
    pub failure: Option<Failure>,
}

impl Session {
    /// Runs as planned.
    ///
    /// # Errors
    /// When the console or a file does not work. What the guest does wrong is in [`RunOutcome::failure`].
    pub fn run(
        &mut self,
        plan: &Plan,
        console: &mut dyn Console,
        seed: Seed,
    ) -> Result<RunOutcome, Failure> {
        let profiling = plan.profile.then(|| {
            let profile = Arc::new(Mutex::new(Profile::new(Arc::clone(&self.symbols))));
            let profiling = Profiling { profile, masked: Shared::default() };
            self.machine.set_engine(profiling.clone());
            profiling
        });
        if plan.timeline {
            self.machine.processor_mut().recorder = Some(Recorder::new(EVENTS));
        }
        let limit = plan.until.map_or(Limit::NONE, |until| self.limit(until));
        let outcome = self.converse(limit, console).map_err(Failure::Console)?;
        self.usual_engine();
        let profile = profiling.map(|shared| {
            let mut profile = locked(&shared.profile).clone();
            profile.resume(&super::profile::Mark::of(self.machine.processor()));
            (profile, locked(&shared.masked).longest())
        });
        let measurement =
            Measurement { session: self, outcome: &outcome, profile: profile.as_ref(), seed };
        let mut result = tables::result(&measurement);
        findings::add(&mut result, &measurement);
        let failure = Failure::of_outcome(&outcome, &self.machine, &self.symbols);
        let timeline = plan.timeline.then(|| self.timeline());
        Ok(RunOutcome { result, timeline, failure })
    }

    fn limit(&self, until: Until) -> Limit {
        match until {
            Until::Time(time) => {
                let clock = self.machine.processor().bus.clock();
                Limit::cycles(clock.cycle_at(Instant::ZERO + time))
            }
            Until::Instructions(count) => Limit::instructions(count),
        }
    }

    /// Runs to `limit` or to the end, with the console between.
    pub(super) fn converse(
        &mut self,
        limit: Limit,
        console: &mut dyn Console,
    ) -> io::Result<Outcome> {
        let ended = self.converse_until(limit, console, || false)?;
        Ok(ended.expect("nothing else ends it"))
    }

    /// As [`Session::converse`], and to where `enough` says so, which is asked whenever the engine returns: then there is no outcome.
    pub(super) fn converse_until(
        &mut self,
        limit: Limit,
        console: &mut dyn Console,
        enough: impl Fn() -> bool,
    ) -> io::Result<Option<Outcome>> {
        loop {
            self.hear(console, false)?;
            let slice = self.machine.now().plus(SLICE).min(limit.cycles);
            let outcome = self.machine.run(Limit { cycles: slice, ..limit });
            console.print(&self.machine.take_console())?;
            match outcome {
                Outcome::Limit if enough() => return Ok(None),
                Outcome::Limit if !self.has_reached(limit) => {}
                Outcome::Output => {}
                Outcome::Input | Outcome::Asleep => {
                    let has_ended = self.hear(console, true)?;
                    if outcome == Outcome::Asleep && has_ended {
                        return Ok(Some(outcome));
                    }
                }
                other => return Ok(Some(other)),
            }
        }
    }

    fn has_reached(&self, limit: Limit) -> bool {
        let processor = self.machine.processor();
        processor.now >= limit.cycles || processor.counts.instructions >= limit.instructions
    }

    /// Types what the user typed: for UART 0 and for semihosting, of which a guest reads one. Returns whether the input
    /// has ended.
    fn hear(&mut self, console: &mut dyn Console, wait: bool) -> io::Result<bool> {
        let typed = console.typed(wait)?;
        match &typed {
            TerminalInput::Bytes(bytes) => {
                self.machine.push_input(0, bytes);
                self.machine.push_semihosting_input(bytes);
            }
            TerminalInput::Nothing => {}
            TerminalInput::Ended => self.machine.close_semihosting_input(),
        }
        Ok(typed == TerminalInput::Ended)
    }

    fn timeline(&mut self) -> String {
        let recorder = self.machine.processor_mut().recorder.take().unwrap_or_default();
        let names = timeline::Names { symbols: &self.symbols, calls: &self.calls };
        let Cycles(now) = self.machine.now();
        timeline::chrome(&recorder, Cycles(now), self.computer.settings.core_clock, names)
    }
}
