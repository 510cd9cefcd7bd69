//! Scenarios, evaluations, parts and boards: what a file is, and which commands use it.
//!
//! Layer: rank 11, inside `guide`. Function: [`called`].

use super::topics::Topic;
use crate::registry::{self, EXPERIMENTS};
use boardlab_document::Document;
use boardlab_document::source::Kind;
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
            _ => said.extend(registry::uses(kind, word)?),
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
