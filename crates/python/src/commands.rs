//! What runs: actions on scenarios, and sweeps.
//!
//! Layer: rank 12. Functions for Python: [`perform`], [`sweep`], [`evaluations`],
//! [`reproduction_json`]; and [`panic`], by which the tests see that no panic crosses.

use crate::fault::Fault;
use crate::guard::guarded;
use crate::outcome::Outcome;
use crate::own::Given;
use crate::spec::Spec;
use crate::work::{self, Terms};
use boardlab_experiment::{Action, Failure, Request};
use boardlab_lab::registry::{self, EXPERIMENTS};
use boardlab_report::{Format, Options, Shown, render};
use boardlab_result::Reproduction;
use boardlab_sim::Seed;
use boardlab_sweep::Order;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::prelude::*;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Instant;

/// The actions by the names of their functions, which are those of the commands.
const ACTIONS: [Action; 5] =
    [Action::Run, Action::Tune, Action::Life, Action::PowerCut, Action::Advise];

/// The action of this name.
pub(crate) fn action_named(name: &str) -> PyResult<Action> {
    let found = ACTIONS.into_iter().find(|one| one.command() == name);
    found.ok_or_else(|| PyValueError::new_err(format!("no action is called `{name}`")))
}

/// Does `action` with a scenario and policies of the caller.
#[pyfunction]
pub(crate) fn perform(
    py: Python<'_>,
    action: &str,
    spec: Spec,
    policies: Vec<Given>,
    seed: u64,
    terms: Terms,
) -> PyResult<Outcome> {
    let action = action_named(action)?;
    work::perform(py, action.command(), &terms, move |control| {
        let mut open = spec.open(action.command())?;
        for given in policies {
            let (key, policy) = given.into_policy(&control.errors);
            open.give(&key, policy);
        }
        let start = Instant::now();
        let progress = |progress: boardlab_experiment::Progress<'_>| control.report(progress);
        let request = open.request(Seed::new(seed), &progress);
        let request = Request { stop: &control.stop, ..request };
        let run = open.experiment.perform(action, &request)?;
        Ok(Outcome::new(run, u64::try_from(start.elapsed().as_nanos()).ok()))
    })
}

/// The grid of a sweep: `KEY=VALUE,VALUE` each, the cells that are wanted, the file of the journal and
/// whether to begin anew.
#[derive(FromPyObject)]
pub(crate) struct Grid(Vec<String>, Vec<String>, Option<PathBuf>, bool);

/// Runs a scenario at every point of a grid: the result, the number of points that were done before,
/// that of all points, and sentences about rejected lines of the journal.
#[pyfunction]
pub(crate) fn sweep(
    py: Python<'_>,
    spec: Spec,
    grid: Grid,
    seed: u64,
    terms: Terms,
) -> PyResult<(Outcome, usize, usize, Vec<String>)> {
    let threads = terms.threads().and_then(NonZeroUsize::new);
    work::perform(py, "sweep", &terms, move |control| {
        let Grid(grid, cells, journal, restart) = grid;
        let (start, source, warnings) = (Instant::now(), spec.source(), Mutex::new(Vec::new()));
        let swept = boardlab_sweep::sweep(&Order {
            experiments: &EXPERIMENTS,
            scenario: spec.name(),
            source: source.as_ref(),
            set: spec.set(),
            grid: &grid,
            cells: &cells,
            action: Action::Run,
            seed: Seed::new(seed),
            threads,
            journal: journal.as_deref(),
            restart,
            progress: &|progress| control.report(progress),
            warn: &|words| warnings.lock().expect("nothing panics with it").push(words.into()),
            stop: &control.stop,
        });
        let swept = swept.map_err(|failure| match failure {
            Failure::Input(error) => {
                Failure::Input(registry::scenario_expected("sweep", spec.name(), error))
            }
            other => other,
        })?;
        let elapsed = u64::try_from(start.elapsed().as_nanos()).ok();
        let warnings = warnings.into_inner().expect("nothing panics with it");
        Ok((Outcome::new(swept.result, elapsed), swept.resumed, swept.points, warnings))
    })
}

/// The scenarios of the published evaluations called `names`, of all of them if there are none.
#[pyfunction]
pub(crate) fn evaluations(py: Python<'_>, names: Vec<String>) -> PyResult<Vec<&'static str>> {
    guarded(py, "reproduce", || {
        if names.is_empty() {
            return Ok(registry::published().map(|one| one.scenario).collect());
        }
        let each = names.iter().map(|name| Ok(registry::experiment(name)?.scenario));
        each.collect()
    })
}

/// The JSON of several results, as `boardlab reproduce` prints it.
#[pyfunction]
pub(crate) fn reproduction_json(py: Python<'_>, all: Vec<Py<Outcome>>) -> PyResult<String> {
    guarded(py, "Reproduction.json", || {
        let runs = all.iter().map(|one| one.get().run().clone()).collect();
        let options = Options { wall_time: false, ..Options::default() };
        Ok(render(Shown::Reproduction(&Reproduction::new(runs)), Format::Json, &options))
    })
}

/// Panics with `words`: in the call itself, in the thread of a run, or in one of its pool. For tests.
#[pyfunction]
#[allow(clippy::panic, reason = "that is what it is for")]
pub(crate) fn panic(py: Python<'_>, place: &str, words: String) -> PyResult<()> {
    let fall = |words: &str| -> Result<(), Fault> { panic!("{words}") };
    match place {
        "call" => guarded(py, "panic", || fall(&words)),
        "run" => work::perform(py, "panic", &Terms::NONE, move |_| fall(&words)),
        _ => work::perform(py, "panic", &Terms::NONE, move |_| {
            (0..8)
                .into_par_iter()
                .try_for_each(|number| if number == 5 { fall(&words) } else { Ok(()) })
        }),
    }
}
