//! The results of jobs, in the formats of fio and of boardlab.
//!
//! Layer: rank 6. [`human`]: fio's report for people. [`terse`]: one line of 130 fields, version 3.
//! [`json`]: fio's JSON. [`table`] and [`chart`]: a table and a chart of our result. [`log`]: the text of a log. The
//! structure was compared with runs of fio 3.33. Times of the CPU, context switches, page faults
//! and statistics of the kernel's disk are zero: there is no kernel in a simulation.

pub mod chart;
pub mod human;
pub mod json;
pub mod log;
pub mod table;
pub mod terse;

use crate::fio::account::{Account, Totals, to_f64};
use crate::fio::job::Job;
use boardlab_sim::{Duration, Phase};

/// The text in place of fio's version.
pub const VERSION: &str = concat!("boardlab-", env!("CARGO_PKG_VERSION"));

/// An amount per second, rounded down.
fn per_second(amount: u64, time: Duration) -> u64 {
    let nanos = u128::from(time.as_nanos().max(1));
    u64::try_from(u128::from(amount) * 1_000_000_000 / nanos).unwrap_or(u64::MAX)
}

/// Requests per second.
fn rate(totals: &Totals, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { to_f64(totals.requests) / time.as_secs_f64() }
}

/// Bytes per second; zero when no time passed.
pub(super) fn bandwidth(totals: &Totals, time: Duration) -> u64 {
    if time.is_zero() { 0 } else { per_second(totals.bytes, time) }
}

/// The time in whole milliseconds, at least one when anything was done.
const fn millis(time: Duration) -> u64 {
    time.as_nanos().div_ceil(1_000_000)
}

/// The value that so many percent do not exceed, in nanoseconds.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a percentage from 0 to 100 in parts of a million"
)]
fn percentile(phase: &Phase, percent: f64) -> u64 {
    let parts = ((percent * 10_000.0).round() as u64).min(1_000_000);
    phase.quantile(parts, 1_000_000).map_or(0, Duration::as_nanos)
}

/// A share in percent.
fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { to_f64(part) * 100.0 / to_f64(whole) }
}

/// Requests of all directions.
fn requests(account: &Account) -> u64 {
    account.totals.iter().map(|totals| totals.requests).sum()
}

/// The description of a job as reports show it: fio keeps 255 bytes.
fn description(job: &Job) -> Option<&str> {
    let words = job.settings.description.as_deref()?;
    Some(&words[..words.floor_char_boundary(255)])
}
