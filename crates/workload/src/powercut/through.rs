//! A filesystem with write-back, driven without a page cache.
//!
//! Layer: rank 6. Main type: [`WriteThrough`]. The actions of a power cut call the filesystem directly,
//! page by page. A filesystem that reserves flash for dirty pages (`Caching::WriteBack`) expects a cache
//! above it that keeps them; here each page is written in the call that changes it, so that a cut can
//! lose nothing that only a cache had.

use boardlab_sim::Clock;
use boardlab_vfs::{
    Attributes, Caching, Contradiction, Entry, Error, FileSystem, Ino, NewInode, PAGE_SIZE,
    PageWrite, SetAttr, StatFs,
};
use std::ops::Range;

/// Bytes of a page.
const PAGE_BYTES: u64 = 4_096;

/// A filesystem with write-back without a page cache above it: every page is reserved and written at
/// once, and inodes are written when they are made durable.
#[derive(Debug)]
pub struct WriteThrough<F> {
    fs: F,
    dirty: Vec<Ino>,
}

impl<F: FileSystem> WriteThrough<F> {
    /// `fs`, of which nothing is dirty.
    #[must_use]
    pub const fn new(fs: F) -> Self {
        Self { fs, dirty: Vec::new() }
    }

    /// Calls the filesystem until it needs no write-back: no page is dirty.
    fn ask<T>(
        &mut self,
        clock: &mut Clock,
        mut call: impl FnMut(&mut F, &mut Clock) -> Result<T, Error>,
    ) -> Result<T, Error> {
        loop {
            let answer = call(&mut self.fs, clock);
            self.dirty.extend(self.fs.take_dirtied());
            match answer {
                Err(Error::NeedsWriteBack { .. }) => self.write_inodes(clock)?,
                answer => return answer,
            }
        }
    }

    fn write_inodes(&mut self, clock: &mut Clock) -> Result<(), Error> {
        for ino in std::mem::take(&mut self.dirty) {
            self.fs.write_inode(clock, ino)?;
        }
        Ok(())
    }
}

impl<F: FileSystem> FileSystem for WriteThrough<F> {
    fn caching(&self) -> Caching {
        Caching::WriteThrough
    }

    fn root(&self) -> Ino {
        self.fs.root()
    }

    fn lookup(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<Ino, Error> {
        self.ask(clock, |fs, clock| fs.lookup(clock, dir, name))
    }

    fn getattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        self.ask(clock, |fs, clock| fs.getattr(clock, ino))
    }

    fn setattr(&mut self, clock: &mut Clock, ino: Ino, change: &SetAttr) -> Result<(), Error> {
        let size = self.fs.getattr(clock, ino)?.size;
        if let Some(shorter) = change.size.filter(|&new| new < size) {
            self.ask(clock, |fs, clock| fs.begin_truncation(clock, ino, shorter))?;
        }
        self.ask(clock, |fs, clock| fs.setattr(clock, ino, change))
    }

    fn create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Result<Ino, Error> {
        self.ask(clock, |fs, clock| fs.create(clock, dir, name, new))
    }

    fn link(&mut self, clock: &mut Clock, ino: Ino, dir: Ino, name: &[u8]) -> Result<(), Error> {
        self.ask(clock, |fs, clock| fs.link(clock, ino, dir, name))
    }

    fn unlink(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        self.ask(clock, |fs, clock| fs.unlink(clock, dir, name))
    }

    fn rmdir(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        self.ask(clock, |fs, clock| fs.rmdir(clock, dir, name))
    }

    fn rename(
        &mut self,
        clock: &mut Clock,
        old_dir: Ino,
        old_name: &[u8],
        new_dir: Ino,
        new_name: &[u8],
    ) -> Result<(), Error> {
        self.ask(clock, |fs, clock| fs.rename(clock, old_dir, old_name, new_dir, new_name))
    }

    fn readdir(&mut self, clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error> {
        self.ask(clock, |fs, clock| fs.readdir(clock, dir))
    }

    fn readlink(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<u8>, Error> {
        self.ask(clock, |fs, clock| fs.readlink(clock, ino))
    }

    fn read_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        self.fs.read_page(clock, ino, page, buffer)
    }

    fn write_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        content: &[u8],
        changed: Range<usize>,
    ) -> Result<(), Error> {
        let before = self.fs.getattr(clock, ino)?.size;
        let end = page * PAGE_BYTES + u64::try_from(changed.end).expect("a length fits u64");
        let write = PageWrite {
            page,
            size_before: before,
            size_after: before.max(end),
            uptodate: true,
            dirty: false,
            whole: changed == (0..PAGE_SIZE),
        };
        self.ask(clock, |fs, clock| fs.begin_write(clock, ino))?;
        let mut old = vec![0; PAGE_SIZE];
        self.fs.read_page_to_change(clock, ino, page, &mut old)?;
        self.ask(clock, |fs, clock| fs.reserve_page(clock, ino, &write))?;
        self.fs.page_dirtied(clock, ino, &write);
        self.ask(clock, |fs, clock| fs.write_page(clock, ino, page, content, changed.clone()))
    }

    fn getxattr(&mut self, clock: &mut Clock, ino: Ino, name: &[u8]) -> Result<Vec<u8>, Error> {
        self.ask(clock, |fs, clock| fs.getxattr(clock, ino, name))
    }

    fn setxattr(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        self.ask(clock, |fs, clock| fs.setxattr(clock, ino, name, value))
    }

    fn listxattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<Vec<u8>>, Error> {
        self.ask(clock, |fs, clock| fs.listxattr(clock, ino))
    }

    fn fsync(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        self.fs.write_inode(clock, ino)?;
        self.ask(clock, |fs, clock| fs.fsync(clock, ino))
    }

    fn sync(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.write_inodes(clock)?;
        self.ask(clock, FileSystem::sync)
    }

    fn evict_inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        self.dirty.retain(|&other| other != ino);
        self.ask(clock, |fs, clock| fs.evict_inode(clock, ino))
    }

    fn background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        self.ask(clock, FileSystem::background)
    }

    fn statfs(&mut self, clock: &mut Clock) -> Result<StatFs, Error> {
        self.ask(clock, FileSystem::statfs)
    }

    fn unmount(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.write_inodes(clock)?;
        self.ask(clock, FileSystem::unmount)
    }

    fn check_tables(&self) -> Result<(), Contradiction> {
        self.fs.check_tables()
    }
}
