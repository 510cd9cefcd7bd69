//! `boardlab os`: programs that run, end badly, read cards and what is typed, are traced, profiled, saved, and debugged with GDB.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

#[path = "../bench/mod.rs"]
mod bench;
mod card;
mod debug;
mod guest;
mod live;
mod run;
mod trace;
