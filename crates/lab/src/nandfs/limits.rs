//! The largest values that any device has; beyond them a model would run out of numbers or time.

use crate::quantity::Ratio;
use boardlab_sim::{Bytes, Duration};

pub(super) use crate::limits::{some_span, span, times};

/// Memory of a board.
pub(super) const RAM: Bytes = Bytes::mib(65_536);
/// Cycles of one piece of work, or of it a KiB.
pub(super) const CYCLES: u64 = 1_000_000_000;
/// What a board's port adds to a command and to a byte.
pub(super) const PER_COMMAND: Duration = Duration::from_millis(10);
pub(super) const PER_BYTE: Duration = Duration::from_micros(100);
/// A cycle of the bus, and the small waits between cycles.
pub(super) const BUS_CYCLE: Duration = Duration::from_micros(100);
/// A page into the page register.
pub(super) const READ: Duration = Duration::from_millis(10);
/// A page into the array.
pub(super) const PROGRAM: Duration = Duration::from_millis(100);
/// The erase of a block.
pub(super) const ERASE: Duration = Duration::from_secs(10);
/// A flash, where its part could not be read.
pub(super) const FLASH: Bytes = Bytes::mib(65_536);
/// The smallest file to fill a flash with.
pub(super) const FILE: Bytes = Bytes::kib(1);
/// How full a flash can be filled: what is left is the filesystem's own.
pub(super) const FILL: Ratio = Ratio::from_millionths(930_000);
/// Operations to run and cut.
pub(super) const CUTS: u64 = 1_000_000_000;
/// The part of a small flash that files may take.
pub(super) const LIVE: Ratio = Ratio::from_millionths(500_000);
