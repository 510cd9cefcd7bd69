//! The write buffer of NAND: the page being filled.
//!
//! Layer: rank 5. Main type: [`WriteBuffer`]; and the write path of [`Jffs2`] to the flash: through
//! the buffer page by page on NAND, directly on NOR.
//!
//! ```text
//!   nodes -> | page | page | page .. filled so far |          flushed when full, or padded:
//!               programmed            in RAM               sync, fsync, old age, before an erase that
//!                                                          must not come first, end of a block
//! ```
//! When a page program fails, all nodes with a part in the buffer are written to another block, and
//! the failed block is left to garbage collection.
//!
//! Source: Linux 6.1, `fs/jffs2/wbuf.c`, `writev.c`. Left out: reading back pages to compare them
//! (`CONFIG_JFFS2_FS_WBUF_VERIFY`), NOR with a write buffer, DataFlash. Deliberate deviation: when
//! the second block fails as well, the kernel drops the nodes silently; here a few more blocks are
//! tried, and the next sync fails when all fail.

use crate::Jffs2;
use crate::block::{List, NodeId, Owner, RefilePolicy};
use crate::error::Error;
use crate::format::summary::Entry;
use crate::format::{ALIGNMENT, Padding, length_of, pad, to_usize};
use boardlab_mtd::{BlockIndex, Error as FlashError, Mtd};
use boardlab_sim::{Bytes, Clock, Duration, Instant};

/// The age limit of data in the buffer (`dirty_writeback_centisecs` of Linux: 5 s).
const AGE_MAX: Duration = Duration::from_secs(5);
/// How many blocks are tried to recover the nodes of one that failed.
const RECOVERY_TRIES: u32 = 4;

/// The page being filled.
#[derive(Debug, Clone, Default)]
pub struct WriteBuffer {
    /// The offset of the page on the flash; `None` when the buffer is unused.
    pub(crate) at: Option<Bytes>,
    /// The content of the page so far.
    pub(crate) content: Vec<u8>,
    /// The inodes with changes in the buffer, without those that garbage collection only moved.
    pub(crate) inodes: Vec<u32>,
    /// When the page is written because of its age.
    pub(crate) due: Option<Instant>,
    /// Why nodes of the buffer are lost: no block accepted them. The next sync reports it once.
    pub(crate) lost: Option<FlashError>,
}

impl WriteBuffer {
    /// Whether the buffer holds data that are not on the flash yet.
    #[must_use]
    pub fn is_dirty(&self) -> bool {
        !self.content.is_empty()
    }

    /// Whether the buffer holds changes of an inode; of any inode when `ino` is `None`.
    #[must_use]
    pub fn holds_changes_of(&self, ino: Option<u32>) -> bool {
        ino.map_or(!self.inodes.is_empty(), |ino| self.inodes.contains(&ino))
    }

    /// Overlays the buffer's content on bytes that were read from `offset` on.
    pub fn overlay(&self, offset: Bytes, bytes: &mut [u8]) {
        let Some(start) = self.at else { return };
        let (from, to) = (offset.max(start), offset + Bytes::of(bytes));
        let to = to.min(start + Bytes::of(&self.content));
        if from < to {
            let source = (from - start).to_usize()..(to - start).to_usize();
            let target = (from - offset).to_usize()..(to - offset).to_usize();
            bytes[target].copy_from_slice(&self.content[source]);
        }
    }

    /// Takes as much of `bytes` as fits. An empty buffer leaves whole pages alone: they are
    /// programmed directly.
    fn fill(&mut self, page: usize, bytes: &[u8]) -> usize {
        if self.content.is_empty() && bytes.len() > page {
            return 0;
        }
        let length = bytes.len().min(page - self.content.len());
        self.content.extend_from_slice(&bytes[..length]);
        length
    }
}

/// A node to be written: its offset, its bytes in two parts, and its summary entry.
pub(crate) struct NodeWrite<'a> {
    /// The offset on the flash.
    pub(crate) at: Bytes,
    /// Header and fields, then data or name.
    pub(crate) parts: [&'a [u8]; 2],
    /// Its entry in the summary of the block.
    pub(crate) entry: Option<Entry<'a>>,
    /// The inode that it changes; `None` when garbage collection moves a node.
    pub(crate) ino: Option<u32>,
}

/// The nodes of a block whose write failed.
struct RecoveredNodes {
    block: BlockIndex,
    nodes: Vec<NodeId>,
    content: Vec<u8>,
}

impl<M: Mtd> Jffs2<M> {
    /// Appends a node, and adds its entry to the summary.
    ///
    /// # Errors
    /// [`Error::Flash`]. On NAND the block is then no longer being written.
    pub(crate) fn append_node(
        &mut self,
        clock: &mut Clock,
        piece: &NodeWrite<'_>,
    ) -> Result<(), Error> {
        match self.volume.layout.page_size {
            None => self.write_at_once(clock, piece)?,
            Some(page) => self.write_through_buffer(clock, piece, to_usize(page))?,
        }
        if let Some(entry) = piece.entry {
            self.volume.summary_builder.add(entry);
        }
        let wbuf = &mut self.volume.wbuf;
        if let Some(ino) = piece.ino
            && wbuf.is_dirty()
        {
            wbuf.due = wbuf.due.or(Some(clock.now() + AGE_MAX));
            if !wbuf.inodes.contains(&ino) {
                wbuf.inodes.push(ino);
            }
        }
        Ok(())
    }

    /// NOR: one program per part. Partial words are filled with bytes that program nothing.
    fn write_at_once(&mut self, clock: &mut Clock, piece: &NodeWrite<'_>) -> Result<(), Error> {
        let unit = self.volume.device.geometry().write_size.to_usize();
        let mut at = piece.at;
        for part in piece.parts.into_iter().filter(|part| !part.is_empty()) {
            if part.len().is_multiple_of(unit) {
                self.volume.program_flash(clock, at, part)?;
            } else {
                let mut whole = part.to_vec();
                whole.resize(part.len().next_multiple_of(unit), 0xFF);
                self.volume.program_flash(clock, at, &whole)?;
            }
            at += Bytes::of(part);
        }
        Ok(())
    }

    fn write_through_buffer(
        &mut self,
        clock: &mut Clock,
        piece: &NodeWrite<'_>,
        page: usize,
    ) -> Result<(), Error> {
        self.move_buffer(clock, piece.at, page)?;
        let mut at = piece.at;
        for part in piece.parts {
            self.buffer(clock, at, part, page)?;
            at += Bytes::of(part);
        }
        Ok(())
    }

    /// Moves the buffer, so that the next byte goes to `to`: in another block, or after alignment
    /// bytes.
    fn move_buffer(&mut self, clock: &mut Clock, to: Bytes, page: usize) -> Result<(), Error> {
        let unit = Bytes::new(u64::try_from(page).expect("a page is smaller than 2^64 bytes"));
        let start = unit * (to / unit);
        let within = (to - start).to_usize();
        let blocks = &self.volume.blocks;
        let moves = self.volume.wbuf.at.is_none_or(|at| blocks.block_at(at) != blocks.block_at(to));
        if moves {
            self.flush_page(clock, true)?;
            self.volume.wbuf.at = Some(start);
        }
        let wbuf = &mut self.volume.wbuf;
        if within == 0 && wbuf.is_dirty() {
            wbuf.content.resize(page, 0xFF);
            self.flush_page(clock, false)?;
        }
        let wbuf = &mut self.volume.wbuf;
        wbuf.content.resize(within, 0xFF);
        assert_eq!(wbuf.at, Some(start), "write buffer: a write that does not follow the last one");
        Ok(())
    }

    /// Fills the buffer, programs whole pages past it, and keeps the rest.
    fn buffer(
        &mut self,
        clock: &mut Clock,
        at: Bytes,
        bytes: &[u8],
        page: usize,
    ) -> Result<(), Error> {
        let taken = self.fill_buffer(clock, bytes, page)?;
        let (mut rest, at) = (&bytes[taken..], at + Bytes::of(&bytes[..taken]));
        if rest.len() >= page {
            let (whole, behind) = rest.split_at(rest.len() / page * page);
            if let Err(error) = self.volume.program_flash(clock, at, whole) {
                if !is_power_cut(&error) {
                    let block = self.volume.blocks.block_at(at);
                    self.volume.refile_failed(block);
                }
                return Err(error.into());
            }
            self.volume.wbuf.at = Some(at + Bytes::of(whole));
            rest = behind;
        }
        self.fill_buffer(clock, rest, page)?;
        Ok(())
    }

    fn fill_buffer(
        &mut self,
        clock: &mut Clock,
        bytes: &[u8],
        page: usize,
    ) -> Result<usize, Error> {
        let taken = self.volume.wbuf.fill(page, bytes);
        if self.volume.wbuf.content.len() == page {
            self.flush_page(clock, false)?;
        }
        Ok(taken)
    }

    /// Writes the buffer, filled up with padding (`jffs2_flush_wbuf_pad`).
    ///
    /// # Errors
    /// [`Error::Flash`] when no block accepts it.
    pub(crate) fn flush_wbuf_pad(&mut self, clock: &mut Clock) -> Result<(), Error> {
        match self.flush_page(clock, true) {
            Err(Error::Flash(error)) if is_power_cut(&error) => Err(error.into()),
            // Nodes recovered from a failed block may be in the buffer again.
            Err(_) => self.flush_page(clock, true),
            Ok(()) => Ok(()),
        }
    }

    /// Programs the page of the buffer; the rest is padding when `padded`.
    fn flush_page(&mut self, clock: &mut Clock, padded: bool) -> Result<(), Error> {
        let (Some(page), Some(at)) = (self.volume.layout.page_size, self.volume.wbuf.at) else {
            return Ok(());
        };
        if !self.volume.wbuf.is_dirty() {
            return Ok(());
        }
        let order = self.volume.order;
        let content = &mut self.volume.wbuf.content;
        let used = pad(length_of(content));
        content.resize(to_usize(used), 0xFF);
        let mut bytes = content.clone();
        bytes.resize(to_usize(page), 0);
        if padded {
            Padding { length: page - used }.emit(&mut bytes[to_usize(used)..], order);
        }
        if let Err(error) = self.volume.program_flash(clock, at, &bytes) {
            if !is_power_cut(&error) {
                match self.recover(clock, at) {
                    Ok(true) => {}
                    Err(Error::Flash(cut)) if is_power_cut(&cut) => return Err(cut.into()),
                    Ok(false) | Err(_) => self.volume.wbuf.lost = Some(error.clone()),
                }
            }
            return Err(error.into());
        }
        if padded {
            let block = self.volume.blocks.block_at(at);
            self.volume.blocks.link_wasted(block, page - used);
        }
        self.volume.refile_wbuf_blocks();
        let wbuf = &mut self.volume.wbuf;
        wbuf.at = Some(at + Bytes::new(u64::from(page)));
        wbuf.content.clear();
        wbuf.inodes.clear();
        wbuf.due = None;
        Ok(())
    }

    /// Recovers from a failed program of the page at `at`: writes the nodes with a part in the
    /// buffer to another block (`jffs2_wbuf_recover`). False when no block accepts them.
    fn recover(&mut self, clock: &mut Clock, at: Bytes) -> Result<bool, Error> {
        let content = std::mem::take(&mut self.volume.wbuf.content);
        let block = self.volume.blocks.block_at(at);
        let nodes = self.volume.nodes_from(at);
        self.volume.refile_failed(block);
        let Some(saved) = self.read_unwritten(clock, at, nodes, &content)? else {
            return Ok(true);
        };
        for _ in 0..RECOVERY_TRIES {
            if let Some(to) = self.rewrite(clock, &saved)? {
                self.refile_saved(&saved, to);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns once the error of nodes that were lost after their write was reported as successful.
    pub(crate) fn take_write_error(&mut self) -> Result<(), Error> {
        self.volume.wbuf.lost.take().map_or(Ok(()), |error| Err(error.into()))
    }

    /// Collects the bytes of the nodes that are not complete on the flash; the beginning of the
    /// first is read back.
    fn read_unwritten(
        &mut self,
        clock: &mut Clock,
        at: Bytes,
        mut nodes: Vec<NodeId>,
        content: &[u8],
    ) -> Result<Option<RecoveredNodes>, Error> {
        let blocks = &self.volume.blocks;
        let counts = |&id: &NodeId| blocks.node(id).state().is_live();
        let Some(first) = nodes.iter().position(counts) else { return Ok(None) };
        nodes.drain(..first);
        let (start, block) = (blocks.flash_offset(nodes[0]), nodes[0].block());
        let last = nodes[nodes.len() - 1];
        let end = blocks.flash_offset(last) + Bytes::new(u64::from(blocks.length(last)));
        let mut bytes = vec![0xFF; (end - start).to_usize()];
        let skipped = start.max(at) - at;
        let before = (start.max(at) - start).to_usize();
        self.volume.read_flash(clock, start, &mut bytes[..before])?;
        let rest = &content[skipped.to_usize().min(content.len())..];
        let length = rest.len().min(bytes.len() - before);
        bytes[before..before + length].copy_from_slice(&rest[..length]);
        Ok(Some(RecoveredNodes { block, nodes, content: bytes }))
    }

    /// Appends the recovered nodes to the block that is being written now; `None` when that block
    /// failed, too.
    fn rewrite(
        &mut self,
        clock: &mut Clock,
        saved: &RecoveredNodes,
    ) -> Result<Option<Bytes>, Error> {
        let length = length_of(&saved.content);
        self.reserve_gc(clock, length, None)?;
        self.volume.summary_builder.disable();
        let to = self.volume.write_offset();
        let page = to_usize(self.volume.layout.page_size.unwrap_or(1));
        let (whole, rest) = saved.content.split_at(saved.content.len() / page * page);
        if let Err(error) = self.program_some(clock, to, whole) {
            if is_power_cut(&error) {
                return Err(error.into());
            }
            let block = self.volume.blocks.block_at(to);
            self.volume.refile_failed(block);
            return Ok(None);
        }
        self.volume.wbuf.at = Some(to + Bytes::of(whole));
        self.volume.wbuf.content.clear();
        self.volume.wbuf.content.extend_from_slice(rest);
        Ok(Some(to))
    }

    fn program_some(
        &mut self,
        clock: &mut Clock,
        to: Bytes,
        bytes: &[u8],
    ) -> Result<(), FlashError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.volume.program_flash(clock, to, bytes)
    }

    /// Accounts for recovered nodes in the block that is being written now.
    fn refile_saved(&mut self, saved: &RecoveredNodes, to: Bytes) {
        let block = self.volume.blocks.block_at(to);
        for &old in &saved.nodes {
            let new = self.volume.relink(old, block);
            if self.volume.blocks.node(old).state().is_live() {
                self.replace_in_open(old, new);
                self.volume.blocks.mark_obsolete(old, RefilePolicy::Scanning);
            }
        }
        if self.volume.blocks.id(saved.block, 0) == saved.nodes.first().copied() {
            self.volume.blocks.move_to(saved.block, List::ErasePending);
        }
    }

    /// Updates an open inode after one of its nodes was moved (`jffs2_incore_replace_raw`).
    fn replace_in_open(&mut self, old: NodeId, new: NodeId) {
        let Owner::Inode(slot) = self.volume.blocks.node(new).owner() else { return };
        let ino = self.volume.inodes.get(slot).ino;
        if let Some(open) = self.open.get_mut(&ino) {
            open.replace_node(old, new);
        }
    }
}

impl<M: Mtd> crate::volume::Volume<M> {
    /// The offset of the next node.
    ///
    /// # Panics
    /// When no block is being written, that is, no space was reserved.
    pub(crate) fn write_offset(&self) -> Bytes {
        let block = self.blocks.writing.expect("write_offset: space was reserved");
        self.blocks.block_offset(block) + Bytes::new(u64::from(self.blocks.free_offset(block)))
    }

    /// Retires a block whose write failed from writing; its nodes are moved later
    /// (`jffs2_block_refile`).
    fn refile_failed(&mut self, block: BlockIndex) {
        if self.blocks.writing == Some(block) {
            self.blocks.writing = None;
        }
        let empty = self.blocks.block(block).refs().is_empty();
        self.blocks.move_to(block, if empty { List::ErasePending } else { List::BadUsed });
        let free = self.blocks.size() - self.blocks.free_offset(block);
        self.blocks.link_wasted(block, free);
    }

    /// The nodes of a block that end after `at`.
    fn nodes_from(&self, at: Bytes) -> Vec<NodeId> {
        let block = self.blocks.block_at(at);
        let count = self.blocks.block(block).refs().len();
        let ids = (0..u32::try_from(count).expect("nodes of a block are counted in u32"))
            .filter_map(|index| self.blocks.id(block, index));
        let end = |id| self.blocks.flash_offset(id) + Bytes::new(u64::from(self.blocks.length(id)));
        ids.filter(|&id| end(id) > at).collect()
    }

    /// Moves blocks that waited for the write buffer to the erase list. One in 128 is kept back, to
    /// level the wear (`jffs2_refile_wbuf_blocks`).
    fn refile_wbuf_blocks(&mut self) {
        while let Some(block) = self.blocks.take_first(List::ErasablePendingWbuf) {
            let keeps = self.ticks.one_in_period();
            self.blocks.move_to(block, if keeps { List::Erasable } else { List::ErasePending });
        }
    }

    /// Links a node of the length and state of `old` at the end of `block`, and replaces `old` in
    /// its owner's list.
    fn relink(&mut self, old: NodeId, block: BlockIndex) -> NodeId {
        let (length, node) = (self.blocks.length(old), *self.blocks.node(old));
        let (state, owner) = (node.state(), node.owner());
        match owner {
            Owner::Xattr(_) | Owner::Xref(_) => self.unlink_node(old),
            // The old node may still be readable, so its inode must know it.
            Owner::Inode(_) | Owner::Nobody => {}
        }
        match owner {
            Owner::Inode(slot) => self.inodes.link(&mut self.blocks, slot, block, length, state),
            Owner::Xattr(slot) => {
                let version = self.xattrs.datum(slot).map_or(0, |datum| datum.version);
                let piece = (block, length, state);
                self.xattrs.link_datum(&mut self.blocks, slot, version, piece)
            }
            Owner::Xref(slot) => {
                self.xattrs.link_reference(&mut self.blocks, slot, (block, length, state))
            }
            Owner::Nobody => self.blocks.link(block, length, state, Owner::Nobody, None),
        }
    }
}

/// Whether the error is a power cut.
pub(crate) const fn is_power_cut(error: &FlashError) -> bool {
    matches!(error, FlashError::PowerCut { .. })
}

/// Nodes begin at multiples of four, so alignment never fills a page.
const _: () = assert!(ALIGNMENT == 4);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_buffer_leaves_more_than_a_page_alone() {
        let mut buffer = WriteBuffer::default();
        assert_eq!((buffer.fill(4, b"12345"), buffer.fill(4, b"1234")), (0, 4));
        buffer.content.truncate(1);
        assert_eq!((buffer.fill(4, b"abcde"), buffer.content.as_slice()), (3, &b"1abc"[..]));
    }
}
