//! The cleanmarker: the erase of the block was completed.
//!
//! Layer: rank 5, format. On NOR it is a node of only a header at the beginning of the block; on NAND
//! its first eight bytes are in the free OOB bytes of the block's first page ([`OobCleanmarker`]).
//!
//! ```text
//!  NOR, data bytes 0..12:        85 19  03 20  0c 00 00 00  b1 b0 1e e4
//!  NAND, free spare bytes 0..8:  85 19  03 20  08 00 00 00
//! ```
//! Source: Linux 6.1, `oob_cleanmarker` in `wbuf.c`.

use super::ByteOrder;
use super::header::{self, Header, NodeType};
use std::fmt;

/// Bytes of the node on NOR.
pub const SIZE: u32 = header::SIZE;
/// Bytes in the OOB area on NAND.
pub const OOB_SIZE: usize = 8;

mod field {
    use std::ops::Range;
    pub(super) const MAGIC: Range<usize> = 0..2;
    pub(super) const TYPE: Range<usize> = 2..4;
    pub(super) const LENGTH: Range<usize> = 4..8;
}

/// The node on NOR.
pub const NODE: Header = Header::new(NodeType::Cleanmarker, SIZE);

/// The cleanmarker in the OOB area.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OobCleanmarker;

impl OobCleanmarker {
    /// The bytes in this order.
    #[must_use]
    pub fn bytes(self, order: ByteOrder) -> [u8; OOB_SIZE] {
        let mut bytes = [0; OOB_SIZE];
        order.put16(&mut bytes, field::MAGIC, header::MAGIC);
        order.put16(&mut bytes, field::TYPE, NodeType::Cleanmarker.number());
        order.put32(&mut bytes, field::LENGTH, 8);
        bytes
    }

    /// Whether free OOB bytes begin with the marker. In a page with fewer than eight free bytes, as
    /// many as exist must match.
    #[must_use]
    pub fn is_in(self, oob: &[u8], order: ByteOrder) -> bool {
        let length = oob.len().min(OOB_SIZE);
        length > 0 && oob[..length] == self.bytes(order)[..length]
    }
}

impl fmt::Display for OobCleanmarker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("cleanmarker in spare bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_marker_in_spare_bytes_is_the_one_that_linux_writes() {
        let little = [0x85, 0x19, 0x03, 0x20, 0x08, 0, 0, 0];
        assert_eq!(OobCleanmarker.bytes(ByteOrder::Little), little);
        assert!(OobCleanmarker.is_in(&little, ByteOrder::Little));
        assert!(OobCleanmarker.is_in(&little[..6], ByteOrder::Little));
        assert!(!OobCleanmarker.is_in(&little, ByteOrder::Big));
        assert!(!OobCleanmarker.is_in(&[0xFF; 8], ByteOrder::Little));
        assert!(!OobCleanmarker.is_in(&[], ByteOrder::Little));
        let big = [0x19, 0x85, 0x20, 0x03, 0, 0, 0, 0x08];
        assert_eq!(OobCleanmarker.bytes(ByteOrder::Big), big);
    }

    #[test]
    fn the_marker_on_nor_is_a_header_alone() {
        let mut bytes = [0; 12];
        NODE.emit(&mut bytes, ByteOrder::Little);
        assert_eq!(bytes, [0x85, 0x19, 3, 0x20, 12, 0, 0, 0, 0xb1, 0xb0, 0x1e, 0xe4]);
    }
}
