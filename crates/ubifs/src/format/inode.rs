//! The inode node.
//!
//! Layer: rank 5, format. Main type: [`InodeNode`]. The three times are those of access, change and
//! modification.
//!
//! ```text
//!  0       24   40             48     56          80              92      96    100   104    108
//!  | header | key | creat_sqnum | size | 3 x seconds | 3 x nanos | nlink | uid | gid | mode | flags
//!  112         116         120          124 128           132          134 160
//!  | data length | attributes | their bytes | 0 | their names | compressor | 0 | data
//! ```
//! Source: Linux 6.1, `ubifs-media.h`, `struct ubifs_ino_node`.

use super::bytes::{Reader, Writer, u32_of, usize_of};
use super::key::Key;
use super::{Malformed, NodeType};
use boardlab_vfs::Timestamp;

/// Bytes of the node without its data.
pub const SIZE: usize = 160;
/// The most bytes of data: a link's target, a device number, the value of an attribute.
pub const DATA_MAX: usize = 4_096;

/// The flags of an inode.
pub mod flag {
    /// Its content is compressed.
    pub const COMPR: u32 = 0x01;
    /// Writes are synchronous.
    pub const SYNC: u32 = 0x02;
    /// It cannot be changed.
    pub const IMMUTABLE: u32 = 0x04;
    /// It can only be appended to.
    pub const APPEND: u32 = 0x08;
    /// Changes of the directory are synchronous.
    pub const DIRSYNC: u32 = 0x10;
    /// It holds the value of an extended attribute.
    pub const XATTR: u32 = 0x20;
    /// It is encrypted.
    pub const CRYPT: u32 = 0x40;
}

/// An inode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InodeNode {
    /// Its key.
    pub key: Key,
    /// The sequence number at its creation.
    pub creat_sqnum: u64,
    /// Bytes of content.
    pub size: u64,
    /// The time of the last access.
    pub accessed: Timestamp,
    /// The time of the last change of the inode.
    pub changed: Timestamp,
    /// The time of the last change of the content.
    pub modified: Timestamp,
    /// The number of names.
    pub nlink: u32,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
    /// Kind and permissions, as `st_mode`.
    pub mode: u32,
    /// Its flags ([`flag`]).
    pub flags: u32,
    /// The number of extended attributes.
    pub xattr_cnt: u32,
    /// Bytes that they take.
    pub xattr_size: u32,
    /// Bytes of their names, each with a NUL.
    pub xattr_names: u32,
    /// The compressor of its content.
    pub compr_type: u16,
    /// Target of a link, device number, or value of an attribute.
    pub data: Vec<u8>,
}

impl InodeNode {
    /// An inode of which all but the key is zero.
    pub(crate) fn zeroed(key: Key) -> Self {
        let epoch = Timestamp::seconds(0);
        Self {
            key,
            creat_sqnum: 0,
            size: 0,
            accessed: epoch,
            changed: epoch,
            modified: epoch,
            nlink: 0,
            uid: 0,
            gid: 0,
            mode: 0,
            flags: 0,
            xattr_cnt: 0,
            xattr_size: 0,
            xattr_names: 0,
            compr_type: 0,
            data: Vec::new(),
        }
    }

    /// The node at the beginning of `bytes`; its checksum is not looked at.
    ///
    /// # Errors
    /// What [`super::Header::parse`] returns, [`Malformed::Short`], and [`Malformed::Field`] for data
    /// that is longer than the node.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let (mut fields, header) = Reader::of_node(bytes, NodeType::Inode, SIZE)?;
        let key = fields.node_key();
        let (creat_sqnum, size) = (fields.u64(), fields.u64());
        let seconds = [fields.u64(), fields.u64(), fields.u64()];
        let nanos = [fields.u32(), fields.u32(), fields.u32()];
        let time = |i: usize| Timestamp { seconds: seconds[i].cast_signed(), nanos: nanos[i] };
        let (nlink, uid, gid, mode) = (fields.u32(), fields.u32(), fields.u32(), fields.u32());
        let (flags, data_len) = (fields.u32(), fields.u32());
        let (xattr_cnt, xattr_size) = (fields.u32(), fields.u32());
        fields.skip(4);
        let (xattr_names, compr_type) = (fields.u32(), fields.u16());
        fields.skip(26);
        // The node of a deleted inode keeps the length of its data, and not the data.
        let data_len = if nlink == 0 && usize_of(header.len) == SIZE { 0 } else { data_len };
        if usize_of(data_len) > usize_of(header.len) - SIZE {
            return Err(Malformed::Field { name: "data_len", value: u64::from(data_len) });
        }
        Ok(Self {
            key,
            creat_sqnum,
            size,
            accessed: time(0),
            changed: time(1),
            modified: time(2),
            nlink,
            uid,
            gid,
            mode,
            flags,
            xattr_cnt,
            xattr_size,
            xattr_names,
            compr_type,
            data: fields.rest()[..usize_of(data_len)].to_vec(),
        })
    }

    /// The bytes, without sequence number, group and checksum.
    ///
    /// # Panics
    /// When the data is longer than 4 GiB.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let mut out = Writer::of_node(NodeType::Inode, SIZE + self.data.len());
        out.node_key(self.key);
        out.u64(self.creat_sqnum);
        out.u64(self.size);
        let times = [self.accessed, self.changed, self.modified];
        for time in times {
            out.u64(time.seconds.cast_unsigned());
        }
        for time in times {
            out.u32(time.nanos);
        }
        for field in [self.nlink, self.uid, self.gid, self.mode, self.flags] {
            out.u32(field);
        }
        out.u32(u32_of(self.data.len()));
        out.u32(self.xattr_cnt);
        out.u32(self.xattr_size);
        out.zeros(4);
        out.u32(self.xattr_names);
        out.u16(self.compr_type);
        out.zeros(26);
        out.bytes(&self.data);
        out.finish()
    }
}
