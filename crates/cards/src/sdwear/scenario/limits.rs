//! The largest values that an experiment of this kind can take in a time that a reader will wait for.

use boardlab_document::quantity::Ratio;
use boardlab_sim::{Bytes, Duration};

/// A card, where its part could not be read.
pub(crate) const CARD: Bytes = Bytes::mib(1 << 20);
/// Runs of a job.
pub(crate) const ITERATIONS: u64 = 1_000_000;
/// Runs of a job to try a controller.
pub(crate) const PROBES: u64 = 10_000;
/// What passes between two runs.
pub(crate) const BETWEEN: Duration = Duration::from_secs(24 * 3_600);
/// What is written in all.
pub(crate) const VOLUME: Bytes = Bytes::mib(1 << 30);
/// Erases of a block.
pub(crate) const ERASES: u64 = 10_000_000;
/// The most and the least spare for which the question is asked which volume could tell.
pub(crate) const OVER_PROVISIONING: Ratio = Ratio::from_millionths(500_000);
pub(crate) const LEAST_OVER_PROVISIONING: Ratio = Ratio::from_millionths(10_000);
