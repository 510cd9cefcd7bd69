//! `--set KEY.PATH=VALUE`: values given on the command line in place of those in the files.
//!
//! Layer: rank 7. Main type: [`Override`]. An override only puts its value into the tree, with its
//! own text as the place; whether key and value make sense is for the reader to say, which knows
//! the optional keys too. Sections that lack on the way are made. A value that was written with
//! origin and source is replaced as a whole: what the user sets is assumed.

use super::node::{Content, Entry, Node, Table};
use super::parse;
use super::renamed::{self, RenamedKey};
use crate::error::{At, Error, Message, Other, TEXT_SHOWN};
use crate::source::{GRID, Place, SET, Source};
use boardlab_result::foreign::shown_at_most as shown;
use std::ops::Range;
use std::sync::Arc;

/// Parts that a key may have: more than any document, and few enough for recursion.
const DEEPEST: usize = 16;

/// One parsed `--set`.
#[derive(Debug, Clone)]
pub struct Override {
    parts: Vec<Part>,
    node: Node,
    renamed: Vec<RenamedKey>,
}

/// One part of the dotted key.
#[derive(Debug, Clone)]
struct Part {
    name: String,
    place: Place,
}

impl Override {
    /// Reads the argument of a `--set`.
    ///
    /// The value is TOML if it reads as such (a string in quotes, a number, `true`, a list, an
    /// inline table), else bare text.
    ///
    /// # Errors
    /// [`Error::Other`] when there is no `=` or the key is not dotted names.
    pub fn parse(argument: &str) -> Result<Self, Error> {
        Self::of(&Source::argument(SET, argument), None)
    }

    /// Reads the key before the first `=` of `source`, and the value at the bytes `value`, or
    /// after the `=`.
    pub fn of(source: &Arc<Source>, value: Option<Range<usize>>) -> Result<Self, Error> {
        let argument = source.text();
        let Some(equals) = argument.find('=') else {
            let title = format!("`{}` has no `=`", shown(argument, TEXT_SHOWN));
            let place = Place::new(source, 0..argument.len());
            return Err(refused(place, title, "expected KEY=VALUE"));
        };
        let (mut parts, mut renamed) = (Vec::<Part>::new(), Vec::new());
        let mut start = 0;
        for piece in argument[..equals].split('.') {
            let name = piece.trim();
            let from = start + (piece.len() - piece.trim_start().len());
            let place = from..from + name.len();
            if name.is_empty() {
                let place = Place::new(source, start..start + 1);
                return Err(refused(place, "a part of the key is empty", "expected a name"));
            }
            let (place, section) = (Place::new(source, place), last_two(&parts).1);
            if parts.len() == DEEPEST {
                let title = format!("the key has more than {DEEPEST} parts");
                return Err(refused(place, title, "expected the path of a value"));
            }
            let new = renamed::renamed(section, name, &place);
            let name = new.as_ref().map_or(name, |renamed| renamed.new).into();
            renamed.extend(new);
            parts.push(Part { name, place });
            start += piece.len() + 1;
        }
        let value = value.unwrap_or(equals + 1..argument.len());
        let (mut node, (section, key)) = (parse::argument(source, value), last_two(&parts));
        renamed::update(&mut node, key, &mut renamed);
        renamed.extend(renamed::update_value(&mut node, section, key));
        Ok(Self { parts, node, renamed })
    }

    /// The dotted key.
    #[must_use]
    pub fn path(&self) -> String {
        let names: Vec<_> = self.parts.iter().map(|part| part.name.as_str()).collect();
        names.join(".")
    }

    /// The value.
    #[must_use]
    pub const fn node(&self) -> &Node {
        &self.node
    }

    /// The old names in it.
    #[must_use]
    pub fn renamed(&self) -> &[RenamedKey] {
        &self.renamed
    }

    /// Puts the value into the tree below `root`. Returns whether another one or none stood there.
    pub(crate) fn apply(&self, root: &mut Node) -> Result<bool, Error> {
        let mut node = root;
        let mut path = String::new();
        for (index, part) in self.parts.iter().enumerate() {
            let last = index + 1 == self.parts.len();
            if last && part.name == "value" && node.is_sourced() {
                break;
            }
            if !path.is_empty() {
                path.push('.');
            }
            node = self.step(node, part, &path)?;
            path.push_str(&part.name);
        }
        let changes = !node.equals(&self.node);
        *node = self.node.clone();
        Ok(changes)
    }

    /// The node called `part` below `node`, made if it lacks.
    fn step<'n>(&self, node: &'n mut Node, part: &Part, path: &str) -> Result<&'n mut Node, Error> {
        let parent = || shown(path.trim_end_matches('.'), TEXT_SHOWN * 2);
        let found = node.noun();
        match &mut node.content {
            Content::Table(table) => {
                let made = || Entry {
                    key: part.place.clone(),
                    node: Node {
                        place: self.whole_key(),
                        content: Content::Table(Table::default()),
                    },
                };
                Ok(&mut table.0.entry(part.name.clone()).or_insert_with(made).node)
            }
            Content::List(items) => {
                let length = items.len();
                let index = part.name.parse::<usize>().ok();
                index.and_then(|index| items.get_mut(index)).ok_or_else(|| {
                    let found = shown(part.place.text(), TEXT_SHOWN);
                    let expected = match length {
                        0 => "expected no number: the list is empty".into(),
                        1 => "expected 0, the only entry".into(),
                        _ => format!("expected a number from 0 to {}", length - 1),
                    };
                    let title = format!("`{}` has no entry `{found}`", parent());
                    refused(part.place.clone(), title, expected)
                })
            }
            _ => {
                let title = format!("`{}` is {found} and has no keys", parent());
                Err(refused(part.place.clone(), title, "expected a section above this"))
            }
        }
    }

    fn whole_key(&self) -> Place {
        let span = |part: &Part| part.place.span().clone();
        let first = self.parts.first().map_or(0..0, span);
        let last = self.parts.last().map_or(0..0, span);
        Place::new(self.source(), first.start..last.end)
    }

    fn source(&self) -> &Arc<Source> {
        self.node.place.source()
    }
}

/// An argument that cannot be applied.
fn refused(place: Place, title: impl Into<String>, label: impl Into<String>) -> Error {
    let help = match place.source().name() {
        GRID => "write --grid SECTION.KEY=VALUE,VALUE, as in --grid workload.bytes=1MiB,2MiB",
        _ => "write --set SECTION.KEY=VALUE, as in --set workload.bytes=1MiB",
    };
    let message = Message { title: title.into(), label: label.into(), help: help.into() };
    Other { at: At::Place(place), message }.into()
}

/// The names of the last two of `parts`, empty where there is none.
fn last_two(parts: &[Part]) -> (&str, &str) {
    let name = |from_end: usize| {
        let part = parts.len().checked_sub(from_end).map(|index| &parts[index]);
        part.map_or("", |part| part.name.as_str())
    };
    (name(2), name(1))
}
