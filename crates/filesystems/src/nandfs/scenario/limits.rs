//! The largest values of a scenario; beyond them a model would run out of numbers or time.

use boardlab_document::quantity::Ratio;
use boardlab_sim::Bytes;

/// A flash, where its part could not be read.
pub(crate) const FLASH: Bytes = Bytes::mib(65_536);
/// The smallest file to fill a flash with.
pub(crate) const FILE: Bytes = Bytes::kib(1);
/// How full a flash can be filled: what is left is the filesystem's own.
pub(crate) const FILL: Ratio = Ratio::from_millionths(930_000);
/// Operations to run and cut.
pub(crate) const CUTS: u64 = 1_000_000_000;
/// The part of a small flash that files may take.
pub(crate) const LIVE: Ratio = Ratio::from_millionths(500_000);
