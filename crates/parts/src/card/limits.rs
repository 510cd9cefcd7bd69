//! The largest values of a card; with larger ones the model would overflow or never end.

pub(super) use crate::managed::limits::{AWAY, MEMORY};

use boardlab_sim::{Bytes, Duration};

/// The capacity of a card.
pub(super) const CAPACITY: Bytes = Bytes::mib(2_097_152);
/// The controller's time for a command, and the host's for a request.
pub(super) const COMMAND: Duration = Duration::from_millis(100);
/// Clocks between commands and blocks.
pub(super) const GAP: u64 = 65_535;
/// The memory of a board.
pub(super) const RAM: Bytes = Bytes::mib(1 << 20);
