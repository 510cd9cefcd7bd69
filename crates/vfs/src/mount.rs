//! The kernel's layer above a filesystem: paths, open files, and a cache of names, inodes and pages.
//!
//! Layer: rank 2. Main types: [`Mount`], [`Fd`]. Modules: `mount/walk.rs` resolves paths,
//! `mount/names.rs` has the operations on names and attributes, `mount/content.rs` those on bytes,
//! `mount/write_back.rs` writes what is dirty; `mount/by_inode.rs` offers them by inode, to a caller that
//! resolves paths itself.
//!
//! It mirrors Linux 6.1: `fs/namei.c` (one component at a time, at most 40 links, checks of names and
//! renames), `fs/dcache.c` and `fs/inode.c` (names and inodes stay cached; an inode without names is
//! deleted when its last user closes it), `mm/filemap.c` (`generic_perform_write` splits a write into
//! pages and passes each to the filesystem; a partly changed page is read first), `fs/fs-writeback.c`.
//!
//! The host spends a [`Work::Call`] for every operation, a [`Work::Lookup`] for every component, a
//! [`Work::Page`] for every page touched, and a [`Work::Copy`] for its bytes. The filesystem
//! accounts for the rest itself, so the CPU time of a run is the sum of both.
//!
//! One deviation: there are no negative entries in the cache of names, so a failed lookup asks the
//! filesystem each time. Left out: users and permissions (everything runs as root), access times
//! (`noatime`), a limit on cached inodes ([`Mount::drop_caches`] drops them), locks.

mod by_inode;
mod content;
mod names;
mod walk;
mod write_back;

pub use by_inode::ByInode;
pub use walk::Place;

use crate::cache::{CacheCounts, Options, PageCache};
use crate::error::{Errno, Error};
use crate::filesystem::FileSystem;
use crate::host::{Host, Work};
use crate::node::{Attributes, Ino, Kind, StatFs};
use boardlab_sim::{Bytes, Clock, Duration, Instant};
use std::collections::BTreeMap;

/// An open file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fd(u32);

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OpenFlags {
    /// Every write makes its bytes and the inode durable before it returns (`O_SYNC`).
    pub sync: bool,
}

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
    /// Cached names, by directory.
    names: BTreeMap<Ino, BTreeMap<Vec<u8>, Ino>>,
    inodes: BTreeMap<Ino, Inode>,
    cache: PageCache,
    counts: CacheCounts,
    files: BTreeMap<Fd, Open>,
    next_fd: u32,
    /// When the flusher runs next.
    next_flush: Instant,
}

/// An inode in memory.
#[derive(Debug, Clone)]
struct Inode {
    /// The attributes that the filesystem returned last.
    attributes: Attributes,
    /// Whether they are out of date.
    stale: bool,
    /// The size of a file, including pages that are not written back yet.
    size: u64,
    /// How many open files refer to it.
    opens: u32,
    /// Whether it was created without a name and may still get one (`I_LINKABLE` in Linux).
    linkable: bool,
    /// Why dirty pages could not be written, until an fsync reports it.
    lost: Option<Error>,
}

/// An open file.
#[derive(Debug, Clone, Copy)]
struct Open {
    ino: Ino,
    /// The page after the last one read, where a sequential read continues.
    next_page: u64,
    flags: OpenFlags,
}

/// How often threads that wait for a time look whether it has come.
const TICK: Duration = Duration::from_millis(100);
/// Nobody waits longer than this for anything.
const QUIET: Duration = Duration::from_secs(60);

impl<F: FileSystem> Mount<F> {
    /// Mounts `fs` on a host that takes no time, with the default page cache.
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

    /// The filesystem. Direct changes bypass the caches, so the changed objects must not be cached.
    pub const fn fs_mut(&mut self) -> &mut F {
        &mut self.fs
    }

    /// Returns the filesystem; dirty pages are lost.
    #[must_use]
    pub fn into_fs(self) -> F {
        self.fs
    }

    /// The CPU work of the layer above the filesystem.
    #[must_use]
    pub const fn host(&self) -> &Host {
        &self.host
    }

    /// As [`Mount::host`], to reset its totals.
    pub const fn host_mut(&mut self) -> &mut Host {
        &mut self.host
    }

    /// The counters of the page cache.
    #[must_use]
    pub const fn cache_counts(&self) -> CacheCounts {
        self.counts
    }

    /// Bytes of cached pages.
    #[must_use]
    pub fn cached_bytes(&self) -> Bytes {
        self.cache.bytes()
    }

    /// Bytes of dirty pages.
    #[must_use]
    pub fn dirty_bytes(&self) -> Bytes {
        self.cache.dirty_bytes()
    }

    /// Begins a system call; the flusher may be due.
    fn enter(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.flush_expired(clock)?;
        self.host.spend(clock, Work::Call, 0);
        Ok(())
    }

    /// The inode, from memory or from the filesystem.
    fn inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<&mut Inode, Error> {
        let known = self.inodes.get(&ino).is_some_and(|inode| !inode.stale);
        if !known {
            let attributes = self.ask(clock, |fs, clock| fs.getattr(clock, ino))?;
            let dirty = self.cache.first_dirty(ino).is_some();
            let fresh =
                Inode { attributes, stale: false, size: 0, opens: 0, linkable: false, lost: None };
            let inode = self.inodes.entry(ino).or_insert(fresh);
            (inode.attributes, inode.stale) = (attributes, false);
            inode.size = if dirty { inode.size.max(attributes.size) } else { attributes.size };
        }
        self.inodes.get_mut(&ino).ok_or_else(|| Errno::Stale.into())
    }

    fn kind(&mut self, clock: &mut Clock, ino: Ino) -> Result<Kind, Error> {
        self.inode(clock, ino).map(|inode| inode.attributes.kind)
    }

    /// Marks the cached attributes of `ino` as out of date.
    fn invalidate_attributes(&mut self, ino: Ino) {
        if let Some(inode) = self.inodes.get_mut(&ino) {
            inode.stale = true;
        }
    }

    fn file(&self, fd: Fd) -> Result<Open, Error> {
        self.files.get(&fd).copied().ok_or_else(|| Errno::BadF.into())
    }

    /// Whether every write to an open file is durable before it returns.
    #[must_use]
    pub fn is_sync(&self, fd: Fd) -> bool {
        self.files.get(&fd).is_some_and(|open| open.flags.sync)
    }

    fn open_inode(&mut self, clock: &mut Clock, ino: Ino, flags: OpenFlags) -> Result<Fd, Error> {
        self.inode(clock, ino)?.opens += 1;
        let fd = Fd(self.next_fd);
        self.next_fd += 1;
        self.files.insert(fd, Open { ino, next_page: 0, flags });
        Ok(fd)
    }

    /// Opens an existing file or directory (for an fsync).
    ///
    /// # Errors
    /// Those of resolving a path: ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EINVAL for a path that does
    /// not begin at the root, and those of the filesystem.
    pub fn open(&mut self, clock: &mut Clock, path: impl AsRef<[u8]>) -> Result<Fd, Error> {
        self.open_with(clock, path, OpenFlags::default())
    }

    /// As [`Mount::open`], with flags.
    ///
    /// # Errors
    /// As [`Mount::open`].
    pub fn open_with(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
        flags: OpenFlags,
    ) -> Result<Fd, Error> {
        self.enter(clock)?;
        let ino = self.resolve(clock, path.as_ref(), walk::FinalSymlink::Follow)?;
        self.open_inode(clock, ino, flags)
    }

    /// Closes a file. Written data stay in the page cache. An inode without names is deleted with
    /// its last open file.
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
        let closed = self.ask(clock, |fs, clock| fs.closed(clock, ino));
        if closed.as_ref().is_ok_and(|&changed| changed) {
            self.invalidate_attributes(ino);
        }
        self.release(clock, ino).and(closed.map(drop))
    }

    /// The attributes of `path`; symbolic links are followed.
    ///
    /// # Errors
    /// As [`Mount::open`].
    pub fn stat(&mut self, clock: &mut Clock, path: impl AsRef<[u8]>) -> Result<Attributes, Error> {
        self.stat_path(clock, path.as_ref(), walk::FinalSymlink::Follow)
    }

    /// The attributes of `path`; a symbolic link at its end is not followed.
    ///
    /// # Errors
    /// As [`Mount::open`].
    pub fn lstat(
        &mut self,
        clock: &mut Clock,
        path: impl AsRef<[u8]>,
    ) -> Result<Attributes, Error> {
        self.stat_path(clock, path.as_ref(), walk::FinalSymlink::NoFollow)
    }

    fn stat_path(
        &mut self,
        clock: &mut Clock,
        path: &[u8],
        last: walk::FinalSymlink,
    ) -> Result<Attributes, Error> {
        self.enter(clock)?;
        let ino = self.resolve(clock, path, last)?;
        self.stat_inode(clock, ino)
    }

    /// The attributes of an open file.
    ///
    /// # Errors
    /// EBADF, and those of the filesystem.
    pub fn fstat(&mut self, clock: &mut Clock, fd: Fd) -> Result<Attributes, Error> {
        self.enter(clock)?;
        let ino = self.file(fd)?.ino;
        self.stat_inode(clock, ino)
    }

    fn stat_inode(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        let inode = self.inode(clock, ino)?;
        let size =
            if inode.attributes.kind == Kind::File { inode.size } else { inode.attributes.size };
        Ok(Attributes { size, ..inode.attributes })
    }

    /// Evicts an inode that nobody holds open and that has no names.
    fn release(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        if self.inodes.get(&ino).is_some_and(|inode| inode.opens > 0) {
            return Ok(());
        }
        let attributes = self.ask(clock, |fs, clock| fs.getattr(clock, ino))?;
        if attributes.links > 0 {
            return Ok(());
        }
        self.truncate_cache(ino, 0);
        self.cache.mark_inode_clean(ino);
        self.names.remove(&ino);
        self.inodes.remove(&ino);
        self.ask(clock, |fs, clock| fs.evict_inode(clock, ino))
    }

    /// Free and used space.
    ///
    /// # Errors
    /// Those of the filesystem.
    pub fn statfs(&mut self, clock: &mut Clock) -> Result<StatFs, Error> {
        self.enter(clock)?;
        self.ask(clock, FileSystem::statfs)
    }

    /// Drops everything from the caches that is neither open nor dirty, as writing 3 to
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
            ino == root || inode.opens > 0 || inode.lost.is_some() || cache.is_dirty(ino)
        };
        let idle = self.inodes.iter().filter(|&(&ino, inode)| !busy(ino, inode));
        for ino in idle.map(|(&ino, _)| ino).collect::<Vec<_>>() {
            self.inodes.remove(&ino);
            self.ask(clock, |fs, clock| fs.evict_inode(clock, ino))?;
        }
        self.fs.shrink(clock);
        Ok(())
    }

    /// Runs the filesystem's background work step by step, until nothing is left to do or `until`
    /// is reached. Returns whether there is more to do.
    ///
    /// # Errors
    /// Those of the filesystem.
    pub fn background(&mut self, clock: &mut Clock, until: Option<Instant>) -> Result<bool, Error> {
        loop {
            if until.is_some_and(|until| clock.now() >= until) {
                return Ok(true);
            }
            if !self.background_step(clock)? {
                return Ok(false);
            }
        }
    }

    /// Does one step of [`Mount::background`]. Returns whether there is more to do.
    ///
    /// # Errors
    /// Those of the filesystem.
    pub fn background_step(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        self.flush_expired(clock)?;
        self.ask(clock, FileSystem::background)
    }

    /// Lets time pass until an instant, with the background work that becomes due meanwhile.
    ///
    /// # Errors
    /// Those of the filesystem.
    pub fn idle(&mut self, clock: &mut Clock, until: Instant) -> Result<(), Error> {
        let mut last_work = clock.now();
        loop {
            let begun = clock.now();
            self.background(clock, Some(until))?;
            let now = clock.now();
            if now >= until {
                return Ok(());
            }
            if now > begun {
                last_work = now;
            }
            let mut next = until.min(now + TICK);
            if !self.cache.is_clean() && self.next_flush > now {
                next = next.min(self.next_flush);
            } else if self.cache.is_clean() && now.since(last_work) >= QUIET {
                next = until;
            }
            clock.advance_to(next);
        }
    }

    /// Writes everything to the flash; only [`Mount::into_fs`] may follow.
    ///
    /// # Errors
    /// EBUSY while files are open, and those of the filesystem.
    pub fn unmount(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.host.spend(clock, Work::Call, 0);
        if !self.files.is_empty() {
            return Err(Errno::Busy.into());
        }
        self.flush_all(clock)?;
        self.ask(clock, FileSystem::unmount)
    }
}
