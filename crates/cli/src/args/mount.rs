//! The arguments of `boardlab image mount` and `boardlab image apply`.
//!
//! Layer: rank 12. Main types: [`Mount`], [`Apply`].

use super::State;
use clap::{Args, ValueHint};
use std::path::PathBuf;

pub(super) const MOUNT: &str = "\
The mount works until `umount DIR`, Ctrl-C or SIGTERM. Only the user who mounts has access. Owners and permissions are \
those of the image; for root they hold, other users may read and write everything. Devices and set-user-ID have no effect. \
With --rw changes go to FILE.overlay; the image stays as it is. A killed mount is like a power cut. \
Exit status 1: something of the image is damaged, or could not be written.

Examples:
  boardlab image mount dump.bin /mnt
  boardlab image mount dump.bin /mnt --volume rootfs --commit 17
  boardlab image mount dump.bin /mnt --rw
  boardlab image mount dump.bin /mnt --rw --apply";

pub(super) const APPLY: &str = "\
The new image is written beside the old one, and checked. With errors that the old one did not have it is refused, \
and the check is shown. Else it takes the place of the old image, and the overlay is removed. If it is killed, there \
is the old image with its overlay, or the new one.

Examples:
  boardlab image apply dump.bin
  boardlab image apply dump.bin --output changed.bin";

/// What is mounted, where and how.
#[derive(Debug, Args)]
pub(crate) struct Mount {
    /// Image file; it stays as it is
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// Empty folder to mount on
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) target: PathBuf,
    /// Mount for writing: changes go to FILE.overlay, and a later mount goes on from there
    #[arg(long, conflicts_with_all = ["partial", "commit", "as_of"])]
    pub(crate) rw: bool,
    /// At the end, put the changes into the image, as `image apply` does
    #[arg(long, requires = "rw")]
    pub(crate) apply: bool,
    /// The flash, and the state of it.
    #[command(flatten)]
    pub(crate) state: State,
}

/// Which changes are put where.
#[derive(Debug, Args)]
pub(crate) struct Apply {
    /// Image file; its changes are in FILE.overlay
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    /// New file for the new image: FILE and its overlay stay as they are
    #[arg(long, short, value_name = "NEW", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}
