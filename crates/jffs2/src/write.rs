//! Writes nodes of inodes: their order, their versions, and what they make obsolete.
//!
//! Layer: rank 5. Main type: [`AllocMode`]; methods of [`Jffs2`] that write an inode node, a
//! directory entry, a range of a file, a page.
//!
//! ```text
//!  a page of a file -> | compressed as far as it fits | the rest, in the next block |
//!  write behind the end -> a hole node first, from the old end on
//!  the last byte of a page was written -> the whole page is written again: few nodes for small appends
//! ```
//! Source: Linux 6.1, `fs/jffs2/write.c` (`jffs2_write_dnode`, `jffs2_write_dirent`,
//! `jffs2_write_inode_range`), `file.c` (`jffs2_write_begin`, `jffs2_write_end`).

use crate::Jffs2;
use crate::alloc::Priority;
use crate::block::{NodeState, Owner};
use crate::error::Error;
use crate::format::inode::Compressor;
use crate::format::summary::{self, Entry};
use crate::format::{Dirent, Inode, crc, dirent, inode, length_of, pad, to_usize};
use crate::fragments::{FullDnode, PAGE};
use crate::inode::{DirEntry, Metadata, OpenInode};
use crate::wbuf::NodeWrite;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Work};
use std::ops::Range;

/// The minimum of data for which a node is begun (`JFFS2_MIN_DATA_LEN`).
pub(crate) const MIN_DATA: u32 = 128;

/// The purpose of a write, which decides what happens when the flash fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AllocMode {
    /// New data (`ALLOC_NORMAL`).
    Normal,
    /// A deletion (`ALLOC_DELETION`).
    Deletion,
    /// Garbage collection: the version is fixed (`ALLOC_GC`).
    Gc,
    /// No retry; the caller tries again (`ALLOC_NORETRY`).
    NoRetry,
}

impl<M: Mtd> Jffs2<M> {
    /// An inode that is open already.
    pub(crate) fn held(&self, ino: u32) -> Result<&OpenInode, Error> {
        self.open.get(&ino).ok_or(Errno::Stale.into())
    }

    pub(crate) fn held_mut(&mut self, ino: u32) -> Result<&mut OpenInode, Error> {
        self.open.get_mut(&ino).ok_or(Errno::Stale.into())
    }

    /// The version of the next node of an open inode.
    pub(crate) fn next_version(&mut self, ino: u32) -> Result<u32, Error> {
        let inode = self.held_mut(ino)?;
        inode.highest_version = inode.highest_version.checked_add(1).ok_or(Errno::FBig)?;
        Ok(inode.highest_version)
    }

    /// The calendar time in the format of JFFS2: seconds in 32 bits.
    pub(crate) fn seconds(&self, clock: &Clock) -> u32 {
        let now = self.volume.wall.at(clock.now()).seconds;
        u32::try_from(now.clamp(0, i64::from(u32::MAX))).expect("clamped to 32 bits")
    }

    /// An inode node without data, with the metadata of an open inode and the next version.
    pub(crate) fn next_inode_node(&mut self, ino: u32) -> Result<Inode, Error> {
        let version = self.next_version(ino)?;
        Ok(node_with(ino, version, &self.held(ino)?.metadata))
    }

    /// Writes an inode node with its stored data. Space was reserved.
    ///
    /// # Errors
    /// [`Error::Flash`] when the flash fails twice.
    pub(crate) fn write_dnode(
        &mut self,
        clock: &mut Clock,
        node: &mut Inode,
        data: &[u8],
        mode: AllocMode,
    ) -> Result<FullDnode, Error> {
        node.data_crc = crc(0, data);
        self.volume.host.spend(clock, Work::Crc, to_usize(inode::SIZE) + data.len());
        let mut retried = mode == AllocMode::NoRetry;
        let length = inode::SIZE + node.csize;
        loop {
            let highest = self.held(node.ino)?.highest_version;
            if mode != AllocMode::Gc && node.version < highest {
                node.version = self.next_version(node.ino)?;
            }
            let mut head = [0; to_usize_const(inode::SIZE)];
            node.emit(&mut head, self.volume.order);
            let (block, offset) = self.volume.write_place();
            let entry = Entry::Inode { ino: node.ino, version: node.version, offset, length };
            let ino = (mode != AllocMode::Gc).then_some(node.ino);
            let written = self.write_node(clock, [&head, data], entry, ino);
            let Err(error) = written else { return self.link_dnode(node, block) };
            self.abandon_space(block, length, error.clone())?;
            if std::mem::replace(&mut retried, true) {
                return Err(error);
            }
            self.reserve_again(clock, length, mode, summary::INODE_SIZE)?;
        }
    }

    /// A whole page, or a part that begins a page and ends the file, is pristine: garbage
    /// collection may copy it as it is. Everything else should be joined with its neighbours.
    fn link_dnode(&mut self, node: &Inode, block: BlockIndex) -> Result<FullDnode, Error> {
        let ends = u64::from(node.offset) + u64::from(node.dsize) == u64::from(node.isize);
        let alone = node.dsize >= PAGE || (node.offset.is_multiple_of(PAGE) && ends);
        let state = if alone { NodeState::Pristine } else { NodeState::Normal };
        let slot = self.held(node.ino)?.slot;
        let volume = &mut self.volume;
        let node_id = volume.inodes.link(&mut volume.blocks, slot, block, node.padded(), state);
        Ok(FullDnode { node: node_id, offset: node.offset, size: node.dsize, fragments: 0 })
    }

    /// Writes a directory entry. Space was reserved.
    ///
    /// # Errors
    /// As [`Jffs2::write_dnode`].
    pub(crate) fn write_dirent(
        &mut self,
        clock: &mut Clock,
        node: Dirent<'_>,
        mode: AllocMode,
    ) -> Result<DirEntry, Error> {
        let mut node = node;
        let (length, name) = (node.length(), node.name);
        self.volume.host.spend(clock, Work::Crc, to_usize(length));
        let mut retried = mode == AllocMode::NoRetry;
        loop {
            let highest = self.held(node.parent)?.highest_version;
            if mode != AllocMode::Gc && node.version < highest {
                node.version = self.next_version(node.parent)?;
            }
            let mut bytes = vec![0; to_usize(length)];
            node.emit(&mut bytes, self.volume.order);
            let (block, offset) = self.volume.write_place();
            let Dirent { parent, version, ino, kind, .. } = node;
            let entry = Entry::Dirent { length, offset, parent, version, ino, kind, name };
            let changes = (mode != AllocMode::Gc).then_some(parent);
            let parts = bytes.split_at(to_usize(dirent::SIZE));
            let written = self.write_node(clock, [parts.0, parts.1], entry, changes);
            let Err(error) = written else { return self.link_dirent(&node, block) };
            self.abandon_space(block, length, error.clone())?;
            if std::mem::replace(&mut retried, true) {
                return Err(error);
            }
            self.reserve_again(clock, length, mode, entry_size(name))?;
        }
    }

    /// An entry that removes a name is never pristine: it may be unnecessary by then.
    fn link_dirent(&mut self, node: &Dirent<'_>, block: BlockIndex) -> Result<DirEntry, Error> {
        let state = if node.ino == 0 { NodeState::Normal } else { NodeState::Pristine };
        let slot = self.held(node.parent)?.slot;
        let (volume, length) = (&mut self.volume, pad(node.length()));
        let id = volume.inodes.link(&mut volume.blocks, slot, block, length, state);
        Ok(DirEntry { ino: node.ino, kind: node.kind, version: node.version, node: Some(id) })
    }

    /// Writes a node where space was reserved.
    pub(crate) fn write_node(
        &mut self,
        clock: &mut Clock,
        parts: [&[u8]; 2],
        entry: Entry<'_>,
        ino: Option<u32>,
    ) -> Result<(), Error> {
        self.volume.host.spend(clock, Work::Node, 0);
        let at = self.volume.write_offset();
        self.append_node(clock, &NodeWrite { at, parts, entry: Some(entry), ino })
    }

    /// Handles a failed write of a node: on NOR its space is lost, on NAND its block was refiled.
    pub(crate) fn abandon_space(
        &mut self,
        block: BlockIndex,
        length: u32,
        error: Error,
    ) -> Result<(), Error> {
        self.fail_unless_medium(error)?;
        if self.volume.layout.page_size.is_none() && self.volume.blocks.writing == Some(block) {
            let (length, blocks) = (pad(length), &mut self.volume.blocks);
            blocks.link(block, length, NodeState::Obsolete, Owner::Nobody, None);
        }
        Ok(())
    }

    fn reserve_again(
        &mut self,
        clock: &mut Clock,
        length: u32,
        mode: AllocMode,
        entry: u32,
    ) -> Result<(), Error> {
        let priority = match mode {
            AllocMode::Gc => return self.reserve_gc(clock, length, Some(entry)).map(drop),
            AllocMode::Deletion => Priority::Deletion,
            AllocMode::Normal | AllocMode::NoRetry => Priority::Normal,
        };
        self.reserve(clock, length, priority, Some(entry)).map(drop)
    }

    /// Adds a new node to a file, over everything that it covers. Metadata in a node of their own
    /// are in the new node now.
    pub(crate) fn add_to_file(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        dnode: FullDnode,
    ) -> Result<(), Error> {
        let mut effects = std::mem::take(&mut self.volume.effects);
        effects.clear();
        let inode = self.held_mut(ino)?;
        inode.fragments.add(dnode.node, dnode.offset, dnode.size, &mut effects);
        let metadata = inode.metadata_node.take();
        let done = self.volume.apply_effects(clock, &effects);
        self.volume.effects = effects;
        done?;
        metadata.map_or(Ok(()), |old| self.volume.mark_obsolete(clock, old.node))
    }

    /// Writes `data` to a file from `offset` on, in as many nodes as it takes
    /// (`jffs2_write_inode_range`); returns how much was written, and why no more.
    fn write_range(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        offset: u32,
        data: &[u8],
    ) -> (u32, Result<(), Error>) {
        let mut written = 0;
        let mut retried = false;
        while to_usize(written) < data.len() {
            let rest = &data[to_usize(written)..];
            match self.write_one_node(clock, ino, offset + written, rest) {
                Ok(length) => {
                    written += length;
                    retried = false;
                }
                Err(error @ Error::Flash(_)) if !retried => {
                    if let Err(error) = self.fail_unless_medium(error) {
                        return (written, Err(error));
                    }
                    retried = true;
                }
                Err(error) => return (written, Err(error)),
            }
        }
        (written, Ok(()))
    }

    /// Writes one node with as much of `data` as fits into the block, and returns that length.
    fn write_one_node(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        offset: u32,
        data: &[u8],
    ) -> Result<u32, Error> {
        let least = inode::SIZE + MIN_DATA;
        let room = self.reserve(clock, least, Priority::Normal, Some(summary::INODE_SIZE))?;
        let metadata = self.held(ino)?.metadata;
        let version = self.next_version(ino)?;
        let now = self.seconds(clock);
        let node = Inode {
            atime: now,
            mtime: now,
            ctime: now,
            offset,
            ..node_with(ino, version, &metadata)
        };
        let (dnode, size) = self.write_compressed(clock, node, data, room, AllocMode::NoRetry)?;
        self.add_to_file(clock, ino, dnode)?;
        self.held_mut(ino)?.metadata.size = size;
        Ok(dnode.size)
    }

    /// Compresses as much of `data` as fits into a node of `room` bytes, writes the node, and
    /// returns it with the size of the file after it.
    pub(crate) fn write_compressed(
        &mut self,
        clock: &mut Clock,
        mut node: Inode,
        data: &[u8],
        room: u32,
        mode: AllocMode,
    ) -> Result<(FullDnode, u32), Error> {
        let room = to_usize(room - inode::SIZE).min(data.len());
        let volume = &mut self.volume;
        let settings = volume.compression;
        let stored = volume.compressors.compress(&mut volume.host, clock, settings, data, room);
        let bytes = volume.compressors.take(stored);
        node.compressor = stored.compressor;
        node.csize = length_of(&bytes);
        node.dsize = length_of(&data[..stored.consumed]);
        if mode != AllocMode::Gc {
            node.isize = node.isize.max(node.offset + node.dsize);
        }
        let written = self.write_dnode(clock, &mut node, &bytes, mode);
        self.volume.compressors.give_back(bytes);
        Ok((written?, node.isize))
    }

    /// Writes the bytes `changed` of page number `page`; `content` is the whole page as it is now.
    ///
    /// # Errors
    /// EFBIG, EISDIR, EINVAL, ENOSPC, [`Error::Flash`].
    pub(crate) fn do_write_page(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        page: u64,
        content: &[u8],
        changed: Range<usize>,
    ) -> Result<(), Error> {
        self.open_file(clock, ino)?;
        let first = page.checked_mul(u64::from(PAGE)).and_then(|at| u32::try_from(at).ok());
        let first = first.ok_or(Errno::FBig)?;
        let (start, end) =
            (length_of(&content[..changed.start]), length_of(&content[..changed.end]));
        let position = first.checked_add(start).ok_or(Errno::FBig)?;
        first.checked_add(end).ok_or(Errno::FBig)?;
        let size = self.held(ino)?.metadata.size;
        if position > size {
            self.write_hole(clock, ino, position)?;
        }
        let from = if end == PAGE { 0 } else { start & !3 };
        let data = &content[to_usize(from)..changed.end];
        let (written, done) = self.write_range(clock, ino, first + from, data);
        let now = self.seconds(clock);
        if let Some(inode) = self.open.get_mut(&ino).filter(|_| written > start - from) {
            (inode.metadata.mtime, inode.metadata.ctime) = (now, now);
        }
        done
    }

    /// Opens an inode that must be a regular file.
    pub(crate) fn open_file(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        match self.open_inode(clock, ino)?.kind {
            boardlab_vfs::Kind::File => Ok(()),
            boardlab_vfs::Kind::Directory => Err(Errno::IsDir.into()),
            _ => Err(Errno::Inval.into()),
        }
    }

    /// Extends the file to `size` by a hole.
    fn write_hole(&mut self, clock: &mut Clock, ino: u32, size: u32) -> Result<(), Error> {
        self.reserve(clock, inode::SIZE, Priority::Normal, Some(summary::INODE_SIZE))?;
        let now = self.seconds(clock);
        let mut node = Inode { atime: now, mtime: now, ctime: now, ..self.next_inode_node(ino)? };
        node.offset = node.isize;
        (node.dsize, node.isize) = (size - node.offset, size);
        node.compressor = Compressor::Zero;
        let dnode = self.write_dnode(clock, &mut node, &[], AllocMode::Normal)?;
        self.add_to_file(clock, ino, dnode)?;
        self.held_mut(ino)?.metadata.size = size;
        Ok(())
    }
}

impl<M> crate::volume::Volume<M> {
    /// The block being written, and the offset of the next node in it.
    ///
    /// # Panics
    /// When no space was reserved.
    pub(crate) fn write_place(&self) -> (BlockIndex, u32) {
        let block = self.blocks.writing.expect("write_place: space was reserved");
        (block, self.blocks.free_offset(block))
    }
}

/// The size of the summary entry for a directory entry with this name.
pub(crate) fn entry_size(name: &[u8]) -> u32 {
    summary::DIRENT_SIZE + length_of(name)
}

/// An inode node without data that carries `metadata`.
pub(crate) const fn node_with(ino: u32, version: u32, metadata: &Metadata) -> Inode {
    Inode {
        ino,
        version,
        mode: metadata.mode,
        uid: metadata.uid,
        gid: metadata.gid,
        isize: metadata.size,
        atime: metadata.atime,
        mtime: metadata.mtime,
        ctime: metadata.ctime,
        offset: 0,
        csize: 0,
        dsize: 0,
        compressor: Compressor::None,
        user_compressor: 0,
        flags: 0,
        data_crc: 0,
    }
}

const fn to_usize_const(length: u32) -> usize {
    length as usize
}
