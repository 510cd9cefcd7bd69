//! Orphan nodes: inodes without a name that were open at a commit.
//!
//! Layer: rank 5, format. Main type: [`OrphanNode`].
//!
//! ```text
//!  0       24                               32
//!  | header | commit, top bit: last node of it | inode (8 bytes) | ...
//! ```
//! Source: Linux 6.1, `ubifs-media.h`, `struct ubifs_orph_node`.

use super::bytes::{Reader, Writer};
use super::{Malformed, NodeType};

/// Bytes of the node before the inode numbers.
pub const SIZE: usize = 32;
/// In the commit number: this is the last node of that commit.
const LAST: u64 = 1 << 63;

/// Orphans of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrphanNode {
    /// The number of the commit.
    pub cmt_no: u64,
    /// Whether this is the last node of that commit (the top bit of the number on flash).
    pub last: bool,
    /// The inodes.
    pub inos: Vec<u64>,
}

impl OrphanNode {
    /// The node at the beginning of `bytes`; its checksum is not looked at.
    ///
    /// # Errors
    /// What [`super::Header::parse`] returns, and [`Malformed::Short`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (mut fields, _) = Reader::of_node(bytes, NodeType::Orphan, SIZE)?;
        let number = fields.u64();
        let words = fields.rest().chunks_exact(8);
        Ok(Self {
            cmt_no: number & !LAST,
            last: number & LAST != 0,
            inos: words.map(|word| Reader::at(word).u64()).collect(),
        })
    }

    /// The bytes, without sequence number, group and checksum.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Writer::of_node(NodeType::Orphan, SIZE + 8 * self.inos.len());
        out.u64(self.cmt_no | if self.last { LAST } else { 0 });
        for &ino in &self.inos {
            out.u64(ino);
        }
        out.finish()
    }
}
