//! The keys of scenarios, and of commands without one: which there are, what each may hold, holds, and means.
//!
//! Layer: rank 11, inside `guide`. Main types: [`Settable`], [`ScenarioKey`]; functions: [`open`], [`of`],
//! [`meaning`]. Which keys there are and what they may hold comes from the reading of the scenario itself; what they
//! mean from the pages of formats.

use super::pages::{BOARD, Entry, PART, Page, SCENARIO, plain, quoted, section};
use crate::registry::{self, OpenScenario};
use crate::sata::console::bench::{self, DRIVE};
use boardlab_computer::board;
use boardlab_document::asked::AskedKey;
use boardlab_document::error::Error;
use boardlab_document::source::SET;
use boardlab_document::{Document, Node, files};
use boardlab_experiment::{Check, Failure, NEVER, Request};
use boardlab_parts::catalog;
use boardlab_sim::Seed;
use std::path::Path;
use std::sync::LazyLock;

/// The name for what `os run`, `os trace` and `os debug` change by `--set`.
pub const OS: &str = "os";
/// The name for what `sata console` changes by `--set`.
pub const SATA_CONSOLE: &str = "sata-console";
/// The commands with `--set` but without a scenario.
pub const COMMANDS: [&str; 2] = [OS, SATA_CONSOLE];

/// What `--set` changes: a scenario, or the board and the drive of one of [`COMMANDS`].
#[derive(Debug)]
pub(super) struct Settable {
    /// The values, with those of part and board.
    pub(super) document: Document,
    name: String,
    /// The scenario under which the pages describe it.
    described_as: &'static str,
    check: Check,
}

/// Opens the scenario `name`, or what the one of [`COMMANDS`] with this name changes, with the arguments of all `--set`.
///
/// # Errors
/// What is wrong with the scenario or with an argument.
pub(super) fn open<S: AsRef<str>>(name: &str, set: &[S]) -> Result<Settable, Error> {
    let of_command = |described_as, document, check| Settable {
        document,
        name: String::from(name),
        described_as,
        check,
    };
    Ok(match name {
        OS => of_command(OS, board::document(set)?, |request| {
            board::of(request.document)?;
            Ok(0)
        }),
        SATA_CONSOLE => of_command(SATA_CONSOLE, bench::document(DRIVE, set)?, |request| {
            bench::read(request.document)?;
            Ok(0)
        }),
        name => registry::open(name, set)?.into(),
    })
}

impl From<OpenScenario> for Settable {
    fn from(open: OpenScenario) -> Self {
        let OpenScenario { experiment, document, name } = open;
        Self { document, name, described_as: experiment.scenario, check: experiment.check }
    }
}

/// A key of a scenario, of its part or of its board.
#[derive(Debug, Clone)]
pub(super) struct ScenarioKey {
    /// The dotted key, as `--set` takes it.
    pub(super) key: String,
    /// What it may hold and holds.
    pub(super) asked: AskedKey,
    /// What it means; empty if the pages do not say.
    pub(super) meaning: String,
}

impl ScenarioKey {
    /// The value, or the one that holds without the key in brackets.
    pub(super) fn shown_value(&self) -> String {
        let asked = &self.asked;
        let omitted =
            || asked.default.as_ref().map_or_else(|| "-".into(), |default| format!("({default})"));
        asked.value.clone().unwrap_or_else(omitted)
    }

    /// What the key may hold: its type and its limits.
    pub(super) fn holds(&self) -> String {
        let limits = self.asked.limits.iter().map(|limit| format!(", {limit}"));
        format!("{}{}", self.asked.expected, limits.collect::<String>())
    }

    /// The values that it can have in `document`, where there is a list of them.
    pub(super) fn values(&self, document: &Document) -> Vec<String> {
        let Some(kind) = files::mounted(&self.key) else { return self.asked.names.clone() };
        let own = document.get(&format!("{}.kind", self.key)).and_then(Node::as_text);
        let names = match own {
            Some(own) => catalog::parts_of(&[own]),
            None => catalog::all(kind).iter().map(|file| file.name).collect(),
        };
        names.into_iter().map(String::from).collect()
    }

    /// What it means, behind whether the run uses it.
    pub(super) fn shown_meaning(&self) -> String {
        let meaning = self.meaning.replace('`', "");
        match &self.asked.idle {
            Some(why) => format!("no effect {why}: {meaning}"),
            None => meaning,
        }
    }

    /// What the value rests on, where it says so; else the option that gives it.
    pub(super) fn origin(&self) -> String {
        let option = || self.asked.file.as_deref().filter(|file| *file == SET);
        let named = self.asked.origin.map(|origin| origin.to_string());
        named.or_else(|| option().map(String::from)).unwrap_or_default()
    }

    /// The key that names the file in which this one stands; `None` in the scenario itself.
    pub(super) fn mount(&self) -> Option<&str> {
        mount_of(&self.key).or_else(|| self.key.starts_with("board.").then_some("board"))
    }

    /// Whether it has no use for `--set`: another value would be another file.
    fn is_fixed(&self) -> bool {
        let own = self.mount().map_or(self.key.as_str(), |mount| &self.key[mount.len() + 1..]);
        ["title", "kind", "experiment"].contains(&own)
    }
}

/// The keys that `open` has or could have, with those of its part and its board; in the order of reading.
///
/// # Errors
/// What is wrong with the document.
pub(super) fn of(open: &mut Settable) -> Result<Vec<ScenarioKey>, Failure> {
    let Settable { document, name: scenario, described_as, check } = open;
    document.observe();
    let request =
        Request { document, scenario, seed: Seed::new(1), progress: &|_| (), stop: &NEVER };
    check(&request)?;
    let asked = document.take_asked();
    let kind = |mount: &str| {
        document.get(&format!("{mount}.kind")).and_then(Node::as_text).map(String::from)
    };
    let values = asked.into_iter().filter(|(_, asked)| !asked.is_section);
    let described = mounted(document).into_iter().chain(values).map(|(key, asked)| {
        let mount = mount_of(&key);
        let kind = mount.and_then(kind).or_else(|| kind("part"));
        let meaning = meaning(&key, described_as, kind.as_deref());
        let meaning = beyond(&asked, meaning);
        ScenarioKey { key, asked, meaning }
    });
    Ok(described.filter(|key| !key.is_fixed()).collect())
}

/// The keys of `document` that name other files, and these files.
fn mounted(document: &Document) -> Vec<(String, AskedKey)> {
    let named = |path: String| {
        let noun = files::mounted(&path)?.noun();
        let file = document.get(&path)?.place().source().name().to_owned();
        let name = Path::new(&file).file_stem()?.to_string_lossy().into_owned();
        // A built-in file goes by its name, another one by its path.
        let built_in = catalog::all(files::mounted(&path)?).iter().any(|one| one.path == file);
        let asked = AskedKey {
            expected: format!("name of a built-in {noun}, or path of a {noun} file"),
            value: Some(if built_in { name } else { file.clone() }),
            file: Some(file),
            ..AskedKey::default()
        };
        Some((path, asked))
    };
    files::mounts(document).into_iter().filter_map(named).collect()
}

/// The key that names the file which holds `key`.
fn mount_of(key: &str) -> Option<&str> {
    if key.starts_with("part.") {
        return Some("part");
    }
    let drive = key.strip_prefix("drives.").and_then(|rest| rest.find('.'));
    drive
        .map(|end| &key[.."drives.".len() + end])
        .or_else(|| key.starts_with("exec.card.").then_some("exec.card"))
}

/// The entries of a page, read once.
static PAGES: LazyLock<[(Vec<Entry>, &Page); 3]> =
    LazyLock::new(|| [&SCENARIO, &PART, &BOARD].map(|page| (page.entries(), page)));

/// What `key` of a scenario of `experiment` means, with a part of this `kind`. Empty if no page says so.
pub(super) fn meaning(key: &str, experiment: &str, kind: Option<&str>) -> String {
    let [scenario, part, board] = &*PAGES;
    let (entries, inner, headings): (_, _, &[&str]) = match mount_of(key) {
        Some(mount) => (&part.0, &key[mount.len() + 1..], headings_of_part(kind)),
        None => match key.strip_prefix("board.") {
            Some(inner) => (&board.0, inner, headings_of_board(kind)),
            None => (&scenario.0, key, &[]),
        },
    };
    let own = format!("`{experiment}`");
    let tried = headings.iter().copied().chain([own.as_str(), "Top level", ""]);
    let path = without_numbers(inner);
    for heading in tried {
        // A section may stand in another one: `reads.errors.program` is as `errors.program`.
        let shorter = path.split_once('.').map(|(_, rest)| rest.to_owned());
        for path in [Some(&path), shorter.as_ref()].into_iter().flatten() {
            let found = found(entries, heading, path);
            if !found.is_empty() {
                return found;
            }
        }
    }
    String::new()
}

/// The `meaning` of a key without the clauses that repeat what it may hold: its values and its limits.
fn beyond(asked: &AskedKey, meaning: String) -> String {
    let names = |quote: &str| {
        let names: Vec<_> =
            asked.names.iter().map(|name| format!("`{quote}{name}{quote}`")).collect();
        names.split_last().map_or_else(String::new, |(last, others)| match others {
            [] => last.clone(),
            others => format!("{} or {last}", others.join(", ")),
        })
    };
    let upper = |limit: &String| limit.split_once(" to ").map(|(_, most)| format!("up to {most}"));
    let limits = asked.limits.iter().flat_map(|limit| [Some(limit.clone()), upper(limit)]);
    let said = [asked.expected.clone(), names(""), names("\"")];
    said.into_iter().chain(limits.flatten()).fold(meaning, |meaning, said| without(&said, meaning))
}

/// `words` without the clause `said`.
fn without(said: &str, words: String) -> String {
    if said.is_empty() {
        return words;
    }
    if let Some(rest) = words.strip_prefix(said).and_then(|rest| rest.strip_prefix(": ")) {
        return rest.into();
    }
    let ends = |rest: &str| {
        rest.is_empty() || [": ", "; ", ". "].iter().any(|sign| rest.starts_with(sign))
    };
    let cut = |sign: &str| {
        let (before, after) = words.split_once(&format!("{sign}{said}"))?;
        ends(after).then(|| format!("{before}{after}"))
    };
    [": ", ", ", "; "].into_iter().find_map(cut).unwrap_or(words)
}

/// The headings of the part page that are about a `kind`, the most special first.
fn headings_of_part(kind: Option<&str>) -> &'static [&'static str] {
    match kind {
        Some("nor") => &["NOR part"],
        Some("nand") => &["NAND part"],
        Some("sata") => &["a drive", "a card", "NAND part"],
        _ => &["a card", "NAND part"],
    }
}

/// The headings of the board page that are about a board for parts of a `kind`, the most special first.
fn headings_of_board(kind: Option<&str>) -> &'static [&'static str] {
    match kind {
        Some("nor") => &["for NOR", "for NAND"],
        Some("nand") => &["for NAND"],
        Some("sata") => &["jobs on a drive", "for SATA"],
        Some("sd" | "emmc") => &["for cards", "for programs"],
        _ => &["for programs", "for SATA"],
    }
}

/// `key` without the numbers of entries of lists.
fn without_numbers(key: &str) -> String {
    let parts = key.split('.').filter(|part| part.parse::<usize>().is_err());
    parts.collect::<Vec<_>>().join(".")
}

/// What the entries below a heading that contains `heading` say about the key at `path`; rows before paragraphs.
fn found(entries: &[Entry], heading: &str, path: &str) -> String {
    let here = || entries.iter().filter(|entry| entry.heading.contains(heading));
    let rows: Vec<_> =
        here().filter(|entry| entry.cells.len() > 1 && is_about(entry, path)).map(said).collect();
    if !rows.is_empty() {
        return rows.join("; or: ");
    }
    let (section, name) = path.rsplit_once('.').unwrap_or(("", path));
    let beside: Vec<_> = here()
        .filter(|entry| entry.cells.len() > 1 && entry.sections.iter().any(|one| one == section))
        .filter(|entry| entry.cells[1..].iter().any(|cell| quoted(cell).any(|one| one == name)))
        .map(|entry| format!("with {}: {}", plain(&entry.cells[0]), said(entry)))
        .collect();
    if !beside.is_empty() {
        return beside.join("; or: ");
    }
    let of_section = |entry: &&Entry| {
        entry.cells.len() == 1
            && entry.sections.iter().any(|one| one == section)
            && quoted(&entry.cells[0]).any(|one| one == name)
    };
    here().find(of_section).map(|entry| plain(&entry.cells[0])).unwrap_or_default()
}

/// Whether the row `entry` is about the key at `path`.
fn is_about(entry: &Entry, path: &str) -> bool {
    let head = format!(
        "{} {}",
        entry.cells[0],
        if entry.cells.len() > 2 { entry.cells[1].as_str() } else { "" }
    );
    let sections = || entry.sections.iter().map(String::as_str).chain([""]);
    quoted(&head).any(|name| match section(name) {
        // A row about a whole section, whose keys it names further on.
        Some(inside) => {
            sections().any(|outer| is_below(path, &joined(outer, inside)) || is_below(path, inside))
        }
        None => {
            let has_section = !entry.sections.is_empty() && !name.contains('.');
            let whole = |outer: &&str| {
                path == joined(outer, name) || matches_pattern(path, &joined(outer, name))
            };
            sections().filter(|outer| !(has_section && outer.is_empty())).any(|outer| whole(&outer))
        }
    })
}

fn joined(outer: &str, inner: &str) -> String {
    if outer.is_empty() { inner.into() } else { format!("{outer}.{inner}") }
}

/// Whether `path` is below the section `pattern`, in which `NAME` stands for any name.
fn is_below(path: &str, pattern: &str) -> bool {
    let count = pattern.split('.').count();
    let head: Vec<_> = path.split('.').take(count).collect();
    path.split('.').count() > count && matches_pattern(&head.join("."), pattern)
}

/// Whether the parts of `path` are those of `pattern`; `NAME` stands for any one.
fn matches_pattern(path: &str, pattern: &str) -> bool {
    let any = |part: &str| part == "NAME" || part == "N";
    path.split('.').count() == pattern.split('.').count()
        && path.split('.').zip(pattern.split('.')).all(|(one, other)| one == other || any(other))
}

/// What a row says: its last cell, behind the others but the first.
fn said(entry: &Entry) -> String {
    let words: Vec<_> = entry.cells[1..].iter().map(|cell| plain(cell)).collect();
    words.join(": ")
}
