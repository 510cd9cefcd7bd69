//! A filesystem with write-back, driven without a page cache.
//!
//! Layer: rank 6. Main type: [`WriteThrough`]. The actions of a power cut call the filesystem directly,
//! page by page. A filesystem that reserves flash for dirty pages (`Caching::WriteBack`) expects a cache
//! above it that keeps them; here each page is written in the call that changes it, so that a cut can
//! lose nothing that only a cache had.

use boardlab_sim::Clock;
use boardlab_vfs::{Caching, Error, FileSystem, Ino, PAGE_SIZE, PageWrite, SetAttr, pass_on};
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

/// The call goes to the filesystem until it needs no write-back.
macro_rules! asked {
    ($this:ident, $call:ident($clock:ident $(, $argument:expr)*)) => {
        $this.ask($clock, |fs, clock| fs.$call(clock $(, $argument)*))
    };
}

/// The call goes to the filesystem once.
macro_rules! inner {
    ($this:ident, $call:ident($($argument:expr),*)) => { $this.fs.$call($($argument),*) };
}

impl<F: FileSystem> FileSystem for WriteThrough<F> {
    fn caching(&self) -> Caching {
        Caching::WriteThrough
    }

    fn setattr(&mut self, clock: &mut Clock, ino: Ino, change: &SetAttr) -> Result<(), Error> {
        let size = self.fs.getattr(clock, ino)?.size;
        if let Some(shorter) = change.size.filter(|&new| new < size) {
            self.ask(clock, |fs, clock| fs.begin_truncation(clock, ino, shorter))?;
        }
        self.ask(clock, |fs, clock| fs.setattr(clock, ino, change))
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

    fn fsync(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        if self.fs.writes_inodes_on_fsync() {
            self.fs.write_inode(clock, ino)?;
        }
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

    fn unmount(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.write_inodes(clock)?;
        self.ask(clock, FileSystem::unmount)
    }

    pass_on! { asked:
        lookup getattr create link unlink rmdir rename readdir readlink getxattr setxattr
        listxattr background statfs
    }

    pass_on! { inner:
        root read_page check_tables
    }
}
