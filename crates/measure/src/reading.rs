//! Measurements: the lines that the agent wrote, checked, as far as there are any.
//!
//! Layer: rank 8. Main types: [`Reading`], one measurement; [`StepReading`]; [`Event`], one line. Function:
//! [`read`]. Source: `docs/formats/measurement.md`. In reading order: `line` (one line and its checksum),
//! [`latency`] (histograms, every latency), `registers` (what devices tell about themselves), `gather` (from lines
//! to measurements).
//!
//! The lines are untrusted: they come over serial lines, from boards that lost power, and from anybody.
//! What is damaged is told and left out. Memory is bounded: a line has at most [`LINE_MAX`] bytes, every
//! latency of a step is reduced while it is read, and all else is part of the text.

mod gather;
pub mod latency;
mod line;
pub(crate) mod registers;

pub use gather::{Gatherer, read};
pub use line::Flaw;

use crate::plan;
use indexmap::IndexMap;
use latency::{Each, Latencies};
use serde::Deserialize;

/// The version of measurements.
pub const VERSION: u64 = 1;
/// The most bytes of a line: some 50 million latencies.
pub const LINE_MAX: u64 = 1 << 29;
/// The number of damaged lines that are told.
pub const DAMAGE_MAX: usize = 20;

/// One measurement: what the agent wrote about one plan.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// What was measured on what; `None`: the line is lost.
    pub head: Option<Head>,
    /// The steps that ended, in order.
    pub steps: Vec<StepReading>,
    /// The step that began last and did not end.
    pub unfinished: Option<String>,
    /// Steps before it that began, and of which no end is known.
    pub lost: Vec<String>,
    /// The number of steps whose beginning is lost, and with it their predictions.
    pub strays: usize,
    /// Why the agent refused the plan.
    pub refusal: Option<Refusal>,
    /// The end; `None`: the agent was killed, or the power went.
    pub end: Option<End>,
    /// Damaged lines, the first of them.
    pub damage: Vec<Damage>,
    /// The number of further ones.
    pub damage_hidden: usize,
    /// The number of lines that are not the agent's.
    pub foreign: usize,
}

/// What was measured on what.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Head {
    /// The agent's version.
    pub agent: String,
    /// The scenario that the plan names; empty if it names none.
    pub scenario: String,
    /// The number of steps of the plan.
    pub steps: usize,
    /// The CRC-32 of the text of the plan.
    pub plan_crc32: String,
    /// The board, by field.
    pub board: IndexMap<String, Told>,
    /// Its clock, by field.
    pub clock: IndexMap<String, Told>,
    /// What the plan wears.
    pub wear: Vec<Wear>,
}

/// What the plan wears of one target.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Wear {
    /// The device or the path.
    pub target: String,
    /// Cycles of the block that is erased most often.
    pub cycles: u64,
    /// The cycles that it survives, where the plan says so.
    pub endurance: Option<u64>,
}

/// A number or a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// A whole number, in the unit of its name.
    Number(u64),
    /// Anything else.
    Text(String),
}

/// One step that ended.
#[derive(Debug, Clone, PartialEq)]
pub struct StepReading {
    /// Its name.
    pub name: String,
    /// Its line of the plan; `None`: that is lost, or newer than this program.
    pub planned: Option<plan::Step>,
    /// How it ended.
    pub state: State,
    /// Completed operations.
    pub operations: u64,
    /// Their bytes.
    pub bytes: u64,
    /// From the first operation to the last.
    pub elapsed_ns: u64,
    /// The latencies; `None` without operations.
    pub latencies: Option<Latencies>,
    /// Every latency in order, reduced.
    pub each: Option<Each>,
    /// What the operation tells besides.
    pub values: IndexMap<String, Told>,
    /// Frequency of the first CPU at its end, in kHz.
    pub cpu_khz: Option<u64>,
    /// The warmest zone at its end, in thousandths of a degree Celsius.
    pub temperature_mc: Option<i64>,
}

/// How a step ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// All of it was done.
    Done,
    /// Its limit was over, or a signal came.
    Stopped,
    /// It failed.
    Failed(String),
}

/// Why a plan was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The reason.
    pub why: String,
    /// The step, where it is about one.
    pub step: Option<String>,
}

/// How a measurement ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// How.
    pub kind: EndKind,
    /// The number of steps of the plan.
    pub steps: usize,
    /// The number of those that were done.
    pub done: usize,
    /// What was set back to what it had been.
    pub restored: Vec<Restored>,
}

/// The ends of measurements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndKind {
    /// All steps were done.
    Complete,
    /// A signal came.
    Interrupted,
    /// A step failed.
    Failed,
}

/// Something that the agent set back.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Restored {
    /// What.
    pub what: String,
    /// Why it could not be set back.
    pub error: Option<String>,
}

/// A damaged line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The number of the line in the text, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// One line, for whoever follows a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// It began, with this number of steps.
    Head(usize),
    /// A step began.
    Begin(String),
    /// A step ended.
    Step(String),
    /// The plan was refused, and nothing done: the last line.
    Refused,
    /// The last line.
    End,
    /// A line of the agent that is damaged.
    Damaged,
    /// A line of something else.
    Foreign,
}

impl Event {
    /// What `line` is, without its newline.
    #[must_use]
    pub fn of(line: &[u8]) -> Self {
        match line::parse(line) {
            None => Self::Foreign,
            Some(Err(_)) => Self::Damaged,
            Some(Ok(line)) => match line {
                line::Line::Head(head) => Self::Head(head.steps),
                line::Line::Begin { name, .. } => Self::Begin(name),
                line::Line::Step(step) => Self::Step(step.name),
                line::Line::Refused(_) => Self::Refused,
                line::Line::End(_) => Self::End,
            },
        }
    }
}

impl Reading {
    /// Whether it is a whole measurement of the whole plan, without any damage.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        let Some((head, end)) = self.head.as_ref().zip(self.end.as_ref()) else { return false };
        let is_done = |step: &StepReading| !matches!(step.state, State::Failed(_));
        end.kind == EndKind::Complete
            && end.restored.iter().all(|one| one.error.is_none())
            && self.steps.len() == head.steps
            && self.steps.iter().all(is_done)
            && self.refusal.is_none()
            && self.unfinished.is_none()
            && self.lost.is_empty()
            && self.strays == 0
            && self.damage.is_empty()
    }

    /// Whether nothing of it was read.
    fn is_empty(&self) -> bool {
        self.head.is_none() && self.is_silent()
    }

    /// Whether there is nothing but the head.
    fn is_silent(&self) -> bool {
        self.steps.is_empty()
            && self.unfinished.is_none()
            && self.refusal.is_none()
            && self.end.is_none()
    }
}

impl StepReading {
    /// The mean latency, rounded.
    #[must_use]
    pub fn mean_ns(&self) -> Option<u64> {
        rounded(u128::from(self.latencies.as_ref()?.sum_ns), u128::from(self.operations))
    }

    /// Bytes a second, rounded; `None` where there are none, or no time passed.
    #[must_use]
    pub fn bytes_per_s(&self) -> Option<u64> {
        let bytes = Some(self.bytes).filter(|bytes| *bytes > 0)?;
        rounded(u128::from(bytes) * NS_PER_S, u128::from(self.elapsed_ns))
    }

    /// Operations a second; `None` where there are none, or no time passed.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "a ratio for display and comparison")]
    pub fn operations_per_s(&self) -> Option<f64> {
        let is_known = self.operations > 0 && self.elapsed_ns > 0;
        is_known.then(|| self.operations as f64 * 1e9 / self.elapsed_ns as f64)
    }
}

const NS_PER_S: u128 = 1_000_000_000;

/// `sum / count`, rounded to the nearest; `None` for a count of zero and beyond 64 bits.
fn rounded(sum: u128, count: u128) -> Option<u64> {
    u64::try_from((sum + count / 2).checked_div(count)?).ok()
}

#[cfg(test)]
pub(crate) mod tests;
