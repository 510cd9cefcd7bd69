//! The trait that every filesystem implements.
//!
//! Layer: rank 2. [`FileSystem`], and [`Caching`], what it asks of the page cache above it. The cut is
//! that of Linux's `struct inode_operations` and `struct address_space_operations` (6.1): names are
//! resolved one at a time, file content moves in pages.

use crate::error::Error;
use crate::node::{Attributes, Change, Entry, Ino, New, Space};
use boardlab_sim::Clock;
use std::fmt;
use std::ops::{ControlFlow, Range};

/// Bytes of a page of the page cache.
pub const PAGE_SIZE: usize = 4_096;

/// When the page cache hands changed pages to the filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Caching {
    /// At once, within the write call.
    WriteThrough,
    /// On sync, under pressure or when they are old.
    WriteBack,
}

/// A mounted filesystem. Every operation takes the run's clock and moves it on by what it costs, on
/// the flash and on the host's CPU.
///
/// Names are bytes without `/` and NUL, neither `.` nor `..`, one to 255 of them; the caller checks
/// that. After [`Error::PowerCut`] nothing works until the flash is mounted again.
pub trait FileSystem {
    /// What the filesystem asks of the page cache.
    fn caching(&self) -> Caching;

    /// Whether a page that is not in the page cache is read even when all of it is to be overwritten.
    /// JFFS2 does so since Linux 2.6.24 (`jffs2_write_begin`, `fs/jffs2/file.c`) and did not before.
    fn reads_pages_to_overwrite(&self) -> bool {
        false
    }

    /// Bytes of the largest file (`s_maxbytes` of Linux' superblock). [`Mount`](crate::Mount) refuses
    /// what lies beyond before the filesystem sees it.
    fn size_max(&self) -> u64 {
        i64::MAX.unsigned_abs()
    }

    /// The root directory.
    fn root(&self) -> Ino;

    /// The inode that `name` in `dir` leads to.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, EIO.
    fn lookup(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<Ino, Error>;

    /// What `stat` tells.
    ///
    /// # Errors
    /// ESTALE when there is no such inode, EIO.
    fn attributes(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error>;

    /// Changes attributes; a change of size cuts a file off or grows it by a hole.
    ///
    /// # Errors
    /// EISDIR or EINVAL for a size of what is not a file, EFBIG, ENOSPC, EIO.
    fn set_attributes(&mut self, clock: &mut Clock, ino: Ino, change: &Change)
    -> Result<(), Error>;

    /// Makes an inode of any kind and gives it a name.
    ///
    /// # Errors
    /// EEXIST, ENOTDIR, ENAMETOOLONG, ENOSPC, EIO.
    fn create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &New<'_>,
    ) -> Result<Ino, Error>;

    /// Gives an inode another name.
    ///
    /// # Errors
    /// EPERM for a directory, EEXIST, EMLINK, ENOSPC, EIO.
    fn link(&mut self, clock: &mut Clock, ino: Ino, dir: Ino, name: &[u8]) -> Result<(), Error>;

    /// Takes a name from what is not a directory. An inode without names goes when it is forgotten.
    ///
    /// # Errors
    /// ENOENT, EISDIR, ENOSPC, EIO.
    fn unlink(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ENOTEMPTY, ENOSPC, EIO.
    fn remove_dir(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error>;

    /// Renames, and replaces what has the new name. The caller has checked that a directory does not
    /// move into itself.
    ///
    /// # Errors
    /// ENOENT, EISDIR, ENOTDIR, ENOTEMPTY, EXDEV, ENOSPC, EIO.
    fn rename(
        &mut self,
        clock: &mut Clock,
        from: (Ino, &[u8]),
        to: (Ino, &[u8]),
    ) -> Result<(), Error>;

    /// All entries of a directory, in the filesystem's order.
    ///
    /// # Errors
    /// ENOTDIR, EIO.
    fn read_dir(&mut self, clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error>;

    /// The entries of a directory that [`FileSystem::read_dir`] leaves out because no path leads through them, for
    /// those who look into an image. With why one is not followed, unless only its name is none.
    ///
    /// # Errors
    /// ENOTDIR, EIO.
    fn odd_entries(
        &mut self,
        _clock: &mut Clock,
        _dir: Ino,
    ) -> Result<Vec<(Entry, Option<&'static str>)>, Error> {
        Ok(Vec::new())
    }

    /// Where a symbolic link leads.
    ///
    /// # Errors
    /// EINVAL for what is none, EIO.
    fn read_link(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<u8>, Error>;

    /// Reads page number `page` of a file into `buffer` of [`PAGE_SIZE`] bytes; zeros in holes and
    /// beyond the end.
    ///
    /// # Errors
    /// EISDIR, EIO.
    fn read_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error>;

    /// Hands the content of a file to `take` in pieces, in any order. What no piece covers is zeros: of a hole there
    /// is none, and nothing of the file is read more than once or twice. A piece that cannot be read is
    /// handed over as the reason.
    ///
    /// # Errors
    /// EISDIR, EIO.
    fn read_pieces(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        take: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let size = self.attributes(clock, ino)?.size;
        let step = u64::try_from(PAGE_SIZE).expect("a page is small");
        let mut page = vec![0; PAGE_SIZE];
        for number in 0..size.div_ceil(step) {
            let (offset, length) = (number * step, (size - number * step).min(step));
            let read = self.read_page(clock, ino, number, &mut page);
            let kept = usize::try_from(length).expect("at most a page");
            if read.is_ok() && page[..kept].iter().all(|&byte| byte == 0) {
                continue;
            }
            let bytes = read.map(|()| &page[..kept]);
            if take(Piece { offset, length, bytes }).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Writes the bytes `changed` of page number `page`. `content` is the whole page as it is now,
    /// with zeros beyond the end of the file, so that a filesystem may write more than was changed.
    /// The file grows to `page * PAGE_SIZE + changed.end` if it was shorter; what lies between is a
    /// hole.
    ///
    /// # Errors
    /// ENOSPC, EFBIG, EIO.
    fn write_page(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        content: &[u8],
        changed: Range<usize>,
    ) -> Result<(), Error>;

    /// The value of an extended attribute; `name` with its prefix: `user.colour`.
    ///
    /// # Errors
    /// ENODATA, EOPNOTSUPP, EIO.
    fn xattr(&mut self, clock: &mut Clock, ino: Ino, name: &[u8]) -> Result<Vec<u8>, Error>;

    /// Sets an extended attribute, or removes it when there is no value.
    ///
    /// # Errors
    /// ENODATA, EOPNOTSUPP, ERANGE, ENOSPC, EIO.
    fn set_xattr(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error>;

    /// The names of all extended attributes, with their prefixes.
    ///
    /// # Errors
    /// EIO.
    fn xattr_names(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<Vec<u8>>, Error>;

    /// Returns when what was written to the file before is safe from a power cut. The page cache has
    /// handed over its changed pages.
    ///
    /// # Errors
    /// ENOSPC, EIO.
    fn fsync(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error>;

    /// Returns when all that was done before is safe from a power cut.
    ///
    /// # Errors
    /// ENOSPC, EIO.
    fn sync(&mut self, clock: &mut Clock) -> Result<(), Error>;

    /// Nobody holds the inode open any longer: what was kept of it in RAM may go, and an inode
    /// without names goes from the flash.
    ///
    /// # Errors
    /// EIO.
    fn forget(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error>;

    /// Does one step of what the filesystem does by itself in the background (checks after a mount,
    /// garbage collection, delayed write-out), and says whether there is more to do now.
    ///
    /// # Errors
    /// EIO.
    fn background(&mut self, clock: &mut Clock) -> Result<bool, Error>;

    /// Free and used space.
    ///
    /// # Errors
    /// EIO.
    fn statfs(&mut self, clock: &mut Clock) -> Result<Space, Error>;

    /// Writes out everything. Only a new mount may follow.
    ///
    /// # Errors
    /// ENOSPC, EIO.
    fn unmount(&mut self, clock: &mut Clock) -> Result<(), Error>;

    /// Compares the tables in memory with each other. For tests and explorations: it walks everything, and
    /// takes no time of the run.
    ///
    /// # Errors
    /// A fault of the filesystem itself, never of what is on the flash.
    fn check_tables(&self) -> Result<(), Contradiction> {
        Ok(())
    }
}

/// Two tables in memory that cannot both be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction(pub String);

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tables in memory contradict each other: {}", self.0)
    }
}

impl std::error::Error for Contradiction {}

/// A piece of the content of a file.
#[derive(Debug)]
pub struct Piece<'a> {
    /// Where it begins.
    pub offset: u64,
    /// How long it is.
    pub length: u64,
    /// Its bytes, or why they cannot be had.
    pub bytes: Result<&'a [u8], Error>,
}

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
            fn attributes(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
                (**self).attributes(clock, ino)
            }
            fn set_attributes(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
                change: &Change,
            ) -> Result<(), Error> {
                (**self).set_attributes(clock, ino, change)
            }
            fn create(
                &mut self,
                clock: &mut Clock,
                dir: Ino,
                name: &[u8],
                new: &New<'_>,
            ) -> Result<Ino, Error> {
                (**self).create(clock, dir, name, new)
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
            fn remove_dir(
                &mut self,
                clock: &mut Clock,
                dir: Ino,
                name: &[u8],
            ) -> Result<(), Error> {
                (**self).remove_dir(clock, dir, name)
            }
            fn rename(
                &mut self,
                clock: &mut Clock,
                from: (Ino, &[u8]),
                to: (Ino, &[u8]),
            ) -> Result<(), Error> {
                (**self).rename(clock, from, to)
            }
            fn read_dir(&mut self, clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error> {
                (**self).read_dir(clock, dir)
            }
            fn odd_entries(
                &mut self,
                clock: &mut Clock,
                dir: Ino,
            ) -> Result<Vec<(Entry, Option<&'static str>)>, Error> {
                (**self).odd_entries(clock, dir)
            }
            fn read_link(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<u8>, Error> {
                (**self).read_link(clock, ino)
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
            fn read_pieces(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
                take: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
            ) -> Result<(), Error> {
                (**self).read_pieces(clock, ino, take)
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
            fn xattr(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
                name: &[u8],
            ) -> Result<Vec<u8>, Error> {
                (**self).xattr(clock, ino, name)
            }
            fn set_xattr(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
                name: &[u8],
                value: Option<&[u8]>,
            ) -> Result<(), Error> {
                (**self).set_xattr(clock, ino, name, value)
            }
            fn xattr_names(
                &mut self,
                clock: &mut Clock,
                ino: Ino,
            ) -> Result<Vec<Vec<u8>>, Error> {
                (**self).xattr_names(clock, ino)
            }
            fn fsync(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
                (**self).fsync(clock, ino)
            }
            fn sync(&mut self, clock: &mut Clock) -> Result<(), Error> {
                (**self).sync(clock)
            }
            fn forget(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
                (**self).forget(clock, ino)
            }
            fn background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
                (**self).background(clock)
            }
            fn statfs(&mut self, clock: &mut Clock) -> Result<Space, Error> {
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
