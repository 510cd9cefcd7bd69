//! The errors of a mounted UBIFS.
//!
//! Layer: rank 5. [`Error`] is for operations, [`MountError`](crate::MountError) for a refused
//! mount.

use crate::format::Malformed;
use boardlab_ubi::LebIndex;
use boardlab_vfs::Errno;
use std::fmt;

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Refused, with an error number; nothing changed.
    Refused(Errno),
    /// The cache above must write back this many pages; then the operation can be tried again.
    NeedsWriteBack {
        /// How many pages.
        pages: u32,
    },
    /// The volume returned an error.
    Lebs(boardlab_ubi::Error),
    /// A required node is damaged.
    Node {
        /// Its LEB.
        leb: LebIndex,
        /// Its offset there.
        offs: u32,
        /// What is wrong with it.
        cause: Malformed,
    },
    /// The structures on flash contradict each other.
    Corrupted {
        /// The LEB.
        leb: LebIndex,
        /// The offset.
        offs: u32,
        /// What is wrong, in the words of the format.
        problem: Problem,
    },
    /// A check of [`Checks`](crate::options::Checks) found a contradiction.
    Check(Fault),
}

/// The ways in which structures on flash can contradict each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// A node is not the one that the index says.
    WrongKey,
    /// A node of the LEB properties tree is damaged.
    LptNode,
    /// The area of the LEB properties tree has no free LEB.
    LptSpace,
    /// The index is deeper than possible, its levels do not descend, or its keys do not ascend.
    Index,
    /// A LEB that should be within an area is not.
    Area,
    /// The log has no commit start where the master node says.
    Log,
    /// A LEB in the middle is damaged, so that it cannot be what a power cut left.
    NotAPowerCut,
    /// Properties of a LEB are impossible.
    Properties,
    /// The data of a node cannot be decompressed.
    Compressed(u16),
    /// An inode is missing or impossible.
    Inode(u32),
    /// The nodes of the orphan area contradict each other.
    Orphan,
    /// A place that an older index names is erased.
    Erased,
    /// What stands at a place that an older index names was written after its commit.
    Newer,
}

impl From<boardlab_ubi::Error> for Error {
    fn from(error: boardlab_ubi::Error) -> Self {
        Self::Lebs(error)
    }
}

impl From<Error> for boardlab_vfs::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(errno) => Self::Refused(errno),
            Error::NeedsWriteBack { pages } => Self::NeedsWriteBack { pages },
            Error::Lebs(boardlab_ubi::Error::Flash(boardlab_mtd::Error::PowerCut { at })) => {
                Self::PowerCut { at }
            }
            Error::Lebs(boardlab_ubi::Error::ReadOnly) => Self::Refused(Errno::RoFs),
            other => Self::damaged(other),
        }
    }
}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        Self::Refused(errno)
    }
}

impl Error {
    /// Structures on flash that contradict each other at this place.
    #[must_use]
    pub(crate) const fn at(leb: LebIndex, offs: u32, problem: Problem) -> Self {
        Self::Corrupted { leb, offs, problem }
    }

    /// An inode that contradicts what leads to it; where it is, is not known.
    #[must_use]
    pub(crate) const fn of_inode(ino: u32) -> Self {
        Self::at(LebIndex(0), 0, Problem::Inode(ino))
    }

    /// Whether a scan stopped at damage, which a power cut may have left (`-EUCLEAN`).
    #[must_use]
    pub(crate) const fn is_unclean(&self) -> bool {
        matches!(self, Self::Corrupted { problem: Problem::NotAPowerCut, .. })
    }

    /// The error number that a program sees; `None` after a power cut.
    #[must_use]
    pub const fn errno(&self) -> Option<Errno> {
        match self {
            Self::Refused(errno) => Some(*errno),
            Self::Lebs(boardlab_ubi::Error::Flash(boardlab_mtd::Error::PowerCut { .. })) => None,
            Self::Lebs(boardlab_ubi::Error::ReadOnly) => Some(Errno::RoFs),
            Self::NeedsWriteBack { .. } => Some(Errno::NoSpc),
            _ => Some(Errno::Io),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(errno) => errno.fmt(f),
            Self::NeedsWriteBack { pages } => {
                write!(f, "{pages} dirty pages must be written first")
            }
            Self::Lebs(error) => error.fmt(f),
            Self::Node { leb, offs, cause } => {
                write!(f, "node at LEB {leb}, offset {offs}: {cause}")
            }
            Self::Corrupted { leb, offs, problem } => {
                write!(f, "LEB {leb}, offset {offs}: {problem}")
            }
            Self::Check(fault) => fault.fmt(f),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongKey => f.write_str("the node is not the one that the index refers to"),
            Self::LptNode => f.write_str("the node of the LEB properties tree is damaged"),
            Self::LptSpace => f.write_str("the LEB properties tree has no free LEB"),
            Self::Index => f.write_str("the indexing node contradicts its parent"),
            Self::Area => f.write_str("the LEB is not in the area that it should be in"),
            Self::Log => f.write_str("the log does not begin as the master node says"),
            Self::NotAPowerCut => f.write_str("the damage is not what a power cut leaves"),
            Self::Properties => f.write_str("the properties of the LEB are impossible"),
            Self::Compressed(compressor) => {
                write!(f, "the data cannot be decompressed (compressor {compressor})")
            }
            Self::Orphan => f.write_str("the orphan area is not in the order that commits write"),
            Self::Inode(ino) => write!(f, "inode {ino} is missing or impossible"),
            Self::Erased => f.write_str("the place is erased"),
            Self::Newer => f.write_str("a node that was written after the commit is there"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Lebs(error) => Some(error),
            Self::Node { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// A value that another one contradicts.
    Value {
        /// Its name.
        name: &'static str,
        /// The LEB or the inode that it is about; 0 for the volume.
        number: u32,
        /// The value.
        found: i64,
        /// The value calculated from the flash.
        expected: i64,
    },
    /// An inode that should be an orphan is none.
    MissingOrphan(u32),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { name, number, found, expected } => {
                write!(f, "{name} of {number} is {found}, the flash says {expected}")
            }
            Self::MissingOrphan(ino) => write!(f, "inode {ino} has no name and is no orphan"),
        }
    }
}

/// Why a mount was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MountError {
    /// The volume's shape does not suit UBIFS.
    Shape {
        /// What does not.
        problem: &'static str,
        /// Its value.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// The volume is empty, and a read-only mount does not create a filesystem.
    Empty,
    /// There is no superblock at the beginning of LEB 0.
    NotUbifs {
        /// The first four bytes, as a number.
        found: u32,
    },
    /// A field of the superblock contradicts another one, or the volume.
    Superblock {
        /// Its name in the format.
        field: &'static str,
        /// Its value.
        found: u64,
        /// The value, or the limit, that would fit.
        expected: u64,
    },
    /// The format is newer than this model.
    Version {
        /// The version of the format.
        write: u32,
        /// The version that is enough to read.
        read: u32,
    },
    /// The image uses a feature that this model does not have.
    Unsupported {
        /// Its name.
        feature: &'static str,
    },
    /// There is too little space for a writable mount.
    NoSpace {
        /// Bytes that are free or can be made free.
        found: u64,
        /// The least.
        needed: u64,
    },
    /// The volume returned an error, or the image is damaged.
    Failed(Error),
}

impl From<Error> for MountError {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<boardlab_ubi::Error> for MountError {
    fn from(error: boardlab_ubi::Error) -> Self {
        Self::Failed(error.into())
    }
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape { problem, found, limit } => {
                write!(f, "UBIFS cannot lie on this volume: {problem} is {found}, the limit is {limit}")
            }
            Self::Empty => f.write_str(
                "the volume is empty: a writable mount would create a filesystem, a read-only one cannot",
            ),
            Self::NotUbifs { found } => write!(
                f,
                "no superblock of UBIFS in LEB 0: it begins with {found:#010x} instead of {:#010x}",
                crate::format::MAGIC
            ),
            Self::Superblock { field, found, expected } => {
                write!(f, "superblock: {field} is {found}, expected {expected}")
            }
            Self::Version { write, read } => write!(
                f,
                "the format is w{write}/r{read}, this model knows up to w5/r0: mount it read-only, \
                 if r is 0"
            ),
            Self::Unsupported { feature } => {
                write!(f, "the image uses {feature}, which this model does not have")
            }
            Self::NoSpace { found, needed } => write!(
                f,
                "{found} bytes are free, a writable mount needs {needed}: mount it read-only"
            ),
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
