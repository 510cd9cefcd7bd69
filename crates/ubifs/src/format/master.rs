//! The master node, in LEBs 1 and 2.
//!
//! Layer: rank 5, format. Main type: [`Master`]. Its fields are on flash in the order of the
//! structure, behind the header of 24 bytes; the last 152 of the 512 bytes are zeros.
//!
//! Source: Linux 6.1, `ubifs-media.h`, `struct ubifs_mst_node`.

use super::bytes::{Reader, Writer};
use super::index::Branch;
use super::key::Key;
use super::{Malformed, NodeType};
use boardlab_ubi::LebIndex;

/// Bytes of the node.
pub const SIZE: usize = 512;
/// How "no LEB" is written: -1.
const NO_LEB: LebIndex = LebIndex(u32::MAX);

/// The root of everything at one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Master {
    /// The highest inode number in use.
    pub highest_inum: u64,
    /// The number of the commit.
    pub cmt_no: u64,
    /// Flags ([`Master::DIRTY`], ...).
    pub flags: u32,
    /// The first LEB of the log.
    pub log_lnum: LebIndex,
    /// The place of the root of the index.
    pub root_lnum: LebIndex,
    /// Its offset.
    pub root_offs: u32,
    /// Its length.
    pub root_len: u32,
    /// The LEB reserved for garbage collection; `None` for -1.
    pub gc_lnum: Option<LebIndex>,
    /// The LEB of the index head.
    pub ihead_lnum: LebIndex,
    /// The offset of the index head.
    pub ihead_offs: u32,
    /// Bytes of the index.
    pub index_size: u64,
    /// Free bytes of the main area.
    pub total_free: u64,
    /// Dirty bytes.
    pub total_dirty: u64,
    /// Used bytes (data LEBs).
    pub total_used: u64,
    /// Dead bytes: too few to be used.
    pub total_dead: u64,
    /// Dark bytes: perhaps too few.
    pub total_dark: u64,
    /// The place of the root of the LEB properties tree.
    pub lpt_lnum: LebIndex,
    /// Its offset.
    pub lpt_offs: u32,
    /// The head of the tree's area.
    pub nhead_lnum: LebIndex,
    /// Its offset.
    pub nhead_offs: u32,
    /// The place of the table of the tree's own LEBs.
    pub ltab_lnum: LebIndex,
    /// Its offset.
    pub ltab_offs: u32,
    /// The place of the save table (large model).
    pub lsave_lnum: LebIndex,
    /// Its offset.
    pub lsave_offs: u32,
    /// The last LEB scanned for free space.
    pub lscan_lnum: LebIndex,
    /// Empty LEBs.
    pub empty_lebs: u32,
    /// LEBs of the index.
    pub idx_lebs: u32,
    /// The number of LEBs in use.
    pub leb_count: u32,
    /// The hash of the root index node of authenticated images.
    pub hash_root_idx: [u8; 64],
    /// The hash of the LEB properties tree.
    pub hash_lpt: [u8; 64],
    /// The HMAC of the node.
    pub hmac: [u8; 64],
}

impl Master {
    /// Not unmounted cleanly.
    pub const DIRTY: u32 = 1;
    /// There are no orphans.
    pub const NO_ORPHS: u32 = 2;
    /// Written by a recovery.
    pub const RECOVERY: u32 = 4;
}

impl Master {
    /// The branch to the root of the index.
    pub(crate) const fn root(&self) -> Branch {
        let (lnum, offs, len) = (self.root_lnum, self.root_offs, self.root_len);
        Branch { lnum, offs, len, key: Key::LOWEST }
    }
}

impl Default for Master {
    /// All zeros, before the node is read.
    fn default() -> Self {
        Self {
            highest_inum: 0,
            cmt_no: 0,
            flags: 0,
            log_lnum: LebIndex(0),
            root_lnum: LebIndex(0),
            root_offs: 0,
            root_len: 0,
            gc_lnum: None,
            ihead_lnum: LebIndex(0),
            ihead_offs: 0,
            index_size: 0,
            total_free: 0,
            total_dirty: 0,
            total_used: 0,
            total_dead: 0,
            total_dark: 0,
            lpt_lnum: LebIndex(0),
            lpt_offs: 0,
            nhead_lnum: LebIndex(0),
            nhead_offs: 0,
            ltab_lnum: LebIndex(0),
            ltab_offs: 0,
            lsave_lnum: LebIndex(0),
            lsave_offs: 0,
            lscan_lnum: LebIndex(0),
            empty_lebs: 0,
            idx_lebs: 0,
            leb_count: 0,
            hash_root_idx: [0; 64],
            hash_lpt: [0; 64],
            hmac: [0; 64],
        }
    }
}

fn optional(leb: LebIndex) -> Option<LebIndex> {
    (leb != NO_LEB).then_some(leb)
}

impl Master {
    /// The node at the beginning of `bytes`; its checksum is not looked at, and its values may be
    /// impossible.
    ///
    /// # Errors
    /// What [`super::Header::parse`] returns, and [`Malformed::Short`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (mut fields, _) = Reader::of_node(bytes, NodeType::Master, SIZE)?;
        Ok(Self {
            highest_inum: fields.u64(),
            cmt_no: fields.u64(),
            flags: fields.u32(),
            log_lnum: fields.leb(),
            root_lnum: fields.leb(),
            root_offs: fields.u32(),
            root_len: fields.u32(),
            gc_lnum: optional(fields.leb()),
            ihead_lnum: fields.leb(),
            ihead_offs: fields.u32(),
            index_size: fields.u64(),
            total_free: fields.u64(),
            total_dirty: fields.u64(),
            total_used: fields.u64(),
            total_dead: fields.u64(),
            total_dark: fields.u64(),
            lpt_lnum: fields.leb(),
            lpt_offs: fields.u32(),
            nhead_lnum: fields.leb(),
            nhead_offs: fields.u32(),
            ltab_lnum: fields.leb(),
            ltab_offs: fields.u32(),
            lsave_lnum: fields.leb(),
            lsave_offs: fields.u32(),
            lscan_lnum: fields.leb(),
            empty_lebs: fields.u32(),
            idx_lebs: fields.u32(),
            leb_count: fields.u32(),
            hash_root_idx: fields.array(),
            hash_lpt: fields.array(),
            hmac: fields.array(),
        })
    }

    /// The bytes, without sequence number, group and checksum.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Writer::of_node(NodeType::Master, SIZE);
        out.u64(self.highest_inum);
        out.u64(self.cmt_no);
        out.u32(self.flags);
        out.u32(self.log_lnum.0);
        out.u32(self.root_lnum.0);
        out.u32(self.root_offs);
        out.u32(self.root_len);
        out.u32(self.gc_lnum.unwrap_or(NO_LEB).0);
        out.u32(self.ihead_lnum.0);
        out.u32(self.ihead_offs);
        out.u64(self.index_size);
        out.u64(self.total_free);
        out.u64(self.total_dirty);
        out.u64(self.total_used);
        out.u64(self.total_dead);
        out.u64(self.total_dark);
        out.u32(self.lpt_lnum.0);
        out.u32(self.lpt_offs);
        out.u32(self.nhead_lnum.0);
        out.u32(self.nhead_offs);
        out.u32(self.ltab_lnum.0);
        out.u32(self.ltab_offs);
        out.u32(self.lsave_lnum.0);
        out.u32(self.lsave_offs);
        out.u32(self.lscan_lnum.0);
        out.u32(self.empty_lebs);
        out.u32(self.idx_lebs);
        out.u32(self.leb_count);
        out.bytes(&self.hash_root_idx);
        out.bytes(&self.hash_lpt);
        out.bytes(&self.hmac);
        out.zeros(152);
        out.finish()
    }
}
