//! The fast engine: blocks of predecoded instructions, and lookups left out that would hit.
//!
//! Layer: rank 3. [`block`]: what is known of a run of instructions before it runs; the compiler uses it too.

pub mod block;
mod class;

pub use block::Block;
pub use class::Class;
