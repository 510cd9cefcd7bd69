//! What is wrong in a table of devices, in a list of bad blocks, or in metadata.
//!
//! Layer: rank 7. Main types: [`FileProblem`], [`MetadataProblem`].

mod metadata;

pub use metadata::MetadataProblem;

use std::fmt;

/// The fields of a line of a table of devices, in their order.
pub const FIELDS: [&str; 10] =
    ["name", "type", "mode", "uid", "gid", "major", "minor", "start", "inc", "count"];

/// What is wrong at a place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileProblem {
    /// The bytes are no UTF-8 text.
    NotText,
    /// The line has too few or too many fields.
    Fields {
        /// How many.
        found: usize,
    },
    /// A field has a value that it cannot have.
    Field {
        /// Its name, of [`FIELDS`].
        name: &'static str,
        /// The value.
        found: String,
        /// What it can be.
        expected: &'static str,
    },
    /// The name leads out of the tree.
    Outside {
        /// The name.
        path: String,
    },
    /// There is no folder for the new file.
    NoFolder {
        /// The name.
        path: String,
        /// The folder.
        folder: String,
        /// Whether there is something else of that name.
        is_other: bool,
    },
    /// There is no such file.
    NoFile {
        /// The name.
        path: String,
    },
    /// The file is of another type.
    Type {
        /// The name.
        path: String,
        /// What it is.
        found: &'static str,
        /// What the line says.
        expected: &'static str,
    },
    /// No number of a block, and no range of them.
    Block {
        /// What is there.
        found: String,
    },
    /// More bad blocks than any flash has.
    TooMany {
        /// The most.
        most: usize,
    },
    /// The metadata of files are wrong.
    Metadata(MetadataProblem),
}

impl From<MetadataProblem> for FileProblem {
    fn from(problem: MetadataProblem) -> Self {
        Self::Metadata(problem)
    }
}

impl FileProblem {
    /// A hint what to try.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::NotText => "expected UTF-8 text; is this the right file?".into(),
            Self::Fields { .. } => {
                format!("expected {}; - or nothing for what has no meaning", FIELDS.join(" "))
            }
            Self::Field { expected, .. } => format!("expected {expected}"),
            Self::Outside { .. } => {
                "expected a path from / on, with names of at most 255 bytes, and no . or ..".into()
            }
            Self::NoFolder { is_other: true, .. } => {
                "expected a folder; links are not followed".into()
            }
            Self::NoFolder { folder, .. } => format!("add a line before it: {folder} d 755 0 0"),
            Self::NoFile { .. } => {
                "expected a file of the tree: type f changes one, and makes none".into()
            }
            Self::Type { found, .. } => format!("give the type of {found}, or another name"),
            Self::Block { .. } => {
                "expected numbers and ranges of blocks, such as 3,17,40-42".into()
            }
            Self::TooMany { most } => format!("expected at most {most} bad blocks"),
            Self::Metadata(problem) => problem.help(),
        }
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotText => f.write_str("the file is not UTF-8 text"),
            Self::Fields { found } => write!(f, "the line has {found} fields"),
            Self::Field { name, found, .. } => write!(f, "{name} cannot be `{found}`"),
            Self::Outside { path } => write!(f, "`{path}` is no name in the tree"),
            Self::NoFolder { path, folder, is_other: false } => {
                write!(f, "there is no folder `{folder}` for `{path}`")
            }
            Self::NoFolder { path, folder, is_other: true } => {
                write!(f, "`{folder}` is no folder, so `{path}` cannot be in it")
            }
            Self::NoFile { path } => write!(f, "there is no file `{path}`"),
            Self::Type { path, found, expected } => {
                write!(f, "`{path}` is {found}, not {expected}")
            }
            Self::Block { found } => write!(f, "`{found}` is no block"),
            Self::TooMany { .. } => f.write_str("these are too many bad blocks"),
            Self::Metadata(problem) => problem.fmt(f),
        }
    }
}
