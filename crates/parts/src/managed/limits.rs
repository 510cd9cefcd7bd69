//! The largest values that any managed flash has; beyond them a model would run out of numbers or time.

use boardlab_document::quantity::Ratio;
use boardlab_sim::{Bytes, Duration};

/// Memory of a controller: write cache, cached map.
pub const MEMORY: Bytes = Bytes::mib(4_096);
/// A page into the page register.
pub(super) const READ: Duration = Duration::from_millis(10);
/// A page into the array.
pub(super) const PROGRAM: Duration = Duration::from_millis(100);
/// The erase of a block.
pub(super) const ERASE: Duration = Duration::from_secs(10);
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
/// The host leaves a card alone.
pub const AWAY: Duration = Duration::from_secs(365 * 24 * 3_600);
