//! The tests of this crate from outside, in one program, since linking twenty takes longer than
//! most of them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

mod by_inode;
mod extents;
mod model;
mod mount;
mod write_back;
