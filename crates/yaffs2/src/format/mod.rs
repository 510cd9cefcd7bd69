//! The bytes of YAFFS on flash.
//!
//! Layer: rank 5, lowest module of the crate: knows no device and no table. One file per structure:
//! [`tags`] in the spare bytes of a chunk (YAFFS2) and [`tags1`] (YAFFS1), [`header`] of an object, [`xattr`]
//! behind it, [`summary`] of a block, [`checkpoint`] of all tables. This file has what they share.
//!
//! Source: `core/yaffs_guts.h` and `core/yaffs_packedtags2.c` of the public sources of YAFFS (2026-06-29);
//! described bit by bit in `docs/formats/yaffs2.md`.

pub mod checkpoint;
pub mod header;
pub mod summary;
pub mod tags;
pub mod tags1;
pub mod xattr;

pub use boardlab_codec::ByteOrder;
pub use header::ObjectHeader;
pub use tags::{Extra, Tags};

use std::fmt;

/// The root directory.
pub const ROOT: u32 = 1;
/// The directory of objects that nobody leads to.
pub const LOST_AND_FOUND: u32 = 2;
/// The directory of objects that lost their name and are still open; it is on no flash.
pub const UNLINKED: u32 = 3;
/// The directory of objects that are being deleted; it is on no flash.
pub const DELETED: u32 = 4;
/// The object that block summaries seem to belong to.
pub const SUMMARY: u32 = 0x10;
/// The largest number of an object.
pub const OBJECT_MAX: u32 = 0x3_FFFF;
/// The largest number of a chunk of a file: trees have at most eight levels above the lowest.
pub const CHUNK_MAX: u32 = (1 << 28) - 1;
/// The most chunks of an erase block: what the records of blocks in checkpoints count to.
pub const BLOCK_CHUNKS_MAX: u32 = 511;

/// The sequence number of blocks before the first.
pub const SEQUENCE_FIRST: u32 = 0x1000;
/// The first number beyond those of blocks.
pub const SEQUENCE_END: u32 = 0xEFFF_FF00;
/// The sequence number of blocks with a checkpoint.
pub const SEQUENCE_CHECKPOINT: u32 = 0x21;
/// The sequence number of a block that could not be marked bad.
pub const SEQUENCE_BAD: u32 = 0xFFFF_0000;

/// Bytes of the longest name.
pub const NAME_MAX: usize = 255;
/// Bytes of the longest target of a symbolic link.
pub const ALIAS_MAX: usize = 159;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ObjectType {
    /// Nothing that YAFFS knows; only damaged flash says so.
    Unknown,
    /// A regular file.
    File,
    /// A symbolic link.
    Symlink,
    /// A directory.
    Directory,
    /// A further name of another object.
    HardLink,
    /// A pipe, a socket or a device.
    Special,
}

impl ObjectType {
    /// The type with this number on flash.
    #[must_use]
    pub const fn of(number: u32) -> Self {
        match number {
            1 => Self::File,
            2 => Self::Symlink,
            3 => Self::Directory,
            4 => Self::HardLink,
            5 => Self::Special,
            _ => Self::Unknown,
        }
    }

    /// The number on flash.
    #[must_use]
    pub const fn number(self) -> u32 {
        match self {
            Self::Unknown => 0,
            Self::File => 1,
            Self::Symlink => 2,
            Self::Directory => 3,
            Self::HardLink => 4,
            Self::Special => 5,
        }
    }
}

impl fmt::Display for ObjectType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unknown => "unknown",
            Self::File => "file",
            Self::Symlink => "symbolic link",
            Self::Directory => "directory",
            Self::HardLink => "hard link",
            Self::Special => "special file",
        })
    }
}

/// `bytes` up to the first NUL.
#[must_use]
pub fn until_nul(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    &bytes[..end]
}

/// A count or a position that fits u32.
pub(crate) fn to_u32(value: usize) -> u32 {
    u32::try_from(value).expect("sizes of a flash fit u32")
}

/// A u32 as an index.
pub(crate) fn to_usize(value: u32) -> usize {
    usize::try_from(value).expect("usize holds u32")
}
