//! What can be wrong with the arguments of a sweep and with its journal.
//!
//! Layer: rank 8, a part of [`super`]. Main types: [`GridProblem`], [`JournalProblem`].

use super::render::{Message, TEXT_SHOWN, shown};

/// Why a `--grid` or a `--cell` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GridProblem {
    /// There is no key at all.
    Empty,
    /// A key without values.
    NoValues,
    /// Nothing between two commas.
    EmptyValue,
    /// A quote or a bracket that does not end.
    Unclosed,
    /// A key that is given twice.
    KeyTwice {
        /// The key.
        key: String,
        /// The option that gives it too.
        other: &'static str,
    },
    /// A value that is given twice for one key.
    ValueTwice,
    /// A range that goes down.
    RangeDown,
    /// No seed.
    NoSeed,
    /// More points than a sweep may have.
    TooMany {
        /// How many they would be.
        points: u128,
        /// How many they may be.
        limit: usize,
    },
    /// A `--cell` of another form.
    NoCell,
}

impl GridProblem {
    pub(super) fn message(&self) -> Message {
        let (title, label) = match self {
            Self::Empty => ("the grid is empty".into(), "expected KEY=VALUE,VALUE"),
            Self::NoValues => ("the key has no values".into(), "expected VALUE,VALUE after this"),
            Self::EmptyValue => ("a value is empty".into(), "expected a value here"),
            Self::Unclosed => ("a quote or a bracket does not end".into(), "begins here"),
            Self::KeyTwice { key, other } => {
                let key = shown(key, TEXT_SHOWN * 2);
                (format!("`{key}` is given twice, here and by {other}"), "expected another key")
            }
            Self::ValueTwice => ("a value is given twice".into(), "expected another value"),
            Self::RangeDown => {
                ("the range goes down".into(), "expected FROM..TO with FROM below TO")
            }
            Self::NoSeed => (
                "a seed is not a whole number".into(),
                "expected a whole number of at most 64 bits",
            ),
            Self::TooMany { points, limit } => (
                format!("the grid has {points} points, more than {limit}"),
                "expected fewer values",
            ),
            Self::NoCell => ("a cell is named by three parts".into(), "expected TABLE/ROW/COLUMN"),
        };
        Message { title, label: label.into(), help: self.help().into() }
    }

    const fn help(&self) -> &'static str {
        match self {
            Self::KeyTwice { .. } => "give all values of a key in one --grid",
            Self::RangeDown => "write the smaller number first: 1..8 are 1, 2, 3, 4, 5, 6, 7 and 8",
            Self::TooMany { .. } => "make several sweeps, each with --out of its own",
            Self::NoCell => {
                "write --cell table5/total/total_ns; --format csv of a run shows all of them"
            }
            Self::NoSeed => "write --grid seed=1..5",
            _ => "write --grid KEY=VALUE,VALUE, as in --grid linux.wait=170us,200us",
        }
    }
}

/// Why the journal of a sweep cannot be gone on with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JournalProblem {
    /// Another process writes it.
    Busy,
    /// It is something else.
    NotAJournal,
    /// It is the journal of another sweep.
    Differs {
        /// In what, such as `the grid`.
        what: String,
        /// What it has.
        there: String,
        /// What is asked for.
        here: String,
    },
    /// A line that was written as a whole does not make sense.
    Damaged {
        /// Which one, from 1.
        line: usize,
    },
    /// What the operating system says.
    System(String),
}

impl JournalProblem {
    pub(super) fn message(&self, path: &str) -> Message {
        let path = shown(path, TEXT_SHOWN * 4);
        let (title, help) = match self {
            Self::Busy => (
                format!("another sweep is writing `{path}`"),
                "wait until it is done, or name another folder with --out",
            ),
            Self::NotAJournal => (
                format!("`{path}` is not the journal of a sweep"),
                "name another folder with --out; --restart overwrites it",
            ),
            Self::Differs { what, there, here } => {
                let cut = |text: &str| shown(text, TEXT_SHOWN * 3);
                let (what, there, here) = (shown(what, TEXT_SHOWN * 2), cut(there), cut(here));
                (
                    format!("`{path}` is of another sweep: {what} was {there} and is {here} now"),
                    "name another folder with --out, or begin again with --restart",
                )
            }
            Self::Damaged { line } => {
                (format!("line {line} of `{path}` is damaged"), "begin again with --restart")
            }
            Self::System(reason) => (
                format!("cannot write `{path}`: {}", shown(reason, TEXT_SHOWN * 4)),
                "name another folder with --out",
            ),
        };
        Message { title, label: String::new(), help: help.into() }
    }
}
