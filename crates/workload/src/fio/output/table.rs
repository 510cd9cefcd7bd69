//! The results of jobs as a table of boardlab's result.
//!
//! Layer: rank 6. One row for each direction of each report that made any request; columns end in
//! their unit.

use crate::fio::engine::Run;
use crate::fio::output::{bandwidth, percentile, rate};
use crate::fio::settings::Direction;
use boardlab_result::{Cell, Row, Table};
use boardlab_sim::Duration;

/// The table, with rows such as `job.0.write`: name, number among the reports, direction.
#[must_use]
pub fn table(id: &str, title: &str, run: &Run) -> Table {
    let mut table = Table::new(id, title)
        .column("requests_count", "count")
        .column("moved_bytes", "moved")
        .column("bandwidth_bytes_per_s", "rate")
        .column("requests_per_s", "IOPS")
        .column("mean_ns", "mean")
        .column("median_ns", "median")
        .column("percentile99_ns", "99 %")
        .column("max_ns", "max")
        .column("flushes_count", "flushes")
        .column("elapsed_ns", "time");
    for (number, report) in run.reports.iter().enumerate() {
        for one in Direction::ALL {
            let totals = &report.account.totals[one as usize];
            if totals.requests == 0 {
                continue;
            }
            let time = report.account.elapsed();
            let nanos = |time: Option<Duration>| whole(time.map_or(0, Duration::as_nanos));
            let phase = &totals.completion;
            let row = Row::new(format!("{}.{number}.{}", report.name, one.name()), "");
            table.rows.push(
                row.cell("requests_count", whole(totals.requests))
                    .cell("moved_bytes", whole(totals.bytes))
                    .cell("bandwidth_bytes_per_s", whole(bandwidth(totals, time)))
                    .cell("requests_per_s", Cell::real(rate(totals, time)))
                    .cell("mean_ns", nanos(phase.mean()))
                    .cell("median_ns", whole(percentile(phase, 50.0)))
                    .cell("percentile99_ns", whole(percentile(phase, 99.0)))
                    .cell("max_ns", nanos(phase.max()))
                    .cell("flushes_count", whole(report.account.syncs.count()))
                    .cell("elapsed_ns", whole(time.as_nanos())),
            );
        }
    }
    table
}

/// A whole number; one beyond what a table holds is shown as the largest.
fn whole(value: u64) -> Cell {
    Cell::int(value.min(u64::MAX / 2))
}
