//! The memory technology device: what every raw flash looks like from above.
//!
//! Layer: rank 2; uses `sim` only. In reading order:
//!
//! - [`geometry`]: [`Geometry`], [`BlockIndex`], [`PageIndex`]: sizes and erase blocks.
//! - [`error`]: [`Error`], what a device may answer, and [`Torn`], what a power cut leaves.
//! - [`device`]: the trait [`Mtd`]. Filesystems and workloads see only this.

pub mod device;
pub mod error;
pub mod geometry;

pub use device::{Mtd, ReadHealth};
pub use error::{Error, Torn};
pub use geometry::{BlockIndex, EraseRegion, FlashKind, Geometry, Oob, PageIndex};
