//! A finding of a check, with its place.
//!
//! Layer: rank 7. Main types: [`Finding`], [`Severity`], [`Place`].

use crate::places::Places;
use boardlab_sim::Bytes;
use std::fmt;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something is lost, wrong or unreadable.
    Error,
    /// Nothing is lost, but it should not be so, or Linux will repair it.
    Warning,
    /// Worth knowing.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// Where a finding is, as far as it has a place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Place {
    /// The volume of UBI.
    pub volume: Option<String>,
    /// The erase block.
    pub block: Option<u64>,
    /// The page in the block.
    pub page: Option<u64>,
    /// The byte in the file.
    pub at: Option<Bytes>,
    /// The logical erase block.
    pub leb: Option<u32>,
    /// The byte in the logical erase block.
    pub offset: Option<u32>,
}

impl Place {
    /// The place of a byte on the flash.
    #[must_use]
    pub fn of(places: &Places, at: Bytes) -> Self {
        let (block, page) = (Some(places.block(at)), places.page(at));
        Self { block, page, at: Some(places.in_file(at)), ..Self::default() }
    }
}

/// Something that a check has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Where it is.
    pub place: Place,
    /// What it is about.
    pub what: String,
    /// What is there.
    pub found: String,
    /// What should be there, or what Linux does about it.
    pub expected: String,
}

impl Finding {
    /// A finding without a place.
    pub(crate) fn new(
        severity: Severity,
        what: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        let (what, found, expected) = (what.into(), found.into(), expected.into());
        Self { severity, place: Place::default(), what, found, expected }
    }

    /// The same at a place.
    pub(crate) fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }
}
