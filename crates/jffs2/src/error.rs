//! What can go wrong with a mounted JFFS2.
//!
//! Layer: rank 5. [`Error`] is of operations; why an image is refused is a
//! [`MountError`](crate::mount::MountError). A node with a wrong checksum is no error at mount: it is
//! left out, as the kernel does.

use crate::format::Malformed;
use boardlab_sim::Bytes;
use boardlab_vfs::Errno;
use std::fmt;

/// Why an operation did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Refused, with an error number; nothing changed.
    Refused(Errno),
    /// The flash answered with an error.
    Flash(boardlab_mtd::Error),
    /// A node that is needed is damaged.
    Node {
        /// Where it begins on the flash.
        at: Bytes,
        /// What is wrong with it.
        cause: Malformed,
    },
    /// The nodes of an inode do not make what its mode says.
    Inode {
        /// Its number.
        ino: u32,
        /// What is wrong.
        problem: InodeProblem,
    },
    /// The data of a node cannot be decompressed.
    Compressed {
        /// Where the node begins on the flash.
        at: Bytes,
        /// The number of the compressor on flash.
        compressor: u8,
    },
}

/// What may be wrong with the nodes of an inode, taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InodeProblem {
    /// None of them is good.
    NoNodes,
    /// A link or a device has more than one node with data, or none.
    NotOneNode,
    /// The target of a link is longer than a path can be.
    LongTarget,
    /// The data of a device are neither two nor four bytes.
    DeviceNumber,
    /// The mode is of no kind that there is.
    Mode(u32),
}

impl Error {
    /// The error number that a program sees; `None` when the power went.
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
