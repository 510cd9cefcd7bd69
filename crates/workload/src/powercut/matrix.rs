//! The result of an exploration: the number of cuts, and of cuts with losses, by kind of operation
//! and outcome.
//!
//! Layer: rank 6. Main types: [`Matrix`], [`Tally`], [`Failure`], [`Mounts`].

use super::check::Loss;
use boardlab_mtd::{Kind, TearOutcome};
use boardlab_sim::Duration;
use std::collections::BTreeMap;
use std::fmt;

/// Cuts of one kind and outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// The number of cuts.
    pub cuts: u64,
    /// The number of cuts with a violation.
    pub failed: u64,
}

/// Where the power was cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CutPoint {
    /// The operation, counted from zero.
    pub number: u64,
    /// How it was torn.
    pub torn: TearOutcome,
}

impl fmt::Display for CutPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {} {}", self.number, self.torn.name())
    }
}

/// A cut with a violation.
#[derive(Debug, Clone, PartialEq)]
pub struct Failure {
    /// The cut.
    pub at: CutPoint,
    /// The cut during the recovery from it, if the violation followed that.
    pub second: Option<CutPoint>,
    /// The violation.
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

/// Mounts of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mounts {
    /// How many.
    pub count: u64,
    /// The time of all.
    pub total: Duration,
    /// The time of the longest.
    pub longest: Duration,
}

impl Mounts {
    /// The mean, to the nanosecond below; `None` without any.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        self.total.as_nanos().checked_div(self.count).map(Duration::from_nanos)
    }

    pub(super) fn record(&mut self, time: Duration) {
        self.count += 1;
        self.total += time;
        self.longest = self.longest.max(time);
    }
}

/// All cuts of an exploration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Matrix {
    /// Cuts of the run, by kind of operation and outcome.
    pub first: BTreeMap<(Kind, TearOutcome), Tally>,
    /// Cuts of a recovery.
    pub second: BTreeMap<(Kind, TearOutcome), Tally>,
    /// Violations by what was lost, see [`Loss::what`].
    pub losses: BTreeMap<&'static str, u64>,
    /// The first mount after each cut of the run that showed what may be true.
    pub after_cuts: Mounts,
    /// Mounts after an unmount, of some of these flashes a little later.
    pub after_unmounts: Mounts,
    /// How often the run continued from one of its cuts.
    pub lives: u64,
    /// How many erases of the run reported success but were incomplete.
    pub brownouts: u64,
    /// The first failures, in the order of the run.
    pub failures: Vec<Failure>,
    /// After so many operations on the flash the run could not go on: an action failed, after a cut.
    pub ended: Option<u64>,
}

impl Matrix {
    /// The limit of failures that are kept; all are counted.
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

    /// All cuts with a violation.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.first.values().chain(self.second.values()).map(|tally| tally.failed).sum()
    }

    pub(super) fn count(
        &mut self,
        second: bool,
        kind: Kind,
        torn: TearOutcome,
        failure: Option<Failure>,
    ) {
        let table = if second { &mut self.second } else { &mut self.first };
        let tally = table.entry((kind, torn)).or_default();
        tally.cuts += 1;
        let Some(failure) = failure else { return };
        tally.failed += 1;
        *self.losses.entry(failure.loss.what()).or_default() += 1;
        if self.failures.len() < Self::FAILURES_MAX {
            self.failures.push(failure);
        }
    }
}
