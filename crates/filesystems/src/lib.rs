//! The experiment on flash filesystems.
//!
//! Layer: rank 10. [`nandfs`] is the NAND experiment, which is published.
//!
//! Nothing here prints.

pub mod nandfs;
