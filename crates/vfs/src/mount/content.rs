//! The operations on the bytes of files.
//!
//! Layer: rank 2, part of [`Mount`]. Source: Linux 6.1, `generic_perform_write` and `filemap_read` in
//! `mm/filemap.c`, `ondemand_readahead` in `mm/readahead.c`, `jffs2_write_begin` and `jffs2_write_end`
//! in `fs/jffs2/file.c` for what write-through means, and `ubifs_write_begin`, `ubifs_write_end` and
//! `do_truncation` in `fs/ubifs/file.c` for what a write-back filesystem is asked.
//!
//! ```text
//!   write: for each page   in the cache? --no--> changed in part, within the file? --yes--> read_page
//!                               |                          | no: zeros                         |
//!                               +--------------------------+----------------------------------+
//!                                        |                                |
//!                                 write-through:                    write-back:
//!                                 copy the bytes in                 reserve_page
//!                                 write_page now                    copy the bytes in
//!                                                                   page_dirtied; write_page later
//! ```

use super::Mount;
use super::walk::FinalSymlink;
use crate::cache::Key;
use crate::error::{Errno, Error};
use crate::filesystem::{Caching, FileSystem, PAGE_SIZE, PageWrite, Truncation};
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
        let sync = self.file(fd)?.flags.sync;
        let room = self.fs.size_max().saturating_sub(offset);
        if room == 0 && !data.is_empty() {
            return Err(Errno::FBig.into());
        }
        let data = &data[..data.len().min(usize::try_from(room).unwrap_or(usize::MAX))];
        if self.fs.caching() == Caching::WriteBack && !data.is_empty() {
            self.ask(clock, |fs, clock| fs.begin_write(clock, ino))?;
            self.invalidate_attributes(ino);
        }
        let mut done = 0;
        for (page, range) in pieces(offset, data.len()) {
            let piece = &data[done..done + range.len()];
            match self.write_piece(clock, (ino, page), range.start, piece) {
                Ok(()) => done += piece.len(),
                Err(error) if done == 0 || error.errno().is_none() => return Err(error),
                Err(_) => break,
            }
        }
        if sync && done > 0 {
            self.fsync_range(clock, ino, offset / PAGE..=(offset + done as u64 - 1) / PAGE)?;
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
        let end = page * PAGE + changed.end as u64;
        self.host.spend(clock, Work::Page, 0);
        match self.fs.caching() {
            Caching::WriteThrough => self.write_through(clock, key, changed, data)?,
            Caching::WriteBack => self.write_to_cache(clock, key, changed, data)?,
        }
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.size = inode.size.max(end);
        }
        self.balance_dirty_pages(clock)
    }

    fn write_through(
        &mut self,
        clock: &mut Clock,
        key: Key,
        changed: Range<usize>,
        data: &[u8],
    ) -> Result<(), Error> {
        self.write_begin(clock, key, data.len() == PAGE_SIZE)?;
        let Some(content) = self.cache.get(key) else { return Err(Errno::Io.into()) };
        content[changed.clone()].copy_from_slice(data);
        self.host.spend(clock, Work::Copy, data.len());
        self.counts.written += 1;
        let written = self.fs.write_page(clock, key.0, key.1, content, changed);
        self.invalidate_attributes(key.0);
        if written.is_err() {
            // The cached page differs from the filesystem: it must be read again.
            self.cache.remove(key);
        }
        written
    }

    fn write_to_cache(
        &mut self,
        clock: &mut Clock,
        key: Key,
        changed: Range<usize>,
        data: &[u8],
    ) -> Result<(), Error> {
        let uptodate = self.write_begin(clock, key, data.len() == PAGE_SIZE)?;
        let reserved = self.retry(clock, |mount, clock| {
            let write = mount.page_write(key, &changed, uptodate);
            mount.fs.reserve_page(clock, key.0, &write).map(|()| write)
        });
        if reserved.is_err() && !uptodate {
            self.cache.remove(key);
        }
        let write = reserved?;
        let Some(content) = self.cache.get(key) else { return Err(Errno::Io.into()) };
        content[changed.clone()].copy_from_slice(data);
        self.host.spend(clock, Work::Copy, data.len());
        self.cache.mark_dirty(key, changed, clock.now());
        self.fs.page_dirtied(clock, key.0, &write);
        self.note_dirtied(clock);
        self.invalidate_attributes(key.0);
        Ok(())
    }

    /// What a change of a cached page means to the filesystem now.
    fn page_write(&self, key: Key, changed: &Range<usize>, uptodate: bool) -> PageWrite {
        let size_before = self.inodes.get(&key.0).map_or(0, |inode| inode.size);
        PageWrite {
            page: key.1,
            size_before,
            size_after: size_before.max(key.1 * PAGE + changed.end as u64),
            uptodate,
            dirty: self.cache.dirty_range(key).is_some(),
            whole: changed.len() == PAGE_SIZE,
        }
    }

    /// Prepares a cached page for a change. Returns whether its content was there or was read.
    fn write_begin(&mut self, clock: &mut Clock, key: Key, whole: bool) -> Result<bool, Error> {
        if self.cache.contains(key) {
            self.counts.hits += 1;
            return Ok(true);
        }
        let size = self.inodes.get(&key.0).map_or(0, |inode| inode.size);
        let within = key.1 * PAGE < size;
        let mut content = self.blank_page(clock)?;
        let read = within && (!whole || self.fs.reads_pages_to_overwrite());
        if read {
            self.counts.read += 1;
            self.ask(clock, |fs, clock| fs.read_page_to_change(clock, key.0, key.1, &mut content))?;
        }
        self.cache.insert(key, content);
        Ok(read)
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

    /// Reads a page that is not in the cache, and takes what the filesystem read besides.
    fn fill_page(&mut self, clock: &mut Clock, key: Key) -> Result<(), Error> {
        let mut content = self.blank_page(clock)?;
        self.counts.read += 1;
        self.ask(clock, |fs, clock| fs.read_page(clock, key.0, key.1, &mut content))?;
        self.cache.insert(key, content);
        for (page, content) in self.fs.take_read_ahead() {
            if self.cache.contains((key.0, page)) {
                continue;
            }
            if self.cache.victim() == Some(key) {
                break;
            }
            self.make_room(clock)?;
            self.cache.insert((key.0, page), content);
        }
        Ok(())
    }

    /// Returns the memory of the last page, if there was one.
    fn make_room(&mut self, clock: &mut Clock) -> Result<Option<Box<[u8]>>, Error> {
        let mut last = None;
        while let Some(victim) = self.cache.victim() {
            self.write_back(clock, victim)?;
            last = self.cache.remove(victim);
            self.counts.evicted += 1;
        }
        Ok(last)
    }

    /// Makes room for a page, and returns one of zeros.
    fn blank_page(&mut self, clock: &mut Clock) -> Result<Box<[u8]>, Error> {
        let Some(mut page) = self.make_room(clock)? else { return Ok([0; PAGE_SIZE].into()) };
        page.fill(0);
        Ok(page)
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

    /// Truncates or extends a file.
    pub(super) fn resize(&mut self, clock: &mut Clock, ino: Ino, size: u64) -> Result<(), Error> {
        match self.kind(clock, ino)? {
            Kind::File => {}
            Kind::Directory => return Err(Errno::IsDir.into()),
            _ => return Err(Errno::Inval.into()),
        }
        if size > self.fs.size_max() {
            return Err(Errno::FBig.into());
        }
        let shrinks = self.inodes.get(&ino).is_some_and(|inode| size < inode.size);
        let first = if shrinks && self.fs.caching() == Caching::WriteBack {
            self.ask(clock, |fs, clock| fs.begin_truncation(clock, ino, size))?
        } else {
            Truncation::FlashFirst
        };
        if first == Truncation::CacheFirst {
            self.truncate_cache_first(clock, ino, size)?;
        }
        let change = SetAttr { size: Some(size), ..SetAttr::default() };
        self.ask(clock, |fs, clock| fs.setattr(clock, ino, &change))?;
        if first == Truncation::FlashFirst {
            self.set_size(ino, size);
        }
        Ok(())
    }

    /// Truncates the cached file, and writes the page in which it then ends if that is dirty.
    fn truncate_cache_first(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        size: u64,
    ) -> Result<(), Error> {
        let last = (ino, size / PAGE);
        let tail = usize::try_from(size % PAGE).expect("less than a page");
        let dirty = tail > 0 && self.cache.dirty_range(last).is_some();
        if dirty {
            // It is written even when all its dirty bytes are cut off.
            self.cache.mark_dirty(last, 0..tail, clock.now());
        }
        self.set_size(ino, size);
        if dirty { self.write_dirty_page(clock, last) } else { Ok(()) }
    }

    fn set_size(&mut self, ino: Ino, size: u64) {
        self.truncate_cache(ino, size);
        self.invalidate_attributes(ino);
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.size = size;
        }
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
