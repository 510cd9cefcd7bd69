//! UBIFS, the flash filesystem of Linux on UBI volumes, on any [`Lebs`].
//!
//! Layer: rank 5. It mirrors Linux 6.1: the same bytes on flash, the same order of writes, the same choices
//! of LEBs. In reading order:
//!
//! - [`mod@format`]: the bytes on flash, one file a kind of node; [`layout`]: the areas of a volume and all
//!   constants; [`superblock`](read_superblock), `master`, `log`: where everything begins.
//! - [`volume`]: [`Volume`], all tables of a mounted volume; [`options`], [`error`].
//! - `io`, `wbuf`, `scan`: nodes read, written through the buffers of journal heads, and found in a LEB.
//! - `tnc`: the index and its commit. `lpt`, `lprops`, `find`: free and dirty space of every
//!   LEB, and the choice of one.
//! - `budget`: whether what is dirty will fit; `journal`: the groups of nodes that operations write;
//!   `dir`, `file`, `xattr`, `inode`, `compress`: the operations.
//! - `gc`, `commit`, `orphan`: space collected, the journal emptied. [`mount`], `replay`, `recovery`: what
//!   a mount does, after a power cut too.
//! - [`past`]: the trees of older commits, as far as they stand; [`remains`]: what is left of deleted files.
//! - [`mkfs`]: a new filesystem with its files, as `mkfs.ubifs` makes it.
//! - [`check`]: the kernel's own checks of all of it, for tests and tools; `ram`: the memory of a 32-bit
//!   kernel; `fs`: the trait [`FileSystem`](boardlab_vfs::FileSystem).
//!
//! ```
//! use boardlab_sim::Clock;
//! use boardlab_ubi::{RamLebs, Shape};
//! use boardlab_ubifs::{Options, Ubifs};
//! use boardlab_vfs::{FileSystem, Kind, NewInode};
//!
//! // An empty volume on NAND with pages of 2 KiB: the first mount makes a filesystem.
//! let shape = Shape {
//!     leb_count: 64,
//!     leb_size: 126_976,
//!     leb_start: 4_096,
//!     min_io: 2_048,
//!     max_write: 2_048,
//! };
//! let mut clock = Clock::new();
//! let mut fs = Ubifs::mount(&mut clock, RamLebs::new(shape), Options::default())?;
//! let root = fs.root();
//! let new = NewInode::of(Kind::Directory, 0o755);
//! let made = fs.create(&mut clock, root, b"logs", &new)?;
//! fs.unmount(&mut clock)?;
//!
//! let lebs = fs.into_lebs();
//! let mut again = Ubifs::mount(&mut clock, lebs, Options::default())?;
//! assert_eq!(again.lookup(&mut clock, root, b"logs")?, made);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The key decision is that one thing happens at a time: a commit is one step, so nothing that it writes
//! can change meanwhile, and the kernel's copies of nodes in a commit have no counterpart.
//!
//! Left out on purpose: encryption and authentication (such images are refused by name), whiteouts,
//! exchange of names, ioctls, and the kernel's locks.

mod budget;
pub mod check;
mod commit;
mod compress;
mod dir;
pub mod error;
mod file;
mod find;
pub mod format;
mod fs;
mod gc;
mod inode;
mod io;
mod journal;
pub mod layout;
mod log;
mod lprops;
mod lpt;
mod master;
pub mod mkfs;
pub mod mount;
pub mod options;
mod orphan;
pub mod past;
mod ram;
mod recovery;
pub mod remains;
mod replay;
mod scan;
mod superblock;
#[cfg(test)]
mod test_volume;
mod tnc;
pub mod volume;
mod wbuf;
mod xattr;

pub use error::{Error, MountError};
pub use options::{Checks, Compressor, Mistake, Options, Profile};
pub use past::History;
pub use superblock::read_superblock;
pub use volume::Volume;

pub(crate) use boardlab_ubi::{LebIndex, Lebs};

/// A mounted UBIFS.
#[derive(Debug, Clone)]
pub struct Ubifs<L> {
    pub(crate) volume: Volume<L>,
}

impl<L> Ubifs<L> {
    /// The mounted volume with all tables about it.
    #[must_use]
    pub const fn volume(&self) -> &Volume<L> {
        &self.volume
    }

    /// Returns the LEBs. What the write buffers hold is lost: unmount first.
    #[must_use]
    pub fn into_lebs(self) -> L {
        self.volume.lebs
    }

    /// Whether the last unmount was not clean, and the recovery waits for a writable mount.
    #[must_use]
    pub const fn needs_recovery(&self) -> bool {
        self.volume.mode.need_recovery
    }

    /// The LEBs.
    #[must_use]
    pub const fn lebs(&self) -> &L {
        &self.volume.lebs
    }

    /// The LEBs. UBIFS does not notice direct changes.
    pub const fn lebs_mut(&mut self) -> &mut L {
        &mut self.volume.lebs
    }
}
