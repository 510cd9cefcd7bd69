//! Why a workload did not come to its end.
//!
//! Layer: rank 6. [`Error`] names the step and the place; the device's own error is its cause.

use boardlab_sim::{Bytes, Instant};
use std::fmt;

/// What the workload was doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// Erasing.
    Erase,
    /// Writing.
    Write,
    /// Reading.
    Read,
    /// Reading back what was written.
    Verify,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Erase => "erase",
            Self::Write => "write",
            Self::Read => "read",
            Self::Verify => "verify",
        })
    }
}

/// Why a workload did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The chunk is not a whole number of write units of the device, or nothing.
    Chunk {
        /// The chunk asked for.
        chunk: Bytes,
        /// The write size of the device.
        unit: Bytes,
    },
    /// An erase does not begin or end between two erase blocks.
    NotWholeBlocks {
        /// First byte asked for.
        offset: Bytes,
        /// How many.
        length: Bytes,
        /// The first block that would be erased only in part: where it begins.
        block: Bytes,
        /// The size of that block.
        size: Bytes,
    },
    /// The source has fewer bytes than were to be written or compared.
    SourceEnded {
        /// How many were asked for.
        expected: Bytes,
        /// How many there were.
        found: Bytes,
    },
    /// The device answered with an error.
    Device {
        /// What was being done.
        step: Step,
        /// Where the operation began.
        offset: Bytes,
        /// The device's answer.
        cause: boardlab_mtd::Error,
    },
    /// What was read back is not what was to be written.
    Differs {
        /// The first wrong byte.
        offset: Bytes,
        /// What was to be there.
        expected: u8,
        /// What is there.
        found: u8,
        /// How many bytes are wrong in all.
        wrong: Bytes,
        /// How many bits are wrong in all.
        bits: u64,
    },
    /// A line of a list of operations cannot be read.
    Syntax {
        /// Which, from 1.
        line: usize,
        /// What should stand there.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// An operation of a list failed.
    Operation {
        /// Its line, from 1.
        line: usize,
        /// The operation as it is written.
        operation: String,
        /// The filesystem's answer.
        cause: boardlab_vfs::Error,
    },
    /// The filesystem answered with an error.
    File {
        /// What was being done.
        what: &'static str,
        /// With which file or directory; bytes that are not UTF-8 are replaced.
        path: String,
        /// The filesystem's answer.
        cause: boardlab_vfs::Error,
    },
}

impl Error {
    pub(crate) fn file(what: &'static str, path: &[u8], cause: boardlab_vfs::Error) -> Self {
        Self::File { what, path: String::from_utf8_lossy(path).into_owned(), cause }
    }

    /// When the power was cut, if that is what happened.
    #[must_use]
    pub const fn power_cut(&self) -> Option<Instant> {
        match self {
            Self::Device { cause: boardlab_mtd::Error::PowerCut { at }, .. }
            | Self::Operation { cause: boardlab_vfs::Error::PowerCut { at }, .. }
            | Self::File { cause: boardlab_vfs::Error::PowerCut { at }, .. } => Some(*at),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chunk { chunk, unit } => {
                write!(f, "a chunk of {chunk} is not one or more write units of {unit}")
            }
            Self::NotWholeBlocks { offset, length, block, size } => write!(
                f,
                "an erase of {} bytes at offset {:#x} takes only part of the block of {size} at \
                 {:#x}",
                length.get(),
                offset.get(),
                block.get()
            ),
            Self::SourceEnded { expected, found } => write!(
                f,
                "the source ended after {} bytes where {} were expected",
                found.get(),
                expected.get()
            ),
            Self::Device { step, offset, cause } => {
                write!(f, "{step} at offset {:#x}: {cause}", offset.get())
            }
            Self::Differs { offset, expected, found, wrong, bits } => write!(
                f,
                "offset {:#x} reads {found:#04x} where {expected:#04x} was expected; {bits} bits in \
                 {} bytes differ in all",
                offset.get(),
                wrong.get()
            ),
            Self::Syntax { line, expected, found } => {
                write!(f, "line {line}: expected {expected}, found '{found}'")
            }
            Self::Operation { line, operation, cause } => {
                write!(f, "line {line}, {operation}: {cause}")
            }
            Self::File { what, path, cause } => write!(f, "{what} {path}: {cause}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Device { cause, .. } => Some(cause),
            Self::Operation { cause, .. } | Self::File { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
