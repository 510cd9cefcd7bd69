//! The experiments on flash filesystems.
//!
//! Layer: rank 10. [`nandfs`] is the NAND experiment, which is published; [`nandwear`] goes on to what it left open of
//! wear, and takes filesystems, scenario sections and the stand of the runs from it. [`advise`] holds the limits of a
//! product against all of it.
//!
//! The crate prints nothing.

pub mod advise;
pub mod nandfs;
pub mod nandwear;
