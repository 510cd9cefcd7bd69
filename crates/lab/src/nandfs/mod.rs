//! The NAND experiment: which flash filesystem mounts how fast, moves how much, and takes how much
//! memory and flash.
//!
//! Layer: rank 8. It composes part, board, filesystem and workload, and puts the published figures beside
//! ours. In reading order: [`part`], [`board`], [`measure`] (what is measured of a filesystem), [`fit`]
//! (two constants that the publication leaves undetermined).
//!
//! Publication: Namihira, Toshiba; its figures are in `reference/nandfs.toml`.

pub mod board;
pub mod fit;
pub mod measure;
pub mod part;

mod limits;
