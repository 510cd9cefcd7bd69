//! The result of a sweep: one row a point, the figures that the user chose or that differ, and
//! every figure as an attachment.
//!
//! Layer: rank 10. Functions: [`summary`], and `choose`, which takes the figures for the table. The
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

/// Figures in the table when the user chooses none: as many as a terminal shows beside the keys.
const CHOSEN_MAX: usize = 6;

/// The row that sums a table of an experiment up.
const TOTAL: &str = "total";

/// The attachment with every figure.
const ATTACHMENT: &str = "points.csv";

/// What is known of one figure over all points.
#[derive(Debug)]
struct Seen {
    first: Value,
    differs: bool,
    points: usize,
}

/// What is known of all points.
#[derive(Debug, Default)]
struct Overview {
    figures: IndexMap<String, Seen>,
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
            let new = || Seen { first: value.clone(), differs: false, points: 0 };
            let seen = self.figures.entry(name.clone()).or_insert_with(new);
            seen.points += 1;
            seen.differs |= seen.first != value;
        }
    }

    /// Whether the figure is not the same at all points.
    fn differs(&self, seen: &Seen) -> bool {
        seen.differs || seen.points < self.done
    }
}

/// The result of `plan`, all of whose points are in `journal`; `wanted` are the cells that the
/// user named.
pub(super) fn summary(
    plan: &Plan,
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
    let mut csv = Csv::new(&keys, &overview);
    for point in 0..count {
        let Some(line) = journal.line(point)? else { continue };
        csv.push(plan, point, &line.outcome, &overview);
        table.rows.push(row(plan, point, &line.outcome, &chosen));
    }
    tell(&mut run, plan, &table, &chosen, (&overview, wanted.is_empty()));
    charts::charts(&mut run, plan, &table, &chosen);
    run.tables.push(table);
    let title = "every figure of every point".into();
    run.attachments.push(Attachment { name: ATTACHMENT.into(), title, text: csv.text });
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
    let all = || overview.figures.iter();
    let differing = || all().filter(|(_, seen)| overview.differs(seen));
    let mut names: Vec<&String> =
        differing().filter(|(name, _)| is_total(name)).map(|(name, _)| name).collect();
    if names.is_empty() {
        names = differing().map(|(name, _)| name).collect();
    }
    if names.is_empty() {
        names = all().filter(|(name, _)| is_total(name)).map(|(name, _)| name).collect();
    }
    if names.is_empty() {
        names = all().map(|(name, _)| name).collect();
    }
    Ok(names.into_iter().take(CHOSEN_MAX).cloned().collect())
}

/// The keys with their values, and what `--set` gave.
fn parameters(plan: &Plan) -> Vec<Parameter> {
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
        // A heading breaks at spaces only.
        table = table.column(name, name.replace('/', "/ "));
    }
    if failed { table.column("failure", "failure") } else { table }
}

fn row(plan: &Plan, point: usize, outcome: &Outcome, chosen: &[String]) -> Row {
    let mut row = Row::new((point + 1).to_string(), "");
    for (key, value) in plan.grid.cells(point) {
        row = row.cell(key, Cell::new(value));
    }
    match outcome {
        Outcome::Done(figures) => {
            for name in chosen {
                let value = figures.cells.get(name).and_then(crate::figures::Figure::value);
                row = row.cell(name, Cell::new(value.unwrap_or(Value::None)));
            }
            row
        }
        Outcome::Failed(message) => {
            let verdict = Some(Verdict::Fail);
            row.cell("failure", Cell { verdict, ..Cell::text(message.as_str()) })
        }
    }
}

/// Findings and warnings.
fn tell(
    run: &mut RunResult,
    plan: &Plan,
    table: &Table,
    chosen: &[String],
    (overview, by_itself): (&Overview, bool),
) {
    for name in chosen {
        if let Some(extremes) = extremes(plan, table, name) {
            run.find(extremes);
        }
    }
    let all = overview.figures.len();
    let differ = overview.figures.values().filter(|seen| overview.differs(seen)).count();
    match (overview.done, differ) {
        (0, _) => run.find(format!("No point was run to its end, so no figure is known; {ATTACHMENT} has the messages.")),
        (1, _) => run.find(format!("Figures of only 1 point are known, {all} of them, and nothing to compare them with; {ATTACHMENT} has all.")),
        (_, 1) => run.find(format!("Of {} 1 differs between points; {ATTACHMENT} has all of them.", counted(all, "figure"))),
        _ => run.find(format!("Of {} {differ} differ between points; {ATTACHMENT} has all of them.", counted(all, "figure"))),
    };
    if by_itself && differ > chosen.len() {
        run.find(
            "Choose other figures with --cell TABLE/ROW/COLUMN; what is done is not run again.",
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

/// Where the figure `name` is lowest and highest; nothing where it is the same everywhere.
fn extremes(plan: &Plan, table: &Table, name: &str) -> Option<String> {
    let value = |row: &Row| row.cells.get(name).and_then(|cell| cell.value.as_f64());
    let rows = table.rows.iter().enumerate();
    let mut known = rows.filter_map(|(point, row)| Some((point, value(row)?)));
    let first = known.next()?;
    let (mut low, mut high) = (first, first);
    for one in known {
        // The first of equal ones stays.
        low = if one.1 < low.1 { one } else { low };
        high = if one.1 > high.1 { one } else { high };
    }
    let at = |point: usize| format!("at {}", plan.grid.label(point));
    let figure =
        |point: usize| table.rows[point].cells.get(name).map(|cell| figure(&cell.value, name));
    (low.1 < high.1).then_some(())?;
    Some(format!(
        "{name}: lowest {} {}, highest {} {}.",
        figure(low.0)?,
        at(low.0),
        figure(high.0)?,
        at(high.0)
    ))
}

/// A figure for people.
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
        (Unit::Ratio, value) => format!("{:.2} %", value.as_f64().unwrap_or_default() * 100.0),
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

/// Every figure of every point, one line a point.
struct Csv {
    text: String,
}

impl Csv {
    fn new(keys: &[&str], overview: &Overview) -> Self {
        let names = overview.figures.keys().map(String::as_str);
        let mut csv = Self { text: String::new() };
        let fixed = ["point"].into_iter().chain(keys.iter().copied());
        csv::line(&mut csv.text, fixed.chain(names).chain(["failure"]).map(Cow::Borrowed));
        csv
    }

    fn push(&mut self, plan: &Plan, point: usize, outcome: &Outcome, overview: &Overview) {
        let cells = plan.grid.cells(point);
        let keys = cells.iter().map(|(_, value)| Cow::Owned(plain(value)));
        let figure = |name: &String| match outcome {
            Outcome::Done(figures) => {
                let value = figures.cells.get(name).and_then(crate::figures::Figure::value);
                value.map_or(Cow::Borrowed(""), |value| Cow::Owned(plain(&value)))
            }
            Outcome::Failed(_) => Cow::Borrowed(""),
        };
        let failure = match outcome {
            Outcome::Done(_) => "",
            Outcome::Failed(message) => message,
        };
        let number = Cow::Owned((point + 1).to_string());
        let figures = overview.figures.keys().map(figure);
        let fields = [number].into_iter().chain(keys).chain(figures);
        csv::line(&mut self.text, fields.chain([Cow::Borrowed(failure)]));
    }
}
