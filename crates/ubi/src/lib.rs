//! UBI, the volume manager of Linux for raw flash.
//!
//! Layer: rank 4. In reading order:
//!
//! - [`lebs`]: [`Lebs`], a volume of logical erase blocks (LEBs): what a filesystem on UBI sees.
//! - [`ram`]: [`RamLebs`], such a volume in memory, for tests and for images of a single volume.
//! - [`format`](mod@format): the bytes on flash.
//! - [`options`], [`error`], [`layout`]: how a flash is attached; why it cannot be; where headers lie.
//! - [`device`]: [`Ubi`], an attached flash; [`volume`]: [`Volume`], one of its volumes, open;
//!   [`vmt`]: [`NewVolume`], and removing, renaming, resizing.
//! - [`create`](mod@create): images as `ubinize` makes them.
//! - [`footprint`]: the memory of the kernel.
//! - [`tree`]: the red-black tree on whose shape wear levelling depends.
//! - Not public, from the bottom: `io` (retries, headers), `attach` (the scan), `vtbl` (the volume
//!   table), `state`, `wear`, `fastmap` (what the kernel keeps about volumes, wear levelling and
//!   fastmaps), `eba` (the mapping), `wl` (wear levelling), `pooling` (free blocks with fastmaps),
//!   `open` (attaching), `check` (consistency).
//!
//! It mirrors Linux 6.1, `drivers/mtd/ubi`: the same bytes, the same operations on flash in the same
//! order, the same choice of blocks after the same history. Works of the background thread are steps
//! of [`Ubi::background`].
//!
//! What `tests/kernel` shows: after the same operations every block has the bytes that a real kernel
//! wrote, with wear levelling, faults of the medium and fastmaps.
//!
//! Left out: locks, the check of a block for bit flips on demand, the reserve of blocks for pools, what
//! stands in unused bytes of headers (the kernel copies them when it moves a LEB), debugfs with its
//! self-checks, `gluebi` and `ubiblock`, CPU time (the crate reports only operations of the flash).

mod attach;
mod check;
mod eba;
mod fastmap;
mod io;
mod open;
mod pooling;
mod state;
mod vtbl;
mod wear;
mod wl;

pub mod create;
pub mod device;
pub mod error;
pub mod footprint;
pub mod format;
pub mod layout;
pub mod lebs;
pub mod options;
pub mod ram;
pub mod tree;
pub mod vmt;
pub mod volume;

pub use check::Contradiction;
pub use device::{Counts, Ubi};
pub use error::{AttachError, VolumeError};
pub use footprint::Structure;
pub use format::VolumeKind;
pub use layout::Layout;
pub use lebs::{Error, LebIndex, Lebs, PebIndex, Shape};
pub use options::{FastmapMode, Mistake, Options};
pub use ram::RamLebs;
pub use state::VolumeInfo;
pub use tree::Tree;
pub use vmt::NewVolume;
pub use volume::{Volume, VolumeMut};
