//! Filesystems that hold another one and pass calls on to it.
//!
//! Layer: rank 2, part of [`filesystem`](super). [`pass_on!`](crate::pass_on) writes such methods;
//! references to filesystems and boxes of them are filesystems by it.

/// Writes methods of an `impl` of [`FileSystem`](crate::FileSystem) that pass the call on. `by` is a macro
/// that makes the call; it gets `self`, and the method with its arguments:
///
/// ```
/// # use boardlab_vfs::{FileSystem, MemoryFs, Ino};
/// struct Counted { fs: MemoryFs, lookups: u32 }
/// macro_rules! inner {
///     ($this:ident, $call:ident($($argument:expr),*)) => { $this.fs.$call($($argument),*) };
/// }
/// impl FileSystem for Counted {
///     fn lookup(
///         &mut self,
///         clock: &mut boardlab_sim::Clock,
///         dir: Ino,
///         name: &[u8],
///     ) -> Result<Ino, boardlab_vfs::Error> {
///         self.lookups += 1;
///         self.fs.lookup(clock, dir, name)
///     }
///     boardlab_vfs::pass_on! { inner:
///         caching root getattr setattr create link unlink rmdir rename readdir readlink read_page write_page
///         getxattr setxattr listxattr fsync sync evict_inode background statfs unmount
///     }
/// }
/// ```
#[macro_export]
macro_rules! pass_on {
    ($by:ident: $($method:ident)*) => { $($crate::pass_on!($by $method);)* };
    ($by:ident caching) => {
        fn caching(&self) -> $crate::Caching {
            $by!(self, caching())
        }
    };
    ($by:ident reads_pages_to_overwrite) => {
        fn reads_pages_to_overwrite(&self) -> bool {
            $by!(self, reads_pages_to_overwrite())
        }
    };
    ($by:ident writes_inodes_on_fsync) => {
        fn writes_inodes_on_fsync(&self) -> bool {
            $by!(self, writes_inodes_on_fsync())
        }
    };
    ($by:ident size_max) => {
        fn size_max(&self) -> u64 {
            $by!(self, size_max())
        }
    };
    ($by:ident root) => {
        fn root(&self) -> $crate::Ino {
            $by!(self, root())
        }
    };
    ($by:ident lookup) => {
        fn lookup(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            dir: $crate::Ino,
            name: &[u8],
        ) -> Result<$crate::Ino, $crate::Error> {
            $by!(self, lookup(clock, dir, name))
        }
    };
    ($by:ident getattr) => {
        fn getattr(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
        ) -> Result<$crate::Attributes, $crate::Error> {
            $by!(self, getattr(clock, ino))
        }
    };
    ($by:ident setattr) => {
        fn setattr(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
            change: &$crate::SetAttr,
        ) -> Result<(), $crate::Error> {
            $by!(self, setattr(clock, ino, change))
        }
    };
    ($by:ident create) => {
        fn create(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            dir: $crate::Ino,
            name: &[u8],
            new: &$crate::NewInode<'_>,
        ) -> Result<$crate::Ino, $crate::Error> {
            $by!(self, create(clock, dir, name, new))
        }
    };
    ($by:ident tmpfile) => {
        fn tmpfile(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            new: &$crate::NewInode<'_>,
        ) -> Result<$crate::Ino, $crate::Error> {
            $by!(self, tmpfile(clock, new))
        }
    };
    ($by:ident link) => {
        fn link(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
            dir: $crate::Ino,
            name: &[u8],
        ) -> Result<(), $crate::Error> {
            $by!(self, link(clock, ino, dir, name))
        }
    };
    ($by:ident unlink) => {
        fn unlink(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            dir: $crate::Ino,
            name: &[u8],
        ) -> Result<(), $crate::Error> {
            $by!(self, unlink(clock, dir, name))
        }
    };
    ($by:ident rmdir) => {
        fn rmdir(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            dir: $crate::Ino,
            name: &[u8],
        ) -> Result<(), $crate::Error> {
            $by!(self, rmdir(clock, dir, name))
        }
    };
    ($by:ident rename) => {
        fn rename(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            old_dir: $crate::Ino,
            old_name: &[u8],
            new_dir: $crate::Ino,
            new_name: &[u8],
        ) -> Result<(), $crate::Error> {
            $by!(self, rename(clock, old_dir, old_name, new_dir, new_name))
        }
    };
    ($by:ident readdir) => {
        fn readdir(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            dir: $crate::Ino,
        ) -> Result<Vec<$crate::Entry>, $crate::Error> {
            $by!(self, readdir(clock, dir))
        }
    };
    ($by:ident unreachable_entries) => {
        fn unreachable_entries(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            dir: $crate::Ino,
        ) -> Result<Vec<($crate::Entry, Option<&'static str>)>, $crate::Error> {
            $by!(self, unreachable_entries(clock, dir))
        }
    };
    ($by:ident readlink) => {
        fn readlink(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
        ) -> Result<Vec<u8>, $crate::Error> {
            $by!(self, readlink(clock, ino))
        }
    };
    ($by:ident read_page) => {
        fn read_page(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
            page: u64,
            buffer: &mut [u8],
        ) -> Result<(), $crate::Error> {
            $by!(self, read_page(clock, ino, page, buffer))
        }
    };
    ($by:ident read_page_to_change) => {
        fn read_page_to_change(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
            page: u64,
            buffer: &mut [u8],
        ) -> Result<(), $crate::Error> {
            $by!(self, read_page_to_change(clock, ino, page, buffer))
        }
    };
    ($by:ident take_read_ahead) => {
        fn take_read_ahead(&mut self) -> Vec<(u64, Box<[u8]>)> {
            $by!(self, take_read_ahead())
        }
    };
    ($by:ident next_data) => {
        fn next_data(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
            page: u64,
        ) -> Result<Option<u64>, $crate::Error> {
            $by!(self, next_data(clock, ino, page))
        }
    };
    ($by:ident read_extents) => {
        fn read_extents(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
            take: &mut dyn FnMut($crate::FileExtent<'_>) -> ::std::ops::ControlFlow<()>,
        ) -> Result<(), $crate::Error> {
            $by!(self, read_extents(clock, ino, take))
        }
    };
    ($by:ident write_page) => {
        fn write_page(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
            page: u64,
            content: &[u8],
            changed: ::std::ops::Range<usize>,
        ) -> Result<(), $crate::Error> {
            $by!(self, write_page(clock, ino, page, content, changed))
        }
    };
    ($by:ident closed) => {
        fn closed(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
        ) -> Result<bool, $crate::Error> {
            $by!(self, closed(clock, ino))
        }
    };
    ($by:ident begin_write) => {
        fn begin_write(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
        ) -> Result<(), $crate::Error> {
            $by!(self, begin_write(clock, ino))
        }
    };
    ($by:ident reserve_page) => {
        fn reserve_page(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
            write: &$crate::PageWrite,
        ) -> Result<(), $crate::Error> {
            $by!(self, reserve_page(clock, ino, write))
        }
    };
    ($by:ident page_dirtied) => {
        fn page_dirtied(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
            write: &$crate::PageWrite,
        ) {
            $by!(self, page_dirtied(clock, ino, write))
        }
    };
    ($by:ident release_page) => {
        fn release_page(&mut self, ino: $crate::Ino, page: u64) {
            $by!(self, release_page(ino, page))
        }
    };
    ($by:ident begin_truncation) => {
        fn begin_truncation(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
            size: u64,
        ) -> Result<$crate::Truncation, $crate::Error> {
            $by!(self, begin_truncation(clock, ino, size))
        }
    };
    ($by:ident write_inode) => {
        fn write_inode(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
        ) -> Result<(), $crate::Error> {
            $by!(self, write_inode(clock, ino))
        }
    };
    ($by:ident take_dirtied) => {
        fn take_dirtied(&mut self) -> Vec<$crate::Ino> {
            $by!(self, take_dirtied())
        }
    };
    ($by:ident getxattr) => {
        fn getxattr(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
            name: &[u8],
        ) -> Result<Vec<u8>, $crate::Error> {
            $by!(self, getxattr(clock, ino, name))
        }
    };
    ($by:ident setxattr) => {
        fn setxattr(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
            name: &[u8],
            value: Option<&[u8]>,
        ) -> Result<(), $crate::Error> {
            $by!(self, setxattr(clock, ino, name, value))
        }
    };
    ($by:ident listxattr) => {
        fn listxattr(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
        ) -> Result<Vec<Vec<u8>>, $crate::Error> {
            $by!(self, listxattr(clock, ino))
        }
    };
    ($by:ident fsync) => {
        fn fsync(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
        ) -> Result<(), $crate::Error> {
            $by!(self, fsync(clock, ino))
        }
    };
    ($by:ident sync) => {
        fn sync(&mut self, clock: &mut ::boardlab_sim::Clock) -> Result<(), $crate::Error> {
            $by!(self, sync(clock))
        }
    };
    ($by:ident evict_inode) => {
        fn evict_inode(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
            ino: $crate::Ino,
        ) -> Result<(), $crate::Error> {
            $by!(self, evict_inode(clock, ino))
        }
    };
    ($by:ident shrink) => {
        fn shrink(&mut self, clock: &::boardlab_sim::Clock) {
            $by!(self, shrink(clock))
        }
    };
    ($by:ident background) => {
        fn background(&mut self, clock: &mut ::boardlab_sim::Clock) -> Result<bool, $crate::Error> {
            $by!(self, background(clock))
        }
    };
    ($by:ident statfs) => {
        fn statfs(
            &mut self,
            clock: &mut ::boardlab_sim::Clock,
        ) -> Result<$crate::StatFs, $crate::Error> {
            $by!(self, statfs(clock))
        }
    };
    ($by:ident unmount) => {
        fn unmount(&mut self, clock: &mut ::boardlab_sim::Clock) -> Result<(), $crate::Error> {
            $by!(self, unmount(clock))
        }
    };
    ($by:ident check_tables) => {
        fn check_tables(&self) -> Result<(), $crate::Contradiction> {
            $by!(self, check_tables())
        }
    };
}

/// A borrowed or boxed filesystem is a filesystem: `Mount` takes a `Box<dyn FileSystem>`.
macro_rules! forward {
    ($($holder:ty),*) => {$(
        impl<F: crate::FileSystem + ?Sized> crate::FileSystem for $holder {
            pass_on! { held:
                caching reads_pages_to_overwrite size_max writes_inodes_on_fsync root lookup getattr setattr create tmpfile
                link unlink rmdir rename readdir unreachable_entries readlink read_page
                read_page_to_change take_read_ahead next_data read_extents write_page closed begin_write reserve_page
                page_dirtied release_page begin_truncation write_inode take_dirtied getxattr
                setxattr listxattr fsync sync evict_inode shrink background statfs unmount
                check_tables
            }
        }
    )*};
}

macro_rules! held {
    ($this:ident, $call:ident($($argument:expr),*)) => { (**$this).$call($($argument),*) };
}

forward!(&mut F, Box<F>);
