//! The tests of this crate from outside, in one program, since linking twenty takes longer than most of them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

mod advise;
mod bench;
mod console;
mod defaults;
mod definitions;
mod folder;
mod image;
mod looks;
mod measure;
#[cfg(target_os = "linux")]
mod mount;
mod results;
mod streams;
mod sweep;
mod terminal;
mod trees;
mod volumes;
