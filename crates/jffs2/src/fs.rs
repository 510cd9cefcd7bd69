//! JFFS2 as a [`FileSystem`]: the only file that knows that trait.
//!
//! Layer: rank 5. Every method here is one call of the rooms below. Source: Linux 6.1, `fs/jffs2/dir.c`,
//! `file.c`, `super.c`.

use crate::Jffs2;
use crate::index::{InodeState, ROOT};
use crate::open::number;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{Attributes, Caching, Change, Entry, Errno, Error, FileSystem, Ino, New, Space};
use std::ops::Range;

impl<M: Mtd> FileSystem for Jffs2<M> {
    fn caching(&self) -> Caching {
        Caching::WriteThrough
    }

    fn root(&self) -> Ino {
        Ino(u64::from(ROOT))
    }

    fn lookup(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<Ino, Error> {
        Ok(Ino(u64::from(self.find_name(clock, dir, name)?)))
    }

    fn attributes(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        Ok(self.stat(clock, ino)?)
    }

    fn set_attributes(&mut self, _: &mut Clock, _: Ino, _: &Change) -> Result<(), Error> {
        Err(Errno::RoFs.into())
    }

    fn create(&mut self, _: &mut Clock, _: Ino, _: &[u8], _: &New<'_>) -> Result<Ino, Error> {
        Err(Errno::RoFs.into())
    }

    fn link(&mut self, _: &mut Clock, _: Ino, _: Ino, _: &[u8]) -> Result<(), Error> {
        Err(Errno::RoFs.into())
    }

    fn unlink(&mut self, _: &mut Clock, _: Ino, _: &[u8]) -> Result<(), Error> {
        Err(Errno::RoFs.into())
    }

    fn remove_dir(&mut self, _: &mut Clock, _: Ino, _: &[u8]) -> Result<(), Error> {
        Err(Errno::RoFs.into())
    }

    fn rename(&mut self, _: &mut Clock, _: (Ino, &[u8]), _: (Ino, &[u8])) -> Result<(), Error> {
        Err(Errno::RoFs.into())
    }

    fn read_dir(&mut self, clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error> {
        Ok(self.list(clock, dir)?)
    }

    fn read_link(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<u8>, Error> {
        Ok(self.target(clock, ino)?)
    }

    fn read_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        Ok(self.page(clock, ino, page, buffer)?)
    }

    fn write_page(
        &mut self,
        _: &mut Clock,
        _: Ino,
        _: u64,
        _: &[u8],
        _: Range<usize>,
    ) -> Result<(), Error> {
        Err(Errno::RoFs.into())
    }

    fn xattr(&mut self, clock: &mut Clock, ino: Ino, name: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.value(clock, ino, name)?)
    }

    fn set_xattr(
        &mut self,
        _: &mut Clock,
        _: Ino,
        _: &[u8],
        _: Option<&[u8]>,
    ) -> Result<(), Error> {
        Err(Errno::RoFs.into())
    }

    fn xattr_names(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<Vec<u8>>, Error> {
        Ok(self.value_names(clock, ino)?)
    }

    fn fsync(&mut self, _: &mut Clock, _: Ino) -> Result<(), Error> {
        Ok(())
    }

    fn sync(&mut self, _: &mut Clock) -> Result<(), Error> {
        Ok(())
    }

    fn forget(&mut self, _: &mut Clock, ino: Ino) -> Result<(), Error> {
        let number = number(ino)?;
        if let Some(inode) = self.open.remove(&number) {
            self.volume.inodes.get_mut(inode.slot).state = InodeState::Checked;
        }
        Ok(())
    }

    fn background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        if self.is_unchecked() {
            match self.check_next(clock) {
                Err(crate::Error::Refused(Errno::NoSpc)) => return Ok(false),
                result => result?,
            }
        }
        Ok(self.is_unchecked())
    }

    fn statfs(&mut self, _: &mut Clock) -> Result<Space, Error> {
        Ok(self.space())
    }

    fn unmount(&mut self, _: &mut Clock) -> Result<(), Error> {
        self.open.clear();
        Ok(())
    }
}
