//! JFFS2, the log-structured flash filesystem of Linux, on any [`Mtd`](boardlab_mtd::Mtd).
//!
//! Layer: rank 5. It mirrors Linux 6.1: the same bytes on flash, the same accounting, the same
//! reads at mount and after. [`Profile`] says where 2.6.20 to 2.6.26 differ. In reading order:
//!
//! - [`format`]: the bytes on flash, one file a kind of node.
//! - [`block`]: erase blocks, the nodes in them, their accounting and lists.
//! - [`index`]: the state of every inode; [`inode`]: an open one; [`fragments`]: the content of a
//!   file as fragments of nodes; [`xattr`]: extended attributes.
//! - [`volume`]: [`Volume`], a mounted flash; [`options`]: the mount options; [`error`].
//! - [`scan`] and [`mount`]: where the nodes are, and which inodes have names; [`check`]: the check
//!   of all data that follows in the background. `read_inode`, `read`, `open`, `xattr_read`:
//!   reading inodes, content, names and attributes on demand.
//! - [`audit`]: damaged nodes and the inodes that they affect, for tools that examine an image.
//! - [`remains`]: what is left of deleted files, for the same tools; [`usage`]: which settings the nodes show.
//! - [`compress`]: which compressors are tried and which is chosen; [`summary_builder`]: the
//!   summary of the block being written; [`wbuf`]: the write buffer (NAND).
//! - [`mkfs`]: a new filesystem with its files.
//! - [`ram`]: the memory use of a 32-bit kernel; `fs`: the trait
//!   [`FileSystem`](boardlab_vfs::FileSystem); `tables`: consistency checks of the tables in
//!   memory, for tests.
//!
//! ```
//! use boardlab_jffs2::{Jffs2, Options};
//! use boardlab_mtd::{Mtd, RamMtd};
//! use boardlab_sim::{Bytes, Clock};
//! use boardlab_vfs::FileSystem;
//!
//! // An image of mkfs.jffs2, on a NOR of erase blocks of 8 KiB.
//! let image = include_bytes!("../tests/images/nor-little.img");
//! let (mut flash, mut clock) = (RamMtd::nor(8, Bytes::kib(8)), Clock::new());
//! flash.program(&mut clock, Bytes::ZERO, image)?;
//!
//! let mut fs = Jffs2::mount(&mut clock, flash, Options::default())?;
//! let root = fs.root();
//! let file = fs.lookup(&mut clock, root, b"text")?;
//! let mut page = vec![0; 4096];
//! fs.read_page(&mut clock, file, 0, &mut page)?;
//! assert!(page.starts_with(b"the flash filesystem writes nodes in a log"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The key decision is the kernel's: 16 bytes are kept of every node on flash (8 in the kernel),
//! and everything else is read again on demand. So a mount is quick and the first `ls` is not.
//!
//! Left out on purpose: quotas, the Rubin compressors (never chosen by Linux, not read here
//! either), export over NFS, and the kernel's locks: here one thing happens at a time.

mod acl;
mod alloc;
mod attr;
pub mod audit;
pub mod block;
pub mod check;
pub mod compress;
mod dangling;
mod dir;
mod erase;
pub mod error;
mod flash;
pub mod format;
pub mod fragments;
mod fs;
mod gc;
mod hold;
pub mod index;
pub mod inode;
pub mod mkfs;
pub mod mount;
mod names;
mod obsolete;
mod open;
pub mod options;
pub mod ram;
mod read;
mod read_inode;
pub mod remains;
pub mod scan;
pub mod summary_builder;
mod tables;
mod ticks;
pub mod usage;
pub mod volume;
pub mod wbuf;
mod write;
pub mod xattr;
mod xattr_read;
mod xattr_write;

pub use audit::Audit;
pub use error::Error;
pub use mount::MountError;
pub use options::{Compression, CompressionMode, Mistake, Options, Profile};
pub use volume::Volume;

use inode::OpenInode;
use scan::Findings;
use std::collections::BTreeMap;

/// A mounted JFFS2.
#[derive(Debug, Clone)]
pub struct Jffs2<M> {
    /// The flash and all tables about it.
    pub(crate) volume: Volume<M>,
    /// The open inodes, by number.
    pub(crate) open: BTreeMap<u32, OpenInode>,
    /// What the scan found besides valid nodes.
    pub(crate) findings: Findings,
}

impl<M> Jffs2<M> {
    /// The flash and all tables about it.
    #[must_use]
    pub const fn volume(&self) -> &Volume<M> {
        &self.volume
    }

    /// What the scan found besides valid nodes.
    #[must_use]
    pub const fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Whether the mount is read-only: by choice, or because a node on the flash demands it.
    #[must_use]
    pub const fn is_read_only(&self) -> bool {
        self.volume.read_only
    }

    /// Returns the flash. The content of the write buffer is lost: unmount first.
    #[must_use]
    pub fn into_device(self) -> M {
        self.volume.device
    }

    /// The flash.
    #[must_use]
    pub const fn device(&self) -> &M {
        &self.volume.device
    }

    /// The flash. JFFS2 does not notice direct changes.
    pub const fn device_mut(&mut self) -> &mut M {
        &mut self.volume.device
    }
}
