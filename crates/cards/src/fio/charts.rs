//! The chart of latencies by percentile.
//!
//! Layer: rank 10. Function: [`latency`]. Throughput over time is drawn where it is counted, in
//! [`super::run::pace`].

use boardlab_result::RunResult;
use boardlab_result::prose::{float, round};
use boardlab_sim::Phase;
use boardlab_workload::fio;
use boardlab_workload::fio::output::chart;
use boardlab_workload::fio::output::table::Figures;
use boardlab_workload::fio::settings::Direction;

/// Points of a curve for each nine: 90 to 99 %, 99 to 99.9 %.
const POINTS: u32 = 20;

/// The most nines: one in a million.
const NINES: u32 = 6;

/// Draws the completion latency of each job and direction against the percentile.
pub(super) fn latency(run: &mut RunResult, done: &fio::Run) {
    let caption = "The latency that so many percent of the requests do not exceed. A curve ends where a single request is left.";
    let reports = done.reports.iter().enumerate();
    let curves = reports.flat_map(|(number, report)| {
        Direction::ALL.into_iter().map(move |direction| {
            let id = format!("latency_{number}_{}", direction.name());
            let label = Figures::name(&report.name, number, direction);
            (id, label, percentiles(&report.account.totals[direction as usize].completion))
        })
    });
    chart::latencies(run, ("latency", "Latency by percentile", caption), curves);
}

/// Percentiles and latencies in milliseconds, up to the percentile that a single request exceeds.
fn percentiles(phase: &Phase) -> Vec<(f64, f64)> {
    let whole = 10_u64.pow(NINES);
    let mut points = Vec::new();
    for step in 0..=POINTS * NINES {
        let above = 10_f64.powf(-f64::from(step) / f64::from(POINTS));
        if above * float(phase.count()) < 1.0 - 1e-9 {
            break;
        }
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of 10^6"
        )]
        let parts = ((1.0 - above) * float(whole)).round() as u64;
        let Some(latency) = phase.quantile(parts, whole) else { break };
        points.push((round((1.0 - above) * 100.0, 5), round(float(latency.as_nanos()) / 1e6, 6)));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_sim::Duration;

    #[test]
    fn a_curve_ends_where_a_single_request_is_left() {
        let mut phase = Phase::new();
        assert_eq!(percentiles(&phase), []);
        for micros in 1..=1_000 {
            phase.record(Duration::from_micros(micros));
        }
        let points = percentiles(&phase);
        assert_eq!(points.len(), 3 * POINTS as usize + 1);
        assert_eq!(points[0].0, 0.0);
        for (percent, micros) in [(50.0, 500.0), (90.0, 900.0), (99.0, 990.0), (99.9, 999.0)] {
            let near = |point: &&(f64, f64)| (point.0 - percent).abs() < 0.5;
            let (_, latency) = points.iter().rev().find(near).unwrap();
            assert!((latency * 1e3 - micros).abs() < 10.0, "{percent} %: {latency} ms");
        }
    }
}
