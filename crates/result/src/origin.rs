//! The origin of an input.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The origin of a parameter's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Printed in the part's or the board's data sheet.
    Datasheet,
    /// A published figure that is an input.
    Published,
    /// Computed from other parameters.
    Derived,
    /// Measured on a device.
    Measured,
    /// Not known to be published: a reasoned guess, or set on the command line.
    Assumed,
    /// Chosen so that a result agrees with a published figure.
    Fitted,
}

impl Origin {
    /// All origins, as they are written in files.
    pub const NAMES: [(&'static str, Self); 6] = [
        ("datasheet", Self::Datasheet),
        ("published", Self::Published),
        ("derived", Self::Derived),
        ("measured", Self::Measured),
        ("assumed", Self::Assumed),
        ("fitted", Self::Fitted),
    ];
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::NAMES.iter().find(|(_, origin)| origin == self).map(|(name, _)| *name);
        f.pad(name.expect("every origin has a name"))
    }
}

/// One input of a run: its key, its value as written, and its origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The key for `--set`.
    pub key: String,
    /// The value as written, with its unit.
    pub value: String,
    /// The origin.
    pub origin: Origin,
    /// The source: document and section.
    pub source: String,
}
