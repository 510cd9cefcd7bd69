//! Padding: fills what is left of a page that must be written before it is full.
//!
//! Layer: rank 5, format. Main type: [`Padding`]. Padding longer than a header is a node whose
//! length is that of the gap and whose bytes after the header are zeros; a shorter gap is zeros alone.
//!
//! ```text
//!  | 85 19  04 20 | bytes of the gap | crc | 00 00 00 ...      or      | 00 00 00 ... (4, 8 or 12)
//! ```
//! Source: Linux 6.1, `__jffs2_flush_wbuf`.

use super::ByteOrder;
use super::header::{self, Header, NodeType};
use std::fmt;

/// A gap to be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Padding {
    /// Its bytes: a multiple of four.
    pub length: u32,
}

impl Padding {
    /// The header of the node; `None` for a gap that is not longer than one.
    #[must_use]
    pub fn header(self) -> Option<Header> {
        (self.length > header::SIZE).then(|| Header::new(NodeType::Padding, self.length))
    }

    /// Fills `gap`.
    ///
    /// # Panics
    /// When it has not the length of this padding.
    pub fn emit(self, gap: &mut [u8], order: ByteOrder) {
        assert_eq!(super::length_of(gap), self.length, "Padding: a gap of another length");
        gap.fill(0);
        if let Some(header) = self.header() {
            header.emit(gap, order);
        }
    }
}

impl fmt::Display for Padding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "padding of {} bytes", self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_longer_than_a_header_is_a_node() {
        let mut gap = [0xFF; 16];
        Padding { length: 16 }.emit(&mut gap, ByteOrder::Little);
        assert_eq!(gap[..8], [0x85, 0x19, 0x04, 0x20, 16, 0, 0, 0]);
        assert_eq!(gap[12..], [0; 4]);
        let found = Header::parse(&gap, ByteOrder::Little);
        assert_eq!(found, Ok(Header::new(NodeType::Padding, 16)));
    }

    #[test]
    fn a_shorter_gap_is_zeros() {
        let mut gap = [0xFF; 12];
        Padding { length: 12 }.emit(&mut gap, ByteOrder::Little);
        assert_eq!(gap, [0; 12]);
    }
}
