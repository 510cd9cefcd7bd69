//! The largest values of a drive or a host; with larger ones the model would overflow or never end.

use boardlab_sim::{Bytes, Duration};

/// Sectors: those of two tebibytes.
pub(super) const SECTORS: u64 = 1 << 32;
/// Dwords from one end's link layer to the other's.
pub(super) const LATENCY: u64 = 4_096;
/// Dwords of a FIFO.
pub(super) const FIFO: u64 = 65_536;
/// Any cost of a command.
pub(super) const COMMAND: Duration = Duration::from_secs(1);
/// A pause for housekeeping.
pub(super) const PAUSE: Duration = Duration::from_secs(60);
/// The reads between two pauses.
pub(super) const READ: Bytes = Bytes::mib(1 << 24);
