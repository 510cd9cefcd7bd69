//! Sweeps: one scenario at every point of a grid, on all cores, to be gone on with after a kill.
//!
//! Layer: rank 8. Main types: [`Order`], what is asked for, and [`Swept`], what comes of it. In
//! reading order: `grid` (keys, values, points), `plan` (every point is checked before any is
//! run), `figures` (what is kept of a point), `journal` (where it is kept), `crew` (the threads),
//! `summary` and `charts` (the result).
//!
//! The result is made from the journal alone, in the order of the grid, so it is the same whether
//! the sweep was killed or not and however many threads ran it. What the experiment is, is left to
//! the registry. Left out: verdicts, for a published figure is about one point at most, and
//! searching for a best point.

mod charts;
mod crew;
mod figures;
mod grid;
mod journal;
mod plan;
mod summary;

pub use grid::POINTS_MAX;

use crate::error::{Error, GridProblem};
use crate::registry::{Failure, Progress};
use crate::source::{Place, Source};
use boardlab_result::RunResult;
use boardlab_sim::Seed;
use figures::{Figures, Outcome};
use journal::Journal;
use plan::Plan;
use std::num::NonZeroUsize;
use std::path::Path;

/// A sweep to be made.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// Name of a built-in scenario, or path of a scenario file.
    pub scenario: &'a str,
    /// The arguments of all `--set`, which hold at every point.
    pub set: &'a [String],
    /// The arguments of all `--grid`: `KEY=VALUE,VALUE`.
    pub grid: &'a [String],
    /// Figures for the table and the charts, `TABLE/ROW/COLUMN`; when empty, those that differ.
    pub cells: &'a [String],
    /// The seed of points whose grid names none.
    pub seed: Seed,
    /// Points that are run at once; all cores when `None`.
    pub threads: Option<NonZeroUsize>,
    /// The file that keeps what is done; none, and it is kept in memory.
    pub journal: Option<&'a Path>,
    /// Whether to forget what the journal has.
    pub restart: bool,
    /// Told about every point that was finished, from several threads.
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
}

/// What came of a sweep.
#[derive(Debug)]
pub struct Swept {
    /// The table of all points, charts, and the attachment with every figure.
    pub result: RunResult,
    /// Points that the journal had already.
    pub resumed: usize,
    /// Points in all.
    pub points: usize,
}

/// Runs `order` at every point that its journal does not have, and sums up all of them.
///
/// A point that fails is recorded as failed, and the others are run.
///
/// # Errors
/// [`Failure::Input`] before any point is run, when the grid, a value at any point, the journal or
/// the name of a cell is wrong; [`Failure`] when the journal cannot be written any more.
pub fn sweep(order: &Order<'_>) -> Result<Swept, Failure> {
    let wanted = order.cells.iter().map(|cell| check_form(cell)).collect::<Result<Vec<_>, _>>()?;
    let plan = Plan::make(order)?;
    let points = plan.grid.count();
    let mut journal = match order.journal {
        None => Journal::in_memory(points),
        Some(path) => Journal::open(path, &plan.header, points, order.restart)?,
    };
    if let Some(line) = journal.line(0)? {
        check_cells(&wanted, &line.outcome)?;
    }
    let rest = journal.rest();
    let journal = crew::run(order, &plan, &rest, &wanted, journal)?;
    let result = summary::summary(&plan, &wanted, journal)?;
    Ok(Swept { result, resumed: points - rest.len(), points })
}

/// A cell is named by a table, a row and a column; the row may have slashes of its own.
fn check_form(cell: &str) -> Result<&str, Error> {
    let parts = cell.split('/');
    match parts.clone().count() >= 3 && parts.clone().all(|part| !part.trim().is_empty()) {
        true => Ok(cell),
        false => {
            let place = Place::new(&Source::cell(cell), 0..cell.len());
            Err(Error::Grid { place: Some(place), problem: GridProblem::NoCell })
        }
    }
}

/// Refuses a cell that the first point does not have, so that a slip costs one point only. The
/// journal has all cells: the sweep goes on under other names.
fn check_cells(wanted: &[&str], first: &Outcome) -> Result<(), Error> {
    let Outcome::Done(Figures { cells, .. }) = first else { return Ok(()) };
    let lacks = |wanted: &&&str| !cells.keys().any(|name| figures::means(wanted, name));
    wanted.iter().find(lacks).map_or(Ok(()), |found| Err(unknown_cell(found, cells.keys())))
}

fn unknown_cell<'n>(found: &str, names: impl Iterator<Item = &'n String>) -> Error {
    let names = names.cloned().collect();
    Error::UnknownName { place: None, what: "cell", found: found.into(), names }
}
