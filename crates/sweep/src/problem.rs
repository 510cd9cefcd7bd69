//! Errors in the arguments of a sweep and in its journal.
//!
//! Layer: rank 10. Main types: [`GridProblem`], [`JournalProblem`], [`LineFlaw`].

use boardlab_document::error::{At, Error, Message, Other, TEXT_SHOWN, reason};
use boardlab_document::lock::Holder;
use boardlab_document::source::Place;
use boardlab_result::foreign::shown_at_most as shown;
use std::{fmt, io};

/// Why a `--grid` or a `--cell` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GridProblem {
    /// The grid has no key.
    Empty,
    /// A key has no values.
    NoValues,
    /// Nothing between two commas.
    EmptyValue,
    /// A quote or a bracket is not closed.
    Unclosed,
    /// A key is given twice.
    KeyTwice {
        /// The key.
        key: String,
        /// The option that gives it too.
        other: &'static str,
    },
    /// A value is given twice for one key.
    ValueTwice,
    /// A range is descending.
    RangeDown,
    /// A value of the key `seed` is no seed.
    NoSeed,
    /// More points than a sweep may have.
    TooMany {
        /// The number of points.
        points: u128,
        /// The limit.
        limit: usize,
    },
    /// A `--cell` has another form.
    NoCell,
}

impl GridProblem {
    /// This problem as an error, at `place` where a part of an argument is to blame.
    pub(crate) fn at(&self, place: Option<Place>) -> Error {
        Other { at: place.map_or(At::Nowhere, At::Place), message: self.message() }.into()
    }

    fn message(&self) -> Message {
        const EXAMPLE: &str = "write --grid KEY=VALUE,VALUE, as in --grid linux.wait=170us,200us";
        let (title, label, help): (String, _, _) = match self {
            Self::Empty => ("the grid is empty".into(), "expected KEY=VALUE,VALUE", EXAMPLE),
            Self::NoValues => {
                ("the key has no values".into(), "expected VALUE,VALUE after this", EXAMPLE)
            }
            Self::EmptyValue => ("a value is empty".into(), "expected a value here", EXAMPLE),
            Self::Unclosed => ("a quote or a bracket does not end".into(), "begins here", EXAMPLE),
            Self::KeyTwice { key, other } => (
                format!("`{}` is given twice, here and by {other}", shown(key, TEXT_SHOWN * 2)),
                "expected another key",
                "give all values of a key in one --grid",
            ),
            Self::ValueTwice => {
                ("a value is given twice".into(), "expected another value", EXAMPLE)
            }
            Self::RangeDown => (
                "the range goes down".into(),
                "expected FROM..TO with FROM below TO",
                "write the smaller number first: 1..8 are 1, 2, 3, 4, 5, 6, 7 and 8",
            ),
            Self::NoSeed => (
                "a seed is not a whole number".into(),
                "expected a whole number of at most 64 bits",
                "write --grid seed=1..5",
            ),
            Self::TooMany { points, limit } => (
                format!("the grid has {points} points, more than {limit}"),
                "expected fewer values",
                "make several sweeps, each with --out of its own",
            ),
            Self::NoCell => (
                "a cell is named by three parts".into(),
                "expected TABLE/ROW/COLUMN",
                "write --cell table5/total/total_ns; --format csv of a run shows all of them",
            ),
        };
        Message { title, label: label.into(), help: help.into() }
    }
}

/// Why the journal of a sweep cannot be resumed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JournalProblem {
    /// Another process is writing it.
    Busy(Holder),
    /// It is another kind of file.
    NotAJournal,
    /// It is the journal of another sweep.
    Differs {
        /// The difference, such as `the grid`.
        what: String,
        /// The value in the journal.
        there: String,
        /// The requested value.
        here: String,
    },
    /// It has no checksums, like journals of early versions.
    Unchecked,
    /// Its first line, which identifies the sweep, is damaged.
    Header {
        /// Its flaw.
        flaw: LineFlaw,
    },
    /// The line of a point has changed since the sweep began.
    Changed {
        /// The number of the point, from 0.
        point: usize,
        /// The flaw of its line now.
        flaw: LineFlaw,
    },
    /// An error of the operating system.
    System(String),
}

impl From<io::Error> for JournalProblem {
    fn from(error: io::Error) -> Self {
        Self::System(reason(&error))
    }
}

impl JournalProblem {
    /// This problem of the journal at `path` as an error.
    pub(crate) fn of(&self, path: &str) -> Error {
        Other { at: At::Path(path.into()), message: self.message(path) }.into()
    }

    fn message(&self, path: &str) -> Message {
        let cut = |text: &str, times: usize| shown(text, TEXT_SHOWN * times);
        let path = cut(path, 4);
        let (title, help) = match self {
            Self::Busy(holder) => (
                format!("another sweep is writing `{path}`: {}", cut(&holder.to_string(), 4)),
                "wait until it is done, or name another folder with --out",
            ),
            Self::NotAJournal => (
                format!("`{path}` is not the journal of a sweep"),
                "name another folder with --out; --restart overwrites it",
            ),
            Self::Differs { what, there, here } => (
                format!(
                    "`{path}` is of another sweep: {} was {} and is {} now",
                    cut(what, 2),
                    cut(there, 3),
                    cut(here, 3)
                ),
                "name another folder with --out, or begin again with --restart",
            ),
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
                format!("cannot write `{path}`: {}", cut(reason, 4)),
                "name another folder with --out",
            ),
        };
        Message { title, label: String::new(), help: help.into() }
    }
}

/// Why a line of a journal is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineFlaw {
    /// It lacks the form of a line of a journal.
    Form,
    /// It ends in CR LF.
    CarriageReturn,
    /// It is longer than any line of a journal.
    TooLong,
    /// Its checksum is not that of its content.
    Checksum {
        /// The written checksum.
        written: u32,
        /// The checksum of its content.
        content: u32,
    },
    /// Its checksum is right, and its content is invalid.
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
