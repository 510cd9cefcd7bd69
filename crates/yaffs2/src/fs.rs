//! YAFFS as a [`FileSystem`]: the only file that knows that trait.
//!
//! Layer: rank 5. Every method is one call of a lower module. Source: `linux/yaffs_vfs_multi.c`.

use crate::Yaffs;
use crate::file::size_max;
use crate::format::{ROOT, xattr};
use crate::options::Version;
use crate::update::HeaderChange;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{
    Attributes, Caching, Contradiction, Entry, Errno, Error, FileSystem, Ino, NewInode, PAGE_SIZE,
    SetAttr, StatFs,
};
use std::ops::Range;

/// The offset of a page in its file.
fn start_of(page: u64) -> u64 {
    page * u64::try_from(PAGE_SIZE).expect("4,096")
}

impl<M: Mtd> FileSystem for Yaffs<M> {
    fn caching(&self) -> Caching {
        Caching::WriteThrough
    }

    fn reads_pages_to_overwrite(&self) -> bool {
        self.options.version == Version::Y2026
    }

    fn size_max(&self) -> u64 {
        size_max(self.layout.chunk)
    }

    fn root(&self) -> Ino {
        Ino(u64::from(ROOT))
    }

    fn lookup(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<Ino, Error> {
        Ok(self.do_lookup(clock, dir, name)?)
    }

    fn getattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        Ok(self.do_getattr(clock, ino)?)
    }

    fn setattr(&mut self, clock: &mut Clock, ino: Ino, change: &SetAttr) -> Result<(), Error> {
        self.check_writable()?;
        Ok(self.do_setattr(clock, ino, change)?)
    }

    fn create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Result<Ino, Error> {
        self.check_writable()?;
        Ok(self.do_create(clock, dir, name, new)?)
    }

    fn link(&mut self, clock: &mut Clock, ino: Ino, dir: Ino, name: &[u8]) -> Result<(), Error> {
        self.check_writable()?;
        Ok(self.do_link(clock, ino, dir, name)?)
    }

    fn unlink(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        self.check_writable()?;
        Ok(self.do_unlink(clock, dir, name, false)?)
    }

    fn rmdir(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        self.check_writable()?;
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
        self.check_writable()?;
        Ok(self.do_rename(clock, (old_dir, old_name), (new_dir, new_name))?)
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
        let slot = self.file_of(ino)?;
        Ok(self.read_file(clock, slot, start_of(page), buffer)?)
    }

    fn next_data(&mut self, _clock: &mut Clock, ino: Ino, page: u64) -> Result<Option<u64>, Error> {
        let slot = self.file_of(ino)?;
        Ok(self.next_page_of(slot, page))
    }

    fn write_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        content: &[u8],
        changed: Range<usize>,
    ) -> Result<(), Error> {
        self.check_writable()?;
        let offset = start_of(page) + u64::try_from(changed.start).expect("within a page");
        Ok(self.do_write(clock, ino, offset, &content[changed])?)
    }

    fn closed(&mut self, clock: &mut Clock, ino: Ino) -> Result<bool, Error> {
        Ok(self.do_closed(clock, ino)?)
    }

    fn getxattr(&mut self, clock: &mut Clock, ino: Ino, name: &[u8]) -> Result<Vec<u8>, Error> {
        let slot = self.slot_of(ino)?;
        let area = self.xattr_area(clock, slot)?.unwrap_or_default();
        let value = xattr::get(&area, self.options.byte_order, name);
        value.map(<[u8]>::to_vec).ok_or_else(|| Errno::NoData.into())
    }

    fn setxattr(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        self.check_writable()?;
        let slot = self.slot_of(ino)?;
        self.changed = true;
        let change = HeaderChange { xattr: Some((name, value)), ..HeaderChange::default() };
        Ok(self.write_header(clock, slot, &change)?.check()?)
    }

    fn listxattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<Vec<u8>>, Error> {
        let slot = self.slot_of(ino)?;
        let area = self.xattr_area(clock, slot)?.unwrap_or_default();
        let names = xattr::list(&area, self.options.byte_order);
        Ok(names.into_iter().map(<[u8]>::to_vec).collect())
    }

    fn fsync(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        if self.options.read_only {
            return Ok(());
        }
        let slot = self.slot_of(ino)?;
        Ok(self.flush_file(clock, slot, true, false)?.check()?)
    }

    fn sync(&mut self, clock: &mut Clock) -> Result<(), Error> {
        Ok(self.do_sync(clock)?)
    }

    fn evict_inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        Ok(self.do_evict(clock, ino)?)
    }

    fn background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        Ok(self.do_background(clock)?)
    }

    fn statfs(&mut self, _: &mut Clock) -> Result<StatFs, Error> {
        Ok(self.do_statfs())
    }

    fn unmount(&mut self, clock: &mut Clock) -> Result<(), Error> {
        Ok(self.do_unmount(clock)?)
    }

    fn check_tables(&self) -> Result<(), Contradiction> {
        self.compare_tables()
    }
}
