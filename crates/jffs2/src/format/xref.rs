//! The reference: this inode has that extended attribute.
//!
//! Layer: rank 5, format. Main types: [`XrefView`] over bytes, [`Xref`].
//!
//! ```text
//!  0       12    16    20       24         28
//!  | header | ino | xid | xseqno | node crc |
//! ```
//! Bit 0 of the sequence number says that the attribute was removed from the inode; the rest orders
//! the references. The checksum covers the first 24 bytes.
//!
//! Source: Linux 6.1, `struct jffs2_raw_xref`.

use super::header::{Header, NodeType};
use super::{ByteOrder, Malformed, checked, crc};
use std::fmt;

/// Bytes of the node.
pub const SIZE: u32 = 28;
/// Bytes that the node checksum covers.
const COVERED: usize = 24;

mod field {
    use std::ops::Range;
    pub(super) const INO: Range<usize> = 12..16;
    pub(super) const XID: Range<usize> = 16..20;
    pub(super) const SEQUENCE: Range<usize> = 20..24;
    pub(super) const NODE_CRC: Range<usize> = 24..28;
}

/// A reference from an inode to an extended attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Xref {
    /// The inode.
    pub ino: u32,
    /// The attribute.
    pub xid: u32,
    /// Its age, without the bit of removal: of two the higher one counts.
    pub sequence: u32,
    /// Whether the attribute was removed from the inode.
    pub removed: bool,
}

/// Bytes that are a reference: long enough, with the right checksum.
#[derive(Debug, Clone, Copy)]
pub struct XrefView<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> XrefView<'a> {
    /// `bytes` from the header on.
    ///
    /// # Errors
    /// [`Malformed::Short`], [`Malformed::NodeCrc`].
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Result<Self, Malformed> {
        checked(bytes, order, SIZE, COVERED, field::NODE_CRC)?;
        Ok(Self { bytes, order })
    }

    /// The total length that the header says.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.order.get32(self.bytes, 4..8)
    }

    /// All fields.
    #[must_use]
    pub fn parse(&self) -> Xref {
        let get = |at| self.order.get32(self.bytes, at);
        let sequence = get(field::SEQUENCE);
        Xref {
            ino: get(field::INO),
            xid: get(field::XID),
            sequence: sequence & !1,
            removed: sequence & 1 != 0,
        }
    }
}

impl Xref {
    /// The header of this node.
    #[must_use]
    pub const fn header(&self) -> Header {
        Header::new(NodeType::Xref, SIZE)
    }

    /// The sequence number with the bit of removal.
    #[must_use]
    pub fn xseqno(&self) -> u32 {
        self.sequence | u32::from(self.removed)
    }

    /// Writes the node to the first 28 of `bytes`.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn emit(&self, bytes: &mut [u8], order: ByteOrder) {
        self.header().emit(bytes, order);
        order.put32(bytes, field::INO, self.ino);
        order.put32(bytes, field::XID, self.xid);
        order.put32(bytes, field::SEQUENCE, self.xseqno());
        let sum = crc(0, &bytes[..COVERED]);
        order.put32(bytes, field::NODE_CRC, sum);
    }
}

impl fmt::Display for Xref {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.removed { "no longer has" } else { "has" };
        write!(f, "inode {} {verb} attribute {}, {}", self.ino, self.xid, self.sequence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFERENCE: Xref = Xref { ino: 9, xid: 3, sequence: 0x0102_0304, removed: true };

    #[test]
    fn a_reference_has_its_fields_where_linux_has_them() {
        let mut bytes = [0xEE; 28];
        REFERENCE.emit(&mut bytes, ByteOrder::Little);
        assert_eq!(bytes[..8], [0x85, 0x19, 0x09, 0xe0, 28, 0, 0, 0]);
        assert_eq!(bytes[12..24], [9, 0, 0, 0, 3, 0, 0, 0, 5, 3, 2, 1]);
    }

    #[test]
    fn a_reference_is_read_back_in_both_orders_and_checked() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let mut bytes = [0; 28];
            REFERENCE.emit(&mut bytes, order);
            assert_eq!(XrefView::new(&bytes, order).unwrap().parse(), REFERENCE);
            bytes[14] ^= 1;
            assert!(XrefView::new(&bytes, order).is_err());
        }
    }
}
