//! Charts of a measurement: predicted against measured, and latencies in order.
//!
//! Layer: rank 8. Function: [`draw`].

use super::BAND;
use super::predictions::Prediction;
use crate::reading::{Reading, StepReading};
use boardlab_result::prose::round;
use boardlab_result::{Axis, Chart, RunResult, Style, Unit};

/// The most charts of latencies.
const LATENCY_CHARTS: usize = 20;

/// Adds the charts to `run`.
pub(super) fn draw(run: &mut RunResult, reading: &Reading, predictions: &[Prediction<'_>]) {
    scatters(run, predictions);
    let with_each = reading.steps.iter().filter(|step| step.each.is_some());
    with_each.take(LATENCY_CHARTS).for_each(|step| latencies(run, step));
}

/// A chart for each unit of the predictions: predicted against measured.
pub(crate) fn scatters(run: &mut RunResult, predictions: &[Prediction<'_>]) {
    for unit in [Unit::Nanoseconds, Unit::BytesPerSecond, Unit::Plain] {
        let of_unit = predictions.iter().filter(|one| one.unit() == unit);
        let points = of_unit.filter_map(Prediction::figures);
        let points: Vec<_> = points.filter(|(x, y)| *x > 0.0 && *y > 0.0).collect();
        if !points.is_empty() {
            scatter(run, unit, points);
        }
    }
}

fn logarithmic(label: &str) -> Axis {
    Axis { log2: true, ..Axis::fitting(label) }
}

/// Predicted against measured, with the lines between which a prediction is right.
fn scatter(run: &mut RunResult, unit: Unit, points: Vec<(f64, f64)>) {
    let (id, name, shown, series, scale) = match unit {
        Unit::Nanoseconds => ("times", "times", "ms", "ms", 1e6),
        Unit::BytesPerSecond => ("rates", "rates", "MB/s", "mb_per_s", 1e6),
        _ => ("operations", "operations a second", "1/s", "", 1.0),
    };
    let points: Vec<_> =
        points.into_iter().map(|(x, y)| (round(x / scale, 9), round(y / scale, 9))).collect();
    let axes = ["predicted", "measured"].map(|what| logarithmic(&format!("{what} ({shown})")));
    let mut chart = Chart::new(
        format!("predicted-{id}"),
        format!("Predicted and measured {name}"),
        "Each point is a prediction. Between the dashed lines it is within 10 % of what was measured; above \
         the solid line more was measured than predicted.",
        axes,
    );
    let ends = points.iter().map(|(x, _)| *x);
    let (low, high) = ends.fold((f64::MAX, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
    // The lines are longer than what they are about, so that a single point has some as well.
    let ends = [low / 2.0, high * 2.0];
    for (line, label, factor, style) in [
        ("equal", "equal", 1.0, Style::Line),
        ("high", "prediction 10 % too high", 1.0 / (1.0 + BAND), Style::Dashed),
        ("low", "prediction 10 % too low", 1.0 / (1.0 - BAND), Style::Dashed),
    ] {
        let name = (format!("predicted-{id}-{line}"), label);
        run.plot(&mut chart, name, series, style, ends.map(|x| (x, round(x * factor, 9))));
    }
    let name = (format!("predicted-{id}-points"), "predictions");
    run.plot(&mut chart, name, series, Style::Points, points);
    run.charts.push(chart);
}

/// Every latency of a step, in order.
#[allow(clippy::cast_precision_loss, reason = "positions on a chart")]
fn latencies(run: &mut RunResult, step: &StepReading) {
    let Some(each) = &step.each else { return };
    let caption = match each.group {
        1 => "Every operation in order.".into(),
        group => format!("The longest and the shortest of every {group} operations, in order."),
    };
    let axes = [Axis::fitting("operation"), logarithmic("latency (ms)")];
    let id = format!("latency-{}", step.name);
    let mut chart = Chart::new(&id, format!("Latencies of {}", step.name), caption, axes);
    let extremes = || each.extremes.iter().zip(0_u64..);
    let place = |index: u64| (index * each.group) as f64;
    if each.group > 1 {
        let points =
            extremes().map(|((least, _), index)| (place(index), round(*least as f64 / 1e6, 9)));
        run.plot(&mut chart, (format!("{id}-shortest"), "shortest"), "ms", Style::Points, points);
    }
    let label = if each.group > 1 { "longest" } else { "latency" };
    let points = extremes().map(|((_, most), index)| (place(index), round(*most as f64 / 1e6, 9)));
    run.plot(&mut chart, (format!("{id}-longest"), label), "ms", Style::Points, points);
    run.charts.push(chart);
}
