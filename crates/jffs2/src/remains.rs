//! What is left on a mounted flash of inodes without a name, for tools that look for deleted files.
//!
//! Layer: rank 5. Main types: [`Remains`], [`RemainingName`], [`RemainingNode`], [`RemainingXattr`]; main
//! function: [`Jffs2::remains`]. Nothing is erased by a deletion: the nodes stay until their block is collected. An
//! entry with inode 0 says that a name was removed, and when. On NOR the bit `ACCURATE` of what is not
//! needed any more is cleared besides:
//!
//! ```text
//!  /a -> 7 (version 4)   inode 7, its nodes   /a -> 0 (version 9, at 12:00)
//! ```
//! A deletion writes nothing about extended attributes: their references stay, as those of the living. Only
//! one that was removed from an inode has a newer reference that says so.
//!
//! Source: Linux 6.1, `jffs2_do_unlink` of `fs/jffs2/write.c`, `jffs2_mark_node_obsolete` of
//! `fs/jffs2/nodemgmt.c`, `jffs2_xattr_delete_inode` of `fs/jffs2/xattr.c`. A checksum counts the bit as set.

use crate::Jffs2;
use crate::acl;
use crate::error::Error;
use crate::format::header::{Header, NodeType, each_node};
use crate::format::inode::{self, Compressor};
use crate::format::{
    ByteOrder, DirentView, Inode, InodeView, Malformed, XattrPrefix, XattrView, Xref, XrefView,
    crc, to_usize,
};
use crate::read::DATA_MAX;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::{Bytes, Clock};

/// Names, and nodes, that are kept: a flash of 1 GiB that holds nothing else has no more.
const MOST: usize = 16 << 20;

/// What is left of inodes without a name, and all names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Remains {
    /// Every directory entry, also removed ones, in the order of the flash.
    pub names: Vec<RemainingName>,
    /// The nodes of inodes without a name, in the order of the flash.
    pub nodes: Vec<RemainingNode>,
    /// The references of inodes without a name to extended attributes, in the order of the flash.
    pub references: Vec<Xref>,
    /// Every extended attribute, in the order of the flash.
    pub xattrs: Vec<RemainingXattr>,
    /// Whether there is more than is kept.
    pub is_cut: bool,
}

/// The name and the value of an extended attribute, as programs see them.
pub type NamedValue = (Vec<u8>, Vec<u8>);

/// An extended attribute that is right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemainingXattr {
    /// Its number, which references name.
    pub xid: u32,
    /// Its age: all nodes of a number have the same content.
    pub version: u32,
    /// Its offset on the flash.
    pub at: Bytes,
    /// Bytes of its node.
    pub length: u32,
}

/// A directory entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemainingName {
    /// The directory.
    pub parent: u32,
    /// Its age among the entries of the directory.
    pub version: u32,
    /// The inode; 0 when the name was removed.
    pub ino: u32,
    /// When it was made, in seconds since 1970.
    pub mctime: u32,
    /// The type byte of the inode (`DT_*`).
    pub kind: u8,
    /// Whether it is not marked obsolete.
    pub accurate: bool,
    /// The name.
    pub name: Vec<u8>,
}

/// An inode node with right fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemainingNode {
    /// Its offset on the flash.
    pub at: Bytes,
    /// Whether its data are right.
    pub good: bool,
    /// Its fields.
    pub fields: Inode,
}

impl<M: Mtd> Jffs2<M> {
    /// Reads the whole flash for what is left of inodes without a name. Nothing is changed.
    ///
    /// # Errors
    /// [`Error::Flash`], except for bit errors.
    pub fn remains(&mut self, clock: &mut Clock) -> Result<Remains, Error> {
        let mut remains = Remains::default();
        self.each_node_on_flash(clock, |fs, at, header, node| {
            fs.look(&mut remains, header, node, at);
        })?;
        Ok(remains)
    }

    /// Reads the whole flash, and takes each node with its offset: see [`each_node`].
    pub(crate) fn each_node_on_flash(
        &mut self,
        clock: &mut Clock,
        mut take: impl FnMut(&Self, Bytes, Header, &[u8]),
    ) -> Result<(), Error> {
        let mut bytes = vec![0; to_usize(self.volume.layout.block_size)];
        for block in (0..self.volume.layout.block_count).map(BlockIndex) {
            let start = self.volume.blocks.block_offset(block);
            self.volume.read_flash(clock, start, &mut bytes)?;
            each_node(&mut bytes, self.volume.order, |at, header, node| {
                take(self, start + Bytes::new(at as u64), header, node);
            });
        }
        Ok(())
    }

    /// The byte order.
    #[must_use]
    pub const fn order(&self) -> ByteOrder {
        self.volume.order
    }

    /// Whether an inode has a name.
    #[must_use]
    pub fn is_named(&self, ino: u32) -> bool {
        self.volume.inodes.find(ino).is_some_and(|inode| inode.links > 0)
    }

    /// Takes the node at `place` of the flash.
    fn look(&self, remains: &mut Remains, header: Header, node: &[u8], place: Bytes) {
        let order = self.volume.order;
        match header.node_type {
            NodeType::Dirent => {
                let found = DirentView::new(node, order);
                if let Ok(found) = found.and_then(|view| view.parse()) {
                    let name = RemainingName {
                        parent: found.parent,
                        version: found.version,
                        ino: found.ino,
                        mctime: found.mctime,
                        kind: found.kind,
                        accurate: header.accurate,
                        name: found.name.to_vec(),
                    };
                    keep(&mut remains.names, &mut remains.is_cut, name);
                }
            }
            NodeType::Inode => {
                let view = InodeView::new(node, order).ok();
                if let Some(view) = view.filter(|view| !self.is_named(view.ino())) {
                    let (fields, good) = (view.parse(), is_right(&view));
                    let node = RemainingNode { at: place, good, fields };
                    keep(&mut remains.nodes, &mut remains.is_cut, node);
                }
            }
            NodeType::Xref => {
                let found = XrefView::new(node, order).map(|view| view.parse()).ok();
                if let Some(found) = found.filter(|found| !self.is_named(found.ino)) {
                    keep(&mut remains.references, &mut remains.is_cut, found);
                }
            }
            NodeType::Xattr => {
                if let Ok(found) = XattrView::new(node, order).and_then(|view| view.parse()) {
                    let (xid, version, length) = (found.xid, found.version, header.length);
                    let found = RemainingXattr { xid, version, at: place, length };
                    keep(&mut remains.xattrs, &mut remains.is_cut, found);
                }
            }
            _ => {}
        }
    }

    /// The data of a node that [`Jffs2::remains`] found, decompressed; none of a hole.
    ///
    /// # Errors
    /// [`Error::Flash`], [`Error::Node`], [`Error::Compressed`].
    pub fn read_remaining(
        &mut self,
        clock: &mut Clock,
        node: &RemainingNode,
    ) -> Result<Vec<u8>, Error> {
        let RemainingNode { at, fields, .. } = *node;
        if fields.compressor == Compressor::Zero {
            return Ok(Vec::new());
        }
        let mut stored = vec![0; to_usize(fields.csize)];
        let data = at + Bytes::new(u64::from(inode::SIZE));
        self.volume.read_flash(clock, data, &mut stored)?;
        let (expected, found) = (fields.data_crc, crc(0, &stored));
        if expected != found {
            return Err(Error::Node { at, cause: Malformed::DataCrc { expected, found } });
        }
        if fields.dsize > DATA_MAX.max(fields.csize) {
            let cause = Malformed::Value { field: "dsize", found: fields.dsize };
            return Err(Error::Node { at, cause });
        }
        let mut whole = vec![0; to_usize(fields.dsize)];
        let done = self.volume.compressors.decompress(fields.compressor, &stored, &mut whole);
        let compressor = fields.compressor.number();
        if done { Ok(whole) } else { Err(Error::Compressed { at, compressor }) }
    }

    /// Name and value, as programs see them, of an attribute that [`Jffs2::remains`] found; `None` for one of a
    /// namespace that is not known, and for an access list that is none.
    ///
    /// # Errors
    /// [`Error::Flash`], [`Error::Node`].
    pub fn read_remaining_xattr(
        &mut self,
        clock: &mut Clock,
        found: &RemainingXattr,
    ) -> Result<Option<NamedValue>, Error> {
        let RemainingXattr { at, length, .. } = *found;
        let mut bytes = vec![0; to_usize(length)];
        self.volume.read_flash(clock, at, &mut bytes)?;
        let order = self.volume.order;
        if let Ok(header) = Header::parse(&bytes, order) {
            // The checksums are those of the accurate node.
            Header { accurate: true, ..header }.emit(&mut bytes, order);
        }
        let parsed = XattrView::new(&bytes, order).and_then(|view| view.parse());
        let found = parsed.map_err(|cause| Error::Node { at, cause })?;
        let value = match found.prefix {
            XattrPrefix::Unknown(_) => None,
            XattrPrefix::AclAccess | XattrPrefix::AclDefault => acl::seen(found.value, order),
            _ => Some(found.value.to_vec()),
        };
        let name = [found.prefix.text().as_bytes(), found.name].concat();
        Ok(value.map(|value| (name, value)))
    }
}

fn keep<T>(all: &mut Vec<T>, is_cut: &mut bool, one: T) {
    if all.len() < MOST {
        all.push(one);
    } else {
        *is_cut = true;
    }
}

/// Whether the data of a node are whole and have the right checksum.
#[must_use]
pub fn is_right(view: &InodeView<'_>) -> bool {
    let node = view.parse();
    let is_whole = view.check_lengths().is_ok() && view.data().len() == to_usize(node.csize);
    is_whole && (node.csize == 0 || crc(0, view.data()) == node.data_crc)
}
