//! All that can be explained: terms, commands, tables, the names of scenarios, parts and boards, keys and their
//! values, and what tables name.
//!
//! Layer: rank 11, inside `guide`. Functions: [`explain`], [`names`].

use super::files;
use super::groups::{Group, Keys};
use super::pages::{self, Entry, plain, quoted};
use super::tables;
use crate::registry;
use boardlab_document::error::{At, Error, Message, Other, TEXT_SHOWN};
use boardlab_document::nearest::nearest_few;
use boardlab_document::source::Kind;
use boardlab_experiment::{Failure, VERSION};
use boardlab_parts::catalog;
use boardlab_result::foreign::shown_at_most;
use boardlab_result::{Cell, Row, RunResult, Table};
use indexmap::IndexMap;
use std::cmp::Reverse;

/// The number of groups of keys that are explained in full; of more there is a list.
const IN_FULL: usize = 3;
/// The number of names that an unknown word is answered with.
const NEAREST: usize = 5;

/// A command of the program, which the command line knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandName {
    /// The words behind the name of the program: `image ls`.
    pub name: String,
    /// What it does.
    pub about: String,
}

/// Something that is explained.
pub(super) struct Topic {
    /// The kind of name: `term`.
    pub(super) kind: &'static str,
    /// The name, and what has it.
    pub(super) title: String,
    /// What is said, each with a name of one word.
    pub(super) said: Vec<(&'static str, String)>,
}

/// Explains `word`: a term, a verdict, its sign, an origin, one of `commands`, a table, a row or a column of one, a
/// scenario, an evaluation, a part, a kind or a maker of parts, a board, a key or the end of one, or a value of keys. A
/// word that means several things gets an answer for each; capitals do not matter.
///
/// # Errors
/// [`Error::Other`] with the nearest names; or a built-in scenario is broken.
pub fn explain(word: &str, commands: &[CommandName]) -> Result<RunResult, Failure> {
    let names = names(commands)?;
    let word = in_the_case_of(&names, word.trim());
    let mut topics = terms(word);
    topics.extend(commands_called(word, commands));
    topics.extend(tables::called(word));
    topics.extend(files::called(word)?);
    topics.extend(files::of_kind(word));
    let mut lists = Vec::new();
    let keys = Keys::read()?;
    match keys.called(word) {
        many if many.len() > IN_FULL => lists.push(Group::list(&many, word)),
        few => topics.extend(few.iter().map(Group::in_full)),
    }
    match keys.holding(word) {
        many if many.len() > IN_FULL => lists.push(Group::list_of_value(&many, word)),
        few => topics.extend(few.iter().map(|group| group.value_in_full(word))),
    }
    lists.extend(tables::naming(word)?);
    if topics.is_empty() && lists.is_empty() {
        topics.extend(keys_of_pages(word));
        topics.extend(terms_naming(word));
        topics.extend(keys.naming(word).iter().map(|group| group.value_in_full(word)));
        lists.extend(files::naming(word)?);
    }
    if topics.is_empty() && lists.is_empty() {
        return Err(unknown(word, &names));
    }
    let mut run = RunResult::new("explain", &format!("What `{word}` means"), 0, VERSION);
    run.tables = in_tables(topics).into_iter().chain(lists).collect();
    Ok(run)
}

/// `word` as one of `names` is written, if it differs from all but in capitals.
fn in_the_case_of<'w>(names: &'w [String], word: &'w str) -> &'w str {
    if names.iter().any(|name| name == word) {
        return word;
    }
    names.iter().find(|name| name.eq_ignore_ascii_case(word)).map_or(word, String::as_str)
}

/// The `topics` as tables, whose ids count those of a kind.
fn in_tables(topics: Vec<Topic>) -> Vec<Table> {
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
    each.collect()
}

/// The error that there is no `word` among `names`: those that it could be, and where all stand.
fn unknown(word: &str, names: &[String]) -> Failure {
    let mut near = nearest_few(word, names.iter().map(String::as_str), NEAREST);
    if near.is_empty() {
        near = sharing_words(word, names);
    }
    let near: Vec<_> = near.iter().take(NEAREST).map(|name| format!("`{name}`")).collect();
    let meant = match near.split_last() {
        None => String::new(),
        Some((last, [])) => format!("did you mean {last}? "),
        Some((last, others)) => format!("did you mean {} or {last}? ", others.join(", ")),
    };
    let message = Message {
        title: format!("unknown word `{}`", shown_at_most(word, TEXT_SHOWN)),
        label: String::new(),
        help: format!("{meant}see boardlab list, boardlab list keys SCENARIO and boardlab help"),
    };
    Error::from(Other { at: At::Nowhere, message }).into()
}

/// Those of `names` that contain words of `word`, whatever their endings: more of them first, then the shorter names.
fn sharing_words<'n>(word: &str, names: &'n [String]) -> Vec<&'n str> {
    // A few letters are in too many names.
    const SHORTEST: usize = 4;
    let words = word.split(|c: char| !c.is_alphanumeric()).map(|one| (one, one.chars().count()));
    let stems: Vec<String> = words
        .filter(|(_, length)| *length >= SHORTEST)
        .map(|(one, length)| one.chars().take((length - 2).max(SHORTEST)).collect())
        .collect();
    let shared = |name: &str| stems.iter().filter(|stem| name.contains(*stem)).count();
    let sharing = names.iter().map(|name| (shared(name), name.as_str()));
    let mut sharing: Vec<_> = sharing.filter(|(shared, _)| *shared > 0).collect();
    sharing.sort_by_key(|(shared, name)| (Reverse(*shared), name.len()));
    sharing.into_iter().map(|(_, name)| name).collect()
}

/// All words that [`explain`] knows, for completions and for the nearest one.
///
/// # Errors
/// A built-in scenario is broken.
pub fn names(commands: &[CommandName]) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = commands.iter().map(|one| one.name.clone()).collect();
    for kind in [Kind::Scenario, Kind::Part, Kind::Board] {
        names.extend(catalog::all(kind).iter().map(|file| file.name.into()));
    }
    names.extend(files::KINDS.map(String::from));
    names.extend(registry::published().map(|one| one.name.into()));
    for entry in glossary() {
        names.extend(aliases(&entry).chain(japanese(&entry)).map(String::from));
    }
    let keys = Keys::read()?;
    names.extend(keys.names().map(String::from));
    names.extend(tables::names()?);
    names.sort_unstable();
    names.dedup();
    Ok(names)
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

fn glossary() -> impl Iterator<Item = Entry> {
    pages::GLOSSARY.entries().into_iter().filter(|entry| entry.cells.len() == 3)
}

/// The names of the term that `entry` is about.
fn aliases(entry: &Entry) -> impl Iterator<Item = &str> {
    entry.cells[0].split(", ").map(|name| name.trim_matches('`'))
}

/// The Japanese names of the term that `entry` is about.
fn japanese(entry: &Entry) -> impl Iterator<Item = &str> {
    entry.cells[1].split(['、', '（', '）']).filter(|name| !name.is_empty())
}

fn terms(word: &str) -> Vec<Topic> {
    let same = |name: &str| name.eq_ignore_ascii_case(word) || name == word.replace('_', " ");
    glossary()
        .filter(|entry| aliases(entry).chain(japanese(entry)).any(same))
        .map(|entry| term(&entry))
        .collect()
}

/// The terms whose meaning names `word`, such as a column.
fn terms_naming(word: &str) -> Vec<Topic> {
    let names_it = |entry: &Entry| quoted(&entry.cells[2]).any(|name| name == word);
    glossary().filter(names_it).map(|entry| term(&entry)).collect()
}

fn term(entry: &Entry) -> Topic {
    let said = vec![
        ("meaning", plain(&entry.cells[2])),
        ("japanese", entry.cells[1].clone()),
        ("field", entry.heading.into()),
    ];
    Topic { kind: "term", title: plain(&entry.cells[0]), said }
}

/// The commands called `word`, or ending in it.
fn commands_called(word: &str, commands: &[CommandName]) -> Vec<Topic> {
    let end = format!(" {word}");
    let is_meant = |one: &&CommandName| one.name == word || one.name.ends_with(&end);
    let topic = |one: &CommandName| Topic {
        kind: "command",
        title: format!("boardlab {}", one.name),
        said: vec![("meaning", one.about.clone()), ("help", format!("boardlab help {}", one.name))],
    };
    commands.iter().filter(is_meant).map(topic).collect()
}
