//! Scenarios, evaluations, parts and boards: what a file is, and which commands use it.
//!
//! Layer: rank 11, inside `guide`. Functions: [`called`], [`of_kind`], [`naming`].

use super::topics::Topic;
use crate::registry;
use boardlab_document::Document;
use boardlab_document::error::Error;
use boardlab_document::misfit::Misfit;
use boardlab_document::source::Kind;
use boardlab_experiment::{Experiment, Failure};
use boardlab_parts::catalog;
use boardlab_result::{Cell, Row, Table};

/// The kinds of parts, as their files write them.
pub(super) const KINDS: [&str; 5] = ["nor", "nand", "sd", "emmc", "sata"];

/// The parts of the kind called `word`, in any case.
pub(super) fn of_kind(word: &str) -> Option<Topic> {
    let kind = KINDS.into_iter().find(|kind| kind.eq_ignore_ascii_case(word))?;
    let said = vec![
        ("parts", catalog::parts_of(&[kind]).join(", ")),
        ("list", format!("boardlab list parts {kind}")),
    ];
    Some(Topic { kind: "kind", title: format!("{kind}, of parts"), said })
}

/// The parts in whose name or title a word begins with `word`, in any case.
///
/// # Errors
/// A built-in part is broken.
pub(super) fn naming(word: &str) -> Result<Option<Table>, Failure> {
    // Fewer letters begin too many words.
    const SHORTEST: usize = 3;
    let lower = word.to_lowercase();
    let mut rows = Vec::new();
    for part in catalog::parts() {
        let title = Document::parse(&part.source(Kind::Part))?.title()?;
        let text = format!("{} {title}", part.name).to_lowercase();
        let begins = |(at, _): (usize, &str)| !text[..at].ends_with(char::is_alphanumeric);
        if lower.chars().count() >= SHORTEST && text.match_indices(&lower).any(begins) {
            rows.push((Row::new(part.name, ""), title));
        }
    }
    let table = Table::new("parts", format!("Parts with `{word}`"));
    let empty = rows.is_empty();
    let table = table.of(rows).column("title", "what it is", |title| Cell::text(title));
    Ok((!empty).then(|| table.table()))
}

/// The scenario, evaluation, part or board called `word`.
///
/// # Errors
/// A built-in file is broken.
pub(super) fn called(word: &str) -> Result<Vec<Topic>, Failure> {
    let scenario = registry::named(word);
    let word = scenario.map_or(word, |one| one.scenario);
    let mut topics = Vec::new();
    for kind in [Kind::Scenario, Kind::Part, Kind::Board] {
        let Some(file) = catalog::all(kind).iter().find(|file| file.name == word) else { continue };
        let mut said = vec![("title", Document::parse(&file.source(kind))?.title()?)];
        match scenario {
            Some(one) if kind == Kind::Scenario => said.extend(about(one)),
            _ => said.extend(in_scenarios(kind, word)?),
        }
        topics.push(Topic { kind: kind.noun(), title: word.into(), said });
    }
    Ok(topics)
}

/// What to type about the scenario of `experiment`.
fn about(experiment: &Experiment) -> impl Iterator<Item = (&'static str, String)> {
    let scenario = experiment.scenario;
    let commands = experiment.commands();
    let commands = commands.map(move |command| (command, format!("boardlab {command} {scenario}")));
    let published = experiment.published.then(|| format!("boardlab reproduce {}", experiment.name));
    let published = published.map(|line| ("reproduce", line));
    let keys = ("keys", format!("boardlab list keys {scenario}"));
    commands.chain(published).chain([keys])
}

/// The commands that run scenarios with the `kind` of file called `name`; if there are none, why not.
fn in_scenarios(kind: Kind, name: &str) -> Result<Vec<(&'static str, String)>, Failure> {
    let (taken, refused): (Vec<_>, Vec<_>) =
        registry::fits(kind, name)?.into_iter().partition(|fit| fit.refusal.is_none());
    if !taken.is_empty() {
        return Ok(taken.iter().map(|fit| (fit.scenario, fit.command())).collect());
    }
    Ok(refused.into_iter().filter_map(|fit| Some((fit.scenario, reason(&fit.refusal?)?))).collect())
}

/// Why a scenario does not take a file, and what to do; `None` if it takes another kind of them.
fn reason(refusal: &Failure) -> Option<String> {
    let Failure::Input(error) = refusal else { return Some(refusal.to_string()) };
    let is_other_kind = |one: &Error| matches!(one, Error::Value(bad) if matches!(bad.misfit, Misfit::OtherKind(_)));
    let message = error.message();
    let other = error.all().iter().any(is_other_kind);
    (!other).then(|| format!("{}; {}", message.title, message.help))
}
