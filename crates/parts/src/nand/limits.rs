//! The largest values that any device has; beyond them a model would run out of numbers or time.

use boardlab_sim::{Bytes, Duration};

pub use boardlab_document::limits::{some_span, times};

/// Memory of a board.
pub const RAM: Bytes = Bytes::mib(65_536);
/// Cycles of one piece of work, or of it a KiB.
pub const CYCLES: u64 = 1_000_000_000;
/// What a board's port adds to a command.
pub const PER_COMMAND: Duration = Duration::from_millis(10);
/// What it adds to a byte.
pub const PER_BYTE: Duration = Duration::from_micros(100);
/// A cycle of the bus, and the small waits between cycles.
pub const BUS_CYCLE: Duration = Duration::from_micros(100);
/// A page into the page register.
pub const READ: Duration = Duration::from_millis(10);
/// A page into the array.
pub const PROGRAM: Duration = Duration::from_millis(100);
/// The erase of a block.
pub const ERASE: Duration = Duration::from_secs(10);
