//! The keys that a reading asks for: what each may hold, and what it holds.
//!
//! Layer: rank 7. Main type: [`AskedKey`]. [`crate::Document::observe`] turns the record on; without it
//! a reading keeps none, because a grid reads its scenario thousands of times.

use crate::node::{Content, Node};
use boardlab_result::Origin;
use indexmap::IndexMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A key that a reading asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AskedKey {
    /// What is expected, with an article: `a duration`. Empty where the reader of the value is special to its key.
    pub expected: String,
    /// The values that have names; empty where none has.
    pub names: Vec<String>,
    /// The units, or how the value is written; may be empty.
    pub hint: String,
    /// A value as a file writes it, if the type has an example.
    pub example: Option<String>,
    /// The limits, such as `1 to 16`.
    pub limits: Vec<String>,
    /// The value where the key is omitted, if there is one.
    pub default: Option<String>,
    /// The value as written; `None` where the key is omitted.
    pub value: Option<String>,
    /// What the value rests on, if it says so.
    pub origin: Option<Origin>,
    /// The document that the origin names.
    pub source: Option<String>,
    /// The file or the option that the value stands in.
    pub file: Option<String>,
    /// When the run does not use the value, as a clause: `with places = "random"`; `None` where it does.
    pub idle: Option<String>,
    /// Whether it is a section or a list of sections, whose keys are listed by themselves.
    pub is_section: bool,
}

impl AskedKey {
    /// The key that holds `node`, as far as the tree tells.
    fn holding(node: Option<&Node>) -> Self {
        let Some(node) = node else { return Self::default() };
        let is_section = match node.content() {
            Content::Table(_) => !node.is_sourced(),
            Content::List(items) => {
                items.iter().any(|item| item.as_table().is_some() && !item.is_sourced())
            }
            _ => false,
        };
        if is_section {
            return Self { is_section, ..Self::default() };
        }
        let part = |key| node.get(key).filter(|_| node.is_sourced());
        let text = |key| part(key).and_then(Node::as_text).map(String::from);
        let origin = text("origin");
        let named = |origin: &String| Origin::NAMES.into_iter().find(|(name, _)| name == origin);
        Self {
            value: Some(part("value").unwrap_or(node).written()),
            origin: origin.as_ref().and_then(named).map(|(_, origin)| origin),
            source: text("source"),
            file: Some(node.place().source().name().into()),
            ..Self::default()
        }
    }
}

/// The record of all readings of a document, keys in the order of reading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Observer(Arc<Mutex<Record>>);

#[derive(Debug, Default)]
struct Record {
    keys: IndexMap<String, AskedKey>,
    /// The dotted paths that the run does not use, and when.
    idle: Vec<(String, String)>,
}

impl Observer {
    /// Notes that `key`, a dotted path, was asked for and holds `node`.
    pub(crate) fn note(&self, key: &str, node: Option<&Node>) {
        self.with(|record| {
            let asked = record.keys.entry(key.into()).or_default();
            let AskedKey { value, origin, source, file, is_section, .. } = AskedKey::holding(node);
            asked.is_section |= is_section;
            (asked.value, asked.origin, asked.source, asked.file) = (value, origin, source, file);
        });
    }

    /// Completes what is known about `key`.
    pub(crate) fn describe(&self, key: &str, describe: impl FnOnce(&mut AskedKey)) {
        self.with(|record| describe(record.keys.entry(key.into()).or_default()));
    }

    /// Notes that the run uses nothing at or below the dotted `path`, and `why`.
    pub(crate) fn idle(&self, path: &str, why: &str) {
        self.with(|record| record.idle.push((path.into(), why.into())));
    }

    /// The record, which begins anew; without `value`, `origin` and `source` below a key that holds a value.
    pub(crate) fn take(&self) -> IndexMap<String, AskedKey> {
        let Record { keys: mut all, idle } = self.with(std::mem::take);
        for (path, why) in idle {
            let below = format!("{path}.");
            let idle = all.iter_mut().filter(|(key, _)| **key == path || key.starts_with(&below));
            idle.for_each(|(_, asked)| asked.idle = Some(why.clone()));
        }
        let is_part = |key: &str| {
            let above = key.rsplit_once('.').and_then(|(above, _)| all.get(above));
            above.is_some_and(|above| !above.is_section)
        };
        all.iter()
            .filter(|(key, _)| !is_part(key))
            .map(|(key, asked)| (key.clone(), asked.clone()))
            .collect()
    }

    fn with<T>(&self, access: impl FnOnce(&mut Record) -> T) -> T {
        access(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
