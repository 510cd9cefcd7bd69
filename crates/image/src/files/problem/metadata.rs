//! What is wrong in metadata of files.
//!
//! Layer: rank 7. Main type: [`MetadataProblem`]. Texts of the file have escapes.

use std::fmt;

/// What is wrong at a place in metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetadataProblem {
    /// It is no JSON, or a value has another form.
    Json {
        /// What is wrong and what was expected.
        says: String,
    },
    /// It says that it is something else.
    Format {
        /// What it says, if anything.
        found: Option<String>,
    },
    /// It is of another version.
    Version {
        /// The version.
        found: u64,
    },
    /// An entry has a key too much or too little for its kind.
    Key {
        /// The path.
        path: String,
        /// The key.
        key: &'static str,
        /// The kind, in words.
        kind: String,
        /// Whether it is missing.
        is_missing: bool,
    },
    /// There are two entries for a path.
    Twice {
        /// The path.
        path: String,
        /// The line of the first one.
        line: usize,
    },
    /// There is no entry before it for the first name of the file.
    First {
        /// The path.
        path: String,
        /// The first name.
        first: String,
    },
    /// It says something else of a file than the entry for its first name.
    Differs {
        /// The path.
        path: String,
        /// The first name.
        first: String,
        /// The line of that entry.
        line: usize,
    },
    /// The file is too large.
    Large {
        /// The most bytes.
        most: u64,
    },
}

impl MetadataProblem {
    /// A hint what to try.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Json { .. } | Self::Format { .. } => {
                "expected what `boardlab image extract --metadata` writes: docs/formats/metadata.md"
                    .into()
            }
            Self::Version { .. } => "expected version 1; use the boardlab that wrote it".into(),
            Self::Key { key, is_missing: true, .. } => format!("add \"{key}\""),
            Self::Key { key, is_missing: false, .. } => format!("leave out \"{key}\""),
            Self::Twice { .. } => "leave one of them out".into(),
            Self::First { .. } => {
                "put the entry of the first name before it, or leave out \"link\"".into()
            }
            Self::Differs { .. } => {
                "say the same of all names of a file, or leave out \"link\"".into()
            }
            Self::Large { most } => {
                format!("expected at most {most} bytes; is this the right file?")
            }
        }
    }
}

impl fmt::Display for MetadataProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json { says } => f.write_str(says),
            Self::Format { found: Some(found) } => {
                write!(f, "the format is `{found}`, not `boardlab-metadata`")
            }
            Self::Format { found: None } => f.write_str("it is no metadata: it has no \"format\""),
            Self::Version { found } => write!(f, "the metadata have version {found}, not 1"),
            Self::Key { path, key, kind, is_missing: true } => {
                write!(f, "`{path}`, a {kind}, has no \"{key}\"")
            }
            Self::Key { path, key, kind, is_missing: false } => {
                write!(f, "`{path}`, a {kind}, has a \"{key}\"")
            }
            Self::Twice { path, line } => {
                write!(f, "`{path}` is there twice, first in line {line}")
            }
            Self::First { path, first } => {
                write!(f, "`{path}` is another name of `{first}`, which is not before it")
            }
            Self::Differs { path, first, line } => write!(
                f,
                "`{path}` is another name of `{first}`, of which line {line} says something else"
            ),
            Self::Large { .. } => f.write_str("the metadata are too large"),
        }
    }
}
