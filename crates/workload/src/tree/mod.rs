//! File trees: lists of operations that create them, and manifests of their contents.
//!
//! Layer: rank 6. Both are texts of docs/formats/file-tree.md, which the oracle's kernel understands
//! too, so that the same list can be performed in both and the manifests compared. In reading order:
//!
//! - [`operation`]: [`Operation`] and [`Line`], one operation and its text.
//! - [`apply`]: [`run`], which performs a list on a mounted filesystem.
//! - [`manifest`]: [`manifest()`](manifest::manifest), the canonical text of a tree, and
//!   [`scan`](manifest::scan), the times of `ls -lR` and of reading everything.
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
