//! The trait that every filesystem implements.
//!
//! Layer: rank 2. Main types: [`FileSystem`], and [`Caching`], the caching that it asks for. The
//! operations follow `struct inode_operations` and `struct address_space_operations` of Linux 6.1:
//! names are looked up one at a time, and file content moves in pages.

use crate::error::Error;
use crate::node::{Attributes, Entry, Ino, NewInode, SetAttr, StatFs};
use boardlab_sim::Clock;
use std::fmt;
use std::ops::{ControlFlow, Range};

/// Bytes of a page of the page cache.
pub const PAGE_SIZE: usize = 4_096;

/// When the page cache writes dirty pages to the filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Caching {
    /// Within the write call.
    WriteThrough,
    /// On sync, under memory pressure, or when the pages are old.
    WriteBack,
}

/// A mounted filesystem. Every operation advances the run's clock by its cost on the flash and on
/// the host's CPU.
///
/// Names are 1 to 255 bytes without `/` and NUL, and neither `.` nor `..`; the caller checks that.
/// After [`Error::PowerCut`] nothing works until the flash is mounted again.
pub trait FileSystem {
    /// The caching that the filesystem asks for.
    fn caching(&self) -> Caching;

    /// Whether a page that is not cached is read even when all of it is to be overwritten. JFFS2
    /// does so since Linux 2.6.24 (`jffs2_write_begin`, `fs/jffs2/file.c`), and did not before.
    fn reads_pages_to_overwrite(&self) -> bool {
        false
    }

    /// The size limit of a file (`s_maxbytes` of the superblock in Linux). [`Mount`](crate::Mount)
    /// refuses a larger size before the filesystem sees it.
    fn size_max(&self) -> u64 {
        i64::MAX.unsigned_abs()
    }

    /// The root directory.
    fn root(&self) -> Ino;

    /// Looks up `name` in the directory `dir`.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, EIO.
    fn lookup(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<Ino, Error>;

    /// The attributes that `stat` shows.
    ///
    /// # Errors
    /// ESTALE when there is no such inode, EIO.
    fn getattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error>;

    /// Changes attributes. A change of size truncates a file, or extends it by a hole.
    ///
    /// # Errors
    /// EISDIR or EINVAL for a size of what is not a file, EFBIG, ENOSPC, EIO.
    fn setattr(&mut self, clock: &mut Clock, ino: Ino, change: &SetAttr) -> Result<(), Error>;

    /// Creates an inode of any kind with a name.
    ///
    /// # Errors
    /// EEXIST, ENOTDIR, ENAMETOOLONG, ENOSPC, EIO.
    fn create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Result<Ino, Error>;

    /// Adds a hard link to an inode.
    ///
    /// # Errors
    /// EPERM for a directory, EEXIST, EMLINK, ENOSPC, EIO.
    fn link(&mut self, clock: &mut Clock, ino: Ino, dir: Ino, name: &[u8]) -> Result<(), Error>;

    /// Removes a name of anything but a directory. An inode without names is deleted when it is
    /// evicted.
    ///
    /// # Errors
    /// ENOENT, EISDIR, ENOSPC, EIO.
    fn unlink(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error>;

    /// Removes an empty directory.
    ///
    /// # Errors
    /// ENOENT, ENOTDIR, ENOTEMPTY, ENOSPC, EIO.
    fn rmdir(&mut self, clock: &mut Clock, dir: Ino, name: &[u8]) -> Result<(), Error>;

    /// Renames, and replaces what has the new name. The caller has checked that a directory does
    /// not move into itself.
    ///
    /// # Errors
    /// ENOENT, EISDIR, ENOTDIR, ENOTEMPTY, EXDEV, ENOSPC, EIO.
    fn rename(
        &mut self,
        clock: &mut Clock,
        old_dir: Ino,
        old_name: &[u8],
        new_dir: Ino,
        new_name: &[u8],
    ) -> Result<(), Error>;

    /// Reads all entries of a directory, in the filesystem's order.
    ///
    /// # Errors
    /// ENOTDIR, EIO.
    fn readdir(&mut self, clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error>;

    /// The entries that [`FileSystem::readdir`] leaves out because no path leads through them, for
    /// tools that examine an image. Each carries the reason why it is not followed, unless only its
    /// name is invalid.
    ///
    /// # Errors
    /// ENOTDIR, EIO.
    fn unreachable_entries(
        &mut self,
        _clock: &mut Clock,
        _dir: Ino,
    ) -> Result<Vec<(Entry, Option<&'static str>)>, Error> {
        Ok(Vec::new())
    }

    /// Reads the target of a symbolic link.
    ///
    /// # Errors
    /// EINVAL for what is none, EIO.
    fn readlink(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<u8>, Error>;

    /// Reads page number `page` of a file into `buffer` of [`PAGE_SIZE`] bytes. Holes and bytes
    /// beyond the end read as zeros.
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

    /// Passes the content of a file to `take`, extent by extent, in any order. Bytes that no extent
    /// covers are zeros: holes have no extent. Nothing is read more than once or twice. An extent
    /// that cannot be read carries the error instead of its bytes.
    ///
    /// # Errors
    /// EISDIR, EIO.
    fn read_extents(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        take: &mut dyn FnMut(FileExtent<'_>) -> ControlFlow<()>,
    ) -> Result<(), Error> {
        let size = self.getattr(clock, ino)?.size;
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
            if take(FileExtent { offset, length, bytes }).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Writes the bytes `changed` of page number `page`. `content` is the whole page as it is now,
    /// with zeros beyond the end of the file, so that a filesystem may write more than was changed.
    /// A shorter file grows to `page * PAGE_SIZE + changed.end`; the bytes between become a hole.
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

    /// Reads the value of an extended attribute; `name` includes its prefix: `user.colour`.
    ///
    /// # Errors
    /// ENODATA, EOPNOTSUPP, EIO.
    fn getxattr(&mut self, clock: &mut Clock, ino: Ino, name: &[u8]) -> Result<Vec<u8>, Error>;

    /// Sets an extended attribute, or removes it when `value` is `None`.
    ///
    /// # Errors
    /// ENODATA, EOPNOTSUPP, ERANGE, ENOSPC, EIO.
    fn setxattr(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        name: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(), Error>;

    /// Lists the names of all extended attributes, with their prefixes.
    ///
    /// # Errors
    /// EIO.
    fn listxattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<Vec<u8>>, Error>;

    /// Makes earlier writes to the file durable. The page cache has written its dirty pages before.
    ///
    /// # Errors
    /// ENOSPC, EIO.
    fn fsync(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error>;

    /// Makes all earlier operations durable.
    ///
    /// # Errors
    /// ENOSPC, EIO.
    fn sync(&mut self, clock: &mut Clock) -> Result<(), Error>;

    /// Evicts an inode that nobody holds open: its in-memory state is dropped, and an inode without
    /// names is deleted from the flash.
    ///
    /// # Errors
    /// EIO.
    fn evict_inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error>;

    /// Does one step of background work (checks after a mount, garbage collection, delayed
    /// write-out). Returns whether there is more to do now.
    ///
    /// # Errors
    /// EIO.
    fn background(&mut self, clock: &mut Clock) -> Result<bool, Error>;

    /// Free and used space.
    ///
    /// # Errors
    /// EIO.
    fn statfs(&mut self, clock: &mut Clock) -> Result<StatFs, Error>;

    /// Writes everything to the flash. Only a new mount may follow.
    ///
    /// # Errors
    /// ENOSPC, EIO.
    fn unmount(&mut self, clock: &mut Clock) -> Result<(), Error>;

    /// Compares the tables in memory with each other. This is for tests and explorations: it walks
    /// everything, and takes no virtual time.
    ///
    /// # Errors
    /// A bug of the filesystem itself, never damage on the flash.
    fn check_tables(&self) -> Result<(), Contradiction> {
        Ok(())
    }
}

/// Two tables in memory that contradict each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction(pub String);

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the tables in memory contradict each other: {}", self.0)
    }
}

impl std::error::Error for Contradiction {}

/// An extent of a file's content.
#[derive(Debug)]
pub struct FileExtent<'a> {
    /// The offset in the file.
    pub offset: u64,
    /// The length in bytes.
    pub length: u64,
    /// The bytes, or why they cannot be read.
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
