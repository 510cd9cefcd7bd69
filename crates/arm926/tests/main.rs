//! The integration tests of this crate in one program, since linking many takes longer than most tests.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says so"
)]

#[cfg(feature = "compiler")]
mod compiler;
mod decode;
mod engines;
mod exceptions;
mod execute;
mod listing;
mod lockstep;
mod memory;
mod protection;
mod random;
mod rig;
mod timing;
mod transfers;
