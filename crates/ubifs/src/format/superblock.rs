//! The superblock node, in LEB 0.
//!
//! Layer: rank 5, format. Main type: [`Superblock`]. Behind the header are two zeros, the hash of names
//! and the format of keys; the other fields follow in the order of the structure from byte 28 on.
//!
//! Source: Linux 6.1, `ubifs-media.h`, `struct ubifs_sb_node`.

use super::bytes::{Reader, Writer};
use super::{Malformed, NodeType};

/// Bytes of the node.
pub const SIZE: usize = 4_096;

/// The superblock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// The hash of names: true for the test hash, false for r5.
    pub test_hash: bool,
    /// The flags of the format (`UBIFS_FLG_*`).
    pub flags: u32,
    /// The smallest write.
    pub min_io: u32,
    /// Bytes of a LEB.
    pub leb_size: u32,
    /// The number of LEBs in use.
    pub leb_count: u32,
    /// The number of LEBs that the filesystem may grow to.
    pub max_leb_count: u32,
    /// The most bytes of the journal.
    pub max_bud_bytes: u64,
    /// LEBs of the log.
    pub log_lebs: u32,
    /// LEBs of the LEB properties tree.
    pub lpt_lebs: u32,
    /// LEBs of the orphan area.
    pub orph_lebs: u32,
    /// Journal heads besides garbage collection and base.
    pub jhead_count: u32,
    /// Branches of an indexing node.
    pub fanout: u32,
    /// LEB numbers in the save table (large model).
    pub lsave_count: u32,
    /// The version of the format.
    pub fmt_version: u32,
    /// The default compressor (`UBIFS_COMPR_*`).
    pub default_compr: u16,
    /// The user of the reserved pool.
    pub rp_uid: u32,
    /// The group of the reserved pool.
    pub rp_gid: u32,
    /// Bytes of the reserved pool.
    pub rp_size: u64,
    /// The granularity of times in ns.
    pub time_gran: u32,
    /// The identity of the volume.
    pub uuid: [u8; 16],
    /// The version that must be known to write.
    pub ro_compat_version: u32,
    /// The bytes behind: hashes of authenticated images.
    pub hmac: [u8; 64],
    /// The well-known message.
    pub hmac_wkm: [u8; 64],
    /// The hash algorithm.
    pub hash_algo: u16,
    /// The hash of an image that was signed offline.
    pub hash_mst: [u8; 64],
}

impl Superblock {
    /// The large model of the LEB properties tree.
    pub const BIGLPT: u32 = 0x02;
    /// The first mount must rewrite LEBs that are partly erased.
    pub const SPACE_FIXUP: u32 = 0x04;
    /// Entries have a second hash in their cookie.
    pub const DOUBLE_HASH: u32 = 0x08;
    /// Names and content are encrypted.
    pub const ENCRYPTION: u32 = 0x10;
    /// Nodes are authenticated.
    pub const AUTHENTICATION: u32 = 0x20;
}

impl Default for Superblock {
    /// All zeros, before the node is read.
    fn default() -> Self {
        Self {
            test_hash: false,
            flags: 0,
            min_io: 0,
            leb_size: 0,
            leb_count: 0,
            max_leb_count: 0,
            max_bud_bytes: 0,
            log_lebs: 0,
            lpt_lebs: 0,
            orph_lebs: 0,
            jhead_count: 0,
            fanout: 0,
            lsave_count: 0,
            fmt_version: 0,
            default_compr: 0,
            rp_uid: 0,
            rp_gid: 0,
            rp_size: 0,
            time_gran: 0,
            uuid: [0; 16],
            ro_compat_version: 0,
            hmac: [0; 64],
            hmac_wkm: [0; 64],
            hash_algo: 0,
            hash_mst: [0; 64],
        }
    }
}

impl Superblock {
    /// The node at the beginning of `bytes`; its checksum is not looked at, and sizes and counts may
    /// be impossible.
    ///
    /// # Errors
    /// What [`super::Header::parse`] returns, [`Malformed::Short`], and [`Malformed::Field`] for an
    /// unknown hash of names or format of keys.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (mut fields, _) = Reader::of_node(bytes, NodeType::Superblock, SIZE)?;
        fields.skip(2);
        let (key_hash, key_fmt) = (fields.u8(), fields.u8());
        if key_hash > 1 {
            return Err(Malformed::Field { name: "key_hash", value: u64::from(key_hash) });
        }
        if key_fmt != 0 {
            return Err(Malformed::Field { name: "key_fmt", value: u64::from(key_fmt) });
        }
        Ok(Self { test_hash: key_hash == 1, ..Self::parse_fields(fields) })
    }

    fn parse_fields(mut fields: Reader<'_>) -> Self {
        Self {
            test_hash: false,
            flags: fields.u32(),
            min_io: fields.u32(),
            leb_size: fields.u32(),
            leb_count: fields.u32(),
            max_leb_count: fields.u32(),
            max_bud_bytes: fields.u64(),
            log_lebs: fields.u32(),
            lpt_lebs: fields.u32(),
            orph_lebs: fields.u32(),
            jhead_count: fields.u32(),
            fanout: fields.u32(),
            lsave_count: fields.u32(),
            fmt_version: fields.u32(),
            default_compr: {
                let compressor = fields.u16();
                fields.skip(2);
                compressor
            },
            rp_uid: fields.u32(),
            rp_gid: fields.u32(),
            rp_size: fields.u64(),
            time_gran: fields.u32(),
            uuid: fields.array(),
            ro_compat_version: fields.u32(),
            hmac: fields.array(),
            hmac_wkm: fields.array(),
            hash_algo: fields.u16(),
            hash_mst: fields.array(),
        }
    }

    /// The bytes, without sequence number, group and checksum.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Writer::of_node(NodeType::Superblock, SIZE);
        out.bytes(&[0, 0, u8::from(self.test_hash), 0]);
        let sizes = [self.flags, self.min_io, self.leb_size, self.leb_count, self.max_leb_count];
        for field in sizes {
            out.u32(field);
        }
        out.u64(self.max_bud_bytes);
        let areas = [self.log_lebs, self.lpt_lebs, self.orph_lebs, self.jhead_count, self.fanout];
        for field in areas {
            out.u32(field);
        }
        out.u32(self.lsave_count);
        out.u32(self.fmt_version);
        out.u16(self.default_compr);
        out.zeros(2);
        out.u32(self.rp_uid);
        out.u32(self.rp_gid);
        out.u64(self.rp_size);
        out.u32(self.time_gran);
        out.bytes(&self.uuid);
        out.u32(self.ro_compat_version);
        out.bytes(&self.hmac);
        out.bytes(&self.hmac_wkm);
        out.u16(self.hash_algo);
        out.bytes(&self.hash_mst);
        out.zeros(3_774);
        out.finish()
    }
}
