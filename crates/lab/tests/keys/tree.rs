//! A scenario with its parts and board in one text, in which any value can be replaced.
//!
//! A value that is replaced here stands in a file, as the others do: nothing tells the program that it was touched.

use boardlab_document::files;
use boardlab_document::source::{Kind, Source};
use boardlab_parts::catalog;
use std::sync::Arc;
use toml::Value;
use toml::map::Map;

/// The document as a tree.
#[derive(Debug, Clone)]
pub(crate) struct Tree(Value);

/// What an argument of `--set` says, as the program reads it: TOML, or else bare text.
pub(crate) fn value_of(text: &str) -> Value {
    let as_toml = format!("it = {text}").parse::<toml::Table>();
    as_toml.map_or_else(|_| Value::String(text.into()), |mut table| table.remove("it").unwrap())
}

impl Tree {
    /// The built-in scenario `name` with `set`, which may name other parts and boards.
    pub(crate) fn of(name: &str, set: &[&str]) -> Self {
        Self::of_text(catalog::find(Kind::Scenario, name, None).unwrap().text(), set)
    }

    /// The scenario that `text` is, with `set`.
    pub(crate) fn of_text(text: &str, set: &[&str]) -> Self {
        let mut tree = Self(Value::Table(text.parse().unwrap()));
        let split =
            |one: &&str| one.split_once('=').map(|(key, value)| (key.to_owned(), value_of(value)));
        let set: Vec<_> = set.iter().filter_map(split).collect();
        let (files, values): (Vec<_>, Vec<_>) =
            set.into_iter().partition(|(key, _)| files::mounted(key).is_some());
        for (key, value) in files {
            tree.put(&key, value);
        }
        for path in tree.leaves() {
            let Some(kind) = files::mounted(&path) else { continue };
            let named = tree.get(&path).and_then(Value::as_str).unwrap().to_owned();
            let file = catalog::find(kind, &named, None).unwrap();
            tree.put(&path, Value::Table(file.text().parse().unwrap()));
        }
        for (key, value) in values {
            tree.put(&key, value);
        }
        tree
    }

    /// The same with another value at `path`.
    pub(crate) fn with(&self, path: &str, value: Value) -> Self {
        let mut tree = self.clone();
        tree.put(path, value);
        tree
    }

    /// Puts `value` at the dotted `path`, with the origin and the source of the value that was there.
    fn put(&mut self, path: &str, value: Value) {
        let mut node = &mut self.0;
        for part in path.split('.') {
            node = match node {
                Value::Array(items) => &mut items[part.parse::<usize>().unwrap()],
                Value::Table(table) => {
                    table.entry(part).or_insert_with(|| Value::Table(Map::new()))
                }
                other => panic!("{path}: {other} is no section"),
            };
        }
        match node {
            Value::Table(table) if is_sourced(table) => {
                table.insert("value".into(), value);
            }
            node => *node = value,
        }
    }

    /// The value at `path`, without its origin.
    pub(crate) fn get(&self, path: &str) -> Option<&Value> {
        let node = path.split('.').try_fold(&self.0, |node, part| match node {
            Value::Table(table) => table.get(part),
            Value::Array(items) => items.get(part.parse::<usize>().ok()?),
            _ => None,
        })?;
        Some(
            node.as_table().filter(|table| is_sourced(table)).map_or(node, |table| &table["value"]),
        )
    }

    fn leaves(&self) -> Vec<String> {
        fn below(path: &str, node: &Value, all: &mut Vec<String>) {
            match node {
                Value::Table(table) if !is_sourced(table) => {
                    for (key, node) in table {
                        let path =
                            if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                        below(&path, node, all);
                    }
                }
                _ => all.push(path.into()),
            }
        }
        let mut all = Vec::new();
        below("", &self.0, &mut all);
        all
    }

    /// The keys of the section at `path`.
    pub(crate) fn keys(&self, path: &str) -> Vec<String> {
        let table = self.get(path).and_then(Value::as_table);
        table.map(|table| table.keys().cloned().collect()).unwrap_or_default()
    }

    /// The text of a file with the section at `path`.
    pub(crate) fn text_of(&self, path: &str) -> String {
        toml::to_string(self.get(path).unwrap()).unwrap()
    }

    /// The text of a scenario.
    pub(crate) fn source(&self) -> Arc<Source> {
        Source::new(Kind::Scenario, "keys.toml", toml::to_string(&self.0).unwrap())
    }
}

fn is_sourced(table: &toml::Table) -> bool {
    table.contains_key("value") && table.contains_key("origin")
}
