//! The largest values that any drive or host has; beyond them a model would run out of numbers or time.

use boardlab_sim::{Bytes, Duration};

/// Sectors: those of two tebibytes.
pub(super) const SECTORS: u64 = 1 << 32;
/// Dwords from one end's link layer to the other's.
pub(super) const LATENCY: u64 = 4_096;
/// Dwords of a FIFO.
pub(super) const FIFO: u64 = 65_536;
/// What a command costs, wherever.
pub(super) const COMMAND: Duration = Duration::from_secs(1);
/// A pause for housekeeping.
pub(super) const PAUSE: Duration = Duration::from_secs(60);
/// What is read between two of them.
pub(super) const READ: Bytes = Bytes::mib(1 << 24);
