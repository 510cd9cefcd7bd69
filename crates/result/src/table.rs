//! Tables: rows of cells, which may have a published figure and a verdict.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The unit of a number, from the suffix of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// A virtual or measured time, `_ns`.
    Nanoseconds,
    /// A size, `_bytes`.
    Bytes,
    /// A rate, `_bytes_per_s`.
    BytesPerSecond,
    /// A count of things, `_count`.
    Count,
    /// A ratio without unit, `_ratio`; shown in percent.
    Ratio,
    /// How far a figure is off another one, as a share of that, `_off_ratio`; shown in percent.
    Deviation,
    /// Words, or a number without a unit.
    Plain,
}

impl Unit {
    /// The units that a key can name, each with the end of such a key.
    const SUFFIXES: [(Self, &str); 6] = [
        (Self::BytesPerSecond, "_bytes_per_s"),
        (Self::Nanoseconds, "_ns"),
        (Self::Bytes, "_bytes"),
        (Self::Count, "_count"),
        (Self::Deviation, "_off_ratio"),
        (Self::Ratio, "_ratio"),
    ];

    /// The unit that the end of `key` names.
    #[must_use]
    pub fn of_key(key: &str) -> Self {
        let named = |(_, suffix): &&(Self, &str)| key == &suffix[1..] || key.ends_with(suffix);
        Self::SUFFIXES.iter().find(named).map_or(Self::Plain, |(unit, _)| *unit)
    }

    /// The name, as [`Row::unit`] has it: `ns`; empty for [`Unit::Plain`].
    #[must_use]
    pub fn name(self) -> &'static str {
        self.suffix().trim_start_matches('_')
    }

    /// The end of a key that names the unit; empty for [`Unit::Plain`].
    #[must_use]
    pub fn suffix(self) -> &'static str {
        Self::SUFFIXES.iter().find(|(unit, _)| *unit == self).map_or("", |(_, suffix)| *suffix)
    }
}

/// The content of a cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// A whole number in the unit of its column.
    Int(i64),
    /// A number in the unit of its column.
    Real(f64),
    /// Words.
    Text(String),
    /// Nothing was measured.
    None,
}

impl Value {
    /// The number in the cell, if it holds one.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "for comparison and display")]
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Int(value) => Some(*value as f64),
            Self::Real(value) => Some(*value),
            Self::Text(_) | Self::None => None,
        }
    }

    /// The difference of our figure from the published one, as a share of that; `None` without two numbers, or when
    /// the published one is zero.
    #[must_use]
    pub fn difference(&self, published: &Self) -> Option<f64> {
        let (ours, published) = (self.as_f64()?, published.as_f64()?);
        Some((ours - published) / published.abs()).filter(|share| share.is_finite())
    }
}

/// The result of the comparison of our figure with the published one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Equal within the rounding of the published figure and of those that it was computed from, or within the
    /// spread that the publication states.
    Pass,
    /// Within 5 %, or within what the reference file allows the table for a reason.
    Close,
    /// It differs by more, and a finding names the mechanism. Schema 1 called all that differs and has a finding
    /// `explained`.
    #[serde(alias = "explained")]
    Differs,
    /// A published input, or a fit to this cell, determines it alone, so it is no evidence.
    Input,
    /// It differs by more than `close` allows, and no finding names the mechanism.
    Fail,
    /// The system of this cell is not built yet.
    NotBuilt,
}

impl Verdict {
    /// All verdicts, the best first.
    pub const ALL: [Self; 6] =
        [Self::Pass, Self::Close, Self::Differs, Self::Input, Self::Fail, Self::NotBuilt];

    /// The sign before its name, by which it is recognised without colour and at a glance.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Pass => "✓",
            Self::Input => "=",
            Self::Close => "≈",
            Self::Differs => "≠",
            Self::Fail => "✗",
            Self::NotBuilt => "·",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Pass => "pass",
            Self::Close => "close",
            Self::Differs => "differs",
            Self::Input => "input",
            Self::Fail => "fail",
            Self::NotBuilt => "not_built",
        })
    }
}

/// One figure of ours and, if there is one, the published figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cell {
    /// Our figure in the unit of the column.
    pub value: Value,
    /// The published figure in the unit of the column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published: Option<Value>,
    /// The published figure as it was printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub printed: Option<String>,
    /// The verdict of the comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// The index, in the run's findings, of the one that explains the difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finding: Option<usize>,
}

/// The share of the published figure by which ours may differ and still be close.
pub const CLOSE: f64 = 0.05;

impl Cell {
    /// [`Value::difference`] of the two figures.
    #[must_use]
    pub fn difference(&self) -> Option<f64> {
        self.value.difference(self.published.as_ref()?)
    }

    /// A cell without a published figure.
    #[must_use]
    pub const fn new(value: Value) -> Self {
        Self { value, published: None, printed: None, verdict: None, finding: None }
    }

    /// A whole number.
    ///
    /// # Panics
    /// When `value` is larger than `i64::MAX`.
    #[must_use]
    pub fn int(value: u64) -> Self {
        Self::new(Value::Int(i64::try_from(value).expect("Cell::int: larger than i64")))
    }

    /// A count, clamped to the range of a cell.
    #[must_use]
    pub fn count(value: u64) -> Self {
        Self::int(value.min(i64::MAX.unsigned_abs()))
    }

    /// A number.
    #[must_use]
    pub const fn real(value: f64) -> Self {
        Self::new(Value::Real(value))
    }

    /// Words.
    #[must_use]
    pub fn text(words: impl Into<String>) -> Self {
        Self::new(Value::Text(words.into()))
    }

    /// An empty cell.
    #[must_use]
    pub const fn none() -> Self {
        Self::new(Value::None)
    }
}

/// A column: its stable id, which ends in its unit, and its heading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Stable id, such as `mean_ns`.
    pub id: String,
    /// Heading for people.
    pub title: String,
}

/// A row: its stable id, a title for people and its cells by column id.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Stable id, such as `L-7`.
    pub id: String,
    /// The title.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// The unit of the cells whose column id has no unit, written as the suffix of an id would be:
    /// `ns`. Such a column has the name of a system, and the table compares times, sizes and rates
    /// of systems.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub unit: String,
    /// Whether its published cells are headlines of a report, as those of a row `total` always are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub headline: bool,
    /// Cells by column id.
    pub cells: IndexMap<String, Cell>,
}

impl Row {
    /// A row without cells.
    #[must_use]
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            unit: String::new(),
            headline: false,
            cells: IndexMap::new(),
        }
    }

    /// Marks this row as a headline of a report.
    #[must_use]
    pub fn at_the_head(mut self) -> Self {
        self.headline = true;
        self
    }

    /// This row with a unit for the cells whose column id has none.
    #[must_use]
    pub fn of_unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = unit.into();
        self
    }

    /// The unit of the cell in `column`: the column's own, or else the row's.
    #[must_use]
    pub fn unit_in(&self, column: &str) -> Unit {
        match Unit::of_key(column) {
            Unit::Plain => Unit::of_key(&self.unit),
            own => own,
        }
    }

    /// This row with one more cell.
    #[must_use]
    pub fn cell(mut self, column: impl Into<String>, cell: Cell) -> Self {
        self.cells.insert(column.into(), cell);
        self
    }
}

/// A table with stable ids.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// Stable id: the published number (`table5`) or a name.
    pub id: String,
    /// Heading for people.
    pub title: String,
    /// The source of the published figures, such as `nor.md, table 5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Columns in order.
    pub columns: Vec<Column>,
    /// Rows in order.
    pub rows: Vec<Row>,
    /// Keys of the parameters that this table depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<String>,
    /// The number of these that are fitted.
    #[serde(default)]
    pub fitted_count: usize,
    /// The number of these that are assumed.
    #[serde(default)]
    pub assumed_count: usize,
    /// The number of cells with a published figure.
    #[serde(default)]
    pub compared_count: usize,
}

impl Table {
    /// An empty table.
    #[must_use]
    pub fn new(id: impl Into<String>, title: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            source: None,
            columns: Vec::new(),
            rows: Vec::new(),
            parameters: Vec::new(),
            fitted_count: 0,
            assumed_count: 0,
            compared_count: 0,
        }
    }

    /// This table with one more column.
    #[must_use]
    pub fn column(mut self, id: impl Into<String>, title: impl Into<String>) -> Self {
        self.columns.push(Column { id: id.into(), title: title.into() });
        self
    }

    /// This table with these rows as well.
    #[must_use]
    pub fn with_rows(mut self, rows: impl IntoIterator<Item = Row>) -> Self {
        self.rows.extend(rows);
        self
    }

    /// This table with these rows, to which columns are added with what they say of each row's item.
    pub fn of<T>(mut self, rows: impl IntoIterator<Item = (Row, T)>) -> TableWithItems<T> {
        let (rows, items): (Vec<_>, _) = rows.into_iter().unzip();
        self.rows.extend(rows);
        TableWithItems { table: self, items }
    }

    /// The row called `row`.
    #[must_use]
    pub fn row(&self, row: &str) -> Option<&Row> {
        self.rows.iter().find(|candidate| candidate.id == row)
    }

    /// Whether it has a published figure.
    #[must_use]
    pub fn has_print(&self) -> bool {
        self.cells().any(|(_, _, cell)| cell.published.is_some())
    }

    /// The cell of `row` and `column`.
    #[must_use]
    pub fn cell(&self, row: &str, column: &str) -> Option<&Cell> {
        self.row(row)?.cells.get(column)
    }

    /// The cell of `row` and `column`, to be changed.
    #[must_use]
    pub fn cell_mut(&mut self, row: &str, column: &str) -> Option<&mut Cell> {
        self.rows.iter_mut().find(|candidate| candidate.id == row)?.cells.get_mut(column)
    }

    /// All cells with their row.
    pub fn cells(&self) -> impl Iterator<Item = (&Row, &str, &Cell)> {
        self.rows.iter().flat_map(|row| row.cells.iter().map(move |(id, c)| (row, id.as_str(), c)))
    }
}

/// A table whose last rows have an item each, from which further columns compute their cells.
#[derive(Debug)]
pub struct TableWithItems<T> {
    table: Table,
    items: Vec<T>,
}

impl<T> TableWithItems<T> {
    /// This table with one more column: `cell` computes the cell of each item; there is none for
    /// `None`.
    #[must_use]
    pub fn column<C: Into<Option<Cell>>>(
        mut self,
        id: impl Into<String>,
        title: impl Into<String>,
        cell: impl Fn(&T) -> C,
    ) -> Self {
        let (id, first) = (id.into(), self.table.rows.len() - self.items.len());
        for (row, item) in self.table.rows[first..].iter_mut().zip(&self.items) {
            row.cells.extend(cell(item).into().map(|cell| (id.clone(), cell)));
        }
        self.table = self.table.column(id, title);
        self
    }

    /// The table.
    #[must_use]
    pub fn table(self) -> Table {
        self.table
    }

    /// The table, if it has rows.
    #[must_use]
    pub fn unless_empty(self) -> Option<Table> {
        Some(self.table).filter(|table| !table.rows.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_key_tells_its_unit() {
        assert_eq!(Unit::of_key("mean_ns"), Unit::Nanoseconds);
        assert_eq!(Unit::of_key("bytes_per_s"), Unit::BytesPerSecond);
        assert_eq!(Unit::of_key("polls_count"), Unit::Count);
        assert_eq!(Unit::of_key("cpu_ratio"), Unit::Ratio);
        assert_eq!(Unit::of_key("read_off_ratio"), Unit::Deviation);
        assert_eq!(Unit::of_key("turns"), Unit::Plain);
    }

    #[test]
    fn a_row_gives_its_unit_to_columns_without_one() {
        let row = Row::new("mount", "").of_unit("ns");
        assert_eq!(row.unit_in("jffs2"), Unit::Nanoseconds);
        assert_eq!(row.unit_in("pages_count"), Unit::Count);
        assert_eq!(Row::new("mount", "").unit_in("jffs2"), Unit::Plain);
    }

    #[test]
    fn json_leaves_out_what_is_not_published() {
        let json = serde_json::to_string(&Cell::int(5)).unwrap();
        assert_eq!(json, r#"{"value":5}"#);
        let back: Cell = serde_json::from_str(r#"{"value":null,"verdict":"not_built"}"#).unwrap();
        assert_eq!((back.value, back.verdict), (Value::None, Some(Verdict::NotBuilt)));
    }
}
