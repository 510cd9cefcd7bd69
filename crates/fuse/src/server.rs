//! Answers the requests of a kernel.
//!
//! Layer: rank 9. Main types: [`Server`]; [`Store`], which makes durable what the filesystem wrote. Modules:
//! `server/names.rs` has the requests on names, `server/content.rs` those on bytes and on open files.
//!
//! A request names an inode by its node, which is its number; the root is node 1, as FUSE wants it.

mod content;
mod names;

use boardlab_sim::{Clock, Instant};
use boardlab_vfs::{
    Attributes, Entry, Errno, Error, Fd, FileSystem, Ino, Kind, Mount, NAME_MAX, StatFs,
    is_plain_name,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;

pub use names::Rename;

/// The node of the root directory.
const ROOT: u64 = 1;
/// Steps of background work that are done at once.
const STEPS: u32 = 8;

/// What lies below a filesystem and holds what it wrote.
pub trait Store: fmt::Debug + Send {
    /// Makes all that was written durable.
    ///
    /// # Errors
    /// It is not durable.
    fn sync(&mut self) -> io::Result<()>;

    /// Why nothing can be written any more.
    fn failure(&self) -> Option<String>;
}

/// Nothing that could fail.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoStore;

impl Store for NoStore {
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn failure(&self) -> Option<String> {
        None
    }
}

/// What a name leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    /// The node.
    pub node: u64,
    /// Differs between two inodes with the same number one after another.
    pub generation: u64,
    /// The attributes.
    pub attributes: Attributes,
}

/// An entry of an open directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// The name.
    pub name: Vec<u8>,
    /// The node.
    pub node: u64,
    /// The type byte (`DT_*`).
    pub kind: u8,
}

/// An open file or directory.
#[derive(Debug)]
enum Handle {
    File(Fd),
    Directory(Ino, Vec<Item>),
}

/// A directory and how it was reached.
#[derive(Debug)]
struct Reached {
    parent: Ino,
    name: Vec<u8>,
}

/// A filesystem that answers requests.
pub struct Server<F> {
    mount: Mount<F>,
    clock: Clock,
    /// The time that has passed since the filesystem was mounted.
    now: Box<dyn FnMut() -> Instant + Send>,
    store: Box<dyn Store>,
    read_only: bool,
    has_xattrs: bool,
    handles: BTreeMap<u64, Handle>,
    next_handle: u64,
    /// The directories that were looked up.
    reached: BTreeMap<Ino, Reached>,
    /// The generations of inodes that were created here.
    generations: BTreeMap<Ino, u64>,
    created: u64,
    /// Directories of which names are left out.
    left_out: BTreeSet<Ino>,
    /// What is to be told.
    notes: Vec<String>,
}

impl<F: fmt::Debug> fmt::Debug for Server<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("read_only", &self.read_only).finish_non_exhaustive()
    }
}

impl<F: FileSystem> Server<F> {
    /// Serves `mount`, which only answers reads if `read_only`. `now` tells the time that has passed since the
    /// clock began.
    #[must_use]
    pub fn new(
        mount: Mount<F>,
        clock: Clock,
        now: Box<dyn FnMut() -> Instant + Send>,
        store: Box<dyn Store>,
        read_only: bool,
    ) -> Self {
        let mut server = Self {
            mount,
            clock,
            now,
            store,
            read_only,
            has_xattrs: true,
            handles: BTreeMap::new(),
            next_handle: 1,
            reached: BTreeMap::new(),
            generations: BTreeMap::new(),
            created: 0,
            left_out: BTreeSet::new(),
            notes: Vec::new(),
        };
        server.has_xattrs = server.probes_xattrs();
        server
    }

    /// Whether the filesystem has extended attributes at all.
    #[must_use]
    pub const fn has_xattrs(&self) -> bool {
        self.has_xattrs
    }

    /// Whether it only answers reads.
    #[must_use]
    pub const fn is_read_only(&self) -> bool {
        self.read_only
    }

    fn probes_xattrs(&mut self) -> bool {
        let root = self.mount.by_inode().root();
        let probe = self.mount.by_inode().getxattr(&mut self.clock, root, b"user.boardlab");
        !matches!(probe, Err(Error::Refused(Errno::OpNotSupp)))
    }

    /// The inode of a node: the root is node 1, and what has number 1 besides is the node of its number.
    fn ino(&self, node: u64) -> Ino {
        let root = self.mount.fs().root();
        match node {
            ROOT => root,
            node if node == root.0 => Ino(ROOT),
            node => Ino(node),
        }
    }

    fn node(&self, ino: Ino) -> u64 {
        let root = self.mount.fs().root();
        match ino {
            ino if ino == root => ROOT,
            Ino(ROOT) => root.0,
            ino => ino.0,
        }
    }

    /// The time passes.
    fn enter(&mut self) {
        let now = (self.now)();
        if now > self.clock.now() {
            self.clock.advance_to(now);
        }
    }

    /// Begins a request that changes something.
    fn enter_to_change(&mut self) -> Result<(), Errno> {
        self.enter();
        if self.read_only {
            return Err(Errno::RoFs);
        }
        self.check_store()
    }

    /// What was done is a success only as long as all of it is in the store.
    fn check_store(&self) -> Result<(), Errno> {
        if self.store.failure().is_some() { Err(Errno::Io) } else { Ok(()) }
    }

    /// The end of a request that changed something.
    fn changed<T>(&self, result: Result<T, Error>) -> Result<T, Errno> {
        // A filesystem below which nothing can be written may say something else, or nothing.
        self.check_store()?;
        result.map_err(|error| errno(&error))
    }

    /// The attributes of an inode, as far as Linux can show them.
    fn attributes(&mut self, ino: Ino) -> Result<Attributes, Errno> {
        let found = self.mount.by_inode().stat(&mut self.clock, ino);
        let mut attributes = found.map_err(|error| errno(&error))?;
        if attributes.size > i64::MAX.unsigned_abs() {
            return Err(Errno::Overflow);
        }
        attributes.ino = Ino(self.node(ino));
        Ok(attributes)
    }

    /// The attributes of a node.
    ///
    /// # Errors
    /// ESTALE, EOVERFLOW for a size beyond those of Linux, EIO.
    pub fn getattr(&mut self, node: u64) -> Result<Attributes, Errno> {
        self.enter();
        let ino = self.ino(node);
        self.attributes(ino)
    }

    /// Free and used space.
    ///
    /// # Errors
    /// EIO.
    pub fn statfs(&mut self) -> Result<StatFs, Errno> {
        self.enter();
        self.mount.statfs(&mut self.clock).map_err(|error| errno(&error))
    }

    /// Makes everything durable.
    ///
    /// # Errors
    /// EIO, ENOSPC.
    pub fn sync(&mut self) -> Result<(), Errno> {
        self.enter();
        if self.read_only {
            return Ok(());
        }
        let synced = self.mount.sync(&mut self.clock);
        self.changed(synced)?;
        self.store.sync().map_err(|_| Errno::Io)
    }

    /// Lets old changes and background work be written, a few steps of it. The kernel asks nothing meanwhile.
    pub fn tick(&mut self) {
        self.enter();
        if self.read_only || self.store.failure().is_some() {
            return;
        }
        for _ in 0..STEPS {
            // What cannot be written is told by the next fsync.
            if !matches!(self.mount.background_step(&mut self.clock), Ok(true)) {
                break;
            }
        }
    }

    /// What is to be told since the last call: names that are left out, with their directory.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    /// Why nothing can be written any more.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.store.failure()
    }

    /// How many directories have names that are left out, as far as they were read.
    #[must_use]
    pub fn left_out(&self) -> usize {
        self.left_out.len()
    }

    /// Ends the mount: closes what is open, writes everything, unmounts the filesystem, and makes that durable.
    ///
    /// # Errors
    /// What could not be written, in words.
    pub fn finish(&mut self) -> Result<(), String> {
        self.enter();
        for handle in std::mem::take(&mut self.handles).into_values() {
            if let Handle::File(fd) = handle {
                // Without its names it is deleted, or else it is written below.
                let _ = self.mount.close(&mut self.clock, fd);
            }
        }
        if self.read_only {
            return Ok(());
        }
        let unmounted = self.mount.unmount(&mut self.clock).map_err(|error| error.to_string());
        if let Some(failure) = self.store.failure() {
            return Err(failure);
        }
        unmounted?;
        self.store.sync().map_err(|error| error.to_string())
    }

    /// The mounted filesystem.
    #[must_use]
    pub fn into_mount(self) -> Mount<F> {
        self.mount
    }
}

/// The number of an error. A power cut is none here: there is no flash whose power could fail.
fn errno(error: &Error) -> Errno {
    error.errno().unwrap_or(Errno::Io)
}

/// Whether an entry of an untrusted image has a name that the kernel may see.
fn is_shown(entry: &Entry) -> bool {
    is_plain_name(&entry.name) && entry.name.len() <= NAME_MAX
}

/// Whether an inode is a directory.
fn is_directory(attributes: &Attributes) -> bool {
    attributes.kind == Kind::Directory
}
