//! The operating system on the simulated board: booted to the shell's prompt, given commands, watched at its marks.
//!
//! Layer: rank 11. Main types: [`Guest`], and [`CommandOutput`], what a command printed and spent. With the same kernel and the same
//! commands all is the same each time: what is typed arrives at a cycle that only depends on the run so far. It runs on the predecoded engine: under ever
//! new processes the compiler takes longer than its code saves.

use super::spent::Costs;
use boardlab_arm926::{Cycles, Limit};
use boardlab_experiment::Cause;
use boardlab_realview::{Card, EngineKind, Machine, Outcome, Program, Settings};
use boardlab_sim::{Duration, Instant};
use std::fmt;

/// What the shell prints when it waits for a command.
pub(super) const PROMPT: &[u8] = b"$ ";
/// Cycles between two looks at the console.
const SLICE: u64 = 100_000;
/// Virtual time that a command may take beyond what is known of it.
const PATIENCE: Duration = Duration::from_secs(60);
/// Virtual time from reset to the first prompt, hundreds of times of what it takes.
const BOOT: Duration = Duration::from_secs(5);
/// Bytes of the console that an error shows.
const SHOWN: usize = 300;

/// Marks that the programs of the system show: os/user/bench.c.
pub(crate) mod mark {
    /// The work alone begins.
    pub(in crate::fcse) const HOT: u32 = 1;
    /// It ended.
    pub(in crate::fcse) const HOT_END: u32 = 2;
    /// What is measured begins.
    pub(in crate::fcse) const BEGIN: u32 = 3;
    /// It ended.
    pub(in crate::fcse) const END: u32 = 4;
    /// Awake again after a timer interrupt.
    pub(in crate::fcse) const AWAKE: u32 = 5;
    /// Before exec.
    pub(in crate::fcse) const EXEC: u32 = 6;
    /// The new program runs.
    pub(in crate::fcse) const STARTED: u32 = 7;
}

/// Why a command brought no figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    /// How the machine ended, or what was not there.
    what: String,
    command: String,
    /// The last that it printed.
    console: String,
}

impl Problem {
    /// `what` is wrong with a command that `printed` this.
    pub(super) fn new(what: impl Into<String>, command: &str, printed: &[u8]) -> Self {
        let end = &printed[printed.len().saturating_sub(SHOWN)..];
        let console = String::from_utf8_lossy(end).into_owned();
        Self { what: what.into(), command: command.into(), console }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, command, console } = self;
        write!(f, "{what}, in `{command}`; the console's end: {console:?}")
    }
}

impl std::error::Error for Problem {}

/// What a command printed, and what an instrument saw at its marks.
#[derive(Debug, Clone)]
pub(crate) struct CommandOutput {
    command: String,
    /// What it printed, without the prompt.
    pub(crate) text: String,
    /// The marks in order.
    pub(crate) marks: Vec<(u32, Costs)>,
}

impl CommandOutput {
    /// What was spent from the first mark `from` to the first mark `to`.
    pub(crate) fn between(&self, from: u32, to: u32) -> Result<Costs, Problem> {
        let at = |value: u32| {
            let found = self.marks.iter().find(|(mark, _)| *mark == value);
            found.map(|(_, spent)| spent).ok_or_else(|| self.lacks(&format!("no mark {value}")))
        };
        let (before, after) = (at(from)?, at(to)?);
        Ok(after.since(before))
    }

    /// The number in the line `NAME VALUE UNIT`.
    pub(crate) fn number(&self, name: &str) -> Result<u64, Problem> {
        number(&self.text, name).ok_or_else(|| self.lacks(&format!("no line `{name}`")))
    }

    /// That something is missing.
    pub(crate) fn lacks(&self, what: &str) -> Problem {
        Problem::new(what, &self.command, self.text.as_bytes())
    }
}

/// The number in the line `NAME VALUE UNIT` of `text`.
pub(crate) fn number(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().map(str::split_whitespace);
    lines.find_map(|mut words| (words.next()? == name).then(|| words.next()?.parse().ok())?)
}

/// The system at its prompt.
#[derive(Debug)]
pub(crate) struct Guest {
    machine: Machine,
    printed: Vec<u8>,
}

impl Guest {
    /// Boots `kernel` with these options, `name=value` each.
    pub(crate) fn boot(
        kernel: &Program,
        settings: &Settings,
        options: &str,
        card: Option<Card>,
    ) -> Result<Self, Cause> {
        let mut machine = Machine::new(settings)?;
        machine.select_engine(EngineKind::Predecoded);
        machine.load(kernel)?;
        machine.set_command_line(&format!("kernel {options}"));
        if let Some(card) = card {
            machine.insert_card(card);
        }
        let mut guest = Self { machine, printed: Vec::new() };
        guest.await_prompt("reset to prompt", BOOT, &mut |_, _| ())?;
        guest.machine.watch_marks(true);
        Ok(guest)
    }

    /// All of it, to begin several runs at the same state.
    pub(crate) fn saved(&self) -> Result<Vec<u8>, Cause> {
        Ok(self.machine.snapshot()?)
    }

    /// A system that was saved.
    pub(crate) fn restored(saved: &[u8]) -> Result<Self, Cause> {
        let mut machine = Machine::restore(saved)?;
        machine.select_engine(EngineKind::Predecoded);
        Ok(Self { machine, printed: Vec::new() })
    }

    /// Types a command, and waits for the prompt.
    pub(crate) fn run(&mut self, command: &str) -> Result<CommandOutput, Cause> {
        self.run_long(command, Duration::ZERO)
    }

    /// As [`Guest::run`], for a command that takes `known` or some more.
    pub(crate) fn run_long(
        &mut self,
        command: &str,
        known: Duration,
    ) -> Result<CommandOutput, Cause> {
        let mut marks = Vec::new();
        let text = self.run_with(command, known, &mut |machine, value| {
            marks.push((value, Costs::of(machine)));
        })?;
        Ok(CommandOutput { command: command.into(), text, marks })
    }

    /// As [`Guest::run_long`], with `see` told of each mark.
    pub(crate) fn run_with(
        &mut self,
        command: &str,
        known: Duration,
        see: &mut dyn FnMut(&mut Machine, u32),
    ) -> Result<String, Cause> {
        self.printed.clear();
        self.machine.push_input(0, format!("{command}\n").as_bytes());
        self.await_prompt(command, PATIENCE + known, see)?;
        let text = &self.printed[..self.printed.len() - PROMPT.len()];
        Ok(String::from_utf8_lossy(text).into_owned())
    }

    /// Lets it go on for `time`, whatever it prints.
    pub(crate) fn go_on(&mut self, time: Duration) -> Result<(), Cause> {
        let until = self.after(time);
        while self.machine.now() < until {
            let outcome = self.machine.run(Limit::cycles(until));
            self.printed.extend(self.machine.take_console());
            if !matches!(outcome, Outcome::Limit | Outcome::Output | Outcome::Mark { .. }) {
                return Err(self.problem(outcome.to_string(), "load").into());
            }
        }
        Ok(())
    }

    fn await_prompt(
        &mut self,
        command: &str,
        patience: Duration,
        see: &mut dyn FnMut(&mut Machine, u32),
    ) -> Result<(), Problem> {
        let end = self.after(patience);
        loop {
            let slice = self.machine.now().plus(SLICE);
            let outcome = self.machine.run(Limit::cycles(slice));
            self.printed.extend(self.machine.take_console());
            match outcome {
                Outcome::Limit if self.printed.ends_with(PROMPT) => return Ok(()),
                Outcome::Limit if self.machine.now() < end => {}
                Outcome::Limit => {
                    return Err(self.problem("the prompt did not come back", command));
                }
                Outcome::Mark { value } => see(&mut self.machine, value),
                Outcome::Output => {}
                other => return Err(self.problem(other.to_string(), command)),
            }
        }
    }

    fn problem(&self, what: impl Into<String>, command: &str) -> Problem {
        Problem::new(what, command, &self.printed)
    }

    fn after(&self, time: Duration) -> Cycles {
        Cycles(self.machine.now().0.saturating_add(self.cycles(time)))
    }

    /// Cycles of the core in `time`.
    pub(crate) fn cycles(&self, time: Duration) -> u64 {
        self.machine.processor().bus.clock().cycle_at(Instant::ZERO + time).0
    }

    /// The machine.
    pub(crate) const fn machine(&mut self) -> &mut Machine {
        &mut self.machine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_by_the_first_word_of_its_line() {
        let text = "bench count\nticks 12 ticks\npages_free 30000 pages\nnoise\n";
        assert_eq!(number(text, "pages_free"), Some(30_000));
        assert_eq!(number(text, "ticks"), Some(12));
        assert_eq!(number(text, "noise"), None);
        assert_eq!(number(text, "tick"), None);
    }
}
