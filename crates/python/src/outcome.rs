//! A result, and its forms.
//!
//! Layer: rank 12. Main type: [`Outcome`]; function for Python: [`read`]. The wall time stands beside
//! the result and is not in its JSON, as with `--no-wall-time`: so equal runs have equal bytes.

use crate::fault::Fault;
use crate::guard::guarded;
use boardlab_report::html::{self, Drawing};
use boardlab_report::{Format, Options, Shown, render};
use boardlab_result::{Agreement, Difference, Reproduction, RunResult, Verdict};
use pyo3::prelude::*;
use serde_json::{Value, json};

/// A result.
#[pyclass(frozen, module = "boardlab._boardlab")]
pub(crate) struct Outcome {
    run: RunResult,
    wall_time_ns: Option<u64>,
}

/// Without the wall time, and in full.
fn options() -> Options {
    Options { wall_time: false, ..Options::default() }
}

impl Outcome {
    /// A result, whose run took so long.
    pub(crate) fn new(mut run: RunResult, wall_time_ns: Option<u64>) -> Self {
        let wall_time_ns = wall_time_ns.or(run.wall_time_ns);
        run.wall_time_ns = None;
        Self { run, wall_time_ns }
    }

    /// The result.
    pub(crate) const fn run(&self) -> &RunResult {
        &self.run
    }
}

#[pymethods]
impl Outcome {
    /// The JSON that the command line prints with `--format json --no-wall-time`.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        guarded(py, "Result.json", || Ok(render(Shown::Run(&self.run), Format::Json, &options())))
    }

    /// The CSV that the command line prints with `--format csv`.
    fn csv(&self, py: Python<'_>) -> PyResult<String> {
        guarded(py, "Result.csv", || Ok(render(Shown::Run(&self.run), Format::Csv, &options())))
    }

    /// The tables that the command line prints, in so many columns.
    fn text(&self, py: Python<'_>, width: usize) -> PyResult<String> {
        guarded(py, "Result.text", || {
            let options = Options { width, ..options() };
            Ok(render(Shown::Run(&self.run), Format::Table, &options))
        })
    }

    /// The report as one page of HTML.
    fn html(&self, py: Python<'_>) -> PyResult<String> {
        guarded(py, "Result.html", || {
            let all = Reproduction::new(vec![self.run.clone()]);
            html::render(&all, &options()).map_err(Fault::Saved)
        })
    }

    /// Charts and timelines as JSON, each with its specification in Vega-Lite.
    fn drawings(&self, py: Python<'_>) -> PyResult<String> {
        guarded(py, "Result.charts", || {
            let drawn = |Drawing { id, title, caption, spec }| json!({ "id": id, "title": title, "caption": caption, "spec": spec });
            let all: Vec<_> = html::drawings(&self.run).into_iter().map(drawn).collect();
            Ok(Value::from(all).to_string())
        })
    }

    /// The agreement with the publication as JSON; `null` without published figures.
    fn agreement(&self, py: Python<'_>) -> PyResult<String> {
        guarded(py, "Result.agreement", || {
            let all = Agreement::of(&self.run).map(|all| {
                let worst = all.worst.map(|Difference { table, row, column, share }| {
                    json!({ "table": table.id, "row": row.id, "column": column, "share": share })
                });
                json!({
                    "cells": all.cells, "inputs": all.inputs, "not_built": all.not_built,
                    "median": all.median(), "ninetieth": all.ninetieth(), "worst": worst,
                })
            });
            Ok(Value::from(all).to_string())
        })
    }

    /// How long the run took on this machine, in nanoseconds.
    #[getter]
    const fn wall_time_ns(&self) -> Option<u64> {
        self.wall_time_ns
    }

    /// Whether a figure differs from the published one without an explanation.
    #[getter]
    fn failed(&self) -> bool {
        self.run.verdict_count(Verdict::Fail) > 0
    }
}

/// Reads saved results, of one run or of several.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, text: &str) -> PyResult<Vec<Outcome>> {
    guarded(py, "Result.from_json", || {
        let all = boardlab_report::json::read(text).map_err(Fault::Saved)?;
        Ok(all.results.into_iter().map(|run| Outcome::new(run, None)).collect())
    })
}
