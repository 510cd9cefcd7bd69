//! Why there is no result, as an exception of `boardlab._errors`.
//!
//! Layer: rank 12. Main type: [`Fault`]. The message is that of the command line without colours,
//! because both render it with the same functions; the attributes are its parts.

use boardlab_document::error::{At, Error, Message, Other};
use boardlab_experiment::{Failure, VERSION};
use boardlab_image::make::MakeError;
use boardlab_result::foreign::{PATH_SHOWN, harmless, shown_at_most, shown_path};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::{Path, PathBuf};

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Fault {
    /// A scenario, a name or a run.
    Lab(Failure),
    /// A flash image is not read, or not with these options.
    Image(PathBuf, boardlab_image::Error),
    /// A flash image is not made.
    Make(PathBuf, MakeError),
    /// A text is not a saved result.
    Saved(boardlab_report::Error),
    /// A panic.
    Panic {
        /// What Python called.
        what: String,
        /// What the panic said.
        words: String,
        /// Where it happened, if that is known.
        place: Option<String>,
    },
    /// An exception that Python raised itself.
    Python(PyErr),
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Lab(failure)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Lab(error.into())
    }
}

impl From<PyErr> for Fault {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// The parts of a message.
#[derive(Default)]
struct Parts {
    text: String,
    title: String,
    place: Option<(String, Option<usize>, Option<usize>)>,
    found: Option<String>,
    expected: Option<String>,
    help: Option<String>,
}

impl Fault {
    /// The exception.
    pub(crate) fn raise(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Python(error) => error,
            other => other.exception(py).unwrap_or_else(|error| error),
        }
    }

    fn exception(&self, py: Python<'_>) -> PyResult<PyErr> {
        let (class, parts, others) = match self {
            Self::Lab(Failure::Input(error)) => {
                let mut parts = of_error(error);
                parts.text = harmless(&error.render(false), false);
                let all = error.all();
                ("InputError", parts, if all.len() > 1 { all } else { &[] })
            }
            Self::Lab(failure @ Failure::NoAction { .. }) => {
                ("InputError", of_lines(failure), [].as_slice())
            }
            Self::Lab(failure) => ("RunError", of_lines(failure), [].as_slice()),
            Self::Image(path, problem) => {
                let (title, help) = problem.told(path);
                ("ImageError", of_error(&beside(path, None, title, help)), [].as_slice())
            }
            Self::Make(path, problem) => {
                ("ImageError", of_error(&not_made(path, problem)), [].as_slice())
            }
            Self::Saved(problem) => ("InputError", of_words(&problem.to_string()), [].as_slice()),
            Self::Panic { what, words, place } => {
                ("InternalError", of_panic(what, words, place.as_deref()), [].as_slice())
            }
            Self::Python(error) => return Ok(error.clone_ref(py)),
        };
        let module = py.import("boardlab._errors")?;
        let others = others.iter().map(|error| new(py, &module, class, of_error(error), &[]));
        let others = others.collect::<PyResult<Vec<_>>>()?;
        Ok(PyErr::from_value(new(py, &module, class, parts, &others)?))
    }
}

/// A new exception of `class`.
fn new<'py>(
    py: Python<'py>,
    module: &Bound<'py, PyModule>,
    class: &str,
    parts: Parts,
    others: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    let keys = PyDict::new(py);
    keys.set_item("title", parts.title)?;
    keys.set_item("place", parts.place)?;
    keys.set_item("found", parts.found)?;
    keys.set_item("expected", parts.expected)?;
    keys.set_item("help", parts.help)?;
    keys.set_item("errors", PyList::new(py, others)?)?;
    module.getattr(class)?.call((parts.text,), Some(&keys))
}

/// The parts of an error of a text; of several errors those of the first.
fn of_error(error: &Error) -> Parts {
    let first = error.all().first().unwrap_or(error);
    let Message { title, label, help } = first.message();
    let expected = label.strip_prefix("expected ").map(String::from);
    Parts {
        text: harmless(&first.render(false), false),
        title,
        place: place_of(first),
        found: found_in(first),
        expected,
        help: Some(help).filter(|help| !help.is_empty()),
    }
}

fn place_of(error: &Error) -> Option<(String, Option<usize>, Option<usize>)> {
    if let Some(place) = error.place() {
        return Some((place.source().name().into(), Some(place.line()), Some(place.column())));
    }
    match error {
        Error::File { path, .. } => Some((path.clone(), None, None)),
        Error::Other(other) => match &other.at {
            At::Path(path) => Some((path.clone(), None, None)),
            At::Line { file, line, column } => Some((file.clone(), Some(*line), Some(*column))),
            At::Place(_) | At::Nowhere => None,
        },
        _ => None,
    }
}

fn found_in(error: &Error) -> Option<String> {
    match error {
        Error::UnknownKey(unknown) => Some(unknown.key.clone()),
        Error::Value(bad) => Some(bad.found.clone()),
        Error::UnknownName { found, .. } => Some(found.clone()),
        Error::File { path, .. } => Some(path.clone()),
        _ => {
            error.place().map(|place| place.text().into()).filter(|text: &String| !text.is_empty())
        }
    }
}

/// The parts of a failure without a text: its title, and the help below it.
fn of_lines(failure: &Failure) -> Parts {
    let text = failure.render(false);
    let (title, help) = text.split_once("\n  = help: ").unwrap_or((&text, ""));
    Parts {
        title: title.strip_prefix("error: ").unwrap_or(title).into(),
        help: Some(help.to_owned()).filter(|help| !help.is_empty()),
        text,
        ..Parts::default()
    }
}

/// The parts of words of two lines: what is wrong, and what to try.
fn of_words(words: &str) -> Parts {
    let (title, help) = words.split_once('\n').unwrap_or((words, "report this with the result"));
    let shown = |text: &str| shown_at_most(text, PATH_SHOWN);
    let message = Message { title: shown(title), label: String::new(), help: shown(help) };
    of_error(&Other { at: At::Nowhere, message }.into())
}

fn of_panic(what: &str, words: &str, place: Option<&str>) -> Parts {
    let place = place.unwrap_or("a place that is not known");
    let title = format!("boardlab.{what}: broken invariant at {place}: {words}");
    let help = format!(
        "this is a defect of boardlab {VERSION}, whatever the input was: report it with this message and the call"
    );
    let message = Message { title: harmless(&title, false), label: String::new(), help };
    of_error(&Other { at: At::Nowhere, message }.into())
}

/// An error about the file at `path`, and a line and a column in it.
fn beside(path: &Path, at: Option<(usize, usize)>, title: String, help: String) -> Error {
    let file = shown_path(path);
    let at = match at {
        Some((line, column)) => At::Line { file, line, column },
        None => At::Path(file),
    };
    Other { at, message: Message { title, label: String::new(), help } }.into()
}

fn not_made(path: &Path, problem: &MakeError) -> Error {
    let shown = |text: &str| shown_at_most(text, PATH_SHOWN);
    let path = problem.path().unwrap_or(path);
    beside(path, problem.place(), shown(&problem.to_string()), shown(&problem.help()))
}
