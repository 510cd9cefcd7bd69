//! Changes attributes, and evicts inodes.
//!
//! Layer: rank 5. Methods of [`Jffs2`]. Every change of attributes writes a node that carries all
//! of them, and no data except those of a symbolic link or a device. A change of size is such a
//! node as well: a smaller size truncates, a hole extends.
//!
//! Source: Linux 6.1, `jffs2_do_setattr` of `fs/jffs2/fs.c`, `jffs2_do_clear_inode` of `readinode.c`,
//! `jffs2_fsync` of `file.c`, `jffs2_flush_wbuf_gc` of `wbuf.c`, `super.c`.

use crate::Jffs2;
use crate::alloc::Priority;
use crate::block::NodeId;
use crate::dir::{device_data, id16};
use crate::error::Error;
use crate::format::inode::Compressor;
use crate::format::{Inode, inode, length_of, summary};
use crate::gc::PassOutcome;
use crate::index::InodeState;
use crate::inode::Metadata;
use crate::write::{AllocMode, node_with};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{Errno, Kind, SetAttr, Timestamp};

impl<M: Mtd> Jffs2<M> {
    /// Changes attributes.
    ///
    /// # Errors
    /// EISDIR or EINVAL for a size of anything but a regular file, EFBIG, ENOSPC, [`Error::Flash`].
    pub(crate) fn do_setattr(
        &mut self,
        clock: &mut Clock,
        ino: u32,
        change: &SetAttr,
    ) -> Result<(), Error> {
        let new_size = match change.size {
            None => None,
            Some(size) => {
                self.open_file(clock, ino)?;
                Some(u32::try_from(size).map_err(|_| Errno::FBig)?)
            }
        };
        self.open_inode(clock, ino)?;
        let data = self.special_data(ino)?;
        let length = inode::SIZE + length_of(&data);
        self.reserve(clock, length, Priority::Normal, Some(summary::INODE_SIZE))?;
        let version = self.next_version(ino)?;
        let before = self.held(ino)?.metadata;
        let metadata = changed(&before, change, new_size, self.seconds(clock));
        let mut node = Inode {
            csize: length_of(&data),
            dsize: length_of(&data),
            ..node_with(ino, version, &metadata)
        };
        let grows = metadata.size > before.size;
        if grows {
            node.compressor = Compressor::Zero;
            (node.offset, node.dsize) = (before.size, metadata.size - before.size);
        }
        let empties = new_size == Some(0) && !grows;
        let mode = if empties { AllocMode::Deletion } else { AllocMode::Normal };
        let dnode = self.write_dnode(clock, &mut node, &data, mode)?;
        self.held_mut(ino)?.metadata = metadata;
        if grows {
            return self.add_to_file(clock, ino, dnode);
        }
        if metadata.size < before.size {
            self.truncate_fragments(clock, ino, metadata.size)?;
        }
        let old = self.held_mut(ino)?.metadata_node.replace(dnode);
        old.map_or(Ok(()), |old| self.volume.mark_obsolete(clock, old.node))
    }

    /// The data that every node of a symbolic link or device carries.
    pub(crate) fn special_data(&self, ino: u32) -> Result<Vec<u8>, Error> {
        let inode = self.held(ino)?;
        Ok(match inode.kind {
            Kind::Symlink => inode.target.to_vec(),
            kind => device_data(kind, self.volume.order),
        })
    }

    fn truncate_fragments(&mut self, clock: &mut Clock, ino: u32, size: u32) -> Result<(), Error> {
        let mut effects = std::mem::take(&mut self.volume.effects);
        effects.clear();
        self.held_mut(ino)?.fragments.truncate(size, &mut effects);
        let done = self.volume.apply_effects(clock, &effects);
        self.volume.effects = effects;
        done
    }

    /// Closes an inode that nobody holds open. An inode without names is deleted: its nodes become
    /// obsolete.
    ///
    /// # Errors
    /// A power cut.
    pub(crate) fn do_evict_inode(&mut self, clock: &mut Clock, ino: u32) -> Result<(), Error> {
        let Some(inode) = self.open.remove(&ino) else { return Ok(()) };
        let cache = self.volume.inodes.get_mut(inode.slot);
        cache.state = InodeState::Checked;
        if cache.links == 0 && !self.volume.read_only {
            self.volume.drop_xattrs(inode.slot);
            let metadata = inode.metadata_node.iter().map(|dnode| dnode.node);
            let content = inode.fragments.dnodes().map(|dnode| dnode.node);
            let nodes: Vec<NodeId> = metadata.chain(content).collect();
            for node in nodes {
                self.volume.mark_obsolete(clock, node)?;
            }
        }
        if self.volume.inodes.try_get(inode.slot).is_some_and(|cache| cache.nodes.is_none()) {
            self.volume.inodes.remove(inode.slot);
        }
        Ok(())
    }

    /// Flushes the write buffer when it holds changes of an inode (of any when `None`). Garbage
    /// collection fills the page as far as it can, so that no space is lost for padding.
    ///
    /// # Errors
    /// [`Error::Flash`].
    pub(crate) fn flush_wbuf_gc(
        &mut self,
        clock: &mut Clock,
        ino: Option<u32>,
    ) -> Result<(), Error> {
        if !self.volume.wbuf.holds_changes_of(ino) {
            return Ok(());
        }
        if self.volume.blocks.totals().unchecked > 0 {
            return self.flush_wbuf_pad(clock);
        }
        let page = self.volume.wbuf.at;
        while self.volume.wbuf.is_dirty() && self.volume.wbuf.at == page {
            match self.collect(clock) {
                Ok(PassOutcome::Progress) => {}
                Err(Error::Flash(error)) if crate::wbuf::is_power_cut(&error) => {
                    return Err(error.into());
                }
                Ok(PassOutcome::NeedsErase) | Err(_) => return self.flush_wbuf_pad(clock),
            }
        }
        Ok(())
    }

    /// Does one step of background work: flushes the write buffer when it is old, else runs a pass
    /// of garbage collection when there is reason for one, or after an erase. Returns whether there is more to do now.
    ///
    /// # Errors
    /// [`Error::Flash`] of the write buffer; of garbage collection only a power cut.
    pub(crate) fn do_background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        if self.volume.read_only {
            return self.background_check(clock);
        }
        if self.volume.wbuf.due.is_some_and(|due| due <= clock.now()) {
            self.volume.wbuf.due = None;
            self.flush_wbuf_gc(clock, None)?;
        } else if self.volume.wakes_collector() {
            let checks = self.volume.blocks.totals().unchecked > 0;
            let erases = self.volume.has_erases() && !checks;
            self.volume.signalled = false;
            match self.collect(clock) {
                Ok(PassOutcome::Progress) => self.volume.signalled = erases,
                Err(Error::Flash(error)) if crate::wbuf::is_power_cut(&error) => {
                    return Err(error.into());
                }
                // A writer gets the same error.
                Ok(PassOutcome::NeedsErase) | Err(_) => return Ok(false),
            }
        }
        Ok(self.volume.wakes_collector())
    }

    fn background_check(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        if self.volume.blocks.totals().unchecked > 0 {
            match self.check_next(clock) {
                Err(Error::Refused(Errno::NoSpc)) => return Ok(false),
                done => done?,
            }
        }
        Ok(self.volume.blocks.totals().unchecked > 0)
    }
}

/// The attributes after a change.
fn changed(before: &Metadata, change: &SetAttr, size: Option<u32>, now: u32) -> Metadata {
    let kind = before.mode & !0o7_777;
    let seconds = |time: Timestamp| {
        u32::try_from(time.seconds.clamp(0, i64::from(u32::MAX))).expect("clamped to 32 bits")
    };
    let mtime = if size.is_some() { now } else { before.mtime };
    Metadata {
        mode: change.mode.map_or(before.mode, |mode| kind | (mode & 0o7_777)),
        uid: change.uid.map_or(before.uid, id16),
        gid: change.gid.map_or(before.gid, id16),
        size: size.unwrap_or(before.size),
        atime: change.accessed.map_or(before.atime, seconds),
        mtime: change.modified.map_or(mtime, seconds),
        ctime: now,
        ..*before
    }
}
