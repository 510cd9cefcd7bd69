//! Results as CSV: one line a cell, in long form, so that any spreadsheet or data frame pivots it
//! as it likes.
//!
//! Layer: rank 8, inside `report`. Functions: [`cells`] and [`series`]. Fields are quoted as
//! RFC 4180 says; lines end with a bare newline, not with its CRLF, because the readers are shell
//! tools as often as spreadsheets. Numbers are exact and in the unit that the column's id ends
//! with. Left out: guards against spreadsheets that run cells as formulas.

use boardlab_result::{RunResult, Value};
use std::borrow::Cow;

/// Every cell of every table: `scenario,table,row,column,value,published,printed,verdict,finding`.
/// The finding is its text.
#[must_use]
pub fn cells(runs: &[RunResult]) -> String {
    let header = "scenario,table,row,column,value,published,printed,verdict,finding\n";
    let mut csv = String::from(header);
    for run in runs {
        for table in &run.tables {
            for (row, column, cell) in table.cells() {
                let finding = cell.finding.and_then(|index| run.findings.get(index));
                line(
                    &mut csv,
                    &[
                        run.scenario.as_str().into(),
                        table.id.as_str().into(),
                        row.id.as_str().into(),
                        column.into(),
                        raw(&cell.value),
                        cell.published.as_ref().map(raw).unwrap_or_default(),
                        cell.printed.as_deref().unwrap_or_default().into(),
                        cell.verdict.map(|verdict| verdict.to_string().into()).unwrap_or_default(),
                        finding.map(String::as_str).unwrap_or_default().into(),
                    ],
                );
            }
        }
    }
    csv
}

/// Every point of every curve: `scenario,series,unit,x,y`.
#[must_use]
pub fn series(runs: &[RunResult]) -> String {
    let mut csv = String::from("scenario,series,unit,x,y\n");
    for run in runs {
        for curve in &run.series {
            for (x, y) in curve.x.iter().zip(&curve.y) {
                line(
                    &mut csv,
                    &[
                        run.scenario.as_str().into(),
                        curve.id.as_str().into(),
                        curve.unit.as_str().into(),
                        x.to_string().into(),
                        y.to_string().into(),
                    ],
                );
            }
        }
    }
    csv
}

fn raw(value: &Value) -> Cow<'_, str> {
    match value {
        Value::Int(number) => number.to_string().into(),
        Value::Real(number) => number.to_string().into(),
        Value::Text(words) => words.as_str().into(),
        Value::None => "".into(),
    }
}

fn line(csv: &mut String, fields: &[Cow<'_, str>]) {
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            csv.push(',');
        }
        csv.push_str(&quoted(field));
    }
    csv.push('\n');
}

/// RFC 4180, 2.6 and 2.7: quotes around a field with a comma, a quote or a line break; a quote
/// inside becomes two.
fn quoted(field: &str) -> Cow<'_, str> {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\"")).into()
    } else {
        field.into()
    }
}
