//! Values of life scenarios held below what makes sense.

use boardlab_document::quantity::Ratio;
use boardlab_sim::{Bytes, Duration};

/// Cards of one run.
pub(super) const CARDS: u64 = 10_000;
/// The longest life that is looked at: instants end after 584 years.
pub(super) const HORIZON: Duration = Duration::from_secs(250 * 365 * 86_400);
/// Written or read in a day: 10 GB/s all day long.
pub(super) const A_DAY: Bytes = Bytes::new(864_000_000_000_000);
/// A request.
pub(super) const REQUEST: Bytes = Bytes::mib(1 << 10);
/// A whole.
pub(super) const ALL: Ratio = Ratio::from_millionths(1_000_000);
/// The largest share of data that is given up.
pub(super) const TRIMMED: Ratio = Ratio::from_millionths(950_000);
/// The largest exponent of Zipf's law: 3.
pub(super) const EXPONENT: Ratio = Ratio::from_millionths(3_000_000);
/// The largest share that is spare.
pub(super) const SPARE: Ratio = Ratio::from_millionths(500_000);
/// A day.
pub(super) const DAY: Duration = Duration::from_secs(86_400);
/// Runs of a job in a day.
pub(super) const RUNS: u64 = 10_000_000;
/// Page operations of a recorded load that are kept: 12 bytes each.
pub(super) const OPERATIONS: usize = 1 << 25;
