//! How well a run agrees with its publication, in a few figures.
//!
//! Layer: rank 1. Main type: [`Agreement`]. Cells that a published input determines alone are counted and left out of
//! the differences, since they agree whatever the model is worth.

use crate::run::RunResult;
use crate::table::{Cell, Row, Table, Value, Verdict};

/// The agreement of our figures with published ones.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Agreement<'r> {
    /// Cells with a published figure and one of ours.
    pub cells: usize,
    /// Those of them that are inputs.
    pub inputs: usize,
    /// Cells with a published figure alone: their system is not built.
    pub not_built: usize,
    /// The differences of the numbers that are no inputs, without sign, rising; as shares of the published figures.
    differences: Vec<f64>,
    /// The cell with the largest difference.
    pub worst: Option<Difference<'r>>,
}

/// A cell and its difference from the published figure, as a share of that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference<'r> {
    /// Its table.
    pub table: &'r Table,
    /// Its row.
    pub row: &'r Row,
    /// The id of its column.
    pub column: &'r str,
    /// The difference, with its sign.
    pub share: f64,
}

impl<'r> Agreement<'r> {
    /// The agreement of `run`; `None` without published figures.
    #[must_use]
    pub fn of(run: &'r RunResult) -> Option<Self> {
        let mut all = Self::default();
        for table in &run.tables {
            for (row, column, cell) in table.cells() {
                all.add(table, row, column, cell);
            }
        }
        all.differences.sort_by(f64::total_cmp);
        (all.cells + all.not_built > 0).then_some(all)
    }

    fn add(&mut self, table: &'r Table, row: &'r Row, column: &'r str, cell: &'r Cell) {
        if cell.published.is_none() {
            return;
        }
        if cell.value == Value::None {
            self.not_built += 1;
            return;
        }
        self.cells += 1;
        if cell.verdict == Some(Verdict::Input) {
            self.inputs += 1;
            return;
        }
        let Some(share) = cell.difference() else { return };
        self.differences.push(share.abs());
        if self.worst.is_none_or(|worst| share.abs() > worst.share.abs()) {
            self.worst = Some(Difference { table, row, column, share });
        }
    }

    /// The difference that half of the cells do not exceed.
    #[must_use]
    pub fn median(&self) -> Option<f64> {
        self.percentile(50)
    }

    /// The difference that nine of ten cells do not exceed.
    #[must_use]
    pub fn ninetieth(&self) -> Option<f64> {
        self.percentile(90)
    }

    /// The nearest-rank percentile.
    fn percentile(&self, percent: usize) -> Option<f64> {
        let rank = (self.differences.len() * percent).div_ceil(100).max(1);
        self.differences.get(rank - 1).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(ours: u64, published: i64, verdict: Verdict) -> Cell {
        let mut cell = Cell::int(ours);
        cell.published = Some(Value::Int(published));
        cell.verdict = Some(verdict);
        cell
    }

    fn run(cells: &[Cell]) -> RunResult {
        let mut run = RunResult::new("nor-write", "NOR", 1, "0.1.0");
        let mut table = Table::new("table5", "Linux").column("mean_ns", "mean");
        for (at, cell) in cells.iter().enumerate() {
            table.rows.push(Row::new(format!("L-{at}"), "").cell("mean_ns", cell.clone()));
        }
        run.tables.push(table);
        run
    }

    #[test]
    fn inputs_and_what_is_not_built_are_counted_and_not_averaged() {
        let absent = Cell { published: Some(Value::Int(1)), ..Cell::none() };
        let cells = [
            cell(101, 100, Verdict::Close),
            cell(50, 100, Verdict::Differs),
            cell(300, 100, Verdict::Input),
            cell(100, 100, Verdict::Pass),
            Cell::int(7),
            absent,
        ];
        let run = run(&cells);
        let all = Agreement::of(&run).unwrap();
        assert_eq!((all.cells, all.inputs, all.not_built), (4, 1, 1));
        assert_eq!((all.median(), all.ninetieth()), (Some(0.01), Some(0.5)));
        let worst = all.worst.unwrap();
        assert_eq!((worst.row.id.as_str(), worst.column, worst.share), ("L-1", "mean_ns", -0.5));
    }

    #[test]
    fn without_numbers_nothing_is_averaged() {
        assert_eq!(Agreement::of(&run(&[Cell::int(7)])), None);
        let mut words = Cell::text("fixed");
        words.published = Some(Value::Text("fixed".into()));
        let run = run(&[words]);
        let all = Agreement::of(&run).unwrap();
        assert_eq!((all.cells, all.median(), all.worst), (1, None, None));
    }
}
