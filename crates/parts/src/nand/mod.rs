//! NAND flash: part files with their bit error rates, and the boards that have such a part.
//!
//! Layer: rank 8.

pub mod board;
pub mod error_rates;
pub mod limits;
pub mod part;
