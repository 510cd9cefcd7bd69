//! The errors of a raw flash.
//!
//! Layer: rank 2. [`Error`] names the place, what was expected and what was found; [`TearOutcome`]
//! is what a power cut leaves of an operation.

use crate::index::{BlockIndex, PageIndex};
use boardlab_sim::{Bytes, Duration, Instant};
use std::fmt;

/// What a power cut leaves of the interrupted operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TearOutcome {
    /// Nothing of it happened.
    NotBegun,
    /// Part of it happened: some bits of the program, or a mixture of old and erased bits after an
    /// erase.
    Partial,
    /// It looks complete, but does not last: an erased block in which later programs do not hold
    /// everywhere. Only devices that model physics have this outcome.
    Weak,
    /// All of it happened, but was not reported.
    Finished,
}

impl TearOutcome {
    /// The outcomes that every device supports, for exhaustive exploration.
    pub const PLAIN: [Self; 3] = [Self::NotBegun, Self::Partial, Self::Finished];

    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotBegun => "not_begun",
            Self::Partial => "partial",
            Self::Weak => "weak",
            Self::Finished => "finished",
        }
    }
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The range does not lie within the device.
    OutOfRange {
        /// First byte asked for.
        offset: Bytes,
        /// How many.
        length: Bytes,
        /// Size of the device.
        size: Bytes,
    },
    /// A program does not begin or end at a multiple of the write size.
    Misaligned {
        /// First byte asked for.
        offset: Bytes,
        /// How many.
        length: Bytes,
        /// The write size.
        unit: Bytes,
    },
    /// There is no such erase block.
    NoSuchBlock {
        /// Which was asked for.
        block: BlockIndex,
        /// How many there are.
        count: u32,
    },
    /// There is no such page.
    NoSuchPage {
        /// Which was asked for.
        page: PageIndex,
        /// How many there are.
        count: u64,
    },
    /// More OOB bytes were requested than a page has free.
    OobOutOfRange {
        /// Of which page.
        page: PageIndex,
        /// How many were asked for.
        length: Bytes,
        /// How many there are.
        size: Bytes,
    },
    /// The page was programmed before and not erased since.
    AlreadyProgrammed {
        /// Which.
        page: PageIndex,
    },
    /// Pages must be programmed in order, and a later page of the block is programmed already.
    OutOfOrder {
        /// Which.
        page: PageIndex,
        /// The latest one programmed.
        after: PageIndex,
    },
    /// The device has no OOB area.
    NoOob,
    /// The block is marked bad.
    BadBlock {
        /// Which.
        block: BlockIndex,
    },
    /// The block is protected against program and erase.
    Protected {
        /// Which.
        block: BlockIndex,
    },
    /// More bit errors than the ECC can correct.
    Uncorrectable {
        /// Where the read began.
        offset: Bytes,
    },
    /// The device reported that a program failed; the bytes there are undefined.
    ProgramFailed {
        /// Where the program began.
        offset: Bytes,
    },
    /// The data read back differ from the data programmed, and the device reported no error.
    VerifyFailed {
        /// The first wrong byte.
        offset: Bytes,
        /// What was written.
        expected: u8,
        /// What was read.
        found: u8,
    },
    /// The device aborted a buffered program before it began.
    ProgramAborted {
        /// Where the program should have begun.
        offset: Bytes,
    },
    /// The device reported that an erase failed.
    EraseFailed {
        /// Which block.
        block: BlockIndex,
    },
    /// The device did not become ready in time.
    Timeout {
        /// Where the operation began.
        offset: Bytes,
        /// How long the driver waited.
        waited: Duration,
    },
    /// The power was cut. Only the runner of an experiment handles this.
    PowerCut {
        /// When.
        at: Instant,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange { offset, length, size } => write!(
                f,
                "{} bytes at offset {:#x} do not lie within the device of {size}",
                length.get(),
                offset.get()
            ),
            Self::Misaligned { offset, length, unit } => write!(
                f,
                "{} bytes at offset {:#x} are not whole units of {unit}",
                length.get(),
                offset.get()
            ),
            Self::NoSuchBlock { block, count } => {
                write!(f, "there is no block {block}: the device has {count}, from 0")
            }
            Self::NoSuchPage { page, count } => {
                write!(f, "there is no page {page}: the device has {count}, from 0")
            }
            Self::OobOutOfRange { page, length, size } => {
                write!(f, "page {page} has {size} of free spare (OOB) bytes, not {}", length.get())
            }
            Self::AlreadyProgrammed { page } => {
                write!(f, "page {page} is already programmed: erase its block first")
            }
            Self::OutOfOrder { page, after } => {
                write!(f, "page {page} must be programmed before page {after}, which already is")
            }
            Self::NoOob => f.write_str("the device has no spare (OOB) bytes"),
            Self::BadBlock { block } => write!(f, "block {block} is marked bad"),
            Self::Protected { block } => write!(f, "block {block} is protected"),
            Self::Uncorrectable { offset } => {
                write!(f, "uncorrectable bit errors in the read at offset {:#x}", offset.get())
            }
            Self::ProgramFailed { offset } => {
                write!(f, "the program at offset {:#x} failed", offset.get())
            }
            Self::VerifyFailed { offset, expected, found } => write!(
                f,
                "offset {:#x} reads {found:#04x} where {expected:#04x} was written",
                offset.get()
            ),
            Self::ProgramAborted { offset } => {
                write!(f, "the device aborted the buffered program at offset {:#x}", offset.get())
            }
            Self::EraseFailed { block } => write!(f, "the erase of block {block} failed"),
            Self::Timeout { offset, waited } => write!(
                f,
                "the operation at offset {:#x} was not finished after {waited}",
                offset.get()
            ),
            Self::PowerCut { at } => write!(f, "the power was cut at {at}"),
        }
    }
}

impl std::error::Error for Error {}
