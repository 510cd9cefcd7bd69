//! The tests of this crate from outside, in one program, since linking twenty takes longer than
//! most of them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

mod background;
mod corners;
mod costs;
mod faults;
mod handles;
mod hostile;
mod manifests;
mod wear;
mod write;
