//! The nodes of directory entries and extended attributes.
//!
//! Layer: rank 5, format. Main type: [`Dirent`].
//!
//! ```text
//!  0       24   40      48  49     50            52       56
//!  | header | key | inode | 0 | type | name length | cookie | name, NUL
//! ```
//! Source: Linux 6.1, `ubifs-media.h`, `struct ubifs_dent_node`; `fs/ubifs/replay.c`,
//! `ubifs_validate_entry`.

use super::bytes::{Reader, Writer, usize_of};
use super::key::Key;
use super::key::KeyType;
use super::{Header, Malformed, NodeType};
use boardlab_vfs::Kind;

/// Bytes of the node before the name.
pub const SIZE: usize = 56;
/// The longest name.
pub const NAME_MAX: usize = 255;
/// The number of kinds of inodes.
const ITYPES: u8 = 7;

/// The kind of an inode in its entries (`UBIFS_ITYPE_*`).
pub(crate) const fn entry_type(kind: Kind) -> u8 {
    match kind {
        Kind::File => 0,
        Kind::Directory => 1,
        Kind::Symlink => 2,
        Kind::Block(_) => 3,
        Kind::Character(_) => 4,
        Kind::Fifo => 5,
        Kind::Socket => 6,
    }
}

/// An entry of a directory, or of an inode's extended attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirent {
    /// Its key: the directory and the hash of the name.
    pub key: Key,
    /// The inode; 0 for a deletion.
    pub inum: u64,
    /// The kind of the inode (`UBIFS_ITYPE_*`: 0 file, 1 directory, 2 link, 3 block, 4 character, 5 FIFO, 6 socket).
    pub itype: u8,
    /// The second hash, for double hashing.
    pub cookie: u32,
    /// The name.
    pub name: Vec<u8>,
}

impl Dirent {
    /// The node at the beginning of `bytes`, an entry of a directory or of attributes; its checksum
    /// is not looked at. The checks are those of `ubifs_validate_entry`. An empty name is refused besides:
    /// a listing would go on behind no name, so at the same entry. The kernel's VFS ends it with EIO.
    ///
    /// # Errors
    /// What [`Header::parse`] returns, [`Malformed::Short`], and [`Malformed::Field`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let kind = match Header::parse(bytes)?.node_type {
            NodeType::Xattr => NodeType::Xattr,
            _ => NodeType::Dirent,
        };
        let (mut fields, header) = Reader::of_node(bytes, kind, SIZE)?;
        let (key, inum) = (fields.node_key(), fields.u64());
        fields.skip(1);
        let (itype, nlen, cookie) = (fields.u8(), fields.u16(), fields.u32());
        let length = usize::from(nlen);
        let wrong = |name, value| Err(Malformed::Field { name, value });
        if length == 0 || length > NAME_MAX || usize_of(header.len) != SIZE + length + 1 {
            return wrong("nlen", u64::from(nlen));
        }
        if itype >= ITYPES {
            return wrong("type", u64::from(itype));
        }
        if inum > u64::from(u32::MAX) {
            return wrong("inum", inum);
        }
        if !key.is_hashed() {
            return wrong("key", u64::from(key.word()));
        }
        let (name, end) = fields.rest().split_at(length);
        let is_xattr = key.kind() == Some(KeyType::Xattr);
        if end.first() != Some(&0) || (is_xattr && name.contains(&0)) {
            return wrong("name", u64::from(end.first().copied().unwrap_or_default()));
        }
        Ok(Self { key, inum, itype, cookie, name: name.to_vec() })
    }

    /// Whether it leads to a directory.
    #[must_use]
    pub const fn is_directory(&self) -> bool {
        self.itype == entry_type(Kind::Directory)
    }

    /// The bytes, without sequence number, group and checksum.
    ///
    /// # Panics
    /// When the name is longer than 65,535 bytes.
    #[must_use]
    pub fn emit(&self) -> Vec<u8> {
        let kind = match self.key.kind() {
            Some(KeyType::Xattr) => NodeType::Xattr,
            _ => NodeType::Dirent,
        };
        let mut out = Writer::of_node(kind, SIZE + self.name.len() + 1);
        out.node_key(self.key);
        out.u64(self.inum);
        out.u8(0);
        out.u8(self.itype);
        out.u16(u16::try_from(self.name.len()).expect("Dirent: a name of more than 65,535 bytes"));
        out.u32(self.cookie);
        out.bytes(&self.name);
        out.u8(0);
        out.finish()
    }
}
