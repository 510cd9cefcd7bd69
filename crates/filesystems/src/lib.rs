//! The experiment on flash filesystems.
//!
//! Layer: rank 10. [`nandfs`] is the NAND experiment, which is published.
//!
//! The crate prints nothing.

pub mod nandfs;
