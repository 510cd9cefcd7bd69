//! The errors of a mounted JFFS2.
//!
//! Layer: rank 5. [`Error`] is for operations, [`MountError`](crate::mount::MountError) for a refused
//! mount. A node with a wrong checksum is not a mount error: it is ignored, as in the kernel.

use crate::format::Malformed;
use boardlab_sim::Bytes;
use boardlab_vfs::Errno;
use std::fmt;

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Refused, with an error number; nothing changed.
    Refused(Errno),
    /// The flash returned an error.
    Flash(boardlab_mtd::Error),
    /// A required node is damaged.
    Node {
        /// Its offset on the flash.
        at: Bytes,
        /// What is wrong with it.
        cause: Malformed,
    },
    /// The nodes of an inode contradict its mode.
    Inode {
        /// Its number.
        ino: u32,
        /// What is wrong.
        problem: InodeProblem,
    },
    /// The data of a node cannot be decompressed.
    Compressed {
        /// The offset of the node on the flash.
        at: Bytes,
        /// The compressor's number on flash.
        compressor: u8,
    },
}

/// The ways in which the nodes of an inode can be inconsistent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InodeProblem {
    /// No node is valid.
    NoNodes,
    /// A symbolic link or device has more or less than one node with data.
    NotOneNode,
    /// The target of a symbolic link exceeds the length limit of a path.
    LongTarget,
    /// The data of a device are neither two nor four bytes.
    DeviceNumber,
    /// The mode is of an unknown kind.
    Mode(u32),
}

impl Error {
    /// The error number that a program sees; `None` after a power cut.
    #[must_use]
    pub const fn errno(&self) -> Option<Errno> {
        match self {
            Self::Refused(errno) => Some(*errno),
            Self::Flash(boardlab_mtd::Error::PowerCut { .. }) => None,
            _ => Some(Errno::Io),
        }
    }
}

impl From<Error> for boardlab_vfs::Error {
    fn from(error: Error) -> Self {
        match error {
            Error::Refused(errno) => Self::Refused(errno),
            Error::Flash(boardlab_mtd::Error::PowerCut { at }) => Self::PowerCut { at },
            other => Self::damaged(other),
        }
    }
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

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(errno) => errno.fmt(f),
            Self::Flash(error) => error.fmt(f),
            Self::Node { at, cause } => write!(f, "node at {:#x}: {cause}", at.get()),
            Self::Inode { ino, problem } => write!(f, "inode {ino}: {problem}"),
            Self::Compressed { at, compressor } => write!(
                f,
                "node at {:#x}: its data cannot be decompressed (compressor {compressor})",
                at.get()
            ),
        }
    }
}

impl fmt::Display for InodeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNodes => f.write_str("none of its nodes is good"),
            Self::NotOneNode => f.write_str("a link or device needs exactly one node with data"),
            Self::LongTarget => f.write_str("the target of the link is too long"),
            Self::DeviceNumber => f.write_str("a device number has two or four bytes"),
            Self::Mode(mode) => write!(f, "mode {mode:o} is of no known kind"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Flash(error) => Some(error),
            Self::Node { cause, .. } => Some(cause),
            _ => None,
        }
    }
}
