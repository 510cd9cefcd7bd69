//! Two results side by side, as a result of its own that every renderer can show.
//!
//! Layer: rank 8, inside `report`. Function: [`compare`]. Every table that both have becomes a
//! table with A, B and B/A for each column in which they differ; columns that are equal throughout
//! are only named. A table `parameters` holds the inputs that differ. Left out: curves.

use boardlab_result::{Cell, Parameter, Row, RunResult, Table, Value};

/// `b` beside `a`: shared tables cell by cell, rows that only one of them has, and parameters
/// that differ.
#[must_use]
pub fn compare(a: &RunResult, b: &RunResult) -> RunResult {
    let title = format!("{} (A) against {} (B)", name(a), name(b));
    let mut result = RunResult::new("compare", &title, a.seed, &a.version);
    warn_of_unlike_runs(&mut result, a, b);
    for table in &a.tables {
        match b.table(&table.id) {
            Some(other) => compare_tables(&mut result, table, other),
            None => result.warnings.push(format!("only A has the table `{}`", table.id)),
        }
    }
    for table in b.tables.iter().filter(|table| a.table(&table.id).is_none()) {
        result.warnings.push(format!("only B has the table `{}`", table.id));
    }
    compare_parameters(&mut result, a, b);
    result
}

fn name(run: &RunResult) -> String {
    format!("{}, seed {}", run.scenario, run.seed)
}

fn warn_of_unlike_runs(result: &mut RunResult, a: &RunResult, b: &RunResult) {
    if a.scenario != b.scenario {
        let text = format!("the scenarios differ: A is `{}`, B is `{}`", a.scenario, b.scenario);
        result.warnings.push(text);
    }
    if a.version != b.version {
        let text = format!("the versions differ: A is from {}, B from {}", a.version, b.version);
        result.warnings.push(text);
    }
}

fn compare_tables(result: &mut RunResult, a: &Table, b: &Table) {
    for row in a.rows.iter().filter(|row| b.row(&row.id).is_none()) {
        result.warnings.push(format!("{}: only A has the row `{}`", a.id, row.id));
    }
    for row in b.rows.iter().filter(|row| a.row(&row.id).is_none()) {
        result.warnings.push(format!("{}: only B has the row `{}`", a.id, row.id));
    }
    let shared: Vec<_> = a.rows.iter().filter_map(|row| Some((row, b.row(&row.id)?))).collect();
    let mut table = Table::new(a.id.clone(), a.title.clone());
    table.rows = shared.iter().map(|(row, _)| Row::new(&*row.id, &*row.title)).collect();
    let mut equal = Vec::new();
    for column in &a.columns {
        let sides = Sides::of(&shared, &column.id);
        if sides.cells.iter().all(|(a, b)| a == b) {
            equal.push(column.title.as_str());
        } else {
            table = sides.add_to(table, &column.id, &column.title);
        }
    }
    if !equal.is_empty() {
        result.findings.push(format!("{}: equal in all rows: {}", a.id, equal.join(", ")));
    }
    if !table.columns.is_empty() {
        result.tables.push(table);
    }
}

/// The values of one column on both sides, by row.
struct Sides {
    cells: Vec<(Value, Value)>,
}

impl Sides {
    fn of(shared: &[(&Row, &Row)], column: &str) -> Self {
        let value = |row: &Row| row.cells.get(column).map_or(Value::None, |c| c.value.clone());
        Self { cells: shared.iter().map(|(a, b)| (value(a), value(b))).collect() }
    }

    /// `table` with three more columns: ours in A, in B and, for numbers, B/A.
    fn add_to(self, table: Table, id: &str, title: &str) -> Table {
        let (a_id, b_id, ratio_id) = (format!("a_{id}"), format!("b_{id}"), ratio_id(id));
        let numbers = self.cells.iter().any(|(a, b)| ratio(a, b).is_some());
        let mut table = table.column(&*a_id, format!("{title} A"));
        table = table.column(&*b_id, format!("{title} B"));
        if numbers {
            table = table.column(&*ratio_id, "B/A");
        }
        for (row, (a, b)) in table.rows.iter_mut().zip(self.cells) {
            if let Some(ratio) = ratio(&a, &b) {
                row.cells.insert(ratio_id.clone(), Cell::real(ratio));
            }
            row.cells.insert(a_id.clone(), Cell::new(a));
            row.cells.insert(b_id.clone(), Cell::new(b));
        }
        table
    }
}

/// `mean_ns` becomes `mean_ns_ratio`: the end tells the unit.
fn ratio_id(column: &str) -> String {
    format!("{column}_ratio")
}

fn ratio(a: &Value, b: &Value) -> Option<f64> {
    let ratio = b.as_f64()? / a.as_f64()?;
    ratio.is_finite().then_some(ratio)
}

fn compare_parameters(result: &mut RunResult, a: &RunResult, b: &RunResult) {
    let find = |run: &RunResult, key: &str| {
        run.parameters.iter().find(|parameter| parameter.key == key).cloned()
    };
    let only_b = b.parameters.iter().filter(|parameter| find(a, &parameter.key).is_none());
    let keys = a.parameters.iter().chain(only_b).map(|parameter| parameter.key.clone());
    let mut table = Table::new("parameters", "Parameters that differ").column("a", "A");
    table = table.column("b", "B");
    for key in keys {
        let (in_a, in_b) = (find(a, &key), find(b, &key));
        if in_a != in_b {
            let row = Row::new(key, "").cell("a", shown(in_a.as_ref()));
            table.rows.push(row.cell("b", shown(in_b.as_ref())));
        }
    }
    if table.rows.is_empty() {
        result.findings.push("all parameters are equal".into());
    } else {
        result.tables.push(table);
    }
}

fn shown(parameter: Option<&Parameter>) -> Cell {
    parameter.map_or_else(Cell::none, |parameter| {
        Cell::text(format!("{} ({})", parameter.value, parameter.origin))
    })
}
