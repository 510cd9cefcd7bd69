//! The on-flash format of JFFS2.
//!
//! Layer: rank 5, lowest module of the crate: knows no device and no index. One file per type of node,
//! each with the same five parts: the fields as byte ranges, a checked view over bytes, a
//! representation with legal states only, its emission, its display; tests on literal bytes at the end.
//! This file has the shared parts: [`ByteOrder`], the checksum [`crc`], [`pad`], and [`Malformed`].
//!
//! Source: Linux 6.1, `include/uapi/linux/jffs2.h`; described bit by bit in `docs/formats/jffs2.md`.

pub mod cleanmarker;
pub mod dirent;
pub mod header;
pub mod inode;
pub mod padding;
pub mod summary;
pub mod xattr;
pub mod xref;

pub use boardlab_codec::ByteOrder;
pub use cleanmarker::OobCleanmarker;
pub use dirent::{Dirent, DirentView};
pub use header::{Compatibility, Header, HeaderError, NodeType, each_node};
pub use inode::{Inode, InodeView};
pub use padding::Padding;
pub use summary::{Entry, SummaryView, Trailer};
pub use xattr::{Xattr, XattrPrefix, XattrView};
pub use xref::{Xref, XrefView};

use std::fmt;
use std::ops::Range;

/// Every node begins at a multiple of this many bytes.
pub const ALIGNMENT: u32 = 4;

/// The checksum of JFFS2 over `bytes`, continued from `before` (0 to begin): CRC-32 with the usual
/// reflected polynomial, but nothing is inverted at the beginning or the end (Linux's `crc32_le`).
#[must_use]
pub fn crc(before: u32, bytes: &[u8]) -> u32 {
    boardlab_codec::crc32(before, bytes)
}

/// `length` up to the next beginning of a node.
///
/// # Panics
/// When the result is beyond u32; lengths of nodes are at most those of an erase block.
#[must_use]
pub const fn pad(length: u32) -> u32 {
    length.next_multiple_of(ALIGNMENT)
}

/// Why bytes whose header is right are not a node of the type that the header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// There are fewer bytes than the fields of the node take.
    Short {
        /// The number required.
        expected: u32,
        /// The number present.
        found: u32,
    },
    /// The checksum over the fields is wrong.
    NodeCrc {
        /// The checksum in the node.
        expected: u32,
        /// The checksum of its bytes.
        found: u32,
    },
    /// The checksum over the name or the data is wrong.
    DataCrc {
        /// The checksum in the node.
        expected: u32,
        /// The checksum of its bytes.
        found: u32,
    },
    /// The lengths in the node do not add up to its total length.
    Length {
        /// The total length in the header.
        total: u32,
        /// The size of fields and data.
        needed: u64,
    },
    /// A field has a value that JFFS2 never writes.
    Value {
        /// Which field.
        field: &'static str,
        /// The value.
        found: u32,
    },
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { expected, found } => {
                write!(f, "the node has {found} bytes where its fields take {expected}")
            }
            Self::NodeCrc { expected, found } => {
                write!(f, "the node's checksum is {expected:#010x}, its bytes give {found:#010x}")
            }
            Self::DataCrc { expected, found } => {
                write!(f, "the data's checksum is {expected:#010x}, its bytes give {found:#010x}")
            }
            Self::Length { total, needed } => {
                write!(f, "the node says it has {total} bytes, its parts take {needed}")
            }
            Self::Value { field, found } => write!(f, "{field} is {found:#x}"),
        }
    }
}

impl std::error::Error for Malformed {}

/// Fields of a node of fixed length `size` whose checksum covers the first `covered` bytes and lies at
/// `at`: the beginning of every checked view.
fn checked(
    bytes: &[u8],
    order: ByteOrder,
    size: u32,
    covered: usize,
    at: Range<usize>,
) -> Result<(), Malformed> {
    if bytes.len() < to_usize(size) {
        return Err(Malformed::Short { expected: size, found: length_of(bytes) });
    }
    let (expected, found) = (order.get32(bytes, at), crc(0, &bytes[..covered]));
    if expected == found { Ok(()) } else { Err(Malformed::NodeCrc { expected, found }) }
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
    fn the_checksum_inverts_nothing() {
        // A cleanmarker node that Linux wrote on a little-endian NOR.
        let marker = [0x85, 0x19, 0x03, 0x20, 0x0c, 0, 0, 0, 0xb1, 0xb0, 0x1e, 0xe4];
        assert_eq!(crc(0, &marker[..8]), 0xe41e_b0b1);
        assert_eq!(crc(0, &[0; 32]), 0);
    }

    #[test]
    fn the_checksum_of_two_pieces_is_that_of_the_whole() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(crc(crc(0, &bytes[..77]), &bytes[77..]), crc(0, &bytes));
    }

    #[test]
    fn numbers_go_both_ways_in_both_orders() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            assert_eq!(order.u16(order.bytes16(0x1985)), 0x1985);
            assert_eq!(order.u32(order.bytes32(0x0285_1885)), 0x0285_1885);
            assert_eq!(order.other().u16(order.bytes16(0x1985)), 0x8519);
        }
    }
}
