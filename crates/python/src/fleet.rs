//! Sweeps in batches, for `boardlab.fleet`: any process plans the same sweep and runs some of its points.
//!
//! Layer: rank 12. Main type: [`Sweep`], what is asked; functions for Python: [`fleet_plan`], [`fleet_run`]
//! and [`fleet_result`]. A plan costs less than any point, so each call makes its own.

use crate::commands::action_named;
use crate::fault::Fault;
use crate::outcome::Outcome;
use crate::spec::Spec;
use crate::work::{self, Control, Terms};
use boardlab_experiment::{Failure, Progress};
use boardlab_lab::registry::{self, EXPERIMENTS};
use boardlab_result::Value;
use boardlab_sim::Seed;
use boardlab_sweep::Order;
use boardlab_sweep::batch::Batches;
use pyo3::prelude::*;
use std::num::NonZeroUsize;

/// A scenario, the arguments of `--grid`, what is done at each point, and the seed of all points.
#[derive(FromPyObject)]
pub(crate) struct Sweep(Spec, Vec<String>, String, u64);

/// What a plan is: the number of points, the keys, and a checksum of the inputs of the points that were checked.
type Planned = (usize, Vec<String>, u32);

/// A point that has run: its number, its values as JSON, its line, and whether it failed.
type Ran = (usize, String, String, bool);

impl Sweep {
    /// Does `work` with the batches of this sweep.
    fn plan<T>(
        &self,
        control: &Control,
        work: impl FnOnce(&Batches<'_>) -> Result<T, Failure>,
    ) -> Result<T, Fault> {
        let Self(spec, grid, name, seed) = self;
        let source = spec.source();
        let order = Order {
            experiments: &EXPERIMENTS,
            scenario: spec.name(),
            source: source.as_ref(),
            set: spec.set(),
            grid,
            cells: &[],
            action: action_named(name)?,
            seed: Seed::new(*seed),
            threads: None,
            journal: None,
            restart: false,
            progress: &|_| {},
            warn: &|_| {},
            stop: &control.stop,
        };
        let done = Batches::plan(&order).and_then(|batches| work(&batches));
        Ok(done.map_err(|failure| match failure {
            Failure::Input(error) => {
                Failure::Input(registry::scenario_expected("sweep", spec.name(), error))
            }
            other => other,
        })?)
    }
}

/// Plans a sweep, and checks its points as far as that is done before any runs.
#[pyfunction]
pub(crate) fn fleet_plan(py: Python<'_>, sweep: Sweep, terms: Terms) -> PyResult<Planned> {
    let threads = terms.threads().and_then(NonZeroUsize::new);
    work::perform(py, "fleet", &terms, move |control| {
        sweep.plan(control, |batches| {
            let checksum = batches.check(threads)?;
            let keys = batches.keys().into_iter().map(str::to_owned);
            Ok((batches.count(), keys.collect(), checksum))
        })
    })
}

/// Runs the points from `first` up to `end`, exclusive.
#[pyfunction]
pub(crate) fn fleet_run(
    py: Python<'_>,
    sweep: Sweep,
    first: usize,
    end: usize,
    terms: Terms,
) -> PyResult<Vec<Ran>> {
    work::perform(py, "fleet", &terms, move |control| {
        sweep.plan(control, |batches| {
            let done = |point: usize| {
                let label = batches.label(point);
                let (done, total) = (point + 1 - first, end - first);
                control.report(Progress { step: &label, done, total });
            };
            let records = batches.run(first..end, done)?.into_iter();
            let ran = records.map(|one| {
                let values = batches.values(one.point).into_iter().map(json).collect::<Vec<_>>();
                let values = serde_json::Value::from(values).to_string();
                (one.point, values, one.line, one.is_failed)
            });
            Ok(ran.collect())
        })
    })
}

fn json(value: Value) -> serde_json::Value {
    match value {
        Value::Int(number) => number.into(),
        Value::Real(number) => number.into(),
        Value::Text(text) => text.into(),
        Value::None => serde_json::Value::Null,
    }
}

/// The result of all points by their lines: that of `boardlab sweep`.
#[pyfunction]
pub(crate) fn fleet_result(
    py: Python<'_>,
    sweep: Sweep,
    lines: Vec<String>,
    cells: Vec<String>,
    terms: Terms,
) -> PyResult<Outcome> {
    work::perform(py, "fleet", &terms, move |control| {
        let run = sweep.plan(control, |batches| batches.result(lines, &cells))?;
        Ok(Outcome::new(run, None))
    })
}
