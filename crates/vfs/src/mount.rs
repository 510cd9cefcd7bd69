//! What the kernel puts above a filesystem: paths, open files, and a cache of names, inodes and pages.
//!
//! Layer: rank 2. Main types: [`Mount`], [`Fd`]. Modules: `mount/walk.rs` resolves paths,
//! `mount/names.rs` has the operations on names and attributes, `mount/content.rs` those on bytes.
//!
//! What it mirrors (Linux 6.1): `fs/namei.c` (a component at a time, at most 40 links, checks of
//! names and of renames), `fs/dcache.c` and `fs/inode.c` (names and inodes that were found stay; an
//! inode without names goes when its last user closes it), `mm/filemap.c` (`generic_perform_write`
//! cuts a write into pages and gives each to the filesystem; a page that is changed in part is read
//! first), `fs/fs-writeback.c`.
//!
//! The host pays: a [`Work::Call`] for every operation, a [`Work::Lookup`] for every component, a
//! [`Work::Page`] for every page touched, a [`Work::Copy`] for its bytes. The filesystem pays for the
//! rest itself, so the time of a run is that of both hosts.
//!
//! One deviation: the cache of names keeps no names that are not there, so a lookup that fails asks
//! the filesystem each time. Left out: users and permissions (all is done as root), times of access
//! (`noatime`), a limit on cached inodes ([`Mount::drop_caches`] empties it), locks.

mod content;
mod names;
mod walk;

use crate::cache::{CacheCounts, Options, PageCache};
use crate::error::{Errno, Error};
use crate::filesystem::FileSystem;
use crate::host::{Host, Work};
use crate::node::{Attributes, Ino, Kind, Space};
use boardlab_sim::{Bytes, Clock, Instant};
use std::collections::BTreeMap;

/// An open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fd(u32);

/// A filesystem with the kernel's caches above it.
///
/// ```
/// use boardlab_sim::Clock;
/// use boardlab_vfs::{MemoryFs, Mount};
///
/// let (mut mount, mut clock) = (Mount::new(MemoryFs::new()), Clock::new());
/// mount.mkdir(&mut clock, "/etc", 0o755)?;
/// let fd = mount.create(&mut clock, "/etc/hostname", 0o644)?;
/// mount.write(&mut clock, fd, 0, b"board\n")?;
/// mount.close(&mut clock, fd)?;
/// assert_eq!(mount.stat(&mut clock, "/etc/../etc/hostname")?.size, 6);
/// # Ok::<(), boardlab_vfs::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Mount<F> {
    fs: F,
    host: Host,
    options: Options,
    /// Names that were found, by directory.
    names: BTreeMap<Ino, BTreeMap<Vec<u8>, Ino>>,
    inodes: BTreeMap<Ino, Inode>,
    cache: PageCache,
    counts: CacheCounts,
    files: BTreeMap<Fd, Open>,
    next_fd: u32,
    /// When the flusher looks for old pages next.
    next_flush: Instant,
}

/// An inode in memory.
#[derive(Debug, Clone)]
struct Inode {
    /// What the filesystem said last.
    attributes: Attributes,
    /// Whether it would say something else now.
    stale: bool,
    /// The size of a file, with what the filesystem has not been told yet.
    size: u64,
    /// Open files that lead here.
    opens: u32,
    /// Why changed pages could not be written, until an fsync tells.
    lost: Option<Error>,
}

/// An open file.
#[derive(Debug, Clone, Copy)]
struct Open {
    ino: Ino,
    /// The page after the last one read, where a sequential read goes on.
    next_page: u64,
}

impl<F: FileSystem> Mount<F> {
    /// Mounts `fs` above a host that costs nothing, with the default page cache.
    #[must_use]
    pub fn new(fs: F) -> Self {
        Self::with_host(fs, Host::free(), Options::default())
    }

    /// Mounts `fs`.
    #[must_use]
    pub fn with_host(fs: F, host: Host, options: Options) -> Self {
        Self {
            fs,
            host,
            options,
            names: BTreeMap::new(),
            inodes: BTreeMap::new(),
            cache: PageCache::new(options.cache),
            counts: CacheCounts::default(),
            files: BTreeMap::new(),
            next_fd: 3,
            next_flush: Instant::ZERO,
        }
    }

    /// The filesystem.
    #[must_use]
    pub const fn fs(&self) -> &F {
        &self.fs
    }

    /// The filesystem; what is changed there by hand must not be in the caches.
    pub const fn fs_mut(&mut self) -> &mut F {
        &mut self.fs
    }

    /// Gives the filesystem back; pages that were not written are lost.
    #[must_use]
    pub fn into_fs(self) -> F {
        self.fs
    }

    /// The CPU as far as the layer above the filesystem used it.
    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// The same, to count from zero again.
    pub const fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    /// What the page cache did.
    #[must_use]
    pub const fn cache_counts(&self) -> CacheCounts {
        self.counts
    }

    /// Bytes of pages in the cache.
    #[must_use]
    pub fn cached(&self) -> Bytes {
        self.cache.bytes()
    }

    /// Bytes of pages that are to be written.
    #[must_use]
    pub fn dirty(&self) -> Bytes {
        self.cache.dirty_bytes()
    }

    /// What every system call begins with; the flusher may be due.
    fn enter(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.flush_expired(clock)?;
        self.host.spend(clock, Work::Call, 0);
        Ok(())
    }

    /// The inode, from memory or from the filesystem.
    fn inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<&mut Inode, Error> {
        let known = self.inodes.get(&ino).is_some_and(|inode| !inode.stale);
        if !known {
            let attributes = self.fs.attributes(clock, ino)?;
            let dirty = self.cache.first_dirty(ino).is_some();
            let fresh = Inode { attributes, stale: false, size: 0, opens: 0, lost: None };
            let inode = self.inodes.entry(ino).or_insert(fresh);
            (inode.attributes, inode.stale) = (attributes, false);
            inode.size = if dirty { inode.size.max(attributes.size) } else { attributes.size };
        }
        self.inodes.get_mut(&ino).ok_or_else(|| Errno::Stale.into())
    }

    fn kind(&mut self, clock: &mut Clock, ino: Ino) -> Result<Kind, Error> {
        self.inode(clock, ino).map(|inode| inode.attributes.kind)
    }

    /// Notes that the filesystem would now say something else about `ino`.
    fn touch(&mut self, ino: Ino) {
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.stale = true;
        }
    }

    fn file(&self, fd: Fd) -> Result<Open, Error> {
        self.files.get(&fd).copied().ok_or_else(|| Errno::BadF.into())
    }

    fn open_inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<Fd, Error> {
        self.inode(clock, ino)?.opens += 1;
        let fd = Fd(self.next_fd);
        self.next_fd += 1;
        self.files.insert(fd, Open { ino, next_page: 0 });
        Ok(fd)
    }

    /// Opens what is there, a directory too (for an fsync).
    ///
    /// # Errors
    /// Those of resolving a path: ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EINVAL for a path that does
    /// not begin at the root, and those of the filesystem.
    pub fn open(&mut self, clock: &mut Clock, path: impl AsRef<[u8]>) -> Result<Fd, Error> {
        self.enter(clock)?;
        let ino = self.resolve(clock, path.as_ref(), walk::Last::Follow)?;
        self.open_inode(clock, ino)
    }

    /// Closes a file. What was written stays in the page cache. An inode whose last name went
    /// meanwhile goes now.
    ///
    /// # Errors
    /// EBADF, and those of the filesystem.
    pub fn close(&mut self, clock: &mut Clock, fd: Fd) -> Result<(), Error> {
        self.enter(clock)?;
        let ino = self.file(fd)?.ino;
        self.files.remove(&fd);
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.opens -= 1;
        }
        self.release(clock, ino)
    }

    /// What `stat` tells, of what a symbolic link leads to.
    ///
    /// # Errors
    /// As [`Mount::open`].
    pub fn stat(&mut self, clock: &mut Clock, path: impl AsRef<[u8]>) -> Result<Attributes, Error> {
        self.attributes(clock, path.as_ref(), walk::Last::Follow)
    }

    /// What `lstat` tells, of a symbolic link itself.
    ///
    /// # Errors
    /// As [`Mount::open`].
    pub fn lstat(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
    ) -> Result<Attributes, Error> {
        self.attributes(clock, path.as_ref(), walk::Last::Keep)
    }

    fn attributes(
        &mut self,
        clock: &mut Clock,
        path: &[u8],
        last: walk::Last,
    ) -> Result<Attributes, Error> {
        self.enter(clock)?;
        let ino = self.resolve(clock, path, last)?;
        self.attributes_of(clock, ino)
    }

    /// What `fstat` tells.
    ///
    /// # Errors
    /// EBADF, and those of the filesystem.
    pub fn fstat(&mut self, clock: &mut Clock, fd: Fd) -> Result<Attributes, Error> {
        self.enter(clock)?;
        let ino = self.file(fd)?.ino;
        self.attributes_of(clock, ino)
    }

    fn attributes_of(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        let inode = self.inode(clock, ino)?;
        let size =
            if inode.attributes.kind == Kind::File { inode.size } else { inode.attributes.size };
        Ok(Attributes { size, ..inode.attributes })
    }

    /// Lets go of an inode that nobody holds open and that has no names.
    fn release(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        if self.inodes.get(&ino).is_some_and(|inode| inode.opens > 0) {
            return Ok(());
        }
        match self.fs.attributes(clock, ino) {
            Ok(attributes) if attributes.links > 0 => Ok(()),
            Ok(_) => {
                self.cache.truncate(ino, 0);
                self.names.remove(&ino);
                self.inodes.remove(&ino);
                self.fs.forget(clock, ino)
            }
            Err(error) => Err(error),
        }
    }

    /// Free and used space.
    ///
    /// # Errors
    /// Those of the filesystem.
    pub fn statfs(&mut self, clock: &mut Clock) -> Result<Space, Error> {
        self.enter(clock)?;
        self.fs.statfs(clock)
    }

    /// Empties the caches of all that is neither open nor waits to be written, as writing 3 to
    /// `/proc/sys/vm/drop_caches` does.
    ///
    /// # Errors
    /// Those of the filesystem.
    pub fn drop_caches(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.enter(clock)?;
        self.cache.drop_clean();
        self.names.clear();
        let (cache, root) = (&self.cache, self.fs.root());
        let busy = |ino: Ino, inode: &Inode| {
            ino == root
                || inode.opens > 0
                || inode.lost.is_some()
                || cache.first_dirty(ino).is_some()
        };
        let idle = self.inodes.iter().filter(|&(&ino, inode)| !busy(ino, inode));
        for ino in idle.map(|(&ino, _)| ino).collect::<Vec<_>>() {
            self.inodes.remove(&ino);
            self.fs.forget(clock, ino)?;
        }
        Ok(())
    }

    /// Lets the filesystem do what it does in the background, step by step, until it has nothing
    /// more to do or `until` is reached. Says whether there is more to do.
    ///
    /// # Errors
    /// Those of the filesystem.
    pub fn background(&mut self, clock: &mut Clock, until: Option<Instant>) -> Result<bool, Error> {
        loop {
            if until.is_some_and(|until| clock.now() >= until) {
                return Ok(true);
            }
            self.flush_expired(clock)?;
            if !self.fs.background(clock)? {
                return Ok(false);
            }
        }
    }

    /// Lets time pass until an instant, with what happens in the background meanwhile.
    ///
    /// # Errors
    /// Those of the filesystem.
    pub fn idle(&mut self, clock: &mut Clock, until: Instant) -> Result<(), Error> {
        while self.background(clock, Some(until))? {
            if clock.now() >= until {
                return Ok(());
            }
        }
        while self.dirty() > Bytes::ZERO && self.next_flush < until {
            clock.advance_to(self.next_flush.max(clock.now()));
            self.flush_expired(clock)?;
        }
        clock.advance_to(until.max(clock.now()));
        Ok(())
    }

    /// Writes out everything; only [`Mount::into_fs`] may follow.
    ///
    /// # Errors
    /// EBUSY while files are open, and those of the filesystem.
    pub fn unmount(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.host.spend(clock, Work::Call, 0);
        if !self.files.is_empty() {
            return Err(Errno::Busy.into());
        }
        self.flush_all(clock)?;
        self.fs.unmount(clock)
    }
}
