//! `boardlab os`: programs that run, end badly, read cards and what is typed, are traced, profiled, saved, and debugged with GDB, and the files that come of it; and the operating system: without its maintenance of caches, and how long its
//! interrupts are off.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "tests")]

#[path = "../bench/mod.rs"]
mod bench;
mod card;
mod debug;
mod files;
mod foreign;
mod guest;
mod interrupts;
mod live;
mod maintenance;
mod remote;
mod run;
mod trace;
