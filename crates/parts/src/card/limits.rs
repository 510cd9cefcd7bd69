//! The largest values that any card has; beyond them a model would run out of numbers or time.

pub(super) use crate::managed::limits::{AWAY, MEMORY};

use boardlab_sim::{Bytes, Duration};

/// A card.
pub(super) const CAPACITY: Bytes = Bytes::mib(2_097_152);
/// The controller's own time of a command, and the host's of a request.
pub(super) const COMMAND: Duration = Duration::from_millis(100);
/// Clocks between commands and blocks.
pub(super) const GAP: u64 = 65_535;
/// Memory of a board.
pub(super) const RAM: Bytes = Bytes::mib(1 << 20);
