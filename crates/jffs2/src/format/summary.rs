//! The summary: a table of all nodes of a block at its end, so that a mount need not read the block.
//!
//! Layer: rank 5, format. Main types: [`SummaryView`] over bytes, [`Entry`], [`Trailer`], and [`emit`].
//!
//! ```text
//!  0       12        16        20       24        28         32
//!  | header | entries | cln_mkr | padded | sum crc | node crc | entries | 0xFF | trailer |
//!                                                    8 bytes: ^ offset, magic
//!  inode  0 type  2 ino   6 version 10 offset 14 totlen 18
//!  dirent 0 type  2 totlen 6 offset 10 pino  14 version 18 ino 22 nsize 23 type 24 name
//!  xattr  0 type  2 xid   6 version 10 offset 14 totlen 18
//!  xref   0 type  2 offset 6
//! ```
//! The node ends at the end of the block. The trailer holds the offset of the node in the block and
//! the number 0x02851885. The node checksum covers the first 24 bytes, the other one everything after
//! the first 32. Entries are packed and so not aligned.
//!
//! Source: Linux 6.1, `fs/jffs2/summary.h`.

use super::header::{Header, NodeType};
use super::{ByteOrder, Malformed, checked, crc, dirent, length_of, to_usize};
use std::fmt;

/// Bytes before the entries.
pub const SIZE: u32 = 32;
/// Bytes of the trailer.
pub const TRAILER_SIZE: u32 = 8;
/// Bytes of a summary without entries.
pub const FRAME_SIZE: u32 = SIZE + TRAILER_SIZE;
/// The last four bytes of a block that has a summary.
pub const MAGIC: u32 = 0x0285_1885;
/// Bytes of an entry of an inode node.
pub const INODE_SIZE: u32 = 18;
/// Bytes of an entry of a directory entry, without the name.
pub const DIRENT_SIZE: u32 = 24;
/// Bytes of an entry of an attribute.
pub const XATTR_SIZE: u32 = 18;
/// Bytes of an entry of a reference.
pub const XREF_SIZE: u32 = 6;
/// Bytes that the node checksum covers.
const COVERED: usize = 24;

mod field {
    use std::ops::Range;
    pub(super) const COUNT: Range<usize> = 12..16;
    pub(super) const CLEANMARKER: Range<usize> = 16..20;
    pub(super) const PADDED: Range<usize> = 20..24;
    pub(super) const SUM_CRC: Range<usize> = 24..28;
    pub(super) const NODE_CRC: Range<usize> = 28..32;
    pub(super) const ENTRIES: usize = 32;
}

/// The last eight bytes of a block that has a summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trailer {
    /// Where the summary node begins in the block.
    pub offset: u32,
}

impl Trailer {
    /// The trailer in the last bytes of `bytes`, if they are one.
    #[must_use]
    pub fn parse(bytes: &[u8], order: ByteOrder) -> Option<Self> {
        let bytes = &bytes[bytes.len().checked_sub(to_usize(TRAILER_SIZE))?..];
        let offset = order.get32(bytes, 0..4);
        (order.get32(bytes, 4..8) == MAGIC).then_some(Self { offset })
    }

    /// Writes the trailer to the last bytes of `bytes`.
    fn emit(self, bytes: &mut [u8], order: ByteOrder) {
        let at = bytes.len() - to_usize(TRAILER_SIZE);
        order.put32(bytes, at..at + 4, self.offset);
        order.put32(bytes, at + 4..at + 8, MAGIC);
    }
}

/// One node of the block. Offsets count from the beginning of the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Entry<'a> {
    /// An inode node.
    Inode {
        /// The inode.
        ino: u32,
        /// Its version.
        version: u32,
        /// Where it is.
        offset: u32,
        /// Its bytes.
        length: u32,
    },
    /// A directory entry.
    Dirent {
        /// Its bytes.
        length: u32,
        /// Where it is.
        offset: u32,
        /// The directory.
        parent: u32,
        /// Its version.
        version: u32,
        /// The inode, 0 when the name was removed.
        ino: u32,
        /// The type byte (`DT_*`).
        kind: u8,
        /// The name.
        name: &'a [u8],
    },
    /// An extended attribute.
    Xattr {
        /// Its number.
        xid: u32,
        /// Its version.
        version: u32,
        /// Where it is.
        offset: u32,
        /// Its bytes.
        length: u32,
    },
    /// A reference to an extended attribute.
    Xref {
        /// Where it is.
        offset: u32,
    },
}

impl<'a> Entry<'a> {
    /// Where the node is in its block.
    #[must_use]
    pub const fn offset(&self) -> u32 {
        match *self {
            Self::Inode { offset, .. }
            | Self::Dirent { offset, .. }
            | Self::Xattr { offset, .. }
            | Self::Xref { offset } => offset,
        }
    }

    /// Bytes of the node, without what aligns the next one.
    #[must_use]
    pub const fn length(&self) -> u32 {
        match *self {
            Self::Inode { length, .. }
            | Self::Dirent { length, .. }
            | Self::Xattr { length, .. } => length,
            Self::Xref { .. } => super::xref::SIZE,
        }
    }

    /// Bytes of the entry.
    #[must_use]
    pub fn size(&self) -> u32 {
        match self {
            Self::Inode { .. } => INODE_SIZE,
            Self::Dirent { name, .. } => DIRENT_SIZE + length_of(name),
            Self::Xattr { .. } => XATTR_SIZE,
            Self::Xref { .. } => XREF_SIZE,
        }
    }

    /// The entry that `bytes` begin with.
    fn parse(bytes: &'a [u8], order: ByteOrder) -> Result<Self, EntryError> {
        let number = bytes.get(..2).ok_or(EntryError::Cut)?;
        let node_type = NodeType::of(order.get16(number, 0..2));
        let size = match node_type {
            NodeType::Inode => INODE_SIZE,
            NodeType::Dirent => DIRENT_SIZE,
            NodeType::Xattr => XATTR_SIZE,
            NodeType::Xref => XREF_SIZE,
            unknown => return Err(EntryError::Unknown(unknown)),
        };
        let fixed = bytes.get(..to_usize(size)).ok_or(EntryError::Cut)?;
        let get = |at: usize| order.get32(fixed, at..at + 4);
        Ok(match node_type {
            NodeType::Inode => {
                Self::Inode { ino: get(2), version: get(6), offset: get(10), length: get(14) }
            }
            NodeType::Dirent => {
                let end = to_usize(DIRENT_SIZE) + usize::from(fixed[22]);
                let name = bytes.get(to_usize(DIRENT_SIZE)..end).ok_or(EntryError::Cut)?;
                Self::Dirent {
                    length: get(2),
                    offset: get(6),
                    parent: get(10),
                    version: get(14),
                    ino: get(18),
                    kind: fixed[23],
                    name,
                }
            }
            NodeType::Xattr => {
                Self::Xattr { xid: get(2), version: get(6), offset: get(10), length: get(14) }
            }
            _ => Self::Xref { offset: get(2) },
        })
    }

    /// Writes the entry to the first [`Entry::size`] of `bytes`.
    fn emit(&self, bytes: &mut [u8], order: ByteOrder) {
        let mut put = |node_type: NodeType, fields: &[u32]| {
            order.put16(bytes, 0..2, node_type.number());
            for (at, &value) in (2..).step_by(4).zip(fields) {
                order.put32(bytes, at..at + 4, value);
            }
        };
        match *self {
            Self::Inode { ino, version, offset, length } => {
                put(NodeType::Inode, &[ino, version, offset, length]);
            }
            Self::Dirent { length, offset, parent, version, ino, kind, name } => {
                put(NodeType::Dirent, &[length, offset, parent, version, ino]);
                bytes[22] = u8::try_from(name.len()).expect("Entry: a name of over 255 bytes");
                bytes[23] = kind;
                bytes[24..24 + name.len()].copy_from_slice(name);
            }
            Self::Xattr { xid, version, offset, length } => {
                put(NodeType::Xattr, &[xid, version, offset, length]);
            }
            Self::Xref { offset } => put(NodeType::Xref, &[offset]),
        }
    }
}

/// Why an entry cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryError {
    /// The summary ends within it.
    Cut,
    /// Its type is none that a summary holds.
    Unknown(NodeType),
}

/// Bytes that are a summary node: of the length that it says, with both checksums right.
#[derive(Debug, Clone, Copy)]
pub struct SummaryView<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> SummaryView<'a> {
    /// `bytes` from the header to the end of the block.
    ///
    /// # Errors
    /// What is wrong with them; then the block must be read.
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Result<Self, Malformed> {
        checked(bytes, order, SIZE, COVERED, field::NODE_CRC)?;
        let header = Header::parse(bytes, order);
        let header = header.map_err(|_| Malformed::Value { field: "header", found: 0 })?;
        if header.node_type != NodeType::Summary {
            let found = u32::from(header.node_type.number());
            return Err(Malformed::Value { field: "node type", found });
        }
        if header.length != length_of(bytes) {
            let needed = u64::from(length_of(bytes));
            return Err(Malformed::Length { total: header.length, needed });
        }
        let (expected, found) =
            (order.get32(bytes, field::SUM_CRC), crc(0, &bytes[field::ENTRIES..]));
        if expected != found {
            return Err(Malformed::DataCrc { expected, found });
        }
        Ok(Self { bytes, order })
    }

    /// How many entries the node says it has.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.order.get32(self.bytes, field::COUNT)
    }

    /// Bytes of the cleanmarker node at the beginning of the block; 0 when there is none (NAND).
    #[must_use]
    pub fn cleanmarker(&self) -> u32 {
        self.order.get32(self.bytes, field::CLEANMARKER)
    }

    /// Bytes of padding nodes in the block.
    #[must_use]
    pub fn padded(&self) -> u32 {
        self.order.get32(self.bytes, field::PADDED)
    }

    /// The entries. After an error there are no more.
    pub fn entries(&self) -> impl Iterator<Item = Result<Entry<'a>, EntryError>> + use<'a> {
        let end = self.bytes.len().saturating_sub(to_usize(TRAILER_SIZE));
        let (order, mut left) = (self.order, self.count());
        let mut rest = self.bytes.get(field::ENTRIES..end).unwrap_or(&[]);
        std::iter::from_fn(move || {
            left = left.checked_sub(1)?;
            let entry = Entry::parse(rest, order);
            match &entry {
                Ok(entry) => rest = &rest[to_usize(entry.size())..],
                Err(_) => left = 0,
            }
            Some(entry)
        })
    }
}

/// What a summary says besides its entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    /// Where the node begins in the block; it takes everything from there on.
    pub offset: u32,
    /// Bytes of the cleanmarker node at the beginning of the block.
    pub cleanmarker: u32,
    /// Bytes of padding nodes in the block.
    pub padded: u32,
}

/// Writes a summary of `entries` over all of `bytes`, which reach from `frame.offset` to the end of the
/// block.
///
/// # Panics
/// When the entries do not fit.
pub fn emit<'a>(
    bytes: &mut [u8],
    order: ByteOrder,
    frame: Frame,
    entries: impl IntoIterator<Item = Entry<'a>>,
) {
    bytes.fill(0xFF);
    Header::new(NodeType::Summary, length_of(bytes)).emit(bytes, order);
    let (mut at, mut count) = (field::ENTRIES, 0);
    for entry in entries {
        entry.emit(&mut bytes[at..], order);
        at += to_usize(entry.size());
        count += 1;
    }
    assert!(at + to_usize(TRAILER_SIZE) <= bytes.len(), "summary: entries over the trailer");
    Trailer { offset: frame.offset }.emit(bytes, order);
    order.put32(bytes, field::COUNT, count);
    order.put32(bytes, field::CLEANMARKER, frame.cleanmarker);
    order.put32(bytes, field::PADDED, frame.padded);
    let sum = crc(0, &bytes[field::ENTRIES..]);
    order.put32(bytes, field::SUM_CRC, sum);
    let sum = crc(0, &bytes[..COVERED]);
    order.put32(bytes, field::NODE_CRC, sum);
}

impl fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (offset, length) = (self.offset(), self.length());
        write!(f, "{offset:#x}, {length} bytes: ")?;
        match self {
            Self::Inode { ino, version, .. } => write!(f, "inode {ino} version {version}"),
            Self::Dirent { parent, ino, name, version, .. } => {
                let name = name.escape_ascii();
                write!(f, "\"{name}\" in {parent} is inode {ino}, version {version}")
            }
            Self::Xattr { xid, version, .. } => write!(f, "attribute {xid} version {version}"),
            Self::Xref { .. } => f.write_str("reference"),
        }
    }
}

/// The longest name fits an entry.
const _: () = assert!(dirent::NAME_MAX < 256);

#[cfg(test)]
mod tests {
    use super::*;

    const ENTRIES: [Entry<'static>; 4] = [
        Entry::Inode { ino: 5, version: 2, offset: 0, length: 0x44 },
        Entry::Dirent {
            length: 43,
            offset: 0x44,
            parent: 1,
            version: 3,
            ino: 5,
            kind: 8,
            name: b"abc",
        },
        Entry::Xattr { xid: 7, version: 0, offset: 0x70, length: 40 },
        Entry::Xref { offset: 0x98 },
    ];
    const FRAME: Frame = Frame { offset: 0x1000 - 128, cleanmarker: 12, padded: 16 };

    fn node(order: ByteOrder) -> [u8; 128] {
        let mut bytes = [0xEE; 128];
        emit(&mut bytes, order, FRAME, ENTRIES);
        bytes
    }

    #[test]
    fn a_summary_has_its_fields_where_linux_has_them() {
        let bytes = node(ByteOrder::Little);
        assert_eq!(bytes[..8], [0x85, 0x19, 0x06, 0x20, 128, 0, 0, 0]);
        assert_eq!(bytes[12..24], [4, 0, 0, 0, 12, 0, 0, 0, 16, 0, 0, 0]);
        let inode = [0x02, 0xe0, 5, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0x44, 0, 0, 0];
        assert_eq!(bytes[32..50], inode);
        assert_eq!(bytes[50..56], [0x01, 0xe0, 43, 0, 0, 0]);
        assert_eq!(&bytes[72..77], b"\x03\x08abc");
        assert_eq!(bytes[77..81], [0x08, 0xe0, 7, 0]);
        assert_eq!(bytes[95..101], [0x09, 0xe0, 0x98, 0, 0, 0]);
        assert_eq!(bytes[120..], [0x80, 0x0f, 0, 0, 0x85, 0x18, 0x85, 0x02]);
    }

    #[test]
    fn a_summary_is_read_back_in_both_orders() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let bytes = node(order);
            assert_eq!(Trailer::parse(&bytes, order), Some(Trailer { offset: FRAME.offset }));
            assert_eq!(Trailer::parse(&bytes, order.other()), None);
            let view = SummaryView::new(&bytes, order).unwrap();
            let entries: Result<Vec<_>, _> = view.entries().collect();
            assert_eq!(entries.unwrap(), ENTRIES);
            assert_eq!((view.cleanmarker(), view.padded()), (12, 16));
        }
    }

    #[test]
    fn a_wrong_bit_anywhere_is_noticed() {
        for bit in 0..128 * 8 {
            let mut bytes = node(ByteOrder::Little);
            bytes[bit / 8] ^= 1 << (bit % 8);
            // Bit 13 of the type is that of obsolescence, which the header's checksum leaves out but
            // the node's does not.
            assert!(SummaryView::new(&bytes, ByteOrder::Little).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn a_count_beyond_the_bytes_ends_with_an_error() {
        let mut bytes = node(ByteOrder::Little);
        bytes[12..16].copy_from_slice(&[0xFF; 4]);
        let sum = crc(0, &bytes[..24]);
        ByteOrder::Little.put32(&mut bytes, 28..32, sum);
        let view = SummaryView::new(&bytes, ByteOrder::Little).unwrap();
        let entries: Vec<_> = view.entries().collect();
        assert_eq!(entries.len(), 5);
        assert!(entries[4].is_err(), "{:?}", entries[4]);
    }

    #[test]
    fn a_piece_of_a_block_without_a_trailer_has_none() {
        assert_eq!(Trailer::parse(&[0xFF; 16], ByteOrder::Little), None);
        assert_eq!(Trailer::parse(&[0x02], ByteOrder::Little), None);
    }
}
