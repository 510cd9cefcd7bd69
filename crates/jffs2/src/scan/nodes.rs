//! Scans a block node by node.
//!
//! Layer: rank 5. The nodes of a block follow each other. Anything that is not a node counts as dirty,
//! four bytes at a time, until the next header; a node with a valid header and invalid fields counts as
//! dirty in its whole length. Source: Linux 6.1, `fs/jffs2/scan.c` (`jffs2_scan_eraseblock`,
//! `jffs2_scan_inode_node`, `jffs2_scan_dirent_node`, `jffs2_scan_xattr_node`, `jffs2_scan_xref_node`).

use super::{NodeScan, Scan, ScanError, erased_words};
use crate::block::{NodeState, Owner};
use crate::format::summary::Entry;
use crate::format::{
    Compatibility, DirentView, Header, HeaderError, InodeView, Malformed, NodeType, XattrView,
    XrefView, dirent, header, inode, pad, xattr, xref,
};
use crate::names::ScannedDirent;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::Bytes;
use boardlab_vfs::Work;

/// A node with a valid header, its place and its padded length.
#[derive(Clone, Copy)]
struct ScannedNode {
    block: BlockIndex,
    offset: u32,
    header: Header,
    padded: u32,
}

impl<M: Mtd> Scan<'_, M> {
    /// Scans the nodes of a block from the first byte that is not accounted for.
    pub(super) fn scan_nodes(&mut self, block: BlockIndex) -> Result<NodeScan, ScanError> {
        let size = self.volume.layout.block_size;
        loop {
            let offset = self.volume.blocks.free_offset(block);
            if size - offset < header::SIZE {
                self.volume.blocks.link_dirty(block, size - offset);
                return Ok(NodeScan::Complete);
            }
            self.need(block, offset, header::SIZE)?;
            let bytes = self.bytes(block, offset);
            let first = bytes[..12].try_into().expect("twelve bytes were needed");
            if bytes.starts_with(&[0xFF; 4]) {
                if let Some(walk) = self.scan_erased(block, offset)? {
                    return Ok(walk);
                }
                continue;
            }
            let at = self.volume.blocks.block_offset(block) + Bytes::new(u64::from(offset));
            match self.header(at, first) {
                Ok(header) => self.scan_header(block, offset, header)?,
                Err(error) => {
                    self.note_strange(at, error);
                    self.volume.blocks.link_dirty(block, 4);
                }
            }
        }
    }

    fn note_strange(&mut self, at: Bytes, error: HeaderError) {
        if error != HeaderError::Zeros {
            self.findings.strange_words += 1;
            self.findings.first_strange.get_or_insert(at);
        }
    }

    /// Handles erased flash from `offset` on: free to the end of the block, or dirty up to the next
    /// node.
    fn scan_erased(
        &mut self,
        block: BlockIndex,
        offset: u32,
    ) -> Result<Option<NodeScan>, ScanError> {
        let start = self.volume.blocks.block_offset(block);
        let mut at = offset + 4;
        // The first check covers only the beginning of the buffer.
        let profile = self.volume.profile;
        let mut reach = self.window.1;
        if profile.rereads_empty {
            let piece = self.volume.layout.block_size.min(profile.empty_scan) / 8;
            reach = reach.min(crate::format::to_usize(piece));
        }
        loop {
            let begin = (start + Bytes::new(u64::from(at)) - self.window.0).to_usize();
            if begin < reach {
                let words = erased_words(&self.buffer[begin..reach]);
                at += words;
                if begin + crate::format::to_usize(words) + 4 <= reach {
                    self.volume.blocks.link_dirty(block, at - offset);
                    return Ok(None);
                }
            }
            if self.is_clean_so_far(block) {
                return Ok(Some(NodeScan::Clean));
            }
            let left = self.volume.layout.block_size - at;
            if left == 0 {
                return Ok(Some(NodeScan::Complete));
            }
            self.fill(start + Bytes::new(u64::from(at)), left)?;
            reach = self.window.1;
        }
    }

    /// Whether the buffer holds only the beginning of the block, with a cleanmarker and nothing else.
    fn is_clean_so_far(&self, block: BlockIndex) -> bool {
        let cleanmarker = self.volume.layout.cleanmarker();
        let found = self.volume.blocks.block(block);
        self.window.0 == self.volume.blocks.block_offset(block)
            && cleanmarker > 0
            && found.space().used == u64::from(pad(cleanmarker))
            && found.space().dirty == 0
            && found.refs().len() == 1
    }

    fn scan_header(
        &mut self,
        block: BlockIndex,
        offset: u32,
        header: Header,
    ) -> Result<(), ScanError> {
        self.work(Work::Crc, 8);
        self.work(Work::Node, 0);
        let left = self.volume.layout.block_size - offset;
        let at = self.volume.blocks.block_offset(block) + Bytes::new(u64::from(offset));
        if header.length > left {
            self.findings.crossing += 1;
            self.findings.first_crossing.get_or_insert(at);
        }
        if header.length < header::SIZE || header.length > left {
            self.volume.blocks.link_dirty(block, 4);
            return Ok(());
        }
        let padded = pad(header.length).min(left);
        let found = ScannedNode { block, offset, header, padded };
        if !header.accurate {
            self.volume.blocks.link_dirty(block, padded);
            return Ok(());
        }
        match header.node_type {
            NodeType::Inode => self.scan_inode(found),
            NodeType::Dirent => self.scan_dirent(found),
            NodeType::Xattr => self.scan_xattr(found),
            NodeType::Xref => self.scan_xref(found),
            NodeType::Cleanmarker => {
                self.scan_cleanmarker(found);
                Ok(())
            }
            NodeType::Padding => {
                self.summary_builder.add_padding(header.length);
                self.volume.blocks.link_dirty(block, padded);
                Ok(())
            }
            NodeType::Summary | NodeType::Unknown(_) => self.scan_unknown(found),
        }
    }

    /// A node with a valid header and invalid fields: dirty in its whole length.
    fn damaged(&mut self, found: ScannedNode, _cause: Malformed) {
        self.findings.damaged_nodes += 1;
        self.volume.blocks.link_dirty(found.block, found.padded);
    }

    fn scan_inode(&mut self, found: ScannedNode) -> Result<(), ScanError> {
        let ScannedNode { block, offset, header, padded } = found;
        self.need(block, offset, inode::SIZE.min(padded))?;
        self.work(Work::Crc, 60);
        let order = self.bytes_order();
        let view = InodeView::new(whole(self.bytes(block, offset), inode::SIZE, header), order);
        let node = match view {
            Ok(view) => (view.ino(), view.version()),
            Err(cause) => {
                self.damaged(found, cause);
                return Ok(());
            }
        };
        let (ino, version) = node;
        self.mixed = self.mixed.wrapping_add(version);
        self.findings.nodes += 1;
        let volume = &mut *self.volume;
        let slot = volume.inodes.slot_or_new(ino);
        let state = NodeState::Unchecked;
        volume.inodes.link(&mut volume.blocks, slot, block, padded, state);
        self.collect(Entry::Inode { ino, version, offset, length: header.length });
        Ok(())
    }

    fn scan_dirent(&mut self, found: ScannedNode) -> Result<(), ScanError> {
        let ScannedNode { block, offset, header, padded } = found;
        self.need(block, offset, header.length)?;
        let order = self.bytes_order();
        let bytes = whole(self.bytes(block, offset), header.length, header);
        let length = crate::format::length_of(bytes).saturating_sub(dirent::SIZE);
        // The name is copied, because the buffer belongs to the scan.
        let mut kept = [0; 255];
        let parsed = DirentView::new(bytes, order).and_then(|view| {
            let node = view.parse()?;
            kept[..node.name.len()].copy_from_slice(node.name);
            Ok((node.name.len(), node.with_empty_name()))
        });
        self.work(Work::Crc, 32 + length);
        let (length, node) = match parsed {
            Ok(parsed) => parsed,
            Err(cause) => {
                self.damaged(found, cause);
                return Ok(());
            }
        };
        let name = &kept[..length];
        self.mixed = self.mixed.wrapping_add(node.version);
        self.findings.nodes += 1;
        let state = if node.ino == 0 { NodeState::Normal } else { NodeState::Pristine };
        let volume = &mut *self.volume;
        let slot = volume.inodes.slot_or_new(node.parent);
        let id = volume.inodes.link(&mut volume.blocks, slot, block, padded, state);
        let (parent, version, ino, kind) = (node.parent, node.version, node.ino, node.kind);
        let entry = ScannedDirent { directory: slot, version, ino, kind, node: id };
        self.add_scanned_dirent(name, entry);
        let length = header.length;
        self.collect(Entry::Dirent { length, offset, parent, version, ino, kind, name });
        Ok(())
    }

    fn scan_xattr(&mut self, found: ScannedNode) -> Result<(), ScanError> {
        let ScannedNode { block, offset, header, padded } = found;
        self.need(block, offset, header.length)?;
        self.work(Work::Crc, 28);
        let order = self.bytes_order();
        let bytes = whole(self.bytes(block, offset), xattr::SIZE, header);
        let parsed = XattrView::new(bytes, order).and_then(|view| {
            view.check_lengths()?;
            Ok((view.xid(), view.version()))
        });
        let (xid, version) = match parsed {
            Ok(parsed) => parsed,
            Err(cause) => {
                self.damaged(found, cause);
                return Ok(());
            }
        };
        self.mixed = self.mixed.wrapping_add(xid);
        self.findings.nodes += 1;
        let volume = &mut *self.volume;
        let slot = volume.xattrs.slot_or_new(xid);
        let piece = (block, padded, NodeState::Pristine);
        volume.xattrs.link_datum(&mut volume.blocks, slot, version, piece);
        self.collect(Entry::Xattr { xid, version, offset, length: header.length });
        Ok(())
    }

    fn scan_xref(&mut self, found: ScannedNode) -> Result<(), ScanError> {
        let ScannedNode { block, offset, header, padded } = found;
        self.need(block, offset, header.length)?;
        self.work(Work::Crc, 24);
        let order = self.bytes_order();
        let view = XrefView::new(whole(self.bytes(block, offset), xref::SIZE, header), order);
        let parsed = view.map(|view| view.parse());
        let node = match parsed {
            Ok(node) if padded == xref::SIZE => node,
            Ok(_) => {
                let needed = u64::from(xref::SIZE);
                self.damaged(found, Malformed::Length { total: header.length, needed });
                return Ok(());
            }
            Err(cause) => {
                self.damaged(found, cause);
                return Ok(());
            }
        };
        self.findings.nodes += 1;
        let volume = &mut *self.volume;
        let slot = volume.xattrs.add_reference(node.ino, node.xid, node.sequence, node.removed);
        let piece = (block, padded, NodeState::Pristine);
        volume.xattrs.link_reference(&mut volume.blocks, slot, piece);
        self.collect(Entry::Xref { offset });
        Ok(())
    }

    fn scan_cleanmarker(&mut self, found: ScannedNode) {
        let ScannedNode { block, offset, header, .. } = found;
        let cleanmarker = self.volume.layout.cleanmarker();
        if header.length == cleanmarker && self.volume.blocks.block(block).refs().is_empty() {
            let (length, nobody) = (pad(cleanmarker), Owner::Nobody);
            self.volume.blocks.link(block, length, NodeState::Normal, nobody, None);
            return;
        }
        if offset != 0 {
            self.findings.inner_cleanmarkers += 1;
            self.findings.inner_offsets |= offset;
        }
        self.volume.blocks.link_dirty(block, header::SIZE);
    }

    /// A node of an unknown type, whose number says what to do.
    fn scan_unknown(&mut self, found: ScannedNode) -> Result<(), ScanError> {
        let ScannedNode { block, offset, header, padded } = found;
        let at = self.volume.blocks.block_offset(block) + Bytes::new(u64::from(offset));
        match header.node_type.compatibility() {
            Compatibility::Incompatible => {
                return Err(ScanError::Incompatible(header.node_type, at));
            }
            Compatibility::ReadOnly => {
                self.findings.read_only_feature.get_or_insert((header.node_type, at));
                self.volume.read_only = true;
                self.volume.blocks.link_dirty(block, padded);
            }
            Compatibility::Delete => self.volume.blocks.link_dirty(block, padded),
            Compatibility::Copy => {
                let state = NodeState::Pristine;
                self.volume.blocks.link(block, padded, state, Owner::Nobody, None);
                self.summary_builder.disable();
            }
        }
        Ok(())
    }

    fn collect(&mut self, entry: Entry<'_>) {
        if self.volume.summary {
            self.summary_builder.add(entry);
        }
    }
}

/// The first `length` of `bytes`, but none beyond the end of the node.
fn whole(bytes: &[u8], length: u32, header: Header) -> &[u8] {
    let length = crate::format::to_usize(length.min(header.length));
    &bytes[..length.min(bytes.len())]
}
