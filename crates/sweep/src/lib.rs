//! Sweeps: one scenario at every point of a grid, on all cores, to be gone on with after a kill.
//!
//! Layer: rank 10. Main types: [`Order`], what is asked for, and [`Swept`], what comes of it. In
//! reading order: `grid` (keys, values, points), `plan` (every point is checked before any is
//! run), `figures` (what is kept of a point), `record` (as a line with its checksum), `journal`
//! (the file of them), `crew` (the threads), `summary` and `charts` (the result).
//!
//! The result is made from the journal alone, in the order of the grid, so it is the same whether
//! the sweep was killed or not and however many threads ran it. The experiments are the caller's:
//! this crate knows none. Left out: verdicts, for a published figure is about one point at most, and
//! searching for a best point.

mod charts;
mod crew;
mod figures;
mod grid;
mod journal;
mod plan;
mod problem;
mod record;
mod summary;

pub use grid::POINTS_MAX;
pub use problem::{GridProblem, JournalProblem, LineFlaw};
pub use record::Damage;

use boardlab_document::error::Error;
use boardlab_document::source::{CELL, Place, Source};
use boardlab_experiment::{Experiment, Failure, Progress};
use boardlab_result::RunResult;
use boardlab_sim::Seed;
use figures::{Figures, Outcome};
use journal::Journal;
use plan::Plan;
use record::{Contents, Found};
use std::collections::BTreeSet;
use std::io::BufRead;
use std::num::NonZeroUsize;
use std::path::Path;

/// A sweep to be made.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    /// All that a scenario can be.
    pub experiments: &'static [Experiment],
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
    /// Told in a sentence, before any point is run, about every line of the journal that is not
    /// believed.
    pub warn: &'a (dyn Fn(&str) + Sync),
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
/// [`Failure::Input`] before any point is run, when the grid, a value at any point or the journal
/// is wrong, and after the first point that does not fail, when a cell is one that no point has;
/// [`Failure`] when the journal cannot be written any more.
pub fn sweep(order: &Order<'_>) -> Result<Swept, Failure> {
    let wanted =
        order.cells.iter().map(|cell| Wanted::parse(cell)).collect::<Result<Vec<_>, _>>()?;
    let plan = Plan::make(order)?;
    let points = plan.grid.count();
    let mut journal = match order.journal {
        None => Journal::in_memory(points),
        Some(path) => {
            let tell = |contents: &Contents| warn(order, &plan, path, contents);
            Journal::open(path, &plan.header, order.restart, &tell)?
        }
    };
    let resumed = points - journal.rest().len();
    if !wanted.is_empty() {
        journal = check_cells(order, &plan, &wanted, journal)?;
    }
    let rest = journal.rest();
    let journal = crew::run(order, &plan, &rest, journal)?;
    let result = summary::summary(&plan, &wanted, journal)?;
    Ok(Swept { result, resumed, points })
}

/// A cell that the user names.
struct Wanted<'a> {
    /// As it is written.
    name: &'a str,
    place: Place,
}

impl<'a> Wanted<'a> {
    /// A cell is named by a table, a row and a column; the row may have slashes of its own.
    fn parse(cell: &'a str) -> Result<Self, Error> {
        let place = Place::new(&Source::argument(CELL, cell), 0..cell.len());
        let parts = cell.split('/');
        match parts.clone().count() >= 3 && parts.clone().all(|part| !part.trim().is_empty()) {
            true => Ok(Self { name: cell, place }),
            false => Err(GridProblem::NoCell.at(Some(place))),
        }
    }

    /// The error that none of `names` is meant.
    fn unknown(&self, names: impl Iterator<Item = String>) -> Error {
        let (place, found) = (Some(self.place.clone()), self.name.into());
        Error::UnknownName { place, what: "cell", found, names: names.collect() }
    }
}

/// Refuses a cell that no point on record has; without any on record, the first one is run for
/// that, alone, so that a slip costs one point however many cores there are. The journal has all
/// cells: the sweep goes on under other names.
fn check_cells(
    order: &Order<'_>,
    plan: &Plan,
    wanted: &[Wanted<'_>],
    mut journal: Journal,
) -> Result<Journal, Failure> {
    let mut names = BTreeSet::new();
    for point in 0..plan.grid.count() {
        if let Some(line) = journal.line(point)?
            && let Outcome::Done(Figures { cells, .. }) = line.outcome
        {
            names.extend(cells.into_keys());
        }
    }
    // Nothing is known of names while every point fails.
    for point in journal.rest() {
        if !names.is_empty() {
            break;
        }
        journal = crew::run(order, plan, &[point], journal)?;
        if let Some(line) = journal.line(point)?
            && let Outcome::Done(Figures { cells, .. }) = line.outcome
        {
            names.extend(cells.into_keys());
        }
    }
    let lacks = |wanted: &&Wanted<'_>| !names.iter().any(|name| figures::means(wanted.name, name));
    match wanted.iter().find(lacks) {
        Some(wanted) if !names.is_empty() => Err(wanted.unknown(names.into_iter()).into()),
        _ => Ok(journal),
    }
}

/// Tells what of the journal at `path` is not believed.
fn warn(order: &Order<'_>, plan: &Plan, path: &Path, contents: &Contents) {
    let path = path.display();
    for Damage { line, point, flaw } in &contents.damage {
        let named = point.map(|point| format!("point {} ({})", point + 1, plan.grid.label(point)));
        let again = point.is_none_or(|point| contents.lines[point].is_none());
        let point = named.as_deref().unwrap_or("its point");
        let rest = match flaw {
            LineFlaw::Doubled { .. } => format!("neither is believed, and {point} is run again"),
            LineFlaw::Torn => format!("it is cut off, and {point} is run again"),
            _ if again => format!("it is dropped, and {point} is run again"),
            _ => format!("it is dropped; {point}, which it names, has another line"),
        };
        let what = match flaw {
            LineFlaw::Doubled { .. } => "is doubled",
            LineFlaw::Torn => "is not whole, as after a kill",
            _ => "is damaged",
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

/// What of a journal can be believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Believed {
    /// The points that are on record, from 0, in order.
    pub done: Vec<usize>,
    /// How many points the sweep has.
    pub points: usize,
    /// The first lines that are damaged, doubled or torn, in order.
    pub damage: Vec<Damage>,
}

/// Reads the journal of any sweep; `None` where no point can be on record yet.
///
/// # Errors
/// [`JournalProblem`] when its first line cannot be gone by, or `reader` fails.
pub fn read_journal(reader: impl BufRead) -> Result<Option<Believed>, JournalProblem> {
    let Found::Contents(contents) = record::scan(reader)? else { return Ok(None) };
    let Contents { lines, damage, .. } = *contents;
    let (points, done) = (lines.len(), lines.iter().enumerate());
    let done = done.filter(|(_, line)| line.is_some()).map(|(point, _)| point).collect();
    Ok(Some(Believed { done, points, damage }))
}
