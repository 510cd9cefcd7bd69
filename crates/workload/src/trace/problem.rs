//! What is wrong with a trace, and where.
//!
//! Layer: rank 6. Main types: [`Error`], [`Problem`]. Line and column are the reader's; a record
//! that does not fit the device points at its line.

use crate::fio::Place;
use boardlab_sim::{Bytes, Duration};
use std::fmt;

/// Something wrong at a place of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Where.
    pub place: Place,
    /// What.
    pub problem: Problem,
}

/// What is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// Something else should stand there.
    Syntax {
        /// What should.
        expected: &'static str,
        /// What does; the end of the line as an empty text.
        found: String,
    },
    /// A number is larger than can be.
    TooLarge {
        /// Of what.
        what: &'static str,
        /// As it stands there.
        found: String,
    },
    /// A line without end.
    LongLine {
        /// The most bytes of a line.
        most: usize,
    },
    /// The request came before the one before it.
    Backwards {
        /// How much earlier.
        by: Duration,
    },
    /// Requests of another disk, and none was chosen.
    SecondDisk {
        /// That of the requests before.
        first: String,
        /// That of this one.
        second: String,
    },
    /// The request is not made of whole blocks.
    NotBlocks {
        /// Size of a block.
        block: Bytes,
        /// Its first byte.
        offset: Bytes,
        /// How many.
        length: Bytes,
    },
    /// The request does not lie on the device.
    BeyondEnd {
        /// Its first byte.
        offset: Bytes,
        /// How many.
        length: Bytes,
        /// Size of the device.
        size: Bytes,
    },
    /// There is no request in it.
    NoRequests {
        /// Lines that were read.
        lines: u64,
    },
    /// It could not be read on.
    Unreadable {
        /// What the system said.
        reason: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { expected, found } if found.is_empty() => {
                write!(f, "expected {expected}, found the end of the line")
            }
            Self::Syntax { expected, found } => write!(f, "expected {expected}, found `{found}`"),
            Self::TooLarge { what, found } => write!(f, "{what} `{found}` is too large"),
            Self::LongLine { most } => {
                write!(f, "expected the end of the line, found more than {most} bytes")
            }
            Self::Backwards { by } => write!(
                f,
                "expected a time not before that of the request before, found one {by} earlier"
            ),
            Self::SecondDisk { first, second } => write!(
                f,
                "expected requests of one disk, found {second} after {first}: choose one of them"
            ),
            Self::NotBlocks { block, offset, length } => write!(
                f,
                "expected whole blocks of {} bytes, found {} bytes at offset {}",
                block.get(),
                length.get(),
                offset.get()
            ),
            Self::BeyondEnd { offset, length, size } => write!(
                f,
                "expected a request within the device of {} bytes, found {} bytes at offset {}",
                size.get(),
                length.get(),
                offset.get()
            ),
            Self::NoRequests { lines } => {
                let s = if *lines == 1 { "" } else { "s" };
                write!(f, "expected requests, found none in {lines} line{s}")
            }
            Self::Unreadable { reason } => write!(f, "cannot be read on: {reason}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.problem)
    }
}

impl std::error::Error for Error {}
