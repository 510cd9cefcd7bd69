//! The results of jobs as a table of boardlab's result, whether this crate ran them or fio.
//!
//! Layer: rank 6. Main types: [`Figures`], one row: a direction of a report that made any request. Functions:
//! [`figures`] of a run; [`table`]. Columns end in their unit.

use crate::fio::engine::Run;
use crate::fio::output::{bandwidth, percentile, rate};
use crate::fio::settings::Direction;
use boardlab_result::{Cell, Row, Table};
use boardlab_sim::Duration;

/// The figures of one direction of a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// Name of the job, number among the reports, direction: `job.0.write`.
    pub name: String,
    /// Completed requests.
    pub requests: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Bytes a second.
    pub bandwidth: u64,
    /// Requests a second.
    pub rate: f64,
    /// Mean of the latency to completion, in nanoseconds, as far as it is known.
    pub mean_ns: Option<u64>,
    /// The latency that half of the requests do not exceed, as far as it is known.
    pub median_ns: Option<u64>,
    /// The one that 99 % do not exceed.
    pub percentile99_ns: Option<u64>,
    /// The longest.
    pub max_ns: Option<u64>,
    /// Flushes between the requests.
    pub flushes: u64,
    /// The time of the job.
    pub elapsed_ns: u64,
}

impl Figures {
    /// The name of a row.
    #[must_use]
    pub fn name(job: &str, number: usize, direction: Direction) -> String {
        format!("{job}.{number}.{}", direction.name())
    }
}

/// The figures of all directions of all reports that made any request.
#[must_use]
pub fn figures(run: &Run) -> Vec<Figures> {
    let mut all = Vec::new();
    for (number, report) in run.reports.iter().enumerate() {
        for one in Direction::ALL {
            let totals = &report.account.totals[one as usize];
            if totals.requests == 0 {
                continue;
            }
            let time = report.account.elapsed();
            let nanos = |time: Option<Duration>| Some(time.map_or(0, Duration::as_nanos));
            let phase = &totals.completion;
            all.push(Figures {
                name: Figures::name(&report.name, number, one),
                requests: totals.requests,
                bytes: totals.bytes,
                bandwidth: bandwidth(totals, time),
                rate: rate(totals, time),
                mean_ns: nanos(phase.mean()),
                median_ns: Some(percentile(phase, 50.0)),
                percentile99_ns: Some(percentile(phase, 99.0)),
                max_ns: nanos(phase.max()),
                flushes: report.account.syncs.count(),
                elapsed_ns: time.as_nanos(),
            });
        }
    }
    all
}

/// The table, a row each.
#[must_use]
pub fn table(id: &str, title: &str, figures: &[Figures]) -> Table {
    let some = |figure: Option<u64>| figure.map_or_else(Cell::none, whole);
    Table::new(id, title)
        .of(figures.iter().map(|one| (Row::new(one.name.as_str(), ""), one)))
        .column("requests_count", "count", |one| whole(one.requests))
        .column("moved_bytes", "moved", |one| whole(one.bytes))
        .column("bandwidth_bytes_per_s", "rate", |one| whole(one.bandwidth))
        .column("requests_per_s", "IOPS", |one| Cell::real(one.rate))
        .column("mean_ns", "mean", |one| some(one.mean_ns))
        .column("median_ns", "median", |one| some(one.median_ns))
        .column("percentile99_ns", "99 %", |one| some(one.percentile99_ns))
        .column("max_ns", "max", |one| some(one.max_ns))
        .column("flushes_count", "flushes", |one| whole(one.flushes))
        .column("elapsed_ns", "time", |one| whole(one.elapsed_ns))
        .table()
}

/// A whole number; one beyond what a table holds is shown as the largest.
fn whole(value: u64) -> Cell {
    Cell::int(value.min(u64::MAX / 2))
}
