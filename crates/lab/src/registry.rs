//! The experiments, and the only functions that the command line calls.
//!
//! Layer: rank 11, the top of this crate. A new experiment is a scenario, a reference, its folder and a line in [`EXPERIMENTS`].

use crate::{fcse, nor, sata};
use boardlab_cards::{fio, life, sdwear};
use boardlab_document::Document;
use boardlab_document::error::Error;
use boardlab_document::source::Kind;
use boardlab_experiment::{Action, Experiment, Failure, Progress, Request, VERSION, scenario_name};
use boardlab_filesystems::nandfs;
use boardlab_parts::catalog;
use boardlab_result::{Cell, Reproduction, Row, RunResult, Table};
use boardlab_sim::Seed;

/// All that scenarios can be, the published evaluations in the order in which they are reproduced.
pub static EXPERIMENTS: [Experiment; 8] = [
    nor::EXPERIMENT,
    nandfs::EXPERIMENT,
    sdwear::EXPERIMENT,
    sata::EXPERIMENT,
    fcse::EXPERIMENT,
    fio::CARD,
    fio::DRIVE,
    life::EXPERIMENT,
];

/// The published evaluations, in the order in which they are reproduced.
pub fn published() -> impl Iterator<Item = &'static Experiment> {
    EXPERIMENTS.iter().filter(|one| one.published)
}

/// The published evaluation whose name or scenario is `name`.
///
/// # Errors
/// [`Error::UnknownName`] with the names that exist.
pub fn experiment(name: &str) -> Result<&'static Experiment, Error> {
    let known = published().find(|one| one.name == name || one.scenario == name);
    known.ok_or_else(|| Error::UnknownName {
        place: None,
        what: "experiment",
        found: name.into(),
        names: published().map(|one| one.name.into()).collect(),
    })
}

/// A scenario that was read with its part and its board, and the experiment that it names.
#[derive(Debug)]
pub struct OpenScenario {
    /// The experiment.
    pub experiment: &'static Experiment,
    document: Document,
    name: String,
}

/// Reads the scenario `name`, a built-in one or a path, with the arguments of all `--set`.
///
/// # Errors
/// What is wrong with the file or with an argument.
pub fn open<S: AsRef<str>>(name: &str, set: &[S]) -> Result<OpenScenario, Error> {
    let document = catalog::compose(name, set)?;
    let experiment = Experiment::named_by(&document, &EXPERIMENTS)?;
    Ok(OpenScenario { experiment, document, name: scenario_name(name) })
}

impl OpenScenario {
    /// Does `action` with it.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn perform(
        &self,
        action: Action,
        seed: Seed,
        progress: &(dyn Fn(Progress<'_>) + Sync),
    ) -> Result<RunResult, Failure> {
        let request = Request { document: &self.document, scenario: &self.name, seed, progress };
        self.experiment.perform(action, &request)
    }
}

/// Does `action` with the scenario `name`, as [`open`] reads it.
///
/// # Errors
/// [`Failure`].
pub fn perform<S: AsRef<str>>(
    action: Action,
    name: &str,
    set: &[S],
    seed: Seed,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<RunResult, Failure> {
    open(name, set)?.perform(action, seed, progress)
}

/// Runs the published evaluations called `names`, all of them when there are none.
///
/// # Errors
/// [`Failure`].
pub fn reproduce<S: AsRef<str>>(
    names: &[S],
    seed: Seed,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<Reproduction, Failure> {
    let chosen: Vec<&Experiment> = match names {
        [] => published().collect(),
        names => names.iter().map(|name| experiment(name.as_ref())).collect::<Result<_, _>>()?,
    };
    let reproduced = chosen
        .into_iter()
        .map(|experiment| perform::<&str>(Action::Run, experiment.scenario, &[], seed, progress));
    Ok(Reproduction::new(reproduced.collect::<Result<_, _>>()?))
}

/// What there is, as tables `parts`, `boards` and `scenarios`; `kinds` chooses some of them.
///
/// # Errors
/// [`Failure`] when a built-in file lacks its title.
pub fn list(kinds: &[Kind]) -> Result<RunResult, Failure> {
    let mut run = RunResult::new("list", "What there is", 0, VERSION);
    for (kind, id, title) in [
        (Kind::Part, "parts", "Parts"),
        (Kind::Board, "boards", "Boards"),
        (Kind::Scenario, "scenarios", "Scenarios"),
    ] {
        if !kinds.is_empty() && !kinds.contains(&kind) {
            continue;
        }
        let mut rows = Vec::new();
        for file in catalog::all(kind) {
            let title = Document::parse(&file.source(kind))?.title()?;
            rows.push((Row::new(file.name, ""), (title, file.path)));
        }
        let table = Table::new(id, title)
            .of(rows)
            .column("title", "what it is", |(title, _)| Cell::text(title))
            .column("file", "file", |(_, path)| Cell::text(*path));
        run.tables.push(table.table());
    }
    Ok(run)
}
