//! An open inode: metadata, and the fragments of a file or the entries of a directory.
//!
//! Layer: rank 5. Main types: [`OpenInode`], [`Metadata`], [`DirEntry`].
//! [`read_inode`](crate::read_inode) builds it from the nodes, and the write path changes it.
//!
//! Source: Linux 6.1, `struct jffs2_inode_info` and `struct inode`.

use crate::block::NodeId;
use crate::format::{ByteOrder, Inode};
use crate::fragments::{Fragments, FullDnode};
use boardlab_vfs::{Device, Kind};
use std::collections::BTreeMap;

/// The metadata in the newest node of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Metadata {
    /// Kind and permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u16,
    /// Group.
    pub gid: u16,
    /// Bytes of the file or of the link's target.
    pub size: u32,
    /// Last access, in seconds since 1970.
    pub atime: u32,
    /// Last change of the content.
    pub mtime: u32,
    /// Last change of the attributes.
    pub ctime: u32,
    /// Flags, passed through.
    pub flags: u16,
    /// The compressor requested by the user, passed through.
    pub user_compressor: u8,
}

impl Metadata {
    /// The metadata of a node.
    #[must_use]
    pub const fn of(node: &Inode) -> Self {
        Self {
            mode: node.mode,
            uid: node.uid,
            gid: node.gid,
            size: node.isize,
            atime: node.atime,
            mtime: node.mtime,
            ctime: node.ctime,
            flags: node.flags,
            user_compressor: node.user_compressor,
        }
    }
}

/// An entry of an open directory (`struct jffs2_full_dirent`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DirEntry {
    /// The inode; 0 for a removed name that must be remembered.
    pub ino: u32,
    /// The type byte (`DT_*`).
    pub kind: u8,
    /// Its version among the nodes of the directory.
    pub version: u32,
    /// Its node on flash; `None` when no node records the removal (NOR).
    pub node: Option<NodeId>,
}

/// An open inode (`struct jffs2_inode_info`).
#[derive(Debug, Clone)]
pub struct OpenInode {
    /// Its number.
    pub ino: u32,
    /// Its slot in [`Inodes`](crate::index::Inodes).
    pub slot: u32,
    /// The highest version of its nodes; the next node gets one more.
    pub highest_version: u32,
    /// The kind.
    pub kind: Kind,
    /// Mode, owner, times and size.
    pub metadata: Metadata,
    /// The link count that `stat` shows.
    pub links: u32,
    /// The content of a file.
    pub fragments: Fragments,
    /// The node that carries the metadata when none with content does: for directories, empty
    /// files, symbolic links and devices.
    pub metadata_node: Option<FullDnode>,
    /// The entries of a directory, including removed ones, in byte order.
    pub entries: BTreeMap<Box<[u8]>, DirEntry>,
    /// The target of a symbolic link.
    pub target: Box<[u8]>,
    /// Whether garbage collection alone uses it, so that it may be closed when memory is short.
    pub unused: bool,
}

impl OpenInode {
    /// An inode without nodes.
    #[must_use]
    pub fn new(ino: u32, slot: u32, kind: Kind) -> Self {
        Self {
            ino,
            slot,
            highest_version: 0,
            kind,
            metadata: Metadata { mode: kind.mode_bits(), ..Metadata::default() },
            links: 0,
            fragments: Fragments::default(),
            metadata_node: None,
            entries: BTreeMap::new(),
            target: Box::default(),
            unused: false,
        }
    }

    /// The entries of a directory that refer to an inode.
    pub fn names(&self) -> impl Iterator<Item = (&[u8], &DirEntry)> {
        let live = self.entries.iter().filter(|(_, entry)| entry.ino != 0);
        live.map(|(name, entry)| (&**name, entry))
    }

    /// Replaces `old` by `new` after a node was written to another place.
    pub(crate) fn replace_node(&mut self, old: NodeId, new: NodeId) {
        if let Some(metadata) = self.metadata_node.as_mut().filter(|dnode| dnode.node == old) {
            metadata.node = new;
        }
        let found = self.fragments.numbered().find(|(_, dnode)| dnode.node == old);
        if let Some(number) = found.map(|(number, _)| number) {
            self.fragments.set_node(number, new);
        }
        if let Some(entry) = self.entries.values_mut().find(|entry| entry.node == Some(old)) {
            entry.node = Some(new);
        }
    }

    /// Whether it is a directory.
    #[must_use]
    pub fn is_directory(&self) -> bool {
        matches!(self.kind, Kind::Directory)
    }
}

/// The device whose number is the data of a node: four bytes, or two as Linux kept it before 2.6.
#[must_use]
pub fn device_of(order: ByteOrder, data: &[u8]) -> Option<Device> {
    match *data {
        [a, b] => {
            let number = order.u16([a, b]);
            Some(Device { major: u32::from(number >> 8), minor: u32::from(number & 0xFF) })
        }
        [a, b, c, d] => Some(Device::decoded(order.u32([a, b, c, d]))),
        _ => None,
    }
}

/// Encodes a device number: two bytes when major and minor fit one byte each.
#[must_use]
pub const fn device_number(device: Device) -> (u32, bool) {
    let Device { major, minor } = device;
    if major < 256 && minor < 256 {
        return (major << 8 | minor, false);
    }
    (device.encoded(), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_go_both_ways() {
        let small = Device { major: 5, minor: 1 };
        assert_eq!(device_number(small), (0x0501, false));
        assert_eq!(device_of(ByteOrder::Little, &[0x01, 0x05]), Some(small));
        let large = Device { major: 0xABC, minor: 0x1_2345 };
        assert_eq!(device_number(large), (0x123A_BC45, true));
        assert_eq!(device_of(ByteOrder::Big, &[0x12, 0x3A, 0xBC, 0x45]), Some(large));
        assert_eq!(device_of(ByteOrder::Big, &[0x12, 0x3A, 0xBC]), None);
    }
}
