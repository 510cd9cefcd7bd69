//! Errors gathered while a document is read, so that one run shows several.
//!
//! Layer: rank 7. Main types: [`AlreadyReported`], the proof that an error was gathered, and [`Read`],
//! the result of each access.

use crate::error::Error;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// How many errors are shown at once: more than a screen of them helps nobody.
const SHOWN: usize = 10;
/// How many errors are kept to choose from; the others of a hopeless file are only counted, so
/// that looking for equal ones stays cheap.
const KEPT: usize = 200;

/// An error has been gathered and will be shown; there is nothing more to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AlreadyReported(());

impl AlreadyReported {
    /// For a missing key, which the section reports when it ends.
    pub(super) const fn later() -> Self {
        Self(())
    }
}

/// So that `?` works on a field that is only looked at.
impl From<&Self> for AlreadyReported {
    fn from(reported: &Self) -> Self {
        *reported
    }
}

/// What an access gives: the value, or the knowledge that its error is on record: something is missing, unknown, of the
/// wrong kind or cannot be. A function that returns it has no other errors.
pub type Read<T> = Result<T, AlreadyReported>;

/// The errors of one reading.
#[derive(Debug, Default)]
pub struct Problems {
    kept: RefCell<Vec<Error>>,
    /// How many were not kept.
    dropped: Cell<usize>,
}

impl Problems {
    /// Puts `error` on record. The same error twice, as from a section read for two systems, is one.
    pub fn report(&self, error: Error) -> AlreadyReported {
        let mut errors = self.kept.borrow_mut();
        if errors.len() == KEPT {
            self.dropped.set(self.dropped.get() + 1);
        } else if !errors.contains(&error) {
            errors.push(error);
        }
        AlreadyReported(())
    }

    /// Whether nothing is on record.
    pub fn is_empty(&self) -> bool {
        self.kept.borrow().is_empty()
    }

    /// All errors as one, in the order of the texts; `None` when there are none.
    pub fn into_error(self) -> Option<Error> {
        let mut errors = self.kept.into_inner();
        let mut sources = Vec::new();
        for error in &errors {
            if let Some(place) = error.place()
                && !sources.iter().any(|source| Arc::ptr_eq(source, place.source()))
            {
                sources.push(Arc::clone(place.source()));
            }
        }
        errors.sort_by_key(|error| {
            error.place().map(|place| {
                let source = sources.iter().position(|source| Arc::ptr_eq(source, place.source()));
                (source, place.span().start)
            })
        });
        let hidden = errors.len().saturating_sub(SHOWN) + self.dropped.get();
        errors.truncate(SHOWN);
        match errors.len() {
            0 => None,
            1 => errors.pop(),
            _ => Some(Error::Several { errors, hidden }),
        }
    }
}
