//! References to filesystems are filesystems.
//!
//! Layer: rank 2, part of [`filesystem`](super). Every method is passed on, those with a default too.

use super::{Caching, Contradiction, FileExtent, FileSystem, PageWrite, Truncation};
use crate::error::Error;
use crate::node::{Attributes, Entry, Ino, NewInode, SetAttr, StatFs};
use boardlab_sim::Clock;
use std::ops::{ControlFlow, Range};

/// A borrowed or boxed filesystem is a filesystem: `Mount` takes a `Box<dyn FileSystem>`.
macro_rules! forward {
    ($($holder:ty),*) => {$(
        impl<F: FileSystem + ?Sized> FileSystem for $holder {
            fn caching(&self) -> Caching {
                (**self).caching()
            }
            fn reads_pages_to_overwrite(&self) -> bool {
                (**self).reads_pages_to_overwrite()
            }
            fn size_max(&self) -> u64 {
                (**self).size_max()
            }
            fn root(&self) -> Ino {
                (**self).root()
            }
            fn lookup(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<Ino, Error> {
                (**self).lookup(clock, dir, name)
            }
            fn getattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
                (**self).getattr(clock, ino)
            }
            fn setattr(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
                change: &SetAttr,
            ) -> Result<(), Error> {
                (**self).setattr(clock, ino, change)
            }
            fn create(
                &mut self,
                clock: &mut Clock,
                dir: Ino,
                name: &[u8],
                new: &NewInode<'_>,
            ) -> Result<Ino, Error> {
                (**self).create(clock, dir, name, new)
            }
            fn tmpfile(&mut self, clock: &mut Clock, new: &NewInode<'_>) -> Result<Ino, Error> {
                (**self).tmpfile(clock, new)
            }
            fn link(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
                dir: Ino,
                name: &[u8],
            ) -> Result<(), Error> {
                (**self).link(clock, ino, dir, name)
            }
            fn unlink(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error> {
                (**self).unlink(clock, dir, name)
            }
            fn rmdir(
                &mut self,
                clock: &mut Clock,
                dir: Ino,
                name: &[u8],
            ) -> Result<(), Error> {
                (**self).rmdir(clock, dir, name)
            }
            fn rename(
                &mut self,
                clock: &mut Clock,
                old_dir: Ino,
                old_name: &[u8],
                new_dir: Ino,
                new_name: &[u8],
            ) -> Result<(), Error> {
                (**self).rename(clock, old_dir, old_name, new_dir, new_name)
            }
            fn readdir(&mut self, clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error> {
                (**self).readdir(clock, dir)
            }
            fn unreachable_entries(
                &mut self,
                clock: &mut Clock,
                dir: Ino,
            ) -> Result<Vec<(Entry, Option<&'static str>)>, Error> {
                (**self).unreachable_entries(clock, dir)
            }
            fn readlink(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<u8>, Error> {
                (**self).readlink(clock, ino)
            }
            fn read_page(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
                page: u64,
                buffer: &mut [u8],
            ) -> Result<(), Error> {
                (**self).read_page(clock, ino, page, buffer)
            }
            fn read_page_to_change(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
                page: u64,
                buffer: &mut [u8],
            ) -> Result<(), Error> {
                (**self).read_page_to_change(clock, ino, page, buffer)
            }
            fn take_read_ahead(&mut self) -> Vec<(u64, Box<[u8]>)> {
                (**self).take_read_ahead()
            }
            fn read_extents(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
                take: &mut dyn FnMut(FileExtent<'_>) -> ControlFlow<()>,
            ) -> Result<(), Error> {
                (**self).read_extents(clock, ino, take)
            }
            fn write_page(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
                page: u64,
                content: &[u8],
                changed: Range<usize>,
            ) -> Result<(), Error> {
                (**self).write_page(clock, ino, page, content, changed)
            }
            fn begin_write(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
                (**self).begin_write(clock, ino)
            }
            fn reserve_page(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
                write: &PageWrite,
            ) -> Result<(), Error> {
                (**self).reserve_page(clock, ino, write)
            }
            fn page_dirtied(&mut self, clock: &mut Clock, ino: Ino, write: &PageWrite) {
                (**self).page_dirtied(clock, ino, write);
            }
            fn release_page(&mut self, ino: Ino, page: u64) {
                (**self).release_page(ino, page);
            }
            fn begin_truncation(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
                size: u64,
            ) -> Result<Truncation, Error> {
                (**self).begin_truncation(clock, ino, size)
            }
            fn write_inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
                (**self).write_inode(clock, ino)
            }
            fn take_dirtied(&mut self) -> Vec<Ino> {
                (**self).take_dirtied()
            }
            fn getxattr(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
                name: &[u8],
            ) -> Result<Vec<u8>, Error> {
                (**self).getxattr(clock, ino, name)
            }
            fn setxattr(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
                name: &[u8],
                value: Option<&[u8]>,
            ) -> Result<(), Error> {
                (**self).setxattr(clock, ino, name, value)
            }
            fn listxattr(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
            ) -> Result<Vec<Vec<u8>>, Error> {
                (**self).listxattr(clock, ino)
            }
            fn fsync(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
                (**self).fsync(clock, ino)
            }
            fn sync(&mut self, clock: &mut Clock) -> Result<(), Error> {
                (**self).sync(clock)
            }
            fn evict_inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
                (**self).evict_inode(clock, ino)
            }
            fn shrink(&mut self, clock: &Clock) {
                (**self).shrink(clock);
            }
            fn background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
                (**self).background(clock)
            }
            fn statfs(&mut self, clock: &mut Clock) -> Result<StatFs, Error> {
                (**self).statfs(clock)
            }
            fn unmount(&mut self, clock: &mut Clock) -> Result<(), Error> {
                (**self).unmount(clock)
            }
            fn check_tables(&self) -> Result<(), Contradiction> {
                (**self).check_tables()
            }
        }
    )*};
}

forward!(&mut F, Box<F>);
