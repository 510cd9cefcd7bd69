//! Garbage collection of nodes of open inodes, which are rewritten from the in-memory state.
//!
//! Layer: rank 5. `Jffs2::collect_live` determines the role of a node in its inode, and moves it.
//!
//! Source: Linux 6.1, `fs/jffs2/gc.c` (`jffs2_garbage_collect_live` to `jffs2_garbage_collect_dnode`).

use crate::Jffs2;
use crate::Mistake;
use crate::block::{NodeId, is_dirty};
use crate::error::Error;
use crate::format::inode::Compressor;
use crate::format::{Dirent, Inode, InodeView, inode, length_of, summary, to_usize};
use crate::fragments::{DnodeId, FullDnode, PAGE};
use crate::inode::{DirEntry, OpenInode};
use crate::write::{AllocMode, MIN_DATA, entry_size, node_with};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Kind, Work};
use std::ops::Range;

impl<M: Mtd> Jffs2<M> {
    /// Moves a node of an open inode.
    pub(super) fn collect_live(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        id: NodeId,
    ) -> Result<(), Error> {
        let inode = self.held(ino)?;
        if inode.metadata_node.is_some_and(|metadata| metadata.node == id) {
            return self.collect_metadata(clock, ino);
        }
        if let Some((number, dnode, shown)) = find_dnode(inode, id) {
            return self.collect_content(clock, ino, number, dnode, shown);
        }
        let found = inode.entries.iter().find(|(_, entry)| entry.node == Some(id));
        let Some((name, entry)) = found.map(|(name, entry)| (name.clone(), *entry)) else {
            // The inode does not use this node, so nothing needs it.
            return self.volume.mark_obsolete(clock, id);
        };
        let forgets = self.volume.mistake == Some(Mistake::ForgetsDeletions);
        if entry.ino == 0 && (forgets || !self.is_needed(clock, ino, &name, id)?) {
            self.held_mut(ino)?.entries.remove(&name);
            return self.volume.mark_obsolete(clock, id);
        }
        self.collect_entry(clock, ino, &name, entry)
    }

    fn collect_content(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        number: DnodeId,
        dnode: FullDnode,
        shown: Range<u32>,
    ) -> Result<(), Error> {
        let pristine = crate::block::NodeState::Pristine;
        if self.volume.blocks.node(dnode.node).state() == pristine
            && let Some(new) = self.copy_node(clock, dnode.node)?
        {
            self.held_mut(ino)?.fragments.set_node(number, new);
            return Ok(());
        }
        if shown.start / PAGE < (shown.end - 1) / PAGE {
            self.collect_hole(clock, ino, number, dnode, shown)
        } else {
            self.collect_data(clock, ino, shown)
        }
    }

    /// Rewrites the node that carries the metadata of an inode, with the target of a symbolic link
    /// or a device number.
    fn collect_metadata(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        let inode = self.held(ino)?;
        let Some(old) = inode.metadata_node else { return Ok(()) };
        let mut data = self.special_data(ino)?;
        if self.held(ino)?.kind == Kind::Symlink {
            self.volume.read_dnode(clock, old.node, 0, &mut data)?;
        }
        let length = inode::SIZE + length_of(&data);
        self.reserve_gc(clock, length, Some(summary::INODE_SIZE))?;
        let size = self.covered_size(ino)?;
        let mut node = Inode {
            isize: size,
            csize: length_of(&data),
            dsize: length_of(&data),
            ..self.next_inode_node(ino)?
        };
        let new = self.write_dnode(clock, &mut node, &data, AllocMode::Gc)?;
        self.held_mut(ino)?.metadata_node = Some(new);
        self.volume.mark_obsolete(clock, old.node)
    }

    /// The size of a file by its fragments, which is correct during a write.
    fn covered_size(&self, ino: u32) -> Result<u32, Error> {
        let inode = self.held(ino)?;
        Ok(inode.fragments.last().map_or(inode.metadata.size, |last| last.offset + last.size))
    }

    /// Rewrites a hole of more than one page.
    fn collect_hole(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        number: DnodeId,
        dnode: FullDnode,
        shown: Range<u32>,
    ) -> Result<(), Error> {
        let kept = if dnode.fragments > 1 { self.read_hole(clock, dnode.node)? } else { None };
        let version = match &kept {
            Some(kept) => kept.version,
            None => self.next_version(ino)?,
        };
        let node = node_with(ino, version, &self.held(ino)?.metadata);
        let (offset, dsize) = match &kept {
            Some(kept) => (kept.offset, kept.dsize),
            None => (shown.start, shown.end - shown.start),
        };
        let isize = self.covered_size(ino)?;
        let mut node = Inode { isize, offset, dsize, compressor: Compressor::Zero, ..node };
        self.reserve_gc(clock, inode::SIZE, Some(summary::INODE_SIZE))?;
        let new = self.write_dnode(clock, &mut node, &[], AllocMode::Gc)?;
        if kept.is_none() || version == self.held(ino)?.highest_version {
            return self.add_to_file(clock, ino, new);
        }
        self.volume.blocks.mark_normal(new.node);
        self.held_mut(ino)?.fragments.set_node(number, new.node);
        self.volume.mark_obsolete(clock, dnode.node)
    }

    /// A hole that newer nodes overlap must keep its version. `None` when the node is not a valid
    /// hole: then its visible part becomes a new one.
    fn read_hole(&mut self, clock: &mut Clock, id: NodeId) -> Result<Option<Inode>, Error> {
        let mut bytes = [0; 68];
        let at = self.volume.blocks.flash_offset(id);
        self.volume.read_flash(clock, at, &mut bytes)?;
        self.volume.host.spend(clock, Work::Crc, 60);
        let node = InodeView::new(&bytes, self.volume.order).ok().map(|view| view.parse());
        Ok(node.filter(|node| node.compressor == Compressor::Zero && node.csize == 0))
    }

    /// Rewrites data within a page: the visible part of the node, joined with its neighbours in the
    /// page.
    fn collect_data(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        shown: Range<u32>,
    ) -> Result<(), Error> {
        let joined = self.joined(ino, &shown)?;
        let first = shown.start - shown.start % PAGE;
        let mut page = vec![0; to_usize(PAGE)];
        let inode = self.open.get(&ino).ok_or(Errno::Stale)?;
        self.volume.read_range(clock, inode, first, &mut page)?;
        let mut offset = joined.start;
        while offset < shown.end {
            let least = inode::SIZE + MIN_DATA;
            let room = self.reserve_gc(clock, least, Some(summary::INODE_SIZE))?;
            let node = Inode { offset, ..self.next_inode_node(ino)? };
            let data = &page[to_usize(offset - first)..to_usize(joined.end - first)];
            let (new, _) = self.write_compressed(clock, node, data, room, AllocMode::Gc)?;
            offset += new.size;
            self.add_to_file(clock, ino, new)?;
        }
        Ok(())
    }

    /// The range of the page around `shown` that is rewritten together: neighbours inside the page
    /// always; a neighbour at the border of the page only when its block is dirty or is the victim;
    /// and none when free blocks are short.
    fn joined(&self, ino: u32, shown: &Range<u32>) -> Result<Range<u32>, Error> {
        let (volume, fragments) = (&self.volume, &self.held(ino)?.fragments);
        if volume.free_blocks() + volume.erasing_blocks() <= volume.reserves.gc_merge {
            return Ok(shown.clone());
        }
        let worth = |dnode: Option<DnodeId>| {
            let block = dnode.map(|id| fragments.dnode(id).node.block());
            block.is_some_and(|block| {
                let space = volume.blocks.block(block).space();
                volume.blocks.collecting == Some(block) || is_dirty(space.dirty + space.wasted)
            })
        };
        let (mut start, mut end) = (shown.start, shown.end);
        let page =
            u64::from(start - start % PAGE)..u64::from(start - start % PAGE) + u64::from(PAGE);
        let mut at = start;
        while let Some(piece) = fragments.before(at) {
            if u64::from(piece.offset) < page.start {
                break;
            }
            let reaches = u64::from(piece.offset) == page.start;
            if !reaches || worth(piece.dnode) {
                start = piece.offset;
            }
            if reaches {
                break;
            }
            at = piece.offset;
        }
        let mut at = fragments.at(end - 1).map_or(end, |piece| piece.offset);
        while let Some(piece) = fragments.after(at) {
            if piece.end() > page.end {
                break;
            }
            let reaches = piece.end() == page.end;
            if !reaches || worth(piece.dnode) {
                end = piece.offset + piece.size;
            }
            if reaches {
                break;
            }
            at = piece.offset;
        }
        Ok(start..end)
    }

    /// Rewrites an entry of an open directory with a new version.
    fn collect_entry(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        name: &[u8],
        entry: DirEntry,
    ) -> Result<(), Error> {
        let version = self.next_version(ino)?;
        let metadata = self.held(ino)?.metadata;
        // Times set by the user must not be replaced by that of an entry.
        let mctime = if metadata.mtime == metadata.ctime { metadata.mtime } else { 0 };
        let DirEntry { ino: child, kind, .. } = entry;
        let node = Dirent { parent: ino, version, ino: child, mctime, kind, name };
        self.reserve_gc(clock, node.length(), Some(entry_size(name)))?;
        let new = self.write_dirent(clock, node, AllocMode::Gc)?;
        self.add_to_directory(clock, ino, name, new)
    }

    /// Whether an older entry of a removed name is still on the flash outside the block of `id`,
    /// which is erased as a whole (`jffs2_garbage_collect_deletion_dirent`).
    fn is_needed(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        name: &[u8],
        id: NodeId,
    ) -> Result<bool, Error> {
        if self.volume.marks_obsolete() {
            return Ok(false);
        }
        let blocks = &self.volume.blocks;
        let length = blocks.length(id);
        let first = self.volume.inodes.get(self.held(ino)?.slot).nodes;
        let older = |&old: &NodeId| {
            !blocks.node(old).state().is_live()
                && old.block() != id.block()
                && blocks.length(old) == length
        };
        let candidates: Vec<NodeId> = blocks.chain(first).filter(older).collect();
        for old in candidates {
            let entry = self.volume.read_entry(clock, old)?;
            if entry.is_some_and(|(found, entry)| entry.ino != 0 && *found == *name) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// A node of a file's content, with the range from its first fragment to its last.
fn find_dnode(inode: &OpenInode, id: NodeId) -> Option<(DnodeId, FullDnode, Range<u32>)> {
    let fragments = &inode.fragments;
    let (number, dnode) = fragments.numbered().find(|(_, dnode)| dnode.node == id)?;
    let mut shown: Option<Range<u32>> = None;
    let mut next = fragments.at(dnode.offset);
    let end = u64::from(dnode.offset) + u64::from(dnode.size);
    while let Some(piece) = next.filter(|piece| u64::from(piece.offset) < end) {
        if piece.dnode == Some(number) {
            let start = shown.map_or(piece.offset, |shown| shown.start);
            shown = Some(start..piece.offset + piece.size);
        }
        next = fragments.after(piece.offset);
    }
    Some((number, *dnode, shown?))
}
