//! The built-in parts, boards, scenarios and reference tables, and the composition of documents
//! from names.
//!
//! Layer: rank 8. Main type: [`BuiltIn`], a file of the repository embedded in the program;
//! function: [`compose`], which makes one document of a scenario, its part, its board and the
//! user's `--set`. A path may stand for a name: it contains a `/` or ends in `.toml`.

use boardlab_document::error::{At, Error, FileProblem, Message, Other};
use boardlab_document::files::{mounted, mounts};
use boardlab_document::source::{Kind, Source};
use boardlab_document::{Document, Node, Override};
use std::path::Path;
use std::sync::Arc;

/// A file of the repository, embedded in the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// The name that users type.
    pub name: &'static str,
    /// Its path in the repository.
    pub path: &'static str,
    /// Its text.
    pub text: &'static str,
}

mod built_in {
    //! The tables that the build script writes.

    use super::BuiltIn;

    include!(concat!(env!("OUT_DIR"), "/built_in.rs"));
}

impl BuiltIn {
    /// The text as the source of a `kind` of document.
    #[must_use]
    pub fn source(&self, kind: Kind) -> Arc<Source> {
        Source::new(kind, self.path, self.text)
    }
}

/// The built-in files of one `kind`, sorted by name.
#[must_use]
pub fn all(kind: Kind) -> &'static [BuiltIn] {
    match kind {
        Kind::Part => built_in::PARTS,
        Kind::Board => built_in::BOARDS,
        Kind::Scenario => built_in::SCENARIOS,
        Kind::Reference => built_in::REFERENCE,
        Kind::Defaults => &[],
    }
}

/// Whether a built-in file of this `kind` is called `name`.
#[must_use]
pub fn has(kind: Kind, name: &str) -> bool {
    all(kind).iter().any(|file| file.name == name)
}

/// The built-in parts.
#[must_use]
pub fn parts() -> &'static [BuiltIn] {
    all(Kind::Part)
}

/// The names of the built-in parts of one of `kinds`.
#[must_use]
pub fn parts_of<S: AsRef<str>>(kinds: &[S]) -> Vec<&'static str> {
    let is_one = |part: &&BuiltIn| {
        let document = Document::parse(&part.source(Kind::Part)).ok();
        let kind = document.as_ref().and_then(|document| document.get("kind")?.as_text());
        kind.is_some_and(|kind| kinds.iter().any(|one| one.as_ref() == kind))
    };
    parts().iter().filter(is_one).map(|part| part.name).collect()
}

/// The text of a `kind` of file: a built-in one by name, or one on disk by path.
///
/// A relative path counts from `folder`, or from the current folder when there is none.
///
/// # Errors
/// [`Error::UnknownName`] with the names that exist, or [`Error::File`].
pub fn find(kind: Kind, name: &str, folder: Option<&Path>) -> Result<Arc<Source>, Error> {
    if name.contains(['/', '\\']) || name.ends_with(".toml") {
        let path = folder.map_or_else(|| name.into(), |folder| folder.join(name));
        return Source::from_file(kind, &path);
    }
    let known = all(kind);
    match known.iter().find(|file| file.name == name) {
        Some(file) => Ok(file.source(kind)),
        None => Err(Error::UnknownName {
            place: None,
            what: kind.noun(),
            found: name.into(),
            names: known.iter().map(|file| file.name.into()).collect(),
        }),
    }
}

/// Files that extend each other.
const DEEPEST: usize = 8;

/// The name of the scenario that runs a fio job file on a card.
pub const FIO: &str = "card-fio";

/// The scenario called `name`, a built-in one or a path, with the arguments of all `--set`. The
/// path of a fio job file, `my.fio`, stands for the built-in scenario that runs it on a card.
///
/// # Errors
/// The error in a file or an argument.
pub fn compose<S: AsRef<str>>(name: &str, set: &[S]) -> Result<Document, Error> {
    let job = job_file(name);
    if job.is_some() && !Path::new(name).exists() {
        // The path that the user typed, and not the key that it stands for.
        let (path, problem) = (name.into(), FileProblem::Missing);
        return Err(Error::File { path, problem, place: None });
    }
    let scenario = if job.is_some() { FIO } else { name };
    let set = job.as_deref().into_iter().chain(set.iter().map(AsRef::as_ref));
    compose_source(&find(Kind::Scenario, scenario, None)?, &set.collect::<Vec<_>>())
}

/// If `name` ends in `.fio`, returns the override that puts this job file into the scenario [`FIO`].
fn job_file(name: &str) -> Option<String> {
    let is_one = Path::new(name).extension().is_some_and(|end| end == "fio");
    is_one.then(|| format!("fio.file={name}"))
}

/// The scenario in `source`, with its part and its board in place of their names, and with the
/// arguments of all `--set`.
///
/// The names of part and board can be set as well: `--set part=parts/mine.toml`.
///
/// # Errors
/// The error in a file or an argument.
pub fn compose_source<S: AsRef<str>>(source: &Arc<Source>, set: &[S]) -> Result<Document, Error> {
    let overrides: Result<Vec<_>, _> =
        set.iter().map(|one| Override::parse(one.as_ref())).collect();
    compose_overrides(source, &overrides?)
}

/// As [`compose_source`], with parsed overrides.
pub fn compose_overrides(source: &Arc<Source>, overrides: &[Override]) -> Result<Document, Error> {
    let names = |one: &&Override| mounted(&one.path()).is_some();
    let (files, values): (Vec<_>, Vec<_>) = overrides.iter().partition(names);
    let mut document = extended(source, 0)?;
    document.set(files)?;
    for key in mounts(&document) {
        let (Some(node), Some(kind)) = (document.get(&key), mounted(&key)) else { continue };
        if let Some(name) = node.as_text() {
            let part = extended(&find_at(kind, name, node)?, 0)?;
            document.mount(&key, part, parts_of);
        } else if let Some(name) = document.take_extended(&key) {
            // A section written in place; the reader reports other errors.
            document.extend(&key, base(kind, &name, 0)?);
        }
    }
    document.set(values)?;
    Ok(document)
}

/// The `kind` of file called `name`, a built-in one or a path from `folder`, with what it extends.
///
/// # Errors
/// Those of [`find`], and the error in a file.
pub fn read(kind: Kind, name: &str, folder: Option<&Path>) -> Result<Document, Error> {
    extended(&find(kind, name, folder)?, 0)
}

/// The file that `name` names, which stands at `node`.
fn find_at(kind: Kind, name: &str, node: &Node) -> Result<Arc<Source>, Error> {
    let place = node.place();
    find(kind, name, place.source().folder()).map_err(|error| error.at(place))
}

/// The document in `source`, with what the file has that it extends. So many files extended others before.
fn extended(source: &Arc<Source>, depth: usize) -> Result<Document, Error> {
    let mut document = Document::parse(source)?;
    if let (Some(name), Some(kind)) = (document.take_extended(""), source.kind()) {
        document.extend("", base(kind, &name, depth)?);
    }
    Ok(document)
}

/// The document that a key `extends` names.
fn base(kind: Kind, node: &Node, depth: usize) -> Result<Document, Error> {
    let refused = |title: String, label: &str, help: &str| {
        let message = Message { title, label: label.into(), help: help.into() };
        Error::from(Other { at: At::Place(node.place().clone()), message })
    };
    let Some(name) = node.as_text() else {
        let help = "extends = \"nand-filesystems\"";
        return Err(refused(
            format!("`extends` is {}", node.noun()),
            "expected a name or a path",
            help,
        ));
    };
    if depth == DEEPEST {
        let help = "does a file extend itself?";
        return Err(refused(
            format!("more than {DEEPEST} files extend each other"),
            "expected fewer",
            help,
        ));
    }
    extended(&find_at(kind, name, node)?, depth + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_file_has_a_title_and_a_name_of_its_own() {
        for kind in [Kind::Part, Kind::Board, Kind::Scenario] {
            assert!(all(kind).is_sorted_by(|a, b| a.name < b.name));
            for file in all(kind) {
                let document =
                    Document::parse(&file.source(kind)).unwrap_or_else(|e| panic!("{e}"));
                assert!(document.title().is_ok_and(|title| !title.is_empty()), "{}", file.path);
            }
        }
    }

    #[test]
    fn an_unknown_name_lists_the_known_ones() {
        let error = find(Kind::Scenario, "nor-wrte-nothing", None).unwrap_err();
        assert!(error.to_string().starts_with("error: unknown scenario `nor-wrte-nothing`"));
    }

    #[test]
    fn what_looks_like_a_path_is_one() {
        for name in ["./x", "x.toml", "a/b"] {
            assert!(matches!(find(Kind::Part, name, None), Err(Error::File { .. })), "{name}");
        }
    }
}
