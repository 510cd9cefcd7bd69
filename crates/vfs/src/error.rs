//! The errors of filesystems.
//!
//! Layer: rank 2. Main types: [`Error`] and [`Errno`], the error numbers of Linux that filesystems use.

use boardlab_sim::Instant;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;

/// The error numbers of Linux (`include/uapi/asm-generic/errno*.h`) that a filesystem may return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Errno {
    /// Operation not permitted.
    Perm = 1,
    /// No such file or directory.
    NoEnt = 2,
    /// The medium failed, or what is on it is damaged.
    Io = 5,
    /// The list of arguments, or a value, is too long.
    TooBig = 7,
    /// Not an open file.
    BadF = 9,
    /// Permission denied.
    Acces = 13,
    /// Device or resource busy.
    Busy = 16,
    /// File exists.
    Exist = 17,
    /// Link across filesystems.
    Xdev = 18,
    /// Not a directory.
    NotDir = 20,
    /// Is a directory.
    IsDir = 21,
    /// Invalid argument.
    Inval = 22,
    /// Too many open files, or too many inodes without a name.
    NFile = 23,
    /// File too large.
    FBig = 27,
    /// No space left.
    NoSpc = 28,
    /// Read-only filesystem.
    RoFs = 30,
    /// Too many links.
    MLink = 31,
    /// Result too large for the buffer.
    Range = 34,
    /// File name too long.
    NameTooLong = 36,
    /// Directory not empty.
    NotEmpty = 39,
    /// Too many levels of symbolic links.
    Loop = 40,
    /// No such attribute.
    NoData = 61,
    /// Value too large for its type.
    Overflow = 75,
    /// Operation not supported.
    OpNotSupp = 95,
    /// Stale file handle.
    Stale = 116,
}

impl Errno {
    /// The number of Linux.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "the discriminants are below 4,096")]
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// The symbol of Linux: `ENOENT`.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::Perm => "EPERM",
            Self::NoEnt => "ENOENT",
            Self::Io => "EIO",
            Self::TooBig => "E2BIG",
            Self::BadF => "EBADF",
            Self::Acces => "EACCES",
            Self::Busy => "EBUSY",
            Self::Exist => "EEXIST",
            Self::Xdev => "EXDEV",
            Self::NotDir => "ENOTDIR",
            Self::IsDir => "EISDIR",
            Self::Inval => "EINVAL",
            Self::NFile => "ENFILE",
            Self::FBig => "EFBIG",
            Self::NoSpc => "ENOSPC",
            Self::RoFs => "EROFS",
            Self::MLink => "EMLINK",
            Self::Range => "ERANGE",
            Self::NameTooLong => "ENAMETOOLONG",
            Self::NotEmpty => "ENOTEMPTY",
            Self::Loop => "ELOOP",
            Self::NoData => "ENODATA",
            Self::Overflow => "EOVERFLOW",
            Self::OpNotSupp => "EOPNOTSUPP",
            Self::Stale => "ESTALE",
        }
    }

    /// What it means, in words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Perm => "operation not permitted",
            Self::NoEnt => "no such file or directory",
            Self::Io => "input/output error",
            Self::TooBig => "argument too long",
            Self::BadF => "not an open file",
            Self::Acces => "permission denied",
            Self::Busy => "device or resource busy",
            Self::Exist => "file exists",
            Self::Xdev => "link across filesystems",
            Self::NotDir => "not a directory",
            Self::IsDir => "is a directory",
            Self::Inval => "invalid argument",
            Self::NFile => "too many open files in system",
            Self::FBig => "file too large",
            Self::NoSpc => "no space left on device",
            Self::RoFs => "read-only filesystem",
            Self::MLink => "too many links",
            Self::Range => "result too large",
            Self::NameTooLong => "file name too long",
            Self::NotEmpty => "directory not empty",
            Self::Loop => "too many levels of symbolic links",
            Self::NoData => "no such attribute",
            Self::Overflow => "value too large for its type",
            Self::OpNotSupp => "operation not supported",
            Self::Stale => "stale file handle",
        }
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.text(), self.symbol())
    }
}

/// Why an operation of a filesystem failed. Two errors are equal when a program cannot tell them
/// apart: by error number, or by the instant of the power cut.
#[derive(Debug, Clone)]
pub enum Error {
    /// Refused, with an error number. Nothing changed.
    Refused(Errno),
    /// The medium failed, or what is on it is damaged: [`Errno::Io`], with the place in the cause.
    Damaged(Arc<dyn StdError + Send + Sync>),
    /// A write-back filesystem cannot reserve flash yet. Nothing changed.
    /// [`Mount`](crate::Mount) writes dirty pages back and calls the operation again; the filesystem
    /// itself gives up with [`Errno::NoSpc`] (`make_free_space`, `fs/ubifs/budget.c`).
    NeedsWriteBack {
        /// How many pages to write back.
        pages: u32,
    },
    /// The power was cut. Only the runner of an experiment handles this.
    PowerCut {
        /// When.
        at: Instant,
    },
}

impl Error {
    /// Wraps an error of the layer below as [`Errno::Io`].
    #[must_use]
    pub fn damaged(cause: impl StdError + Send + Sync + 'static) -> Self {
        Self::Damaged(Arc::new(cause))
    }

    /// The error number that a program would see; `None` after a power cut.
    #[must_use]
    pub const fn errno(&self) -> Option<Errno> {
        match self {
            Self::Refused(errno) => Some(*errno),
            Self::Damaged(_) => Some(Errno::Io),
            Self::NeedsWriteBack { .. } => Some(Errno::NoSpc),
            Self::PowerCut { .. } => None,
        }
    }
}

impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::PowerCut { at }, Self::PowerCut { at: theirs }) => at == theirs,
            _ => self.errno().is_some() && self.errno() == other.errno(),
        }
    }
}

/// Every error has either an error number or an instant, so it equals itself.
impl Eq for Error {}

impl From<Errno> for Error {
    fn from(errno: Errno) -> Self {
        Self::Refused(errno)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(errno) => errno.fmt(f),
            Self::Damaged(cause) => write!(f, "{}: {cause}", Errno::Io),
            Self::NeedsWriteBack { pages } => {
                write!(f, "{}: {pages} dirty pages must be written first", Errno::NoSpc)
            }
            Self::PowerCut { at } => write!(f, "the power was cut at {at}"),
        }
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Damaged(cause) => Some(cause),
            Self::Refused(_) | Self::NeedsWriteBack { .. } | Self::PowerCut { .. } => None,
        }
    }
}
