//! The tree of a document: values that know where they were written.
//!
//! Layer: rank 7. Main types: [`Node`], a value with its [`Place`], and [`Table`], keys in the
//! order of the file. Different branches of a tree may come from different texts.

use crate::source::Place;
use crate::{distribution, quantity};
use indexmap::IndexMap;

/// A value and where it was written.
#[derive(Debug, Clone)]
pub struct Node {
    pub(crate) place: Place,
    pub(crate) content: Content,
}

/// What is written.
#[derive(Debug, Clone)]
pub enum Content {
    /// A string.
    Text(String),
    /// An integer; `None` when it has more than 127 bits.
    Integer(Option<i128>),
    /// A number with a point or an exponent, as written.
    Float(String),
    /// True or false.
    Boolean(bool),
    /// A date or a time, as written. Nothing in boardlab takes one.
    Date(String),
    /// An array.
    List(Vec<Node>),
    /// A section or an inline table.
    Table(Table),
}

/// Keys and their values, in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Table(pub(crate) IndexMap<String, Entry>);

/// A key's place and its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) key: Place,
    pub(crate) node: Node,
}

impl Node {
    /// Where the value was written: for a section, its head.
    #[must_use]
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// What is written.
    #[must_use]
    pub const fn content(&self) -> &Content {
        &self.content
    }

    /// The string, if it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The table, if it is one.
    #[must_use]
    pub const fn as_table(&self) -> Option<&Table> {
        match &self.content {
            Content::Table(table) => Some(table),
            _ => None,
        }
    }

    /// What it is, with an article: `an integer`.
    #[must_use]
    pub const fn noun(&self) -> &'static str {
        match self.content {
            Content::Text(_) => "a string",
            Content::Integer(_) => "an integer",
            Content::Float(_) => "a decimal number",
            Content::Boolean(_) => "a boolean",
            Content::Date(_) => "a date",
            Content::List(_) => "a list",
            Content::Table(_) => "a section",
        }
    }

    /// Whether this is the same value as `other`, however both are written: `1 MiB` is `1024 KiB`, with or without an
    /// origin.
    pub(crate) fn equals(&self, other: &Self) -> bool {
        match (&self.bare().content, &other.bare().content) {
            (Content::Text(one), Content::Text(other)) => {
                one == other
                    || quantity::same(one, other)
                    || quantity::equal(distribution::parse, one, other)
            }
            (Content::Integer(Some(one)), Content::Integer(Some(other))) => one == other,
            (Content::Float(one), Content::Float(other)) => one == other,
            (Content::Boolean(one), Content::Boolean(other)) => one == other,
            (Content::List(one), Content::List(other)) => {
                one.len() == other.len()
                    && one.iter().zip(other).all(|(one, other)| one.equals(other))
            }
            (Content::Table(one), Content::Table(other)) => {
                let in_other = |key: &String| other.0.get(key).map(|entry| &entry.node);
                let mut each = one.0.iter().map(|(key, entry)| (&entry.node, in_other(key)));
                one.0.len() == other.0.len()
                    && each.all(|(one, other)| other.is_some_and(|other| one.equals(other)))
            }
            _ => false,
        }
    }

    /// The value itself of a value written with its origin.
    pub(crate) fn bare(&self) -> &Self {
        let value = self.as_table().and_then(|table| table.0.get("value"));
        value.map_or(self, |entry| &entry.node)
    }

    /// The value as written, without quotes; what a parameter of the result shows.
    #[must_use]
    pub fn written(&self) -> String {
        match &self.content {
            Content::Text(text) | Content::Float(text) | Content::Date(text) => text.clone(),
            Content::Integer(_) => self.place.text().into(),
            Content::Boolean(yes) => yes.to_string(),
            Content::List(items) => {
                let items: Vec<_> = items.iter().map(Self::written).collect();
                format!("[{}]", items.join(", "))
            }
            Content::Table(table) => {
                let items = table.0.iter();
                let items: Vec<_> =
                    items.map(|(key, entry)| format!("{key} = {}", entry.node.written())).collect();
                format!("{{ {} }}", items.join(", "))
            }
        }
    }

    /// The place of the bytes `span` of a string, when it stands in the source as it is; the place
    /// of the whole string when escapes moved its bytes.
    #[must_use]
    pub fn within(&self, span: &std::ops::Range<usize>) -> Place {
        let (source, start) = (self.place.source(), self.place.span().start);
        let offset = match (self.as_text(), self.place.text()) {
            (Some(text), written) if written == text => start,
            (Some(text), written) if written.get(1..written.len().max(2) - 1) == Some(text) => {
                start + 1
            }
            _ => return self.place.clone(),
        };
        Place::new(source, offset + span.start..offset + span.end)
    }

    /// The node at the dotted `path` below this one; an entry of a list by its number.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |node, part| match &node.content {
            Content::Table(table) => table.0.get(part).map(|entry| &entry.node),
            Content::List(items) => items.get(part.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// The entry at the dotted `path` below this node.
    pub(crate) fn entry_mut(&mut self, path: &str) -> Option<&mut Entry> {
        let (first, rest) = path.split_once('.').map_or((path, None), |(a, b)| (a, Some(b)));
        let Content::Table(table) = &mut self.content else { return None };
        let entry = table.0.get_mut(first)?;
        match rest {
            Some(rest) => entry.node.entry_mut(rest),
            None => Some(entry),
        }
    }

    /// Calls `visit` with the dotted path of each value below this one that is not a section.
    pub(crate) fn each_leaf<'n>(&'n self, path: &str, visit: &mut impl FnMut(String, &'n Self)) {
        let below = |key: &str| if path.is_empty() { key.into() } else { format!("{path}.{key}") };
        match &self.content {
            Content::Table(table) if !self.is_sourced() => {
                for (key, entry) in &table.0 {
                    entry.node.each_leaf(&below(key), visit);
                }
            }
            Content::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.each_leaf(&below(&index.to_string()), visit);
                }
            }
            _ => visit(path.into(), self),
        }
    }

    /// Puts the keys of `base` that this section lacks into it, section by section, in the order of `base`.
    pub(crate) fn extend(&mut self, base: Self) {
        if self.is_sourced() || base.is_sourced() {
            return;
        }
        let (Content::Table(Table(own)), Content::Table(Table(all))) =
            (&mut self.content, base.content)
        else {
            return;
        };
        let mut rest = std::mem::take(own);
        for (key, theirs) in all {
            let entry = match rest.shift_remove(&key) {
                Some(mut ours) => {
                    ours.node.extend(theirs.node);
                    ours
                }
                None => theirs,
            };
            own.insert(key, entry);
        }
        own.extend(rest);
    }

    /// Whether this is a value with its origin: `{ value = ..., origin = ..., source = ... }`.
    ///
    /// Two of the three keys are enough, so that a forgotten or misspelled one is reported as such.
    pub(crate) fn is_sourced(&self) -> bool {
        let has = |table: &Table, key: &str| table.0.contains_key(key);
        self.as_table().is_some_and(|table| {
            let keys = ["value", "origin", "source"];
            keys.into_iter().filter(|key| has(table, key)).count() >= 2
        })
    }
}
