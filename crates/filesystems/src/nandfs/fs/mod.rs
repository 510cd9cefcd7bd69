//! The filesystems of the experiment, a file each: the section of a scenario, and the mount.
//!
//! Layer: rank 10. Main types: [`FileSystemType`], an entry of the list [`ALL`]; [`System`], a
//! filesystem with its settings; [`Mounted`], one on a flash. The rest of the experiment uses these
//! alone.

mod jffs2;

use super::scenario::Kernel;
use boardlab_document::{Read, Section};
use boardlab_experiment::Cause;
use boardlab_nand::Nand;
use boardlab_sim::{Clock, Seed};
use boardlab_vfs::{FileSystem, Host, Structure};
use boardlab_workload::powercut::ForkingFlash;
use std::fmt;
use std::sync::Arc;

/// A filesystem that a scenario can have: a column of each table.
pub(super) struct FileSystemType {
    /// The name of its column, and of its section of a scenario.
    pub name: &'static str,
    /// Reads that section.
    pub read: fn(Section<'_>) -> Read<Arc<dyn System>>,
}

/// All filesystems, in the order of the columns.
pub(super) const ALL: &[FileSystemType] = &[jffs2::TYPE];

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
    /// Mounts it on `nand`.
    ///
    /// # Errors
    /// Those of the filesystem.
    fn mount(
        &self,
        setting: &Setting,
        nand: Nand,
        clock: &mut Clock,
    ) -> Result<Box<dyn Mounted>, Cause>;

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

/// A filesystem on a flash.
pub(super) trait Mounted: FileSystem {
    /// The flash.
    fn flash(&self) -> &Nand;

    /// Returns the flash.
    fn into_flash(self: Box<Self>) -> Nand;

    /// The structures that its kernel would hold in RAM.
    fn structures(&self) -> Vec<Structure>;
}

#[cfg(test)]
mod tests;
