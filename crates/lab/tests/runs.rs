//! Runs and their figures, for the tests of all experiments.

use boardlab_experiment::Action;
use boardlab_lab::{guide, registry};
use boardlab_result::{Cell, RunResult, Value};
use boardlab_sim::Seed;

/// The run of `scenario` with these values set.
pub(crate) fn ran(scenario: &str, set: &[&str]) -> RunResult {
    let run = registry::perform(Action::Run, scenario, set, Seed::new(1), &|_| ());
    let run = run.unwrap_or_else(|error| panic!("{scenario} {set:?}: {error}"));
    for table in &run.tables {
        assert!(
            guide::has_table(&table.id),
            "docs/formats/tables.md lacks `{}` of {scenario}",
            table.id
        );
    }
    run
}

/// A cell.
pub(crate) fn cell<'r>(run: &'r RunResult, table: &str, row: &str, column: &str) -> &'r Cell {
    let cell = run.table(table).and_then(|table| table.cell(row, column));
    cell.unwrap_or_else(|| panic!("{table} has no {row}, {column}"))
}

/// The words in a cell.
pub(crate) fn words<'r>(run: &'r RunResult, table: &str, row: &str, column: &str) -> &'r str {
    match &cell(run, table, row, column).value {
        Value::Text(words) => words,
        other => panic!("{table}, {row}, {column}: {other:?}"),
    }
}

/// The number in a cell.
pub(crate) fn number(run: &RunResult, table: &str, row: &str, column: &str) -> f64 {
    let cell = cell(run, table, row, column);
    cell.value.as_f64().unwrap_or_else(|| panic!("{table}, {row}, {column}: {cell:?}"))
}
