//! NAND flash: chip, port, driver, error correction, bad blocks.
//!
//! Layer: rank 3; uses `sim`, `codec`, `media` and `mtd`. In reading order:
//!
//! - [`part`]: [`Part`], the properties of a part. Every number comes from a part file.
//! - [`chip`]: [`chip::Die`] behind [`chip::ParallelChip`] or [`chip::SpiChip`], cycle by cycle.
//! - [`port`]: [`Port`], the cost of cycles on a board, and [`Counts`] of the transfers.
//! - [`oob`]: [`Layout`], the use of the OOB bytes.
//! - [`ecc`]: [`ecc::Engine`], the error correction of a page.
//! - [`driver`]: [`Driver`], Linux' read, program and erase paths, and the bad block table.
//! - [`mtd`]: [`Nand`], all of it as a `boardlab_mtd::Mtd`.
//!
//! Time is passed in and advanced by cycles and waits; no published figure is used here.

pub mod chip;
pub mod driver;
pub mod ecc;
pub mod mtd;
pub mod oob;
pub mod part;
pub mod port;

pub use driver::{Driver, Profile};
pub use mtd::Nand;
pub use oob::Layout;
pub use part::Part;
pub use port::{Counts, Port, PortTiming};
