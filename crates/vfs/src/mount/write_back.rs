//! Writes dirty pages and dirty inodes, and asks the filesystem again when it needs that.
//!
//! Layer: rank 2, part of [`Mount`]. Source: Linux 6.1, `fs/fs-writeback.c`: `__mark_inode_dirty` (an
//! inode is as old as its first change since it was clean), `__writeback_single_inode` (the pages in
//! ascending order, then the inode), `wb_writeback` (expired inodes, the oldest first),
//! `writeback_sb_inodes` (what `writeback_inodes_sb_nr` writes at least); `ubifs_fsync` in
//! `fs/ubifs/file.c`, `generic_write_sync` in `include/linux/fs.h`.
//!
//! ```text
//!   page_dirtied -----------> dirty pages --+
//!                                           +--> one age per inode --> expired, too much, sync, fsync,
//!   take_dirtied -----------> dirty inode --+                          unmount, NeedsWriteBack
//! ```
//!
//! Left out: the pace of the writer (`balance_dirty_pages` makes it sleep; here it writes itself).

use super::Mount;
use crate::cache::Key;
use crate::error::Error;
use crate::filesystem::FileSystem;
use crate::mount::Fd;
use crate::node::Ino;
use boardlab_sim::Clock;
use std::ops::RangeInclusive;

impl<F: FileSystem> Mount<F> {
    /// Calls the filesystem, and calls it again after a write-back as long as it needs one.
    pub(super) fn ask<T>(
        &mut self,
        clock: &mut Clock,
        mut call: impl FnMut(&mut F, &mut Clock) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.retry(clock, |mount, clock| call(&mut mount.fs, clock))
    }

    /// As [`Mount::ask`], for a call that depends on the state of the cache.
    pub(super) fn retry<T>(
        &mut self,
        clock: &mut Clock,
        mut call: impl FnMut(&mut Self, &mut Clock) -> Result<T, Error>,
    ) -> Result<T, Error> {
        loop {
            let answer = call(self, clock);
            self.note_dirtied(clock);
            match answer {
                Err(Error::NeedsWriteBack { pages }) => self.write_oldest(clock, pages)?,
                answer => return answer,
            }
        }
    }

    /// Takes over which inodes the filesystem made dirty.
    pub(super) fn note_dirtied(&mut self, clock: &Clock) {
        for ino in self.fs.take_dirtied() {
            self.cache.mark_inode_dirty(ino, clock.now());
        }
    }

    /// Writes the oldest inodes until so many pages are written. An inode is written as a whole,
    /// however few are asked for (`writeback_chunk_size` with `tagged_writepages`).
    fn write_oldest(&mut self, clock: &mut Clock, pages: u32) -> Result<(), Error> {
        let mut left = pages;
        for (_, ino) in self.cache.dirty_inodes() {
            if left == 0 {
                break;
            }
            let mut written = 0;
            while let Some(key) = self.cache.first_dirty(ino) {
                self.write_back(clock, key)?;
                written += 1;
            }
            self.write_inode_back(clock, ino)?;
            left = left.saturating_sub(written);
        }
        Ok(())
    }

    /// Makes earlier writes to the file durable.
    ///
    /// # Errors
    /// EBADF, a pending error of background write-back (reported once), and those of the filesystem.
    pub fn fsync(&mut self, clock: &mut Clock, fd: Fd) -> Result<(), Error> {
        self.enter(clock)?;
        let ino = self.file(fd)?.ino;
        self.fsync_range(clock, ino, 0..=u64::MAX)
    }

    /// Makes these pages of a file durable, and its inode.
    pub(super) fn fsync_range(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        pages: RangeInclusive<u64>,
    ) -> Result<(), Error> {
        while let Some(key) = self.cache.first_dirty_of(ino, pages.clone()) {
            self.write_back(clock, key)?;
        }
        if let Some(error) = self.inodes.get_mut(&ino).and_then(|inode| inode.lost.take()) {
            return Err(error);
        }
        if self.fs.writes_inodes_on_fsync() {
            self.write_inode(clock, ino)?;
        }
        self.ask(clock, |fs, clock| fs.fsync(clock, ino))
    }

    /// Makes all earlier operations durable. Pages that cannot be written are reported by fsync, as
    /// in Linux.
    ///
    /// # Errors
    /// Those of the filesystem.
    pub fn sync(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.enter(clock)?;
        self.flush_all(clock)?;
        self.ask(clock, FileSystem::sync)
    }

    pub(super) fn flush_all(&mut self, clock: &mut Clock) -> Result<(), Error> {
        for (_, ino) in self.cache.dirty_inodes() {
            self.flush(clock, ino)?;
        }
        Ok(())
    }

    /// Writes the dirty pages of an inode in ascending order, then the inode if it is dirty.
    fn flush(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        while let Some(key) = self.cache.first_dirty(ino) {
            self.write_back(clock, key)?;
        }
        self.write_inode_back(clock, ino)
    }

    /// Writes the inodes that have been dirty too long, when the flusher is due.
    pub(super) fn flush_expired(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let settings = self.options.write_back;
        if self.cache.is_clean() || clock.now() < self.next_flush {
            return Ok(());
        }
        let due = clock.now();
        self.next_flush = due.saturating_add(settings.interval);
        for (since, ino) in self.cache.dirty_inodes() {
            if since.saturating_add(settings.expire) <= due {
                self.flush(clock, ino)?;
            }
        }
        Ok(())
    }

    /// Writes the oldest inodes while there are too many dirty pages.
    pub(super) fn balance_dirty_pages(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let limit = self.options.write_back.background;
        while self.cache.dirty_bytes() > limit {
            let Some(ino) = self.cache.oldest_dirty() else { break };
            if let Some(key) = self.cache.first_dirty(ino) {
                self.write_back(clock, key)?;
            }
            if self.cache.first_dirty(ino).is_none() {
                self.write_inode_back(clock, ino)?;
            }
        }
        Ok(())
    }

    /// Writes a page back if it is dirty. A page that the filesystem refuses is lost, and the next
    /// fsync reports it; only a power cut ends the caller's operation.
    pub(super) fn write_back(&mut self, clock: &mut Clock, key: Key) -> Result<(), Error> {
        let Err(error) = self.write_dirty_page(clock, key) else { return Ok(()) };
        if error.errno().is_none() {
            return Err(error);
        }
        if let Some(inode) = self.inodes.get_mut(&key.0) {
            inode.lost = Some(error);
        }
        Ok(())
    }

    pub(super) fn write_dirty_page(&mut self, clock: &mut Clock, key: Key) -> Result<(), Error> {
        let Some((content, changed)) = self.cache.dirty_range(key) else { return Ok(()) };
        self.counts.written += 1;
        let written = self.fs.write_page(clock, key.0, key.1, content, changed);
        self.cache.mark_clean(key);
        self.invalidate_attributes(key.0);
        self.note_dirtied(clock);
        written
    }

    /// Writes an inode if it is dirty. As in Linux nobody hears of a failure in the background: a
    /// filesystem that cannot write its inodes becomes read-only by itself.
    fn write_inode_back(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        match self.write_inode(clock, ino) {
            Err(error) if error.errno().is_none() => Err(error),
            _ => Ok(()),
        }
    }

    fn write_inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        if !self.cache.mark_inode_clean(ino) {
            return Ok(());
        }
        let written = self.fs.write_inode(clock, ino);
        self.note_dirtied(clock);
        written
    }

    /// Drops the cached pages beyond `size`, and tells the filesystem which dirty ones it need not
    /// expect any more.
    pub(super) fn truncate_cache(&mut self, ino: Ino, size: u64) {
        for page in self.cache.truncate(ino, size) {
            self.fs.release_page(ino, page);
        }
    }
}
