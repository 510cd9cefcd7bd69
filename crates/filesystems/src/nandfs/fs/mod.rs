//! The filesystems of the experiment, a file each: the section of a scenario, and the mount.
//!
//! Layer: rank 10. Main types: [`FileSystemType`], an entry of the list [`ALL`]; [`System`], a
//! filesystem with its settings; [`Mounted`], one on a flash. The rest of the experiment uses these
//! alone. In a module `findings` each says why its figures differ from the print.

mod jffs2;
mod logfs;
mod ubifs;
mod yaffs2;

use super::findings::{Explanations, Told};
use super::flash::{Flash, Wired};
use super::judgements::{Basis, Wish};
use super::run::measure::{Attach, TimedWork};
use super::scenario::{Kernel, KernelSettings};
use boardlab_document::error::Error;
use boardlab_document::{Read, Section};
use boardlab_experiment::Cause;
use boardlab_mtd::FlashKind;
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::{FileSystem, Host, Structure, Work};
use boardlab_workload::powercut::ForkingFlash;
use std::fmt;
use std::sync::Arc;

/// A filesystem that a scenario can have: a column of each table.
pub(crate) struct FileSystemType {
    /// The name of its column, and of its section of a scenario.
    pub name: &'static str,
    /// Reads that section.
    pub read: fn(Section<'_>) -> Read<Arc<dyn System>>,
    /// The version of Linux that it came with, if it was ever in it.
    pub(crate) merged: Option<[u8; 3]>,
    /// The version that came without it again.
    pub(crate) removed: Option<[u8; 3]>,
    /// Why its figures differ from the print.
    pub(super) explain: fn(&Told<'_>) -> Result<Explanations, Error>,
    /// What the publication wants improved.
    pub(super) wishes: fn(&Basis<'_>) -> Vec<Wish>,
}

impl FileSystemType {
    /// Whether a version of Linux has it.
    pub(crate) fn is_in(&self, version: [u8; 3]) -> bool {
        let since = self.merged.is_some_and(|merged| merged <= version);
        since && self.removed.is_none_or(|removed| removed > version)
    }
}

/// All filesystems, in the order of the columns.
pub(crate) const ALL: &[FileSystemType] = &[jffs2::TYPE, yaffs2::TYPE, logfs::TYPE, ubifs::TYPE];

/// The setting in which every filesystem is mounted.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    /// The kernel that it runs in.
    pub kernel: Kernel,
    /// The costs of the CPU.
    pub host: Host,
    /// The seed of its random streams.
    pub seed: Seed,
    /// Whether nothing may be written.
    pub read_only: bool,
}

/// A filesystem with the settings of the scenario.
pub(crate) trait System: fmt::Debug + Send + Sync {
    /// Whether runs can need a kind of work of the CPU.
    fn uses(&self, kernel: Kernel, work: Work) -> bool;

    /// What `kernel` lacks of its settings.
    fn missing(&self, _kernel: KernelSettings) -> Option<Missing> {
        None
    }

    /// What compresses the content of files, in words of a table.
    fn compression(&self) -> &'static str;

    /// The key of its section that chooses the compression, and the same with each kind that `kernel` has; `None` if
    /// there is one kind.
    fn compressions(&self, _kernel: Kernel) -> Option<(&'static str, Vec<Arc<dyn System>>)> {
        None
    }

    /// Whether it can be put on a flash of this kind.
    fn takes(&self, kind: FlashKind) -> bool {
        kind == FlashKind::Nand
    }

    /// Why it may not survive a power cut on such a flash, where that is known.
    fn at_risk(&self, _wired: Wired<'_>) -> Option<String> {
        None
    }

    /// How to put it on a board with such a flash, of a folder, and how to mount it.
    fn commands(&self, kernel: Kernel, wired: Wired<'_>) -> Commands;

    /// Ways to run it that are measured besides.
    fn readings(&self, _kernel: Kernel) -> Vec<Reading> {
        Vec::new()
    }

    /// How it levels the wear of the blocks.
    fn levelling(&self, kernel: Kernel) -> Levelling;

    /// The difference of erase counters at which it moves data that lie still, or its journal; `None` if neither
    /// depends on counters.
    fn wear_threshold(&self) -> Option<u32> {
        None
    }

    /// The same with another such threshold.
    fn with_wear_threshold(&self, _erases: u32) -> Option<Arc<dyn System>> {
        None
    }

    /// Mounts it on `flash`; an empty flash gets an empty filesystem.
    ///
    /// # Errors
    /// Those of the filesystem.
    fn mount(&self, setting: &Setting, flash: Flash, clock: &mut Clock) -> Result<OnFlash, Cause>;

    /// Formats `flash` for a volume manager below with one empty volume, and attaches it again, by what
    /// it reads of each block or by a map of them. `None` without a volume manager, or where it has no
    /// such map.
    ///
    /// # Errors
    /// Those of the volume manager.
    fn attach(
        &self,
        _setting: &Setting,
        _flash: Flash,
        _by: AttachBy,
        _clock: &mut Clock,
    ) -> Result<Option<Attach>, Cause> {
        Ok(None)
    }

    /// Mounts it on a flash that can lose its power.
    ///
    /// # Errors
    /// What the filesystem says.
    fn mount_watched(
        &self,
        setting: &Setting,
        flash: ForkingFlash<Flash>,
        clock: &mut Clock,
    ) -> Result<Box<dyn FileSystem>, Cause>;
}

/// What a user types to get a filesystem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Commands {
    /// On the computer that makes the image, from the folder `root`.
    pub make: String,
    /// On the board, whose flash is `mtd0`.
    pub mount: String,
}

/// A way to run a filesystem that the publication leaves open.
#[derive(Debug)]
pub(crate) struct Reading {
    /// Its name.
    pub name: &'static str,
    /// The filesystem, unless it is that of the scenario.
    pub system: Option<Arc<dyn System>>,
    /// Whether the driver reads back what it programs.
    pub verify_write: bool,
}

/// How a filesystem levels wear, or the volume manager below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Levelling {
    /// Which free block it writes next.
    pub pick: Pick,
    /// When it moves data that lie still.
    pub moves: Moves,
}

/// Which free block is written next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pick {
    /// The one that has been free the longest.
    InTurn,
    /// One of medium wear.
    Median,
}

/// When data that lie still are moved, so that their block takes part in the wear.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moves {
    /// At no time.
    Never,
    /// Once in so much work, whatever the wear, those that lie longest.
    Oldest,
    /// Once in so much work, those in the block that was erased least.
    LeastWorn,
    /// When the erase counters are as far apart as [`System::wear_threshold`].
    Apart,
}

/// The blocks of a mounted filesystem, as far as their wear is not that of others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Census {
    /// The blocks of a journal at a fixed place.
    pub journal: Vec<u32>,
    /// The blocks that are free, where a volume manager knows them.
    pub free: Option<Vec<u32>>,
    /// How many blocks may go bad, where the filesystem keeps some for that.
    pub reserve: Option<u32>,
}

/// How a volume manager finds its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttachBy {
    /// By the headers of all blocks.
    Scan,
    /// By a map on the flash.
    Map,
}

/// A setting that a kernel does not have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Missing {
    /// A clause that follows the section's name.
    pub problem: &'static str,
    /// What is due instead.
    pub expected: &'static str,
    /// What to try.
    pub help: &'static str,
}

/// A filesystem right after its mount.
pub(crate) struct OnFlash {
    /// The filesystem.
    pub fs: Box<dyn Mounted>,
    /// The part of the mount that a volume manager below took for itself.
    pub attach: Option<TimedWork>,
}

/// A filesystem on a flash.
pub(crate) trait Mounted: FileSystem {
    /// A copy of the mounted filesystem, with all that it holds in memory, on a fork of the flash.
    fn fork(&self) -> Box<dyn Mounted>;

    /// The flash.
    fn flash(&self) -> &Flash;

    /// Returns the flash after an unmount.
    ///
    /// # Errors
    /// Those of a volume manager below.
    fn into_flash(self: Box<Self>, clock: &mut Clock) -> Result<Flash, Cause>;

    /// Blocks that are bad, by their marks or by what the filesystem remembers.
    fn bad_blocks(&self) -> u64 {
        self.flash().bad_blocks()
    }

    /// How often it has moved data that lie still since the mount, where it counts that.
    fn moves(&self) -> Option<u64> {
        None
    }

    /// What wear depends on.
    fn census(&self) -> Census {
        Census::default()
    }

    /// Parts of the flash that never hold content of files.
    fn reserved(&self) -> Vec<(&'static str, Bytes)> {
        Vec::new()
    }

    /// Bytes that are written, and that `statfs` does not count before the next commit.
    fn uncounted(&self) -> Bytes {
        Bytes::ZERO
    }

    /// The structures that its kernel would hold in RAM.
    fn structures(&self) -> Vec<Structure>;
}

impl Clone for Box<dyn Mounted> {
    fn clone(&self) -> Self {
        (**self).fork()
    }
}

#[cfg(test)]
mod tests;
