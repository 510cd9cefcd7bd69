//! A model of the ARM RealView Emulation Baseboard with an ARM926EJ-S, as configured by QEMU's
//! `-M realview-eb -cpu arm926 -m 128`.
//!
//! Layer: rank 4; uses `arm926`, `block` and `sim`. In reading order:
//!
//! - [`settings`]: [`Settings`], the parameters of a board. [`error`]: the errors of this crate.
//! - [`map`]: the memory map. `clock`: conversion between clocks. `sdram`: the memory.
//! - `system`, `uart`, `timer`, `interrupts`, `rtc`, `mci`: the devices. [`card`]: the memory card.
//! - [`board`]: [`Board`], all of these on one bus.
//! - [`elf`]: [`Program`], an ELF file to load. [`semihosting`]: semihosting calls.
//! - [`engine`]: [`EngineKind`], the engine that runs the core.
//! - [`machine`]: [`Machine`], which runs a program until an [`Outcome`]. `snapshot`: save and restore.
//!
//! ```
//! use boardlab_arm926::{Limit, Physical, Virtual};
//! use boardlab_realview::{Machine, Outcome, Settings};
//!
//! let mut machine = Machine::new(&Settings::default()).unwrap();
//! // mov r0, #42; b .
//! let code = [0xE3A0_002A_u32, 0xEAFF_FFFE].map(u32::to_le_bytes);
//! machine.load_raw(Physical(0), code.as_flattened()).unwrap();
//! assert_eq!(machine.run(Limit::instructions(10)), Outcome::Limit);
//! assert_eq!(machine.peek(Virtual(0)), Some(0xE3A0_002A));
//! ```

pub mod board;
pub mod card;
pub mod clock;
pub mod elf;
pub mod engine;
pub mod error;
mod interrupts;
pub mod machine;
pub mod map;
mod mci;
mod rtc;
mod sdram;
pub mod semihosting;
pub mod settings;
mod snapshot;
mod system;
mod timer;
mod uart;

pub use board::{Access, Board, Halt, Warning};
pub use card::{Card, Medium};
pub use clock::CoreClock;
pub use elf::{Program, Segment, Symbol, SymbolKind, Symbols};
pub use engine::EngineKind;
pub use error::Error;
pub use machine::{Machine, Outcome};
pub use map::Part;
pub use settings::{Settings, Timing};
