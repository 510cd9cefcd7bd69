//! The experiments: one record each, and the only functions that the command line calls.
//!
//! Layer: rank 10, the top of this crate. Main types: [`Experiment`], [`Request`], [`Failure`].
//! A new experiment is a scenario, a reference and one record in [`EXPERIMENTS`].

use crate::{fcse, fio, life, nandfs, nor, sata, sdwear};
use boardlab_document::Document;
use boardlab_document::error::Error;
use boardlab_document::source::Kind;
use boardlab_parts::catalog;
use boardlab_result::{Cell, Reproduction, Row, RunResult, Table, Value, Verdict};
use boardlab_sim::Seed;
use std::fmt;

/// The version that results carry.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// One run to be made.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The scenario with its part, its board and the user's overrides.
    pub document: &'a Document,
    /// Name of the scenario, as results carry it.
    pub scenario: &'a str,
    /// The seed of all its random streams.
    pub seed: Seed,
    /// Told about what was finished; may be called from several threads.
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
}

impl Request<'_> {
    /// Whether the scenario is a built-in one with nothing set, so that published figures are about it.
    pub(crate) fn is_as_published(&self) -> bool {
        let text = self.document.source().text();
        let built_in = catalog::all(Kind::Scenario).iter().any(|file| file.text == text);
        built_in && !self.document.is_overridden()
    }

    /// Warns that there are no published figures beside a run, if so.
    pub(crate) fn warn_if_altered(&self, run: &mut RunResult) {
        if !self.is_as_published() {
            let warning = "The scenario was altered: the published figures are not about it and are left out.";
            run.warnings.push(warning.into());
        }
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The step that was finished.
    pub step: &'a str,
    /// Steps finished.
    pub done: usize,
    /// Steps in all.
    pub total: usize,
}

/// Makes a result of a request.
pub type Make = fn(&Request<'_>) -> Result<RunResult, Failure>;

/// Says whether a request can be run, without running it. Gives a checksum of what lies in data
/// files that the scenario only names, such as the file to write; 0 where there are none.
pub type Check = fn(&Request<'_>) -> Result<u32, Failure>;

/// What a scenario can be: a published evaluation, or a bench for the user's own workload.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Name for `reproduce`.
    pub name: &'static str,
    /// Whether it is a published evaluation, which `reproduce` does again.
    pub published: bool,
    /// Name of its scenario.
    pub scenario: &'static str,
    /// What it is about.
    pub title: &'static str,
    /// Whether its runs are jobs of fio, with what fio would print of them.
    pub prints_fio: bool,
    /// Checks it before a run.
    pub check: Check,
    /// Runs it.
    pub run: Make,
    /// Tunes it; `None` where there is nothing to tune.
    pub tune: Option<Make>,
    /// Cuts its power; `None` where nothing is cut yet.
    pub powercut: Option<Make>,
    /// Computes how long it lives; `None` where that is not a question.
    pub life: Option<Make>,
}

/// All that scenarios can be, the published evaluations in the order in which they are reproduced.
pub const EXPERIMENTS: [Experiment; 8] = [
    Experiment {
        name: "nor",
        published: true,
        scenario: "nor-write",
        title: "NOR flash writes: u-boot against Linux, and the wait for completion",
        prints_fio: false,
        check: nor::check,
        run: nor::run,
        tune: Some(nor::tune),
        powercut: None,
        life: None,
    },
    Experiment {
        name: "nandfs",
        published: true,
        scenario: "nand-filesystems",
        title: "Flash filesystems for large NAND",
        prints_fio: false,
        check: nandfs::check,
        run: nandfs::run,
        tune: None,
        powercut: Some(nandfs::powercut),
        life: None,
    },
    Experiment {
        name: "sdwear",
        published: true,
        scenario: "sd-wear",
        title: "SD card wear levelling under 11 TB of writes",
        prints_fio: false,
        check: sdwear::check,
        run: sdwear::run,
        tune: None,
        powercut: None,
        life: None,
    },
    Experiment {
        name: "sata",
        published: true,
        scenario: "sata-ssd",
        title: "SSD transfer rates of a SATA host",
        prints_fio: false,
        check: sata::check,
        run: sata::run,
        tune: None,
        powercut: None,
        life: None,
    },
    Experiment {
        name: "fcse",
        published: true,
        scenario: "context-switch",
        title: "Context switches with the Fast Context Switch Extension",
        prints_fio: false,
        check: fcse::check,
        run: fcse::run,
        tune: None,
        powercut: None,
        life: None,
    },
    Experiment {
        name: "fio",
        published: false,
        scenario: fio::SCENARIO,
        title: "fio jobs on an SD card or an eMMC",
        prints_fio: true,
        check: fio::check,
        run: fio::run,
        tune: None,
        powercut: None,
        life: None,
    },
    Experiment {
        name: "drive-fio",
        published: false,
        scenario: fio::DRIVES,
        title: "fio jobs on a SATA drive",
        prints_fio: true,
        check: fio::check,
        run: fio::run,
        tune: None,
        powercut: None,
        life: None,
    },
    Experiment {
        name: "life",
        published: false,
        scenario: life::SCENARIO,
        title: "How long an SD card lives",
        prints_fio: false,
        check: life::check,
        run: life::life,
        tune: None,
        powercut: None,
        life: Some(life::life),
    },
];

/// The published evaluations, in the order in which they are reproduced.
pub fn published() -> impl Iterator<Item = &'static Experiment> {
    EXPERIMENTS.iter().filter(|one| one.published)
}

/// Why there is no result.
#[derive(Debug)]
pub enum Failure {
    /// A file, an argument or a name is wrong: exit status 2.
    Input(Error),
    /// The run itself failed: exit status 1.
    Run {
        /// The system that failed.
        system: String,
        /// What its device or its filesystem said.
        error: Box<dyn std::error::Error + Send + Sync>,
        /// What to try.
        help: &'static str,
    },
    /// Something that has to be made before it can be run: exit status 2.
    Missing {
        /// What, and where it was looked for.
        what: String,
        /// How it is made.
        help: &'static str,
    },
    /// Nothing to tune, to cut or to live behind this name: exit status 2.
    NotBuilt {
        /// The name.
        name: String,
        /// What was asked of it: `tune`, `powercut` or `life`.
        action: &'static str,
    },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Input(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(error) => error.fmt(f),
            Self::Run { system, error, help } => {
                write!(f, "error: {system}: {error}\n  = help: {help}")
            }
            Self::Missing { what, help } => write!(f, "error: {what}\n  = help: {help}"),
            Self::NotBuilt { name, action } => write!(
                f,
                "error: `boardlab {action} {name}` is not built yet\n  = help: what there is: \
                 boardlab list scenarios"
            ),
        }
    }
}

impl std::error::Error for Failure {}

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

/// The experiment that the scenario `name` names, a built-in one or a path, with the arguments of all `--set`.
///
/// # Errors
/// What is wrong with the file or with an argument.
pub fn experiment_of<S: AsRef<str>>(name: &str, set: &[S]) -> Result<&'static Experiment, Error> {
    of_document(&catalog::compose(name, set)?)
}

/// Runs the scenario `name`, a built-in one or a path, with the arguments of all `--set`.
///
/// # Errors
/// [`Failure`].
pub fn run<S: AsRef<str>>(
    name: &str,
    set: &[S],
    seed: Seed,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<RunResult, Failure> {
    make(name, set, seed, progress, |experiment| ("run", Some(experiment.run)))
}

/// Finds the best settings for the scenario `name`, as [`run`] runs it.
///
/// # Errors
/// [`Failure`].
pub fn tune<S: AsRef<str>>(
    name: &str,
    set: &[S],
    seed: Seed,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<RunResult, Failure> {
    make(name, set, seed, progress, |experiment| ("tune", experiment.tune))
}

/// Cuts the power of what the scenario `name` runs, at every operation of its flash.
///
/// # Errors
/// [`Failure`].
pub fn powercut<S: AsRef<str>>(
    name: &str,
    set: &[S],
    seed: Seed,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<RunResult, Failure> {
    make(name, set, seed, progress, |experiment| ("powercut", experiment.powercut))
}

/// How long the card of the scenario `name` lives, and why no longer.
///
/// # Errors
/// [`Failure`].
pub fn life<S: AsRef<str>>(
    name: &str,
    set: &[S],
    seed: Seed,
    progress: &(dyn Fn(Progress<'_>) + Sync),
) -> Result<RunResult, Failure> {
    make(name, set, seed, progress, |experiment| ("life", experiment.life))
}

fn make<S: AsRef<str>>(
    name: &str,
    set: &[S],
    seed: Seed,
    progress: &(dyn Fn(Progress<'_>) + Sync),
    action: impl Fn(&Experiment) -> (&'static str, Option<Make>),
) -> Result<RunResult, Failure> {
    if let Some(planned) = planned(name)
        && let (action, None) = action(planned)
    {
        return Err(Failure::NotBuilt { name: name.into(), action });
    }
    let document = catalog::compose(name, set)?;
    let experiment = of_document(&document)?;
    let (action, make) = action(experiment);
    let Some(make) = make else {
        return Err(Failure::NotBuilt { name: experiment.scenario.into(), action });
    };
    let scenario = scenario_name(name);
    make(&Request { document: &document, scenario: &scenario, seed, progress })
}

/// The experiment whose built-in scenario is called `name`.
fn planned(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|one| one.scenario == name)
}

/// The experiment that a scenario names.
pub(crate) fn of_document(document: &Document) -> Result<&'static Experiment, Error> {
    let experiment = document.read(|section| {
        let names = EXPERIMENTS.each_ref().map(|one| (one.scenario, one));
        let experiment = section.one_of("experiment", &names);
        section.leave_rest();
        experiment
    })?;
    Ok(experiment.value)
}

/// A path's file name without its ending, or the name itself.
pub(crate) fn scenario_name(name: &str) -> String {
    let stem = std::path::Path::new(name).file_stem();
    stem.map_or_else(|| name.into(), |stem| stem.to_string_lossy().into_owned())
}

/// Runs the published evaluations called `names`, all of them when there are none.
///
/// One that lacks what has to be made first gives a table that says so.
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
    let reproduced = chosen.into_iter().map(|experiment| {
        match run::<&str>(experiment.scenario, &[], seed, progress) {
            Err(Failure::Missing { what, help }) => {
                Ok(absent(experiment, seed, &format!("{what}. {help}")))
            }
            reproduced => reproduced,
        }
    });
    Ok(Reproduction::new(reproduced.collect::<Result<_, _>>()?))
}

/// The result of an experiment that lacks something which has to be made first.
fn absent(experiment: &Experiment, seed: Seed, why: &str) -> RunResult {
    let mut run = RunResult::new(experiment.scenario, experiment.title, seed.get(), VERSION);
    let mut table = Table::new("status", "Status").column("state", "state");
    let mut cell = Cell::new(Value::None);
    cell.verdict = Some(Verdict::NotBuilt);
    table.rows.push(Row::new(experiment.name, experiment.title).cell("state", cell));
    run.tables.push(table);
    run.warnings.push(format!("{} was not run: {why}", experiment.name));
    run
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
        let mut table = Table::new(id, title).column("title", "what it is").column("file", "file");
        for file in catalog::all(kind) {
            let document = Document::parse(&file.source(kind))?;
            let row = Row::new(file.name, "")
                .cell("title", Cell::text(document.title()?))
                .cell("file", Cell::text(file.path));
            table.rows.push(row);
        }
        run.tables.push(table);
    }
    Ok(run)
}
