//! `boardlab os`: programs that run, end badly, are traced, profiled, saved, and debugged with GDB.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

#[path = "../bench/mod.rs"]
mod bench;
mod debug;
mod guest;
mod run;
mod trace;
