//! The points of a chart's layers, thinned out so that no report grows without limit.
//!
//! Layer: inside `report::html`. Main types: [`PlottedLayer`], a layer with its points, and [`Budget`],
//! the limit of points of a curve in this report. Thinning replaces neighbours by their mean.
//! Curves that do not exist or have no points, and points that are not numbers, not positive on a
//! logarithmic axis or not below 100 % on one of percentiles, are omitted.

use boardlab_result::{Chart, Layer, RunResult, Side, Style};
use boardlab_sim::Series;

/// Points of one curve, at most.
const CURVE_MAX: usize = 2_000;

/// Points of all curves of one report, at most. A point costs about 40 bytes in the chart and as
/// many in the table of values, so this keeps the charts within 2 of the 3 MB.
const REPORT_MAX: usize = 24_000;

/// Points of one curve in a report of very many curves, at least.
const CURVE_MIN: usize = 16;

/// Rows of the table of a chart's values, at most; the CSV has them all.
const ROWS_MAX: usize = 200;

/// The limit of points of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget(usize);

impl Budget {
    /// An equal share for every layer of every chart.
    pub(super) fn of(results: &[RunResult]) -> Self {
        let charts = results.iter().flat_map(|run| &run.charts);
        let layers: usize = charts.map(|chart| chart.layers.len()).sum();
        Self((REPORT_MAX / layers.max(1)).clamp(CURVE_MIN, CURVE_MAX))
    }

    /// The limit of rows of the table of a chart's values.
    pub(super) fn rows(self) -> usize {
        self.0.min(ROWS_MAX)
    }
}

/// A layer with the points that are drawn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PlottedLayer {
    /// Name in the legend, unique within the chart.
    pub(super) label: String,
    /// How it is drawn.
    pub(super) style: Style,
    /// Which vertical axis it belongs to.
    pub(super) side: Side,
    /// Label of the layer in whose colour it is drawn.
    pub(super) like: Option<String>,
    /// Unit of the values.
    pub(super) unit: String,
    /// The points.
    pub(super) points: Vec<(f64, f64)>,
    /// The other edge of a band at these points; empty for other styles.
    pub(super) edge: Vec<f64>,
    /// The number of points of the curve, if they were thinned out.
    pub(super) thinned_from: Option<usize>,
}

/// The layers of `chart` that can be drawn.
pub(super) fn plotted(run: &RunResult, chart: &Chart, budget: Budget) -> Vec<PlottedLayer> {
    let mut layers: Vec<PlottedLayer> = Vec::new();
    for layer in &chart.layers {
        let Some(mut plotted) = one(run, chart, layer, budget) else { continue };
        let same = layers.iter().filter(|other| other.label.starts_with(&plotted.label)).count();
        if same > 0 && layers.iter().any(|other| other.label == plotted.label) {
            plotted.label = format!("{} ({})", plotted.label, same + 1);
        }
        layers.push(plotted);
    }
    layers
}

fn one(run: &RunResult, chart: &Chart, layer: &Layer, budget: Budget) -> Option<PlottedLayer> {
    let curve = run.curve(&layer.curve)?;
    let y_axis = match layer.side {
        Side::Left => &chart.y,
        Side::Right => chart.y2.as_ref()?,
    };
    let other = match (layer.style, &layer.to) {
        (Style::Band, Some(to)) => run.curve(to).filter(|other| other.x == curve.x)?,
        (Style::Band, None) => return None,
        _ => curve,
    };
    let fits = |(x, y): (f64, f64)| {
        let drawn = |value: f64, log: bool| value.is_finite() && (!log || value > 0.0);
        let placed = !chart.x.nines || (0.0..100.0).contains(&x);
        placed && drawn(x, chart.x.log2) && drawn(y, y_axis.log2)
    };
    let (mut series, mut edge) = (Series::new(), Series::new());
    for (x, (y, other)) in curve.x.iter().zip(curve.y.iter().zip(&other.y)) {
        if fits((*x, *y)) && fits((*x, *other)) {
            series.push(*x, *y);
            edge.push(*x, *other);
        }
    }
    let found = series.points().len();
    if found == 0 {
        return None;
    }
    // Categories cannot be averaged.
    let thin = found > budget.0 && chart.categories.is_empty();
    let thinned = |series: Series| if thin { series.binned(budget.0) } else { series };
    let (drawn, edge) = (thinned(series), thinned(edge));
    let is_band = layer.style == Style::Band;
    Some(PlottedLayer {
        label: layer.label.clone(),
        style: layer.style,
        side: layer.side,
        like: layer.like.clone(),
        unit: curve.unit.clone(),
        points: drawn.points().to_vec(),
        edge: edge.points().iter().filter(|_| is_band).map(|point| point.1).collect(),
        thinned_from: thin.then_some(found),
    })
}

/// The name of position `x` where the horizontal axis has names.
pub(super) fn category(chart: &Chart, x: f64) -> Option<&str> {
    let names = chart.categories.iter().enumerate();
    names.into_iter().find(|(index, _)| x == *index as f64).map(|(_, name)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_result::{Axis, Curve};
    use std::slice;

    fn chart(points: usize, layers: usize) -> (RunResult, Chart) {
        let mut run = RunResult::new("s", "t", 1, "0");
        let x: Vec<f64> = (0u32..).take(points).map(f64::from).collect();
        run.series.push(Curve { id: "c".into(), unit: "us".into(), y: x.clone(), x });
        let layer = Layer {
            label: "curve".into(),
            curve: "c".into(),
            to: None,
            style: Style::Line,
            side: Side::Left,
            like: None,
        };
        let chart = Chart {
            id: "chart".into(),
            title: "t".into(),
            caption: String::new(),
            x: Axis::fitting("x"),
            y: Axis::fitting("y"),
            y2: None,
            categories: Vec::new(),
            layers: vec![layer; layers],
            marks: Vec::new(),
        };
        run.charts.push(chart.clone());
        (run, chart)
    }

    #[test]
    fn a_long_curve_is_thinned_out_and_says_so() {
        let (run, chart) = chart(9_000, 1);
        let budget = Budget::of(slice::from_ref(&run));
        let layers = plotted(&run, &chart, budget);
        assert!(layers[0].points.len() <= CURVE_MAX);
        assert_eq!(layers[0].thinned_from, Some(9_000));
    }

    #[test]
    fn many_curves_share_the_points_of_a_report() {
        let (run, _) = chart(10, 48);
        assert_eq!(Budget::of(&[run]), Budget(500));
    }

    #[test]
    fn labels_are_unique_and_unknown_curves_are_left_out() {
        let (run, mut chart) = chart(3, 2);
        chart.layers.push(Layer { curve: "absent".into(), ..chart.layers[0].clone() });
        let labels: Vec<_> =
            plotted(&run, &chart, Budget(10)).into_iter().map(|l| l.label).collect();
        assert_eq!(labels, ["curve", "curve (2)"]);
    }

    #[test]
    fn an_axis_of_percentiles_ends_below_100_and_a_band_has_two_edges() {
        let (mut run, mut chart) = chart(102, 1);
        chart.x.nines = true;
        assert_eq!(plotted(&run, &chart, Budget(1_000))[0].points.len(), 100);
        assert!(plotted(&run, &chart, Budget(1_000))[0].edge.is_empty());
        let low = Curve { id: "low".into(), y: vec![1.0; 102], ..run.series[0].clone() };
        run.series.push(low);
        chart.layers = vec![Layer::band("band", "c", "low")];
        assert_eq!(plotted(&run, &chart, Budget(1_000))[0].edge, [1.0; 100]);
        run.series[1].x.pop();
        assert!(plotted(&run, &chart, Budget(1_000)).is_empty(), "its positions differ");
    }

    #[test]
    fn a_logarithmic_axis_takes_positive_values_only() {
        let (run, mut chart) = chart(3, 1);
        chart.x.log2 = true;
        assert_eq!(plotted(&run, &chart, Budget(10))[0].points, [(1.0, 1.0), (2.0, 2.0)]);
    }
}
