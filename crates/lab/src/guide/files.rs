//! Scenarios, evaluations, parts and boards: what a file is, and which commands use it.
//!
//! Layer: rank 11, inside `guide`. Functions: [`called`], [`uses`].

use super::topics::Topic;
use crate::registry::{self, EXPERIMENTS};
use boardlab_document::source::Kind;
use boardlab_document::{Document, files};
use boardlab_experiment::{Experiment, Failure};
use boardlab_parts::catalog;

/// The scenario, evaluation, part or board called `word`.
///
/// # Errors
/// A built-in file is broken.
pub(super) fn called(word: &str) -> Result<Vec<Topic>, Failure> {
    let scenario = EXPERIMENTS.iter().find(|one| one.name == word || one.scenario == word);
    let word = scenario.map_or(word, |one| one.scenario);
    let mut topics = Vec::new();
    for kind in [Kind::Scenario, Kind::Part, Kind::Board] {
        let Some(file) = catalog::all(kind).iter().find(|file| file.name == word) else { continue };
        let mut said = vec![("title", Document::parse(&file.source(kind))?.title()?)];
        match scenario {
            Some(one) if kind == Kind::Scenario => said.extend(about(one)),
            _ => said.extend(uses(kind, word)?),
        }
        topics.push(Topic { kind: kind.noun(), title: word.into(), said });
    }
    Ok(topics)
}

/// What to type about the scenario of `experiment`.
fn about(experiment: &Experiment) -> impl Iterator<Item = (&'static str, String)> {
    let scenario = experiment.scenario;
    let commands = experiment.actions.iter().map(|(action, _)| action.command());
    let commands = commands.map(move |command| (command, format!("boardlab {command} {scenario}")));
    let published = experiment.published.then(|| format!("boardlab reproduce {}", experiment.name));
    let published = published.map(|line| ("reproduce", line));
    let keys = ("keys", format!("boardlab list keys {scenario}"));
    commands.chain(published).chain([keys])
}

/// The scenarios that take the `kind` of file called `name`, each with a command that runs it with this file.
///
/// # Errors
/// A built-in scenario is broken.
pub fn uses(kind: Kind, name: &str) -> Result<Vec<(&'static str, String)>, Failure> {
    let mut uses = Vec::new();
    for scenario in catalog::all(Kind::Scenario) {
        let open = registry::open::<&str>(scenario.name, &[])?;
        let keys = files::mounts(&open.document).into_iter();
        let sets = keys
            .filter(|key| files::mounted(key) == Some(kind) && open.document.get(key).is_some())
            .map(|key| format!("{key}={name}"));
        if let Some(set) = sets.into_iter().find(|set| takes(scenario.name, set)) {
            uses.push((scenario.name, with(scenario.name, &set)));
        }
    }
    Ok(uses)
}

/// Whether the built-in `scenario` can be run with `set`, the argument of a `--set`.
pub(super) fn takes(scenario: &str, set: &str) -> bool {
    registry::open(scenario, &[set]).is_ok_and(|open| open.check().is_ok())
}

/// The command that runs the built-in `scenario` with `set`, the argument of a `--set` for a shell.
pub(super) fn with(scenario: &str, set: &str) -> String {
    let experiment = EXPERIMENTS.iter().find(|one| one.scenario == scenario);
    let action = experiment.and_then(|one| one.actions.first());
    let command = action.map_or("run", |(action, _)| action.command());
    format!("boardlab {command} {scenario} --set {set}")
}
