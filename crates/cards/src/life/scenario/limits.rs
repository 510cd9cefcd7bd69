//! Values of life scenarios held below what makes sense.

use boardlab_document::quantity::Ratio;
use boardlab_sim::{Bytes, Duration};

/// Cards of one run.
pub(crate) const CARDS: u64 = 10_000;
/// The longest life that is looked at: instants end after 584 years.
pub(crate) const HORIZON: Duration = Duration::from_secs(250 * 365 * 86_400);
/// Written or read in a day: 10 GB/s all day long.
pub(crate) const A_DAY: Bytes = Bytes::new(864_000_000_000_000);
/// A request.
pub(crate) const REQUEST: Bytes = Bytes::mib(1 << 10);
/// A whole.
pub(crate) const ALL: Ratio = Ratio::from_millionths(1_000_000);
/// The largest share of data that is given up.
pub(crate) const TRIMMED: Ratio = Ratio::from_millionths(950_000);
/// The largest exponent of Zipf's law: 3.
pub(crate) const EXPONENT: Ratio = Ratio::from_millionths(3_000_000);
/// The largest over-provisioning.
pub(crate) const OVER_PROVISIONING: Ratio = Ratio::from_millionths(500_000);
/// A day.
pub(crate) const DAY: Duration = Duration::from_secs(86_400);
/// Runs of a job in a day.
pub(crate) const RUNS: u64 = 10_000_000;
/// Page operations of a recorded load that are kept: 12 bytes each.
pub(crate) const OPERATIONS: usize = 1 << 25;
