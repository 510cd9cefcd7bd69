//! Indexing nodes.
//!
//! Layer: rank 5, format. Main types: [`IndexNode`], [`Branch`].
//!
//! ```text
//!  0       24               26     28
//!  | header | branch count | level | LEB, offset, length, key (20 bytes) | ...
//! ```
//! Source: Linux 6.1, `ubifs-media.h`, `struct ubifs_idx_node`, `ubifs_branch`.

use super::bytes::{Reader, Writer, usize_of};
use super::key::Key;
use super::{LEVELS_MAX, Malformed, NodeType};
use boardlab_ubi::LebIndex;

/// Bytes of the node before its branches.
pub const SIZE: usize = 28;
/// Bytes of a branch with an 8-byte key and without a hash.
pub const BRANCH_SIZE: usize = 20;

/// A branch: where the node of a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    /// The LEB.
    pub lnum: LebIndex,
    /// The offset.
    pub offs: u32,
    /// The length.
    pub len: u32,
    /// The key; the lowest one below, for an indexing node.
    pub key: Key,
}

/// An indexing node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexNode {
    /// The level: 0 refers to leaf nodes.
    pub level: u16,
    /// The branches, in the order of their keys.
    pub branches: Vec<Branch>,
}

/// Bytes of an indexing node with this many branches.
#[must_use]
pub const fn size_of(branches: u32) -> u32 {
    28 + 20 * branches
}

impl Branch {
    /// The branch at the beginning of `bytes`.
    ///
    /// # Errors
    /// [`Malformed::Short`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let Some(bytes) = bytes.first_chunk::<BRANCH_SIZE>() else {
            return Err(Malformed::Short { found: bytes.len(), needed: BRANCH_SIZE });
        };
        let mut fields = Reader::at(bytes);
        let (lnum, offs, len) = (fields.leb(), fields.u32(), fields.u32());
        Ok(Self { lnum, offs, len, key: fields.key() })
    }
}

impl IndexNode {
    /// The node at the beginning of `bytes`; its checksum is not looked at, and its branches may
    /// lead anywhere.
    ///
    /// # Errors
    /// What [`super::Header::parse`] returns, [`Malformed::Short`], and [`Malformed::Field`] for a
    /// number of branches above `fanout` or none, or an impossible level.
    pub fn parse(bytes: &[u8], fanout: u32) -> Result<Self, Malformed> {
        let (mut fields, header) = Reader::of_node(bytes, NodeType::Index, SIZE)?;
        let (count, level) = (fields.u16(), fields.u16());
        let fits = size_of(u32::from(count)) <= header.len;
        if count == 0 || u32::from(count) > fanout || !fits {
            return Err(Malformed::Field { name: "child_cnt", value: u64::from(count) });
        }
        if level > LEVELS_MAX {
            return Err(Malformed::Field { name: "level", value: u64::from(level) });
        }
        let entries = fields.rest().chunks_exact(BRANCH_SIZE).take(usize::from(count));
        Ok(Self { level, branches: entries.map(Branch::parse).collect::<Result<_, _>>()? })
    }

    /// The bytes, without sequence number, group and checksum.
    ///
    /// # Panics
    /// When there are more than 65,535 branches.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let count = u16::try_from(self.branches.len()).expect("IndexNode: too many branches");
        let mut out = Writer::of_node(NodeType::Index, usize_of(size_of(u32::from(count))));
        out.u16(count);
        out.u16(self.level);
        for branch in &self.branches {
            out.u32(branch.lnum.0);
            out.u32(branch.offs);
            out.u32(branch.len);
            out.key(branch.key);
        }
        out.finish()
    }
}
