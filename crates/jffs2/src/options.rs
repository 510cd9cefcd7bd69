//! What a mount may choose.
//!
//! Layer: rank 5. Main types: [`Options`], [`Compression`] and [`Profile`], in which versions of Linux
//! differ. Source: Linux 6.1 and 2.6.24, `fs/jffs2/scan.c`, `compr.c`, `compr.h`, and the kernel's
//! configuration options of JFFS2.

use crate::format::ByteOrder;
use crate::format::inode::Compressor;
use boardlab_sim::Seed;
use boardlab_vfs::{Host, WallClock};

/// What a mount may choose.
#[derive(Debug, Clone)]
pub struct Options {
    /// The order of bytes; `None` takes that of the first node found, or little-endian of an empty
    /// flash.
    pub byte_order: Option<ByteOrder>,
    /// What the CPU costs.
    pub host: Host,
    /// What time it is.
    pub wall: WallClock,
    /// Where the choices of garbage collection come from, for which the kernel takes its tick counter.
    pub seed: Seed,
    /// How data are compressed.
    pub compression: Compression,
    /// Whether summaries are read at mount and written (`CONFIG_JFFS2_SUMMARY`).
    pub summary: bool,
    /// Whether nothing may be written.
    pub read_only: bool,
    /// Which kernel.
    pub profile: Profile,
    /// What is done wrong, for tests of tests; nothing otherwise.
    pub mistake: Option<Mistake>,
}

/// A mistake in keeping data over a power cut. A test of power cuts that does not find each of them shows
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mistake {
    /// The data of a node are believed without their check sum.
    TrustsTornData,
    /// A block that reads as erased is taken for erased, though no cleanmarker says that the erase came
    /// to its end.
    TrustsUnmarkedBlocks,
    /// A block is erased although the nodes that replace its own are in the write buffer only.
    ErasesBeforeFlush,
    /// A deletion is not kept although the name that it deletes is still on the flash.
    ForgetsDeletions,
    /// The highest version of an inode is read as one less, so that its next node has the version of one
    /// that is there.
    ReadsVersionsTooLow,
    /// A block is marked as erased without a look at whether it is.
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
    /// Linux 6.1 as Debian configures it, with a CPU that costs nothing.
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
    /// As size, with LZO taken when it is nearly as good.
    FavourLzo,
    /// This one only.
    Only(Compressor),
}

/// In what versions of Linux differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// Bytes that must be 0xFF at the beginning of a block before it is taken for erased
    /// (`DEFAULT_EMPTY_SCAN_SIZE`).
    pub empty_scan: u32,
    /// Whether a mount that finds erased flash behind nodes reads the rest of the block again from
    /// there on, as versions since 2.6.36 do.
    pub rereads_empty: bool,
    /// Whether a page that is to be overwritten as a whole is read first, as since 2.6.24.
    pub reads_pages_to_overwrite: bool,
    /// Buckets of the table of inodes, at least and at most: two a MiB between them.
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
