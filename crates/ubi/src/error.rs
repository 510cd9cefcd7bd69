//! Why a flash cannot be attached, and why a volume cannot be changed.
//!
//! Layer: rank 4. Main types: [`AttachError`], [`VolumeError`]. The errors of single operations are
//! [`crate::lebs::Error`].

use crate::format::Malformed;
use crate::format::vtbl::TableError;
use crate::lebs::{Error, PebIndex};
use boardlab_sim::Bytes;
use std::fmt;

/// Why a flash cannot be attached.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttachError {
    /// The device has a geometry that UBI does not support.
    Geometry {
        /// The property.
        what: &'static str,
        /// Its value.
        found: u64,
    },
    /// The VID header does not fit there.
    VidOffset {
        /// The offset of the VID header.
        offset: u32,
        /// The size of a block.
        peb_size: u32,
    },
    /// A LEB is too small for a record of the volume table.
    SmallLebs {
        /// The size of a LEB.
        leb_size: u32,
    },
    /// A header with the right checksum is illegal, or is for another geometry.
    Header {
        /// The block.
        peb: PebIndex,
        /// What is wrong.
        cause: Malformed,
    },
    /// Two blocks belong to different images.
    ImageSeq {
        /// The block.
        peb: PebIndex,
        /// The number of the image in its header.
        found: u32,
        /// The number of the image in the headers before.
        expected: u32,
    },
    /// An unknown internal volume demands that the flash is left alone.
    Rejected {
        /// A block of the volume.
        peb: PebIndex,
        /// The number of the volume.
        volume: u32,
    },
    /// Two copies of a LEB have the same sequence number.
    SameSqnum {
        /// The block found first.
        first: PebIndex,
        /// The block found second.
        second: PebIndex,
        /// The sequence number.
        sqnum: u64,
    },
    /// The headers of a volume contradict each other, or the volume table.
    Inconsistent {
        /// The volume.
        volume: u32,
        /// The property.
        field: &'static str,
        /// What the volume has.
        expected: u64,
        /// What was found.
        found: u64,
    },
    /// A VID header was good and is not any more.
    Vanished {
        /// The block.
        peb: PebIndex,
    },
    /// Too many blocks have data without a VID header.
    Corrupted {
        /// How many.
        found: u32,
        /// From how many on the flash is refused.
        limit: u32,
    },
    /// There is no UBI on the flash, but other data.
    NotUbi {
        /// The blocks with other data.
        found: u32,
    },
    /// The flash has headers of UBI but no volume table.
    NoTable,
    /// The layout volume has a LEB that it must not have.
    LayoutLeb {
        /// The number of the LEB.
        leb: u32,
    },
    /// Both copies of the volume table are damaged, or one is illegal.
    Table(TableError),
    /// Two volumes are to take all free blocks.
    TwoAutoresize {
        /// The first volume.
        first: u32,
        /// The second volume.
        second: u32,
    },
    /// There are fewer blocks than the volumes reserve.
    NoSpace {
        /// The blocks required.
        needed: u32,
        /// The blocks available.
        available: u32,
    },
    /// An operation on the flash failed.
    Operation(Error),
}

impl From<Error> for AttachError {
    fn from(error: Error) -> Self {
        match error {
            Error::Header { peb, cause } => Self::Header { peb, cause },
            other => Self::Operation(other),
        }
    }
}

impl fmt::Display for AttachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Geometry { what, found } => write!(f, "UBI does not support {what} {found}"),
            Self::VidOffset { offset, peb_size } => {
                write!(
                    f,
                    "a VID header does not fit at offset {offset} of blocks of {peb_size} bytes"
                )
            }
            Self::SmallLebs { leb_size } => {
                write!(f, "LEBs of {leb_size} bytes are too small for a volume table")
            }
            Self::Header { peb, cause } => write!(f, "block {peb}, header: {cause}"),
            Self::ImageSeq { peb, found, expected } => {
                write!(f, "block {peb} is of image {found}, the blocks before of image {expected}")
            }
            Self::Rejected { peb, volume } => {
                write!(
                    f,
                    "block {peb} is of the unknown internal volume {volume:#x}, which forbids to attach"
                )
            }
            Self::SameSqnum { first, second, sqnum } => {
                write!(
                    f,
                    "blocks {first} and {second} hold the same LEB with the same sequence number {sqnum}"
                )
            }
            Self::Inconsistent { volume, field, expected, found } => {
                write!(
                    f,
                    "volume {volume}: {field} is {found} in one place and {expected} in another"
                )
            }
            Self::Vanished { peb } => {
                write!(f, "the VID header of block {peb} cannot be read again")
            }
            Self::Corrupted { found, limit } => {
                write!(f, "{found} blocks have data but no VID header, {limit} are too many")
            }
            Self::NotUbi { found } => {
                write!(
                    f,
                    "the flash is not formatted for UBI, and {found} blocks may hold other data"
                )
            }
            Self::NoTable => f.write_str("there is no volume table"),
            Self::LayoutLeb { leb } => {
                write!(f, "the layout volume has LEB {leb}, only 0 and 1 are legal")
            }
            Self::Table(cause) => write!(f, "both volume tables are unusable: {cause}"),
            Self::TwoAutoresize { first, second } => {
                write!(f, "volumes {first} and {second} both are to take all free blocks")
            }
            Self::NoSpace { needed, available } => {
                write!(f, "{needed} blocks are needed, {available} are available")
            }
            Self::Operation(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AttachError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Header { cause, .. } => Some(cause),
            Self::Table(cause) => Some(cause),
            Self::Operation(error) => Some(error),
            _ => None,
        }
    }
}

/// Why a volume cannot be opened, made, removed, renamed, resized or updated.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum VolumeError {
    /// There is no such volume.
    NoSuchVolume {
        /// Its number.
        id: u32,
    },
    /// The number is in use, or beyond the table.
    Id {
        /// The number; `None` when all numbers are in use.
        id: Option<u32>,
    },
    /// The name is empty, too long, contains NUL, or is that of another volume.
    Name {
        /// The name.
        name: String,
        /// The volume of that name, if any.
        used_by: Option<u32>,
    },
    /// The alignment is zero, beyond a LEB, or no multiple of the smallest write.
    Alignment {
        /// The alignment.
        found: u32,
    },
    /// The size is zero, or smaller than the data of a static volume.
    Size {
        /// The size.
        found: Bytes,
    },
    /// There are too few blocks.
    NoSpace {
        /// The blocks required.
        needed: u64,
        /// The blocks available.
        available: u32,
    },
    /// An operation failed.
    Operation(Error),
}

impl From<Error> for VolumeError {
    fn from(error: Error) -> Self {
        Self::Operation(error)
    }
}

impl fmt::Display for VolumeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchVolume { id } => write!(f, "there is no volume {id}"),
            Self::Id { id: Some(id) } => write!(f, "volume number {id} is in use or too large"),
            Self::Id { id: None } => f.write_str("all volume numbers are in use"),
            Self::Name { name, used_by: Some(id) } => {
                write!(f, "the name \"{name}\" is that of volume {id}")
            }
            Self::Name { name, used_by: None } => {
                write!(f, "\"{name}\" is no name of a volume: 1 to 127 bytes without NUL")
            }
            Self::Alignment { found } => write!(f, "LEBs cannot be aligned to {found}"),
            Self::Size { found } => write!(f, "a volume cannot have {} bytes", found.get()),
            Self::NoSpace { needed, available } => {
                write!(f, "{needed} blocks are needed, {available} are available")
            }
            Self::Operation(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for VolumeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Operation(error) => Some(error),
            _ => None,
        }
    }
}
