//! The errors of a block device.
//!
//! Layer: rank 2. [`Error`] names the place, what was expected and what was found. A fault that is
//! detected only after the device has worked on the request also carries the instant of detection,
//! see [`Error::ended`].

use crate::extent::Extent;
use boardlab_sim::{Bytes, Instant};
use std::fmt;

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The blocks do not lie within the device.
    OutOfRange {
        /// The blocks of the request.
        extent: Extent,
        /// The number of blocks of the device.
        count: u64,
    },
    /// A range that does not consist of whole blocks.
    Misaligned {
        /// The first byte of the request.
        offset: Bytes,
        /// The length of the request.
        length: Bytes,
        /// The size of a block.
        unit: Bytes,
    },
    /// The length of a buffer differs from that of the request's blocks.
    BufferLength {
        /// The blocks.
        extent: Extent,
        /// The size of one.
        block: Bytes,
        /// The length of the buffer.
        found: Bytes,
    },
    /// The request is larger than the device accepts.
    TooLarge {
        /// The blocks.
        extent: Extent,
        /// The largest request.
        maximum: Bytes,
    },
    /// The device does not support the request.
    NotSupported {
        /// The missing feature, as a noun.
        what: &'static str,
    },
    /// The device is read-only.
    ReadOnly {
        /// The blocks.
        extent: Extent,
    },
    /// The data read cannot be corrected.
    Uncorrectable {
        /// The first uncorrectable block.
        extent: Extent,
        /// The time of the device's report.
        ended: Instant,
    },
    /// The device reported that a write, a discard or a flush failed; the blocks are undefined.
    WriteFailed {
        /// The blocks.
        extent: Extent,
        /// When the device said so.
        ended: Instant,
    },
    /// The request timed out.
    Timeout {
        /// The blocks.
        extent: Extent,
        /// The time of the host's timeout.
        ended: Instant,
    },
    /// The device does not respond: it was removed or has failed.
    Gone,
    /// The power was cut. Only the runner of an experiment handles this.
    PowerCut {
        /// When.
        at: Instant,
    },
}

impl Error {
    /// When the failure was detected, if the device worked on the request before.
    #[must_use]
    pub const fn ended(&self) -> Option<Instant> {
        match self {
            Self::Uncorrectable { ended, .. }
            | Self::WriteFailed { ended, .. }
            | Self::Timeout { ended, .. } => Some(*ended),
            Self::PowerCut { at } => Some(*at),
            _ => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { extent, count } => write!(
                f,
                "{} blocks from block {} on do not lie within the device of {count} blocks",
                extent.count, extent.first
            ),
            Self::Misaligned { offset, length, unit } => write!(
                f,
                "{} bytes at offset {:#x} are not whole blocks of {unit}",
                length.get(),
                offset.get()
            ),
            Self::BufferLength { extent, block, found } => write!(
                f,
                "a buffer of {} bytes does not hold {} blocks of {block}",
                found.get(),
                extent.count
            ),
            Self::TooLarge { extent, maximum } => {
                write!(f, "{} blocks are more than the largest request, {maximum}", extent.count)
            }
            Self::NotSupported { what } => write!(f, "the device has no {what}"),
            Self::ReadOnly { extent } => {
                write!(f, "block {} cannot be written: the device is read-only", extent.first)
            }
            Self::Uncorrectable { extent, .. } => {
                write!(f, "uncorrectable error at block {}", extent.first)
            }
            Self::WriteFailed { extent, .. } => {
                write!(f, "the write of {} blocks at block {} failed", extent.count, extent.first)
            }
            Self::Timeout { extent, ended } => {
                let at = ended.as_nanos();
                write!(f, "the request at block {} timed out at {at} ns", extent.first)
            }
            Self::Gone => f.write_str("the device is gone"),
            Self::PowerCut { at } => write!(f, "the power was cut at {} ns", at.as_nanos()),
        }
    }
}

impl std::error::Error for Error {}
