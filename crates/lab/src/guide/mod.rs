//! The guide: what keys, terms, verdicts and tables mean, and which keys a scenario has.
//!
//! Layer: rank 11. Functions: [`keys`], [`choices`] for completions, and [`explain`], whose answers are results as those of a run, so that they
//! print as tables and as JSON. In reading order: `pages`, the documents that the answers come from; `keys`, the keys
//! of scenarios; `groups`, those that say the same; `tables` of results; `files`, the built-in ones; `topics`, all that
//! can be explained.

mod files;
mod groups;
mod keys;
mod pages;
mod tables;
mod topics;

pub use keys::{COMMANDS, OS, SATA_CONSOLE};
pub use tables::has_table;
pub use topics::{CommandName, explain, names};

use crate::registry::{self, OpenScenario};
use boardlab_document::asked::AskedKey;
use boardlab_document::source::SET;
use boardlab_experiment::{Failure, VERSION, scenario_name};
use boardlab_result::{Cell, Row, RunResult, Table};
use indexmap::IndexMap;
use keys::{ScenarioKey, Settable};

/// A key of a scenario, and what to type for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The dotted key, as `--set` takes it.
    pub key: String,
    /// What it means; may be empty.
    pub meaning: String,
    /// The values, where there is a list of them; else empty.
    pub values: Vec<String>,
}

/// A key of a scenario in full: what it may hold, holds and means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyInFull {
    /// The dotted key, as `--set` takes it.
    pub key: String,
    /// What it means; may be empty.
    pub meaning: String,
    /// The values, where there is a list of them; else empty.
    pub values: Vec<String>,
    /// What the scenario says of it.
    pub asked: AskedKey,
}

/// The keys of a scenario that was opened, in the order of reading.
///
/// # Errors
/// What is wrong with the scenario.
pub fn keys_in_full(open: OpenScenario) -> Result<Vec<KeyInFull>, Failure> {
    let mut open = Settable::from(open);
    let keys = keys::of(&mut open)?;
    let in_full = |key: ScenarioKey| KeyInFull {
        values: key.values(&open.document),
        meaning: key.meaning.replace('`', ""),
        key: key.key,
        asked: key.asked,
    };
    Ok(keys.into_iter().map(in_full).collect())
}

/// What `--set` takes for the scenario or command `name` with the arguments `set`: each key with its values.
///
/// # Errors
/// What is wrong with the scenario or with an argument.
pub fn choices<S: AsRef<str>>(name: &str, set: &[S]) -> Result<Vec<Choice>, Failure> {
    let mut open = keys::open(name, set)?;
    let keys = keys::of(&mut open)?;
    let choice = |key: ScenarioKey| Choice {
        values: key.values(&open.document),
        key: key.key,
        meaning: key.meaning,
    };
    Ok(keys.into_iter().map(choice).collect())
}

/// The keys of the scenario `name`, or of one of [`COMMANDS`], with the arguments of all `--set`, as a table: value,
/// what it may hold, what it rests on, what it means.
///
/// # Errors
/// What is wrong with the scenario or with an argument.
pub fn keys<S: AsRef<str>>(name: &str, set: &[S]) -> Result<RunResult, Failure> {
    let open = keys::open(name, set);
    let mut open = open.map_err(|error| registry::scenario_expected("list keys", name, error))?;
    let mut keys = keys::of(&mut open)?;
    for argument in set {
        // A key that names a file, too: what is read for it stands in that file.
        let named = argument.as_ref().split_once('=').map_or("", |(key, _)| key.trim());
        let given = keys.iter_mut().find(|key| key.key == named);
        given.into_iter().for_each(|key| key.asked.file = Some(SET.into()));
    }
    let title = format!("Keys of {}, for --set", scenario_name(name));
    let mut answer = RunResult::new("keys", &title, 0, VERSION);
    // The scenario's own come first.
    let mut groups = IndexMap::from([(String::new(), Vec::<ScenarioKey>::new())]);
    for key in keys {
        groups.entry(key.mount().unwrap_or_default().into()).or_default().push(key);
    }
    for (mount, keys) in groups {
        let id = if mount.is_empty() { String::from("keys") } else { format!("keys-{mount}") };
        let title = match mount.as_str() {
            "" if COMMANDS.contains(&name) => String::from("Keys of the command"),
            "" => String::from("Keys of the scenario"),
            mount => format!("Keys of {mount}"),
        };
        let rows = keys.into_iter().map(|key| (Row::new(key.key.clone(), ""), key));
        let table = Table::new(id, title)
            .of(rows.collect::<Vec<_>>())
            .column("value", "value", |key| Cell::text(key.shown_value()))
            .column("holds", "may hold", |key| Cell::text(key.holds()))
            .column("origin", "origin", |key| Cell::text(key.origin()))
            .column("meaning", "meaning", |key| Cell::text(key.shown_meaning()));
        answer.tables.push(table.table());
    }
    answer.findings.push(String::from(
        "--set KEY=VALUE changes a value for one run; a value in brackets holds where the key is omitted.",
    ));
    Ok(answer)
}
