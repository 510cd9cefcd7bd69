//! The content of files, their attributes, and space for what is dirty in memory.
//!
//! Layer: rank 5. The cache above keeps dirty pages, each of which reserves as much as it could need; what
//! is written takes a block of 4 KiB, whole. Source: Linux 3.12, `fs/logfs/file.c`; `get_page_reserve` in
//! `readwrite.c`.

use crate::Logfs;
use crate::error::Error;
use crate::format::inode::WORD_SIZE;
use crate::format::object::MAX;
use crate::format::{BLOCK, BLOCK_SHIFT, BlockId, DIRECT, span};
use crate::tree::Target;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{Errno, PageWrite, SetAttr};

/// The size limit of a file: three levels of indirect blocks. The kernel lets a file grow to 8 TiB and stops
/// when a page beyond these 512 GiB is written.
pub(crate) const SIZE_MAX: u64 = span(3) << BLOCK_SHIFT;
/// Objects that a dirty page reserves space for.
const RESERVED: u32 = 6;

impl<M: Mtd> Logfs<M> {
    /// Refuses a change in a read-only mount.
    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        if self.options.read_only || self.failed { Err(Errno::RoFs.into()) } else { Ok(()) }
    }

    /// The first page from `page` on that has data; `None` behind the last.
    pub(crate) fn do_next_data(
        &mut self,
        clock: &mut Clock,
        ino: u64,
        page: u64,
    ) -> Result<Option<u64>, Error> {
        let size = self.get(clock, ino)?.disk.size;
        let next = self.seek_data(clock, ino, page)?;
        self.trim();
        Ok((next < size.div_ceil(1 << BLOCK_SHIFT)).then_some(next))
    }

    /// Reads a block of a file, or of a link.
    pub(crate) fn do_read_page(
        &mut self,
        clock: &mut Clock,
        ino: u64,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let inode = self.get(clock, ino)?;
        if inode.is_directory() {
            return Err(Errno::IsDir.into());
        }
        if !inode.has_content() {
            return Err(Errno::Inval.into());
        }
        let size = inode.disk.size;
        match self.find(clock, BlockId::data(ino, page))? {
            Some(at) => self.read_object(clock, BlockId::data(ino, page), at, buffer)?,
            None => buffer.fill(0),
        }
        let kept = usize::try_from(size.saturating_sub(page << BLOCK_SHIFT)).unwrap_or(usize::MAX);
        if kept < buffer.len() {
            buffer[kept..].fill(0);
        }
        self.trim();
        Ok(())
    }

    /// The times of a file that is about to be written (`file_update_time`).
    pub(crate) fn do_begin_write(&mut self, clock: &mut Clock, ino: u64) -> Result<(), Error> {
        let now = self.now(clock);
        let inode = self.get(clock, ino)?;
        if !inode.is_file() {
            return Err(if inode.is_directory() { Errno::IsDir } else { Errno::Inval }.into());
        }
        if (inode.disk.modified, inode.disk.changed) != (now, now) {
            (inode.disk.modified, inode.disk.changed) = (now, now);
            self.mark_dirty(ino);
        }
        Ok(())
    }

    /// Reserves space for a page that becomes dirty. The kernel writes the page at once when there is not
    /// enough, which takes less.
    pub(crate) fn do_reserve_page(
        &mut self,
        clock: &mut Clock,
        ino: u64,
        write: &PageWrite,
    ) -> Result<(), Error> {
        if self.space.pages.contains_key(&(ino, write.page)) {
            return Ok(());
        }
        let size = self.get(clock, ino)?.disk.size;
        self.collect(clock)?;
        if write.size_after > size && write.page << BLOCK_SHIFT > size {
            self.cut_behind(clock, ino)?;
        }
        let bytes = if self.check_objects(RESERVED.into()).is_ok() {
            RESERVED * MAX
        } else if !self.space.pages.is_empty() {
            return Err(Error::NeedsWriteBack { pages: 1 });
        } else {
            let bytes = self.objects_for(clock, ino, write.page)? * MAX;
            self.check_room(u64::from(bytes))?;
            bytes
        };
        self.space.pages.insert((ino, write.page), bytes);
        self.space.reserved += u64::from(bytes);
        self.trim();
        Ok(())
    }

    /// Objects that writing a block and its inode adds at most: itself, and its way when that is not there.
    fn objects_for(&mut self, clock: &mut Clock, ino: u64, page: u64) -> Result<u32, Error> {
        if self.find(clock, BlockId::data(ino, page))?.is_some() {
            return Ok(1);
        }
        if page < DIRECT as u64 {
            return Ok(2);
        }
        let height = self.inode(ino)?.disk.height;
        let mut needed = 1;
        while page >= span(needed) {
            needed += 1;
        }
        Ok(2 + u32::from(needed.max(height)) + u32::from(needed.saturating_sub(height)))
    }

    /// The size of a file whose page became dirty (`logfs_write_end`).
    pub(crate) fn do_page_dirtied(&mut self, ino: u64, write: &PageWrite) {
        let grown = self.inodes.get_mut(&ino).is_some_and(|inode| {
            let grows = inode.disk.size < write.size_after;
            inode.disk.size = inode.disk.size.max(write.size_after);
            inode.grown |= grows;
            grows
        });
        if grown {
            self.mark_dirty(ino);
        }
    }

    /// Writes a page of a file (`logfs_writepage`).
    pub(crate) fn do_write_page(
        &mut self,
        clock: &mut Clock,
        ino: u64,
        page: u64,
        content: &[u8],
    ) -> Result<(), Error> {
        self.check_writable()?;
        let size = self.get(clock, ino)?.disk.size;
        let start = page << BLOCK_SHIFT;
        if start >= size {
            self.space.release(ino, page);
            return Ok(());
        }
        self.collect(clock)?;
        self.space.release(ino, page);
        let mut data = [0; BLOCK];
        let length = usize::try_from(size - start).unwrap_or(BLOCK).min(BLOCK).min(content.len());
        data[..length].copy_from_slice(&content[..length]);
        let id = BlockId::data(ino, page);
        let written = self.change(clock, Target { id, data: Some(&data) }, true);
        // The kernel commits bytes behind the end of a file when a block of the same length replaces one.
        let inode = self.inode_mut(ino)?;
        if std::mem::take(&mut inode.grown) && !self.options.faithful {
            self.note_inode_word(ino, WORD_SIZE);
        }
        self.trim();
        written
    }

    /// Changes attributes (`logfs_setattr`).
    pub(crate) fn do_setattr(
        &mut self,
        clock: &mut Clock,
        ino: u64,
        change: &SetAttr,
    ) -> Result<(), Error> {
        self.check_writable()?;
        let inode = self.hold(clock, ino)?;
        if let Some(size) = change.size {
            if !inode.is_file() {
                return Err(if inode.is_directory() { Errno::IsDir } else { Errno::Inval }.into());
            }
            if size > SIZE_MAX {
                return Err(Errno::FBig.into());
            }
            self.resize(clock, ino, size)?;
        }
        let now = self.now(clock);
        let disk = &mut self.inode_mut(ino)?.disk;
        if let Some(mode) = change.mode {
            disk.mode = disk.mode & 0o170_000 | u16::try_from(mode & 0o7777).expect("12 bits");
        }
        disk.uid = change.uid.unwrap_or(disk.uid);
        disk.gid = change.gid.unwrap_or(disk.gid);
        disk.accessed = change.accessed.map_or(disk.accessed, crate::inode::nanoseconds);
        disk.modified = change.modified.map_or(disk.modified, crate::inode::nanoseconds);
        disk.changed = now;
        if change.size.is_some() && change.modified.is_none() {
            disk.modified = now;
        }
        self.mark_dirty(ino);
        Ok(())
    }

    fn resize(&mut self, clock: &mut Clock, ino: u64, size: u64) -> Result<(), Error> {
        let old = self.inode(ino)?.disk.size;
        if size < old || self.options.faithful {
            return self.truncate(clock, ino, size);
        }
        if size > old {
            self.cut_behind(clock, ino)?;
            let inode = self.inode_mut(ino)?;
            inode.disk.size = size;
            inode.grown = true;
        }
        Ok(())
    }
}
