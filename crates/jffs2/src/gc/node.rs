//! Nodes that are copied as they are.
//!
//! Layer: rank 5. `Jffs2::copy_node`: an inode that is not open need not be read to move its pristine
//! nodes. The checksums are verified on the way, so that no damage is copied as if it were good.
//!
//! Source: Linux 6.1, `jffs2_garbage_collect_pristine` of `fs/jffs2/gc.c`.

use crate::Jffs2;
use crate::block::{NodeId, NodeState, Owner};
use crate::error::Error;
use crate::format::summary::Entry;
use crate::format::{DirentView, Header, InodeView, NodeType, crc, inode, to_usize};
use crate::wbuf::NodeWrite;
use crate::write::MIN_DATA;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::Clock;
use boardlab_vfs::Work;

impl<M: Mtd> Jffs2<M> {
    /// Copies a node as it is, marks the old one obsolete, and returns the new one; `None` when it
    /// does not fit into the block being written, no block has room for it with its summary, or it is damaged, and
    /// it must be rewritten.
    pub(super) fn copy_node(
        &mut self,
        clock: &mut Clock,
        id: NodeId,
    ) -> Result<Option<NodeId>, Error> {
        let length = self.volume.blocks.length(id);
        let owned = self.volume.blocks.node(id).owner() != Owner::Nobody;
        let least = if owned { length.min(inode::SIZE + MIN_DATA) } else { length };
        // The length of the node is an upper bound for its summary entry. With it, no small block may have room.
        let summary = Some(length).filter(|_| self.volume.summary);
        if owned && !self.volume.fits_a_block(least, summary) {
            return Ok(None);
        }
        if self.reserve_gc(clock, least, Some(length))? < length {
            return Ok(None);
        }
        let mut bytes = vec![0; to_usize(length)];
        let at = self.volume.blocks.flash_offset(id);
        self.volume.read_flash(clock, at, &mut bytes)?;
        self.volume.host.spend(clock, Work::Crc, bytes.len());
        if !self.is_good_copy(&bytes, owned) {
            return Ok(None);
        }
        let block = self.write_copy(clock, &bytes)?;
        let new = self.volume.link_copy(id, block, length);
        self.volume.mark_obsolete(clock, id)?;
        Ok(Some(new))
    }

    /// Whether the checksums of a node are valid.
    fn is_good_copy(&self, bytes: &[u8], owned: bool) -> bool {
        let order = self.volume.order;
        let Ok(header) = Header::parse(bytes, order) else { return false };
        match header.node_type {
            NodeType::Inode => InodeView::new(bytes, order).is_ok_and(|view| {
                let node = view.parse();
                let whole = view.data().len() == to_usize(node.csize);
                whole && (node.dsize == 0 || crc(0, view.data()) == node.data_crc)
            }),
            NodeType::Dirent => DirentView::new(bytes, order).is_ok_and(|view| {
                view.parse().is_ok() && view.name_so_far().iter().all(|&b| b != 0)
            }),
            _ => !owned,
        }
    }

    fn write_copy(&mut self, clock: &mut Clock, bytes: &[u8]) -> Result<BlockIndex, Error> {
        let mut retried = false;
        let length = crate::format::length_of(bytes);
        loop {
            let (block, offset) = self.volume.write_place();
            let entry = entry_of(bytes, offset, self.volume.order);
            if entry.is_none() {
                self.volume.summary_builder.disable();
            }
            self.volume.host.spend(clock, Work::Node, 0);
            let at = self.volume.write_offset();
            let piece = NodeWrite { at, parts: [bytes, &[]], entry, ino: None };
            let Err(error) = self.append_node(clock, &piece) else {
                return Ok(block);
            };
            self.abandon_space(block, length, error.clone())?;
            if std::mem::replace(&mut retried, true) {
                return Err(error);
            }
            self.reserve_gc(clock, length, Some(length))?;
        }
    }
}

impl<M> crate::volume::Volume<M> {
    fn link_copy(&mut self, old: NodeId, block: BlockIndex, length: u32) -> NodeId {
        match self.blocks.node(old).owner() {
            Owner::Inode(slot) => {
                self.inodes.link(&mut self.blocks, slot, block, length, NodeState::Pristine)
            }
            owner => self.blocks.link(block, length, NodeState::Pristine, owner, None),
        }
    }
}

/// The summary entry of a copied node.
fn entry_of(bytes: &[u8], offset: u32, order: crate::format::ByteOrder) -> Option<Entry<'_>> {
    let header = Header::parse(bytes, order).ok()?;
    let length = header.length;
    match header.node_type {
        NodeType::Inode => {
            let node = InodeView::new(bytes, order).ok()?.parse();
            Some(Entry::Inode { ino: node.ino, version: node.version, offset, length })
        }
        NodeType::Dirent => {
            let node = DirentView::new(bytes, order).ok()?.parse().ok()?;
            let crate::format::Dirent { parent, version, ino, kind, name, .. } = node;
            Some(Entry::Dirent { length, offset, parent, version, ino, kind, name })
        }
        _ => None,
    }
}
