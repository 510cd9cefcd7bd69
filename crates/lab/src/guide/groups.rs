//! The keys of all built-in scenarios, those that say the same taken together.
//!
//! Layer: rank 11, inside `guide`. Main types: [`Keys`] and [`Group`].

use super::keys::{self, ScenarioKey};
use super::pages::{self, plain, quoted};
use super::topics::Topic;
use crate::registry;
use boardlab_document::{files, quantity};
use boardlab_experiment::Failure;
use boardlab_parts::catalog;
use boardlab_result::{Cell, Row, Table};
use indexmap::{IndexMap, IndexSet};

/// The example of a text, which is no value.
const TEXT: &str = "...";

/// A key, and the built-in scenarios that have it.
#[derive(Debug, Clone)]
struct Used {
    key: ScenarioKey,
    scenarios: Vec<&'static str>,
}

/// The keys of all built-in scenarios; a key that means two things is there twice.
#[derive(Debug)]
pub(super) struct Keys(Vec<Used>);

impl Keys {
    /// Reads all built-in scenarios.
    ///
    /// # Errors
    /// One of them is broken.
    pub(super) fn read() -> Result<Self, Failure> {
        let mut all: IndexMap<_, Used> = IndexMap::new();
        for scenario in registry::scenarios() {
            for key in keys::of(&mut keys::open::<&str>(scenario, &[])?)? {
                let id = (key.key.clone(), key.meaning.clone());
                let used = all.entry(id).or_insert_with(|| Used { key, scenarios: Vec::new() });
                used.scenarios.push(scenario);
            }
        }
        Ok(Self(all.into_values().collect()))
    }

    /// The names of the keys, whole and by their last part, and those of values.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .flat_map(|Used { key, .. }| [&key.key, last(&key.key)].into_iter().chain(values(key)))
    }

    /// The keys called `word`; if there are none, those that end in it.
    pub(super) fn called(&self, word: &str) -> Vec<Group> {
        let whole = self.grouped(|key| key.key == word);
        if !whole.is_empty() {
            return whole;
        }
        let end = format!(".{word}");
        self.grouped(|key| key.key.ends_with(&end))
    }

    /// The keys that may hold the value called `word`.
    pub(super) fn holding(&self, word: &str) -> Vec<Group> {
        self.grouped(|key| values(key).any(|value| value == word))
    }

    /// The keys whose meaning names `word`, such as an entry of a list.
    pub(super) fn naming(&self, word: &str) -> Vec<Group> {
        self.grouped(|key| quoted(&key.meaning).any(|name| name == word))
    }

    fn grouped(&self, is_meant: impl Fn(&ScenarioKey) -> bool) -> Vec<Group> {
        let mut groups: IndexMap<_, Vec<Used>> = IndexMap::new();
        for used in self.0.iter().filter(|used| is_meant(&used.key)) {
            let ScenarioKey { key, meaning, .. } = &used.key;
            let id = (last(key), used.key.holds(), meaning);
            groups.entry(id).or_default().push(used.clone());
        }
        groups.into_values().map(Group).collect()
    }
}

/// Keys of one name that may hold and mean the same; at least one.
#[derive(Debug)]
pub(super) struct Group(Vec<Used>);

impl Group {
    fn first(&self) -> &Used {
        &self.0[0]
    }

    fn names(&self) -> String {
        self.0.iter().map(|used| used.key.key.as_str()).collect::<Vec<_>>().join(", ")
    }

    /// What `say` says of the keys, once if it says the same of all.
    fn each(&self, say: impl Fn(&Used) -> String) -> String {
        let said: Vec<_> = self.0.iter().map(|used| (&used.key.key, say(used))).collect();
        if said.iter().all(|(_, one)| *one == said[0].1) {
            return said[0].1.clone();
        }
        let each = said.iter().filter(|(_, one)| !one.is_empty());
        each.map(|(key, one)| format!("{key}: {one}")).collect::<Vec<_>>().join("; ")
    }

    fn scenarios(&self) -> String {
        let all: IndexSet<_> = self.0.iter().flat_map(|used| &used.scenarios).copied().collect();
        all.into_iter().collect::<Vec<_>>().join(", ")
    }

    /// All about the keys.
    pub(super) fn in_full(&self) -> Topic {
        let ScenarioKey { asked, meaning, .. } = &self.first().key;
        let said = vec![
            ("meaning", meaning.clone()),
            ("holds", self.first().key.holds()),
            ("written", asked.hint.clone()),
            ("default", self.each(|used| used.key.asked.default.clone().unwrap_or_default())),
            ("value", self.each(Used::value)),
            ("origin", self.each(Used::origin)),
            ("scenarios", self.scenarios()),
            ("example", self.example(&self.first().samples())),
        ];
        Topic { kind: "key", title: self.names(), said }
    }

    /// All about `value`, which the keys may hold.
    pub(super) fn value_in_full(&self, value: &str) -> Topic {
        let said = vec![
            ("meaning", self.meaning_of(value)),
            ("scenarios", self.scenarios()),
            ("example", self.example(&[value.into()])),
        ];
        Topic { kind: "value", title: format!("{value} in {}", self.names()), said }
    }

    /// What `value` means in these keys: by the page that describes it, else as the key says.
    fn meaning_of(&self, value: &str) -> String {
        let is_wait = self.first().key.key.ends_with(".wait");
        let policies = pages::NOR.entries().into_iter().filter(|entry| {
            is_wait && entry.heading == "Wait policies" && quoted(&entry.cells[0]).eq([value])
        });
        let policy = policies.map(|entry| plain(&entry.cells[1])).next();
        policy.unwrap_or_else(|| self.first().key.meaning.clone())
    }

    /// A command that sets one of the keys to one of `values`: the first that a scenario takes in place of its own; the
    /// one that lists the keys if none does.
    fn example(&self, values: &[String]) -> String {
        let each = self.0.iter().flat_map(|used| used.scenarios.iter().map(|one| (&used.key, one)));
        let mut tried = each.flat_map(|(key, scenario)| {
            values.iter().map(move |value| (*scenario, &key.key, value.as_str()))
        });
        let taken = tried
            .find(|(scenario, key, value)| registry::alters(scenario, &format!("{key}={value}")));
        match taken {
            Some((scenario, key, value)) => {
                registry::command(scenario, &format!("{key}={}", for_shell(value)))
            }
            None => format!("boardlab list keys {}", self.first().scenarios[0]),
        }
    }

    /// The keys that end in `word`, a group in a row.
    pub(super) fn list(groups: &[Self], word: &str) -> Table {
        Table::new("keys", format!("Keys that end in `{word}`"))
            .of(rows(groups))
            .column("also", "also in", |group| Cell::text(group.others()))
            .column("scenarios", "scenarios", |group| Cell::text(group.scenarios()))
            .column("holds", "may hold", |group| Cell::text(group.first().key.holds()))
            .column("meaning", "meaning", |group| Cell::text(group.first().key.meaning.clone()))
            .table()
    }

    /// The keys that may hold `value`, a group in a row.
    pub(super) fn list_of_value(groups: &[Self], value: &str) -> Table {
        Table::new("values", format!("Keys that may hold `{value}`"))
            .of(rows(groups))
            .column("also", "also in", |group| Cell::text(group.others()))
            .column("scenarios", "scenarios", |group| Cell::text(group.scenarios()))
            .column("meaning", "meaning", |group| Cell::text(group.meaning_of(value)))
            .table()
    }

    /// The sections in which the other keys stand, without what they share with the first one.
    fn others(&self) -> String {
        let first = &self.first().key.key;
        let section = |used: &Used| {
            let key = &used.key.key;
            let shared = key.match_indices('.').find(|(dot, _)| first.ends_with(&key[*dot..]));
            shared.map_or_else(|| key.clone(), |(dot, _)| key[..dot].into())
        };
        self.0[1..].iter().map(section).collect::<Vec<_>>().join(", ")
    }
}

/// The last part of the name of a key.
fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or_default()
}

/// The values of `key` that have names, but `true` and `false`; of a list, the entries that it holds.
fn values(key: &ScenarioKey) -> impl Iterator<Item = &str> {
    let entries =
        key.asked.value.as_ref().and_then(|value| value.strip_prefix('[')?.strip_suffix(']'));
    let entries = entries.into_iter().flat_map(|entries| entries.split(", "));
    let named = entries.filter(|entry| entry.starts_with(|c: char| c.is_ascii_lowercase()));
    let names = key.asked.names.iter().map(String::as_str);
    names.filter(|name| !["true", "false"].contains(name)).chain(named)
}

/// A row for each of `groups`.
fn rows(groups: &[Group]) -> Vec<(Row, &Group)> {
    groups.iter().map(|group| (Row::new(group.first().key.key.clone(), ""), group)).collect()
}

impl Used {
    /// The value, and in which scenario if there are several.
    fn value(&self) -> String {
        match self.scenarios.as_slice() {
            [first, _, ..] => format!("{} in {first}", self.key.shown_value()),
            _ => self.key.shown_value(),
        }
    }

    fn origin(&self) -> String {
        match &self.key.asked.source {
            Some(source) => format!("{}: {source}", self.key.origin()),
            None => self.key.origin(),
        }
    }

    /// Other values than the one that the key holds, to try: those that have names, twice and half of a number, an example
    /// and the limits.
    fn samples(&self) -> Vec<String> {
        let asked = &self.key.asked;
        let value = asked.value.as_ref().or(asked.default.as_ref());
        let number = value.and_then(|value| value.parse::<u64>().ok());
        let numbers = number.into_iter().flat_map(|number| [number.saturating_mul(2), number / 2]);
        let example = asked.example.as_ref().map(|example| example.trim_matches('"').into());
        let limits = asked.limits.iter().filter_map(|limit| limit.split_once(" to "));
        let limits = limits.flat_map(|(low, high)| [low.into(), high.into()]);
        let files = files::mounted(&self.key.key).map_or(&[][..], catalog::all);
        let names = files.iter().map(|file| file.name.into()).chain(asked.names.iter().cloned());
        let all =
            names.chain(numbers.map(|number| number.to_string())).chain(example).chain(limits);
        let is_other = |sample: &String| {
            let as_held = |value: &String| value == sample || quantity::same(value, sample);
            sample != TEXT && !value.is_some_and(as_held)
        };
        all.filter(is_other).collect()
    }
}

/// `value` as a shell takes it in one word.
fn for_shell(value: &str) -> String {
    match value.contains(|c: char| !c.is_alphanumeric() && !"-._%".contains(c)) {
        true => format!("\"{value}\""),
        false => value.into(),
    }
}
