//! The ARM926EJ-S: instructions, caches with their contents, and cycles.
//!
//! Layer: rank 3; uses only `sim` and knows no board. In reading order:
//!
//! - [`address`]: virtual, modified virtual and physical addresses; [`Cycles`].
//! - [`bus`]: [`Bus`], the core's view of a board.
//! - [`instruction`]: [`Instruction`], common to ARM and Thumb. [`decode`] creates it from words.
//! - [`registers`]: [`Registers`], [`Psr`] and [`Mode`], banked. [`exception`]: vectors and entry.
//! - [`timing`]: [`Pipeline`], the cycles of the five-stage pipeline and its interlocks.
//! - [`memory`]: [`Memory`], the system control coprocessor with MMU, TLB, caches and write buffer.
//! - [`processor`]: [`Processor`], the complete core.
//! - [`engine`]: [`Engine`]: [`Interpreter`], the reference, [`Predecoded`], and `Compiled`, which
//!   needs the feature `compiler` and thereby Cranelift.
//! - [`points`]: [`Points`], breakpoints and watchpoints. [`ram`]: [`Ram`], a bus for tests.
//!
//! `examples/own_memory_map.rs` runs a custom board with a breakpoint and a watchpoint.
//!
//! Sources: ARM DDI 0100E (architecture), DDI 0198D (ARM926EJ-S), DDI 0222B (ARM9EJ-S pipeline).
//! Left out: Jazelle, the tightly coupled memories, the ETM and the coprocessor interface (accesses to
//! coprocessors other than 15 are undefined instructions).

pub mod address;
pub mod bus;
#[cfg(feature = "compiler")]
pub mod compiler;
pub mod config;
pub mod decode;
pub mod engine;
pub mod error;
pub mod exception;
pub mod execute;
pub mod instruction;
mod interpreter;
pub mod memory;
pub mod points;
pub mod predecoded;
pub mod processor;
pub mod ram;
pub mod recorder;
pub mod registers;
pub mod timing;

pub use address::{Cycles, Modified, Physical, Virtual};
pub use bus::{Bus, BusFault, Lines, Reply, Waits, Width};
#[cfg(feature = "compiler")]
pub use compiler::Compiled;
pub use config::{CacheSize, Config};
pub use engine::Engine;
pub use error::Error;
pub use exception::Exception;
pub use instruction::{Condition, Instruction, Operation, Register};
pub use interpreter::Interpreter;
pub use memory::{Abort, Access, Memory};
pub use points::{Points, WatchKind, Watchpoint};
pub use predecoded::Predecoded;
pub use processor::{Limit, Processor, Stop};
pub use ram::Ram;
pub use recorder::{Event, Recorder};
pub use registers::{Mode, Psr, Registers};
pub use timing::Pipeline;
