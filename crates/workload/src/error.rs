//! The errors of workloads.
//!
//! Layer: rank 6. [`Error`] names the step and the place; the cause is the device's error.

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

/// The errors of workloads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The chunk is zero or not a multiple of the device's write size.
    Chunk {
        /// The requested chunk.
        chunk: Bytes,
        /// The write size of the device.
        unit: Bytes,
    },
    /// An erase does not begin or end at the boundary of an erase block.
    NotWholeBlocks {
        /// The first requested byte.
        offset: Bytes,
        /// How many.
        length: Bytes,
        /// The offset of the first block that would be erased only in part.
        block: Bytes,
        /// The size of that block.
        size: Bytes,
    },
    /// The source ended before all bytes were written or compared.
    SourceEnded {
        /// The requested number of bytes.
        expected: Bytes,
        /// The number of bytes in the source.
        found: Bytes,
    },
    /// The device returned an error.
    Device {
        /// What was being done.
        step: Step,
        /// Where the operation began.
        offset: Bytes,
        /// The error of the device.
        cause: boardlab_mtd::Error,
    },
    /// The data read back differ from the data written.
    Differs {
        /// The first wrong byte.
        offset: Bytes,
        /// The expected byte.
        expected: u8,
        /// The byte found.
        found: u8,
        /// The total number of wrong bytes.
        wrong: Bytes,
        /// The total number of wrong bits.
        bits: u64,
    },
    /// A line of a list of operations cannot be read.
    Syntax {
        /// Which, from 1.
        line: usize,
        /// What is expected.
        expected: &'static str,
        /// What was found.
        found: String,
    },
    /// An operation of a list failed.
    Operation {
        /// Its line, from 1.
        line: usize,
        /// The operation as it is written.
        operation: String,
        /// The error of the filesystem.
        cause: boardlab_vfs::Error,
    },
    /// The filesystem returned an error.
    File {
        /// What was being done.
        what: &'static str,
        /// The file or directory; bytes that are not UTF-8 are replaced.
        path: String,
        /// The error of the filesystem.
        cause: boardlab_vfs::Error,
    },
}

impl Error {
    pub(crate) fn file(what: &'static str, path: &[u8], cause: boardlab_vfs::Error) -> Self {
        Self::File { what, path: String::from_utf8_lossy(path).into_owned(), cause }
    }

    /// The instant of the power cut, if that is the cause.
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
