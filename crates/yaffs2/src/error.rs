//! The errors of a mounted YAFFS.
//!
//! Layer: rank 5. [`Error`] is for operations, [`MountError`] for a refused mount. Damaged chunks are no
//! error of a mount: YAFFS ignores them.

use crate::format::BLOCK_CHUNKS_MAX;
use boardlab_vfs::Errno;
use std::fmt;

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// Refused, with an error number.
    Refused(Errno),
    /// The flash returned an error that YAFFS does not handle.
    Flash(boardlab_mtd::Error),
    /// A chunk that is needed has more bit errors than can be corrected.
    Chunk {
        /// The page on the flash.
        page: u32,
        /// The object it belongs to.
        object: u32,
    },
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
            Error::Flash(boardlab_mtd::Error::PowerCut { at }) => Self::PowerCut { at },
            other => Self::damaged(other),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(errno) => errno.fmt(f),
            Self::Flash(error) => error.fmt(f),
            Self::Chunk { page, object } => {
                write!(f, "page {page}, of object {object}: more bit errors than can be corrected")
            }
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

/// Why a mount was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum MountError {
    /// The device has no pages with equal erase blocks.
    NoPages,
    /// Pages are smaller than the format needs.
    SmallPage {
        /// Bytes of a page.
        page: u64,
        /// The smallest.
        least: u64,
    },
    /// Pages of YAFFS1 have 512 bytes.
    Yaffs1Page {
        /// Bytes of a page.
        page: u64,
    },
    /// The tags do not fit into the free spare bytes: tags in band do without.
    NoRoomForTags {
        /// Free spare bytes of a page.
        available: u64,
        /// Bytes of the tags.
        needed: u64,
    },
    /// There are too few blocks for the reserve of garbage collection.
    FewBlocks {
        /// Blocks of the device.
        blocks: u32,
        /// The fewest.
        least: u32,
    },
    /// More chunks in a block than YAFFS counts.
    LargeBlock {
        /// Chunks in a block.
        chunks: u32,
    },
    /// The flash returned an error.
    Flash(boardlab_mtd::Error),
}

impl From<boardlab_mtd::Error> for MountError {
    fn from(error: boardlab_mtd::Error) -> Self {
        Self::Flash(error)
    }
}

impl From<Error> for MountError {
    fn from(error: Error) -> Self {
        match error {
            Error::Flash(error) => Self::Flash(error),
            Error::Refused(_) | Error::Chunk { .. } => {
                unreachable!("a mount refuses nothing and reports damage in its findings")
            }
        }
    }
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPages => f.write_str("YAFFS needs a flash with pages and equal erase blocks"),
            Self::SmallPage { page, least } => {
                write!(f, "pages have {page} bytes: YAFFS2 needs at least {least}")
            }
            Self::Yaffs1Page { page } => {
                write!(f, "pages have {page} bytes: those of YAFFS1 have 512")
            }
            Self::NoRoomForTags { available, needed } => write!(
                f,
                "{available} free spare (OOB) bytes a page, and the tags take {needed}: mount with tags in band"
            ),
            Self::FewBlocks { blocks, least } => {
                write!(f, "{blocks} erase blocks: with its reserve YAFFS needs at least {least}")
            }
            Self::LargeBlock { chunks } => {
                write!(f, "{chunks} pages in an erase block: YAFFS counts to {BLOCK_CHUNKS_MAX}")
            }
            Self::Flash(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for MountError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Flash(error) => Some(error),
            _ => None,
        }
    }
}
