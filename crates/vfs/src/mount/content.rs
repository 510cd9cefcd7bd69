//! The operations on the bytes of files.
//!
//! Layer: rank 2, part of [`Mount`]. Source: Linux 6.1, `generic_perform_write` and `filemap_read` in
//! `mm/filemap.c`, `ondemand_readahead` in `mm/readahead.c`, `wb_writeback` in `fs/fs-writeback.c`, and
//! `jffs2_write_begin` and `jffs2_write_end` in `fs/jffs2/file.c` for what write-through means.
//!
//! ```text
//!   write: for each page   in the cache? --no--> changed in part, within the file? --yes--> read_page
//!                               |                          | no: zeros                         |
//!                               +-------------------- copy the bytes in ----------------------+
//!                                        |                                |
//!                                 write-through:                    write-back:
//!                                 write_page now              dirty; write_page later
//! ```

use super::Mount;
use super::walk::FinalSymlink;
use crate::cache::Key;
use crate::error::{Errno, Error};
use crate::filesystem::{Caching, FileSystem, PAGE_SIZE};
use crate::host::Work;
use crate::mount::Fd;
use crate::node::{Ino, Kind, SetAttr};
use boardlab_sim::Clock;
use std::ops::Range;

const PAGE: u64 = PAGE_SIZE as u64;

/// The pages that a range of a file touches, each with the bytes within it; an empty range touches
/// none.
fn pieces(offset: u64, length: usize) -> impl Iterator<Item = (u64, Range<usize>)> {
    let end = offset + length as u64;
    let behind = if length == 0 { offset / PAGE } else { end.div_ceil(PAGE) };
    (offset / PAGE..behind).map(move |page| {
        let start = page * PAGE;
        let within = |at: u64| usize::try_from(at - start).expect("within a page");
        (page, within(offset.max(start))..within(end.min(start + PAGE)))
    })
}

impl<F: FileSystem> Mount<F> {
    /// Reads from `offset` on and returns the number of bytes; it is short only at the end of the file.
    ///
    /// # Errors
    /// EBADF, EISDIR, EINVAL for anything but a regular file, and those of the filesystem.
    pub fn read(
        &mut self,
        clock: &mut Clock,
        fd: Fd,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<usize, Error> {
        self.enter(clock)?;
        let (ino, size) = self.regular(clock, fd)?;
        let left = usize::try_from(size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let length = buffer.len().min(left);
        let mut done = 0;
        for (page, range) in pieces(offset, length) {
            self.host.spend(clock, Work::Page, 0);
            if self.cache.contains((ino, page)) {
                self.counts.hits += 1;
            } else {
                self.read_ahead(clock, fd, page, size)?;
            }
            let Some(content) = self.cache.get((ino, page)) else { return Err(Errno::Io.into()) };
            buffer[done..done + range.len()].copy_from_slice(&content[range.clone()]);
            self.host.spend(clock, Work::Copy, range.len());
            done += range.len();
            if let Some(open) = self.files.get_mut(&fd) {
                open.next_page = page + 1;
            }
        }
        Ok(done)
    }

    /// Writes from `offset` on and returns the number of bytes. The write is short when the filesystem
    /// refuses in the middle, or at the size limit of a file. A write of no bytes does nothing.
    ///
    /// # Errors
    /// EBADF, EISDIR, EINVAL for anything but a regular file, EFBIG at the size limit, and those of
    /// the filesystem when nothing was written.
    pub fn write(
        &mut self,
        clock: &mut Clock,
        fd: Fd,
        offset: u64,
        data: &[u8],
    ) -> Result<usize, Error> {
        self.enter(clock)?;
        let (ino, _) = self.regular(clock, fd)?;
        let room = self.fs.size_max().saturating_sub(offset);
        if room == 0 && !data.is_empty() {
            return Err(Errno::FBig.into());
        }
        let data = &data[..data.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        let mut done = 0;
        for (page, range) in pieces(offset, data.len()) {
            let piece = &data[done..done + range.len()];
            match self.write_piece(clock, (ino, page), range.start, piece) {
                Ok(()) => done += piece.len(),
                Err(error) if done == 0 || error.errno().is_none() => return Err(error),
                Err(_) => break,
            }
        }
        Ok(done)
    }

    /// The inode of an open regular file, and its size.
    fn regular(&mut self, clock: &mut Clock, fd: Fd) -> Result<(Ino, u64), Error> {
        let ino = self.file(fd)?.ino;
        let inode = self.inode(clock, ino)?;
        match inode.attributes.kind {
            Kind::File => Ok((ino, inode.size)),
            Kind::Directory => Err(Errno::IsDir.into()),
            _ => Err(Errno::Inval.into()),
        }
    }

    fn write_piece(
        &mut self,
        clock: &mut Clock,
        key: Key,
        start: usize,
        data: &[u8],
    ) -> Result<(), Error> {
        let (ino, page) = key;
        let changed = start..start + data.len();
        self.host.spend(clock, Work::Page, 0);
        self.write_begin(clock, key, data.len() == PAGE_SIZE)?;
        let Some(content) = self.cache.get(key) else { return Err(Errno::Io.into()) };
        content[changed.clone()].copy_from_slice(data);
        self.host.spend(clock, Work::Copy, data.len());
        let end = page * PAGE + changed.end as u64;
        match self.fs.caching() {
            Caching::WriteThrough => {
                self.counts.written += 1;
                let written = self.fs.write_page(clock, ino, page, content, changed);
                self.invalidate_attributes(ino);
                if written.is_err() {
                    // The cached page differs from the filesystem: it must be read again.
                    self.cache.remove(key);
                    return written;
                }
            }
            Caching::WriteBack => {
                self.cache.mark_dirty(key, changed, clock.now());
                self.invalidate_attributes(ino);
            }
        }
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.size = inode.size.max(end);
        }
        self.balance_dirty_pages(clock)
    }

    /// Prepares a cached page for a change.
    fn write_begin(&mut self, clock: &mut Clock, key: Key, whole: bool) -> Result<(), Error> {
        if self.cache.contains(key) {
            self.counts.hits += 1;
            return Ok(());
        }
        let size = self.inodes.get(&key.0).map_or(0, |inode| inode.size);
        let within = key.1 * PAGE < size;
        if within && (!whole || self.fs.reads_pages_to_overwrite()) {
            return self.fill_page(clock, key);
        }
        self.make_room(clock)?;
        self.cache.insert(key, vec![0; PAGE_SIZE].into());
        Ok(())
    }

    /// Reads a page, and the readahead window behind it when the file is read in sequence.
    fn read_ahead(&mut self, clock: &mut Clock, fd: Fd, page: u64, size: u64) -> Result<(), Error> {
        let open = self.file(fd)?;
        let window = u64::from(self.options.readahead).max(1);
        let sequential = page == 0 || page == open.next_page;
        let window = if sequential { window } else { 1 };
        self.fill_page(clock, (open.ino, page))?;
        for next in page + 1..(page + window).min(size.div_ceil(PAGE)) {
            if !self.cache.contains((open.ino, next)) {
                self.fill_page(clock, (open.ino, next))?;
            }
        }
        // A window larger than the cache has evicted the wanted page itself.
        if self.cache.contains((open.ino, page)) {
            return Ok(());
        }
        self.fill_page(clock, (open.ino, page))
    }

    /// Reads a page that is not in the cache.
    fn fill_page(&mut self, clock: &mut Clock, key: Key) -> Result<(), Error> {
        self.make_room(clock)?;
        let mut content = vec![0; PAGE_SIZE].into_boxed_slice();
        self.counts.read += 1;
        self.fs.read_page(clock, key.0, key.1, &mut content)?;
        self.cache.insert(key, content);
        Ok(())
    }

    fn make_room(&mut self, clock: &mut Clock) -> Result<(), Error> {
        while let Some(victim) = self.cache.victim() {
            self.write_back(clock, victim)?;
            self.cache.remove(victim);
            self.counts.evicted += 1;
        }
        Ok(())
    }

    /// Truncates a file, or extends it by a hole; symbolic links are followed.
    ///
    /// # Errors
    /// EISDIR, EINVAL for anything but a regular file, EFBIG, those of resolving the path, and
    /// those of the filesystem.
    pub fn truncate(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        size: u64,
    ) -> Result<(), Error> {
        self.enter(clock)?;
        let ino = self.resolve(clock, path.as_ref(), FinalSymlink::Follow)?;
        self.resize(clock, ino, size)
    }

    /// As [`Mount::truncate`], for an open file.
    ///
    /// # Errors
    /// EBADF, and as [`Mount::truncate`].
    pub fn ftruncate(&mut self, clock: &mut Clock, fd: Fd, size: u64) -> Result<(), Error> {
        self.enter(clock)?;
        let ino = self.file(fd)?.ino;
        self.resize(clock, ino, size)
    }

    fn resize(&mut self, clock: &mut Clock, ino: Ino, size: u64) -> Result<(), Error> {
        match self.kind(clock, ino)? {
            Kind::File => {}
            Kind::Directory => return Err(Errno::IsDir.into()),
            _ => return Err(Errno::Inval.into()),
        }
        if size > self.fs.size_max() {
            return Err(Errno::FBig.into());
        }
        let change = SetAttr { size: Some(size), ..SetAttr::default() };
        self.fs.setattr(clock, ino, &change)?;
        self.cache.truncate(ino, size);
        self.invalidate_attributes(ino);
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.size = size;
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
        self.flush(clock, ino)?;
        if let Some(error) = self.inodes.get_mut(&ino).and_then(|inode| inode.lost.take()) {
            return Err(error);
        }
        self.fs.fsync(clock, ino)
    }

    /// Makes all earlier operations durable. Pages that cannot be written are reported by fsync, as
    /// in Linux.
    ///
    /// # Errors
    /// Those of the filesystem.
    pub fn sync(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.enter(clock)?;
        self.flush_all(clock)?;
        self.fs.sync(clock)
    }

    pub(super) fn flush_all(&mut self, clock: &mut Clock) -> Result<(), Error> {
        for (_, ino) in self.cache.dirty_inodes() {
            self.flush(clock, ino)?;
        }
        Ok(())
    }

    /// Writes the dirty pages of an inode in ascending order.
    fn flush(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        while let Some(key) = self.cache.first_dirty(ino) {
            self.write_back(clock, key)?;
        }
        Ok(())
    }

    /// Writes the inodes that have been dirty too long, when the flusher is due.
    pub(super) fn flush_expired(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let settings = self.options.write_back;
        if self.cache.dirty_bytes().is_zero() || clock.now() < self.next_flush {
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

    /// Writes pages of the oldest inodes while there are too many dirty ones.
    fn balance_dirty_pages(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let limit = self.options.write_back.background;
        while self.cache.dirty_bytes() > limit {
            let oldest = self.cache.dirty_inodes().first().map(|&(_, ino)| ino);
            let Some(key) = oldest.and_then(|ino| self.cache.first_dirty(ino)) else { break };
            self.write_back(clock, key)?;
        }
        Ok(())
    }

    /// Writes a page back if it is dirty. A page that the filesystem refuses is lost, and the next
    /// fsync reports it; only a power cut ends the caller's operation.
    fn write_back(&mut self, clock: &mut Clock, key: Key) -> Result<(), Error> {
        let Some((content, changed)) = self.cache.dirty_range(key) else { return Ok(()) };
        self.counts.written += 1;
        let written = self.fs.write_page(clock, key.0, key.1, content, changed);
        self.cache.mark_clean(key);
        self.invalidate_attributes(key.0);
        let Err(error) = written else { return Ok(()) };
        if error.errno().is_none() {
            return Err(error);
        }
        if let Some(inode) = self.inodes.get_mut(&key.0) {
            inode.lost = Some(error);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_cut_at_pages() {
        let cut: Vec<_> = pieces(4_095, 4_098).collect();
        assert_eq!(cut, [(0, 4_095..4_096), (1, 0..4_096), (2, 0..1)]);
        assert_eq!(pieces(8_192, 0).count(), 0);
        assert_eq!(pieces(5_000, 0).count(), 0);
        assert_eq!(pieces(1, 2).collect::<Vec<_>>(), [(0, 1..3)]);
    }
}
