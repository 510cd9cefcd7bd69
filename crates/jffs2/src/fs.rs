//! JFFS2 as a [`FileSystem`]: the only file that knows that trait.
//!
//! Layer: rank 5. Every method is one call of a lower module. Source: Linux 6.1, `fs/jffs2/dir.c`,
//! `file.c`, `super.c`.

use crate::Jffs2;
use crate::index::ROOT;
use crate::open::number;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{
    Attributes, Caching, Contradiction, Entry, Error, FileExtent, FileSystem, Ino, NewInode,
    SetAttr, StatFs,
};
use std::ops::{ControlFlow, Range};

impl<M: Mtd> FileSystem for Jffs2<M> {
    fn caching(&self) -> Caching {
        Caching::WriteThrough
    }

    fn reads_pages_to_overwrite(&self) -> bool {
        self.volume.profile.reads_pages_to_overwrite
    }

    /// Nodes have sizes of 32 bits (`s_maxbytes`).
    fn size_max(&self) -> u64 {
        u32::MAX.into()
    }

    fn root(&self) -> Ino {
        Ino(u64::from(ROOT))
    }

    fn lookup(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<Ino, Error> {
        Ok(Ino(u64::from(self.do_lookup(clock, dir, name)?)))
    }

    fn getattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        Ok(self.do_getattr(clock, ino)?)
    }

    fn setattr(&mut self, clock: &mut Clock, ino: Ino, change: &SetAttr) -> Result<(), Error> {
        Ok(self.do_setattr(clock, number(ino)?, change)?)
    }

    fn create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Result<Ino, Error> {
        Ok(Ino(u64::from(self.do_create(clock, dir, name, new)?)))
    }

    fn link(&mut self, clock: &mut Clock, ino: Ino, dir: Ino, name: &[u8]) -> Result<(), Error> {
        Ok(self.do_link(clock, ino, dir, name)?)
    }

    fn unlink(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        Ok(self.do_unlink(clock, dir, name, false)?)
    }

    fn rmdir(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        Ok(self.do_unlink(clock, dir, name, true)?)
    }

    fn rename(
        &mut self,
        clock: &mut Clock,
        old_dir: Ino,
        old_name: &[u8],
        new_dir: Ino,
        new_name: &[u8],
    ) -> Result<(), Error> {
        Ok(self.do_rename(clock, old_dir, old_name, new_dir, new_name)?)
    }

    fn readdir(&mut self, clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error> {
        Ok(self.do_readdir(clock, dir)?)
    }

    fn unreachable_entries(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
    ) -> Result<Vec<(Entry, Option<&'static str>)>, Error> {
        Ok(self.do_unreachable_entries(clock, dir)?)
    }

    fn readlink(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<u8>, Error> {
        Ok(self.do_readlink(clock, ino)?)
    }

    fn read_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        Ok(self.do_read_page(clock, ino, page, buffer)?)
    }

    fn read_extents(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        take: &mut dyn FnMut(FileExtent<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        Ok(self.do_read_extents(clock, ino, take)?)
    }

    fn write_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        content: &[u8],
        changed: Range<usize>,
    ) -> Result<(), Error> {
        Ok(self.do_write_page(clock, number(ino)?, page, content, changed)?)
    }

    fn getxattr(&mut self, clock: &mut Clock, ino: Ino, name: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.do_getxattr(clock, ino, name)?)
    }

    fn setxattr(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        Ok(self.do_setxattr(clock, number(ino)?, name, value)?)
    }

    fn listxattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<Vec<u8>>, Error> {
        Ok(self.do_listxattr(clock, ino)?)
    }

    fn fsync(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        self.flush_wbuf_gc(clock, Some(number(ino)?))?;
        Ok(self.take_write_error()?)
    }

    fn sync(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.flush_wbuf_pad(clock)?;
        Ok(self.take_write_error()?)
    }

    fn evict_inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        Ok(self.do_evict_inode(clock, number(ino)?)?)
    }

    fn background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        Ok(self.do_background(clock)?)
    }

    fn shrink(&mut self, _: &Clock) {
        self.close_unused();
    }

    fn statfs(&mut self, _: &mut Clock) -> Result<StatFs, Error> {
        Ok(self.do_statfs())
    }

    fn unmount(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let open: Vec<u32> = self.open.keys().copied().collect();
        for ino in open {
            self.do_evict_inode(clock, ino)?;
        }
        self.sync(clock)
    }

    fn check_tables(&self) -> Result<(), Contradiction> {
        self.compare_tables()
    }
}
