//! Programs on a simulated computer: how `boardlab os` runs, traces and debugs them.
//!
//! Layer: rank 8. In reading order:
//!
//! - [`board`]: the computer, from a board file.
//! - [`symbols`] and [`calls`]: names of addresses and of system calls.
//! - [`profile`]: where the cycles go; [`timeline`]: what ran when; [`listing`]: every instruction.

pub mod board;
pub mod calls;
pub mod listing;
pub mod profile;
pub mod symbols;
pub mod timeline;
