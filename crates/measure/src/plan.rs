//! Plans: what the agent does on a board, step by step.
//!
//! Layer: rank 8. Main types: [`Plan`], [`Step`], [`Value`]; [`Flaw`], what is wrong with a text. Source:
//! `docs/formats/measurement-plan.md`. In reading order: [`operations`], `encoding`, `parse`.
//!
//! The builder is for code: an operation or a key that does not exist is a defect of the caller and
//! panics. Values may come from users, so whoever builds a plan checks it with [`Plan::check`].

mod encoding;
pub mod operations;
mod parse;

pub use encoding::{decode, encode};
pub use parse::{Flaw, is_name};

use operations::Operation;
use std::fmt;

/// The version of plans.
pub const VERSION: u32 = 1;
/// The most characters of a line.
pub const LINE_MAX: usize = 4_096;
/// The most steps of a plan.
pub const STEPS_MAX: usize = 10_000;
/// The most characters of the name of a step.
pub const NAME_MAX: usize = 64;
/// The first word of a plan.
const MAGIC: &str = "boardlab-plan";
/// What keys of predictions begin with.
const PREDICT: &str = "predict.";
/// The width of remarks.
const REMARK_WIDTH: usize = 100;

/// What the agent does on a board.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    scenario: String,
    remarks: Vec<String>,
    endurances: Vec<(String, u64)>,
    steps: Vec<Step>,
}

/// One step of a plan: an operation, repeated over a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    name: String,
    operation: &'static Operation,
    keys: Vec<(&'static str, Value)>,
    predictions: Vec<(String, u64)>,
    remarks: Vec<String>,
}

/// The value of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// A number, or a flag.
    Number(u64),
    /// A word, a path or other text, not encoded.
    Text(String),
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Number(u64::from(flag))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl fmt::Display for Value {
    /// As plans have it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => f.write_str(&encode(text)),
        }
    }
}

impl Plan {
    /// The plan of a scenario, without steps; an empty name is none.
    #[must_use]
    pub fn new(scenario: &str) -> Self {
        Self { scenario: scenario.into(), ..Self::default() }
    }

    /// Adds a remark at the top, for people. Long ones are wrapped.
    #[must_use]
    pub fn remark(mut self, text: &str) -> Self {
        self.add_remark(text);
        self
    }

    /// As [`Plan::remark`], in place.
    pub fn add_remark(&mut self, text: &str) {
        self.remarks.extend(wrapped(text));
    }

    /// Says how many cycles the blocks of `target` survive.
    #[must_use]
    pub fn endurance(mut self, target: &str, cycles: u64) -> Self {
        self.endurances.push((target.into(), cycles));
        self
    }

    /// Adds a step.
    #[must_use]
    pub fn step(mut self, step: Step) -> Self {
        self.push(step);
        self
    }

    /// Adds a step.
    pub fn push(&mut self, step: Step) {
        self.steps.push(step);
    }

    /// The name of the scenario; empty if there is none.
    #[must_use]
    pub fn scenario(&self) -> &str {
        &self.scenario
    }

    /// The cycles that blocks survive, by target.
    #[must_use]
    pub fn endurances(&self) -> &[(String, u64)] {
        &self.endurances
    }

    /// The steps in order.
    #[must_use]
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The targets of the steps that write, in order, each once: those for `--destroy`.
    #[must_use]
    pub fn written(&self) -> Vec<&str> {
        let mut targets = Vec::new();
        for target in self.steps.iter().filter(|step| step.writes()).filter_map(Step::target) {
            if !targets.contains(&target) {
                targets.push(target);
            }
        }
        targets
    }

    /// Reads a plan.
    ///
    /// # Errors
    /// [`Flaw`]: the first thing that is wrong with `text`, which may be anybody's.
    pub fn parse(text: &str) -> Result<Self, Flaw> {
        parse::plan(text)
    }

    /// Whether its text is a plan. That of the builder is not, where a number is outside of what its key
    /// allows, a needed key is missing, two steps have the same name, or there is none.
    ///
    /// # Errors
    /// [`Flaw`], in the text of the plan.
    pub fn check(&self) -> Result<(), Flaw> {
        Self::parse(&self.to_string()).map(drop)
    }
}

impl fmt::Display for Plan {
    /// The text of the plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{MAGIC} {VERSION}")?;
        self.remarks.iter().try_for_each(|line| write_remark(f, line))?;
        if !self.scenario.is_empty() {
            writeln!(f, "scenario {}", self.scenario)?;
        }
        for (target, cycles) in &self.endurances {
            writeln!(f, "endurance {} {cycles}", encode(target))?;
        }
        for step in &self.steps {
            step.remarks.iter().try_for_each(|line| write_remark(f, line))?;
            writeln!(f, "{step}")?;
        }
        Ok(())
    }
}

impl Step {
    /// A step called `name`: 1 to 64 letters, digits, `.`, `_` and `-`.
    ///
    /// # Panics
    /// When there is no such operation.
    #[must_use]
    pub fn new(name: impl Into<String>, operation: &str) -> Self {
        let known = operations::named(operation);
        let operation = known.unwrap_or_else(|| panic!("Step::new: no operation `{operation}`"));
        let name = name.into();
        Self { name, operation, keys: Vec::new(), predictions: Vec::new(), remarks: Vec::new() }
    }

    /// Sets `key`.
    ///
    /// # Panics
    /// When the operation has no such key, the step has it already, or its values are of another type.
    #[must_use]
    pub fn key(mut self, key: &str, value: impl Into<Value>) -> Self {
        let (operation, value) = (self.operation.name, value.into());
        let known = self.operation.key(key);
        let known = known.unwrap_or_else(|| panic!("Step::key: {operation} has no `{key}`"));
        let is_number = matches!(value, Value::Number(_));
        assert_eq!(
            is_number,
            known.is_number(),
            "Step::key: {operation}: `{key}` is of another type"
        );
        assert!(self.given(key).is_none(), "Step::key: {operation}: `{key}` twice");
        self.keys.push((known.name, value));
        self
    }

    /// As [`Step::key`], in place of the value that the key has.
    ///
    /// # Panics
    /// As [`Step::key`], but for a key that is given already.
    #[must_use]
    pub fn with_key(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.keys.retain(|(name, _)| *name != key);
        self.key(key, value)
    }

    /// Sets the key `device`.
    ///
    /// # Panics
    /// As [`Step::key`].
    #[must_use]
    pub fn device(self, path: &str) -> Self {
        self.key("device", path)
    }

    /// Sets the key `path`.
    ///
    /// # Panics
    /// As [`Step::key`].
    #[must_use]
    pub fn path(self, path: &str) -> Self {
        self.key("path", path)
    }

    /// Says what `metric` is expected to be, in its unit, such as `mean_ns`; nothing for `None`.
    ///
    /// # Panics
    /// When the step has a prediction of it, or `metric` is not of lower-case letters, digits and `_`.
    #[must_use]
    pub fn predict(mut self, metric: &str, value: impl Into<Option<u64>>) -> Self {
        assert!(parse::is_metric(metric), "Step::predict: `{metric}` is no metric");
        let is_new = self.predictions.iter().all(|(other, _)| other != metric);
        assert!(is_new, "Step::predict: `{metric}` twice");
        self.predictions.extend(value.into().map(|value| (metric.into(), value)));
        self
    }

    /// Adds a remark before the step, for people. Long ones are wrapped.
    #[must_use]
    pub fn remark(mut self, text: &str) -> Self {
        self.remarks.extend(wrapped(text));
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The operation.
    #[must_use]
    pub const fn operation(&self) -> &'static Operation {
        self.operation
    }

    /// The value of `key`, if the step gives it.
    #[must_use]
    pub fn given(&self, key: &str) -> Option<&Value> {
        self.keys.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The text of `key`, given or the fallback; `None` of numbers and unknown keys.
    #[must_use]
    pub fn text(&self, key: &str) -> Option<&str> {
        match self.given(key) {
            Some(Value::Text(text)) => Some(text),
            Some(Value::Number(_)) => None,
            None => self.operation.key(key).filter(|key| !key.is_number())?.fallback,
        }
    }

    /// The number of `key`, given or the fallback; `None` of texts and unknown keys.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        match self.given(key) {
            Some(Value::Number(number)) => Some(*number),
            Some(Value::Text(_)) => None,
            None => {
                let key = self.operation.key(key).filter(|key| key.is_number())?;
                key.fallback?.parse().ok()
            }
        }
    }

    /// The predictions: metrics and numbers in their units.
    #[must_use]
    pub fn predictions(&self) -> &[(String, u64)] {
        &self.predictions
    }

    /// The device or the path that the step is about.
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        self.text("device").or_else(|| self.text("path"))
    }

    /// Whether the step writes, so that its target has to be named for destruction.
    #[must_use]
    pub fn writes(&self) -> bool {
        if self.operation.name != operations::MOUNT {
            return self.operation.writes;
        }
        let is_read_only = |options: &str| options.split(',').any(|option| option == "ro");
        let is_quiet = |kind: &str| operations::QUIET_READ_ONLY.contains(&kind);
        !self.text("options").is_some_and(is_read_only) || !self.text("type").is_some_and(is_quiet)
    }

    /// Reads one line of a plan, as measurements repeat it.
    ///
    /// # Errors
    /// [`Flaw`], with 1 as the number of the line.
    pub fn parse(line: &str) -> Result<Self, Flaw> {
        parse::step_line(line)
    }
}

impl fmt::Display for Step {
    /// The line of the step, without remarks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {} {}", self.name, self.operation.name)?;
        self.keys.iter().try_for_each(|(key, value)| write!(f, " {key}={value}"))?;
        let mut predictions = self.predictions.iter();
        predictions.try_for_each(|(metric, value)| write!(f, " {PREDICT}{metric}={value}"))
    }
}

fn write_remark(f: &mut fmt::Formatter<'_>, line: &str) -> fmt::Result {
    if line.is_empty() { writeln!(f, "#") } else { writeln!(f, "# {line}") }
}

/// The lines of a remark, of printable ASCII.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let word: String = word.chars().map(plain).collect();
            if !line.is_empty() && line.len() + 1 + word.len() > REMARK_WIDTH {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        // A word longer than a line of a plan is nothing that people read.
        line.truncate(LINE_MAX - 2);
        lines.push(line);
    }
    lines
}

/// A character of a remark as one that plans have.
const fn plain(character: char) -> char {
    match character {
        '!'..='~' => character,
        'µ' | 'μ' => 'u',
        '–' | '—' | '−' => '-',
        '×' => 'x',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        _ => '?',
    }
}

#[cfg(test)]
mod tests;
