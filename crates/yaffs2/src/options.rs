//! The mount options and the differences between versions.
//!
//! Layer: rank 5. Main types: [`Options`], [`TagsPlace`], [`Version`], [`Mistake`]. Source: `struct yaffs_param` in
//! `core/yaffs_guts.h`, and the module of Linux (`fs/yaffs2/yaffs_vfs.c`).

use crate::format::ByteOrder;
use crate::format::tags1::Layout1;
use boardlab_vfs::{Host, WallClock};

/// The mount options.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where the tags of a chunk are; also whether it is YAFFS1 or YAFFS2.
    pub tags: TagsPlace,
    /// The byte order of everything on flash.
    pub byte_order: ByteOrder,
    /// The cost model of the CPU.
    pub host: Host,
    /// The calendar time.
    pub wall: WallClock,
    /// Whether the mount is read-only.
    pub read_only: bool,
    /// Blocks kept for garbage collection (`n_reserved_blocks`).
    pub reserved_blocks: u32,
    /// Chunks of the cache of short operations (`n_caches`).
    pub caches: usize,
    /// Whether writes of whole chunks bypass that cache (`cache_bypass_aligned`): always before 2018, on
    /// request since.
    pub bypass_aligned: bool,
    /// Whether blocks end with a summary (since 2010).
    pub summary: bool,
    /// Whether a checkpoint is read at mount.
    pub read_checkpoint: bool,
    /// Whether checkpoints are written.
    pub write_checkpoint: bool,
    /// Whether names and attributes are read on demand after a scan (`disable_lazy_load` is the contrary).
    pub lazy_load: bool,
    /// Whether lost+found is emptied at mount.
    pub empty_lost_and_found: bool,
    /// Whether no directory leads to lost+found.
    pub hide_lost_and_found: bool,
    /// How many collections come between two refreshes of the oldest block; none below ten
    /// (`refresh_period`).
    pub refresh_period: u32,
    /// Whether files of YAFFS1 are deleted at once, and not as their blocks are collected.
    pub disable_soft_deletion: bool,
    /// Whether every chunk is checked to be erased before it is programmed.
    pub always_check_erased: bool,
    /// Whether what the sources lose at a power cut is kept, and a time that is set before a file is closed:
    /// `docs/design/yaffs2.md` has the list.
    pub repaired: bool,
    /// Whether the times of eight bytes are written too (since 2012).
    pub long_times: bool,
    /// The pointers of the machine, which checkpoints depend on.
    pub word: Word,
    /// The version of the module for Linux.
    pub version: Version,
    /// A bug to inject, for tests of tests.
    pub mistake: Option<Mistake>,
}

/// Where the tags of a chunk are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TagsPlace {
    /// YAFFS2: in the first free spare bytes.
    Oob {
        /// Whether a code protects them (`no_tags_ecc` is the contrary).
        ecc: bool,
    },
    /// YAFFS2: in the last 16 bytes of the page.
    InBand,
    /// YAFFS1.
    Yaffs1(Layout1),
}

impl TagsPlace {
    /// Whether it is YAFFS2.
    #[must_use]
    pub const fn is_yaffs2(self) -> bool {
        !matches!(self, Self::Yaffs1(_))
    }
}

/// A version of the module for Linux, as far as a write or the memory depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// Commit 92ee023 of July 2008: a write of a whole page does not read the page first, and needs no more
    /// room than its chunks take (`yaffs_prepare_write`).
    Y2008,
    /// Commit 474b3ac of June 2026: every write to a page that is not in memory reads it first, and needs 20
    /// free chunks (`yaffs_write_begin`, since 2009).
    Y2026,
}

/// The pointers of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Word {
    /// Four bytes.
    Bits32,
    /// Eight bytes.
    Bits64,
}

/// A bug in the handling of power cuts. A power-cut test that does not find each of them proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mistake {
    /// Leaves the checkpoint on the flash when something is written.
    KeepsStaleCheckpoints,
    /// Scans blocks in the order of the flash, and not by their sequence numbers.
    IgnoresSequence,
    /// Ignores that a header shrinks its file.
    IgnoresShrinkHeaders,
    /// Erases the block being collected before its last chunk was copied.
    ErasesBeforeCopy,
}

impl Default for Options {
    /// YAFFS2 as its module for Linux mounts it on a 32-bit machine, with a CPU whose work takes no time.
    fn default() -> Self {
        Self {
            tags: TagsPlace::Oob { ecc: true },
            byte_order: ByteOrder::Little,
            host: Host::free(),
            wall: WallClock::default(),
            read_only: false,
            reserved_blocks: 5,
            caches: 10,
            bypass_aligned: false,
            summary: true,
            read_checkpoint: true,
            write_checkpoint: true,
            lazy_load: true,
            empty_lost_and_found: true,
            hide_lost_and_found: false,
            refresh_period: 500,
            disable_soft_deletion: false,
            always_check_erased: false,
            repaired: false,
            long_times: true,
            word: Word::Bits32,
            version: Version::Y2026,
            mistake: None,
        }
    }
}
