//! Tables of results: those that a word names, and those whose rows or columns it names.
//!
//! Layer: rank 11, inside `guide`. Functions: [`called`], [`naming`], [`names`], [`has_table`]. What a table shows is on
//! the page of tables; the rows and columns are those that this page names, and those of the publications.

use super::pages::{self, Entry, plain, quoted};
use super::topics::Topic;
use crate::registry;
use boardlab_experiment::Failure;
use boardlab_experiment::reference::Reference;
use boardlab_result::{Cell, Row, Table, Unit};
use indexmap::IndexMap;

fn entries() -> impl Iterator<Item = Entry> {
    let is_one = |entry: &Entry| entry.heading.starts_with("Tables of") && entry.cells.len() == 3;
    pages::TABLES.entries().into_iter().filter(is_one)
}

/// The scenario or command whose table `entry` is.
fn owner(entry: &Entry) -> &'static str {
    quoted(entry.heading).next().unwrap_or_default()
}

/// The tables called `word`.
pub(super) fn called(word: &str) -> Vec<Topic> {
    let found = entries().filter(|entry| quoted(&entry.cells[0]).any(|id| is_table(word, id)));
    let topic = |entry: Entry| {
        let said = vec![("meaning", plain(&entry.cells[2])), ("command", plain(&entry.cells[1]))];
        Topic { kind: "table", title: format!("{word} of {}", owner(&entry)), said }
    };
    found.map(topic).collect()
}

/// Whether the page of tables has one called `id`.
#[must_use]
pub fn has_table(id: &str) -> bool {
    entries().any(|entry| quoted(&entry.cells[0]).any(|known| is_table(id, known)))
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

/// A name that stands in a table.
struct Place {
    name: String,
    /// The scenario or command whose table it is, and the table.
    table: (String, String),
    /// What it names there.
    role: &'static str,
}

/// The rows and columns that publications have or the page of tables names.
fn places() -> Result<Vec<Place>, Failure> {
    let mut places = Vec::new();
    for experiment in registry::published() {
        for table in Reference::named(experiment.name)?.tables {
            let at = (String::from(experiment.scenario), table.id);
            let rows = table.rows.iter().map(|row| (&row.id, "row"));
            let cells = table.rows.iter().flat_map(|row| row.cells.keys());
            let each = rows.chain(cells.map(|column| (column, "column")));
            places.extend(each.map(|(name, role)| {
                let (name, table) = (name.clone(), at.clone());
                Place { name, table, role }
            }));
        }
    }
    for entry in entries() {
        for id in quoted(&entry.cells[0]) {
            let table = (owner(&entry).to_owned(), id.to_owned());
            let named = quoted(&entry.cells[2]);
            places.extend(named.map(|name| Place {
                name: name.into(),
                table: table.clone(),
                role: if Unit::of_key(name) == Unit::Plain { "named" } else { "column" },
            }));
        }
    }
    Ok(places)
}

/// The names of all tables, of rows and of columns.
///
/// # Errors
/// A built-in reference is broken.
pub(super) fn names() -> Result<Vec<String>, Failure> {
    let ids =
        entries().flat_map(|entry| quoted(&entry.cells[0]).map(String::from).collect::<Vec<_>>());
    Ok(ids.chain(places()?.into_iter().map(|place| place.name)).collect())
}

/// The tables in which `word` is a row, a column, or another name that the page explains.
///
/// # Errors
/// A built-in reference is broken.
pub(super) fn naming(word: &str) -> Result<Option<Table>, Failure> {
    if has_table(word) {
        return Ok(None);
    }
    let mut found: IndexMap<_, &str> = IndexMap::new();
    for place in places()?.into_iter().filter(|place| place.name == word) {
        found.entry(place.table).or_insert(place.role);
    }
    if found.is_empty() {
        return Ok(None);
    }
    let shows = |(scenario, table): &(String, String)| {
        let is_it = |entry: &Entry| {
            owner(entry) == scenario && quoted(&entry.cells[0]).any(|id| is_table(table, id))
        };
        entries().find(is_it).map(|entry| plain(&entry.cells[2])).unwrap_or_default()
    };
    let rows = found
        .into_iter()
        .map(|(at, role)| (Row::new(format!("{}/{}", at.0, at.1), ""), (role, shows(&at))));
    let table = Table::new("tables", format!("Tables with `{word}`"))
        .of(rows.collect::<Vec<_>>())
        .column("role", "as", |(role, _)| Cell::text(*role))
        .column("meaning", "what the table shows", |(_, shows)| Cell::text(shows.clone()));
    Ok(Some(table.table()))
}
