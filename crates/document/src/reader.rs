//! Checked access to the sections of a document.
//!
//! Layer: rank 7. Main type: [`Section`], whose accessors remember which keys were asked for. Most
//! readers are written by [`section!`](crate::section!), see [`mod@crate::fields`]. By hand are those in which one key
//! decides about others:
//!
//! ```
//! use boardlab_document::{Read, Section};
//! use boardlab_sim::Bytes;
//!
//! fn buffer(section: Section<'_>) -> Read<Option<Bytes>> {
//!     let buffered = section.required::<bool>("buffered");
//!     let size = match buffered {
//!         Ok(true) => section.key("size").within(Bytes::new(2), Bytes::kib(4)).required().map(Some),
//!         _ => Ok(None),
//!     };
//!     section.finish()?;
//!     buffered.and(size)
//! }
//! ```
//!
//! Ask for every key first, then call [`Section::finish`], which reports the keys that nobody asked
//! for, and only then use `?`: so one run shows all the errors of a section. A missing key is
//! reported by `finish` too, unless an unknown key looks like it: one slip, one message.

use super::key::{Key, SourcedValue, Wants, first_of, with_source};
use super::node::{Content, Node, Table};
use super::problems::{AlreadyReported, Problems, Read};
use super::value::{PlacedMisfit, Value};
use crate::Named;
use crate::asked::{AskedKey, Observer};
use crate::error::{BadValue, Error, MissingKey, UnknownKey};
use crate::misfit::Misfit;
use crate::nearest::nearest;
use crate::source::{GRID, Kind, Place, SET};
use boardlab_result::Parameter;
use boardlab_sim::OwnPolicy;
use indexmap::{IndexMap, IndexSet};
use std::cell::{Cell, RefCell};
use std::path::Path;

/// What one reading gathers.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) root: &'a Node,
    pub(crate) named: &'a IndexMap<String, Named>,
    pub(crate) own: &'a IndexMap<String, OwnPolicy>,
    pub(crate) swept: bool,
    pub(crate) observer: Option<&'a Observer>,
    pub(crate) problems: Problems,
    /// Values of `--set` and `--grid` without use at this point of a grid.
    pub(crate) idle: RefCell<Vec<BadValue>>,
    pub(crate) parameters: RefCell<IndexMap<String, Parameter>>,
}

/// One section of a document: a handle, to be passed by value.
#[derive(Debug, Clone, Copy)]
pub struct Section<'a>(&'a State<'a>);

/// A section and what has been asked of it.
#[derive(Debug)]
pub(super) struct State<'a> {
    node: &'a Node,
    table: &'a Table,
    /// Dotted path; empty at the top.
    path: String,
    context: &'a Context<'a>,
    asked: RefCell<IndexSet<String>>,
    missing: RefCell<Vec<MissingKey>>,
    finished: Cell<bool>,
}

impl<'a> State<'a> {
    /// The state of the section that `node` is, if it is one.
    pub(super) fn new(node: &'a Node, path: String, context: &'a Context<'a>) -> Option<Self> {
        Some(Self {
            node,
            table: node.as_table()?,
            path,
            context,
            asked: RefCell::default(),
            missing: RefCell::default(),
            finished: Cell::new(false),
        })
    }

    pub(super) const fn section(&self) -> Section<'_> {
        Section(self)
    }

    fn leave_rest(&self) {
        for lack in self.missing.take() {
            self.context.problems.report(Error::MissingKey(Box::new(lack)));
        }
        self.finished.set(true);
    }
}

impl<'a> Section<'a> {
    /// Dotted path of the section; empty at the top.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Where the section was written; its source is the file it stands in.
    #[must_use]
    pub const fn place(&self) -> &Place {
        self.0.node.place()
    }

    /// Whether `key` is there. Asking makes it a known key.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.node_of(key).is_some()
    }

    /// The caller's own policy for `key`, whose value is [`OWN`](crate::OWN); nothing where it has another value.
    ///
    /// # Errors
    /// [`AlreadyReported`] when the caller gives none.
    pub fn own_policy(&self, key: &str) -> Read<Option<OwnPolicy>> {
        let node = self.node_of(key).map(Node::bare);
        if node.and_then(Node::as_text) != Some(crate::OWN) {
            return Ok(None);
        }
        let path = self.below(key);
        self.0.context.own.get(&path).cloned().map(Some).ok_or_else(|| {
            let help =
                format!("boardlab.run(..., policies={{\"{path}\": function}}) in Python gives one");
            self.refuse(
                key,
                "stands for a policy of the caller, who gives none",
                "another value",
                &help,
            )
        })
    }

    /// Refuses a file of another kind, which has none of `keys`, as a whole: the file `describes
    /// no` such thing. One error says it better than thirty.
    ///
    /// # Errors
    /// [`AlreadyReported`] when all of them lack.
    pub fn needs(&self, keys: &[&str], problem: &str, expected: &str, help: &str) -> Read<()> {
        if keys.iter().any(|key| self.has(key)) {
            return Ok(());
        }
        self.leave_rest();
        Err(match self.named_built_in(self.0.node) {
            Some(named) => {
                self.report_named(named, Misfit::Rule(problem.into()), expected.into(), help.into())
            }
            None => self.refuse("title", problem, expected, help),
        })
    }

    /// All keys of the section, for sections whose keys are names of things.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.0.table.0.keys().map(String::as_str)
    }

    /// The value of `key`, to be limited and read.
    pub fn key<'s, T>(&'s self, name: &'s str) -> Key<'s, 'a, T> {
        Key::new(self, name)
    }

    /// The value of `key`, which must be there.
    pub fn required<T: Value>(&self, key: &str) -> Read<T> {
        self.key(key).required()
    }

    /// The value of `key`, if it is there.
    pub fn optional<T: Value>(&self, key: &str) -> Read<Option<T>> {
        self.key(key).optional()
    }

    /// The value of `key` with what it rests on.
    pub fn sourced<T: Value>(&self, key: &str) -> Read<SourcedValue<T>> {
        self.key(key).sourced()
    }

    /// The one of `names` that `key` holds, which must be there.
    pub fn one_of<T: Clone>(&self, key: &str, names: &[(&str, T)]) -> Read<T> {
        let expected = || format!("one of {}", listed(names));
        let example = || format!("\"{}\"", names.first().map_or("", |(name, _)| name));
        match self.optional_one_of(key, names)? {
            Some(value) => Ok(value),
            None => Err(self.lacks(key, expected(), &example(), false)),
        }
    }

    /// The one of `names` that `key` holds, if it is there.
    pub fn optional_one_of<T: Clone>(&self, key: &str, names: &[(&str, T)]) -> Read<Option<T>> {
        let node = self.node_of(key);
        self.describe(key, |asked| {
            asked.expected = format!("one of {}", listed(names));
            asked.names = names.iter().map(|(name, _)| String::from(*name)).collect();
        });
        let Some(node) = node else { return Ok(None) };
        let inner = node.bare();
        let found = match inner.content() {
            // With or without origin; the value itself is looked up below.
            Content::Text(_) => self.sourced_at::<String>(node, key, Wants::Value, &[])?.value,
            _ => inner.written(),
        };
        if let Some((_, value)) = names.iter().find(|(known, _)| *known == found) {
            return Ok(Some(value.clone()));
        }
        let expected = format!("one of {}", listed(names));
        let names: Vec<_> = names.iter().map(|(name, _)| String::from(*name)).collect();
        if let Some(named) = self.named_built_in(inner).filter(|_| key == "kind") {
            let help = format!(
                "use one of {}; boardlab list parts {} describes them",
                (named.of_kinds)(&names).join(", "),
                names.join(" ")
            );
            let due = format!("a part of kind {}", names.join(" or "));
            return Err(self.report_named(named, Misfit::OtherKind(found), due, help));
        }
        let misplaced = PlacedMisfit::new(inner, Misfit::UnknownName(names));
        Err(self.report_value(key, misplaced, expected, String::new()))
    }

    /// Reads the section called `key`, which must be there.
    pub fn section<T>(&self, key: &str, read: impl FnOnce(Section<'_>) -> Read<T>) -> Read<T> {
        match self.optional_section(key, read)? {
            Some(value) => Ok(value),
            None => Err(self.lacks_section(key, "a section", "[", "]")),
        }
    }

    /// Reads the section called `key`, if it is there.
    pub fn optional_section<T>(
        &self,
        key: &str,
        read: impl FnOnce(Section<'_>) -> Read<T>,
    ) -> Read<Option<T>> {
        let node = self.node_of(key);
        self.describe(key, |asked| asked.is_section = true);
        let Some(node) = node else { return Ok(None) };
        match State::new(node, self.below(key), self.0.context) {
            Some(state) => read(state.section()).map(Some),
            None => Err(self.not_a_section(key, node, "a section")),
        }
    }

    /// Reads each section of the list `[[key]]`, of which there must be one at least.
    pub fn sections<T>(
        &self,
        key: &str,
        mut read: impl FnMut(Section<'_>) -> Read<T>,
    ) -> Read<Vec<T>> {
        let node = self.node_of(key);
        self.describe(key, |asked| asked.is_section = true);
        let items = match node {
            None => &[][..],
            Some(Node { content: Content::List(items), .. }) => items,
            Some(node) => return Err(self.not_a_section(key, node, "a list of sections")),
        };
        if items.is_empty() {
            return Err(self.lacks_section(key, "a list of sections", "[[", "]]"));
        }
        // Every entry is read before the first error counts, so that all errors are shown.
        let each = items.iter().enumerate().map(|(index, item)| {
            let path = format!("{}.{index}", self.below(key));
            match State::new(item, path, self.0.context) {
                Some(state) => read(state.section()),
                None => Err(self.not_a_section(&format!("{key}.{index}"), item, "a section")),
            }
        });
        each.collect::<Vec<_>>().into_iter().collect()
    }

    /// Puts a broken rule about the value of `key` on record: `problem` is a clause that follows
    /// the value (`is not a multiple of the buffer`), `expected` what is due.
    #[must_use]
    pub fn refuse(&self, key: &str, problem: &str, expected: &str, help: &str) -> AlreadyReported {
        let node = self.node_of(key).map_or(self.0.node, Node::bare);
        let found = if node.as_table().is_some() { String::new() } else { node.written() };
        let misfit = Misfit::Rule(problem.into());
        let misplaced = PlacedMisfit { place: node.place().clone(), found, misfit };
        self.report_value(key, misplaced, expected.into(), help.into())
    }

    /// Refuses each value at or below the dotted `path` that `--set` gave, because this run does not use it. `why` is a
    /// clause that follows (`with places = "random"`), `help` says what to do. What stands in a file may wait for its
    /// use there. At a point of a grid the value is only noted: another point may use it ([`super::Document`] keeps it).
    ///
    /// # Errors
    /// [`AlreadyReported`] when there is such a value.
    pub fn idle(&self, path: &str, why: &str, help: &str) -> Read<()> {
        if let Some(observer) = self.0.context.observer {
            observer.idle(&self.below(path), why);
        }
        let Some(node) = self.0.node.get(path) else { return Ok(()) };
        let mut result = Ok(());
        node.each_leaf(path, &mut |path, leaf| {
            let source = leaf.place.source();
            if ![SET, GRID].into_iter().any(|option| source.is_argument_of(option)) {
                return;
            }
            let misplaced = PlacedMisfit::new(leaf, Misfit::Idle(why.into()));
            let expected = "a key that this run uses".into();
            let bad = self.bad_value(&path, misplaced, expected, help.into());
            if self.0.context.swept {
                self.0.context.idle.borrow_mut().push(bad);
            } else {
                result = Err(self.0.context.problems.report(Error::Value(Box::new(bad))));
            }
        });
        result
    }

    /// [`Section::idle`] for each of `paths`, all of which are reported.
    ///
    /// # Errors
    /// [`AlreadyReported`] when there is such a value.
    pub fn idle_each<P: AsRef<str>>(
        &self,
        paths: impl IntoIterator<Item = P>,
        why: &str,
        help: &str,
    ) -> Read<()> {
        let each = paths.into_iter().map(|path| self.idle(path.as_ref(), why, help));
        each.fold(Ok(()), Read::and)
    }

    /// Ends the reading of the section: reports missing keys, and keys that nobody asked for.
    ///
    /// # Errors
    /// [`AlreadyReported`] when this section has either.
    pub fn finish(&self) -> Read<()> {
        self.0.finished.set(true);
        let asked = self.0.asked.borrow();
        let mut missing = self.0.missing.take();
        let mut result = Ok(());
        let unknown = self.0.table.0.iter().filter(|(key, _)| !asked.contains(*key));
        for (key, entry) in unknown {
            let expected: Vec<_> = asked.iter().cloned().collect();
            let near = nearest(key, expected.iter().map(String::as_str)).map(String::from);
            missing.retain(|lack| Some(&lack.key) != near.as_ref());
            let near = near.or_else(|| self.nearest_path(key));
            let unknown = UnknownKey {
                place: entry.key.clone(),
                key: key.clone(),
                section: self.0.path.clone(),
                expected,
                nearest: near,
            };
            let error = Error::UnknownKey(Box::new(unknown));
            result = Err(self.0.context.problems.report(error));
        }
        for lack in missing {
            result = Err(self.0.context.problems.report(Error::MissingKey(Box::new(lack))));
        }
        result
    }

    /// Ends the reading of the section without a look at the other keys, which are read elsewhere.
    pub fn leave_rest(&self) {
        self.0.leave_rest();
    }

    pub(super) const fn context(&self) -> &'a Context<'a> {
        self.0.context
    }

    pub(super) fn below(&self, key: &str) -> String {
        if self.0.path.is_empty() { key.into() } else { format!("{}.{key}", self.0.path) }
    }

    /// The folder from which a path in the value of `key` counts: that of the file which has the value, or `None` for the
    /// current one, as where `--set` gives it.
    #[must_use]
    pub fn folder_of(&self, key: &str) -> Option<&'a Path> {
        self.node_of(key)?.bare().place().source().folder()
    }

    /// The name or the path of the file that stands in place of `key`; `None` where its section is written in place.
    #[must_use]
    pub fn file_of(&self, key: &str) -> Option<&'a str> {
        self.0.context.named.get(&self.below(key))?.name.bare().as_text()
    }

    pub(super) fn node_of(&self, key: &str) -> Option<&'a Node> {
        self.0.asked.borrow_mut().insert(key.into());
        let node = self.0.table.0.get(key).map(|entry| &entry.node);
        if let Some(observer) = self.0.context.observer {
            observer.note(&self.below(key), node);
        }
        node
    }

    /// Completes the record of `key`, if there is one.
    pub(super) fn describe(&self, key: &str, describe: impl FnOnce(&mut AskedKey)) {
        if let Some(observer) = self.0.context.observer {
            observer.describe(&self.below(key), describe);
        }
    }

    pub(super) fn lacks(
        &self,
        key: &str,
        expected: String,
        example: &str,
        is_number: bool,
    ) -> AlreadyReported {
        let source = self.0.node.place.source();
        let strict = source.kind().is_some_and(Kind::needs_sources);
        let example = if source.is_built_in() || source.is_argument() {
            format!("--set {}={}", self.below(key), first_of(example))
        } else if strict && is_number {
            format!("{key} = {}", with_source(example))
        } else {
            format!("{key} = {example}")
        };
        self.lacks_like(key, expected, example)
    }

    fn lacks_section(&self, key: &str, expected: &str, open: &str, close: &str) -> AlreadyReported {
        let path = self.below(key);
        let example = match is_mount(&path) {
            true => format!("{path} = \"NAME\""),
            false => format!("{open}{path}{close}"),
        };
        self.lacks_like(key, expected.into(), example)
    }

    fn lacks_like(&self, key: &str, expected: String, example: String) -> AlreadyReported {
        let lack = MissingKey {
            place: self.0.node.place.clone(),
            key: key.into(),
            section: self.0.path.clone(),
            expected,
            example,
        };
        self.0.missing.borrow_mut().push(lack);
        AlreadyReported::later()
    }

    fn not_a_section(&self, key: &str, node: &Node, expected: &str) -> AlreadyReported {
        let (path, misplaced) = (self.below(key), PlacedMisfit::of_type(node));
        let help = match is_mount(&path) {
            true => format!("name a file: {path} = \"NAME\"; see boardlab list"),
            false if node.place().source().is_argument() => format!(
                "set a key of it, --set {path}.KEY=VALUE; boardlab list keys SCENARIO shows them"
            ),
            false => {
                format!("a section begins with [{path}], each section of a list with [[{path}]]")
            }
        };
        self.report_value(key, misplaced, expected.into(), help)
    }

    pub(super) fn report_value(
        &self,
        key: &str,
        misplaced: PlacedMisfit,
        expected: String,
        help: String,
    ) -> AlreadyReported {
        let bad = self.bad_value(key, misplaced, expected, help);
        self.0.context.problems.report(Error::Value(Box::new(bad)))
    }

    /// The name of the built-in file that this section is and `node` stands in, as the user gave it.
    fn named_built_in(&self, node: &Node) -> Option<&'a Named> {
        let named = self.0.context.named.get(self.path());
        named.filter(|_| node.place().source().is_built_in())
    }

    /// Refuses a built-in file as a whole, at the place that names it.
    fn report_named(
        &self,
        named: &Named,
        misfit: Misfit,
        expected: String,
        help: String,
    ) -> AlreadyReported {
        let PlacedMisfit { mut place, found, misfit } = PlacedMisfit::new(&named.name, misfit);
        // A name in a built-in scenario is wrong because of another one, which the user gave.
        if place.source().is_built_in() {
            let others = self.0.context.named.values().map(|other| other.name.place());
            let given = others.into_iter().find(|other| other.source().is_argument());
            place = given.unwrap_or(&place).clone();
        }
        let bad = BadValue { place, key: self.path().into(), found, misfit, expected, help };
        self.0.context.problems.report(Error::Value(Box::new(bad)))
    }

    fn bad_value(
        &self,
        key: &str,
        PlacedMisfit { place, found, misfit }: PlacedMisfit,
        expected: String,
        help: String,
    ) -> BadValue {
        BadValue { place, key: self.below(key), found, misfit, expected, help }
    }

    /// For an unknown key from a `--set`: the whole path of the value that was probably meant.
    fn nearest_path(&self, key: &str) -> Option<String> {
        let mut node = &self.0.table.0.get(key)?.node;
        let mut given = self.below(key);
        while node.place.source().is_argument()
            && let Some((key, entry)) = node.as_table().and_then(|table| table.0.first())
        {
            given = format!("{given}.{key}");
            node = &entry.node;
        }
        if !node.place.source().is_argument() {
            return None;
        }
        let mut known = Vec::new();
        self.0.context.root.each_leaf("", &mut |path, leaf| {
            if !leaf.place.source().is_argument() {
                known.push(path);
            }
        });
        let last = given.rsplit('.').next().unwrap_or(&given);
        let ends = |path: &&String, end: &str| {
            path.strip_suffix(end).is_some_and(|before| before.ends_with('.'))
        };
        let found = known.iter().find(|path| ends(path, &given));
        let found = found.or_else(|| known.iter().find(|path| ends(path, last)));
        found
            .cloned()
            .or_else(|| nearest(&given, known.iter().map(String::as_str)).map(String::from))
    }
}

impl Drop for State<'_> {
    /// A reader that gave up early has not asked for all keys: what it missed is still reported,
    /// what it did not ask for is not.
    fn drop(&mut self) {
        let finished = self.finished.get();
        self.leave_rest();
        debug_assert!(
            finished || std::thread::panicking() || !self.context.problems.is_empty(),
            "`{}` was read without Section::finish, so its unknown keys would pass",
            self.path
        );
    }
}

/// Whether `path` is a section that stands in a file of its own.
fn is_mount(path: &str) -> bool {
    crate::files::mounted(path).is_some()
}

fn listed<T>(names: &[(&str, T)]) -> String {
    names.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}
