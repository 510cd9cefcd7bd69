//! The errors of a raw flash.
//!
//! Layer: rank 2. Main types: [`Error`], which names the place, what was expected and what was found;
//! [`TearOutcome`], the state of an interrupted operation after a power cut.

use crate::index::{BlockIndex, PageIndex};
use boardlab_sim::{Bytes, Duration, Instant};
use std::fmt;

/// The state of an interrupted operation after a power cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TearOutcome {
    /// It changed nothing.
    NotBegun,
    /// It is incomplete: some bits are programmed, or some bits are erased.
    Partial,
    /// It looks complete, but is not reliable: an erased block in which some cells lose what is
    /// programmed later. Only devices that model physics have this outcome.
    Weak,
    /// It is complete, but completion was not reported.
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
        /// The first byte of the operation.
        offset: Bytes,
        /// The length of the operation.
        length: Bytes,
        /// The size of the device.
        size: Bytes,
    },
    /// A program does not begin or end at a multiple of the write size.
    Misaligned {
        /// The first byte of the program.
        offset: Bytes,
        /// The length of the program.
        length: Bytes,
        /// The write size.
        unit: Bytes,
    },
    /// There is no such erase block.
    NoSuchBlock {
        /// The number of the block.
        block: BlockIndex,
        /// The number of blocks of the device.
        count: u32,
    },
    /// There is no such page.
    NoSuchPage {
        /// The number of the page.
        page: PageIndex,
        /// The number of pages of the device.
        count: u64,
    },
    /// More OOB bytes were requested than a page has free.
    OobOutOfRange {
        /// The page.
        page: PageIndex,
        /// The number of bytes requested.
        length: Bytes,
        /// The number of free OOB bytes.
        size: Bytes,
    },
    /// The page is already programmed and was not erased since.
    AlreadyProgrammed {
        /// The page.
        page: PageIndex,
    },
    /// Pages must be programmed in order, and a later page of the block is programmed already.
    OutOfOrder {
        /// The page.
        page: PageIndex,
        /// The latest page programmed.
        after: PageIndex,
    },
    /// The device has no OOB area.
    NoOob,
    /// The block is marked bad.
    BadBlock {
        /// The block.
        block: BlockIndex,
    },
    /// The block is protected against program and erase.
    Protected {
        /// The block.
        block: BlockIndex,
    },
    /// More bit errors than the ECC can correct.
    Uncorrectable {
        /// The start of the read.
        offset: Bytes,
    },
    /// The device reported that a program failed; the bytes there are undefined.
    ProgramFailed {
        /// The start of the program.
        offset: Bytes,
    },
    /// The data read back differ from the data programmed, and the device reported no error.
    VerifyFailed {
        /// The first byte that differs.
        offset: Bytes,
        /// The byte programmed.
        expected: u8,
        /// The byte read.
        found: u8,
    },
    /// The device aborted a buffered program before it began.
    ProgramAborted {
        /// The start of the program.
        offset: Bytes,
    },
    /// The device reported that an erase failed.
    EraseFailed {
        /// The block.
        block: BlockIndex,
    },
    /// The operation timed out.
    Timeout {
        /// The start of the operation.
        offset: Bytes,
        /// The time that the driver waited.
        waited: Duration,
    },
    /// The power was cut. Only the runner of an experiment handles this.
    PowerCut {
        /// The time of the power cut.
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
