//! Why a path within an image, or a pattern of paths, does not lead to what was asked for.
//!
//! Layer: rank 7. Main type: [`PathProblem`].

use crate::names::shown;
use std::fmt;

/// Why a path does not lead to what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathProblem {
    /// A pattern of names is none.
    Pattern {
        /// What is wrong with it.
        problem: String,
    },
    /// No name matches the pattern.
    NoMatch,
    /// What has the path has no content.
    NoContent {
        /// The path.
        path: Vec<u8>,
        /// What it is.
        found: String,
    },
    /// A file is larger than is allowed.
    LargeFile {
        /// The path.
        path: Vec<u8>,
        /// Its bytes.
        size: u64,
        /// The most.
        limit: u64,
    },
}

impl PathProblem {
    pub(super) fn help(&self) -> String {
        let help = match self {
            Self::Pattern { .. } => {
                "patterns have * ? [a-z] {a,b} and **; \\x2a is an asterisk itself"
            }
            Self::NoMatch => "`boardlab image ls FILE` lists all; ** stands for any folders",
            Self::NoContent { .. } => "name a regular file; `boardlab image ls FILE` lists them",
            Self::LargeFile { .. } => "allow more by --max-size",
        };
        help.into()
    }
}

impl fmt::Display for PathProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pattern { problem } => write!(f, "the pattern is none: {problem}"),
            Self::NoMatch => f.write_str("no name matches the pattern"),
            Self::NoContent { path, found } => write!(f, "`{}` {found}", shown(path)),
            Self::LargeFile { path, size, limit } => {
                write!(f, "`{}` has {size} bytes, holes counted, of at most {limit}", shown(path))
            }
        }
    }
}
