//! JFFS2 as a [`FileSystem`]: the only file that knows that trait.
//!
//! Layer: rank 5. Every method here is one call of the rooms below. Source: Linux 6.1, `fs/jffs2/dir.c`,
//! `file.c`, `super.c`.

use crate::Jffs2;
use crate::index::ROOT;
use crate::open::number;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::{
    Attributes, Caching, Change, Contradiction, Entry, Error, FileSystem, Ino, New, Piece, Space,
};
use std::ops::{ControlFlow, Range};

impl<M: Mtd> FileSystem for Jffs2<M> {
    fn caching(&self) -> Caching {
        Caching::WriteThrough
    }

    fn reads_pages_to_overwrite(&self) -> bool {
        self.volume.profile.reads_pages_to_overwrite
    }

    /// JFFS2 sets no limit of its own, and so has that of a superblock that nobody set one in
    /// (`MAX_NON_LFS`).
    fn size_max(&self) -> u64 {
        (1 << 31) - 1
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

    fn set_attributes(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        change: &Change,
    ) -> Result<(), Error> {
        Ok(self.change(clock, number(ino)?, change)?)
    }

    fn create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &New<'_>,
    ) -> Result<Ino, Error> {
        Ok(Ino(u64::from(self.make(clock, dir, name, new)?)))
    }

    fn link(&mut self, clock: &mut Clock, ino: Ino, dir: Ino, name: &[u8]) -> Result<(), Error> {
        Ok(self.link_name(clock, ino, dir, name)?)
    }

    fn unlink(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        Ok(self.remove_name(clock, dir, name, false)?)
    }

    fn remove_dir(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
        Ok(self.remove_name(clock, dir, name, true)?)
    }

    fn rename(
        &mut self,
        clock: &mut Clock,
        from: (Ino, &[u8]),
        to: (Ino, &[u8]),
    ) -> Result<(), Error> {
        Ok(self.move_name(clock, from, to)?)
    }

    fn read_dir(&mut self, clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error> {
        Ok(self.list(clock, dir)?)
    }

    fn odd_entries(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
    ) -> Result<Vec<(Entry, Option<&'static str>)>, Error> {
        Ok(self.list_odd(clock, dir)?)
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

    fn read_pieces(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        take: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        Ok(self.pieces(clock, ino, take)?)
    }

    fn write_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        content: &[u8],
        changed: Range<usize>,
    ) -> Result<(), Error> {
        Ok(self.put_page(clock, (number(ino)?, page), content, changed)?)
    }

    fn xattr(&mut self, clock: &mut Clock, ino: Ino, name: &[u8]) -> Result<Vec<u8>, Error> {
        Ok(self.value(clock, ino, name)?)
    }

    fn set_xattr(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error> {
        Ok(self.set_value(clock, number(ino)?, name, value)?)
    }

    fn xattr_names(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<Vec<u8>>, Error> {
        Ok(self.value_names(clock, ino)?)
    }

    fn fsync(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        self.flush_for(clock, Some(number(ino)?))?;
        Ok(self.tell_lost()?)
    }

    fn sync(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.flush_padded(clock)?;
        Ok(self.tell_lost()?)
    }

    fn forget(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        Ok(self.close_inode(clock, number(ino)?)?)
    }

    fn background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        Ok(self.work_in_background(clock)?)
    }

    fn statfs(&mut self, _: &mut Clock) -> Result<Space, Error> {
        Ok(self.space())
    }

    fn unmount(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let open: Vec<u32> = self.open.keys().copied().collect();
        for ino in open {
            self.close_inode(clock, ino)?;
        }
        self.sync(clock)
    }

    fn check_tables(&self) -> Result<(), Contradiction> {
        self.compare_tables()
    }
}
