//! The largest values of a device; with larger ones the model would overflow or never end.

use boardlab_sim::Duration;

pub use boardlab_document::limits::{some_span, times};

/// The time that a board's port adds to a command.
pub const PER_COMMAND: Duration = Duration::from_millis(10);
/// The time that it adds to a byte.
pub const PER_BYTE: Duration = Duration::from_micros(100);
/// A cycle of the bus, and the small waits between cycles.
pub const BUS_CYCLE: Duration = Duration::from_micros(100);
/// The read of a page (tR).
pub const READ: Duration = Duration::from_millis(10);
/// The program of a page (tPROG).
pub const PROGRAM: Duration = Duration::from_millis(100);
/// The erase of a block (tBERS).
pub const ERASE: Duration = Duration::from_secs(10);
