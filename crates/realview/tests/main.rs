//! The tests of this crate from outside, in one program, since linking twenty takes longer than most of them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

mod coherence;
mod conformance;
mod console;
mod determinism;
mod devices;
mod discovery;
mod file_system;
mod first;
mod fuzz;
mod guest;
mod guests;
mod kernel;
mod marks;
mod miss_counts;
mod programs;
mod release;
mod semihosting;
mod system;
