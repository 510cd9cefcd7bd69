//! The experiments, and the only functions that the command line calls.
//!
//! Layer: rank 11, the top of this crate. A new experiment is a scenario, a reference, its folder and a line in [`EXPERIMENTS`].

use crate::{fcse, nor, sata};
use boardlab_cards::{fio, life, sdwear};
use boardlab_document::error::{At, Error, Message, Other};
use boardlab_document::source::Kind;
use boardlab_document::{Document, Node, files};
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
        what: "evaluation",
        found: name.into(),
        names: published().flat_map(|one| [one.name.into(), one.scenario.into()]).collect(),
    })
}

/// A scenario that was read with its part and its board, and the experiment that it names.
#[derive(Debug)]
pub struct OpenScenario {
    /// The experiment.
    pub experiment: &'static Experiment,
    pub(crate) document: Document,
    pub(crate) name: String,
}

/// The scenario that `name` stands for: the name of an evaluation stands for that of its scenario.
fn scenario_of(name: &str) -> &str {
    EXPERIMENTS.iter().find(|one| one.name == name).map_or(name, |one| one.scenario)
}

/// Reads the scenario `name`, a built-in one, the evaluation of one, or a path, with the arguments of all `--set`.
///
/// # Errors
/// What is wrong with the file or with an argument.
pub fn open<S: AsRef<str>>(name: &str, set: &[S]) -> Result<OpenScenario, Error> {
    let name = scenario_of(name);
    let document = catalog::compose(name, set).map_err(|error| part_for_scenario(name, error))?;
    let experiment = Experiment::named_by(&document, &EXPERIMENTS)?;
    Ok(OpenScenario { experiment, document, name: scenario_name(name) })
}

/// The `error` that there is no scenario `name`; if it is a part, with what to type instead.
fn part_for_scenario(name: &str, error: Error) -> Error {
    let is_part = catalog::parts().iter().any(|part| part.name == name);
    if !matches!(error, Error::UnknownName { .. }) || !is_part {
        return error;
    }
    let message = Message {
        title: format!("`{name}` is a part, not a scenario"),
        label: String::new(),
        help: match uses(Kind::Part, name).unwrap_or_default().first() {
            Some((_, command)) => format!("name a scenario, with this part in it: {command}"),
            None => String::from("name a scenario: boardlab list scenarios"),
        },
    };
    Other { at: At::Nowhere, message }.into()
}

/// A built-in file in a built-in scenario.
pub(crate) struct Fit {
    /// The scenario.
    pub(crate) scenario: &'static str,
    /// The argument of a `--set` that names the file.
    set: String,
    /// Why the scenario does not run with it.
    pub(crate) refusal: Option<Failure>,
}

/// How the `kind` of file called `name` fits into each scenario that names such a file.
pub(crate) fn fits(kind: Kind, name: &str) -> Result<Vec<Fit>, Failure> {
    let mut fits = Vec::new();
    for scenario in catalog::all(Kind::Scenario) {
        let scenario = scenario.name;
        let document = open::<&str>(scenario, &[])?.document;
        let keys = files::mounts(&document).into_iter();
        let keys =
            keys.filter(|key| files::mounted(key) == Some(kind) && document.get(key).is_some());
        let mut tried = keys.map(|key| {
            let set = format!("{key}={name}");
            let refusal = check(scenario, &set).err();
            Fit { scenario, set, refusal }
        });
        let first = tried.next();
        let taken = first.as_ref().is_some_and(|fit| fit.refusal.is_none());
        let other = if taken { None } else { tried.find(|fit| fit.refusal.is_none()) };
        fits.extend(other.or(first));
    }
    Ok(fits)
}

/// The scenarios that take the `kind` of file called `name`, each with a command that runs it with this file.
///
/// # Errors
/// A built-in scenario is broken.
pub fn uses(kind: Kind, name: &str) -> Result<Vec<(&'static str, String)>, Failure> {
    let taken = fits(kind, name)?.into_iter().filter(|fit| fit.refusal.is_none());
    Ok(taken.map(|fit| (fit.scenario, command(fit.scenario, &fit.set))).collect())
}

/// Checks the built-in `scenario` with `set`, the argument of a `--set`.
pub(crate) fn check(scenario: &str, set: &str) -> Result<(), Failure> {
    open(scenario, &[set])?.check()
}

/// The command that runs the built-in `scenario` with `set`, the argument of a `--set` for a shell.
pub(crate) fn command(scenario: &str, set: &str) -> String {
    let experiment = EXPERIMENTS.iter().find(|one| one.scenario == scenario);
    let action = experiment.and_then(|one| one.actions.first());
    let command = action.map_or("run", |(action, _)| action.command());
    format!("boardlab {command} {scenario} --set {set}")
}

impl OpenScenario {
    /// Checks it, as before a run.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Self { experiment, document, name: scenario } = self;
        let request = Request { document, scenario, seed: Seed::new(1), progress: &|_| () };
        (experiment.check)(&request).map(drop)
    }

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

/// What there is of `kinds`, as tables `parts`, `boards` and `scenarios`. Of parts only those are listed whose `kind`
/// is one of `part_kinds`, if there are any.
///
/// # Errors
/// [`Failure`] when a built-in file lacks its title.
pub fn list(kinds: &[Kind], part_kinds: &[&str]) -> Result<RunResult, Failure> {
    let mut answer = RunResult::new("list", "What there is", 0, VERSION);
    if kinds.contains(&Kind::Scenario) {
        answer.findings.push(String::from(
            "boardlab reproduce EVALUATION runs a scenario and compares it with the published figures.",
        ));
    }
    for kind in kinds {
        let (id, title) = match kind {
            Kind::Part => ("parts", "Parts"),
            Kind::Board => ("boards", "Boards"),
            _ => ("scenarios", "Scenarios"),
        };
        let mut rows = Vec::new();
        for file in catalog::all(*kind) {
            let document = Document::parse(&file.source(*kind))?;
            let text = |key| document.get(key).and_then(Node::as_text).unwrap_or_default();
            let is_listed =
                *kind != Kind::Part || part_kinds.is_empty() || part_kinds.contains(&text("kind"));
            if is_listed {
                let experiment = EXPERIMENTS.iter().find(|one| one.scenario == text("experiment"));
                let kind = text("kind").to_owned();
                rows.push((Row::new(file.name, ""), (document.title()?, kind, experiment)));
            }
        }
        let mut table =
            Table::new(id, title)
                .of(rows)
                .column("title", "what it is", |(title, ..)| Cell::text(title));
        table = match kind {
            Kind::Part => table.column("kind", "kind", |(_, kind, _)| Cell::text(kind)),
            Kind::Scenario => table
                .column("commands", "commands", |(.., one)| Cell::text(commands(*one)))
                .column("evaluation", "evaluation", |(.., one)| Cell::text(evaluation(*one))),
            _ => table,
        };
        answer.tables.push(table.table());
    }
    Ok(answer)
}

/// The name by which `reproduce` knows `experiment`; empty if nothing about it is published.
fn evaluation(experiment: Option<&Experiment>) -> &'static str {
    experiment.filter(|one| one.published).map_or("", |one| one.name)
}

/// The commands that `experiment` takes.
fn commands(experiment: Option<&Experiment>) -> String {
    let commands =
        experiment.into_iter().flat_map(|one| one.actions).map(|(action, _)| action.command());
    commands.collect::<Vec<_>>().join(", ")
}
