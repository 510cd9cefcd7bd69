//! Sweeps: one scenario at every point of a grid, on all cores, resumed after a kill.
//!
//! Layer: rank 10. Main types: [`Order`], the arguments of a sweep, and [`SweepOutcome`], its outcome. In
//! reading order: `grid` (keys, values, points), `plan` (every point is checked before any runs),
//! `figures` (the recorded figures of a point), `record` (their line with its checksum), `journal` (the
//! file of the lines), `crew` (the threads), `summary` and `charts` (the result); [`batch`], the same sweep
//! in batches, which other processes run.
//!
//! The result follows from the journal alone, in the order of the grid. So it depends neither on kills
//! nor on the number of threads. The caller passes the experiments: this crate knows none. Left out:
//! verdicts, since a published figure is about one point at most, and the search for a best point.

pub mod batch;
mod charts;
mod crew;
mod figures;
mod grid;
mod journal;
mod plan;
mod problem;
mod record;
mod summary;

use boardlab_document::error::Error;
use boardlab_document::source::{CELL, Place, Source};
use boardlab_experiment::{Action, Experiment, Failure, Progress, Stop};
use boardlab_result::RunResult;
use boardlab_sim::Seed;
use figures::{Line, Outcome};
use journal::Journal;
use plan::{Plan, pool};
use problem::{GridProblem, LineFlaw, POINTS_MAX};
use record::{Contents, Damage, JournalContent};
use std::collections::BTreeSet;
use std::io::BufRead;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

/// The arguments of a sweep.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// All experiments that a scenario can name.
    pub experiments: &'static [Experiment],
    /// Name of a built-in scenario, or path of a scenario file.
    pub scenario: &'a str,
    /// The text of the scenario, where it was read already; then `scenario` is its name alone.
    pub source: Option<&'a Arc<Source>>,
    /// The arguments of all `--set`, which apply to every point.
    pub set: &'a [String],
    /// The arguments of all `--grid`: `KEY=VALUE,VALUE`.
    pub grid: &'a [String],
    /// Figures for the table and the charts, `TABLE/ROW/COLUMN`; if empty, those that differ.
    pub cells: &'a [String],
    /// What is done at each point.
    pub action: Action,
    /// The seed of all points, unless the grid varies it.
    pub seed: Seed,
    /// The number of threads; that of all cores if `None`.
    pub threads: Option<NonZeroUsize>,
    /// The file of the journal; in memory if `None`.
    pub journal: Option<&'a Path>,
    /// Whether to discard the journal.
    pub restart: bool,
    /// Called after each completed point, from several threads.
    pub progress: &'a (dyn Fn(Progress<'_>) + Sync),
    /// Called before any point runs, with a sentence about each rejected line of the journal.
    pub warn: &'a (dyn Fn(&str) + Sync),
    /// Ends the sweep early. The journal keeps the points that have ended.
    pub stop: &'a Stop,
}

/// The outcome of a sweep.
#[derive(Debug)]
pub struct SweepOutcome {
    /// The table of all points, charts, and the attachment with every figure.
    pub result: RunResult,
    /// The number of points that the journal had already.
    pub resumed: usize,
    /// The number of all points.
    pub points: usize,
}

/// Runs `order` at every point that its journal lacks, and summarises all points.
///
/// A point that fails is recorded as failed, and the others run.
///
/// # Errors
/// [`Failure::Input`] before any point runs, if the grid, a value at a point or the journal is wrong;
/// later, if no point has a requested cell. [`Failure`] if the journal can no longer be written.
pub fn sweep(order: &Order<'_>) -> Result<SweepOutcome, Failure> {
    let wanted =
        order.cells.iter().map(|cell| Wanted::parse(cell)).collect::<Result<Vec<_>, _>>()?;
    let plan = Plan::make(order, POINTS_MAX)?;
    let header = plan.check(&pool(order.threads.map_or(0, NonZeroUsize::get))?)?;
    let points = plan.grid.count();
    let mut journal = match order.journal {
        None => Journal::in_memory(points),
        Some(path) => {
            let tell = |contents: &Contents| warn(order, &plan, path, contents);
            Journal::open(path, &header, order.restart, &tell)?
        }
    };
    let resumed = points - journal.rest().len();
    if !wanted.is_empty() {
        journal = check_cells(order, &plan, &wanted, journal)?;
    }
    let rest = journal.rest();
    let journal = crew::run(order, &plan, &rest, journal)?;
    let result = summary::summary(&plan, &wanted, journal)?;
    Ok(SweepOutcome { result, resumed, points })
}

/// A cell that the user names.
struct Wanted<'a> {
    /// The name as the user writes it.
    name: &'a str,
    place: Place,
}

impl<'a> Wanted<'a> {
    /// Parses the name of a cell: a table, a row and a column. The row may contain slashes.
    fn parse(cell: &'a str) -> Result<Self, Error> {
        let place = Place::new(&Source::argument(CELL, cell), 0..cell.len());
        let parts = cell.split('/');
        match parts.clone().count() >= 3 && parts.clone().all(|part| !part.trim().is_empty()) {
            true => Ok(Self { name: cell, place }),
            false => Err(GridProblem::NO_CELL.at(Some(place))),
        }
    }

    /// The error that the name matches none of `names`.
    fn unknown(&self, names: impl Iterator<Item = String>) -> Error {
        let (place, found) = (Some(self.place.clone()), self.name.into());
        Error::UnknownName { place, what: "cell", found, names: names.collect() }
    }
}

/// Refuses a cell that no recorded point has. If none is recorded, the first point runs alone for that,
/// so that a typing error costs one point however many cores there are. The journal has all cells: the
/// sweep can be resumed with other names.
fn check_cells(
    order: &Order<'_>,
    plan: &Plan<'_>,
    wanted: &[Wanted<'_>],
    mut journal: Journal,
) -> Result<Journal, Failure> {
    let mut names = BTreeSet::new();
    let mut learn = |journal: &mut Journal, point: usize| -> Result<bool, Error> {
        if let Some(Line { outcome: Outcome::Done(figures), .. }) = journal.line(point)? {
            names.extend(figures.cells.into_keys());
        }
        Ok(!names.is_empty())
    };
    let mut is_known = false;
    for point in 0..plan.grid.count() {
        is_known = learn(&mut journal, point)?;
    }
    // Nothing is known of names while every point fails.
    for point in journal.rest() {
        if is_known {
            break;
        }
        journal = crew::run(order, plan, &[point], journal)?;
        is_known = learn(&mut journal, point)?;
    }
    let lacks = |wanted: &&Wanted<'_>| !names.iter().any(|name| figures::means(wanted.name, name));
    match wanted.iter().find(lacks) {
        Some(wanted) if is_known => Err(wanted.unknown(names.into_iter()).into()),
        _ => Ok(journal),
    }
}

/// Warns about the rejected lines of the journal at `path`.
fn warn(order: &Order<'_>, plan: &Plan<'_>, path: &Path, contents: &Contents) {
    let path = path.display();
    for Damage { line, point, flaw } in &contents.damage {
        let named = point.map(|point| format!("point {} ({})", point + 1, plan.grid.label(point)));
        let again = point.is_none_or(|point| contents.lines[point].is_none());
        let again = again || *flaw == LineFlaw::Torn;
        let point = named.as_deref().unwrap_or("its point");
        let (what, done) = match flaw {
            LineFlaw::Doubled(_) => ("is doubled", "neither is believed"),
            LineFlaw::Torn => ("is not whole, as after a kill", "it is cut off"),
            _ => ("is damaged", "it is dropped"),
        };
        let rest = match again {
            true => format!("{done}, and {point} is run again"),
            false => format!("{done}; {point}, which it names, has another line"),
        };
        (order.warn)(&format!("line {line} of `{path}` {what}: {flaw}; {rest}"));
    }
    if contents.hidden > 0 {
        let hidden = contents.hidden;
        (order.warn)(&format!(
            "{hidden} more lines of `{path}` are damaged or doubled, and dropped"
        ));
    }
}

/// The valid content of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidJournal {
    /// The recorded points, from 0, in order.
    pub done: Vec<usize>,
    /// The number of points of the sweep.
    pub points: usize,
    /// The number of lines that are damaged, doubled or torn.
    pub damaged: usize,
}

/// Reads the journal of any sweep; `None` where its first line is missing or damaged, or `reader`
/// fails.
pub fn read_journal(reader: impl BufRead) -> Option<ValidJournal> {
    let JournalContent::Contents(contents) = record::scan(reader).ok()? else { return None };
    let (points, damaged) = (contents.lines.len(), contents.damage.len() + contents.hidden);
    let done = (0..points).filter(|point| contents.lines[*point].is_some()).collect();
    Some(ValidJournal { done, points, damaged })
}
