//! What an exploration found: by kind of operation and by outcome, how many cuts there were and how many
//! lost something.
//!
//! Layer: rank 6. Main types: [`Matrix`], [`Tally`], [`Failure`].

use super::check::Loss;
use boardlab_mtd::{Kind, Torn};
use std::collections::BTreeMap;
use std::fmt;

/// Cuts of one kind and outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// How many were made.
    pub cuts: u64,
    /// After how many of them something was wrong.
    pub failed: u64,
}

/// Where the power was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Where {
    /// The operation, counted from zero.
    pub number: u64,
    /// How it was torn.
    pub torn: Torn,
}

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {} {}", self.number, self.torn.name())
    }
}

/// A cut after which something was wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The cut.
    pub at: Where,
    /// The cut during the recovery from it, when that was the one.
    pub second: Option<Where>,
    /// What was wrong.
    pub loss: Loss,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.at)?;
        if let Some(second) = self.second {
            write!(f, ", then in the recovery {second}")?;
        }
        write!(f, ": {}", self.loss)
    }
}

/// All cuts of an exploration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    /// Cuts of the run, by kind of operation and outcome.
    pub first: BTreeMap<(Kind, Torn), Tally>,
    /// Cuts of a recovery.
    pub second: BTreeMap<(Kind, Torn), Tally>,
    /// How often the run went on from one of its cuts.
    pub lives: u64,
    /// How many erases of the run said that they were done and were not.
    pub brownouts: u64,
    /// The first failures, in the order of the run.
    pub failures: Vec<Failure>,
}

impl Matrix {
    /// At most so many failures are kept; all are counted.
    pub const FAILURES_MAX: usize = 20;

    /// All cuts of the run.
    #[must_use]
    pub fn cuts(&self) -> u64 {
        self.first.values().map(|tally| tally.cuts).sum()
    }

    /// All cuts of recoveries.
    #[must_use]
    pub fn second_cuts(&self) -> u64 {
        self.second.values().map(|tally| tally.cuts).sum()
    }

    /// All cuts after which something was wrong.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.first.values().chain(self.second.values()).map(|tally| tally.failed).sum()
    }

    pub(super) fn count(&mut self, second: bool, kind: Kind, torn: Torn, failure: Option<Failure>) {
        let table = if second { &mut self.second } else { &mut self.first };
        let tally = table.entry((kind, torn)).or_default();
        tally.cuts += 1;
        let Some(failure) = failure else { return };
        tally.failed += 1;
        if self.failures.len() < Self::FAILURES_MAX {
            self.failures.push(failure);
        }
    }
}
