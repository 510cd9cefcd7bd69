//! The twelve bytes with which every node begins.
//!
//! Layer: rank 5, format. Main types: [`Header`], [`NodeType`], [`HeaderError`]: what else may stand
//! where a header is looked for.
//!
//! ```text
//!  0      2      4             8            12
//!  +------+------+-------------+-------------+
//!  | 1985 | type | total bytes | crc of 0..8 |
//!  +------+------+-------------+-------------+
//!           |
//!           15 14 what to do with an unknown type | 13 still accurate | 12..0 number
//! ```
//! On NOR a node is made obsolete in place by clearing bit 13; the checksum counts it as set.
//!
//! Source: Linux 6.1, `struct jffs2_unknown_node`.

use super::{ByteOrder, crc};
use std::fmt;

/// Bytes of a header.
pub const SIZE: u32 = 12;
/// What a node begins with.
pub const MAGIC: u16 = 0x1985;
/// What nodes of JFFS, version 1, began with.
pub const OLD_MAGIC: u16 = 0x1984;
/// The bit of the type that is cleared when a node is marked obsolete in place.
pub const ACCURATE: u16 = 0x2000;

mod field {
    use std::ops::Range;
    pub(super) const MAGIC: Range<usize> = 0..2;
    pub(super) const TYPE: Range<usize> = 2..4;
    pub(super) const LENGTH: Range<usize> = 4..8;
    pub(super) const CRC: Range<usize> = 8..12;
    pub(super) const END: usize = 12;
}

/// What a node is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeType {
    /// A name in a directory.
    Dirent,
    /// Metadata of an inode, with or without a piece of its content.
    Inode,
    /// The block was erased completely (NOR).
    Cleanmarker,
    /// Fills a page.
    Padding,
    /// What the block contains.
    Summary,
    /// Name and value of an extended attribute.
    Xattr,
    /// Ties an extended attribute to an inode.
    Xref,
    /// A type that this version does not know, with the accurate bit set.
    Unknown(u16),
}

/// How an implementation must treat a node of an unknown type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compatibility {
    /// Leave the filesystem alone.
    Incompatible,
    /// Mount read-only.
    ReadOnly,
    /// Copy the node when its block is garbage collected.
    Copy,
    /// Drop the node when its block is garbage collected.
    Delete,
}

impl NodeType {
    /// The number on flash, with the accurate bit.
    #[must_use]
    pub const fn number(self) -> u16 {
        match self {
            Self::Dirent => 0xE001,
            Self::Inode => 0xE002,
            Self::Cleanmarker => 0x2003,
            Self::Padding => 0x2004,
            Self::Summary => 0x2006,
            Self::Xattr => 0xE008,
            Self::Xref => 0xE009,
            Self::Unknown(number) => number | ACCURATE,
        }
    }

    /// The type of a number on flash; the accurate bit does not matter.
    #[must_use]
    pub const fn of(number: u16) -> Self {
        match number | ACCURATE {
            0xE001 => Self::Dirent,
            0xE002 => Self::Inode,
            0x2003 => Self::Cleanmarker,
            0x2004 => Self::Padding,
            0x2006 => Self::Summary,
            0xE008 => Self::Xattr,
            0xE009 => Self::Xref,
            other => Self::Unknown(other),
        }
    }

    /// How an implementation must treat an unknown type.
    #[must_use]
    pub const fn compatibility(self) -> Compatibility {
        match self.number() >> 14 {
            3 => Compatibility::Incompatible,
            2 => Compatibility::ReadOnly,
            1 => Compatibility::Copy,
            _ => Compatibility::Delete,
        }
    }
}

impl fmt::Display for NodeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dirent => f.pad("dirent"),
            Self::Inode => f.pad("inode"),
            Self::Cleanmarker => f.pad("cleanmarker"),
            Self::Padding => f.pad("padding"),
            Self::Summary => f.pad("summary"),
            Self::Xattr => f.pad("xattr"),
            Self::Xref => f.pad("xref"),
            Self::Unknown(number) => f.pad(&format!("unknown ({number:#06x})")),
        }
    }
}

/// The beginning of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Header {
    /// What the node is.
    pub node_type: NodeType,
    /// Bytes of the whole node, this header included, without what aligns the next one.
    pub length: u32,
    /// Whether it is not marked obsolete in place.
    pub accurate: bool,
}

/// What was found in place of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderError {
    /// Fewer bytes than a header has.
    Short {
        /// How many.
        found: usize,
    },
    /// Erased flash: the first four bytes are 0xFF.
    Erased,
    /// Zeros instead of a magic number: padding shorter than a header.
    Zeros,
    /// The magic number in the other byte order.
    OtherOrder,
    /// The magic number of JFFS, version 1.
    OldMagic,
    /// No magic number.
    NoMagic {
        /// What was found instead.
        found: u16,
    },
    /// The magic number, but the checksum of the header is wrong.
    Crc {
        /// The checksum in the header.
        expected: u32,
        /// The checksum of its bytes.
        found: u32,
    },
}

impl Header {
    /// The header of a new node.
    #[must_use]
    pub const fn new(node_type: NodeType, length: u32) -> Self {
        Self { node_type, length, accurate: true }
    }

    /// The header that `bytes` begin with.
    ///
    /// # Errors
    /// What was found instead.
    pub fn parse(bytes: &[u8], order: ByteOrder) -> Result<Self, HeaderError> {
        let Some(bytes) = bytes.get(..field::END) else {
            return Err(HeaderError::Short { found: bytes.len() });
        };
        match order.get16(bytes, field::MAGIC) {
            MAGIC => {}
            0 => return Err(HeaderError::Zeros),
            OLD_MAGIC => return Err(HeaderError::OldMagic),
            _ if bytes[..4] == [0xFF; 4] => return Err(HeaderError::Erased),
            found if found == MAGIC.swap_bytes() => return Err(HeaderError::OtherOrder),
            found => return Err(HeaderError::NoMagic { found }),
        }
        let number = order.get16(bytes, field::TYPE);
        let length = order.get32(bytes, field::LENGTH);
        let expected = order.get32(bytes, field::CRC);
        let found = Self::crc(number, length, order);
        if expected != found {
            return Err(HeaderError::Crc { expected, found });
        }
        let accurate = number & ACCURATE != 0;
        Ok(Self { node_type: NodeType::of(number), length, accurate })
    }

    /// Writes the header to the first twelve of `bytes`.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn emit(&self, bytes: &mut [u8], order: ByteOrder) {
        let number = self.node_type.number();
        let kept = if self.accurate { number } else { number & !ACCURATE };
        order.put16(bytes, field::MAGIC, MAGIC);
        order.put16(bytes, field::TYPE, kept);
        order.put32(bytes, field::LENGTH, self.length);
        order.put32(bytes, field::CRC, Self::crc(number, self.length, order));
    }

    fn crc(number: u16, length: u32, order: ByteOrder) -> u32 {
        let mut covered = [0; 8];
        order.put16(&mut covered, field::MAGIC, MAGIC);
        order.put16(&mut covered, field::TYPE, number | ACCURATE);
        order.put32(&mut covered, field::LENGTH, length);
        crc(0, &covered)
    }
}

/// Takes each node of the block that `bytes` are: its offset, its header, and its bytes as they were when it was written,
/// which are those that its checksums count, without the mark that it is not needed any more. What is no node is passed
/// over.
pub fn each_node(
    bytes: &mut [u8],
    order: ByteOrder,
    mut take: impl FnMut(usize, Header, &mut [u8]),
) {
    let mut at = 0;
    while bytes.len() - at >= super::to_usize(SIZE) {
        let rest = &mut bytes[at..];
        let found = Header::parse(rest, order).ok();
        let is_whole =
            |header: &Header| header.length >= SIZE && super::to_usize(header.length) <= rest.len();
        let Some(header) = found.filter(is_whole) else {
            at += 4;
            continue;
        };
        Header { accurate: true, ..header }.emit(rest, order);
        let padded = super::to_usize(super::pad(header.length)).min(rest.len());
        take(at, header, &mut rest[..super::to_usize(header.length)]);
        at += padded;
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let obsolete = if self.accurate { "" } else { "obsolete " };
        write!(f, "{obsolete}{} of {} bytes", self.node_type, self.length)
    }
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short { found } => write!(f, "{found} bytes, fewer than a header has"),
            Self::Erased => f.write_str("erased flash"),
            Self::Zeros => f.write_str("zeros"),
            Self::OtherOrder => f.write_str("the magic number in the other byte order"),
            Self::OldMagic => f.write_str("the magic number of JFFS, version 1"),
            Self::NoMagic { found } => write!(f, "{found:#06x} instead of {MAGIC:#06x}"),
            Self::Crc { expected, found } => {
                write!(f, "the header's checksum is {expected:#010x}, its bytes give {found:#010x}")
            }
        }
    }
}

impl std::error::Error for HeaderError {}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKER: [u8; 12] = [0x85, 0x19, 0x03, 0x20, 0x0c, 0, 0, 0, 0xb1, 0xb0, 0x1e, 0xe4];

    #[test]
    fn a_header_is_read_and_written_in_both_orders() {
        let header = Header::new(NodeType::Cleanmarker, 12);
        assert_eq!(Header::parse(&MARKER, ByteOrder::Little), Ok(header));
        let mut bytes = [0; 12];
        header.emit(&mut bytes, ByteOrder::Little);
        assert_eq!(bytes, MARKER);
        header.emit(&mut bytes, ByteOrder::Big);
        assert_eq!(bytes, [0x19, 0x85, 0x20, 0x03, 0, 0, 0, 0x0c, 0xf0, 0x60, 0xdc, 0x98]);
        assert_eq!(Header::parse(&bytes, ByteOrder::Big), Ok(header));
        assert_eq!(Header::parse(&bytes, ByteOrder::Little), Err(HeaderError::OtherOrder));
    }

    #[test]
    fn a_node_made_obsolete_in_place_keeps_its_checksum() {
        let mut bytes = MARKER;
        bytes[3] &= !0x20;
        let header = Header::parse(&bytes, ByteOrder::Little).unwrap();
        assert_eq!(header, Header { accurate: false, ..Header::new(NodeType::Cleanmarker, 12) });
        let mut again = [0; 12];
        header.emit(&mut again, ByteOrder::Little);
        assert_eq!(again, bytes);
    }

    #[test]
    fn every_wrong_bit_but_that_of_obsolescence_is_noticed() {
        for bit in (0..96).filter(|&bit| bit != 29) {
            let mut bytes = MARKER;
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert!(Header::parse(&bytes, ByteOrder::Little).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn what_is_no_header_is_told_apart() {
        let of = |bytes: &[u8]| Header::parse(bytes, ByteOrder::Little).unwrap_err();
        assert_eq!(of(&[0xFF; 12]), HeaderError::Erased);
        assert_eq!(of(&[0; 12]), HeaderError::Zeros);
        assert_eq!(of(&MARKER[..11]), HeaderError::Short { found: 11 });
        assert_eq!(of(b"UBI#\x01\0\0\0\0\0\0\0"), HeaderError::NoMagic { found: 0x4255 });
        let mut old = MARKER;
        old[0] = 0x84;
        assert_eq!(of(&old), HeaderError::OldMagic);
    }

    #[test]
    fn the_top_bits_of_a_type_say_what_to_do_with_it() {
        let of = |number| NodeType::of(number).compatibility();
        assert_eq!(of(0xE00F), Compatibility::Incompatible);
        assert_eq!(of(0xA00F), Compatibility::ReadOnly);
        assert_eq!(of(0x600F), Compatibility::Copy);
        assert_eq!(of(0x200F), Compatibility::Delete);
        assert_eq!(NodeType::of(0xC002), NodeType::Inode);
    }
}
