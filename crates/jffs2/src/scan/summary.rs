//! Taking the nodes of a block from its summary.
//!
//! Layer: rank 5. A summary is believed only as a whole: its checksums are right, and its entries lie in
//! the block one behind the other, before the summary. Then nothing else of the block is read, and its
//! nodes are unchecked. Anything else and the block is read node by node, as if it had none.
//!
//! Source: Linux 6.1, `fs/jffs2/summary.c` (`jffs2_sum_scan_sumnode`, `jffs2_sum_process_sum_data`). The
//! kernel believes offsets; here they are verified before anything is taken over.

use super::{Scan, ScanError, u64_of};
use crate::block::{NodeState, Owner, Verdict};
use crate::format::dirent::until_nul;
use crate::format::summary::{Entry, EntryError, TRAILER_SIZE};
use crate::format::{
    ByteOrder, Compatibility, NodeType, SummaryView, Trailer, dirent, inode, pad, to_usize, xattr,
};
use crate::names::Name;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::Bytes;
use boardlab_vfs::Work;

impl<M: Mtd> Scan<'_, M> {
    /// Reads the end of a block and, when it says so, the summary before it.
    pub(super) fn scan_summary(&mut self, block: BlockIndex) -> Result<Option<Verdict>, ScanError> {
        let size = self.volume.layout.block_size;
        let read = self.volume.layout.page_size.unwrap_or(TRAILER_SIZE);
        let end = self.volume.blocks.start(block) + Bytes::new(u64::from(size));
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

    /// Makes `tail` the last `length` bytes of the block, of which it has the last ones already.
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
    ) -> Result<Option<Verdict>, ScanError> {
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

    /// Whether the entries lie in the block one behind the other, before the summary, and each is as
    /// long as its type needs.
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
            return Err(ScanError::Incompatible(node_type, self.volume.blocks.start(block)));
        }
        Ok(false)
    }

    /// Nothing says what lies between two entries: it is dirty.
    fn skip_to(&mut self, block: BlockIndex, offset: u32) {
        let gap = offset - self.volume.blocks.end_of_nodes(block);
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
                let entry = Name { directory: slot, version, ino, kind, node };
                self.keep_name(until_nul(name), entry);
            }
            Entry::Xattr { xid, version, .. } => {
                let slot = volume.xattrs.slot_or_new(xid);
                volume.xattrs.link_datum(&mut volume.blocks, slot, version, piece);
            }
            Entry::Xref { .. } => {
                // Who refers to what stands in the node, which is read when all were found.
                let slot = volume.xattrs.add_reference(0, 0, 0, false);
                volume.xattrs.link_reference(&mut volume.blocks, slot, piece);
            }
        }
    }
}
