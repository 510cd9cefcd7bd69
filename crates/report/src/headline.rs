//! The headlines of a report: the published figures that summarise it, beside ours.
//!
//! Layer: rank 8, inside `report`. Main type: [`Headline`]. It is independent of the experiments: a
//! headline is a cell with a published figure and ours, in a row whose id is `total` or that is
//! marked as a headline.

use crate::{beside, format};
use boardlab_result::prose::counted;
use boardlab_result::{Agreement, Difference, Reproduction, Row, RunResult, Table, Value, Verdict};

/// The id of the row that summarises a table.
const TOTAL: &str = "total";

/// One published figure beside ours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Headline<'a> {
    /// Index of the run in the reproduction.
    pub(crate) run_index: usize,
    /// The run.
    pub(crate) run: &'a RunResult,
    /// The table.
    pub(crate) table: &'a Table,
    /// The row, where it is not the table's total.
    pub(crate) row: Option<String>,
    /// Heading of the column.
    pub(crate) column: &'a str,
    /// The figure as printed.
    pub(crate) published: String,
    /// Ours, in the unit of the print.
    pub(crate) ours: String,
    /// Ours relative to the print.
    pub(crate) error: Option<String>,
    /// The verdict of the comparison.
    pub(crate) verdict: Option<Verdict>,
    /// Index of the finding that explains the difference.
    pub(crate) finding: Option<usize>,
}

/// All headlines in order.
pub(crate) fn headlines(reproduction: &Reproduction) -> Vec<Headline<'_>> {
    let runs = reproduction.results.iter().enumerate();
    runs.flat_map(|(index, run)| {
        run.tables.iter().flat_map(move |table| of_table(index, run, table))
    })
    .collect()
}

/// The heading of a list of `headlines`.
pub(crate) fn heading(headlines: &[Headline<'_>]) -> &'static str {
    if headlines.iter().all(|one| one.row.is_none()) {
        "Published totals"
    } else {
        "Published figures"
    }
}

impl Headline<'_> {
    /// The name of the figure within its table; `None` where the table has one total.
    pub(crate) fn place(&self) -> Option<String> {
        Some(format!("{}, {}", self.row.as_ref()?, self.column))
    }
}

/// The agreement of `run` with its publication in one line; `None` without published figures.
pub(crate) fn agreement(run: &RunResult) -> Option<String> {
    let all = Agreement::of(run)?;
    let mut line = format!("{} compared, {} of them input", counted(all.cells, "cell"), all.inputs);
    if all.not_built > 0 {
        line += &format!(", {} not built", all.not_built);
    }
    let judged = [Verdict::Pass, Verdict::Close, Verdict::Differs, Verdict::Fail];
    for verdict in judged {
        let count = run.verdict_count(verdict);
        if count > 0 {
            line += &format!(", {count} {verdict}");
        }
    }
    if let (Some(median), Some(ninetieth), Some(worst)) = (all.median(), all.ninetieth(), all.worst)
    {
        line += &format!(
            "; difference: median {}, 90th percentile {}, largest {} ({})",
            percent(median),
            percent(ninetieth),
            format::signed_percent(worst.share),
            name(&worst),
        );
    }
    Some(line)
}

/// The name of a cell: table, row, heading of the column.
pub(crate) fn name(cell: &Difference<'_>) -> String {
    let column = cell.table.columns.iter().find(|column| column.id == cell.column);
    let column = column.map_or(cell.column, |column| column.title.as_str());
    format!("{}, {}, {column}", cell.table.id, cell.row.id.replace('_', " "))
}

/// A share without sign in percent with one decimal.
pub(crate) fn percent(share: f64) -> String {
    format::signed_percent(share).trim_start_matches('+').to_owned()
}

fn of_table<'a>(run_index: usize, run: &'a RunResult, table: &'a Table) -> Vec<Headline<'a>> {
    let rows = table.rows.iter().filter(|row| row.headline || row.id == TOTAL);
    rows.flat_map(|row| of_row(run_index, run, (table, row))).collect()
}

fn of_row<'a>(
    run_index: usize,
    run: &'a RunResult,
    (table, row): (&'a Table, &'a Row),
) -> Vec<Headline<'a>> {
    let mut headlines = Vec::new();
    for column in &table.columns {
        let Some(cell) = row.cells.get(&column.id) else { continue };
        let Some(published) = &cell.published else { continue };
        if cell.value == Value::None {
            continue;
        }
        let unit = row.unit_in(&column.id);
        headlines.push(Headline {
            run_index,
            run,
            table,
            row: (row.id != TOTAL).then(|| row.id.replace('_', " ")),
            column: &column.title,
            published: cell.printed.clone().unwrap_or_else(|| format::figure(published, unit)),
            ours: beside::figure(cell, unit),
            error: format::difference(&cell.value, published),
            verdict: cell.verdict,
            finding: cell.finding.filter(|index| *index < run.findings.len()),
        });
    }
    headlines
}

/// What the publication of `run` asks, and the index and the headline of the finding that answers it.
pub(crate) fn answered(run: &RunResult) -> Option<(&str, usize, &str)> {
    let question = &run.publication.as_ref()?.question;
    let (index, answer) = run.answer()?;
    (!question.is_empty()).then_some((question, index, answer))
}
