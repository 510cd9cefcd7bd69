//! The on-flash format of UBI. All numbers are big-endian.
//!
//! Layer: rank 4, lowest module of the crate: knows no device. One file a structure, each with the
//! same five parts: the fields as byte ranges, a checked view over bytes, a representation with legal
//! states only, its emission, its display; tests on literal bytes at the end. This file has the shared
//! parts: the checksum [`crc`] and [`Malformed`].
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/ubi-media.h`.

pub mod ec;
pub mod fastmap;
pub mod vid;
pub mod vtbl;

pub use ec::EcHeader;
pub use vid::{Compat, Payload, VidHeader};
pub use vtbl::{Record, VolumeKind};

use boardlab_codec::ByteOrder;
use boardlab_codec::crc::UBI_SEED;
use std::fmt;
use std::ops::Range;

/// The version of the format.
pub const VERSION: u8 = 1;
/// The largest erase counter (`UBI_MAX_ERASECOUNTER`).
pub const EC_MAX: u32 = 0x7FFF_FFFF;
/// The largest number of user volumes (`UBI_MAX_VOLUMES`).
pub const VOLUMES_MAX: u32 = 128;
/// The first internal volume (`UBI_INTERNAL_VOL_START`).
pub const INTERNAL_START: u32 = 0x7FFF_FFFF - 4_096;
/// The volume with the volume table (`UBI_LAYOUT_VOLUME_ID`).
pub const LAYOUT_VOLUME: u32 = INTERNAL_START;
/// LEBs of the layout volume: two copies of the volume table.
pub const LAYOUT_LEBS: u32 = 2;
/// The name of the layout volume.
pub const LAYOUT_NAME: &[u8] = b"layout volume";
/// The number of internal volumes that have a slot in the table of volumes (`UBI_INT_VOL_COUNT`).
pub const INTERNAL_COUNT: u32 = 1;
/// The volume with the first block of a fastmap (`UBI_FM_SB_VOLUME_ID`).
pub const FASTMAP_ANCHOR: u32 = LAYOUT_VOLUME + 1;
/// The volume with the other blocks of a fastmap (`UBI_FM_DATA_VOLUME_ID`).
pub const FASTMAP_DATA: u32 = LAYOUT_VOLUME + 2;

/// The byte order of every number.
const ORDER: ByteOrder = ByteOrder::Big;

/// The checksum of UBI: CRC-32 from all ones, without inversion at the end.
#[must_use]
pub fn crc(bytes: &[u8]) -> u32 {
    boardlab_codec::crc32(UBI_SEED, bytes)
}

/// Why bytes are not the structure that was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// There are fewer bytes than the structure has.
    Short {
        /// The number required.
        expected: usize,
        /// The number present.
        found: usize,
    },
    /// All bytes are 0xFF.
    Erased,
    /// The magic number is wrong.
    Magic {
        /// The magic number of the structure.
        expected: u32,
        /// What was found instead.
        found: u32,
    },
    /// The checksum is wrong.
    Crc {
        /// The checksum in the structure.
        expected: u32,
        /// The checksum of its bytes.
        found: u32,
    },
    /// A field has an illegal value, or one that contradicts the device.
    Value {
        /// The field.
        field: &'static str,
        /// The value.
        found: u64,
    },
}

impl Malformed {
    /// An illegal value.
    #[must_use]
    pub fn value(field: &'static str, found: impl Into<u64>) -> Self {
        Self::Value { field, found: found.into() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { expected, found } => {
                write!(f, "{found} bytes where the structure has {expected}")
            }
            Self::Erased => f.write_str("erased flash"),
            Self::Magic { expected, found } => {
                write!(f, "magic number {found:#010x} instead of {expected:#010x}")
            }
            Self::Crc { expected, found } => {
                write!(f, "the checksum is {expected:#010x}, the bytes give {found:#010x}")
            }
            Self::Value { field, found } => write!(f, "{field} is {found} ({found:#x})"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Checks length, magic number and checksum of a header of 64 bytes whose last four are the checksum.
fn check_header(bytes: &[u8], magic: u32) -> Result<(), Malformed> {
    const SIZE: usize = 64;
    let Some(bytes) = bytes.get(..SIZE) else {
        return Err(Malformed::Short { expected: SIZE, found: bytes.len() });
    };
    let found = ORDER.get32(bytes, 0..4);
    if found != magic {
        return Err(if boardlab_mtd::is_erased(bytes) {
            Malformed::Erased
        } else {
            Malformed::Magic { expected: magic, found }
        });
    }
    check_crc(bytes, SIZE - 4)
}

/// Checks the checksum at `covered` over the bytes before it.
fn check_crc(bytes: &[u8], covered: usize) -> Result<(), Malformed> {
    let (expected, found) = (ORDER.get32(bytes, covered..covered + 4), crc(&bytes[..covered]));
    if expected == found { Ok(()) } else { Err(Malformed::Crc { expected, found }) }
}

/// The number in a field of eight bytes.
fn get64(bytes: &[u8], at: Range<usize>) -> u64 {
    u64::from_be_bytes(bytes[at].try_into().expect("the field is eight bytes wide"))
}

fn put64(bytes: &mut [u8], at: Range<usize>, value: u64) {
    bytes[at].copy_from_slice(&value.to_be_bytes());
}

/// Whether the kernel, which holds the number in an `int`, takes it as negative.
const fn is_negative(value: u32) -> bool {
    value > 0x7FFF_FFFF
}

/// A length on flash as an index into memory.
pub(crate) fn to_usize(length: u32) -> usize {
    usize::try_from(length).expect("usize holds u32")
}

/// The length of bytes that came from, or go into, one erase block.
pub(crate) fn length_of(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).expect("an erase block is smaller than 4 GiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_starts_from_ones_and_inverts_nothing() {
        // An empty record of a volume table.
        assert_eq!(crc(&[0; 168]), 0xF116_C36B);
    }
}
