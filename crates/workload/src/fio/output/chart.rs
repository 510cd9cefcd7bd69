//! The latencies of jobs by percentile, whether this crate ran them or fio.
//!
//! Layer: rank 6. Function: [`latencies`].

use boardlab_result::{Axis, Chart, RunResult, Style};

/// Latencies over this ratio are shown on a logarithmic axis.
const WIDE: f64 = 8.0;

/// Draws completion latencies in milliseconds against percentiles into a chart called `id`; each curve has an id, a
/// label and points, which ascend. One without points is left out, and so is a chart without curves.
pub fn latencies(
    run: &mut RunResult,
    (id, title, caption): (&str, &str, &str),
    curves: impl IntoIterator<Item = (String, String, Vec<(f64, f64)>)>,
) {
    let axes = [Axis::of_percentiles("requests"), Axis::from_zero("completion latency (ms)")];
    let mut chart = Chart::new(id, title, caption, axes);
    let (mut least, mut most) = (f64::MAX, 0.0_f64);
    for (id, label, points) in curves {
        let (Some(first), Some(last)) = (points.first(), points.last()) else { continue };
        (least, most) = (least.min(first.1), most.max(last.1));
        run.plot(&mut chart, (id, label), "ms", Style::Line, points);
    }
    if least > 0.0 && most > WIDE * least {
        chart.y.log2 = true;
    }
    if !chart.layers.is_empty() {
        run.charts.push(chart);
    }
}
