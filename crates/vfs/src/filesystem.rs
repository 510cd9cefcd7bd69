//! The trait that every filesystem implements.
//!
//! Layer: rank 2. Main types: [`FileSystem`], and [`Caching`], the caching that it asks for. The
//! operations follow `struct inode_operations` and `struct address_space_operations` of Linux 6.1:
//! names are looked up one at a time, and file content moves in pages.

mod forward;

use crate::error::{Errno, Error};
use crate::node::{Attributes, Entry, Ino, NewInode, SetAttr, StatFs};
use boardlab_sim::Clock;
use std::fmt;
use std::ops::{ControlFlow, Range};

/// Bytes of a page of the page cache.
pub const PAGE_SIZE: usize = 4_096;

/// The pages of a file without a way to the next one, after which the rest counts as lost.
const LOST_MAX: u32 = 65_536;

/// When the page cache writes dirty pages to the filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Caching {
    /// Within the write call.
    WriteThrough,
    /// On sync, under memory pressure, or when the pages are old.
    WriteBack,
}

/// A change of a page in the cache of a write-back filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageWrite {
    /// The number of the page within its file.
    pub page: u64,
    /// The size of the file in bytes before the change.
    pub size_before: u64,
    /// The size in bytes after it: larger when the change appends.
    pub size_after: u64,
    /// Whether the page was in the cache or was read for this change. It is not read when `whole`
    /// is set, nor when it lies beyond the end of the file.
    pub uptodate: bool,
    /// Whether the page was dirty before the change.
    pub dirty: bool,
    /// Whether the change covers all of the page.
    pub whole: bool,
}

/// What happens first when a file becomes shorter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truncation {
    /// [`FileSystem::setattr`], then the page cache (`jffs2_do_setattr`, `fs/jffs2/fs.c`).
    FlashFirst,
    /// The page cache, then [`FileSystem::setattr`] (`do_truncation`, `fs/ubifs/file.c`). Pages
    /// beyond the new end are released. The page in which the file then ends is written if it is
    /// dirty.
    CacheFirst,
}

/// A mounted filesystem. Every operation advances the run's clock by its cost on the flash and on
/// the host's CPU.
///
/// Names are 1 to 255 bytes without `/` and NUL, and neither `.` nor `..`; the caller checks that.
/// After [`Error::PowerCut`] nothing works until the flash is mounted again.
///
/// Any operation but [`FileSystem::write_page`] and [`FileSystem::write_inode`] may answer
/// [`Error::NeedsWriteBack`] before it changed anything, and is then called again. A filesystem
/// with [`Caching::WriteBack`] may reserve flash for what the cache will write: see
/// [`FileSystem::reserve_page`] and [`FileSystem::take_dirtied`].
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

    /// Whether the inode of a file is written before [`FileSystem::fsync`], when it is dirty. LogFS did not
    /// (`logfs_fsync`, `fs/logfs/file.c`), and lost sizes.
    fn writes_inodes_on_fsync(&self) -> bool {
        true
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

    /// Creates an inode without a name, which is deleted when it is evicted (`O_TMPFILE`).
    ///
    /// # Errors
    /// EOPNOTSUPP, which is the default, ENOSPC, EIO.
    fn tmpfile(&mut self, _clock: &mut Clock, _new: &NewInode<'_>) -> Result<Ino, Error> {
        Err(Errno::OpNotSupp.into())
    }

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

    /// As [`FileSystem::read_page`], for a page that is about to be changed (`write_begin` in
    /// Linux). A filesystem that reads further pages on [`FileSystem::read_page`] does not do so
    /// here.
    ///
    /// # Errors
    /// EISDIR, EIO.
    fn read_page_to_change(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        page: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        self.read_page(clock, ino, page, buffer)
    }

    /// The pages that the last [`FileSystem::read_page`] read besides the wanted one, each of
    /// [`PAGE_SIZE`] bytes, in ascending order. The page cache adds those that it does not have
    /// (`ubifs_do_bulk_read`, `fs/ubifs/file.c`).
    fn take_read_ahead(&mut self) -> Vec<(u64, Box<[u8]>)> {
        Vec::new()
    }

    /// The first page from `page` on that may not be in a hole; `None` where only a hole follows. The
    /// default knows no holes.
    ///
    /// # Errors
    /// EISDIR, EIO.
    fn next_data(
        &mut self,
        _clock: &mut Clock,
        _ino: Ino,
        page: u64,
    ) -> Result<Option<u64>, Error> {
        Ok(Some(page))
    }

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
        // A hole is looked for behind pages that have no data.
        let (mut number, mut is_hole, mut failures) = (0, true, 0);
        while number < size.div_ceil(step) {
            if is_hole {
                match self.next_data(clock, ino, number) {
                    Ok(None) => break,
                    Ok(Some(next)) => number = number.max(next),
                    // What leads to the data is lost too: the rest would take for ever.
                    Err(problem) if failures == LOST_MAX => {
                        let offset = number * step;
                        let rest =
                            FileExtent { offset, length: size - offset, bytes: Err(problem) };
                        let _ = take(rest);
                        break;
                    }
                    Err(_) => failures += 1,
                }
                if number >= size.div_ceil(step) {
                    break;
                }
            }
            let offset = number * step;
            let read = self.read_page(clock, ino, number, &mut page);
            let length = (size - offset).min(step);
            let kept = usize::try_from(length).expect("at most a page");
            number += 1;
            is_hole = read.is_err() || is_zero(&page[..kept]);
            if is_hole && read.is_ok() {
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

    /// Called once for each write to a file of a write-back filesystem, before its first page
    /// (`file_update_time` in Linux, `update_mctime` in `fs/ubifs/file.c`).
    ///
    /// # Errors
    /// ENOSPC, EIO.
    fn begin_write(&mut self, _clock: &mut Clock, _ino: Ino) -> Result<(), Error> {
        Ok(())
    }

    /// Called when an open file is closed (`flush` of `file_operations` in Linux). Returns whether its
    /// attributes changed.
    ///
    /// # Errors
    /// ENOSPC, EIO.
    fn closed(&mut self, _clock: &mut Clock, _ino: Ino) -> Result<bool, Error> {
        Ok(false)
    }

    /// Called for a write-back filesystem before the bytes of a cached page change (`write_begin`
    /// in Linux). The filesystem reserves flash for the page, or refuses the change.
    ///
    /// # Errors
    /// ENOSPC, EIO.
    fn reserve_page(
        &mut self,
        _clock: &mut Clock,
        _ino: Ino,
        _write: &PageWrite,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// Called after the bytes of a page changed that was reserved (`write_end` in Linux). The file
    /// now has `write.size_after` bytes.
    fn page_dirtied(&mut self, _clock: &mut Clock, _ino: Ino, _write: &PageWrite) {}

    /// Called when a dirty page leaves the cache and will not be written, since the file was
    /// truncated or deleted (`invalidate_folio` in Linux).
    fn release_page(&mut self, _ino: Ino, _page: u64) {}

    /// Called for a write-back filesystem before a file becomes shorter. It may reserve what the
    /// truncation needs, and says what comes first. [`FileSystem::setattr`] follows in any case,
    /// unless the page in which the file ends cannot be written.
    ///
    /// # Errors
    /// ENOSPC, EIO.
    fn begin_truncation(
        &mut self,
        _clock: &mut Clock,
        _ino: Ino,
        _size: u64,
    ) -> Result<Truncation, Error> {
        Ok(Truncation::FlashFirst)
    }

    /// Writes an inode that [`FileSystem::take_dirtied`] named (`write_inode` in Linux). Its dirty
    /// pages have been written before.
    ///
    /// # Errors
    /// ENOSPC, EIO.
    fn write_inode(&mut self, _clock: &mut Clock, _ino: Ino) -> Result<(), Error> {
        Ok(())
    }

    /// Frees what it holds in memory and can read again from the flash (the filesystem's shrinker in
    /// Linux), when all caches are dropped.
    fn shrink(&mut self, _clock: &Clock) {}

    /// The inodes that became dirty in memory since the last call, in that order
    /// (`mark_inode_dirty` in Linux). An inode with dirty pages alone is not among them.
    fn take_dirtied(&mut self) -> Vec<Ino> {
        Vec::new()
    }

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

    /// Makes earlier writes to the file durable. Its dirty pages, and then the inode if it was dirty,
    /// have been written before.
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

/// Whether all bytes are zero. A processor compares many at once, and data mostly end it early.
fn is_zero(bytes: &[u8]) -> bool {
    bytes.chunks(64).all(|part| part.iter().fold(0, |all, byte| all | byte) == 0)
}
