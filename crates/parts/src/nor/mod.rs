//! NOR flash: part files, and the boards that have such a part on their bus.
//!
//! Layer: rank 8.

pub mod board;
pub mod limits;
pub mod part;
pub mod unused;
