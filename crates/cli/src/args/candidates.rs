//! What a shell offers for an argument: scenarios, parts, keys and their values.
//!
//! Layer: rank 12. Functions: those that the definitions name. Keys depend on the scenario or the drive, so they are
//! looked up in the words of the line; nothing is offered where these are wrong.

use super::{hints, line};
use boardlab_document::files::mounted;
use boardlab_document::source::Kind;
use boardlab_experiment::{Action, Experiment};
use boardlab_lab::guide::{self, Choice};
use boardlab_lab::registry;
use boardlab_parts::catalog;
use clap::builder::StyledStr;
use clap_complete::engine::{PathCompleter, ValueCompleter};
use clap_complete::{ArgValueCompleter, CompletionCandidate};
use std::ffi::OsStr;
use std::path::Path;

/// The endings of files that can be run.
const RUNNABLE: [&str; 2] = ["toml", "fio"];

/// The longest help, in characters: shells show one line.
const HELP_MAX: usize = 60;

/// Offers the scenarios for which `action` has a meaning: built-in ones, and files of scenarios and fio jobs.
pub(super) fn scenarios(action: Action) -> ArgValueCompleter {
    ArgValueCompleter::new(move |current: &OsStr| having(move |one| one.has(action), current))
}

/// The scenarios whose workload a board can do, and files of such ones.
pub(super) fn planned() -> ArgValueCompleter {
    ArgValueCompleter::new(|current: &OsStr| having(|one| one.plan.is_some(), current))
}

/// The scenarios of experiments that `fit`. Files that cannot be read are among them: the command says why.
fn having(
    fit: impl Fn(&Experiment) -> bool + Copy + Send + Sync + 'static,
    current: &OsStr,
) -> Vec<CompletionCandidate> {
    let has = move |name: &str| registry::open::<&str>(name, &[]).map(|open| fit(open.experiment));
    let names = catalog::all(Kind::Scenario).iter().filter(|file| has(file.name).unwrap_or(true));
    let names = names
        .map(|file| candidate(file.name, registry::named(file.name).map_or("", |one| one.title)));
    let mut candidates = beginning(names, current);
    let fits = move |path: &Path| {
        is_runnable(path) && path.to_str().is_none_or(|path| has(path).unwrap_or(true))
    };
    candidates.extend(PathCompleter::file().filter(fits).complete(current));
    candidates
}

/// What `list keys` knows: scenarios, and commands without one.
pub(super) fn settable(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut candidates = having(|one| one.has(Action::Run), current);
    candidates.extend(beginning(guide::COMMANDS.iter().map(|name| candidate(name, "")), current));
    candidates
}

/// Built-in SATA drives, and files of parts.
pub(super) fn drives(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut candidates = beginning(built_in_drives().map(|name| candidate(&name, "")), current);
    candidates.extend(PathCompleter::file().filter(is_toml).complete(current));
    candidates
}

/// The names of the built-in SATA drives.
fn built_in_drives() -> impl Iterator<Item = String> {
    let choices = guide::choices::<&str>(guide::SATA_CONSOLE, &[]).unwrap_or_default();
    let parts = choices.into_iter().filter(|choice| mounted(&choice.key) == Some(Kind::Part));
    parts.flat_map(|choice| choice.values)
}

/// The words that `explain` knows.
pub(super) fn words(current: &OsStr) -> Vec<CompletionCandidate> {
    let names = guide::names(&super::command_names()).unwrap_or_default();
    beginning(names.iter().map(|name| candidate(name, "")), current)
}

/// `KEY=` for each key of the scenario of the command, and behind the sign the values of the key.
pub(super) fn keys(current: &OsStr) -> Vec<CompletionCandidate> {
    let words = line::words();
    let scenario = words.iter().find(|word| is_scenario(word));
    scenario.map_or_else(Vec::new, |name| keys_of(name, &words, current))
}

/// As [`keys`], for what `list keys` knows.
pub(super) fn keys_of_settable(current: &OsStr) -> Vec<CompletionCandidate> {
    let words = line::words();
    let command = guide::COMMANDS.into_iter().find(|name| words.iter().any(|word| word == name));
    command.map_or_else(|| keys(current), |name| keys_of(name, &words, current))
}

/// As [`keys`], for the board of `os run`, `os trace` and `os debug`.
pub(super) fn keys_of_os(current: &OsStr) -> Vec<CompletionCandidate> {
    keys_of(guide::OS, &line::words(), current)
}

/// As [`keys`], for the drive and the board of `sata console`.
pub(super) fn keys_of_console(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut words = line::words();
    let built_in: Vec<_> = built_in_drives().collect();
    let is_file = |path: &Path| is_toml(path) && path.is_file();
    let is_drive = |word: &&String| built_in.contains(word) || is_file(Path::new(word));
    if let Some(drive) = words.iter().find(is_drive) {
        words.insert(0, format!("part={drive}"));
    }
    keys_of(guide::SATA_CONSOLE, &words, current)
}

/// As [`keys`], for `name` of which a line of these `words` sets keys.
fn keys_of(name: &str, words: &[String], current: &OsStr) -> Vec<CompletionCandidate> {
    let Some(current) = current.to_str() else { return Vec::new() };
    let set: Vec<_> = words.iter().filter(|word| is_setting(word) && *word != current).collect();
    let choices = guide::choices(name, &set).or_else(|_| guide::choices::<&str>(name, &[]));
    offered(&choices.unwrap_or_default(), current)
}

/// What `choices` offer behind `current`.
fn offered(choices: &[Choice], current: &str) -> Vec<CompletionCandidate> {
    let Some((key, value)) = current.split_once('=') else {
        let keys = choices.iter().filter(|choice| choice.key.starts_with(current));
        return keys.map(|key| candidate(&format!("{}=", key.key), &key.meaning)).collect();
    };
    // Behind the commas of a grid stand more values.
    let (before, last) = value.rfind(',').map_or(("", value), |at| value.split_at(at + 1));
    let of_key = choices.iter().filter(|choice| choice.key == key);
    let values = of_key.flat_map(|choice| &choice.values).filter(|value| value.starts_with(last));
    values.map(|value| candidate(&format!("{key}={before}{value}"), "")).collect()
}

/// Whether `word` names a scenario, built in or in a file.
fn is_scenario(word: &str) -> bool {
    let path = Path::new(word);
    hints::is_scenario(word) || (is_runnable(path) && path.is_file())
}

/// Whether the name of the file at `path` ends as that of a part.
fn is_toml(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "toml")
}

/// Whether the name of the file at `path` ends as one that can be run.
fn is_runnable(path: &Path) -> bool {
    path.extension().is_some_and(|end| RUNNABLE.iter().any(|one| end == *one))
}

/// Whether `word` is an argument of `--set` with its value.
fn is_setting(word: &str) -> bool {
    !word.starts_with('-')
        && word.split_once('=').is_some_and(|(_, value)| !value.is_empty() && !value.contains(','))
}

/// Those of `candidates` that begin with `current`.
fn beginning(
    candidates: impl Iterator<Item = CompletionCandidate>,
    current: &OsStr,
) -> Vec<CompletionCandidate> {
    let start = current.as_encoded_bytes();
    candidates.filter(|one| one.get_value().as_encoded_bytes().starts_with(start)).collect()
}

fn candidate(value: &str, help: &str) -> CompletionCandidate {
    let help = Some(help).filter(|help| !help.is_empty());
    CompletionCandidate::new(value).help(help.map(|help| {
        let short: String = help.chars().take(HELP_MAX).collect();
        StyledStr::from(if short.len() < help.len() { format!("{short}…") } else { short })
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(candidates: &[CompletionCandidate]) -> Vec<&str> {
        candidates.iter().map(|one| one.get_value().to_str().unwrap()).collect()
    }

    fn choice(key: &str, values: &[&str]) -> Choice {
        let values = values.iter().map(|value| String::from(*value)).collect();
        Choice { key: key.into(), meaning: "x".repeat(100), values }
    }

    #[test]
    fn keys_end_with_the_sign_behind_which_their_values_stand() {
        let choices = [choice("linux.wait", &["none", "tuned", "typical"]), choice("part", &[])];
        assert_eq!(values(&offered(&choices, "li")), ["linux.wait="]);
        assert_eq!(values(&offered(&choices, "")), ["linux.wait=", "part="]);
        assert_eq!(
            values(&offered(&choices, "linux.wait=t")),
            ["linux.wait=tuned", "linux.wait=typical"]
        );
        assert_eq!(values(&offered(&choices, "linux.wait=none,tu")), ["linux.wait=none,tuned"]);
        assert!(offered(&choices, "linux.wait=x").is_empty());
        let help = offered(&choices, "li")[0].get_help().unwrap().to_string();
        assert_eq!(help.chars().count(), HELP_MAX + 1);
    }

    #[test]
    fn scenarios_and_words_come_by_their_beginning() {
        let runs = having(|one| one.has(Action::Run), OsStr::new("nor-"));
        assert_eq!(values(&runs), ["nor-advise", "nor-write"]);
        assert_eq!(values(&words(OsStr::new("linux.po"))), ["linux.poll_gap"]);
        let drives = drives(OsStr::new("transcend"));
        assert_eq!(values(&drives), ["transcend-ts32gssd25s-m"]);
    }

    #[test]
    fn an_option_and_the_list_of_a_grid_are_no_settings() {
        for (word, setting) in
            [("part=x", true), ("--set=part=x", false), ("part=", false), ("part=x,y", false)]
        {
            assert_eq!(is_setting(word), setting, "{word}");
        }
    }
}
