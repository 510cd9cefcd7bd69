//! The value of one key: limits on it, and what it rests on.
//!
//! Layer: rank 7. Main types: [`Key`], the value of a key with limits, and [`SourcedValue`], a value
//! with its origin and source. A value is written bare, or as
//! `{ value = "284 ns", origin = "published", source = "document, table 4" }`. In a part or board
//! file a bare number is refused: every number needs a source.

use super::node::{Node, Table};
use super::problems::{AlreadyReported, Read};
use super::reader::{Section, State};
use super::value::{Description, PlacedMisfit, Value};
use crate::misfit::Misfit;
use crate::source::Kind;
use boardlab_result::{Origin, Parameter};

/// A value and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedValue<T> {
    /// The value.
    pub value: T,
    /// Its key, its value as written, its origin and its source.
    pub parameter: Parameter,
}

/// What an accessor wants to know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wants {
    /// The value alone.
    Value,
    /// The value with what it rests on.
    Source,
}

pub(super) type Check<'s, T> = Box<dyn Fn(&T) -> Option<Misfit> + 's>;

/// The value of one key, with limits on it.
pub struct Key<'s, 'a, T> {
    section: &'s Section<'a>,
    name: &'s str,
    checks: Vec<Check<'s, T>>,
    /// The limits in words, if somebody records them.
    limits: Vec<String>,
    default: Option<T>,
}

impl<'s, 'a, T> Key<'s, 'a, T> {
    pub(super) const fn new(section: &'s Section<'a>, name: &'s str) -> Self {
        Self { section, name, checks: Vec::new(), limits: Vec::new(), default: None }
    }

    /// The section of that name, which must be there.
    pub fn section(self, read: impl FnOnce(Section<'_>) -> Read<T>) -> Read<T> {
        self.section.section(self.name, read)
    }

    /// The section of that name, if it is there.
    pub fn optional_section(self, read: impl FnOnce(Section<'_>) -> Read<T>) -> Read<Option<T>> {
        self.section.optional_section(self.name, read)
    }
}

impl<'s, 'a, T: Value + 's> Key<'s, 'a, T> {
    /// Refuses zero.
    #[must_use]
    pub fn positive(mut self) -> Self {
        self.limit(|| "not zero".into());
        self.checks.push(Box::new(|value: &T| value.is_zero().then_some(Misfit::Zero)));
        self
    }

    /// Keeps a limit in words where somebody records it.
    fn limit(&mut self, words: impl FnOnce() -> String) {
        if self.section.context().observer.is_some() {
            self.limits.push(words());
        }
    }

    /// Refuses what is not from `low` to `high`, both of them taken.
    #[must_use]
    pub fn within(mut self, low: T, high: T) -> Self
    where
        T: PartialOrd + std::fmt::Display,
    {
        self.limit(|| format!("{low} to {high}"));
        self.checks.push(Box::new(move |value: &T| {
            let (low, high) = (&low, &high);
            let outside = || Misfit::Outside { low: low.to_string(), high: high.to_string() };
            (value < low || value > high).then(outside)
        }));
        self
    }

    /// Refuses what is more than `high`, the largest value of its type: no limit to record beside a smaller one.
    pub(crate) fn of_type(self, high: T) -> Self
    where
        T: PartialOrd + std::fmt::Display + Default,
    {
        let limits = self.limits.clone();
        let mut key = self.within(T::default(), high);
        if !limits.is_empty() {
            key.limits = limits;
        }
        key
    }

    /// Refuses what is more than `high`.
    #[must_use]
    pub fn up_to(self, high: T) -> Self
    where
        T: PartialOrd + std::fmt::Display + Default,
    {
        self.within(T::default(), high)
    }

    /// Takes `default` where the value lacks.
    #[must_use]
    pub fn or(mut self, default: T) -> Self
    where
        T: std::fmt::Display,
    {
        let written = || default.to_string();
        self.section.describe(self.name, |asked| asked.default = Some(written()));
        self.default = Some(default);
        self
    }

    /// The value, which must be there unless it has a default.
    pub fn required(mut self) -> Read<T> {
        let read = self.read(Wants::Value)?.map(|sourced| sourced.value);
        read.or_else(|| self.default.take()).ok_or_else(|| self.lacks(T::NUMBER))
    }

    /// The value, if it is there.
    pub fn optional(self) -> Read<Option<T>> {
        Ok(self.read(Wants::Value)?.map(|sourced| sourced.value))
    }

    /// The value with what it rests on; it becomes a parameter of the result.
    pub fn sourced(self) -> Read<SourcedValue<T>> {
        self.read(Wants::Source)?.ok_or_else(|| self.lacks(true))
    }

    /// The value with what it rests on, if it is there.
    pub fn optional_sourced(self) -> Read<Option<SourcedValue<T>>> {
        self.read(Wants::Source)
    }

    fn read(&self, wants: Wants) -> Read<Option<SourcedValue<T>>> {
        let node = self.section.node_of(self.name);
        self.section.describe(self.name, |asked| {
            let Description { expected, example, hint, names } = T::description();
            (asked.expected, asked.example, asked.hint) = (expected, Some(example), hint);
            asked.names = names;
            asked.limits.clone_from(&self.limits);
        });
        let Some(node) = node else { return Ok(None) };
        self.section.sourced_at(node, self.name, wants, &self.checks).map(Some)
    }

    fn lacks(&self, sourced: bool) -> AlreadyReported {
        let Description { expected, example, .. } = T::description();
        self.section.lacks(self.name, expected, &example, sourced)
    }
}

impl Section<'_> {
    /// Reads a value written bare or with its origin, checks it, and records it as a parameter
    /// when it has an origin, when one is wanted, or when the user set it.
    pub(super) fn sourced_at<T: Value>(
        &self,
        node: &Node,
        key: &str,
        wants: Wants,
        checks: &[Check<'_, T>],
    ) -> Read<SourcedValue<T>> {
        let any = |table: &Table| {
            ["value", "origin", "source"].into_iter().any(|key| table.0.contains_key(key))
        };
        let given = match node.as_table() {
            Some(table) if any(table) => Some(self.provenance(node, key)?),
            _ => None,
        };
        let inner = node.bare();
        let value =
            T::read(inner).and_then(|value| match checks.iter().find_map(|check| check(&value)) {
                Some(misfit) => Err(PlacedMisfit::new(inner, misfit)),
                None => Ok(value),
            });
        let value = value.map_err(|misplaced| {
            let Description { expected, example, hint, .. } = T::description();
            let joint = if hint.is_empty() { "" } else { "; " };
            let help = format!("write it like {example}{joint}{hint}");
            self.report_value(key, misplaced, expected, help)
        })?;
        let source = inner.place.source();
        let strict = source.kind().is_some_and(Kind::needs_sources);
        let has_origin = given.is_some();
        if strict && !has_origin && (T::NUMBER || wants == Wants::Source) {
            return Err(self.unsourced(key, inner, &T::description().expected));
        }
        let (origin, source_text) = given.unwrap_or_else(|| {
            // What a user or a scenario chooses rests on nothing but the choice.
            (Origin::Assumed, source.name().into())
        });
        let parameter =
            Parameter { key: self.below(key), value: inner.written(), origin, source: source_text };
        if has_origin || wants == Wants::Source || source.is_argument() {
            let mut all = self.context().parameters.borrow_mut();
            all.insert(parameter.key.clone(), parameter.clone());
        }
        Ok(SourcedValue { value, parameter })
    }

    /// Refuses a bare value where each number needs a source, and shows it with one.
    fn unsourced(&self, key: &str, node: &Node, expected: &str) -> AlreadyReported {
        let written = match node.as_text() {
            Some(text) => format!("\"{text}\""),
            None => node.place.text().into(),
        };
        let help = format!("every number needs a source: {key} = {}", with_source(&written));
        let expected = format!("{expected} with its origin and source");
        self.report_value(key, PlacedMisfit::new(node, Misfit::Unsourced), expected, help)
    }

    /// Origin and source of a value that was written with them.
    fn provenance(&self, node: &Node, key: &str) -> Read<(Origin, String)> {
        let state = State::new(node, self.below(key), self.context());
        let state = state.expect("the caller has seen a table");
        let section = state.section();
        if !section.has("value") {
            let _ = section.lacks("value", "the value itself".into(), "\"...\"", false);
        }
        let origin = section.one_of("origin", &Origin::NAMES);
        let source = section.required::<String>("source");
        section.finish()?;
        Ok((origin?, source?))
    }
}

pub(super) fn with_source(example: &str) -> String {
    format!(
        "{{ value = {}, origin = \"datasheet\", source = \"document, table or section\" }}",
        first_of(example)
    )
}

/// The first example where a type shows two ways of writing.
pub(super) fn first_of(example: &str) -> &str {
    example.split(" or ").next().unwrap_or(example)
}
