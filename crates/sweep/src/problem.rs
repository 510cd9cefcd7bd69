//! Errors in the arguments of a sweep and in its journal.
//!
//! Layer: rank 10. Main types: [`GridProblem`], [`JournalProblem`], [`LineFlaw`].

use boardlab_document::error::{At, Error, Message, Other, TEXT_SHOWN, reason};
use boardlab_document::lock::Holder;
use boardlab_document::source::Place;
use boardlab_result::foreign::shown_at_most as shown;
use std::borrow::Cow;
use std::ops::Range;
use std::{fmt, io};

/// The most points of a sweep: what fits in memory as one result.
pub(crate) const POINTS_MAX: usize = 10_000;

/// What to try where the form of a `--grid` is wrong.
const EXAMPLE: &str = "write --grid KEY=VALUE,VALUE, as in --grid linux.wait=170us,200us";

/// Why a `--grid` or a `--cell` cannot be used, what is due, and what to try.
#[derive(Debug)]
pub(crate) struct GridProblem {
    title: Cow<'static, str>,
    label: &'static str,
    help: &'static str,
}

impl GridProblem {
    pub(crate) const EMPTY: Self =
        Self::new("the grid is empty", "expected KEY=VALUE,VALUE", EXAMPLE);
    pub(crate) const NO_VALUES: Self =
        Self::new("the key has no values", "expected VALUE,VALUE after this", EXAMPLE);
    pub(crate) const EMPTY_VALUE: Self =
        Self::new("a value is empty", "expected a value here", EXAMPLE);
    pub(crate) const UNCLOSED: Self =
        Self::new("a quote or a bracket does not end", "begins here", EXAMPLE);
    pub(crate) const VALUE_TWICE: Self =
        Self::new("a value is given twice", "expected another value", EXAMPLE);
    pub(crate) const RANGE_DOWN: Self = Self::new(
        "the range goes down",
        "expected FROM..TO with FROM below TO",
        "write the smaller number first: 1..8 are 1, 2, 3, 4, 5, 6, 7 and 8",
    );
    pub(crate) const NO_SEED: Self = Self::new(
        "a seed is not a whole number",
        "expected a whole number of at most 64 bits",
        "write --grid seed=1..5",
    );
    pub(crate) const NO_CELL: Self = Self::new(
        "a cell is named by three parts",
        "expected TABLE/ROW/COLUMN",
        "write --cell table5/total/total_ns; --format csv of a run shows all of them",
    );

    const fn new(title: &'static str, label: &'static str, help: &'static str) -> Self {
        Self { title: Cow::Borrowed(title), label, help }
    }

    /// The option `other` gives `key` too.
    pub(crate) fn key_twice(key: &str, other: &str) -> Self {
        let key = shown(key, TEXT_SHOWN * 2);
        Self {
            title: format!("`{key}` is given twice, here and by {other}").into(),
            label: "expected another key",
            help: "give all values of a key in one --grid",
        }
    }

    /// A sweep may not have so many `points`.
    pub(crate) fn too_many(points: u128, most: usize) -> Self {
        Self {
            title: format!("the grid has {points} points, more than {most}").into(),
            label: "expected fewer values",
            help: "make several sweeps, each with --out of its own",
        }
    }

    /// There are no such points.
    pub(crate) fn no_points(points: &Range<usize>, count: usize) -> Self {
        Self {
            title: format!("the grid has no points {} to {}", points.start + 1, points.end).into(),
            label: "expected points of the grid",
            help: match count {
                0 => "give the grid values",
                _ => "the number of its points is the product of the numbers of values",
            },
        }
    }

    /// The line of a point is damaged, or missing.
    pub(crate) fn no_line(point: usize) -> Self {
        Self {
            title: format!(
                "the line of point {} is missing, or is not as it was written",
                point + 1
            )
            .into(),
            label: "expected the lines of all points, in order",
            help: "run the points again whose lines are lost",
        }
    }

    /// This problem as an error, at `place` where a part of an argument is to blame.
    pub(crate) fn at(self, place: Option<Place>) -> Error {
        let Self { title, label, help } = self;
        let message = Message { title: title.into(), label: label.into(), help: help.into() };
        Other { at: place.map_or(At::Nowhere, At::Place), message }.into()
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
    /// Its first line, which identifies the sweep, has this flaw.
    Header(LineFlaw),
    /// The line of the point with this number, from 0, has changed since the sweep began: its flaw now.
    Changed(usize, LineFlaw),
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
            Self::Header(flaw) => (
                format!("line 1 of `{path}`, which says what sweep it is of, is damaged: {flaw}"),
                "nothing was changed: put a copy of the file back, name another folder with --out, or begin again with --restart",
            ),
            Self::Changed(point, flaw) => (
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
    /// Another line has the same point: the number of the first one, from 1.
    Doubled(usize),
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
            Self::Doubled(first) => write!(f, "line {first} has the same point"),
            Self::Torn => f.write_str("the file ends before it does"),
        }
    }
}
