//! Results as CSV: one line a cell, in long form, so that any spreadsheet or data frame can pivot it.
//!
//! Layer: rank 8, inside `report`. Functions: [`cells`] and [`series`]. Fields are quoted as RFC 4180
//! says; lines end with a bare newline, not with its CRLF, because the readers are shell tools as often
//! as spreadsheets. Numbers are exact and in the unit that the column's id ends with. A spreadsheet
//! evaluates a cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return as a formula, so
//! such texts are prefixed with an apostrophe (OWASP, CSV Injection); numbers stay numbers.

use boardlab_result::csv::line;
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
                    [
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
                    [
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

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_result::{Cell, Curve, Row, RunResult, Table};

    /// The fields of a line that has no line break in a field.
    fn fields(line: &str) -> Vec<String> {
        let (mut fields, mut quoted) = (vec![String::new()], false);
        for character in line.chars() {
            match character {
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(String::new()),
                other => fields.last_mut().unwrap().push(other),
            }
        }
        fields
    }

    #[test]
    fn words_that_a_spreadsheet_would_run_are_defused_and_numbers_are_not() {
        for formula in [
            "=1+1",
            "+1+1",
            "-2+3",
            "@SUM(A1)",
            "\t=1",
            "\r=1",
            "-rw-r--r--",
            "-inf",
            "＝1",
            "-",
            "+1 %",
        ] {
            let mut run = RunResult::new(formula, "x", 1, "0");
            let mut table = Table::new(formula, "x").column(formula, "x");
            let mut cell = Cell::text(formula);
            cell.printed = Some(formula.into());
            table.rows.push(Row::new(formula, "x").cell(formula, cell));
            run.tables.push(table);
            run.series.push(Curve {
                id: formula.into(),
                unit: formula.into(),
                x: vec![-1.5],
                y: vec![-1e-9],
            });
            let runs = [run];
            let line = cells(&runs).lines().nth(1).unwrap().to_owned();
            for (index, field) in fields(&line).iter().enumerate() {
                let filled = ![5, 7, 8].contains(&index);
                assert_eq!(field.starts_with('\''), filled, "{index}: {line}");
            }
            let line = series(&runs).lines().nth(1).unwrap().to_owned();
            let points = fields(&line);
            assert_eq!(points[..3], [formula; 3].map(|one| format!("'{one}")));
            assert_eq!(points[3..], ["-1.5", "-0.000000001"]);
        }
    }
}
