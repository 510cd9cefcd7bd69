//! The mount options.
//!
//! Layer: rank 5. Main types: [`Options`], [`Checks`], [`Profile`], [`Mistake`]. Source: Linux 6.1,
//! `fs/ubifs/super.c` (`ubifs_parse_options`).

use boardlab_sim::Seed;
use boardlab_vfs::{Host, WallClock};

/// A compressor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Compressor {
    /// None.
    None,
    /// LZO.
    Lzo,
    /// zlib's deflate, without a header.
    Zlib,
    /// zstd.
    Zstd,
}

/// The mount options.
#[derive(Debug, Clone)]
pub struct Options {
    /// The cost model of the CPU.
    pub host: Host,
    /// The calendar time.
    pub wall: WallClock,
    /// The seed of the identity of a new filesystem.
    pub seed: Seed,
    /// Whether the mount is read-only.
    pub read_only: bool,
    /// The compressor; `None` for that of the superblock (`compr=`).
    pub compressor: Option<Compressor>,
    /// `bulk_read`.
    pub bulk_read: bool,
    /// Whether the checksums of data nodes are verified on every read (`chk_data_crc`).
    pub check_data_crc: bool,
    /// The kernel to mirror.
    pub profile: Profile,
    /// The checks of the kernel's debugging that run besides.
    pub checks: Checks,
    /// A bug to inject, for tests of tests.
    pub mistake: Option<Mistake>,
}

impl Default for Options {
    /// Linux 6.1 with a CPU whose work takes no time.
    fn default() -> Self {
        Self {
            host: Host::free(),
            wall: WallClock::default(),
            seed: Seed::new(1),
            read_only: false,
            compressor: None,
            bulk_read: false,
            check_data_crc: false,
            profile: Profile::LINUX_6_1,
            checks: Checks::NONE,
            mistake: None,
        }
    }
}

/// Which checks run at mounts and commits. They read the flash as the kernel's checks do, and a commit
/// or mount fails when one of them finds a contradiction. Source: Linux 6.1, `fs/ubifs/debug.c`, the
/// files `chk_general`, `chk_index`, `chk_lprops`, `chk_orphans` and `chk_fs` in debugfs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Checks {
    /// Sums and lists in memory.
    pub general: bool,
    /// The size of the index, and the order of its keys.
    pub index: bool,
    /// The properties of every LEB, by scanning it.
    pub lprops: bool,
    /// Inodes without names are in the orphan area.
    pub orphans: bool,
    /// Counts and sizes of all inodes.
    pub fs: bool,
}

impl Checks {
    /// None, as in normal use.
    pub const NONE: Self =
        Self { general: false, index: false, lprops: false, orphans: false, fs: false };
    /// All.
    pub const ALL: Self =
        Self { general: true, index: true, lprops: true, orphans: true, fs: true };
}

/// What differs between versions of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// The version of the format of a new filesystem.
    pub fmt_version: u32,
}

impl Profile {
    /// Linux 6.1.
    pub const LINUX_6_1: Self = Self { fmt_version: 5 };
    /// Linux 2.6.27 to 2.6.29.
    pub const LINUX_2_6: Self = Self { fmt_version: 4 };
}

/// A bug in the handling of power cuts. A power-cut test that does not find each of them proves
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mistake {
    /// Replays in the order of LEBs instead of sequence numbers.
    ReplaysInWrongOrder,
    /// Replays incomplete groups.
    ReplaysTornGroups,
    /// Does not correct sizes after a recovery.
    KeepsSizes,
    /// Does not delete orphans at mount.
    KeepsOrphans,
}

impl Mistake {
    /// Every mistake.
    pub const ALL: [Self; 4] =
        [Self::ReplaysInWrongOrder, Self::ReplaysTornGroups, Self::KeepsSizes, Self::KeepsOrphans];
}
