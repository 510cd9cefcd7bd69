//! The experiments, and the only functions that the command line calls.
//!
//! Layer: rank 11, the top of this crate. A new experiment is a scenario, a reference, its folder and a line in [`EXPERIMENTS`].

use crate::{fcse, nor, sata};
use boardlab_cards::{self as cards, fio, life, sdwear};
use boardlab_document::error::{At, Error, Message, Other, TEXT_SHOWN};
use boardlab_document::source::{Kind, Source};
use boardlab_document::{Document, Node, files};
use boardlab_experiment::{
    Action, Experiment, Failure, NEVER, PlanRequest, Progress, Request, VERSION, scenario_name,
};
use boardlab_filesystems::{advise, nandfs, nandwear};
use boardlab_measure::plan::Plan;
use boardlab_parts::catalog;
use boardlab_result::foreign::shown_at_most;
use boardlab_result::{Cell, Reproduction, Row, RunResult, Table};
use boardlab_sim::{OwnPolicy, Seed};
use std::path::Path;
use std::sync::Arc;

/// All that scenarios can be, the published evaluations in the order in which they are reproduced.
pub static EXPERIMENTS: [Experiment; 13] = [
    nor::EXPERIMENT,
    nandfs::EXPERIMENT,
    sdwear::EXPERIMENT,
    sata::EXPERIMENT,
    fcse::EXPERIMENT,
    nandwear::EXPERIMENT,
    advise::EXPERIMENT,
    fio::CARD,
    fio::DRIVE,
    life::EXPERIMENT,
    cards::advise::EXPERIMENT,
    boardlab_bench::flash::EXPERIMENT,
    boardlab_bench::block::EXPERIMENT,
];

/// The published evaluations, in the order in which they are reproduced.
pub fn published() -> impl Iterator<Item = &'static Experiment> {
    EXPERIMENTS.iter().filter(|one| one.published)
}

/// The experiment of which `name` is the name or the scenario.
#[must_use]
pub fn named(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|one| one.name == name || one.scenario == name)
}

/// The published evaluation whose name or scenario is `name`.
///
/// # Errors
/// [`Error::UnknownName`] with the names that exist.
pub fn experiment(name: &str) -> Result<&'static Experiment, Error> {
    if name == "all" {
        let message = Message {
            title: String::from("unknown evaluation `all`"),
            label: String::new(),
            help: String::from("all of them: boardlab reproduce"),
        };
        return Err(Other { at: At::Nowhere, message }.into());
    }
    named(name).filter(|one| one.published).ok_or_else(|| Error::UnknownName {
        place: None,
        what: "evaluation",
        found: name.into(),
        names: published().flat_map(|one| [one.name.into(), one.scenario.into()]).collect(),
    })
}

/// The scenarios of advice by the kinds of parts that they are about, that on no part in particular first.
const ADVICE: [(&str, &str); 4] = [
    ("nand", "nand-advise"),
    ("nor", "nor-advise"),
    ("sd", "card-advise"),
    ("emmc", "card-advise"),
];

/// The scenario of advice for the part called `name`, a built-in one or a path. That of a part of another kind, or of
/// none, says what is wrong with it.
#[must_use]
pub fn advice(name: Option<&str>) -> &'static str {
    let part = name.and_then(|name| catalog::read(Kind::Part, name, None).ok());
    let kind = part.as_ref().map_or("", |part| text(part, "kind"));
    ADVICE.iter().find(|(of, _)| *of == kind).unwrap_or(&ADVICE[0]).1
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
#[must_use]
pub fn scenario_of(name: &str) -> &str {
    named(name).map_or(name, |one| one.scenario)
}

/// Reads the scenario `name`, a built-in one, the evaluation of one, or a path, with the arguments of all `--set`.
///
/// # Errors
/// What is wrong with the file or with an argument.
pub fn open<S: AsRef<str>>(name: &str, set: &[S]) -> Result<OpenScenario, Error> {
    let name = scenario_of(name);
    let document = catalog::compose(name, set)?;
    let experiment = Experiment::named_by(&document, &EXPERIMENTS)?;
    Ok(OpenScenario { experiment, document, name: scenario_name(name) })
}

/// As [`open`], for a scenario that was read already, as the file `name` or from no file.
///
/// # Errors
/// What is wrong with the text or with an argument.
pub fn open_source<S: AsRef<str>>(
    name: &str,
    source: &Arc<Source>,
    set: &[S],
) -> Result<OpenScenario, Error> {
    let document = catalog::compose_source(source, set)?;
    let experiment = Experiment::named_by(&document, &EXPERIMENTS)?;
    Ok(OpenScenario { experiment, document, name: scenario_name(name) })
}

/// The `error` that there is no scenario `name`, as an argument of the command `typed`, such as `run` or `list keys`; if
/// it is a part, a board or another file, with what to type instead.
#[must_use]
pub fn scenario_expected(typed: &str, name: &str, error: Error) -> Error {
    if !matches!(error, Error::UnknownName { place: None, .. }) {
        return error;
    }
    let (what, help) = match part_or_board(name) {
        Some(kind) => (kind.noun(), with_it(typed, kind, name)),
        None if Path::new(name).is_file() => {
            let file = shown_at_most(name, TEXT_SHOWN);
            let help = format!(
                "a scenario is a file *.toml, fio jobs are a file *.fio; a program: boardlab os run {file}; a flash image: \
                 boardlab image info {file}"
            );
            ("file", help)
        }
        None => return error,
    };
    let title = format!("`{}` is a {what}, not a scenario", shown_at_most(name, TEXT_SHOWN));
    let message = Message { title, label: String::new(), help };
    Other { at: At::Nowhere, message }.into()
}

/// The kind of the built-in part or board called `name`.
#[must_use]
pub fn part_or_board(name: &str) -> Option<Kind> {
    [Kind::Part, Kind::Board].into_iter().find(|kind| catalog::has(*kind, name))
}

/// What to type for a part or a board: the command `typed`, or another one, with a scenario that takes it.
fn with_it(typed: &str, kind: Kind, name: &str) -> String {
    let fits = fits(kind, name).unwrap_or_default().into_iter();
    let fits: Vec<_> = fits.filter(|fit| fit.refusal.is_none()).collect();
    let typed_for =
        |fit: &Fit| takes(typed, fit.scenario).then(|| line(typed, fit.scenario, &fit.set));
    let other = || fits.first().map(Fit::command);
    match fits.iter().find_map(typed_for).or_else(other) {
        Some(example) => format!("name a scenario, with this {} in it: {example}", kind.noun()),
        None => String::from("name a scenario: boardlab list scenarios"),
    }
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

impl Fit {
    /// The command that runs the scenario with the file.
    pub(crate) fn command(&self) -> String {
        command(self.scenario, &self.set)
    }
}

/// The built-in scenarios, those of advice last: to compare things takes longer than to run one.
pub(crate) fn scenarios() -> Vec<&'static str> {
    let mut all: Vec<_> = catalog::all(Kind::Scenario).iter().map(|file| file.name).collect();
    all.sort_by_cached_key(|name| takes(Action::Advise.command(), name));
    all
}

/// How the `kind` of file called `name` fits into each scenario that names such a file.
pub(crate) fn fits(kind: Kind, name: &str) -> Result<Vec<Fit>, Failure> {
    let mut fits = Vec::new();
    for scenario in scenarios() {
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
    Ok(taken.map(|fit| (fit.scenario, fit.command())).collect())
}

/// Checks the built-in `scenario` with `set`, the argument of a `--set`.
pub(crate) fn check(scenario: &str, set: &str) -> Result<(), Failure> {
    open(scenario, &[set])?.check()
}

/// Whether the built-in `scenario` runs with `set`, the argument of a `--set`, and is not as before.
pub(crate) fn alters(scenario: &str, set: &str) -> bool {
    let open = open(scenario, &[set]);
    open.is_ok_and(|open| open.document.is_overridden() && open.check().is_ok())
}

/// The command that uses `set`, the argument of a `--set` for a shell, in the built-in `scenario`: the action that the
/// section of its key is named after, or else the first one.
pub(crate) fn command(scenario: &str, set: &str) -> String {
    let section = set.split('.').next().unwrap_or_default();
    let named = Some(section).filter(|section| actions(scenario).any(|action| action == *section));
    let command = named.or_else(|| actions(scenario).next()).unwrap_or("run");
    line(command, scenario, set)
}

/// The commands of the actions on the built-in `scenario`.
fn actions(scenario: &str) -> impl Iterator<Item = &'static str> {
    let read = || catalog::read(Kind::Scenario, scenario, None).ok();
    let experiment = named(scenario).or_else(|| named(text(&read()?, "experiment")));
    experiment.into_iter().flat_map(Experiment::commands)
}

/// Whether the command `typed` takes the built-in `scenario`: all do but actions, of which a sweep is one run after another.
fn takes(typed: &str, scenario: &str) -> bool {
    let action = if typed == "sweep" { Action::Run.command() } else { typed };
    let is_action = EXPERIMENTS.iter().flat_map(Experiment::commands).any(|one| one == action);
    !is_action || actions(scenario).any(|one| one == action)
}

fn line(command: &str, scenario: &str, set: &str) -> String {
    let grid = if command == "sweep" { " --grid KEY=VALUE,VALUE" } else { "" };
    format!("boardlab {command} {scenario} --set {set}{grid}")
}

impl OpenScenario {
    /// Gives it a policy of the caller for `key`, whose value has to be `own`.
    pub fn give(&mut self, key: &str, policy: OwnPolicy) {
        self.document.give(key, policy);
    }

    /// Checks it, as before a run.
    ///
    /// # Errors
    /// What is wrong with a value.
    pub fn check(&self) -> Result<(), Failure> {
        (self.experiment.check)(&self.request(Seed::new(1), &|_| ())).map(drop)
    }

    /// Its title.
    ///
    /// # Errors
    /// It has none.
    pub fn title(&self) -> Result<String, Error> {
        self.document.title()
    }

    /// A request of its experiment.
    #[must_use]
    pub fn request<'r>(
        &'r self,
        seed: Seed,
        progress: &'r (dyn Fn(Progress<'_>) + Sync),
    ) -> Request<'r> {
        Request { document: &self.document, scenario: &self.name, seed, progress, stop: &NEVER }
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
        self.experiment.perform(action, &self.request(seed, progress))
    }

    /// The same workload as a plan for the agent, on `devices` and folders by name, which wears no block
    /// more than `max_cycles` times.
    ///
    /// # Errors
    /// [`Failure`]: among others that the scenario has no plan, or that a device is none of it.
    pub fn plan(
        &self,
        seed: Seed,
        devices: &[(String, String)],
        max_cycles: u64,
        progress: &(dyn Fn(Progress<'_>) + Sync),
    ) -> Result<Plan, Failure> {
        let Some(make) = self.experiment.plan else { return Err(no_plan(&self.name).into()) };
        let request = self.request(seed, progress);
        let plan = make(&PlanRequest { request, devices, max_cycles })?;
        let is_used = |path: &str| {
            let mut steps = plan.steps().iter();
            steps.any(|step| ["device", "path"].iter().any(|key| step.text(key) == Some(path)))
        };
        if let Some((name, path)) = devices.iter().find(|(_, path)| !is_used(path)) {
            return Err(no_such_device(&plan, name, path).into());
        }
        plan.check().map_err(|flaw| Failure::from(impossible(&self.name, &flaw)))?;
        Ok(plan)
    }
}

fn error(title: String, help: String) -> Error {
    Other { at: At::Nowhere, message: Message { title, label: String::new(), help } }.into()
}

/// The error that nothing of the scenario `name` can be measured by the agent.
fn no_plan(name: &str) -> Error {
    let with = EXPERIMENTS.iter().filter(|one| one.plan.is_some());
    let with: Vec<_> = with.map(|one| one.scenario).collect();
    let help = match with.is_empty() {
        true => String::from(
            "no scenario has one; plans are easy to write: docs/formats/measurement-plan.md",
        ),
        false => format!("scenarios with a plan: {}", with.join(", ")),
    };
    error(format!("`{}` has no plan for a board", shown_at_most(name, TEXT_SHOWN)), help)
}

/// The error that no step of `plan` is about the user's `path`.
fn no_such_device(plan: &Plan, name: &str, path: &str) -> Error {
    let keys = plan.steps().iter().flat_map(|step| [step.text("device"), step.text("path")]);
    let mut targets: Vec<_> = keys.flatten().collect();
    targets.sort_unstable();
    targets.dedup();
    let [name, path] = [name, path].map(|text| shown_at_most(text, TEXT_SHOWN));
    let help = match targets.is_empty() {
        true => String::from("the plan is about no device: leave it out"),
        false => format!("the plan is about {}", targets.join(", ")),
    };
    error(format!("no step of the plan is about `{path}`, given as `{name}`"), help)
}

/// The error that the plan of the scenario `name` would not be read again.
fn impossible(name: &str, flaw: &boardlab_measure::plan::Flaw) -> Error {
    let name = shown_at_most(name, TEXT_SHOWN);
    error(
        format!("the workload of `{name}` is no plan: {flaw}"),
        String::from("change the value with --set, or the device with --device"),
    )
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
            let document = catalog::read(*kind, file.name, None)?;
            let part_kind = text(&document, "kind");
            let is_listed =
                *kind != Kind::Part || part_kinds.is_empty() || part_kinds.contains(&part_kind);
            if is_listed {
                let experiment = named(text(&document, "experiment"));
                let kind = part_kind.to_owned();
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

/// The text of `key`; empty if it has none.
fn text<'d>(document: &'d Document, key: &str) -> &'d str {
    document.get(key).and_then(Node::as_text).unwrap_or_default()
}

/// The name by which `reproduce` knows `experiment`; empty if nothing about it is published.
fn evaluation(experiment: Option<&Experiment>) -> &'static str {
    experiment.filter(|one| one.published).map_or("", |one| one.name)
}

/// The commands that `experiment` takes.
fn commands(experiment: Option<&Experiment>) -> String {
    experiment.into_iter().flat_map(Experiment::commands).collect::<Vec<_>>().join(", ")
}
