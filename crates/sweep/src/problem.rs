//! What can be wrong with the arguments of a sweep and with its journal.
//!
//! Layer: rank 10. Main types: [`GridProblem`], [`JournalProblem`],
//! [`LineFlaw`].

use boardlab_document::error::{At, Error, Message, Other, TEXT_SHOWN};
use boardlab_document::lock::Holder;
use boardlab_document::source::Place;
use boardlab_result::foreign::shown_at_most as shown;
use std::fmt;

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
    /// This problem as an error, at `place` where a part of an argument is to blame.
    #[must_use]
    pub fn at(&self, place: Option<Place>) -> Error {
        Other { at: place.map_or(At::Nowhere, At::Place), message: self.message() }.into()
    }

    fn message(&self) -> Message {
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
    Busy(Holder),
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
    /// It has no checksums, as journals once had none.
    Unchecked,
    /// Its first line, which says what sweep it is of, is damaged.
    Header {
        /// What is wrong with it.
        flaw: LineFlaw,
    },
    /// The line of a point is no more what it was when the sweep began.
    Changed {
        /// Which point, from 0.
        point: usize,
        /// What is wrong with its line now.
        flaw: LineFlaw,
    },
    /// What the operating system says.
    System(String),
}

impl JournalProblem {
    /// This problem of the journal at `path` as an error.
    #[must_use]
    pub fn of(&self, path: &str) -> Error {
        Other { at: At::Path(path.into()), message: self.message(path) }.into()
    }

    fn message(&self, path: &str) -> Message {
        let path = shown(path, TEXT_SHOWN * 4);
        let (title, help) = match self {
            Self::Busy(holder) => (
                format!(
                    "another sweep is writing `{path}`: {}",
                    shown(&holder.to_string(), TEXT_SHOWN * 4)
                ),
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
            Self::Unchecked => (
                format!("`{path}` has no checksums: an earlier boardlab wrote it"),
                "its figures cannot be verified: name another folder with --out, or begin again with --restart",
            ),
            Self::Header { flaw } => (
                format!("line 1 of `{path}`, which says what sweep it is of, is damaged: {flaw}"),
                "nothing was changed: put a copy of the file back, name another folder with --out, or begin again with --restart",
            ),
            Self::Changed { point, flaw } => (
                format!(
                    "`{path}` has changed since the sweep began: in the line of point {}, {flaw}",
                    point + 1
                ),
                "give the command again: points without a whole line are run again",
            ),
            Self::System(reason) => (
                format!("cannot write `{path}`: {}", shown(reason, TEXT_SHOWN * 4)),
                "name another folder with --out",
            ),
        };
        Message { title, label: String::new(), help: help.into() }
    }
}

/// What is wrong with a line of a journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFlaw {
    /// It is not laid out as a line of a journal.
    Form,
    /// It ends as on Windows.
    CarriageReturn,
    /// It is longer than any line of a journal.
    TooLong,
    /// Its checksum is not that of its content.
    Checksum {
        /// The checksum that it has.
        written: u32,
        /// The checksum of what it has.
        content: u32,
    },
    /// Its checksum is right, and its content is not what a line says.
    Content,
    /// Another line has the same point.
    Doubled {
        /// The number of the first one, from 1.
        first: usize,
    },
    /// The file ends before it does.
    Torn,
}

impl fmt::Display for LineFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form => f.write_str("it does not consist of a checksum and a value"),
            Self::CarriageReturn => {
                f.write_str("it ends in CR LF, expected LF: something has converted the file")
            }
            Self::TooLong => f.write_str("it is longer than any line of a journal"),
            Self::Checksum { written, content } => {
                write!(f, "its checksum is {written:08x}, expected {content:08x} for what it says")
            }
            Self::Content => f.write_str("it does not say what such a line says"),
            Self::Doubled { first } => write!(f, "line {first} has the same point"),
            Self::Torn => f.write_str("the file ends before it does"),
        }
    }
}
