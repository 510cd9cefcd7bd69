//! Scans a block by its summary.
//!
//! Layer: rank 5. A summary is accepted only as a whole: its checksums are valid, and its entries
//! describe consecutive nodes of the block, before the summary. Then nothing else of the block is read,
//! and its nodes are unchecked. Otherwise the block is read node by node, as if it had no summary.
//!
//! Source: Linux 6.1, `fs/jffs2/summary.c` (`jffs2_sum_scan_sumnode`, `jffs2_sum_process_sum_data`).
//! The kernel trusts offsets; here they are verified before any entry is used.

use super::{Scan, ScanError, u64_of};
use crate::block::{BlockState, NodeState, Owner};
use crate::format::dirent::until_nul;
use crate::format::summary::{Entry, EntryError, TRAILER_SIZE};
use crate::format::{
    ByteOrder, Compatibility, NodeType, SummaryView, Trailer, dirent, inode, pad, to_usize, xattr,
};
use crate::names::ScannedDirent;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::Bytes;
use boardlab_vfs::Work;

impl<M: Mtd> Scan<'_, M> {
    /// Reads the end of a block, and the summary before it if there is one.
    pub(super) fn scan_summary(
        &mut self,
        block: BlockIndex,
    ) -> Result<Option<BlockState>, ScanError> {
        let size = self.volume.layout.block_size;
        let read = self.volume.layout.page_size.unwrap_or(TRAILER_SIZE);
        let end = self.volume.blocks.block_offset(block) + Bytes::new(u64::from(size));
        let mut tail = std::mem::take(&mut self.tail);
        tail.resize(to_usize(read), 0);
        self.volume.read_flash(self.clock, end - Bytes::new(u64::from(read)), &mut tail)?;
        let verdict = match self.trailer(&tail) {
            Some((trailer, order)) if trailer.offset < size => {
                let length = size - trailer.offset;
                self.read_rest(&mut tail, end, length)?;
                self.take_summary(block, &tail, order, length)?
            }
            Some(_) => {
                self.findings.wrong_summaries += 1;
                None
            }
            None => None,
        };
        self.tail = tail;
        Ok(verdict)
    }

    fn trailer(&self, tail: &[u8]) -> Option<(Trailer, ByteOrder)> {
        let orders = match self.order {
            Some(order) => [order, order],
            None => [ByteOrder::Little, ByteOrder::Big],
        };
        orders.into_iter().find_map(|order| Some((Trailer::parse(tail, order)?, order)))
    }

    /// Extends `tail` to the last `length` bytes of the block, of which it already has the end.
    fn read_rest(&mut self, tail: &mut Vec<u8>, end: Bytes, length: u32) -> Result<(), ScanError> {
        let missing = to_usize(length).saturating_sub(tail.len());
        if missing == 0 {
            tail.drain(..tail.len() - to_usize(length));
            return Ok(());
        }
        tail.splice(..0, std::iter::repeat_n(0, missing));
        let from = end - Bytes::new(u64::from(length));
        Ok(self.volume.read_flash(self.clock, from, &mut tail[..missing])?)
    }

    fn take_summary(
        &mut self,
        block: BlockIndex,
        tail: &[u8],
        order: ByteOrder,
        length: u32,
    ) -> Result<Option<BlockState>, ScanError> {
        self.work(Work::Crc, length);
        let Ok(view) = SummaryView::new(tail, order) else {
            self.findings.wrong_summaries += 1;
            return Ok(None);
        };
        if !self.is_plausible(block, &view, length)? {
            self.findings.wrong_summaries += 1;
            return Ok(None);
        }
        self.order = Some(order);
        self.findings.summaries += 1;
        if view.cleanmarker() > 0 {
            let (state, length) = (NodeState::Normal, pad(view.cleanmarker()));
            self.volume.blocks.link(block, length, state, Owner::Nobody, None);
        }
        for entry in view.entries().map_while(Result::ok) {
            self.work(Work::Node, 0);
            self.findings.nodes += 1;
            self.skip_to(block, entry.offset());
            self.take_entry(block, entry);
        }
        self.skip_to(block, self.volume.layout.block_size - length);
        self.volume.blocks.link(block, length, NodeState::Normal, Owner::Nobody, None);
        let cleanmarker = self.volume.layout.cleanmarker();
        Ok(Some(self.volume.blocks.classify(block, cleanmarker)))
    }

    /// Whether the entries describe consecutive nodes of the block, before the summary, each as
    /// long as its type requires.
    fn is_plausible(
        &self,
        block: BlockIndex,
        view: &SummaryView<'_>,
        length: u32,
    ) -> Result<bool, ScanError> {
        let end = self.volume.layout.block_size - length;
        let cleanmarker = view.cleanmarker();
        if !length.is_multiple_of(4)
            || cleanmarker != 0 && cleanmarker != self.volume.layout.cleanmarker()
        {
            return Ok(false);
        }
        let mut free = pad(cleanmarker);
        for entry in view.entries() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(EntryError::Unknown(unknown)) => return self.unknown(block, unknown),
                Err(EntryError::Cut) => return Ok(false),
            };
            let least = match entry {
                Entry::Inode { .. } => inode::SIZE,
                Entry::Dirent { name, .. } if until_nul(name).is_empty() => return Ok(false),
                Entry::Dirent { .. } => dirent::SIZE,
                Entry::Xattr { .. } => xattr::SIZE,
                Entry::Xref { .. } => 0,
            };
            let (offset, length) = (entry.offset(), entry.length());
            let fits = offset >= free && offset.is_multiple_of(4) && offset < end;
            if !fits || length < least || length > end - offset || pad(length) > end - offset {
                return Ok(false);
            }
            free = offset + pad(length);
        }
        Ok(u64_of(view.entries().count()) == u64::from(view.count()))
    }

    fn unknown(&self, block: BlockIndex, node_type: NodeType) -> Result<bool, ScanError> {
        if node_type.compatibility() == Compatibility::Incompatible {
            return Err(ScanError::Incompatible(node_type, self.volume.blocks.block_offset(block)));
        }
        Ok(false)
    }

    /// Bytes between two entries are unknown, so they are dirty.
    fn skip_to(&mut self, block: BlockIndex, offset: u32) {
        let gap = offset - self.volume.blocks.free_offset(block);
        self.volume.blocks.link_dirty(block, gap);
    }

    fn take_entry(&mut self, block: BlockIndex, entry: Entry<'_>) {
        let (volume, state) = (&mut *self.volume, NodeState::Unchecked);
        let padded = pad(entry.length());
        let piece = (block, padded, state);
        match entry {
            Entry::Inode { ino, version, .. } => {
                self.mixed = self.mixed.wrapping_add(version);
                let slot = volume.inodes.slot_or_new(ino);
                volume.inodes.link(&mut volume.blocks, slot, block, padded, state);
            }
            Entry::Dirent { parent, version, ino, kind, name, .. } => {
                self.mixed = self.mixed.wrapping_add(version);
                let slot = volume.inodes.slot_or_new(parent);
                let node = volume.inodes.link(&mut volume.blocks, slot, block, padded, state);
                let entry = ScannedDirent { directory: slot, version, ino, kind, node };
                self.add_scanned_dirent(until_nul(name), entry);
            }
            Entry::Xattr { xid, version, .. } => {
                let slot = volume.xattrs.slot_or_new(xid);
                volume.xattrs.link_datum(&mut volume.blocks, slot, version, piece);
            }
            Entry::Xref { .. } => {
                // The inode and the datum are in the node itself, which is read when all nodes are
                // found.
                let slot = volume.xattrs.add_reference(0, 0, 0, false);
                volume.xattrs.link_reference(&mut volume.blocks, slot, piece);
            }
        }
    }
}
