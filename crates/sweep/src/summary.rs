//! The result of a sweep: a row for each point with the figures that the user chose or that differ, and
//! every figure as an attachment.
//!
//! Layer: rank 10. Functions: [`summary`], and `choose`, which selects the figures for the table. The
//! journal is read twice, in the order of the grid, so that a figure of a point is in memory only
//! as its cell.

use crate::Wanted;
use crate::charts;
use crate::figures::{Figures, Outcome, means};
use crate::journal::Journal;
use crate::plan::Plan;
use boardlab_document::error::Error;
use boardlab_experiment::VERSION;
use boardlab_result::csv;
use boardlab_result::prose::{MIB, counted};
use boardlab_result::{
    Attachment, Cell, Origin, Parameter, Row, RunResult, Table, Unit, Value, Verdict,
};
use boardlab_sim::{Bytes, Duration};
use indexmap::IndexMap;
use std::borrow::Cow;

/// The most figures in the table if the user chooses none: as many as a terminal shows beside the keys.
const CHOSEN_MAX: usize = 6;

/// The row with the totals of an experiment's table.
const TOTAL: &str = "total";

/// The attachment with every figure.
const ATTACHMENT: &str = "points.csv";

/// One figure over all points.
#[derive(Debug)]
struct FigureRange {
    first: Value,
    differs: bool,
    points: usize,
}

/// The figures of all points.
#[derive(Debug, Default)]
struct Overview {
    figures: IndexMap<String, FigureRange>,
    done: usize,
    failed: usize,
    virtual_time_ns: u64,
}

impl Overview {
    fn add(&mut self, outcome: &Outcome) {
        let Outcome::Done(Figures { virtual_time_ns, cells }) = outcome else {
            self.failed += 1;
            return;
        };
        self.done += 1;
        self.virtual_time_ns = self.virtual_time_ns.saturating_add(*virtual_time_ns);
        for (name, figure) in cells {
            let Some(value) = figure.value() else { continue };
            let new = || FigureRange { first: value.clone(), differs: false, points: 0 };
            let seen = self.figures.entry(name.clone()).or_insert_with(new);
            seen.points += 1;
            seen.differs |= seen.first != value;
        }
    }

    /// Whether the figure differs between points.
    fn differs(&self, seen: &FigureRange) -> bool {
        seen.differs || seen.points < self.done
    }
}

/// The result of `plan`, all of whose points are in `journal`; `wanted` are the cells that the
/// user named.
pub(super) fn summary(
    plan: &Plan<'_>,
    wanted: &[Wanted<'_>],
    mut journal: Journal,
) -> Result<RunResult, Error> {
    let count = plan.grid.count();
    let mut overview = Overview::default();
    for point in 0..count {
        if let Some(line) = journal.line(point)? {
            overview.add(&line.outcome);
        }
    }
    let chosen = choose(&overview, wanted)?;
    let keys: Vec<&str> = plan.grid.axes.iter().map(|axis| axis.key.as_str()).collect();
    let title = format!("Sweep over {}: {}", keys.join(", "), counted(count, "point"));
    let seed = plan.grid.seed(0).get();
    let mut run = RunResult::new(&plan.scenario, &title, seed, VERSION);
    run.warnings.extend(plan.renamed.iter().map(ToString::to_string));
    run.virtual_time_ns = overview.virtual_time_ns;
    run.parameters = parameters(plan);
    let mut table = table(&keys, &chosen, overview.failed > 0);
    let mut csv = String::new();
    let names = keys.iter().copied().chain(overview.figures.keys().map(String::as_str));
    csv::line(&mut csv, ["point"].into_iter().chain(names).chain(["failure"]).map(Cow::Borrowed));
    for point in 0..count {
        let Some(line) = journal.line(point)? else { continue };
        push(&mut csv, plan, point, &line.outcome, &overview);
        table.rows.push(row(plan, point, &line.outcome, &chosen));
    }
    tell(&mut run, plan, &table, &chosen, (&overview, wanted.is_empty()));
    charts::charts(&mut run, plan, &table, &chosen);
    run.tables.push(table);
    let title = "every figure of every point".into();
    run.attachments.push(Attachment { name: ATTACHMENT.into(), title, text: csv });
    Ok(run)
}

/// The figures for the table: those that the user named, or of those that differ the sums of the
/// experiment's tables, or the first ones where no sum differs.
fn choose(overview: &Overview, wanted: &[Wanted<'_>]) -> Result<Vec<String>, Error> {
    let mut chosen: Vec<String> = Vec::new();
    for cell in wanted {
        let found = overview.figures.keys().find(|name| means(cell.name, name));
        // Nothing is known of names where every point failed.
        let name = match found {
            Some(name) => name.clone(),
            None if overview.done == 0 => cell.name.to_owned(),
            None => return Err(cell.unknown(overview.figures.keys().cloned())),
        };
        if !chosen.contains(&name) {
            chosen.push(name);
        }
    }
    if !wanted.is_empty() {
        return Ok(chosen);
    }
    let is_total =
        |name: &str| name.split('/').nth(1) == Some(TOTAL) && name.matches('/').count() == 2;
    let names = |must_differ: bool, must_be_total: bool| -> Vec<&String> {
        let all = overview.figures.iter();
        let fits = all.filter(|(name, seen)| {
            (overview.differs(seen) || !must_differ) && (is_total(name) || !must_be_total)
        });
        fits.map(|(name, _)| name).collect()
    };
    let preferred = [(true, true), (true, false), (false, true), (false, false)];
    let names = preferred.map(|(differ, total)| names(differ, total));
    let names = names.into_iter().find(|names| !names.is_empty()).unwrap_or_default();
    Ok(names.into_iter().take(CHOSEN_MAX).cloned().collect())
}

/// The keys with their values, and what `--set` gave.
fn parameters(plan: &Plan<'_>) -> Vec<Parameter> {
    let parameter = |key: &str, value: String, source: &str| Parameter {
        key: key.into(),
        value,
        origin: Origin::Assumed,
        source: source.into(),
    };
    let set = plan.set.iter().map(|one| parameter(&one.path(), one.node().written(), "--set"));
    let axes = plan.grid.axes.iter();
    let axes = axes.map(|axis| parameter(&axis.key, axis.written().join(", "), "--grid"));
    set.chain(axes).collect()
}

fn table(keys: &[&str], chosen: &[String], failed: bool) -> Table {
    let mut table = Table::new("sweep", "Points of the grid");
    for key in keys {
        table = table.column(*key, *key);
    }
    for name in chosen {
        // As `--cell` takes it.
        table = table.column(name, name);
    }
    if failed { table.column("failure", "failure") } else { table }
}

fn row(plan: &Plan<'_>, point: usize, outcome: &Outcome, chosen: &[String]) -> Row {
    let mut row = Row::new((point + 1).to_string(), "");
    for (key, value) in plan.grid.cells(point) {
        row = row.cell(key, Cell::new(value));
    }
    match outcome {
        Outcome::Done(_) => chosen.iter().fold(row, |row, name| {
            row.cell(name, Cell::new(value(outcome, name).unwrap_or(Value::None)))
        }),
        Outcome::Failed(message) => {
            let verdict = Some(Verdict::Fail);
            row.cell("failure", Cell { verdict, ..Cell::text(message.as_str()) })
        }
    }
}

/// Adds findings and warnings.
fn tell(
    run: &mut RunResult,
    plan: &Plan<'_>,
    table: &Table,
    chosen: &[String],
    (overview, by_itself): (&Overview, bool),
) {
    for name in chosen {
        if let Some(extremes) = extremes(plan, table, name) {
            run.find(extremes);
        }
    }
    let differ = overview.figures.values().filter(|seen| overview.differs(seen)).count();
    let verb = if differ == 1 { "differs" } else { "differ" };
    let figures = counted(overview.figures.len(), "figure");
    // The result is the same with and without a folder.
    let all = format!("--out DIR writes all to {ATTACHMENT}.");
    run.find(match overview.done {
        0 => String::from("No point completed, so no figure is known."),
        1 => format!("Only 1 point completed, so its {figures} cannot be compared. {all}"),
        _ => format!("{differ} of {figures} {verb} between points. {all}"),
    });
    if by_itself && differ > chosen.len() {
        run.find(
            "--cell TABLE/ROW/COLUMN chooses other figures; with --out, completed points are not run again.",
        );
    }
    if overview.failed > 0 {
        let (failed, count) = (overview.failed, plan.grid.count());
        let (points, their) = (
            counted(count, "point"),
            if failed == 1 { "its message is" } else { "their messages are" },
        );
        run.warnings.push(format!("{failed} of {points} failed; {their} in the table."));
    }
}

/// The points at which the figure `name` is lowest and highest; `None` if it is the same everywhere.
fn extremes(plan: &Plan<'_>, table: &Table, name: &str) -> Option<String> {
    let value = |row: &Row| row.cells.get(name).and_then(|cell| cell.value.as_f64());
    let rows = table.rows.iter().enumerate();
    let known: Vec<_> = rows.filter_map(|(point, row)| Some((point, value(row)?))).collect();
    // The first of equal ones.
    let low = known.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let high = known.iter().rev().max_by(|a, b| a.1.total_cmp(&b.1))?;
    let told = |point: usize| {
        let value = figure(&table.rows[point].cells.get(name)?.value, name);
        Some(format!("{value} at {}", plan.grid.label(point)))
    };
    (low.1 < high.1).then_some(())?;
    Some(format!("{name} is lowest, {}, and highest, {}.", told(low.0)?, told(high.0)?))
}

/// A figure with its unit.
fn figure(value: &Value, name: &str) -> String {
    match (Unit::of_key(name), value) {
        (Unit::Nanoseconds, Value::Int(nanos)) if *nanos >= 0 => {
            Duration::from_nanos(nanos.unsigned_abs()).to_string()
        }
        (Unit::Bytes, Value::Int(bytes)) if *bytes >= 0 => {
            Bytes::new(bytes.unsigned_abs()).to_string()
        }
        (Unit::BytesPerSecond, value) => {
            format!("{:.2} MiB/s", value.as_f64().unwrap_or_default() / MIB)
        }
        (Unit::Ratio | Unit::Deviation, value) => {
            format!("{:.2} %", value.as_f64().unwrap_or_default() * 100.0)
        }
        (_, value) => plain(value),
    }
}

/// A value without its unit.
fn plain(value: &Value) -> String {
    match value {
        Value::Int(number) => number.to_string(),
        Value::Real(number) => number.to_string(),
        Value::Text(text) => text.clone(),
        Value::None => String::new(),
    }
}

/// Adds the figures of a point to the attachment.
fn push(csv: &mut String, plan: &Plan<'_>, point: usize, outcome: &Outcome, overview: &Overview) {
    let keys = plan.grid.cells(point).into_iter().map(|(_, value)| plain(&value));
    let figure = |name: &String| value(outcome, name).as_ref().map_or_else(String::new, plain);
    let failure = match outcome {
        Outcome::Done(_) => String::new(),
        Outcome::Failed(message) => message.clone(),
    };
    let number = [(point + 1).to_string()].into_iter();
    let fields = number.chain(keys).chain(overview.figures.keys().map(figure)).chain([failure]);
    csv::line(csv, fields.map(Cow::Owned));
}

/// The figure `name` of a point; `None` where it has none.
fn value(outcome: &Outcome, name: &str) -> Option<Value> {
    match outcome {
        Outcome::Done(figures) => figures.cells.get(name)?.value(),
        Outcome::Failed(_) => None,
    }
}
