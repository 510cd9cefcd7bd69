//! What can be wrong with the files and arguments that a user writes.
//!
//! Layer: rank 7. One enum, [`Error`]; each says where, what was found, what is due and what to
//! try. [`Error::render`] draws it as rustc does:
//!
//! ```text
//! error: `board.bus.write_cycle`: `284` has no unit
//!   --> boards/mine.toml:3:15
//!    |
//!  3 | write_cycle = "284"
//!    |               ^^^^^ expected a duration
//!    |
//!    = help: write it like "256 us"; units: ns us ms s min h days
//! ```
//!
//! Text from files and arguments is untrusted: control characters are shown as escapes and long
//! text is cut, so that an error cannot move the cursor of a terminal or fill it.

mod render;

pub use render::{At, Message, TEXT_SHOWN};

use crate::misfit::Misfit;
use crate::nearest::nearest;
use crate::source::{Kind, Place, SET};
use annotate_snippets::Renderer;
use render::shown;
use std::fmt::{self, Write as _};

/// How many names a help line lists.
const NAMES_SHOWN: usize = 16;

/// What is wrong with a file or an argument.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// A file cannot be read.
    File {
        /// The path as given.
        path: String,
        /// Why not.
        problem: FileProblem,
        /// The place that names the file, when a file does.
        place: Option<Place>,
    },
    /// A text is not TOML: where the parser stopped, and what it says.
    Syntax(Place, String),
    /// A key that nothing reads.
    UnknownKey(Box<UnknownKey>),
    /// A key that must be there and is not.
    MissingKey(Box<MissingKey>),
    /// A value that does not fit.
    Value(Box<BadValue>),
    /// A name of a file, a table or the like that does not exist.
    UnknownName {
        /// The place that uses the name, when a file does.
        place: Option<Place>,
        /// What is named, such as `scenario`.
        what: &'static str,
        /// The name.
        found: String,
        /// The names that exist.
        names: Vec<String>,
    },
    /// Something else, in the words of whoever found it.
    Other(Box<Other>),
    /// Several at once.
    Several {
        /// The first ones.
        errors: Vec<Error>,
        /// How many more there are.
        hidden: usize,
    },
}

/// What is wrong with a text or a file that is no document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// Where it is.
    pub at: At,
    /// What it says. Text of others in it went through [`boardlab_result::foreign`].
    pub message: Message,
}

/// A key that nothing reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKey {
    /// The key.
    pub place: Place,
    /// Its name.
    pub key: String,
    /// The section it stands in; empty at the top of the file.
    pub section: String,
    /// The keys that are read there.
    pub expected: Vec<String>,
    /// The key, or the whole path of one, that was probably meant.
    pub nearest: Option<String>,
}

/// A key that must be there and is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKey {
    /// The head of the section that lacks it.
    pub place: Place,
    /// Its name.
    pub key: String,
    /// The section; empty at the top of the file.
    pub section: String,
    /// What is due, such as `a duration`.
    pub expected: String,
    /// A line that would do; an option where no file of the user lacks it.
    pub example: String,
}

/// A value that does not fit, with its key.
#[derive(Debug, Clone, PartialEq)]
pub struct BadValue {
    /// Where it stands.
    pub place: Place,
    /// Dotted path of its key.
    pub key: String,
    /// The value as written, without quotes.
    pub found: String,
    /// Why it does not fit.
    pub misfit: Misfit,
    /// What is due, such as `a duration`.
    pub expected: String,
    /// What to try.
    pub help: String,
}

/// Why a file cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileProblem {
    /// There is none.
    Missing,
    /// It is a directory.
    Directory,
    /// It is a pipe, a device or a socket.
    NotAFile,
    /// The operating system refuses, with this number where it gives one.
    Unreadable(Option<i32>),
    /// It is not UTF-8 text; this is the offset of the first byte that is wrong.
    NotUtf8(usize),
    /// It is larger than this limit in bytes.
    TooLarge(u64),
}

impl Error {
    /// Where it is, if a text is to blame.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        match self {
            Self::File { place, .. } | Self::UnknownName { place, .. } => place.as_ref(),
            Self::Other(other) => match &other.at {
                At::Place(place) => Some(place),
                At::Path(_) | At::Line { .. } | At::Nowhere => None,
            },
            Self::Syntax(place, _) => Some(place),
            Self::UnknownKey(unknown) => Some(&unknown.place),
            Self::MissingKey(missing) => Some(&missing.place),
            Self::Value(bad) => Some(&bad.place),
            Self::Several { errors, .. } => errors.first().and_then(Self::place),
        }
    }

    /// This error, blamed on `place` when it has no place of its own.
    #[must_use]
    pub fn at(mut self, blamed: &Place) -> Self {
        if let Self::File { place, .. } | Self::UnknownName { place, .. } = &mut self {
            place.get_or_insert_with(|| blamed.clone());
        }
        self
    }

    /// The single errors that this one consists of.
    #[must_use]
    pub fn all(&self) -> &[Self] {
        match self {
            Self::Several { errors, .. } => errors,
            single => std::slice::from_ref(single),
        }
    }

    /// Draws the message; `styled` with the colours of a terminal.
    #[must_use]
    pub fn render(&self, styled: bool) -> String {
        let renderer = if styled { Renderer::styled() } else { Renderer::plain() };
        let mut shown: Vec<_> = self.all().iter().map(|error| error.draw(&renderer)).collect();
        if let Self::Several { hidden, .. } = self
            && *hidden > 0
        {
            shown.push(format!("error: and {hidden} more; correct these first"));
        }
        shown.join("\n\n")
    }

    fn draw(&self, renderer: &Renderer) -> String {
        let at = match (self.place(), self) {
            (_, Self::Other(other)) => other.at.clone(),
            (Some(place), _) => At::Place(place.clone()),
            (None, Self::File { path, .. }) => At::Path(path.clone()),
            (None, _) => At::Nowhere,
        };
        render::draw(&self.message(), &at, renderer)
    }

    /// What it says; of several errors the first.
    #[must_use]
    pub fn message(&self) -> Message {
        match self {
            Self::File { path, problem, .. } => Message {
                title: format!("cannot read `{}`: {problem}", shown(path, TEXT_SHOWN * 4)),
                label: "named here".into(),
                help: problem.help(),
            },
            Self::Syntax(_, problem) => Message {
                title: format!("not TOML: {}", shown(problem, TEXT_SHOWN * 4)),
                label: "expected TOML".into(),
                help: match problem.contains("duplicate") {
                    true => "write each key and each section once",
                    false => {
                        "write KEY = VALUE; text and quantities stand in quotes: wait = \"256 us\""
                    }
                }
                .into(),
            },
            Self::UnknownKey(unknown) => unknown.message(),
            Self::MissingKey(missing) => missing.message(),
            Self::Value(bad) => bad.message(),
            Self::UnknownName { what, found, names, .. } => Message {
                title: format!("unknown {what} `{}`", shown(found, TEXT_SHOWN)),
                label: format!("expected the name of a {what}"),
                help: one_of(found, names),
            },
            Self::Other(other) => other.message.clone(),
            Self::Several { errors, .. } => errors.first().map(Self::message).unwrap_or_default(),
        }
    }
}

impl From<Other> for Error {
    fn from(other: Other) -> Self {
        Self::Other(Box::new(other))
    }
}

/// The plain rendering.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Error {}

impl BadValue {
    /// What would fit here.
    fn due(&self) -> String {
        let expected = &self.expected;
        match &self.misfit {
            Misfit::Zero => format!("expected {expected} above zero"),
            Misfit::Negative => format!("expected {expected}, never below zero"),
            Misfit::Outside { low, high } => format!("expected {expected} from {low} to {high}"),
            Misfit::NotWhole(step) => format!("expected {expected} in whole {step}"),
            Misfit::TooLarge(limit) => format!("expected {expected} of at most {limit}"),
            Misfit::Order(order) => format!("expected the order {order}"),
            Misfit::Arguments(form) => format!("expected {form}"),
            _ => format!("expected {expected}"),
        }
    }

    fn message(&self) -> Message {
        let (key, found) = (shown(&self.key, TEXT_SHOWN * 2), shown(&self.found, TEXT_SHOWN));
        let value = if self.found.is_empty() { "the value".into() } else { format!("`{found}`") };
        let misfit = shown(&self.misfit.to_string(), TEXT_SHOWN * 4);
        let help = match &self.misfit {
            Misfit::UnknownName(names) if self.is_kind_of_part() => {
                format!("choose another part: boardlab list parts {}", names.join(" "))
            }
            Misfit::UnknownName(names) => one_of(&self.found, names),
            Misfit::UnknownUnit(_, Some(unit)) => {
                format!("did you mean `{unit}`? {}", self.help)
            }
            Misfit::Arguments(form) => format!("write {form}"),
            Misfit::Zero => "use a value above zero".into(),
            Misfit::Outside { low, high } => format!("use a value from {low} to {high}"),
            Misfit::Order(order) => format!("put the values in the order {order}"),
            Misfit::TooLarge(_) => format!("is the unit right? {}", self.help),
            _ => self.help.clone(),
        };
        let label = shown(&self.due(), TEXT_SHOWN * 4);
        Message { title: format!("`{key}`: {value} {misfit}"), label, help }
    }
}

impl BadValue {
    /// Whether it is the kind of a part, of which another is due.
    fn is_kind_of_part(&self) -> bool {
        self.place.source().kind() == Some(Kind::Part)
            && self.key.rsplit('.').next() == Some("kind")
    }
}

impl UnknownKey {
    fn message(&self) -> Message {
        let nearest = self.nearest.as_deref();
        Message {
            title: format!(
                "unknown key `{}` in {}",
                shown(&self.key, TEXT_SHOWN),
                within(&self.section)
            ),
            label: match nearest {
                Some(name) => format!("expected `{}`?", shown(name, TEXT_SHOWN * 2)),
                None if self.expected.is_empty() => "expected no key here".into(),
                None => "expected another key".into(),
            },
            help: if self.is_seed() {
                "the seed is an option of its own: --seed N".into()
            } else {
                choice(nearest, &self.expected)
            },
        }
    }

    /// Whether the user set the seed as if it were a key of the scenario.
    fn is_seed(&self) -> bool {
        self.section.is_empty() && self.key == "seed" && self.place.source().is_argument_of(SET)
    }
}

impl MissingKey {
    fn message(&self) -> Message {
        let key = shown(&self.key, TEXT_SHOWN);
        Message {
            title: format!("missing key `{key}` in {}", within(&self.section)),
            label: format!("expected a key `{key}` with {}", self.expected),
            help: match self.example.starts_with("--") {
                true => format!("add {}", self.example),
                false => format!("add a line like {}", self.example),
            },
        }
    }
}

/// Help for `found`, which is none of `names`.
fn one_of(found: &str, names: &[String]) -> String {
    choice(nearest(found, names.iter().map(String::as_str)), names)
}

/// "did you mean `a`? known: a, b, c".
fn choice(nearest: Option<&str>, names: &[String]) -> String {
    let mut help = String::new();
    if let Some(name) = nearest {
        let _ = write!(help, "did you mean `{}`? ", shown(name, TEXT_SHOWN * 2));
    }
    if names.is_empty() {
        help.push_str("there are none; remove it");
        return help;
    }
    let listed: Vec<_> = names.iter().take(NAMES_SHOWN).map(|n| shown(n, TEXT_SHOWN)).collect();
    let _ = write!(help, "known: {}", listed.join(", "));
    if names.len() > NAMES_SHOWN {
        let _ = write!(help, " and {} more", names.len() - NAMES_SHOWN);
    }
    help
}

fn within(section: &str) -> String {
    if section.is_empty() {
        "the top level of the file".into()
    } else {
        format!("`{}`", shown(section, TEXT_SHOWN * 2))
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("there is no such file"),
            Self::Directory => f.write_str("it is a directory"),
            Self::NotAFile => f.write_str("it is not a regular file"),
            Self::Unreadable(None) => f.write_str("the operating system refuses"),
            Self::Unreadable(Some(code)) => {
                f.write_str(&reason(&std::io::Error::from_raw_os_error(*code)))
            }
            Self::NotUtf8(offset) => write!(f, "byte {offset} is not UTF-8 text"),
            Self::TooLarge(limit) => write!(f, "it is larger than {limit} bytes"),
        }
    }
}

/// What the operating system says, without its number.
#[must_use]
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_lowercase()
}

impl FileProblem {
    fn help(self) -> String {
        match self {
            Self::Missing => "check the path; `boardlab list` shows the built-in names",
            Self::Directory => "name a .toml file in it",
            Self::NotAFile => "save it as a regular .toml file",
            Self::Unreadable(_) => "check that you may read the file",
            Self::NotUtf8(_) => "expected a TOML file in UTF-8; is this the right file?",
            Self::TooLarge(_) => "expected a TOML file of a few KiB; is this the right file?",
        }
        .into()
    }
}
