//! Every key that an experiment could read, found out from what it says about wrong ones.

use super::bench::{Bench, Said};
use super::tree::Tree;
use boardlab_document::error::Error;
use boardlab_document::files;
use boardlab_document::misfit::Misfit;
use toml::Value;

/// A key that nothing reads.
const UNKNOWN: &str = "zz_unknown";
/// Sections whose keys are names that the user chooses.
const FREE: [&str; 2] = ["fio.variables", "grades.products"];

/// What the value of a key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    /// One of these names.
    Names(Vec<String>),
    /// What an error says that it is: `a duration`.
    Value(String),
    /// Any text.
    Text,
}

/// A key that holds a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    /// Its dotted path.
    pub(crate) path: String,
    /// What its value is.
    pub(crate) what: What,
}

/// What is known of a document's keys.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// All keys that hold values, those of optional sections and of the first entry of each list among them.
    pub(crate) keys: Vec<Key>,
    /// Sections that are not in the document, and whose keys an error about them does not tell.
    pub(crate) untold: Vec<String>,
    /// All sections whose keys are known.
    pub(crate) sections: Vec<String>,
}

impl Known {
    /// The keys of `tree`; what is known of them from `before` is not asked again.
    pub(crate) fn of(bench: &Bench, tree: &Tree, before: &[(&Tree, &Self)]) -> Self {
        let mut known = Self::default();
        known.section(bench, tree, "", before);
        known
    }

    fn section(&mut self, bench: &Bench, tree: &Tree, path: &str, before: &[(&Tree, &Self)]) {
        if self.is_as_before(tree, path, before) {
            return;
        }
        let Some(keys) = known(bench, tree, path) else {
            let is_there = tree.get(path).is_some();
            assert!(!is_there, "{}: [{path}] does not tell its keys", bench.name);
            self.untold.push(path.into());
            return;
        };
        self.sections.push(path.into());
        for key in keys {
            let path = below(path, &key);
            let mut same = before.iter().flat_map(|(_, known)| &known.keys);
            if let Some(same) = same.find(|same| same.path == path) {
                self.keys.push(same.clone());
                continue;
            }
            match what(bench, tree, &path) {
                Found::Section => self.section(bench, tree, &path, before),
                Found::Sections => self.section(bench, tree, &format!("{path}.0"), before),
                Found::Value(what) => self.keys.push(Key { path, what }),
            }
        }
    }
}

impl Known {
    /// Takes what is known of a section that stands in another tree with the same values.
    fn is_as_before(&mut self, tree: &Tree, path: &str, before: &[(&Tree, &Self)]) -> bool {
        let Some(section) = tree.get(path).filter(|_| !path.is_empty()) else { return false };
        let same = before.iter().find(|(other, known)| {
            other.get(path) == Some(section) && known.sections.iter().any(|one| one == path)
        });
        let Some((_, known)) = same else { return false };
        let under = |one: &str| one == path || one.starts_with(&format!("{path}."));
        self.keys.extend(known.keys.iter().filter(|key| under(&key.path)).cloned());
        self.untold.extend(known.untold.iter().filter(|one| under(one)).cloned());
        self.sections.extend(known.sections.iter().filter(|one| under(one)).cloned());
        true
    }
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.into() } else { format!("{path}.{key}") }
}

/// The keys that are known in a section.
fn known(bench: &Bench, tree: &Tree, path: &str) -> Option<Vec<String>> {
    if FREE.contains(&path) {
        return Some(tree.keys(path));
    }
    let unknown = tree.with(&below(path, UNKNOWN), Value::Integer(1));
    let Said::Refused(errors) = bench.check(&unknown, &[]) else {
        panic!("{}: [{path}] takes any key", bench.name);
    };
    errors.into_iter().find_map(|error| match error {
        Error::UnknownKey(unknown) if unknown.key == UNKNOWN && unknown.section == path => {
            Some(unknown.expected)
        }
        _ => None,
    })
}

enum Found {
    Section,
    Sections,
    Value(What),
}

fn what(bench: &Bench, tree: &Tree, path: &str) -> Found {
    if files::mounted(path).is_some() {
        return Found::Section;
    }
    let wrong = tree.with(path, Value::String("zz zz".into()));
    let Said::Refused(errors) = bench.check(&wrong, &[]) else { return Found::Value(What::Text) };
    let bad = errors.into_iter().find_map(|error| match error {
        Error::Value(bad) if bad.key == path => Some(bad),
        _ => None,
    });
    let Some(bad) = bad else { return Found::Value(What::Text) };
    match (bad.expected.as_str(), bad.misfit) {
        ("a section", _) => Found::Section,
        ("a list of sections", _) => Found::Sections,
        // A broken rule: the value was read as text.
        (_, Misfit::Rule(_)) => Found::Value(What::Text),
        (expected, Misfit::UnknownName(names)) if expected.starts_with("one of ") => {
            Found::Value(What::Names(names))
        }
        (expected, _) => Found::Value(What::Value(expected.into())),
    }
}
