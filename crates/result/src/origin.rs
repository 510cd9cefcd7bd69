//! Where an input came from.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a parameter rests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Printed in the part's or the board's data sheet.
    Datasheet,
    /// A figure of the publication that is an input.
    Published,
    /// Computed from other parameters.
    Derived,
    /// Measured on a device.
    Measured,
    /// Printed nowhere that we know of: a reasoned guess, or set on the command line.
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

/// One input of a run: its key, its value as written, and what it rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The key by which `--set` reaches it.
    pub key: String,
    /// The value as written, with its unit.
    pub value: String,
    /// What it rests on.
    pub origin: Origin,
    /// Document and place.
    pub source: String,
}
