//! The headline of a report: every published total beside ours.
//!
//! Layer: rank 8, inside `report`. Main type: [`Headline`]. Built without knowing any experiment:
//! a headline is a cell with a published figure in a row whose id is `total`.

use crate::format;
use boardlab_result::{Reproduction, RunResult, Table, Verdict};

/// The id of the row that sums a table up.
const TOTAL: &str = "total";

/// One published total beside ours.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Headline<'a> {
    /// Index of the run in the reproduction.
    pub(crate) run_index: usize,
    /// The run.
    pub(crate) run: &'a RunResult,
    /// The table.
    pub(crate) table: &'a Table,
    /// Heading of the column.
    pub(crate) column: &'a str,
    /// The total as printed.
    pub(crate) published: String,
    /// Our total.
    pub(crate) ours: String,
    /// Ours relative to the print.
    pub(crate) error: Option<String>,
    /// What the comparison says.
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

fn of_table<'a>(run_index: usize, run: &'a RunResult, table: &'a Table) -> Vec<Headline<'a>> {
    let Some(total) = table.row(TOTAL) else { return Vec::new() };
    let mut headlines = Vec::new();
    for column in &table.columns {
        let Some(cell) = total.cells.get(&column.id) else { continue };
        let Some(published) = &cell.published else { continue };
        let unit = total.unit_in(&column.id);
        headlines.push(Headline {
            run_index,
            run,
            table,
            column: &column.title,
            published: cell.printed.clone().unwrap_or_else(|| format::figure(published, unit)),
            ours: format::figure(&cell.value, unit),
            error: format::difference(&cell.value, published),
            verdict: cell.verdict,
            finding: cell.finding.filter(|index| *index < run.findings.len()),
        });
    }
    headlines
}
