//! LogFS as a [`FileSystem`]: the only file that knows that trait.
//!
//! Layer: rank 5. Every method is one call of a lower module. Source: Linux 3.12, `fs/logfs/dir.c`, `file.c`,
//! `inode.c`.

use crate::file::SIZE_MAX;
use crate::format::{BLOCK, ROOT, dentry};
use crate::{Error, Logfs};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{
    Attributes, Caching, Contradiction, Entry, Errno, FileSystem, Ino, NewInode, PageWrite,
    SetAttr, StatFs,
};
use std::ops::Range;

type Outcome<T> = Result<T, boardlab_vfs::Error>;

impl<M: Mtd> Logfs<M> {
    /// Free and used space (`logfs_statfs`).
    fn do_statfs(&self) -> StatFs {
        let block = BLOCK as u64;
        let free = u64::try_from(self.space.free).unwrap_or_default() / block;
        StatFs {
            block_size: u32::try_from(BLOCK).expect("4,096"),
            blocks: self.superblock.size / block,
            free,
            available: free,
            name_max: u32::try_from(dentry::NAME_MAX).expect("255"),
        }
    }

    /// Writes what is left of inodes, and commits.
    fn do_unmount(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if self.options.read_only || self.failed {
            return Ok(());
        }
        let dirty: Vec<u64> =
            self.inodes.iter().filter(|(_, inode)| inode.dirty).map(|(&ino, _)| ino).collect();
        for ino in dirty {
            self.do_write_inode(clock, ino)?;
        }
        self.delete_orphans(clock)?;
        self.collect(clock)?;
        self.commit(clock)
    }

    fn do_sync(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if self.options.read_only {
            return Ok(());
        }
        self.collect(clock)?;
        self.commit(clock)
    }

    /// Drops what can be read again.
    fn do_shrink(&mut self) {
        let idle: Vec<u64> = self
            .inodes
            .iter()
            .filter(|(_, inode)| !inode.held && !inode.dirty && inode.disk.links > 0)
            .map(|(&ino, _)| ino)
            .collect();
        for ino in idle {
            self.drop_inode(ino);
        }
        self.nodes.trim(0, &self.aliases);
        self.media.shrink();
    }
}

impl<M: Mtd> FileSystem for Logfs<M> {
    fn caching(&self) -> Caching {
        Caching::WriteBack
    }

    fn size_max(&self) -> u64 {
        SIZE_MAX
    }

    fn writes_inodes_on_fsync(&self) -> bool {
        !self.options.faithful
    }

    fn root(&self) -> Ino {
        Ino(ROOT)
    }

    fn lookup(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Outcome<Ino> {
        Ok(Ino(self.do_lookup(clock, Self::number(dir)?, name)?))
    }

    fn getattr(&mut self, clock: &mut Clock, ino: Ino) -> Outcome<Attributes> {
        Ok(self.do_getattr(clock, Self::number(ino)?)?)
    }

    fn setattr(&mut self, clock: &mut Clock, ino: Ino, change: &SetAttr) -> Outcome<()> {
        Ok(self.do_setattr(clock, Self::number(ino)?, change)?)
    }

    fn create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Outcome<Ino> {
        Ok(Ino(self.do_create(clock, Self::number(dir)?, name, new)?))
    }

    fn link(&mut self, clock: &mut Clock, ino: Ino, dir: Ino, name: &[u8]) -> Outcome<()> {
        Ok(self.do_link(clock, Self::number(ino)?, Self::number(dir)?, name)?)
    }

    fn unlink(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Outcome<()> {
        Ok(self.do_unlink(clock, Self::number(dir)?, name, false)?)
    }

    fn rmdir(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Outcome<()> {
        Ok(self.do_unlink(clock, Self::number(dir)?, name, true)?)
    }

    fn rename(
        &mut self,
        clock: &mut Clock,
        old_dir: Ino,
        old_name: &[u8],
        new_dir: Ino,
        new_name: &[u8],
    ) -> Outcome<()> {
        let old = (Self::number(old_dir)?, old_name);
        let new = (Self::number(new_dir)?, new_name);
        Ok(self.do_rename(clock, old, new)?)
    }

    fn readdir(&mut self, clock: &mut Clock, dir: Ino) -> Outcome<Vec<Entry>> {
        Ok(self.do_readdir(clock, Self::number(dir)?)?)
    }

    fn readlink(&mut self, clock: &mut Clock, ino: Ino) -> Outcome<Vec<u8>> {
        Ok(self.do_readlink(clock, Self::number(ino)?)?)
    }

    fn read_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Outcome<()> {
        Ok(self.do_read_page(clock, Self::number(ino)?, page, buffer)?)
    }

    fn next_data(&mut self, clock: &mut Clock, ino: Ino, page: u64) -> Outcome<Option<u64>> {
        Ok(self.do_next_data(clock, Self::number(ino)?, page)?)
    }

    fn write_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        content: &[u8],
        _changed: Range<usize>,
    ) -> Outcome<()> {
        Ok(self.do_write_page(clock, Self::number(ino)?, page, content)?)
    }

    fn begin_write(&mut self, clock: &mut Clock, ino: Ino) -> Outcome<()> {
        self.check_writable()?;
        Ok(self.do_begin_write(clock, Self::number(ino)?)?)
    }

    fn reserve_page(&mut self, clock: &mut Clock, ino: Ino, write: &PageWrite) -> Outcome<()> {
        self.check_writable()?;
        Ok(self.do_reserve_page(clock, Self::number(ino)?, write)?)
    }

    fn page_dirtied(&mut self, _clock: &mut Clock, ino: Ino, write: &PageWrite) {
        self.do_page_dirtied(ino.0, write);
    }

    fn release_page(&mut self, ino: Ino, page: u64) {
        self.space.release(ino.0, page);
    }

    fn write_inode(&mut self, clock: &mut Clock, ino: Ino) -> Outcome<()> {
        Ok(self.do_write_inode(clock, Self::number(ino)?)?)
    }

    fn shrink(&mut self, _clock: &Clock) {
        self.do_shrink();
    }

    fn take_dirtied(&mut self) -> Vec<Ino> {
        std::mem::take(&mut self.dirtied)
    }

    fn getxattr(&mut self, _: &mut Clock, _: Ino, _: &[u8]) -> Outcome<Vec<u8>> {
        Err(Errno::OpNotSupp.into())
    }

    fn setxattr(&mut self, _: &mut Clock, _: Ino, _: &[u8], _: Option<&[u8]>) -> Outcome<()> {
        Err(Errno::OpNotSupp.into())
    }

    fn listxattr(&mut self, _: &mut Clock, _: Ino) -> Outcome<Vec<Vec<u8>>> {
        Ok(Vec::new())
    }

    fn fsync(&mut self, clock: &mut Clock, _ino: Ino) -> Outcome<()> {
        Ok(self.do_sync(clock)?)
    }

    fn sync(&mut self, clock: &mut Clock) -> Outcome<()> {
        Ok(self.do_sync(clock)?)
    }

    fn evict_inode(&mut self, clock: &mut Clock, ino: Ino) -> Outcome<()> {
        Ok(self.do_evict(clock, Self::number(ino)?)?)
    }

    /// LogFS has no thread of its own: what collections left to do is done before the next operation, or here.
    fn background(&mut self, clock: &mut Clock) -> Outcome<bool> {
        if !self.options.read_only && !self.failed {
            self.delete_orphans(clock)?;
        }
        Ok(false)
    }

    fn statfs(&mut self, _clock: &mut Clock) -> Outcome<StatFs> {
        Ok(self.do_statfs())
    }

    fn unmount(&mut self, clock: &mut Clock) -> Outcome<()> {
        Ok(self.do_unmount(clock)?)
    }

    fn check_tables(&self) -> Result<(), Contradiction> {
        self.compare_tables()
    }
}
