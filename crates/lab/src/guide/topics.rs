//! All that can be explained: keys, terms, verdicts, tables, and the names of scenarios, parts and boards.
//!
//! Layer: rank 11, inside `guide`. Functions: [`explain`], [`names`].

use super::keys::{self, ScenarioKey};
use super::pages::{self, Entry, plain, quoted};
use crate::registry::{self, EXPERIMENTS};
use boardlab_document::Document;
use boardlab_document::error::Error;
use boardlab_document::source::Kind;
use boardlab_experiment::{Failure, VERSION};
use boardlab_parts::catalog;
use boardlab_result::{Cell, Row, RunResult, Table};
use indexmap::IndexMap;

/// The number of keys of one name that are explained in full; of more there is a list.
const IN_FULL: usize = 3;

/// Something that is explained.
struct Topic {
    /// The kind of name: `term`.
    kind: &'static str,
    /// The name, and what has it.
    title: String,
    /// What is said, each with a name.
    said: Vec<(&'static str, String)>,
}

/// Explains `word`: a key or the end of one, a term, a verdict, an origin, a table, a scenario, an evaluation, a part
/// or a board. A word that means several things gets an answer for each.
///
/// # Errors
/// [`Error::UnknownName`] with the nearest name; or a built-in scenario is broken.
pub fn explain(word: &str) -> Result<RunResult, Failure> {
    let word = word.trim();
    let mut run = RunResult::new("explain", &format!("What `{word}` means"), 0, VERSION);
    let mut topics = verdicts(word);
    topics.extend(terms(word));
    topics.extend(tables(word));
    topics.extend(files(word)?);
    let keys = keys_called(word)?;
    if keys.len() > IN_FULL {
        run.tables.push(list(word, &keys));
    } else {
        topics.extend(keys.iter().map(|(key, used)| key_in_full(key, used)));
    }
    if topics.is_empty() && keys.is_empty() {
        topics.extend(keys_of_pages(word));
    }
    if topics.is_empty() && run.tables.is_empty() {
        let (what, found, names) = ("key, term, table or name", word.into(), names()?);
        return Err(Error::UnknownName { place: None, what, found, names }.into());
    }
    let mut ids: IndexMap<&str, usize> = IndexMap::new();
    let mut id_of = |kind| {
        let count = ids.entry(kind).or_default();
        *count += 1;
        if *count == 1 { String::from(kind) } else { format!("{kind}-{count}") }
    };
    let each = topics.into_iter().map(|Topic { kind, title, said }| {
        let rows = said.into_iter().filter(|(_, text)| !text.is_empty());
        let table = Table::new(id_of(kind), title)
            .of(rows.map(|(name, text)| (Row::new(name, ""), text)).collect::<Vec<_>>())
            .column("text", "explanation", |text| Cell::text(text.clone()));
        table.table()
    });
    let each: Vec<_> = each.collect();
    run.tables.splice(0..0, each);
    Ok(run)
}

/// All words that [`explain`] knows, for completions and for the nearest one.
///
/// # Errors
/// A built-in scenario is broken.
pub fn names() -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    for kind in [Kind::Scenario, Kind::Part, Kind::Board] {
        names.extend(catalog::all(kind).iter().map(|file| file.name.into()));
    }
    names.extend(registry::published().map(|one| one.name.into()));
    for entry in glossary() {
        names.extend(aliases(&entry).map(String::from));
    }
    names.extend(
        table_entries()
            .flat_map(|entry| quoted(&entry.cells[0]).map(String::from).collect::<Vec<_>>()),
    );
    names.extend(all_keys()?.into_keys().map(|(key, _)| key));
    names.sort_unstable();
    names.dedup();
    Ok(names)
}

/// The keys of all built-in scenarios by name and meaning, each with the scenarios that have it.
type Keys = IndexMap<(String, String), (ScenarioKey, Vec<&'static str>)>;

fn all_keys() -> Result<Keys, Failure> {
    let mut all = Keys::new();
    for file in catalog::all(Kind::Scenario) {
        for key in keys::of(&mut registry::open::<&str>(file.name, &[])?)? {
            let id = (key.key.clone(), key.meaning.clone());
            all.entry(id).or_insert_with(|| (key, Vec::new())).1.push(file.name);
        }
    }
    Ok(all)
}

/// The keys called `word`, or ending in it.
fn keys_called(word: &str) -> Result<Vec<(ScenarioKey, Vec<&'static str>)>, Failure> {
    let all: Vec<_> = all_keys()?.into_values().collect();
    let whole: Vec<_> = all.iter().filter(|(key, _)| key.key == word).cloned().collect();
    if !whole.is_empty() {
        return Ok(whole);
    }
    let end = format!(".{word}");
    Ok(all.into_iter().filter(|(key, _)| key.key.ends_with(&end)).collect())
}

fn list(word: &str, keys: &[(ScenarioKey, Vec<&'static str>)]) -> Table {
    Table::new("keys", format!("Keys that end in `{word}`"))
        .of(keys
            .iter()
            .map(|(key, used)| (Row::new(key.key.clone(), ""), (key, used)))
            .collect::<Vec<_>>())
        .column("scenarios", "scenarios", |(_, used)| Cell::text(used.join(", ")))
        .column("holds", "may hold", |(key, _)| Cell::text(key.holds()))
        .column("meaning", "meaning", |(key, _)| Cell::text(key.meaning.clone()))
        .table()
}

fn key_in_full(key: &ScenarioKey, used: &[&'static str]) -> Topic {
    let asked = &key.asked;
    let scenario = used.first().copied().unwrap_or_default();
    let value = asked.value.clone().or_else(|| asked.default.clone());
    let sample =
        value.or_else(|| asked.example.as_ref().map(|example| example.trim_matches('"').into()));
    let sample = sample.unwrap_or_else(|| "VALUE".into());
    let sample = if sample.contains(|c: char| !c.is_alphanumeric() && !"-._%".contains(c)) {
        format!("\"{sample}\"")
    } else {
        sample
    };
    let rests = match &asked.source {
        Some(source) => format!("{}: {source}", key.origin()),
        None => key.origin(),
    };
    let said = vec![
        ("meaning", key.meaning.clone()),
        ("may hold", key.holds()),
        ("written", asked.hint.clone()),
        ("default", asked.default.clone().unwrap_or_default()),
        ("value there", key.shown_value()),
        ("origin", rests),
        ("used by", used.join(", ")),
        (
            "example",
            format!("boardlab {} {scenario} --set {}={sample}", command_of(scenario), key.key),
        ),
    ];
    Topic { kind: "key", title: key.key.clone(), said }
}

/// The command that runs the scenario `name`.
fn command_of(name: &str) -> &'static str {
    let experiment = EXPERIMENTS.iter().find(|one| one.scenario == name);
    experiment.and_then(|one| one.actions.first()).map_or("run", |(action, _)| action.command())
}

/// The keys called `word` of parts and boards that no built-in scenario uses as it stands.
fn keys_of_pages(word: &str) -> Vec<Topic> {
    let name = word.strip_prefix("part.").or_else(|| word.strip_prefix("board.")).unwrap_or(word);
    let (section, name) = name.rsplit_once('.').unwrap_or(("", name));
    let pages = [("scenario", &pages::SCENARIO), ("part", &pages::PART), ("board", &pages::BOARD)];
    let mut topics = Vec::new();
    for (kind, page) in pages {
        let entries = page.entries();
        let fits = |entry: &&Entry| {
            let of_section = section.is_empty() || entry.sections.iter().any(|one| one == section);
            entry.cells.len() > 1 && of_section && quoted(&entry.cells[0]).any(|one| one == name)
        };
        for entry in entries.iter().filter(fits) {
            let inside =
                entry.sections.iter().map(|one| format!("[{one}]")).collect::<Vec<_>>().join(", ");
            let meaning = entry.cells.last().map(|words| plain(words)).unwrap_or_default();
            let said =
                vec![("meaning", meaning), ("section", inside), ("under", plain(entry.heading))];
            let title = format!("{name}, in a {kind} file");
            topics.push(Topic { kind: "key", title, said });
        }
    }
    topics
}

fn verdicts(word: &str) -> Vec<Topic> {
    let is_one = |entry: &Entry| entry.heading == "Published figures" && entry.cells.len() == 2;
    let name = word.replace([' ', '-'], "_");
    let rows = pages::RESULT.entries().into_iter().filter(is_one);
    let rows = rows.filter(|entry| quoted(&entry.cells[0]).any(|one| one == name));
    let topic = |entry: Entry| {
        let said = vec![("meaning", plain(&entry.cells[1]))];
        Topic { kind: "verdict", title: word.into(), said }
    };
    rows.map(topic).collect()
}

fn glossary() -> impl Iterator<Item = Entry> {
    pages::GLOSSARY.entries().into_iter().filter(|entry| entry.cells.len() == 3)
}

/// The names of the term that `entry` is about.
fn aliases(entry: &Entry) -> impl Iterator<Item = &str> {
    entry.cells[0].split(", ").map(|name| name.trim_matches('`'))
}

fn terms(word: &str) -> Vec<Topic> {
    let same = |name: &str| name.eq_ignore_ascii_case(word) || name == word.replace('_', " ");
    let found = glossary().filter(|entry| aliases(entry).any(same));
    let topic = |entry: Entry| {
        let said = vec![
            ("meaning", plain(&entry.cells[2])),
            ("日本語", entry.cells[1].clone()),
            ("field", entry.heading.into()),
        ];
        Topic { kind: "term", title: plain(&entry.cells[0]), said }
    };
    found.map(topic).collect()
}

fn table_entries() -> impl Iterator<Item = Entry> {
    let is_one = |entry: &Entry| entry.heading.starts_with("Tables of") && entry.cells.len() == 3;
    pages::TABLES.entries().into_iter().filter(is_one)
}

fn tables(word: &str) -> Vec<Topic> {
    let found =
        table_entries().filter(|entry| quoted(&entry.cells[0]).any(|id| is_table(word, id)));
    let topic = |entry: Entry| {
        let of = quoted(entry.heading).next().unwrap_or_default().to_owned();
        let said = vec![("meaning", plain(&entry.cells[2])), ("made by", plain(&entry.cells[1]))];
        Topic { kind: "table", title: format!("{word} of {of}"), said }
    };
    found.map(topic).collect()
}

/// Whether the page of tables has one called `id`.
#[must_use]
pub fn has_table(id: &str) -> bool {
    table_entries().any(|entry| quoted(&entry.cells[0]).any(|known| is_table(id, known)))
}

/// Whether `word` is the table `id`, in which capitals stand for anything.
fn is_table(word: &str, id: &str) -> bool {
    match id.find(|c: char| c.is_ascii_uppercase()) {
        Some(at) if at > 0 && id[at..].chars().all(|c| c.is_ascii_uppercase()) => {
            word == id || word.strip_prefix(&id[..at]).is_some_and(|rest| !rest.is_empty())
        }
        _ => word == id,
    }
}

/// The scenario, evaluation, part or board called `word`.
fn files(word: &str) -> Result<Vec<Topic>, Failure> {
    let scenario = EXPERIMENTS.iter().find(|one| one.name == word || one.scenario == word);
    let word = scenario.map_or(word, |one| one.scenario);
    let mut topics = Vec::new();
    for kind in [Kind::Scenario, Kind::Part, Kind::Board] {
        let Some(file) = catalog::all(kind).iter().find(|file| file.name == word) else { continue };
        let document = Document::parse(&file.source(kind))?;
        let mut said = vec![("what it is", document.title()?)];
        match (kind, scenario) {
            (Kind::Scenario, Some(one)) => {
                let commands = one
                    .actions
                    .iter()
                    .map(|(action, _)| format!("boardlab {} {word}", action.command()));
                let published = one.published.then(|| format!("boardlab reproduce {}", one.name));
                said.push(("commands", commands.chain(published).collect::<Vec<_>>().join(", ")));
                said.push(("its keys", format!("boardlab list keys {word}")));
            }
            (Kind::Part, _) => {
                said.push(("use", format!("boardlab run SCENARIO --set part={word}")));
            }
            (Kind::Board, _) => {
                said.push(("use", format!("boardlab run SCENARIO --set board={word}")));
            }
            _ => {}
        }
        topics.push(Topic { kind: kind.noun(), title: word.into(), said });
    }
    Ok(topics)
}
