//! The errors of a mounted LogFS.
//!
//! Layer: rank 5. [`Error`] is for operations, [`MountError`] for a refused mount.

use crate::format::{BlockId, Malformed};
use boardlab_vfs::Errno;
use std::fmt;

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Refused, with an error number.
    Refused(Errno),
    /// Space can be reserved only after dirty pages were written.
    NeedsWriteBack {
        /// How many.
        pages: u32,
    },
    /// The flash returned an error that LogFS does not handle.
    Flash(boardlab_mtd::Error),
    /// What is at an offset of the flash is not what leads there.
    Damaged {
        /// The offset.
        at: u64,
        /// What should be there.
        what: What,
        /// What is wrong.
        cause: Damage,
    },
    /// An inode that a directory names is in no block of the inode file.
    MissingInode(u64),
    /// An entry of a directory, or an inode, that no kernel writes.
    Impossible {
        /// The inode.
        ino: u64,
        /// What is wrong.
        cause: Malformed,
    },
    /// No segment is free, and garbage collection found nothing to free.
    NoSegment,
}

/// A structure on the flash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A block of a file.
    Block(BlockId),
    /// The header of a segment.
    SegmentHeader(u32),
    /// An entry of the journal.
    JournalEntry,
    /// The entry of a segment in the segment file.
    SegmentEntry(u32),
}

/// What is wrong at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Damage {
    /// The structure itself.
    Malformed(Malformed),
    /// It belongs to another block.
    Foreign {
        /// The inode that it names.
        ino: u64,
        /// The block that it names.
        bix: u64,
    },
    /// The data cannot be decompressed.
    Compressed,
    /// The data have another length.
    Length {
        /// Bytes.
        found: usize,
        /// Bytes of such data.
        expected: usize,
    },
    /// The pointer leads beyond the flash, or into no segment of objects.
    Outside,
    /// The journal says two things of the same word.
    Collision,
    /// The block is a hole.
    Hole,
    /// The level is not that of the segment.
    Level(u8),
}

impl From<boardlab_mtd::Error> for Error {
    fn from(error: boardlab_mtd::Error) -> Self {
        Self::Flash(error)
    }
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        Self::Refused(errno)
    }
}

impl From<Error> for boardlab_vfs::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(errno) => Self::Refused(errno),
            Error::NeedsWriteBack { pages } => Self::NeedsWriteBack { pages },
            Error::Flash(boardlab_mtd::Error::PowerCut { at }) => Self::PowerCut { at },
            other => Self::damaged(other),
        }
    }
}

impl Error {
    pub(crate) const fn damaged(at: u64, what: What, cause: Damage) -> Self {
        Self::Damaged { at, what, cause }
    }

    /// Whether the power was cut.
    #[must_use]
    pub const fn is_power_cut(&self) -> bool {
        matches!(self, Self::Flash(boardlab_mtd::Error::PowerCut { .. }))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(errno) => errno.fmt(f),
            Self::NeedsWriteBack { pages } => {
                write!(f, "{pages} dirty pages must be written first")
            }
            Self::Flash(error) => error.fmt(f),
            Self::Damaged { at, what, cause } => write!(f, "offset {at:#x}, {what}: {cause}"),
            Self::MissingInode(ino) => write!(f, "inode {ino} is not in the inode file"),
            Self::Impossible { ino, cause } => write!(f, "inode {ino}: {cause}"),
            Self::NoSegment => f.write_str("no segment is free, and none can be made free"),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block(block) => block.fmt(f),
            Self::SegmentHeader(segment) => write!(f, "header of segment {segment}"),
            Self::JournalEntry => f.write_str("entry of the journal"),
            Self::SegmentEntry(segment) => {
                write!(f, "entry of segment {segment} in the segment file")
            }
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(malformed) => malformed.fmt(f),
            Self::Foreign { ino, bix } => {
                write!(f, "an object of inode {ino}, block {bix} is there")
            }
            Self::Compressed => f.write_str("the data cannot be decompressed"),
            Self::Length { found, expected } => {
                write!(f, "{found} bytes instead of {expected}")
            }
            Self::Outside => f.write_str("there can be no object"),
            Self::Collision => f.write_str("it names a word a second time"),
            Self::Hole => f.write_str("nothing is there"),
            Self::Level(level) => write!(f, "level {level} does not exist"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Flash(error) => Some(error),
            _ => None,
        }
    }
}

/// Why a mount was refused, or a filesystem could not be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MountError {
    /// The erase blocks of the device have several sizes, or one that is no power of two.
    UnequalBlocks,
    /// There is no valid superblock. The kernel dereferences a null pointer then.
    NotLogfs {
        /// What is wrong with the first copy.
        first: Malformed,
        /// What is wrong with the last copy.
        last: Malformed,
    },
    /// Every erase block is bad.
    AllBad,
    /// A number does not fit the device, or another number.
    Unfit {
        /// Its name in the format.
        field: &'static str,
        /// Its value.
        found: u64,
        /// The value, or the limit, that would fit.
        expected: u64,
    },
    /// The image uses features that this model does not have.
    Features {
        /// Their bits.
        bits: u64,
        /// Whether a read-only mount is possible.
        readable: bool,
    },
    /// No segment of the journal has a valid commit.
    NoCommit {
        /// Segments with a valid header.
        segments: usize,
    },
    /// The flash returned an error, or the image is damaged.
    Failed(Error),
}

impl From<Error> for MountError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<boardlab_mtd::Error> for MountError {
    fn from(error: boardlab_mtd::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnequalBlocks => {
                f.write_str("LogFS needs equal erase blocks, whose size is a power of two")
            }
            Self::NotLogfs { first, last } => write!(
                f,
                "no superblock of LogFS: in the first good erase block, {first}; at the end of the last, {last}"
            ),
            Self::AllBad => f.write_str("every erase block is bad"),
            Self::Unfit { field, found, expected } => {
                write!(f, "{field} is {found}, expected {expected}")
            }
            Self::Features { bits, readable } => {
                let hint = if *readable { ": mount it read-only" } else { "" };
                write!(f, "the image uses features {bits:#x}, which this model does not have{hint}")
            }
            Self::NoCommit { segments } => {
                write!(
                    f,
                    "the journal has no valid commit in its {segments} segments with a header"
                )
            }
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MountError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed(error) => Some(error),
            _ => None,
        }
    }
}
