//! The table of a bench: a row a step, with the columns of a measurement.
//!
//! Layer: rank 10. Function: [`steps`].

use crate::latencies::StepRun;
use boardlab_result::{Cell, Row, Table};
use boardlab_sim::Duration;

/// What the steps took, in the columns that measurements have too, so that `boardlab compare` sets them
/// side by side.
pub(crate) fn steps(runs: &[StepRun]) -> Table {
    let nanos =
        |time: Option<Duration>| time.map_or(Cell::none(), |time| Cell::int(time.as_nanos()));
    let quantile = |share: u64| move |run: &&StepRun| nanos(run.latencies.quantile(share, 1_000));
    Table::new("steps", "Steps")
        .of(runs.iter().map(|run| (Row::new(&run.name, &run.operation), run)))
        .column("operations_count", "operations", |run| Cell::count(run.latencies.count()))
        .column("moved_bytes", "bytes", |run| Cell::int(run.bytes.get()))
        .column("elapsed_ns", "elapsed", |run| Cell::int(run.elapsed.as_nanos()))
        .column("mean_ns", "mean", |run| nanos(run.latencies.mean()))
        .column("p50_ns", "median", quantile(500))
        .column("p99_ns", "99 %", quantile(990))
        .column("max_ns", "longest", |run| nanos(run.latencies.max()))
        .column("rate_bytes_per_s", "rate", |run| run.rate().map(Cell::real))
        .table()
}
