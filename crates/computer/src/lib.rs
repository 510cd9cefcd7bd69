//! Programs on a simulated computer: how `boardlab os` runs, traces and debugs them.
//!
//! Layer: rank 9. In reading order:
//!
//! - [`board`]: the computer, from a board file. [`built_in`]: the operating system that comes with boardlab. [`session`]: a machine with a program on it; [`card`]: the image in its card reader; [`failure`]: why there is none.
//! - [`symbols`] and [`calls`]: names of addresses and of system calls.
//! - [`run`]: to the end, with a console; `tables` and `findings`: what is told of it.
//! - [`profile`]: where the cycles go; [`masked`]: how long interrupts are masked; [`timeline`]: what ran when; [`listing`]: every instruction; `instruments`: the engines
//!   that feed them. [`trace`]: a stretch of a run as text.
//! - [`debug`]: GDB at the other end of a line.

pub mod board;
pub mod built_in;
pub mod calls;
pub mod card;
pub mod debug;
pub mod failure;
mod findings;
pub mod instruments;
pub mod listing;
pub mod masked;
pub mod profile;
mod regular_file;
pub mod run;
pub mod session;
pub mod symbols;
mod tables;
pub mod timeline;
pub mod trace;

/// The version that results carry.
const VERSION: &str = env!("CARGO_PKG_VERSION");

pub use boardlab_realview::EngineKind;
pub use card::{CardFile, CardUpdate};
pub use failure::Failure;
pub use run::{Console, Plan, RunOutcome, TerminalInput, Until};
pub use session::{Load, Order, Session};
