//! The errors of reading a result and of writing a report.
//!
//! Layer: rank 8, inside `report`. Main type: [`Error`], which says where, what was found and what was
//! expected. Rendering itself does not fail on an unusual result: it omits what cannot be drawn.

use std::fmt;

/// Why a saved result could not be read, or a report not be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The text is not JSON, or not JSON of a result.
    Json {
        /// Line, from 1.
        line: usize,
        /// Column, from 1.
        column: usize,
        /// What was found there and what was expected.
        found: String,
    },
    /// The result has another schema version than this program reads.
    Schema {
        /// The path of the number: `schema` or `results[2].schema`.
        place: String,
        /// The value that was found.
        found: String,
        /// The versions that this program reads.
        expected: [u32; 2],
    },
    /// The report would be larger than [`crate::html::SIZE_MAX`].
    TooLarge {
        /// Its size in bytes.
        found: usize,
        /// The largest size in bytes.
        expected: usize,
    },
    /// The page template failed.
    Template(minijinja::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json { line, column, found } => write!(
                f,
                "line {line}, column {column}: {found}\n\
                 expected a result as `boardlab run --format json` or `boardlab reproduce \
                 --format json` writes it"
            ),
            Self::Schema { place, found, expected: [old, new] } => write!(
                f,
                "`{place}`: found {found}, expected {old} or {new}\n\
                 this version of boardlab reads results of schemas {old} and {new}: run the \
                 scenario again, or use the version that wrote the file"
            ),
            Self::TooLarge { found, expected } => write!(
                f,
                "the report would have {found} bytes, expected at most {expected}\n\
                 all other files of the result are written; put fewer runs into one report, or leave out \
                 the large attachments"
            ),
            Self::Template(error) => write!(f, "the page template failed: {error:#}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Template(error) => Some(error),
            Self::Json { .. } | Self::Schema { .. } | Self::TooLarge { .. } => None,
        }
    }
}
