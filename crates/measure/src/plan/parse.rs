//! Reads plans, which may come from anybody; stops at the first flaw.
//!
//! Layer: rank 8. Functions: [`plan`], [`step_line`]; main type: [`Flaw`]. The agent's reader finds the same
//! flaws at the same places, apart from predictions and bytes that are not UTF-8, which it lets pass.

use super::operations::{Key, Kind, NUMBER_MAX, named};
use super::{
    LINE_MAX, MAGIC, NAME_MAX, PREDICT, Plan, STEPS_MAX, Step, VERSION, Value, decode, operations,
};
use boardlab_result::foreign::shown_at_most;
use std::collections::HashSet;
use std::fmt;

/// The number of characters of a text that an error repeats.
const TEXT_SHOWN: usize = 60;

/// What is wrong with the text of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 1.
    pub column: usize,
    /// What is there; harmless to show.
    pub found: String,
    /// What is due.
    pub expected: String,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, found, expected } = self;
        write!(f, "line {line}, column {column}: found {found}, expected {expected}")
    }
}

impl std::error::Error for Flaw {}

/// One field of a line; empty at its end.
#[derive(Clone, Copy)]
struct Field<'t> {
    /// Number of the line.
    line: usize,
    /// Bytes of the line before it.
    start: usize,
    text: &'t str,
}

impl<'t> Field<'t> {
    /// The flaw that it is not `expected`.
    fn refuse(self, expected: impl Into<String>) -> Flaw {
        let found = match self.text {
            "" => "the end of the line".into(),
            text => format!("`{}`", shown_at_most(text, TEXT_SHOWN)),
        };
        flaw(self.line, self.start, found, expected)
    }

    /// Its rest from the byte `from`.
    fn rest(self, from: usize) -> Self {
        Self { start: self.start + from, text: &self.text[from..], ..self }
    }

    fn take(self, length: usize) -> Self {
        Self { text: &self.text[..length], ..self }
    }

    fn expect_end(self) -> Result<(), Flaw> {
        if self.text.is_empty() { Ok(()) } else { Err(self.refuse("the end of the line")) }
    }

    fn is(self, text: &str) -> bool {
        self.text == text
    }

    fn decoded(self) -> Option<String> {
        decode(self.text)
    }
}

fn flaw(line: usize, before: usize, found: impl Into<String>, expected: impl Into<String>) -> Flaw {
    Flaw { line, column: before + 1, found: found.into(), expected: expected.into() }
}

/// The fields of a line.
struct Fields<'t> {
    number: usize,
    line: &'t str,
    at: usize,
}

impl<'t> Fields<'t> {
    fn next(&mut self) -> Field<'t> {
        let rest = &self.line[self.at..];
        let start = self.at + rest.len() - rest.trim_start_matches(' ').len();
        let length = self.line[start..].find(' ').unwrap_or(self.line.len() - start);
        self.at = start + length;
        Field { line: self.number, start, text: &self.line[start..self.at] }
    }
}

/// Reads the text of a plan.
pub(super) fn plan(text: &str) -> Result<Plan, Flaw> {
    let mut reader = Reader::default();
    let (mut rest, mut number) = (text, 0);
    while number == 0 || !rest.is_empty() {
        number += 1;
        let Some((line, after)) = rest.split_once('\n') else {
            let expected = "a newline: the plan may be cut off";
            return Err(flaw(number, rest.len(), "the end of the file", expected));
        };
        reader.line(number, line)?;
        rest = after;
    }
    match reader.plan.steps.is_empty() {
        true => Err(flaw(number, 0, "no step", "at least one")),
        false => Ok(reader.plan),
    }
}

/// Reads the line of one step.
pub(super) fn step_line(line: &str) -> Result<Step, Flaw> {
    expect_plain(1, line)?;
    let mut fields = Fields { number: 1, line, at: 0 };
    match fields.next() {
        word if word.is("step") => step(&mut fields, &HashSet::new()),
        other => Err(other.refuse("step")),
    }
}

fn expect_plain(number: usize, line: &str) -> Result<(), Flaw> {
    if line.len() > LINE_MAX {
        return Err(flaw(number, LINE_MAX, "a longer line", "at most 4096 characters"));
    }
    match line.bytes().position(|byte| !(b' '..=b'~').contains(&byte)) {
        Some(at) => Err(flaw(number, at, "a byte that is not printable", "ASCII characters")),
        None => Ok(()),
    }
}

/// What was read so far.
#[derive(Default)]
struct Reader {
    plan: Plan,
    /// The names of its steps.
    names: HashSet<String>,
    /// The remarks since the last step.
    remarks: Vec<String>,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) -> Result<(), Flaw> {
        expect_plain(number, line)?;
        if number > 1
            && let Some(remark) = line.strip_prefix('#')
        {
            self.remarks.push(remark.strip_prefix(' ').unwrap_or(remark).into());
            return Ok(());
        }
        let mut fields = Fields { number, line, at: 0 };
        let word = fields.next();
        match word.text {
            _ if number == 1 => version(word, &mut fields),
            "" => Ok(()),
            "step" => self.step(&mut fields),
            "endurance" => self.endurance(&mut fields),
            "scenario" => self.scenario(&mut fields),
            _ => Err(word.refuse("step, scenario or endurance")),
        }
    }

    fn step(&mut self, fields: &mut Fields<'_>) -> Result<(), Flaw> {
        if self.plan.steps.len() == STEPS_MAX {
            return Err(flaw(fields.number, 0, "another step", "at most 10000"));
        }
        let mut step = step(fields, &self.names)?;
        step.remarks = std::mem::take(&mut self.remarks);
        self.names.insert(step.name.clone());
        self.plan.push(step);
        Ok(())
    }

    fn endurance(&mut self, fields: &mut Fields<'_>) -> Result<(), Flaw> {
        let (target, cycles) = (fields.next(), fields.next());
        let path = target.decoded().filter(|path| path.starts_with('/'));
        let path = path.ok_or_else(|| target.refuse("an absolute path"))?;
        if self.plan.endurances.iter().any(|(other, _)| *other == path) {
            return Err(target.refuse("every target once"));
        }
        let count = digits(cycles.text).filter(|count| *count > 0);
        let count = count.ok_or_else(|| cycles.refuse("a number of cycles"))?;
        self.plan.endurances.push((path, count));
        self.take_remarks();
        fields.next().expect_end()
    }

    fn scenario(&mut self, fields: &mut Fields<'_>) -> Result<(), Flaw> {
        let (name, more) = (fields.next(), fields.next());
        if !self.plan.scenario.is_empty() {
            return Err(flaw(fields.number, 0, "a second scenario", "one"));
        }
        if !is_name(name.text) {
            return Err(name.refuse("the name of a scenario"));
        }
        self.plan.scenario = name.text.into();
        self.take_remarks();
        more.expect_end()
    }

    /// Makes the remarks so far those of the plan.
    fn take_remarks(&mut self) {
        self.plan.remarks.append(&mut self.remarks);
    }
}

fn version(word: Field<'_>, fields: &mut Fields<'_>) -> Result<(), Flaw> {
    let (version, more) = (fields.next(), fields.next());
    if !word.is(MAGIC) {
        return Err(word.refuse("boardlab-plan 1"));
    }
    if version.text != VERSION.to_string() {
        return Err(version.refuse("version 1"));
    }
    more.expect_end()
}

/// A step, whose name is not one of `names`, behind the word `step`.
fn step(fields: &mut Fields<'_>, names: &HashSet<String>) -> Result<Step, Flaw> {
    let name = fields.next();
    if !is_name(name.text) {
        return Err(name.refuse("a name of 1 to 64 letters, digits, . _ -"));
    }
    if names.contains(name.text) {
        return Err(name.refuse("a name of its own"));
    }
    let word = fields.next();
    let operation = named(word.text).ok_or_else(|| word.refuse("an operation"))?;
    let mut step = Step::new(name.text, operation.name);
    let end = loop {
        let field = fields.next();
        match field.text.find('=') {
            _ if field.text.is_empty() => break field,
            None => return Err(field.refuse("KEY=VALUE")),
            Some(equals) => pair(&mut step, field, equals)?,
        }
    };
    let missing = |key: &&Key| key.fallback.is_none() && step.given(key.name).is_none();
    match operation.keys().find(missing) {
        Some(key) => {
            Err(flaw(end.line, end.start, "the end of the step", format!("{}=...", key.name)))
        }
        None => Ok(step),
    }
}

/// Reads `field`, with its sign `=` at the byte `equals`, as a key of `step`.
fn pair(step: &mut Step, field: Field<'_>, equals: usize) -> Result<(), Flaw> {
    let (name, written) = (field.take(equals), field.rest(equals + 1));
    if name.text.starts_with(PREDICT) {
        return prediction(step, name, written);
    }
    let Some(key) = step.operation.key(name.text) else {
        let keys: Vec<_> = step.operation.keys().map(|key| key.name).collect();
        return Err(name.refuse(match keys[..] {
            [] => "the end of the line".to_owned(),
            _ => format!("a key of the operation: {}", keys.join(" ")),
        }));
    };
    if step.given(key.name).is_some() {
        return Err(name.refuse("every key once"));
    }
    let text = written.decoded();
    let text = text.ok_or_else(|| written.refuse("% with two digits 0-9A-F"))?;
    let value = value(key, text).map_err(|expected| written.refuse(expected))?;
    step.keys.push((key.name, value));
    Ok(())
}

fn prediction(step: &mut Step, name: Field<'_>, written: Field<'_>) -> Result<(), Flaw> {
    let metric = name.rest(PREDICT.len());
    if !is_metric(metric.text) {
        return Err(name.refuse("predict. with the name of a metric, such as predict.mean_ns"));
    }
    if step.predictions.iter().any(|(other, _)| other == metric.text) {
        return Err(name.refuse("every key once"));
    }
    let number = digits(written.text);
    let number =
        number.ok_or_else(|| written.refuse(format!("a number from 0 to {NUMBER_MAX}")))?;
    step.predictions.push((metric.text.into(), number));
    Ok(())
}

/// The value of `key`, or what is due in place of `text`.
fn value(key: &Key, text: String) -> Result<Value, String> {
    match key.kind {
        Kind::Flag => match text.as_str() {
            "0" | "1" => Ok(Value::Number(u64::from(text == "1"))),
            _ => Err("0 or 1".into()),
        },
        Kind::Word(words) => match words.contains(&text.as_str()) {
            true => Ok(Value::Text(text)),
            false => Err(format!("one of: {}", words.join(" "))),
        },
        Kind::Path if !text.starts_with('/') => Err("an absolute path".into()),
        Kind::Path | Kind::Text => Ok(Value::Text(text)),
        Kind::Number { least, most } => {
            let number = digits(&text).filter(|number| (least..=most).contains(number));
            number.map(Value::Number).ok_or_else(|| format!("a number from {least} to {most}"))
        }
    }
}

/// The number of decimal `digits`, below 2^63.
fn digits(digits: &str) -> Option<u64> {
    let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = are_digits.then(|| digits.parse().ok()).flatten()?;
    Some(number).filter(|number| *number <= operations::NUMBER_MAX)
}

/// Whether `text` can name a step or a scenario: 1 to [`NAME_MAX`] letters, digits, `.`, `_` and `-`.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=NAME_MAX).contains(&text.len()) && text.bytes().all(is_allowed)
}

/// Whether `text` can name a metric.
pub(super) fn is_metric(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=NAME_MAX).contains(&text.len()) && text.bytes().all(is_allowed)
}
