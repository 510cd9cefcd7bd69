//! The largest values that any card has; beyond them a model would run out of numbers or time.

use crate::quantity::Ratio;
use boardlab_sim::{Bytes, Duration};

/// A card.
pub(super) const CAPACITY: Bytes = Bytes::mib(2_097_152);
/// Memory of a controller: write cache, cached map.
pub(super) const MEMORY: Bytes = Bytes::mib(4_096);
/// The controller's own time of a command, and the host's of a request.
pub(super) const COMMAND: Duration = Duration::from_millis(100);
/// A page into the page register.
pub(super) const READ: Duration = Duration::from_millis(10);
/// A page into the array.
pub(super) const PROGRAM: Duration = Duration::from_millis(100);
/// The erase of a block.
pub(super) const ERASE: Duration = Duration::from_secs(10);
/// Clocks between commands and blocks.
pub(super) const GAP: u64 = 65_535;
/// Channels, dies on one, planes of one.
pub(super) const DIES: u64 = 64;
/// Pages of an erase block.
pub(super) const PAGES: u64 = 65_536;
/// A page of the flash.
pub(super) const PAGE: Bytes = Bytes::kib(64);
/// Groups of pages that the buffer holds.
pub(super) const SLOTS: u64 = 1_024;
/// The least and the most spare: below, no collection; above, hardly a card.
pub(super) const SPARE: Ratio = Ratio::from_millionths(990_000);
/// Erases of a block.
pub(super) const ERASES: u64 = 10_000_000;
/// Blocks that may be bad from the factory: half of them.
pub(super) const BAD: Ratio = Ratio::from_millionths(500_000);
/// Round of a patrol.
pub(super) const PATROL: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);
/// Memory of a board.
pub(super) const RAM: Bytes = Bytes::mib(1 << 20);
/// The host leaves a card alone.
pub(super) const AWAY: Duration = Duration::from_secs(365 * 24 * 3_600);
