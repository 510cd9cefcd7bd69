//! File trees: lists of operations that make them, and manifests of what is in them.
//!
//! Layer: rank 6. Both are texts of docs/formats/file-tree.md, which the oracle's kernel
//! understands too, so that the same list can be carried out here and there and the manifests
//! compared. In reading order:
//!
//! - [`operation`]: [`Operation`] and [`Line`], one operation, and how it is written.
//! - [`apply`]: [`run`], carrying out a list on a mounted filesystem.
//! - [`manifest`]: [`manifest()`](manifest::manifest), the canonical text of a tree, and
//!   [`scan`](manifest::scan), `ls -lR` and reading everything, with times.
//! - [`generate`]: [`Shape`], trees of many shapes from a seed.

pub mod apply;

pub mod generate;
pub mod manifest;
pub mod operation;

mod field;

pub use apply::{Event, run};

pub use generate::Shape;
pub use manifest::{Scan, list, manifest, scan};
pub use operation::{Line, Operation, parse};
