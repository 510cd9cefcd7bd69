//! The mount options.
//!
//! Layer: rank 5. Main types: [`Options`], [`Compression`] and [`Profile`], the differences between
//! versions of Linux. Source: Linux 6.1 and 2.6.24, `fs/jffs2/scan.c`, `compr.c`, `compr.h`, and
//! the kernel's configuration options of JFFS2.

use crate::format::ByteOrder;
use crate::format::inode::Compressor;
use boardlab_sim::Seed;
use boardlab_vfs::{Host, WallClock};

/// The mount options.
#[derive(Debug, Clone)]
pub struct Options {
    /// The byte order; `None` takes that of the first node found, or little-endian for an empty flash.
    pub byte_order: Option<ByteOrder>,
    /// The cost model of the CPU.
    pub host: Host,
    /// The calendar time.
    pub wall: WallClock,
    /// The seed for the choices of garbage collection, for which the kernel uses its tick counter.
    pub seed: Seed,
    /// How data are compressed.
    pub compression: Compression,
    /// Whether summaries are read at mount and written (`CONFIG_JFFS2_SUMMARY`).
    pub summary: bool,
    /// Whether the mount is read-only.
    pub read_only: bool,
    /// The kernel to mirror.
    pub profile: Profile,
    /// A bug to inject, for tests of tests.
    pub mistake: Option<Mistake>,
}

/// A bug in the handling of power cuts. A power-cut test that does not find each of them proves
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mistake {
    /// Accepts the data of a node without verifying their checksum.
    TrustsTornData,
    /// Treats a block that reads as erased as free, although no cleanmarker proves that the erase
    /// was completed.
    TrustsUnmarkedBlocks,
    /// Erases a block although the nodes that replace its own are only in the write buffer.
    ErasesBeforeFlush,
    /// Drops a deletion entry although the entry that it deletes is still on the flash.
    ForgetsDeletions,
    /// Reads the highest version of an inode as one less, so that its next node reuses an existing
    /// version.
    ReadsVersionsTooLow,
    /// Marks a block as erased without verifying the erase.
    TrustsErases,
}

impl Mistake {
    /// Every mistake.
    pub const ALL: [Self; 6] = [
        Self::TrustsTornData,
        Self::TrustsUnmarkedBlocks,
        Self::ErasesBeforeFlush,
        Self::ForgetsDeletions,
        Self::ReadsVersionsTooLow,
        Self::TrustsErases,
    ];
}

impl Default for Options {
    /// Linux 6.1 as Debian configures it, with a CPU whose work takes no time.
    fn default() -> Self {
        Self {
            byte_order: None,
            host: Host::free(),
            wall: WallClock::default(),
            seed: Seed::new(1),
            compression: Compression::default(),
            summary: true,
            read_only: false,
            profile: Profile::LINUX_6_1,
            mistake: None,
        }
    }
}

/// How data are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    /// How a compressor is chosen.
    pub mode: CompressionMode,
    /// Whether zlib may be chosen.
    pub zlib: bool,
    /// Whether LZO may be chosen.
    pub lzo: bool,
    /// Whether rtime may be chosen.
    pub rtime: bool,
}

impl Default for Compression {
    fn default() -> Self {
        Self { mode: CompressionMode::Priority, zlib: true, lzo: true, rtime: true }
    }
}

/// How a compressor is chosen (`CONFIG_JFFS2_CMODE_*` and the mount option `compr=`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompressionMode {
    /// Nothing is compressed.
    None,
    /// The first that makes the data smaller, in order of priority: LZO, zlib, rtime.
    Priority,
    /// The one that makes them smallest.
    Size,
    /// As `Size`, but LZO is chosen when it is nearly as good.
    FavourLzo,
    /// This one only.
    Only(Compressor),
}

/// The differences between versions of Linux.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// The bytes that must be 0xFF at the beginning of a block for it to count as erased
    /// (`DEFAULT_EMPTY_SCAN_SIZE`).
    pub empty_scan: u32,
    /// Whether a mount that finds erased flash after nodes reads the rest of the block again from
    /// there, as Linux since 2.6.36 does.
    pub rereads_empty: bool,
    /// Whether a page is read before all of it is overwritten, as since 2.6.24.
    pub reads_pages_to_overwrite: bool,
    /// The minimum and maximum number of buckets in the inode hash table: two per MiB between them.
    pub inode_buckets: (u64, u64),
}

impl Profile {
    /// Linux 6.1.
    pub const LINUX_6_1: Self = Self {
        empty_scan: 256,
        rereads_empty: true,
        reads_pages_to_overwrite: true,
        inode_buckets: (128, 1_024),
    };
    /// Linux 2.6.20 to 2.6.26.
    pub const LINUX_2_6_24: Self = Self {
        empty_scan: 1_024,
        rereads_empty: false,
        reads_pages_to_overwrite: false,
        inode_buckets: (128, 128),
    };
}
