//! The largest values that an experiment of this kind can take in a time that a reader will wait for.

use boardlab_sim::{Bytes, Duration};

/// Commands of a run.
pub(crate) const LOOPS: u64 = 65_536;
/// What a drive is left alone for between runs.
pub(crate) const REST: Duration = Duration::from_secs(24 * 3_600);
/// What is moved at each point of a what-if.
pub(crate) const VOLUME: Bytes = Bytes::mib(1 << 10);
/// The same at least.
pub(crate) const LEAST: Bytes = Bytes::mib(1);
/// A write cache that is tried.
pub(crate) const CACHE: Bytes = Bytes::mib(1 << 10);
