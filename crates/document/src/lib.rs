//! The files that a user writes: TOML texts as trees that know where each value was written, and checked access.
//!
//! Layer: rank 7. In reading order:
//!
//! - [`source`]: [`source::Source`], a text with its name, and [`source::Place`], a stretch of it.
//! - [`error`] and [`misfit`]: what can be wrong with a file, drawn with line and caret;
//!   [`nearest`]: the name that was probably meant.
//! - [`quantity`]: `256 us`, `128 KiB`, `4 MiB / 11 ms`, exactly;
//!   [`distribution`]: `triangular(170 us, 203 us, 224 us)` as a quantile table.
//! - [`node`]: the tree; `parse`: from text to tree; [`files`]: the keys that name other files;
//!   [`overrides`]: `--set`; `renamed`: old names of keys.
//! - [`asked`]: which keys a reading asks for, for lists of keys; [`value`]: what one value can be; [`problems`]: errors are gathered; [`reader`]: checked access
//!   to sections; [`key`]: one value with limits and provenance; [`mod@fields`]: sections as structs, the way to
//!   write one; [`limits`]: times below what any device has.
//! - [`lock`]: who may write a file, and who does.
//!
//! Main items: [`Document`], [`Section`] and the macro [`section!`](crate::section!).
//!
//! A scenario is read like this; every error names file, line, column, what is due and what was
//! probably meant:
//!
//! ```
//! use boardlab_document::{Document, Override, SourcedValue, section};
//! use boardlab_document::source::{Kind, Source};
//! use boardlab_sim::Duration;
//!
//! section! {
//!     /// A scenario.
//!     struct Scenario {
//!         /// How a driver waits.
//!         wait: Wait,
//!     }
//! }
//!
//! section! {
//!     /// How a driver waits.
//!     struct Wait {
//!         /// So long.
//!         fixed: SourcedValue<Duration> => positive(),
//!     }
//! }
//!
//! let source = Source::new(Kind::Scenario, "wait.toml", "[wait]\nfixed = \"256 us\"\n");
//! let mut document = Document::parse(&source)?;
//! document.set(&[Override::parse("wait.fixed=170us")?])?;
//! let wait = document.read(Scenario::read)?;
//! assert_eq!(wait.value.wait.fixed.value, Duration::from_micros(170));
//! assert_eq!(wait.parameters[0].source, "--set");
//! assert!(document.is_overridden());
//!
//! let bare = Source::new(Kind::Scenario, "wait.toml", "[wait]\nfixed = 256\n");
//! let error = Document::parse(&bare)?.read(Scenario::read).err().expect("a number without unit");
//! assert!(error.to_string().contains("--> wait.toml:2:9"));
//! assert!(error.to_string().contains("`wait.fixed`: `256` has no unit"));
//! # Ok::<(), boardlab_document::error::Error>(())
//! ```
//!
//! Nothing here prints.

pub mod asked;
pub mod distribution;
pub mod error;
pub mod fields;
pub mod files;
pub mod key;
pub mod limits;
pub mod lock;
pub mod misfit;
pub mod nearest;
pub mod node;
pub mod overrides;
mod parse;
pub mod problems;
pub mod quantity;
pub mod reader;
mod renamed;
pub mod source;
pub mod value;

pub use fields::Field;
pub use key::{Key, SourcedValue};
pub use node::{Content, Node};
pub use overrides::Override;
pub use problems::{AlreadyReported, Read};
pub use reader::Section;
pub use renamed::RenamedKey;
pub use value::{Description, PlacedMisfit, Value};

use crate::asked::{AskedKey, Observer};
use crate::error::{BadValue, Error};
use crate::source::{GRID, Source};
use boardlab_result::Parameter;
use boardlab_sim::OwnPolicy;
use indexmap::IndexMap;
use problems::Problems;
use reader::{Context, State};
use std::cell::RefCell;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

/// The key that names the file which a file extends.
const EXTENDS: &str = "extends";
/// The key of the title.
const TITLE: &str = "title";
/// The value of a key in place of which a policy of the caller stands.
pub const OWN: &str = "own";

/// A file, perhaps with other files in place of their names, and with the user's overrides.
#[derive(Debug, Clone)]
pub struct Document {
    root: Node,
    overridden: bool,
    /// One point of a grid, in which a key may matter at other points only.
    swept: bool,
    /// What `--set` or `--grid` gives and no reading used; kept for points of a grid alone.
    idle: Arc<Mutex<Vec<BadValue>>>,
    /// Old names that were read as the new ones.
    renamed: Vec<RenamedKey>,
    /// The record of the keys that readings ask for, if somebody wants it.
    observer: Option<Observer>,
    /// The names in place of which files stand, by path.
    named: IndexMap<String, Named>,
    /// The caller's own policies, by the dotted key whose value is [`OWN`].
    own: IndexMap<String, OwnPolicy>,
}

/// A name in place of which a file stands.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    /// The name.
    pub(crate) name: Node,
    /// The names of the built-in files whose `kind` is one of those given.
    pub(crate) of_kinds: OfKinds,
}

/// The names of the built-in files whose `kind` is one of those given.
pub type OfKinds = fn(&[String]) -> Vec<&'static str>;

/// What a reading gives.
#[derive(Debug, Clone)]
pub struct Reading<T> {
    /// What was read.
    pub value: T,
    /// Every input with what it rests on, in the order of reading.
    pub parameters: Vec<Parameter>,
}

impl Document {
    /// The tree of `source`.
    ///
    /// # Errors
    /// [`Error::Syntax`] when it is not TOML.
    pub fn parse(source: &Arc<Source>) -> Result<Self, Error> {
        let (mut root, mut renamed) = (parse::document(source)?, Vec::new());
        renamed::update(&mut root, "", &mut renamed);
        let (overridden, swept, idle) = (false, false, Arc::default());
        let (named, own) = (IndexMap::new(), IndexMap::new());
        Ok(Self { root, overridden, swept, idle, renamed, observer: None, named, own })
    }

    /// The text that the top level stands in.
    #[must_use]
    pub const fn source(&self) -> &Arc<Source> {
        self.root.place.source()
    }

    /// The value at the dotted `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Node> {
        self.root.get(path)
    }

    /// Every value with its dotted path, as written; those with an origin as a whole.
    #[must_use]
    pub fn values(&self) -> IndexMap<String, String> {
        let mut values = IndexMap::new();
        self.root.each_leaf("", &mut |path, leaf| {
            values.insert(path, leaf.written());
        });
        values
    }

    /// The title, which `boardlab list` shows.
    ///
    /// # Errors
    /// When there is none.
    pub fn title(&self) -> Result<String, Error> {
        let reading = self.read(|top| {
            let title = top.required(TITLE);
            top.leave_rest();
            title
        })?;
        Ok(reading.value)
    }

    /// The title that an override gave, if one did.
    #[must_use]
    pub fn title_given(&self) -> Option<&str> {
        let given = self.get(TITLE).filter(|node| node.place().source().is_argument());
        given.and_then(Node::as_text)
    }

    /// Puts the tree of `other` in place of the value at `path`, which names it.
    ///
    /// Does nothing where there is no such value. What overrides changed in either stays marked. `of_kinds` says
    /// what to name instead where a file of another kind is due.
    pub fn mount(&mut self, path: &str, other: Self, of_kinds: OfKinds) {
        let Some(entry) = self.root.entry_mut(path) else { return };
        let name = mem::replace(&mut entry.node, other.root);
        self.named.insert(path.into(), Named { name, of_kinds });
        self.overridden |= other.overridden;
        self.swept |= other.swept;
        self.renamed.extend(other.renamed);
    }

    /// The section at the dotted `path`, or the top level if that is empty.
    fn section_mut(&mut self, path: &str) -> Option<&mut Node> {
        match path {
            "" => Some(&mut self.root),
            path => self.root.entry_mut(path).map(|entry| &mut entry.node),
        }
    }

    /// Takes the name of the file that the section at `path` extends, or the top level if that is empty.
    pub fn take_extended(&mut self, path: &str) -> Option<Node> {
        let Content::Table(node::Table(keys)) = &mut self.section_mut(path)?.content else {
            return None;
        };
        keys.shift_remove(EXTENDS).map(|entry| entry.node)
    }

    /// Puts the keys of `base` that the section at `path` lacks, or the top level if that is empty, into it.
    pub fn extend(&mut self, path: &str, base: Self) {
        let Some(section) = self.section_mut(path) else { return };
        section.extend(base.root);
        self.renamed.extend(base.renamed);
    }

    /// Applies `overrides` in order; the last one for a key wins.
    ///
    /// # Errors
    /// [`Error::Other`] when a key goes on below something that is not a section.
    pub fn set<'o>(
        &mut self,
        overrides: impl IntoIterator<Item = &'o Override>,
    ) -> Result<(), Error> {
        for one in overrides {
            let changes = one.apply(&mut self.root)?;
            self.overridden |= changes && one.path() != TITLE;
            self.swept |= one.node().place().source().is_argument_of(GRID);
            self.renamed.extend_from_slice(one.renamed());
        }
        Ok(())
    }

    /// Gives `policy` to the reading of `key`, where its value is [`OWN`].
    pub fn give(&mut self, key: &str, policy: OwnPolicy) {
        self.own.insert(key.into(), policy);
    }

    /// The caller's own policies, by their keys.
    #[must_use]
    pub const fn own_policies(&self) -> &IndexMap<String, OwnPolicy> {
        &self.own
    }

    /// Whether an override gave another value than the files, apart from the title: then the results are not the
    /// published ones, and the print is left out.
    #[must_use]
    pub const fn is_overridden(&self) -> bool {
        self.overridden
    }

    /// The old names in its files and arguments, each a warning.
    #[must_use]
    pub fn renamed(&self) -> &[RenamedKey] {
        &self.renamed
    }

    /// Takes what of `--set` and `--grid` the readings of this point of a grid had no use for.
    #[must_use]
    pub fn take_idle(&self) -> Vec<BadValue> {
        std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records from now on which keys are asked for; [`Document::take_asked`] returns them.
    pub fn observe(&mut self) {
        self.observer = Some(Observer::default());
    }

    /// The dotted keys that readings asked for since [`Document::observe`], in the order of reading.
    #[must_use]
    pub fn take_asked(&self) -> IndexMap<String, AskedKey> {
        self.observer.as_ref().map(Observer::take).unwrap_or_default()
    }

    /// Reads the document with `read`.
    ///
    /// # Errors
    /// All errors that were found, at most ten of them.
    pub fn read<T>(&self, read: impl FnOnce(Section<'_>) -> Read<T>) -> Result<Reading<T>, Error> {
        let context = Context {
            root: &self.root,
            named: &self.named,
            own: &self.own,
            swept: self.swept,
            observer: self.observer.as_ref(),
            problems: Problems::default(),
            idle: RefCell::default(),
            parameters: RefCell::default(),
        };
        let state = State::new(&self.root, String::new(), &context);
        let state = state.expect("the top level of a TOML text is a table");
        let value = read(state.section());
        drop(state);
        let Context { problems, parameters, idle, .. } = context;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).extend(idle.into_inner());
        let value = match (problems.into_error(), value) {
            (Some(error), _) => return Err(error),
            (None, value) => value.expect("whoever has a Reported has reported"),
        };
        Ok(Reading { value, parameters: parameters.into_inner().into_values().collect() })
    }
}
