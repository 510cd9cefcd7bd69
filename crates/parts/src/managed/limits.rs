//! The largest values of a managed flash; with larger ones the model would overflow or never end.

use boardlab_document::quantity::Ratio;
use boardlab_sim::{Bytes, Duration};

/// The memory of a controller: write cache, map cache.
pub const MEMORY: Bytes = Bytes::mib(4_096);
/// The read of a page (tR).
pub(super) const READ: Duration = Duration::from_millis(10);
/// The program of a page (tPROG).
pub(super) const PROGRAM: Duration = Duration::from_millis(100);
/// The erase of a block (tBERS).
pub(super) const ERASE: Duration = Duration::from_secs(10);
/// Channels, dies on one, planes of one.
pub(super) const DIES: u64 = 64;
/// Pages of an erase block.
pub(super) const PAGES: u64 = 65_536;
/// A page of the flash.
pub(super) const PAGE: Bytes = Bytes::kib(64);
/// Groups of pages that the buffer holds.
pub(super) const SLOTS: u64 = 1_024;
/// The most over-provisioning: above it hardly a card remains.
pub(super) const OVER_PROVISIONING: Ratio = Ratio::from_millionths(990_000);
/// P/E cycles of a block.
pub(super) const ERASES: u64 = 10_000_000;
/// The share of factory bad blocks: half of all blocks.
pub(super) const BAD: Ratio = Ratio::from_millionths(500_000);
/// The period of a patrol.
pub(super) const PATROL: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);
/// The time for which a host is idle.
pub const AWAY: Duration = Duration::from_secs(365 * 24 * 3_600);
