//! The interface of an experiment: requests, actions, and failures.
//!
//! Layer: rank 9. Main types: [`Experiment`], [`Request`], [`Action`], [`Failure`].

use crate::reference::Reference;
use boardlab_document::Document;
use boardlab_document::error::Error;
use boardlab_document::source::Kind;
use boardlab_measure::plan::Plan;
use boardlab_parts::catalog;
use boardlab_result::{Parameter, RunResult, foreign};
use boardlab_sim::Seed;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The version that results carry.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A request for one run.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The scenario with its part, its board and the user's overrides.
    pub document: &'a Document,
    /// Name of the scenario, as results carry it.
    pub scenario: &'a str,
    /// The seed of all its random streams.
    pub seed: Seed,
    /// Called after each completed step; may be called from several threads.
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
    /// Whether somebody wants the run to end early; a run looks at it between its steps.
    pub stop: &'a Stop,
}

impl Request<'_> {
    /// A result with `parameters` and without content, called as the user says, or else `title`.
    #[must_use]
    pub fn blank(&self, title: &str, parameters: Vec<Parameter>) -> RunResult {
        let title = self.document.title_given().unwrap_or(title);
        let mut run = RunResult::new(self.scenario, title, self.seed.get(), VERSION);
        run.parameters = parameters;
        run.warnings.extend(self.document.renamed().iter().map(ToString::to_string));
        run.warnings.extend(self.document.own_policies().iter().map(|(key, own)| {
            let (name, batch) = (own.name(), own.batch());
            format!("{key} is {name}, the caller's own policy, asked every {batch} operations.")
        }));
        run
    }

    /// Whether the scenario is a built-in one without overrides, so that published figures apply to it.
    pub fn is_as_published(&self) -> bool {
        let text = self.document.source().text();
        let built_in = catalog::all(Kind::Scenario).iter().any(|file| file.text == text);
        built_in && !self.document.is_overridden()
    }

    /// Adds a warning if the published figures do not apply to the run.
    pub fn warn_if_altered(&self, run: &mut RunResult) {
        if !self.is_as_published() {
            let warning = "The scenario was altered: the published figures are not about it and are left out.";
            run.warnings.push(warning.into());
        }
    }
}

/// Name of the scenario `name` in results: a path's file name without its ending, or the name itself.
#[must_use]
pub fn scenario_name(name: &str) -> String {
    let stem = Path::new(name).file_stem();
    stem.map_or_else(|| name.into(), |stem| stem.to_string_lossy().into_owned())
}

/// The progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress<'a> {
    /// The completed step.
    pub step: &'a str,
    /// The number of completed steps.
    pub done: usize,
    /// The number of all steps.
    pub total: usize,
}

/// Ends a run early, from any thread. The run looks at it between its steps and fails with [`Failure::Stopped`].
#[derive(Debug, Default)]
pub struct Stop(AtomicBool);

/// For runs that nobody stops.
pub static NEVER: Stop = Stop::new();

impl Stop {
    /// One that nobody has asked for.
    #[must_use]
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Asks for the end.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked for the end.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Goes on unless somebody has asked for the end.
    ///
    /// # Errors
    /// [`Failure::Stopped`].
    pub fn check(&self) -> Result<(), Failure> {
        if self.is_asked() { Err(Failure::Stopped) } else { Ok(()) }
    }
}

/// Makes a result of a request.
pub type Make = fn(&Request<'_>) -> Result<RunResult, Failure>;

/// Checks a request without running it. Returns a checksum of the data files that the scenario names,
/// such as the file to write; 0 where there are none.
pub type Check = fn(&Request<'_>) -> Result<u32, Failure>;

/// A request for the plan of a measurement: the same workload for the agent, on a board.
#[derive(Clone, Copy)]
pub struct PlanRequest<'a> {
    /// The scenario; its seed is that of the plan.
    pub request: Request<'a>,
    /// The user's devices and folders of the board, by name; see [`PlanRequest::target`].
    pub devices: &'a [(String, String)],
    /// How often a block may be worn at most; the plan scales its volume to it.
    pub max_cycles: u64,
}

impl PlanRequest<'_> {
    /// Of the devices of a scenario that has several, those that the user named; without a name the first
    /// one, at the user's device or else at its own of `all`: pairs of names and usual paths.
    #[must_use]
    pub fn targets<'t>(&'t self, all: &[(&'static str, &'t str)]) -> Vec<(&'static str, &'t str)> {
        let named = |(name, _): &(&'static str, &str)| {
            let given = self.devices.iter().find(|(other, _)| other == name)?;
            Some((*name, given.1.as_str()))
        };
        let named: Vec<_> = all.iter().filter_map(named).collect();
        match all.first() {
            Some((name, usual)) if named.is_empty() => vec![(name, self.target("device", usual))],
            _ => named,
        }
    }

    /// The path that the user gave as `name`, or else `fallback`. The names `device` and `path` stand for
    /// a `--device` and a `--path` without a name; others are those of a scenario with several devices.
    #[must_use]
    pub fn target<'t>(&'t self, name: &str, fallback: &'t str) -> &'t str {
        let given = self.devices.iter().find(|(other, _)| other == name);
        given.map_or(fallback, |(_, path)| path)
    }
}

/// Makes a plan of a request.
pub type MakePlan = fn(&PlanRequest<'_>) -> Result<Plan, Failure>;

/// An action on a scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Run it.
    Run,
    /// Find its best settings.
    Tune,
    /// Cut its power, at every operation of its flash.
    PowerCut,
    /// Compute the life of its card, and what limits it.
    Life,
    /// Rank what it compares, by the limits that it names.
    Advise,
}

impl Action {
    /// The command of the program for it.
    #[must_use]
    pub const fn command(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Tune => "tune",
            Self::PowerCut => "powercut",
            Self::Life => "life",
            Self::Advise => "advise",
        }
    }
}

/// What a scenario can be: a published evaluation, or a bench for the user's own workload.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Name for `reproduce`.
    pub name: &'static str,
    /// Whether it is a published evaluation, which `reproduce` repeats.
    pub published: bool,
    /// Name of its scenario.
    pub scenario: &'static str,
    /// A title.
    pub title: &'static str,
    /// Whether its runs are jobs of fio, with the output of fio.
    pub prints_fio: bool,
    /// The check before a run.
    pub check: Check,
    /// The same workload as a plan for the agent, if a board can do it.
    pub plan: Option<MakePlan>,
    /// Its actions: [`Action::Run`] and others.
    pub actions: &'static [(Action, Make)],
}

impl Experiment {
    /// The experiment of `all` that the scenario `document` names.
    ///
    /// # Errors
    /// The key `experiment` is missing, or names none of them.
    pub fn named_by(document: &Document, all: &'static [Self]) -> Result<&'static Self, Error> {
        let experiment = document.read(|section| {
            let names: Vec<_> = all.iter().map(|one| (one.scenario, one)).collect();
            let experiment = section.one_of("experiment", &names);
            section.leave_rest();
            experiment
        })?;
        Ok(experiment.value)
    }

    /// The commands of its actions.
    pub fn commands(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.actions.iter().map(|(action, _)| action.command())
    }

    /// What does `action`; `None` if it has no meaning here.
    fn make(&self, action: Action) -> Option<Make> {
        self.actions.iter().find(|(one, _)| *one == action).map(|(_, make)| *make)
    }

    /// Whether `action` has a meaning here.
    #[must_use]
    pub fn has(&self, action: Action) -> bool {
        self.make(action).is_some()
    }

    /// Performs `action` for `request`. The run of a published evaluation names its publication.
    ///
    /// # Errors
    /// [`Failure`]: [`Failure::NoAction`] if the experiment lacks this action.
    pub fn perform(&self, action: Action, request: &Request<'_>) -> Result<RunResult, Failure> {
        request.stop.check()?;
        match self.make(action) {
            Some(make) => {
                let mut run = make(request)?;
                if self.published && action == Action::Run && request.is_as_published() {
                    run.publication = Some(Reference::named(self.name)?.publication);
                }
                Ok(run)
            }
            None => {
                let others = self.actions.iter().map(|(one, _)| *one).collect();
                Err(Failure::NoAction { scenario: self.scenario.into(), action, others })
            }
        }
    }
}

/// The cause of a failed run.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why there is no result.
#[derive(Debug)]
pub enum Failure {
    /// A file, an argument or a name is wrong: exit status 2.
    Input(Error),
    /// The run itself failed: exit status 1.
    Run {
        /// The system that failed.
        system: String,
        /// The error of its device or its filesystem.
        error: Cause,
        /// What to try.
        help: &'static str,
    },
    /// The scenario of this name lacks the requested action: exit status 2.
    NoAction {
        /// The scenario.
        scenario: String,
        /// The requested action.
        action: Action,
        /// The actions that it has.
        others: Vec<Action>,
    },
    /// [`Stop`] ended the run.
    Stopped,
}

impl Failure {
    /// The failure of `system` with `error`; `help` says what to try.
    pub fn run(system: impl Into<String>, error: impl Into<Cause>, help: &'static str) -> Self {
        Self::Run { system: system.into(), error: error.into(), help }
    }

    /// The message as every face shows it, harmless on a terminal; `styled` with its colours.
    #[must_use]
    pub fn render(&self, styled: bool) -> String {
        foreign::drawn(styled, |styled| match self {
            Self::Input(error) => error.render(styled),
            other => other.to_string(),
        })
    }
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
            Self::Stopped => f.write_str("error: the run was stopped\n  = help: run it again"),
            Self::NoAction { scenario, action, others } => {
                let action = action.command();
                let others =
                    others.iter().map(|one| format!("boardlab {} {scenario}", one.command()));
                let others: Vec<_> = others.collect();
                write!(
                    f,
                    "error: `{action}` has no meaning for `{scenario}`\n  = help: what it has: {}; scenarios \
                     with their commands: boardlab list scenarios",
                    others.join(", ")
                )
            }
        }
    }
}

impl std::error::Error for Failure {}
