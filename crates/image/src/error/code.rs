//! Why a layout or a code is not that of an image.
//!
//! Layer: rank 7. Main type: [`CodeError`].

use crate::controller::ALL;
use std::fmt;

/// Why a layout or a code is not that of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CodeError {
    /// There is no layout of this name.
    NoLayout {
        /// The name.
        name: String,
    },
    /// The pages have no such code.
    NoCode {
        /// The options that say which.
        wanted: String,
        /// What the pages have, in a sentence.
        why: String,
        /// The options that say what was found instead, and why.
        found: Option<(String, String)>,
    },
}

impl CodeError {
    /// What would fit.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::NoLayout { .. } => {
                let names: Vec<_> = ALL.iter().map(|layout| layout.name).collect();
                format!("the layouts are {}", names.join(", "))
            }
            Self::NoCode { found: Some((options, reason)), .. } => {
                format!("leave out --spare and --ecc, or give {options}: {reason}")
            }
            Self::NoCode { found: None, .. } => {
                "leave out --spare and --ecc; a file that does not begin with a page is to be cut there".into()
            }
        }
    }
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLayout { name } => write!(f, "there is no layout `{name}`"),
            Self::NoCode { wanted, why, .. } => {
                write!(f, "the pages have no code that {wanted} means: {why}")
            }
        }
    }
}

impl std::error::Error for CodeError {}
