//! The mount options.
//!
//! Layer: rank 5. Main types: [`Options`], [`Mistake`]. Whether files are compressed is a flag of their
//! directory on the flash: see [`Format`](crate::mkfs::Format).

use boardlab_sim::Bytes;
use boardlab_vfs::{Host, WallClock};

/// The mount options.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether the mount is read-only. The kernel writes in such a mount too; this one does not.
    pub read_only: bool,
    /// The cost model of the CPU.
    pub host: Host,
    /// The calendar time.
    pub wall: WallClock,
    /// The most bytes of pages of the flash that are kept in memory, and of blocks of directories, inodes and
    /// pointers; each of both.
    pub cache: Bytes,
    /// Whether what the kernel loses or leaves behind is mirrored: `docs/models/logfs.md` has the list.
    pub faithful: bool,
    /// How far apart erase counters may be for a segment that was erased seldom to be moved; the journal is moved when
    /// its segments were erased by more than twice as much more often than others (`WL_DELTA` in `gc.c`).
    pub wear_delta: u32,
    /// A bug to inject, for tests of tests.
    pub mistake: Option<Mistake>,
}

impl Options {
    /// The kernel's [`Options::wear_delta`].
    pub const WEAR_DELTA: u32 = 397;
}

impl Default for Options {
    /// A writable mount with a CPU whose work takes no time.
    fn default() -> Self {
        Self {
            read_only: false,
            host: Host::free(),
            wall: WallClock::default(),
            cache: Bytes::mib(8),
            faithful: false,
            wear_delta: Self::WEAR_DELTA,
            mistake: None,
        }
    }
}

/// A bug in the handling of power cuts. A power-cut test that does not find each of them proves nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mistake {
    /// Looks for the last commit in the newest segment of the journal alone.
    IgnoresOlderSegments,
    /// Writes a commit before what it leads to.
    CommitsBeforeData,
    /// Does not look whether an open segment was written to after the commit.
    TrustsOpenSegments,
    /// Writes the commit without the pointers that changed in memory.
    ForgetsAliases,
}

impl Mistake {
    /// Every mistake.
    pub const ALL: [Self; 4] = [
        Self::IgnoresOlderSegments,
        Self::CommitsBeforeData,
        Self::TrustsOpenSegments,
        Self::ForgetsAliases,
    ];
}
