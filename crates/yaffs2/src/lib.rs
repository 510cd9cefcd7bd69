//! YAFFS1 and YAFFS2, on any [`Mtd`](boardlab_mtd::Mtd).
//!
//! Layer: rank 5. It mirrors the public sources of 2026-06-29 (commit 474b3acb): the same bytes on flash, and
//! the same operations in the same order. In reading order:
//!
//! - [`mod@format`]: the bytes on flash, one file a structure; [`options`], [`error`].
//! - [`layout`]: the numbers of a flash; `flash`: chunks with their tags; [`block`]: erase blocks; `object` and
//!   `tree`: objects, directories and files in memory.
//! - `alloc`, `summary`: where chunks go; `update`: object headers; `cache`, `file`: content; `dir`: names.
//! - `gc`: garbage collection. `checkpoint`: all tables on flash. [`mount`], `scan` (YAFFS2), `scan1` (YAFFS1).
//! - `ram`: the memory of a 32-bit kernel; `tables`: checks of the tables, for tests; `fs`: the trait
//!   [`FileSystem`](boardlab_vfs::FileSystem).
//!
//! ```
//! use boardlab_mtd::RamMtd;
//! use boardlab_sim::{Bytes, Clock};
//! use boardlab_vfs::{FileSystem, Kind, NewInode};
//! use boardlab_yaffs2::{Options, Yaffs};
//!
//! // An erased flash is an empty filesystem.
//! let flash = RamMtd::nand(64, 64, Bytes::kib(2), Bytes::new(64));
//! let mut clock = Clock::new();
//! let mut fs = Yaffs::mount(&mut clock, flash, Options::default())?;
//! let root = fs.root();
//! let new = NewInode::of(Kind::Directory, 0o755);
//! let made = fs.create(&mut clock, root, b"logs", &new)?;
//! fs.unmount(&mut clock)?;
//!
//! let mut again = Yaffs::mount(&mut clock, fs.into_device(), Options::default())?;
//! assert_eq!(again.lookup(&mut clock, root, b"logs")?, made);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The key decision is the one of YAFFS: a directory is on no flash. Every object names its directory, so
//! a mount must see the header of every object, or a checkpoint.
//!
//! Left out on purpose: Unicode and case-insensitive names, narrow nodes of trees with groups of chunks, and the
//! page that the sources program by mistake when a checkpoint finds no room.

mod alloc;
mod attr;
pub mod block;
mod cache;
mod checkpoint;
mod dir;
pub mod error;
mod file;
mod flash;
pub mod format;
mod fs;
mod gc;
pub mod layout;
pub mod mount;
mod object;
pub mod options;
mod ram;
mod scan;
mod scan1;
mod summary;
mod tables;
mod tree;
mod update;

pub use attr::special_kind;
pub use error::{Error, MountError};
pub use layout::Layout;
pub use mount::Findings;
pub use options::{Mistake, Options, TagsPlace, Version, Word};

use crate::format::UNLINKED;
use boardlab_sim::{Clock, Instant};
use boardlab_vfs::Host;
use object::Slot;

/// A mounted YAFFS.
#[derive(Debug, Clone)]
pub struct Yaffs<M> {
    pub(crate) device: M,
    pub(crate) options: Options,
    pub(crate) host: Host,
    pub(crate) layout: Layout,
    pub(crate) blocks: block::Blocks,
    pub(crate) objects: object::Objects,
    pub(crate) nodes: tree::NodeCount,
    pub(crate) cache: cache::ShortOps,
    pub(crate) space: alloc::Space,
    pub(crate) collector: gc::Collector,
    pub(crate) checkpoint: checkpoint::Checkpoint,
    /// The summary of the present block, as far as it is written.
    pub(crate) summary: Vec<u8>,
    pub(crate) dirs: mount::Directories,
    /// Directories whose times wait to be written, the last that was touched last.
    pub(crate) waiting: Vec<Slot>,
    /// Objects that something above has in memory, the newest last.
    pub(crate) inodes: Vec<Slot>,
    /// Objects that took the place of others when the power failed, and the numbers of those.
    pub(crate) shadows: Vec<(Slot, u32)>,
    /// Files with data behind the size in their headers, and that size.
    pub(crate) extended: Vec<(Slot, u64)>,
    pub(crate) findings: Findings,
    pub(crate) counts: Counts,
    /// A page, for tags in band.
    pub(crate) page: Vec<u8>,
    /// Buffers of a chunk that nobody uses.
    pub(crate) buffers: Vec<Vec<u8>>,
    /// Whether anything was written since the last sync.
    pub(crate) changed: bool,
    /// When the background writes directories and collects garbage next.
    pub(crate) next_directories: Instant,
    pub(crate) next_collection: Instant,
}

/// Counts of a mounted YAFFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Steps of garbage collection, and those without haste.
    pub collections: u64,
    /// Of them those without haste.
    pub passive_collections: u64,
    /// Chunks that collections moved.
    pub copies: u64,
    /// Blocks that were moved for their age.
    pub refreshes: u64,
    /// Writes that were tried again in another block.
    pub retried_writes: u64,
    /// Blocks that were marked bad.
    pub retired_blocks: u64,
    /// Erases that failed.
    pub erase_failures: u64,
    /// Chunks in the cache for which there was no room when they were written: their data are lost.
    pub lost_cache_writes: u64,
}

impl<M> Yaffs<M> {
    /// The numbers that follow from the geometry.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The erase blocks.
    #[must_use]
    pub const fn blocks(&self) -> &block::Blocks {
        &self.blocks
    }

    /// What the mount found besides valid chunks.
    #[must_use]
    pub const fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Whether the object with a number has a header on the flash, as far as the mount found one.
    #[must_use]
    pub fn knows_header_of(&self, object: u32) -> bool {
        self.objects.find(object).is_some_and(|slot| self.objects.get(slot).header > 0)
    }

    /// What was done since the mount.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Whether the tables in memory are also in a checkpoint on the flash.
    #[must_use]
    pub const fn is_checkpointed(&self) -> bool {
        self.checkpoint.valid
    }

    /// Returns the flash. What the cache holds is lost: unmount first.
    #[must_use]
    pub fn into_device(self) -> M {
        self.device
    }

    /// The flash.
    #[must_use]
    pub const fn device(&self) -> &M {
        &self.device
    }

    /// The flash. YAFFS does not notice direct changes.
    pub const fn device_mut(&mut self) -> &mut M {
        &mut self.device
    }

    pub(crate) fn in_band(&self) -> bool {
        self.options.tags == TagsPlace::InBand
    }

    /// The calendar time in seconds.
    pub(crate) fn now(&self, clock: &Clock) -> i64 {
        self.options.wall.at(clock.now()).seconds
    }

    /// A buffer of a chunk; its content is arbitrary.
    pub(crate) fn buffer(&mut self) -> Vec<u8> {
        self.buffers.pop().unwrap_or_else(|| vec![0xFF; self.layout.chunk])
    }

    pub(crate) fn give_back(&mut self, buffer: Vec<u8>) {
        self.buffers.push(buffer);
    }

    /// A chunk of an object that cannot be read.
    pub(crate) fn damaged(&self, chunk: layout::Chunk, object: u32) -> Error {
        Error::Chunk { page: self.layout.page_of(chunk).0, object }
    }

    /// Whether an object is in the directory of those without a name.
    pub(crate) fn is_unlinked(&self, slot: Slot) -> bool {
        let parent = self.objects.get(slot).parent;
        parent.is_some_and(|parent| self.objects.get(parent).id == UNLINKED)
    }
}
