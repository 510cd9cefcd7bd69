//! One line of a measurement: its checksum and its content.
//!
//! Layer: rank 8. Main types: [`Line`], [`Flaw`]; function: [`parse`].
//!
//! A line of the agent is known by its first field. Something may stand before it, such as the prompt of a
//! shell, and a carriage return behind it, as terminals put it there.

use super::latency::{Each, Histogram, Latencies};
use super::registers;
use super::{End, EndKind, Head, Refusal, Restored, State, StepReading, Told, VERSION, Wear};
use crate::plan::{self, Step};
use boardlab_codec::crc::crc32;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value as Json;
use std::fmt;

/// First fields of lines.
const FIRST: [&str; 5] = ["boardlab_measurement", "begin", "step", "refused", "end"];
/// What is before the checksum, and behind it.
const BEFORE: &[u8] = b",\"crc\":\"";
const BEHIND: &[u8] = b"\"}";
/// Digits of the checksum.
const DIGITS: usize = 8;

/// What is wrong with a line of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flaw {
    /// It does not end in a checksum.
    CutOff,
    /// Its checksum is another one.
    Checksum {
        /// The one that it has.
        written: u32,
        /// That of its bytes.
        content: u32,
    },
    /// It is longer than any line of the agent.
    TooLong,
    /// It is of a version of measurements that this program does not know.
    Version(u64),
    /// Its checksum is right, and its content is not what such a line says: why.
    Content(String),
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CutOff => f.write_str("it does not end in a checksum: it is cut off"),
            Self::Checksum { written, content } => {
                write!(f, "its checksum is {written:08x}, expected {content:08x} for what it says")
            }
            Self::TooLong => f.write_str("it is longer than any line of the agent"),
            Self::Version(version) => {
                write!(f, "it is of version {version} of measurements, expected {VERSION}")
            }
            Self::Content(why) => write!(f, "it does not say what such a line says: {why}"),
        }
    }
}

/// One line.
#[derive(Debug)]
pub(super) enum Line {
    Head(Box<Head>),
    /// A step began: its name and its line of the plan.
    Begin {
        name: String,
        planned: Option<Step>,
    },
    Step(Box<StepReading>),
    Refused(Refusal),
    End(End),
}

/// Reads a line without its newline; `None` if it is not the agent's.
pub(super) fn parse(line: &[u8]) -> Option<Result<Line, Flaw>> {
    let line = line.trim_ascii_end();
    let start = start(line)?;
    Some(checked(&line[start..]).and_then(content))
}

/// Where a first field stands.
fn start(line: &[u8]) -> Option<usize> {
    let starts = |at: &usize| {
        let names = line[*at..].strip_prefix(b"{\"");
        names.is_some_and(|rest| {
            FIRST.iter().any(|name| {
                rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"\":"))
            })
        })
    };
    // Behind the first kilobyte nobody's prompt ends, and a line without any brace costs nothing.
    (0..line.len().min(1_024)).find(starts)
}

/// The line, if its checksum is right.
fn checked(line: &[u8]) -> Result<&[u8], Flaw> {
    let rest = line.strip_suffix(BEHIND).ok_or(Flaw::CutOff)?;
    let (rest, digits) = rest.split_last_chunk::<DIGITS>().ok_or(Flaw::CutOff)?;
    let are_digits = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let digits = str::from_utf8(digits).ok().filter(|_| are_digits).ok_or(Flaw::CutOff)?;
    let written = u32::from_str_radix(digits, 16).map_err(|_| Flaw::CutOff)?;
    let rest = rest.strip_suffix(BEFORE).ok_or(Flaw::CutOff)?;
    let content = !crc32(u32::MAX, rest);
    if written == content { Ok(line) } else { Err(Flaw::Checksum { written, content }) }
}

/// All fields of all lines.
#[derive(Deserialize)]
struct Fields {
    boardlab_measurement: Option<u64>,
    agent: Option<String>,
    plan: Option<PlanFields>,
    board: Option<IndexMap<String, Json>>,
    clock: Option<IndexMap<String, Json>>,
    wear: Option<Vec<Wear>>,
    begin: Option<String>,
    line: Option<String>,
    step: Option<String>,
    state: Option<StateName>,
    error: Option<String>,
    operations: Option<u64>,
    bytes: Option<u64>,
    elapsed_ns: Option<u64>,
    sum_ns: Option<u64>,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    histogram: Option<Vec<(u64, u64)>>,
    each_ns: Option<Each>,
    values: Option<IndexMap<String, Json>>,
    cpu_khz: Option<u64>,
    temperature_mc: Option<i64>,
    refused: Option<String>,
    end: Option<EndKind>,
    steps: Option<usize>,
    done: Option<usize>,
    restored: Option<Vec<Restored>>,
}

#[derive(Deserialize)]
struct PlanFields {
    scenario: String,
    steps: usize,
    crc32: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum StateName {
    Done,
    Stopped,
    Failed,
}

fn content(line: &[u8]) -> Result<Line, Flaw> {
    let fields: Result<Fields, _> = serde_json::from_slice(line);
    let mut fields = fields.map_err(|error| Flaw::Content(error.to_string()))?;
    if let Some(version) = fields.boardlab_measurement {
        return if version == VERSION { head(fields) } else { Err(Flaw::Version(version)) };
    }
    if let Some(why) = fields.refused {
        let step = fields.step.map(name).transpose()?;
        return Ok(Line::Refused(Refusal { why: text(why), step }));
    }
    if let Some(begun) = fields.begin {
        let planned = fields.line.as_deref().and_then(|line| Step::parse(line).ok());
        let name = name(begun)?;
        let planned = planned.filter(|step| step.name() == name);
        return Ok(Line::Begin { name, planned });
    }
    match (fields.step.take(), fields.end) {
        (Some(step), _) => self::step(step, fields),
        (None, Some(kind)) => Ok(Line::End(End {
            kind,
            steps: due(fields.steps, "steps")?,
            done: due(fields.done, "done")?,
            restored: fields.restored.unwrap_or_default(),
        })),
        (None, None) => Err(Flaw::Content("it has no first field".into())),
    }
}

fn head(fields: Fields) -> Result<Line, Flaw> {
    let plan = due(fields.plan, "plan")?;
    if plan.steps > plan::STEPS_MAX {
        return Err(Flaw::Content("more steps than a plan can have".into()));
    }
    Ok(Line::Head(Box::new(Head {
        agent: text(due(fields.agent, "agent")?),
        scenario: if plan.scenario.is_empty() { String::new() } else { name(plan.scenario)? },
        steps: plan.steps,
        plan_crc32: text(plan.crc32),
        board: told(fields.board)?,
        clock: told(fields.clock)?,
        wear: fields.wear.unwrap_or_default(),
    })))
}

fn step(step: String, fields: Fields) -> Result<Line, Flaw> {
    let operations = due(fields.operations, "operations")?;
    let state = match due(fields.state, "state")? {
        StateName::Done => State::Done,
        StateName::Stopped => State::Stopped,
        StateName::Failed => State::Failed(text(due(fields.error, "error")?)),
    };
    let latencies = if operations == 0 {
        None
    } else {
        let classes = due(fields.histogram, "histogram")?;
        let histogram = Histogram::new(classes, operations);
        let histogram = histogram.ok_or_else(|| Flaw::Content("its histogram is none".into()))?;
        let [sum_ns, min_ns, max_ns] = [
            due(fields.sum_ns, "sum_ns")?,
            due(fields.min_ns, "min_ns")?,
            due(fields.max_ns, "max_ns")?,
        ];
        Some(Latencies { sum_ns, min_ns, max_ns, histogram })
    };
    Ok(Line::Step(Box::new(StepReading {
        name: name(step)?,
        planned: None,
        state,
        operations,
        bytes: due(fields.bytes, "bytes")?,
        elapsed_ns: due(fields.elapsed_ns, "elapsed_ns")?,
        latencies,
        each: fields.each_ns,
        values: registers::decoded(told(fields.values)?),
        cpu_khz: fields.cpu_khz,
        temperature_mc: fields.temperature_mc,
    })))
}

fn due<T>(field: Option<T>, name: &str) -> Result<T, Flaw> {
    field.ok_or_else(|| Flaw::Content(format!("it lacks `{name}`")))
}

/// A name of a step, a scenario or a value: these become ids.
fn name(text: String) -> Result<String, Flaw> {
    if plan::is_name(&text) { Ok(text) } else { Err(Flaw::Content("a name is none".into())) }
}

fn told(fields: Option<IndexMap<String, Json>>) -> Result<IndexMap<String, Told>, Flaw> {
    let each = fields.unwrap_or_default().into_iter().map(|(key, value)| {
        let value = match value {
            Json::String(string) => Told::Text(text(string)),
            other => other.as_u64().map_or_else(|| Told::Text(other.to_string()), Told::Number),
        };
        Ok((name(key)?, value))
    });
    each.collect()
}

/// A text of the agent, which writes each byte that is not ASCII as one character.
pub(super) fn text(written: String) -> String {
    let bytes: Option<Vec<u8>> = written.chars().map(|one| u8::try_from(one).ok()).collect();
    bytes.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or(written)
}
