//! UBIFS as a [`FileSystem`]: the only file that knows that trait.
//!
//! Layer: rank 5. Every method is one call of a lower module. Source: Linux 6.1, `fs/ubifs/dir.c`,
//! `file.c`, `xattr.c`, `super.c`.

use crate::format::{BLOCK_SIZE, ROOT_INO, dirent};
use crate::inode::SIZE_MAX;
use crate::{Error, Lebs, Ubifs, Volume};
use boardlab_sim::Clock;
use boardlab_vfs::{
    Attributes, Caching, Contradiction, Entry, Errno, FileSystem, Ino, Kind, NewInode, PageWrite,
    SetAttr, StatFs, Timestamp, Truncation,
};
use std::ops::Range;

/// The most nanoseconds of a time.
const NANOS_MAX: u32 = 999_999_999;

type Outcome<T> = Result<T, boardlab_vfs::Error>;

impl<L: Lebs> Volume<L> {
    fn do_getattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        let number = Self::number(ino)?;
        let inode = match self.iget(clock, number) {
            Err(Error::Refused(Errno::NoEnt)) => return Err(Errno::Stale.into()),
            inode => inode?,
        };
        // An image may hold any number here.
        let time = |time: Timestamp| Timestamp { nanos: time.nanos.min(NANOS_MAX), ..time };
        Ok(Attributes {
            ino,
            kind: inode.kind().ok_or(Errno::Io)?,
            mode: inode.mode & 0o7777,
            links: inode.nlink,
            uid: inode.uid,
            gid: inode.gid,
            size: inode.ui_size,
            accessed: time(inode.accessed),
            modified: time(inode.modified),
            changed: time(inode.changed),
        })
    }

    fn do_readlink(&mut self, clock: &mut Clock, ino: u32) -> Result<Vec<u8>, Error> {
        let inode = self.iget(clock, ino)?;
        if inode.kind() == Some(Kind::Symlink) {
            Ok(inode.data.clone())
        } else {
            Err(Errno::Inval.into())
        }
    }

    /// Free and used space (`ubifs_statfs`).
    fn do_statfs(&mut self) -> StatFs {
        let free = self.free_space().unsigned_abs();
        let block = u64::try_from(BLOCK_SIZE).expect("4,096");
        let available = free.saturating_sub(self.layout.report_rp_size);
        StatFs {
            block_size: u32::try_from(BLOCK_SIZE).expect("4,096"),
            blocks: self.layout.block_count,
            free: free / block,
            available: available / block,
            name_max: u32::try_from(dirent::NAME_MAX).expect("255"),
        }
    }
}

/// The number of an inode in an operation that changes the filesystem.
///
/// In a forged image the inode of a name can become that of an attribute, whose value is written at once and
/// budgeted as no file is.
fn writable<L: Lebs>(volume: &mut Volume<L>, clock: &mut Clock, ino: Ino) -> Result<u32, Error> {
    volume.commit_if_requested(clock)?;
    volume.check_writable()?;
    let ino = Volume::<L>::number(ino)?;
    if volume.iget(clock, ino)?.xattr { Err(Error::of_inode(ino)) } else { Ok(ino) }
}

impl<L: Lebs> FileSystem for Ubifs<L> {
    fn caching(&self) -> Caching {
        Caching::WriteBack
    }

    fn size_max(&self) -> u64 {
        SIZE_MAX
    }

    fn root(&self) -> Ino {
        Ino(u64::from(ROOT_INO))
    }

    fn lookup(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Outcome<Ino> {
        let dir = Volume::<L>::number(dir)?;
        Ok(Ino(u64::from(self.volume.do_lookup(clock, dir, name)?)))
    }

    fn getattr(&mut self, clock: &mut Clock, ino: Ino) -> Outcome<Attributes> {
        Ok(self.volume.do_getattr(clock, ino)?)
    }

    fn setattr(&mut self, clock: &mut Clock, ino: Ino, change: &SetAttr) -> Outcome<()> {
        let ino = writable(&mut self.volume, clock, ino)?;
        Ok(self.volume.do_setattr(clock, ino, change)?)
    }

    fn create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Outcome<Ino> {
        let dir = writable(&mut self.volume, clock, dir)?;
        Ok(Ino(u64::from(self.volume.do_create(clock, dir, name, new)?)))
    }

    /// The directory, which is written along, is not known here: it is the root.
    fn tmpfile(&mut self, clock: &mut Clock, new: &NewInode<'_>) -> Outcome<Ino> {
        self.volume.check_writable()?;
        Ok(Ino(u64::from(self.volume.do_tmpfile(clock, ROOT_INO, new)?)))
    }

    fn link(&mut self, clock: &mut Clock, ino: Ino, dir: Ino, name: &[u8]) -> Outcome<()> {
        let (ino, dir) = (writable(&mut self.volume, clock, ino)?, Volume::<L>::number(dir)?);
        Ok(self.volume.do_link(clock, ino, dir, name)?)
    }

    fn unlink(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Outcome<()> {
        let dir = writable(&mut self.volume, clock, dir)?;
        Ok(self.volume.do_unlink(clock, dir, name, false)?)
    }

    fn rmdir(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Outcome<()> {
        let dir = writable(&mut self.volume, clock, dir)?;
        Ok(self.volume.do_unlink(clock, dir, name, true)?)
    }

    fn rename(
        &mut self,
        clock: &mut Clock,
        old_dir: Ino,
        old_name: &[u8],
        new_dir: Ino,
        new_name: &[u8],
    ) -> Outcome<()> {
        let old = (writable(&mut self.volume, clock, old_dir)?, old_name);
        let new = (Volume::<L>::number(new_dir)?, new_name);
        Ok(self.volume.do_rename(clock, old, new)?)
    }

    fn readdir(&mut self, clock: &mut Clock, dir: Ino) -> Outcome<Vec<Entry>> {
        Ok(self.volume.do_readdir(clock, Volume::<L>::number(dir)?)?)
    }

    fn readlink(&mut self, clock: &mut Clock, ino: Ino) -> Outcome<Vec<u8>> {
        Ok(self.volume.do_readlink(clock, Volume::<L>::number(ino)?)?)
    }

    fn read_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Outcome<()> {
        Ok(self.volume.do_read_page(clock, Volume::<L>::number(ino)?, page, buffer)?)
    }

    fn next_data(&mut self, clock: &mut Clock, ino: Ino, page: u64) -> Outcome<Option<u64>> {
        Ok(self.volume.do_next_data(clock, Volume::<L>::number(ino)?, page)?)
    }

    fn read_page_to_change(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Outcome<()> {
        Ok(self.volume.read_one_page(clock, Volume::<L>::number(ino)?, page, buffer)?)
    }

    fn take_read_ahead(&mut self) -> Vec<(u64, Box<[u8]>)> {
        self.volume.pages.take_read_ahead()
    }

    fn write_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        content: &[u8],
        _changed: Range<usize>,
    ) -> Outcome<()> {
        let ino = Volume::<L>::number(ino)?;
        self.volume.commit_if_requested(clock)?;
        self.volume.iget(clock, ino)?;
        Ok(self.volume.do_write_page(clock, ino, page, content)?)
    }

    fn begin_write(&mut self, clock: &mut Clock, ino: Ino) -> Outcome<()> {
        let ino = writable(&mut self.volume, clock, ino)?;
        Ok(self.volume.do_begin_write(clock, ino)?)
    }

    fn reserve_page(&mut self, clock: &mut Clock, ino: Ino, write: &PageWrite) -> Outcome<()> {
        let ino = writable(&mut self.volume, clock, ino)?;
        Ok(self.volume.do_reserve_page(clock, ino, write)?)
    }

    fn page_dirtied(&mut self, _clock: &mut Clock, ino: Ino, write: &PageWrite) {
        if let Ok(ino) = Volume::<L>::number(ino) {
            self.volume.do_page_dirtied(ino, write);
        }
    }

    fn release_page(&mut self, ino: Ino, page: u64) {
        if let Ok(ino) = Volume::<L>::number(ino) {
            self.volume.do_release_page(ino, page);
        }
    }

    fn begin_truncation(&mut self, clock: &mut Clock, ino: Ino, size: u64) -> Outcome<Truncation> {
        let ino = writable(&mut self.volume, clock, ino)?;
        self.volume.do_begin_truncation(clock, ino, size)?;
        Ok(Truncation::CacheFirst)
    }

    fn write_inode(&mut self, clock: &mut Clock, ino: Ino) -> Outcome<()> {
        self.volume.commit_if_requested(clock)?;
        Ok(self.volume.write_inode(clock, Volume::<L>::number(ino)?)?)
    }

    fn shrink(&mut self, clock: &Clock) {
        self.shrink_index(clock, u64::MAX);
    }

    fn take_dirtied(&mut self) -> Vec<Ino> {
        std::mem::take(&mut self.volume.dirtied)
    }

    fn getxattr(&mut self, clock: &mut Clock, ino: Ino, name: &[u8]) -> Outcome<Vec<u8>> {
        Ok(self.volume.do_getxattr(clock, Volume::<L>::number(ino)?, name)?)
    }

    fn setxattr(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Outcome<()> {
        let ino = writable(&mut self.volume, clock, ino)?;
        Ok(self.volume.do_setxattr(clock, ino, name, value)?)
    }

    fn listxattr(&mut self, clock: &mut Clock, ino: Ino) -> Outcome<Vec<Vec<u8>>> {
        Ok(self.volume.do_listxattr(clock, Volume::<L>::number(ino)?)?)
    }

    fn fsync(&mut self, clock: &mut Clock, ino: Ino) -> Outcome<()> {
        Ok(self.volume.do_fsync(clock, Volume::<L>::number(ino)?)?)
    }

    fn sync(&mut self, clock: &mut Clock) -> Outcome<()> {
        if self.volume.mode.read_only {
            return Ok(());
        }
        Ok(self.volume.sync_fs(clock)?)
    }

    fn evict_inode(&mut self, clock: &mut Clock, ino: Ino) -> Outcome<()> {
        Ok(self.volume.evict_inode(clock, Volume::<L>::number(ino)?)?)
    }

    fn background(&mut self, clock: &mut Clock) -> Outcome<bool> {
        Ok(self.volume.background_step(clock)?)
    }

    fn statfs(&mut self, _clock: &mut Clock) -> Outcome<StatFs> {
        Ok(self.volume.do_statfs())
    }

    /// Commits, evicts all inodes and writes a clean master node. Nobody hears of a failure, as in
    /// Linux, but of a power cut.
    fn unmount(&mut self, clock: &mut Clock) -> Outcome<()> {
        if self.volume.check_writable().is_ok() {
            self.volume.sync_fs(clock).or_else(Error::unless_power_cut)?;
        }
        let inodes: Vec<u32> = self.volume.inodes.keys().copied().collect();
        for ino in inodes {
            if self.volume.inodes.get(&ino).is_some_and(|inode| !inode.xattr) {
                self.volume.evict_inode(clock, ino).or_else(Error::unless_power_cut)?;
            }
        }
        self.unmount_volume(clock).or_else(Error::unless_power_cut)?;
        Ok(())
    }

    fn check_tables(&self) -> Result<(), Contradiction> {
        self.volume.compare_tables()
    }
}
