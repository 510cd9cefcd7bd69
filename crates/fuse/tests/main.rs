//! The tests of this crate from outside, in one program.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod hostile;
mod requests;
mod script;
