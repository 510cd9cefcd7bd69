//! The experiments on flash filesystems.
//!
//! Layer: rank 10. [`nandfs`] is the NAND experiment, which is published; [`nandwear`] goes on to what it left open of
//! wear. Both stand on `stand`: a flash on a board, and a filesystem in a kernel.
//!
//! The crate prints nothing.

pub mod nandfs;
pub mod nandwear;
mod stand;
