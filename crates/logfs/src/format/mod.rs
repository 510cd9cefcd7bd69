//! The bytes of LogFS on flash.
//!
//! Layer: rank 5, lowest module of the crate: knows no device and no table. One file per structure:
//! [`superblock`], the header and the entry of a [`segment`], the header of an [`object`], [`inode`],
//! [`dentry`], the entries of the [`journal`]. This file has what they share.
//!
//! All numbers are big-endian. A CRC is CRC-32 with a seed of ones and without a final inversion.
//!
//! Source: Linux 3.12, `fs/logfs/logfs_abi.h`; described byte by byte in `docs/formats/logfs.md`.

mod bytes;
pub mod dentry;
pub mod inode;
pub mod journal;
pub mod object;
pub mod segment;
pub mod superblock;

pub use dentry::Dentry;
pub use inode::DiskInode;
pub use object::ObjectHeader;
pub use segment::{SegmentEntry, SegmentHeader};
pub use superblock::Superblock;

use boardlab_codec::crc::{UBI_SEED, crc32};
use std::fmt;

/// Bytes of a block.
pub const BLOCK: usize = 4_096;
/// The binary logarithm of a block.
pub const BLOCK_SHIFT: u8 = 12;
/// Pointers in an indirect block.
pub const POINTERS: usize = 512;
/// The binary logarithm of the pointers in an indirect block.
pub const POINTER_SHIFT: u8 = 9;
/// Direct pointers of an inode; also the index of the indirect pointer behind them.
pub const DIRECT: usize = 16;
/// Pointers of an inode.
pub const INODE_POINTERS: usize = 17;
/// The most levels of indirect blocks.
pub const HEIGHT_MAX: u8 = 5;
/// Levels of one file, with that of its data; those of the inode file lie behind.
pub const FILE_LEVELS: u8 = 6;
/// Open segments: one for each level of files, and of the inode file.
pub const AREAS: usize = 12;
/// The most segments of the journal.
pub const JOURNAL_SEGMENTS: usize = 16;

/// The inode of the inode file; it is in the journal.
pub const MASTER: u64 = 1;
/// The root directory.
pub const ROOT: u64 = 2;
/// The file with an entry for each segment.
pub const SEGMENT_FILE: u64 = 3;
/// The first number for files.
pub const FIRST_INO: u64 = 16;

/// In a pointer: there is no hole behind it.
pub const FULL: u64 = 1 << 63;

/// Compression: none.
pub const COMPRESSION_NONE: u8 = 0;
/// Compression: a zlib stream.
pub const COMPRESSION_ZLIB: u8 = 1;

/// The CRC of `bytes`.
#[must_use]
pub fn crc(bytes: &[u8]) -> u32 {
    crc32(UBI_SEED, bytes)
}

/// The offset in a pointer.
#[must_use]
pub const fn offset_of(pointer: u64) -> u64 {
    pointer & !FULL
}

/// Blocks that an indirect block of this level leads to, or 1 on level 0.
#[must_use]
pub const fn span(level: u8) -> u64 {
    1 << (POINTER_SHIFT * level)
}

/// A block of a file: its data, or an indirect block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId {
    /// The inode.
    pub ino: u64,
    /// 0 for data, and the number of pointers on the way to data for indirect blocks.
    pub level: u8,
    /// Its number among the blocks of that level.
    pub index: u64,
}

impl BlockId {
    /// The block of a level that leads to block `block` of the data.
    #[must_use]
    pub const fn leading_to(ino: u64, level: u8, block: u64) -> Self {
        Self { ino, level, index: block / span(level) }
    }

    /// The block of data.
    #[must_use]
    pub const fn data(ino: u64, block: u64) -> Self {
        Self { ino, level: 0, index: block }
    }

    /// The block of the inode file that holds an inode.
    #[must_use]
    pub const fn of_inode(ino: u64) -> Self {
        Self::data(MASTER, ino)
    }

    /// The number by which objects and journal entries name it: that of the first block of data that it
    /// can lead to (`adjust_bix`).
    #[must_use]
    pub fn bix(self) -> u64 {
        let first = match self.level {
            0 => 0,
            1 => DIRECT as u64,
            level => span(level - 1),
        };
        (self.index * span(self.level)).max(first)
    }

    /// The level by which segments are kept apart.
    #[must_use]
    pub const fn gc_level(self) -> u8 {
        if self.ino == MASTER { self.level + FILE_LEVELS } else { self.level }
    }

    /// The pointer in this indirect block that leads to block `block` of the data.
    #[must_use]
    pub fn slot(self, block: u64) -> usize {
        let within = block / span(self.level - 1) % POINTERS as u64;
        usize::try_from(within).expect("below 512")
    }
}

impl fmt::Display for BlockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ino, self.level) {
            (MASTER, 0) => write!(f, "inode {}", self.index),
            (ino, 0) => write!(f, "block {} of inode {ino}", self.index),
            (ino, level) => {
                write!(f, "indirect block {} of level {level} of inode {ino}", self.index)
            }
        }
    }
}

/// Why bytes are not the structure that they should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// There are too few bytes.
    Short {
        /// Bytes that are there.
        found: usize,
        /// Bytes of the structure.
        needed: usize,
    },
    /// All bytes are 0xFF.
    Erased,
    /// The magic number is none of LogFS.
    Magic(u64),
    /// The CRC differs from the one calculated.
    Crc {
        /// The one on flash.
        found: u32,
        /// The one of the bytes.
        expected: u32,
    },
    /// A field has an impossible value.
    Field {
        /// Its name in the format.
        name: &'static str,
        /// Its value.
        value: u64,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { found, needed } => write!(f, "{found} bytes are there, {needed} needed"),
            Self::Erased => f.write_str("it is erased"),
            Self::Magic(superblock::OLD_MAGIC) => {
                f.write_str("it is of Linux 2.6.34 or older, whose journal differs")
            }
            Self::Magic(found) => {
                write!(f, "magic {found:#018x} instead of {:#018x}", superblock::MAGIC)
            }
            Self::Crc { found, expected } => {
                write!(f, "CRC {found:#010x}, the bytes have {expected:#010x}")
            }
            Self::Field { name, value } => write!(f, "{name} is {value}"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Checks a CRC at the beginning of a structure, which covers `covered`.
fn check_crc(found: u32, covered: &[u8]) -> Result<(), Malformed> {
    let expected = crc(covered);
    if found == expected { Ok(()) } else { Err(Malformed::Crc { found, expected }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_named_by_the_first_block_of_data_that_they_can_lead_to() {
        let bix = |level, block| BlockId::leading_to(20, level, block).bix();
        assert_eq!((bix(0, 3), bix(1, 16), bix(1, 511), bix(1, 512)), (3, 16, 16, 512));
        assert_eq!((bix(2, 20), bix(2, 262_144), bix(3, 512)), (512, 262_144, 262_144));
    }

    #[test]
    fn slots_are_the_digits_of_the_block_number() {
        let block = 3 * 262_144 + 7 * 512 + 11;
        let slot = |level| BlockId::leading_to(20, level, block).slot(block);
        assert_eq!((slot(1), slot(2), slot(3), slot(4)), (11, 7, 3, 0));
        assert_eq!(BlockId::leading_to(MASTER, 2, 0).gc_level(), 8);
    }
}
