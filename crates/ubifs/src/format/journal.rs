//! The nodes of the log and of truncations.
//!
//! Layer: rank 5, format. Main types: [`Truncation`], [`Reference`], [`CommitStart`].
//!
//! ```text
//!  truncation    0: header | 24: inode | 28: 0 | 40: old size | 48: new size | 56
//!  reference     0: header | 24: LEB | 28: offset | 32: head | 36: 0 | 64
//!  commit start  0: header | 24: number of the commit | 32
//! ```
//! Source: Linux 6.1, `ubifs-media.h`, `struct ubifs_ref_node`, `ubifs_cs_node`, `ubifs_trun_node`.

use super::bytes::{Reader, Writer};
use super::{Malformed, NodeType};
use boardlab_ubi::LebIndex;

/// Bytes of a truncation.
pub const TRUNCATION_SIZE: usize = 56;
/// Bytes of a reference.
pub const REFERENCE_SIZE: usize = 64;
/// Bytes of a commit start.
pub const COMMIT_START_SIZE: usize = 32;

/// A file was truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncation {
    /// The inode.
    pub inum: u32,
    /// The size before.
    pub old_size: u64,
    /// The size after.
    pub new_size: u64,
}

/// A LEB became a bud of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reference {
    /// The LEB.
    pub lnum: LebIndex,
    /// The offset from which it belongs to the journal.
    pub offs: u32,
    /// The journal head.
    pub jhead: u32,
}

/// A commit began: what is before in the log belongs to the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitStart {
    /// The number of the commit.
    pub cmt_no: u64,
}

impl Truncation {
    /// The node at the beginning of `bytes`; its checksum is not looked at.
    ///
    /// # Errors
    /// What [`super::Header::parse`] returns, and [`Malformed::Short`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (mut fields, _) = Reader::of_node(bytes, NodeType::Truncation, TRUNCATION_SIZE)?;
        let inum = fields.u32();
        fields.skip(12);
        Ok(Self { inum, old_size: fields.u64(), new_size: fields.u64() })
    }

    /// The bytes, without sequence number, group and checksum.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Writer::of_node(NodeType::Truncation, TRUNCATION_SIZE);
        out.u32(self.inum);
        out.zeros(12);
        out.u64(self.old_size);
        out.u64(self.new_size);
        out.finish()
    }
}

impl Reference {
    /// The node at the beginning of `bytes`; its checksum is not looked at.
    ///
    /// # Errors
    /// What [`super::Header::parse`] returns, and [`Malformed::Short`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (mut fields, _) = Reader::of_node(bytes, NodeType::Reference, REFERENCE_SIZE)?;
        Ok(Self { lnum: fields.leb(), offs: fields.u32(), jhead: fields.u32() })
    }

    /// The bytes, without sequence number, group and checksum.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Writer::of_node(NodeType::Reference, REFERENCE_SIZE);
        out.u32(self.lnum.0);
        out.u32(self.offs);
        out.u32(self.jhead);
        out.zeros(28);
        out.finish()
    }
}

impl CommitStart {
    /// The node at the beginning of `bytes`; its checksum is not looked at.
    ///
    /// # Errors
    /// What [`super::Header::parse`] returns, and [`Malformed::Short`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (mut fields, _) = Reader::of_node(bytes, NodeType::CommitStart, COMMIT_START_SIZE)?;
        Ok(Self { cmt_no: fields.u64() })
    }

    /// The bytes, without sequence number, group and checksum.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Writer::of_node(NodeType::CommitStart, COMMIT_START_SIZE);
        out.u64(self.cmt_no);
        out.finish()
    }
}
