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
use super::run::measure::{Attach, TimedWork};
use super::scenario::{Kernel, KernelSettings};
use boardlab_document::error::Error;
use boardlab_document::{Read, Section};
use boardlab_experiment::Cause;
use boardlab_nand::Nand;
use boardlab_sim::Bytes;
use boardlab_sim::{Clock, Seed};
use boardlab_vfs::{FileSystem, Host, Structure, Work};
use boardlab_workload::powercut::ForkingFlash;
use std::fmt;
use std::sync::Arc;

/// A filesystem that a scenario can have: a column of each table.
pub(super) struct FileSystemType {
    /// The name of its column, and of its section of a scenario.
    pub name: &'static str,
    /// Reads that section.
    pub read: fn(Section<'_>) -> Read<Arc<dyn System>>,
    /// Why its figures differ from the print.
    pub explain: fn(&Told<'_>) -> Result<Explanations, Error>,
}

/// All filesystems, in the order of the columns.
pub(super) const ALL: &[FileSystemType] = &[jffs2::TYPE, yaffs2::TYPE, logfs::TYPE, ubifs::TYPE];

/// The setting in which every filesystem is mounted.
#[derive(Debug, Clone)]
pub(super) struct Setting {
    /// The kernel that it runs in.
    pub kernel: Kernel,
    /// The costs of the CPU.
    pub host: Host,
    /// The seed of its random streams.
    pub seed: Seed,
}

/// A filesystem with the settings of the scenario.
pub(super) trait System: fmt::Debug + Send + Sync {
    /// Whether runs can need a kind of work of the CPU.
    fn uses(&self, kernel: Kernel, work: Work) -> bool;

    /// What `kernel` lacks of its settings.
    fn missing(&self, _kernel: KernelSettings) -> Option<Missing> {
        None
    }

    /// Ways to run it that are measured besides.
    fn readings(&self, _kernel: Kernel) -> Vec<Reading> {
        Vec::new()
    }

    /// Mounts it on `nand`; an empty flash gets an empty filesystem.
    ///
    /// # Errors
    /// Those of the filesystem.
    fn mount(&self, setting: &Setting, nand: Nand, clock: &mut Clock) -> Result<OnFlash, Cause>;

    /// Formats `nand` for a volume manager below with one empty volume, and attaches it again, by what
    /// it reads of each block or by a map of them. `None` without a volume manager, or where it has no
    /// such map.
    ///
    /// # Errors
    /// Those of the volume manager.
    fn attach(
        &self,
        _setting: &Setting,
        _nand: Nand,
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
        flash: ForkingFlash<Nand>,
        clock: &mut Clock,
    ) -> Result<Box<dyn FileSystem>, Cause>;
}

/// A way to run a filesystem that the publication leaves open.
#[derive(Debug)]
pub(super) struct Reading {
    /// Its name.
    pub name: &'static str,
    /// The filesystem, unless it is that of the scenario.
    pub system: Option<Arc<dyn System>>,
    /// Whether the driver reads back what it programs.
    pub verify_write: bool,
}

/// How a volume manager finds its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AttachBy {
    /// By the headers of all blocks.
    Scan,
    /// By a map on the flash.
    Map,
}

/// A setting that a kernel does not have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Missing {
    /// A clause that follows the section's name.
    pub problem: &'static str,
    /// What is due instead.
    pub expected: &'static str,
    /// What to try.
    pub help: &'static str,
}

/// A filesystem right after its mount.
pub(super) struct OnFlash {
    /// The filesystem.
    pub fs: Box<dyn Mounted>,
    /// The part of the mount that a volume manager below took for itself.
    pub attach: Option<TimedWork>,
}

/// A filesystem on a flash.
pub(super) trait Mounted: FileSystem {
    /// The flash.
    fn flash(&self) -> &Nand;

    /// Returns the flash after an unmount.
    ///
    /// # Errors
    /// Those of a volume manager below.
    fn into_flash(self: Box<Self>, clock: &mut Clock) -> Result<Nand, Cause>;

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

#[cfg(test)]
mod tests;
