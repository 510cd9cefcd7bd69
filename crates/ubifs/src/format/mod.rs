//! The bytes of UBIFS on flash: the common header of nodes, and one file a kind of node.
//!
//! Layer: rank 5. Main types: [`Header`], [`NodeType`], [`Malformed`]. All numbers are little-endian.
//!
//! ```text
//!  0       4          8                 16       20     21      22  24
//!  | magic | checksum | sequence number | length | kind | group | 0 |
//! ```
//! The checksum is a CRC-32 of the bytes from 8 to the length.
//! Source: Linux 6.1, `fs/ubifs/ubifs-media.h`.

mod bytes;
pub mod data;
pub mod dirent;
pub mod index;
pub mod inode;
pub mod journal;
pub mod key;
pub mod master;
pub mod orphan;
pub mod padding;
pub mod superblock;
#[cfg(test)]
pub(crate) mod tests;

use boardlab_codec::crc::{UBI_SEED, crc32};
pub(crate) use bytes::{u32_of, usize_of};
use std::fmt;

/// The first bytes of a node.
pub const MAGIC: u32 = 0x0610_1831;
/// Bytes of the common header.
pub const HEADER_SIZE: usize = 24;
/// Bytes of a block of file content (`UBIFS_BLOCK_SIZE`).
pub const BLOCK_SIZE: usize = 4_096;
/// The alignment of nodes.
pub const ALIGN: u32 = 8;
/// The inode number of the root directory.
pub const ROOT_INO: u32 = 1;
/// The first inode number for files.
pub const FIRST_INO: u32 = 64;
/// Inode numbers from this one on are not given out, and not valid in a master node.
pub const INUM_WATERMARK: u32 = 0xFFFF_FF00;
/// Sequence numbers from this one on end the life of the volume.
pub const SQNUM_WATERMARK: u64 = 0xFFFF_FFFF_FF00_0000;
/// The deepest level of an indexing node.
pub const LEVELS_MAX: u16 = 512;
/// The least branches of a full indexing node.
pub const FANOUT_MIN: u32 = 3;

/// The kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum NodeType {
    /// An inode.
    Inode = 0,
    /// A block of file content.
    Data = 1,
    /// A directory entry.
    Dirent = 2,
    /// An entry of an extended attribute.
    Xattr = 3,
    /// A truncation.
    Truncation = 4,
    /// Padding.
    Padding = 5,
    /// The superblock.
    Superblock = 6,
    /// A master node.
    Master = 7,
    /// A reference to a bud, in the log.
    Reference = 8,
    /// An indexing node.
    Index = 9,
    /// The start of a commit, in the log.
    CommitStart = 10,
    /// Orphans.
    Orphan = 11,
    /// A hash of an authenticated image.
    Authentication = 12,
    /// A signature of an authenticated image.
    Signature = 13,
}

impl NodeType {
    /// Every kind, in the order of its number.
    pub const ALL: [Self; 14] = [
        Self::Inode,
        Self::Data,
        Self::Dirent,
        Self::Xattr,
        Self::Truncation,
        Self::Padding,
        Self::Superblock,
        Self::Master,
        Self::Reference,
        Self::Index,
        Self::CommitStart,
        Self::Orphan,
        Self::Authentication,
        Self::Signature,
    ];

    /// The number on flash.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "the number of a variant")]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The kind with this number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The least and the most bytes of such a node, as far as they do not depend on the volume: an
    /// indexing node, orphans and a signature are also limited by fanout and LEB.
    #[must_use]
    pub const fn lengths(self) -> (u32, u32) {
        match self {
            Self::Inode => (160, 160 + 4_096),
            Self::Data => (48, 48 + 4_096),
            Self::Dirent | Self::Xattr => (56, 56 + 255 + 1),
            Self::Truncation => (56, 56),
            Self::Padding => (28, 28),
            Self::Superblock => (4_096, 4_096),
            Self::Master => (512, 512),
            Self::Reference => (64, 64),
            Self::Index => (28 + 12 + 8, i32::MAX.cast_unsigned()),
            Self::CommitStart => (32, 32),
            Self::Orphan => (32 + 8, u32::MAX),
            Self::Authentication => (24, 24 + 64),
            Self::Signature => (64, u32::MAX),
        }
    }
}

/// The place of a node within a group that is replayed completely or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Group {
    /// Not in a group.
    None = 0,
    /// In a group, and more nodes follow.
    In = 1,
    /// The last one of a group.
    Last = 2,
}

/// The common header of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The sequence number.
    pub sqnum: u64,
    /// The length of the node in bytes, header included.
    pub len: u32,
    /// Its kind.
    pub node_type: NodeType,
    /// Its group.
    pub group: Group,
}

impl Group {
    /// The number on flash.
    const fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::In => 1,
            Self::Last => 2,
        }
    }

    /// The group with this number on flash.
    #[must_use]
    pub const fn from_number(number: u8) -> Option<Self> {
        match number {
            0 => Some(Self::None),
            1 => Some(Self::In),
            2 => Some(Self::Last),
            _ => None,
        }
    }
}

impl Header {
    /// The header at the beginning of `bytes`: magic number, kind, and a length that nodes of this
    /// kind can have; the node itself need not be among the bytes.
    ///
    /// # Errors
    /// [`Malformed::Short`], [`Malformed::Magic`], [`Malformed::Type`], [`Malformed::Length`], and
    /// [`Malformed::Field`] for an impossible group. (The kernel takes any group: a node that has such
    /// a one and a right checksum was not written by any UBIFS.)
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let Some(header) = bytes.first_chunk::<HEADER_SIZE>() else {
            return Err(Malformed::Short { found: bytes.len(), needed: HEADER_SIZE });
        };
        let mut fields = bytes::Reader::at(header);
        let magic = fields.u32();
        if magic != MAGIC {
            return Err(Malformed::Magic(magic));
        }
        fields.skip(4);
        let (sqnum, len, found, group) = (fields.u64(), fields.u32(), fields.u8(), fields.u8());
        let Some(node_type) = NodeType::from_number(found) else {
            return Err(Malformed::Type { found, expected: None });
        };
        let (min, max) = node_type.lengths();
        if !(min..=max).contains(&len) {
            return Err(Malformed::Length { found: len, min, max });
        }
        let Some(group) = Group::from_number(group) else {
            return Err(Malformed::Field { name: "group_type", value: u64::from(group) });
        };
        Ok(Self { sqnum, len, node_type, group })
    }

    /// Fills in the header of a node whose kind is there already: magic number, sequence number,
    /// length and group. The checksum is the last step: [`seal`].
    ///
    /// # Panics
    /// When `node` is shorter than a header.
    pub fn fill(node: &mut [u8], sqnum: u64, group: Group) {
        let length = u32_of(node.len());
        node[..4].copy_from_slice(&MAGIC.to_le_bytes());
        node[8..16].copy_from_slice(&sqnum.to_le_bytes());
        node[16..20].copy_from_slice(&length.to_le_bytes());
        node[21..24].copy_from_slice(&[group.number(), 0, 0]);
    }
}

/// The checksum of a whole node: of all bytes behind the field that holds it.
///
/// # Panics
/// When `node` is shorter than a header.
#[must_use]
pub fn checksum(node: &[u8]) -> u32 {
    crc32(UBI_SEED, &node[8..])
}

/// Fills in the checksum of a whole node.
///
/// # Panics
/// When `node` is shorter than a header.
pub fn seal(node: &mut [u8]) {
    let crc = checksum(node);
    node[4..8].copy_from_slice(&crc.to_le_bytes());
}

/// Compares the checksum of the node at the beginning of `bytes`, whose header is `header`.
///
/// # Errors
/// [`Malformed::Short`], [`Malformed::Checksum`].
pub fn check_checksum(bytes: &[u8], header: &Header) -> Result<(), Malformed> {
    let needed = usize_of(header.len);
    let Some(node) = bytes.get(..needed) else {
        return Err(Malformed::Short { found: bytes.len(), needed });
    };
    let found = bytes::Reader::at(&node[4..]).u32();
    let calculated = checksum(node);
    if calculated != found {
        return Err(Malformed::Checksum { calculated, found });
    }
    Ok(())
}

/// What is wrong with bytes that should be a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Malformed {
    /// Too few bytes.
    Short {
        /// How many there are.
        found: usize,
        /// How many it takes.
        needed: usize,
    },
    /// The first bytes are not those of a node.
    Magic(u32),
    /// An unknown kind of node, or another than expected.
    Type {
        /// What was found.
        found: u8,
        /// What was expected, if one kind was.
        expected: Option<NodeType>,
    },
    /// A length that nodes of this kind cannot have.
    Length {
        /// The length.
        found: u32,
        /// The least.
        min: u32,
        /// The most.
        max: u32,
    },
    /// The checksum differs.
    Checksum {
        /// The checksum of the bytes.
        calculated: u32,
        /// The checksum in the header.
        found: u32,
    },
    /// A field has a value that is not possible.
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
            Self::Short { found, needed } => write!(f, "{found} bytes of {needed}"),
            Self::Magic(found) => write!(f, "begins with {found:#010x} instead of {MAGIC:#010x}"),
            Self::Type { found, expected: Some(expected) } => {
                write!(f, "node of type {found} instead of {expected:?}")
            }
            Self::Type { found, expected: None } => write!(f, "unknown type of node {found}"),
            Self::Length { found, min, max } => {
                write!(f, "length {found} is not within {min} to {max}")
            }
            Self::Checksum { calculated, found } => {
                write!(f, "checksum {found:#010x}, but the bytes have {calculated:#010x}")
            }
            Self::Field { name, value } => write!(f, "field {name} cannot be {value}"),
        }
    }
}

impl std::error::Error for Malformed {}
