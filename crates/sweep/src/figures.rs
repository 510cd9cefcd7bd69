//! The record of a point: every figure of its tables, as a line of the journal.
//!
//! Layer: rank 10. Main types: [`Line`], [`Outcome`], [`Figures`]. A figure is named
//! `TABLE/ROW/COLUMN`, and ends in its unit even if the row states it and the column does not.
//! Left out: words, published figures, curves.

use boardlab_result::{RunResult, Unit, Value};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// A completed point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    /// Its number in the grid.
    pub(crate) point: usize,
    /// Its outcome.
    pub(crate) outcome: Outcome,
}

/// The outcome of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Outcome {
    /// It succeeded.
    Done(Figures),
    /// It failed, with this message.
    Failed(String),
}

/// The figures of a point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figures {
    /// The virtual time of the run.
    pub(crate) virtual_time_ns: u64,
    /// Figures by name, in the order of the result.
    pub(crate) cells: IndexMap<String, Figure>,
}

/// A number that reads back exactly.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Figure {
    /// A whole number.
    Int(i64),
    /// A number as text: the shortest that reads back equal, which a JSON parser may round.
    Real(String),
}

impl Figure {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Int(number) => Some(Self::Int(*number)),
            Value::Real(number) => Some(Self::Real(format!("{number:?}"))),
            Value::Text(_) | Value::None => None,
        }
    }

    /// The number; `None` for an invalid text.
    pub(crate) fn value(&self) -> Option<Value> {
        match self {
            Self::Int(number) => Some(Value::Int(*number)),
            Self::Real(text) => text.parse().ok().map(Value::Real),
        }
    }
}

impl Figures {
    /// All figures of `run`.
    pub(crate) fn of(run: &RunResult) -> Self {
        let mut cells = IndexMap::new();
        for table in &run.tables {
            for (row, column, cell) in table.cells() {
                let Some(figure) = Figure::of(&cell.value) else { continue };
                let unit = match Unit::of_key(column) {
                    Unit::Plain => row.unit_in(column).suffix(),
                    _ => "",
                };
                cells.insert(format!("{}/{}/{column}{unit}", table.id, row.id), figure);
            }
        }
        Self { virtual_time_ns: run.virtual_time_ns, cells }
    }
}

/// Whether `wanted` names the figure `name`: it may lack the unit.
pub(crate) fn means(wanted: &str, name: &str) -> bool {
    name.strip_prefix(wanted)
        .is_some_and(|rest| rest.is_empty() || rest == Unit::of_key(name).suffix())
}

impl Line {
    /// The line of the journal, without its end.
    pub(crate) fn write(&self) -> String {
        serde_json::to_string(self).expect("a line has text keys, and memory does not fail")
    }

    /// The line that was written as `text`.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        let line: Self = serde_json::from_slice(text).ok()?;
        let whole = match &line.outcome {
            Outcome::Done(figures) => figures.cells.values().all(|figure| figure.value().is_some()),
            Outcome::Failed(_) => true,
        };
        whole.then_some(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_result::{Cell, Row, Table};

    fn run() -> RunResult {
        let mut run = RunResult::new("x", "x", 1, "0");
        run.virtual_time_ns = 7;
        let mut table = Table::new("t", "t").column("mean_ns", "mean").column("jffs2", "jffs2");
        let row = Row::new("a/b", "").of_unit("bytes");
        let row = row.cell("mean_ns", Cell::int(5)).cell("jffs2", Cell::real(0.1 + 0.2));
        table.rows.push(row.cell("words", Cell::text("no figure")));
        run.tables.push(table);
        run
    }

    #[test]
    fn a_figure_is_named_by_table_row_column_and_unit() {
        let figures = Figures::of(&run());
        let names: Vec<_> = figures.cells.keys().map(String::as_str).collect();
        assert_eq!(names, ["t/a/b/mean_ns", "t/a/b/jffs2_bytes"]);
        assert!(means("t/a/b/jffs2", names[1]) && means("t/a/b/jffs2_bytes", names[1]));
        assert!(!means("t/a/b/jff", names[1]) && !means("t/a/b/jffs2_ns", names[1]));
    }

    #[test]
    fn a_line_reads_back_exactly() {
        let line = Line { point: 3, outcome: Outcome::Done(Figures::of(&run())) };
        let back = Line::read(line.write().as_bytes()).unwrap();
        assert_eq!(back, line);
        let Outcome::Done(figures) = back.outcome else { panic!("it was done") };
        assert_eq!(figures.cells["t/a/b/jffs2_bytes"].value(), Some(Value::Real(0.1 + 0.2)));
        for bad in [
            "",
            "{}",
            r#"{"point":0}"#,
            r#"{"point":0,"outcome":{"done":{"virtual_time_ns":1,"cells":{"a":"x"}}}}"#,
        ] {
            assert_eq!(Line::read(bad.as_bytes()), None, "{bad}");
        }
    }
}
