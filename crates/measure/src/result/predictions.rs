//! Predictions beside what was measured.
//!
//! Layer: rank 8. Main type: [`Prediction`]; [`METRICS`] are the figures that can be predicted. The
//! difference is the share of what was measured by which the prediction is off.

use crate::plan::Step;
use crate::reading::{Reading, State, StepReading};
use boardlab_result::{Cell, Row, Table, Unit};
use boardlab_sim::Duration;

/// A figure of a step, in the unit of its name.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Figure {
    Whole(u64),
    Real(f64),
}

impl Figure {
    #[allow(clippy::cast_precision_loss, reason = "for comparison and display")]
    fn as_f64(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Real(number) => number,
        }
    }

    fn cell(self) -> Cell {
        match self {
            Self::Whole(number) => Cell::count(number),
            Self::Real(number) => Cell::real(number),
        }
    }
}

/// How a figure of a step is computed.
type Measure = fn(&StepReading) -> Option<Figure>;

/// The figures that a plan can predict.
const MEASURES: [(&str, Measure); 10] = [
    ("elapsed_ns", |step| Some(Figure::Whole(step.elapsed_ns))),
    ("mean_ns", |step| step.mean_ns().map(Figure::Whole)),
    ("p50_ns", |step| quantile(step, 500)),
    ("p90_ns", |step| quantile(step, 900)),
    ("p99_ns", |step| quantile(step, 990)),
    ("p999_ns", |step| quantile(step, 999)),
    ("min_ns", |step| Some(Figure::Whole(step.latencies.as_ref()?.min_ns))),
    ("max_ns", |step| Some(Figure::Whole(step.latencies.as_ref()?.max_ns))),
    ("bytes_per_s", |step| step.bytes_per_s().map(Figure::Whole)),
    ("operations_per_s", |step| step.operations_per_s().map(Figure::Real)),
];

/// The names of the figures that a plan can predict.
pub const METRICS: [&str; MEASURES.len()] = {
    let mut names = [""; MEASURES.len()];
    let mut at = 0;
    while at < MEASURES.len() {
        names[at] = MEASURES[at].0;
        at += 1;
    }
    names
};

fn quantile(step: &StepReading, share: u16) -> Option<Figure> {
    step.latencies.as_ref().map(|latencies| Figure::Whole(latencies.quantile_ns(share)))
}

/// A prediction of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction<'r> {
    /// The step.
    pub step: &'r str,
    /// The name of the figure.
    pub metric: &'r str,
    /// What was predicted.
    predicted: u64,
    /// What was measured, if the figure is known and the step did not fail.
    measured: Option<Figure>,
}

impl<'r> Prediction<'r> {
    /// What was predicted of the figure `metric` of `step`, and what was measured, as far as it was.
    pub(crate) const fn of(
        step: &'r str,
        metric: &'r str,
        predicted: u64,
        measured: Option<u64>,
    ) -> Self {
        let measured = match measured {
            Some(number) => Some(Figure::Whole(number)),
            None => None,
        };
        Self { step, metric, predicted, measured }
    }
}

impl Prediction<'_> {
    /// The name of its row.
    pub(super) fn id(&self) -> String {
        format!("{}.{}", self.step, self.metric)
    }

    /// What was predicted and what was measured, if it was.
    #[must_use]
    pub fn figures(&self) -> Option<(f64, f64)> {
        Some((Figure::Whole(self.predicted).as_f64(), self.measured?.as_f64()))
    }

    /// The share of what was measured by which the prediction is off.
    #[must_use]
    pub fn off(&self) -> Option<f64> {
        let (predicted, measured) = self.figures()?;
        Some((predicted - measured) / measured).filter(|share| share.is_finite())
    }

    /// Whether there is such a figure.
    fn is_known(&self) -> bool {
        METRICS.contains(&self.metric)
    }

    /// The unit of its figures.
    pub(super) fn unit(&self) -> Unit {
        Unit::of_key(self.metric)
    }

    /// It and what was measured, as a part of a sentence.
    pub(super) fn sentence(&self, off: f64) -> String {
        let shown = |figure: Figure| match (figure, self.unit()) {
            (Figure::Whole(ns), Unit::Nanoseconds) => Duration::from_nanos(ns).to_string(),
            (figure, Unit::BytesPerSecond) => rate(figure.as_f64()),
            (figure, _) => format!("{:.1}", figure.as_f64()),
        };
        let measured = self.measured.map(shown).unwrap_or_default();
        let (predicted, off) = (shown(Figure::Whole(self.predicted)), super::percent(off));
        format!("{}: predicted {predicted}, measured {measured}, off by {off}", self.id())
    }
}

/// A rate, in decimal units.
fn rate(bytes_per_s: f64) -> String {
    match bytes_per_s {
        rate if rate >= 1e9 => format!("{:.2} GB/s", rate / 1e9),
        rate if rate >= 1e6 => format!("{:.2} MB/s", rate / 1e6),
        rate if rate >= 1e3 => format!("{:.2} kB/s", rate / 1e3),
        rate => format!("{rate:.0} B/s"),
    }
}

/// The predictions of all steps that ended, in order.
pub(super) fn of(reading: &Reading) -> Vec<Prediction<'_>> {
    reading.steps.iter().flat_map(of_step).collect()
}

fn of_step(step: &StepReading) -> impl Iterator<Item = Prediction<'_>> {
    let predictions = step.planned.iter().flat_map(Step::predictions);
    predictions.map(|(metric, predicted)| Prediction {
        step: step.name.as_str(),
        metric,
        predicted: *predicted,
        measured: measured(step, metric),
    })
}

fn measured(step: &StepReading, metric: &str) -> Option<Figure> {
    let measure = MEASURES.iter().find(|(name, _)| *name == metric)?.1;
    measure(step).filter(|_| !matches!(step.state, State::Failed(_)))
}

/// The table of the predictions, if there are any.
pub(crate) fn table(predictions: &[Prediction<'_>]) -> Option<Table> {
    let row = |one: &Prediction<'_>| Row::new(one.id(), "").of_unit(one.unit().name());
    let rows = predictions.iter().map(|one| (row(one), one));
    Table::new("predictions", "Predictions beside what was measured")
        .of(rows)
        .column("predicted", "predicted", |one| Figure::Whole(one.predicted).cell())
        .column("measured", "measured", |one| one.measured.map_or_else(Cell::none, Figure::cell))
        .column("off_ratio", "off", |one| one.off().map_or_else(Cell::none, Cell::real))
        .unless_empty()
}

/// What cannot be compared.
pub(crate) fn warnings(predictions: &[Prediction<'_>]) -> Vec<String> {
    let mut warnings = Vec::new();
    for one in predictions.iter().filter(|one| !one.is_known()) {
        let text = format!(
            "Step `{}` predicts `{}`, which is no figure of a step; there are {}.",
            one.step,
            one.metric,
            METRICS.join(", ")
        );
        warnings.push(text);
        if warnings.len() == super::LISTED {
            break;
        }
    }
    let unmeasured = predictions.iter().filter(|one| one.is_known() && one.off().is_none());
    let unmeasured: Vec<_> = unmeasured.map(Prediction::id).collect();
    if !unmeasured.is_empty() {
        let shown = unmeasured[..unmeasured.len().min(super::LISTED)].join(", ");
        let count = unmeasured.len();
        warnings.push(format!("Predicted and not measured ({count}): {shown}."));
    }
    warnings
}
