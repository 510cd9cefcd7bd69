//! The comparison of two results, as a result that every renderer can show.
//!
//! Layer: rank 8, inside `report`. Function: [`compare`]. Every table that both have becomes a
//! table with A, B and B/A for each cell in which they differ; rows that are equal are counted,
//! and columns that are equal throughout are named. A table `parameters` holds the inputs that
//! differ. People are shown one line a difference, see `pairs`. Left out: curves.

use crate::pairs::SCENARIO;
use boardlab_result::{Cell, Column, Parameter, Row, RunResult, Table, Value};

/// `b` beside `a`: shared tables cell by cell, rows that only one of them has, and parameters
/// that differ.
#[must_use]
pub fn compare(a: &RunResult, b: &RunResult) -> RunResult {
    let title = format!("{} (A) against {} (B)", name(a), name(b));
    let mut result = RunResult::new(SCENARIO, &title, a.seed, &a.version);
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
    if shared.is_empty() {
        return;
    }
    let rows = shared.iter().map(|(one, other)| differences(&a.columns, one, other));
    let mut table = Table::new(a.id.clone(), a.title.clone());
    table.rows = rows.filter(|row| !row.cells.is_empty()).collect();
    let differs = |id: &str| table.rows.iter().any(|row| row.cells.contains_key(id));
    let (mut columns, mut equal) = (Vec::new(), Vec::new());
    for column in &a.columns {
        let sides = sides(column);
        if differs(&sides[0].id) {
            columns.extend(sides.into_iter().filter(|side| differs(&side.id)));
        } else {
            equal.push(column.title.as_str());
        }
    }
    table.columns = columns;
    let same = shared.len() - table.rows.len();
    result.findings.extend(equality(&a.id, same, shared.len(), &equal));
    if !table.rows.is_empty() {
        result.tables.push(table);
    }
}

/// What is equal in a table: the number of rows, and the columns in the other rows; `None` if
/// nothing is.
fn equality(table: &str, same: usize, rows: usize, columns: &[&str]) -> Option<String> {
    if same == rows {
        return Some(format!("{table}: all rows equal ({rows})"));
    }
    let rows = (same > 0).then(|| {
        let plural = if same == 1 { "" } else { "s" };
        format!("{same} row{plural} equal")
    });
    let columns =
        (!columns.is_empty()).then(|| format!("equal in all rows: {}", columns.join(", ")));
    let parts: Vec<String> = rows.into_iter().chain(columns).collect();
    (!parts.is_empty()).then(|| format!("{table}: {}", parts.join("; ")))
}

/// The columns of a comparison for `column`: in A, in B, and B/A. `mean_ns` has the ratio
/// `mean_ns_ratio`: the suffix is the unit.
fn sides(column: &Column) -> [Column; 3] {
    let (id, title) = (&column.id, &column.title);
    [
        Column { id: format!("a_{id}"), title: format!("{title} A") },
        Column { id: format!("b_{id}"), title: format!("{title} B") },
        Column { id: format!("{id}_ratio"), title: "B/A".into() },
    ]
}

/// The cells of a row in which `a` and `b` differ.
fn differences(columns: &[Column], a: &Row, b: &Row) -> Row {
    let value = |row: &Row, id: &str| row.cells.get(id).map_or(Value::None, |c| c.value.clone());
    let mut row = Row::new(&*a.id, &*a.title).of_unit(&*a.unit);
    for column in columns {
        let (in_a, in_b) = (value(a, &column.id), value(b, &column.id));
        if in_a == in_b {
            continue;
        }
        let [a_column, b_column, ratio_column] = sides(column);
        let ratio = ratio(&in_a, &in_b);
        row = row.cell(a_column.id, Cell::new(in_a)).cell(b_column.id, Cell::new(in_b));
        if let Some(ratio) = ratio {
            row = row.cell(ratio_column.id, Cell::real(ratio));
        }
    }
    row
}

/// B/A of two numbers; `None` where it is meaningless: a division by zero, or another sign.
fn ratio(a: &Value, b: &Value) -> Option<f64> {
    let ratio = b.as_f64()? / a.as_f64()?;
    (ratio.is_finite() && ratio >= 0.0).then_some(ratio)
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
