//! Shows a result: terminal tables, JSON, CSV and a self-contained HTML report.
//!
//! Layer: rank 8; it depends on `boardlab_result` alone, so it shows every present and future
//! experiment. It returns text and never prints or writes files. In reading order:
//!
//! - [`mod@format`]: a figure for people from a value and its unit.
//! - [`terminal`], [`json`], [`csv`]: the three forms of `--format`; [`render`] chooses one.
//! - [`html`]: the report with charts, for a browser, a phone and a printer.
//! - [`mod@compare`]: two results side by side, as a result.
//!
//! ```
//! use boardlab_report::{Format, Options, Shown, render};
//! use boardlab_result::{Cell, Row, RunResult, Table};
//!
//! let mut run = RunResult::new("nor-write", "NOR flash", 1, "0.1.0");
//! let mut table = Table::new("table5", "Linux").column("mean_ns", "mean");
//! table.rows.push(Row::new("L-7", "wait").cell("mean_ns", Cell::int(253_694)));
//! run.tables.push(table);
//! let text = render(Shown::Run(&run), Format::Table, &Options::default());
//! assert!(text.contains("253.7 us"));
//! ```
//!
//! Published figures are shown as they were printed, and ours beside them in the unit of the print;
//! other figures have four significant digits. Exact numbers are in the JSON and the CSV.

mod beside;
mod columns;
pub mod compare;
pub mod csv;
pub mod error;
pub mod format;
mod headline;
pub mod html;
pub mod json;
mod pairs;
pub mod terminal;
mod text;

pub use compare::compare;
pub use error::Error;

use boardlab_result::{Reproduction, RunResult};
use std::slice;

/// The forms of `--format`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Tables for a terminal.
    Table,
    /// The versioned JSON.
    Json,
    /// One line a cell.
    Csv,
}

/// How to show a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Columns of the terminal.
    pub width: usize,
    /// Whether the terminal shows colours (ANSI escape sequences).
    pub color: bool,
    /// Whether to show the wall time, the only figure that differs between equal runs.
    pub wall_time: bool,
    /// Whether a text of several runs has the tables without published figures, and the evidence of findings below
    /// their headlines.
    pub full: bool,
    /// Whether to say below a text in brief how to see the rest.
    pub notes: bool,
}

impl Default for Options {
    /// 100 columns, no colour, with wall time, in full, with notes.
    fn default() -> Self {
        Self { width: 100, color: false, wall_time: true, full: true, notes: true }
    }
}

/// What to show: one run as it is, or several with a summary.
#[derive(Debug, Clone, Copy)]
pub enum Shown<'a> {
    /// One run; its JSON is the run itself.
    Run(&'a RunResult),
    /// Several runs; their JSON is `{"schema": 2, "results": [...]}`.
    Reproduction(&'a Reproduction),
}

/// `shown` in `format`, ending with a newline.
#[must_use]
pub fn render(shown: Shown<'_>, format: Format, options: &Options) -> String {
    match (shown, format) {
        (Shown::Run(run), Format::Table) => terminal::run(run, options),
        (Shown::Reproduction(runs), Format::Table) => terminal::reproduction(runs, options),
        (Shown::Run(run), Format::Csv) => csv::cells(slice::from_ref(run)),
        (Shown::Reproduction(runs), Format::Csv) => csv::cells(&runs.results),
        (Shown::Run(run), Format::Json) => json::run(&timed(run, options)),
        (Shown::Reproduction(runs), Format::Json) => {
            let results = runs.results.iter().map(|run| timed(run, options)).collect();
            json::reproduction(&Reproduction { schema: runs.schema, results })
        }
    }
}

/// `run` with its wall time, or without it where the options say so.
pub(crate) fn timed(run: &RunResult, options: &Options) -> RunResult {
    let wall_time_ns = run.wall_time_ns.filter(|_| options.wall_time);
    RunResult { wall_time_ns, ..run.clone() }
}
