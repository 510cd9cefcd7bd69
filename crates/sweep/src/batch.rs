//! A sweep in batches, which other processes run, on this machine or on others.
//!
//! Layer: rank 10. Main type: [`Batches`]. Every process makes the same one from the same [`Order`], runs
//! the points that it is given, and hands their lines back: the lines of a journal without its checksums.
//! The result of all lines is that of [`sweep`](crate::sweep()), to the byte. Where the lines are kept, and
//! who runs which points, is up to the caller.

use crate::crew;
use crate::figures::{Line, Outcome};
use crate::journal::Journal;
use crate::plan::{Plan, pool};
use crate::problem::{GridProblem, POINTS_MAX};
use crate::{Order, Wanted, summary};
use boardlab_codec::crc32;
use boardlab_document::error::Error;
use boardlab_experiment::Failure;
use boardlab_result::{RunResult, Value};
use std::num::NonZeroUsize;
use std::ops::Range;

/// The most points of a sweep in batches.
pub const POINTS: usize = 1_000_000_000;

/// The points that are checked before any runs, where there are more than a sweep of one process has.
const CHECKED: usize = 10_000;

/// A sweep in batches.
#[derive(Debug)]
pub struct Batches<'o> {
    plan: Plan<'o>,
}

/// A point that has run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointRecord {
    /// Its number, from 0.
    pub point: usize,
    /// Its line, as JSON.
    pub line: String,
    /// Whether it failed.
    pub is_failed: bool,
}

impl<'o> Batches<'o> {
    /// Reads `order`, of which journal, threads and cells count for nothing. No point is checked.
    ///
    /// # Errors
    /// [`Failure::Input`] for the scenario and the grid.
    pub fn plan(order: &Order<'o>) -> Result<Self, Failure> {
        Ok(Self { plan: Plan::make(order, POINTS)? })
    }

    /// Checks the points before any runs: all of them where [`sweep`](crate::sweep()) would, else every
    /// written value and both ends of every range, each with the first values of the other keys. Returns a
    /// checksum of their inputs, files that they name included.
    ///
    /// # Errors
    /// [`Failure::Input`]: that of the first wrong point, and keys that none of the points uses.
    pub fn check(&self, threads: Option<NonZeroUsize>) -> Result<u32, Failure> {
        let pool = pool(threads.map_or(0, NonZeroUsize::get))?;
        let points: Vec<usize> = match self.count() {
            few if few <= POINTS_MAX => (0..few).collect(),
            _ => self.corners(),
        };
        let checked = self.plan.check_points(&pool, &points)?;
        let sum = |all, (one, _): (u32, _)| crc32(all, &one.to_le_bytes());
        Ok(checked.into_iter().fold(0, sum))
    }

    /// The points with one value of the corners of an axis, and the first of all others.
    fn corners(&self) -> Vec<usize> {
        let mut points = vec![0, self.count() - 1];
        let mut step = self.count();
        for axis in &self.plan.grid.axes {
            step /= axis.count();
            points.extend(axis.corners().into_iter().map(|value| value * step));
        }
        points.sort_unstable();
        points.dedup();
        points.truncate(CHECKED);
        points
    }

    /// The number of points.
    #[must_use]
    pub fn count(&self) -> usize {
        self.plan.grid.count()
    }

    /// The name of the scenario, as results carry it.
    #[must_use]
    pub fn scenario(&self) -> &str {
        &self.plan.scenario
    }

    /// The keys of the grid, the slowest first.
    #[must_use]
    pub fn keys(&self) -> Vec<&str> {
        self.plan.grid.axes.iter().map(|axis| axis.key.as_str()).collect()
    }

    /// The values of a point, one for each key.
    ///
    /// # Panics
    /// When there is no such point.
    #[must_use]
    pub fn values(&self, point: usize) -> Vec<Value> {
        self.plan.grid.cells(point).into_iter().map(|(_, value)| value).collect()
    }

    /// The point for people: `linux.wait=170us seed=2`.
    ///
    /// # Panics
    /// When there is no such point.
    #[must_use]
    pub fn label(&self, point: usize) -> String {
        self.plan.grid.label(point)
    }

    /// Runs some points, one after the other, in the threads of the caller's pool. One that fails, or panics,
    /// has its message in its line. `done` is called after each.
    ///
    /// # Errors
    /// [`Failure::Stopped`]; [`Failure::Input`] for points that there are not.
    pub fn run(
        &self,
        points: Range<usize>,
        mut done: impl FnMut(usize),
    ) -> Result<Vec<PointRecord>, Failure> {
        if points.end > self.count() || points.start > points.end {
            return Err(GridProblem::no_points(&points, self.count()).at(None).into());
        }
        let mut records = Vec::with_capacity(points.len());
        for point in points {
            let outcome = crew::outcome(&self.plan, point);
            self.plan.stop().check()?;
            let is_failed = matches!(outcome, Outcome::Failed(_));
            let line = Line { point, outcome }.write();
            records.push(PointRecord { point, line, is_failed });
            done(point);
        }
        Ok(records)
    }

    /// The result of all points by their lines, in order; `cells` are the figures for the table.
    ///
    /// # Errors
    /// [`Failure::Input`]: a line is damaged or missing, or no point has a cell; more points than one result
    /// holds.
    pub fn result(
        &self,
        lines: impl IntoIterator<Item = String>,
        cells: &[String],
    ) -> Result<RunResult, Failure> {
        let count = self.count();
        if count > POINTS_MAX {
            return Err(GridProblem::too_many(count as u128, POINTS_MAX).at(None).into());
        }
        let wanted = cells.iter().map(|cell| Wanted::parse(cell)).collect::<Result<Vec<_>, _>>()?;
        let mut journal = Journal::in_memory(count);
        let mut next = 0;
        for text in lines {
            let line = Line::read(text.as_bytes()).filter(|line| line.point == next);
            let line = line.filter(|line| line.point < count);
            let Some(line) = line else { return Err(damaged(next).into()) };
            journal.append(&line)?;
            next += 1;
        }
        if next < count {
            return Err(damaged(next).into());
        }
        Ok(summary::summary(&self.plan, &wanted, journal)?)
    }
}

fn damaged(point: usize) -> Error {
    GridProblem::no_line(point).at(None)
}

#[cfg(test)]
mod tests;
