//! LogFS, on any [`Mtd`](boardlab_mtd::Mtd).
//!
//! Layer: rank 5. It mirrors LogFS as it was in Linux 2.6.35 to 4.9 (source: 3.12): the same bytes on flash,
//! and the same operations in the same order, but for what loses data: see [`Options::faithful`]. In reading
//! order:
//!
//! - [`mod@format`]: the bytes on flash, one file a structure; [`options`], [`error`].
//! - [`layout`]: the numbers of a filesystem; `media`: pages of the flash in memory; `block`: blocks in memory
//!   and their changed words; `space`: what is free, and what will be after the next commit.
//! - `store`: segments and objects in them; `segfile`: the file with an entry for each segment; `tree`: from an
//!   inode to its blocks; `truncate`; `inode`, `ifile`, `file`, `transaction`, `dir`: what the names say.
//! - [`remains`]: what is left of deleted files.
//! - `journal`: commits. `gc`: garbage collection and wear levelling. [`mount`], [`mkfs`].
//! - `ram`: the memory of a 32-bit kernel; `tables`: checks of the tables, and [`audit`] of all objects; `fs`: the
//!   trait [`FileSystem`](boardlab_vfs::FileSystem).
//!
//! ```
//! use boardlab_logfs::{Logfs, Options, mkfs::Format};
//! use boardlab_mtd::RamMtd;
//! use boardlab_sim::{Bytes, Clock};
//! use boardlab_vfs::{FileSystem, Kind, NewInode};
//!
//! let mut flash = RamMtd::nand(64, 64, Bytes::kib(2), Bytes::new(64));
//! let mut clock = Clock::new();
//! Format::default().make(&mut clock, &mut flash)?;
//! let mut fs = Logfs::mount(&mut clock, flash, Options::default())?;
//! let root = fs.root();
//! let made = fs.create(&mut clock, root, b"logs", &NewInode::of(Kind::Directory, 0o755))?;
//! fs.unmount(&mut clock)?;
//!
//! let mut again = Logfs::mount(&mut clock, fs.into_device(), Options::default())?;
//! assert_eq!(again.lookup(&mut clock, root, b"logs")?, made);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The key decision is the one of LogFS: everything is in a tree whose root the journal has, down to the
//! inodes and the counts of segments, so that a mount reads a few pages, however large the flash is.
//!
//! Left out on purpose: block devices, and extended attributes, which LogFS has not.

pub mod audit;
mod block;
mod dir;
pub mod error;
mod file;
pub mod format;
mod fs;
mod gc;
mod ifile;
mod inode;
mod journal;
pub mod layout;
mod media;
pub mod mkfs;
pub mod mount;
pub mod options;
mod ram;
pub mod remains;
mod segfile;
mod space;
mod store;
mod tables;
mod transaction;
mod tree;
mod truncate;

pub use error::{Damage, Error, MountError, What};
pub use layout::Layout;
pub use mount::Findings;
pub use options::{Mistake, Options};

use boardlab_codec::zlib::{Inflate, ZlibDeflate};
use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::{Host, Ino};
use format::Superblock;
use std::collections::{BTreeMap, BTreeSet};

/// A mounted LogFS.
#[derive(Debug, Clone)]
pub struct Logfs<M> {
    pub(crate) media: media::Media<M>,
    pub(crate) options: Options,
    pub(crate) host: Host,
    pub(crate) layout: Layout,
    pub(crate) superblock: Superblock,
    /// The segments of both superblocks.
    pub(crate) superblock_segments: [u32; 2],
    /// The inodes in memory; the master and the segment file always are.
    pub(crate) inodes: BTreeMap<u64, inode::Inode>,
    pub(crate) nodes: block::Nodes,
    pub(crate) aliases: block::Aliases,
    pub(crate) space: space::Space,
    /// The segments that are being written, by level; that of the journal is the last.
    pub(crate) areas: [store::Area; format::AREAS + 1],
    pub(crate) journal: journal::Journal,
    pub(crate) collector: gc::Collector,
    pub(crate) numbers: inode::Numbers,
    pub(crate) pending: transaction::Pending,
    /// Segments in which a program failed, and which are not replaced yet.
    pub(crate) failing: Vec<u32>,
    /// Inodes that became dirty and that the cache above does not know of yet.
    pub(crate) dirtied: Vec<Ino>,
    /// Inodes without a name that nobody has open, which a collection met.
    pub(crate) orphans: Vec<u64>,
    pub(crate) findings: Findings,
    pub(crate) counts: Counts,
    pub(crate) deflate: ZlibDeflate,
    pub(crate) inflate: Inflate,
    /// Whether anything was written since the last commit.
    pub(crate) changed: bool,
    /// Whether an error made the filesystem read-only.
    pub(crate) failed: bool,
    /// Segments that could not be erased or programmed since the mount.
    pub(crate) worn_out: BTreeSet<u32>,
}

/// Counts of a mounted LogFS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Commits.
    pub commits: u64,
    /// Objects that were written.
    pub objects: u64,
    /// Segments that garbage collection emptied.
    pub collections: u64,
    /// Objects that it moved.
    pub moves: u64,
    /// Segments that wear levelling emptied.
    pub wear_moves: u64,
    /// How often the journal moved to other segments.
    pub journal_moves: u64,
    /// Segments that turned bad.
    pub bad_segments: u64,
    /// Blocks that were written for the sake of their changed words.
    pub written_back: u64,
    /// Inodes without a name that a collection found and deleted.
    pub orphans: u64,
    /// Entries of the segment file whose number of valid bytes was wrong.
    pub corrected_entries: u64,
}

impl<M: Mtd> Logfs<M> {
    /// The numbers that do not change.
    #[must_use]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The number of segments that could not be erased or programmed since the mount, those of the journal included.
    ///
    /// # Panics
    /// Never: a flash has fewer than 2^32 segments.
    #[must_use]
    pub fn failed_segments(&self) -> u32 {
        u32::try_from(self.worn_out.len()).expect("segment numbers are u32")
    }

    /// The segments of the journal.
    pub fn journal_segments(&self) -> impl Iterator<Item = u32> + '_ {
        self.journal.segments.iter().copied().filter(|&segment| segment > 0)
    }

    /// The superblock.
    #[must_use]
    pub const fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// What the mount found.
    #[must_use]
    pub const fn findings(&self) -> &Findings {
        &self.findings
    }

    /// What was done since the mount.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Bytes that are written, and that `statfs` counts as free until the next commit.
    #[must_use]
    pub const fn uncounted(&self) -> Bytes {
        Bytes::new(self.space.taken.saturating_sub(self.space.freed))
    }

    /// Returns the flash. What is not committed is lost: unmount first.
    #[must_use]
    pub fn into_device(self) -> M {
        self.media.device
    }

    /// The flash.
    #[must_use]
    pub const fn device(&self) -> &M {
        &self.media.device
    }

    /// The flash. LogFS does not notice direct changes.
    pub const fn device_mut(&mut self) -> &mut M {
        &mut self.media.device
    }

    /// Whether new files of the root directory are compressed; not where that cannot be read.
    pub fn is_compressed(&mut self, clock: &mut Clock) -> bool {
        self.get(clock, format::ROOT).is_ok_and(|root| root.is_compressed())
    }

    /// The calendar time in nanoseconds.
    pub(crate) fn now(&self, clock: &Clock) -> u64 {
        let now = self.options.wall.at(clock.now());
        inode::nanoseconds(now)
    }

    pub(crate) fn is_mistaken(&self, mistake: Mistake) -> bool {
        self.options.mistake == Some(mistake)
    }

    /// Forgets blocks and pages that can be read again, beyond what the cache may hold.
    pub(crate) fn trim(&mut self) {
        let limit = self.options.cache.to_usize() / format::BLOCK;
        self.nodes.trim(limit.max(16), &self.aliases);
    }
}
