//! The comparison of our figures with the published ones.
//!
//! Layer: rank 9. Main functions: [`judge`], one figure, and [`apply`], a whole table, with
//! [`Rules`] for what an experiment knows: the cells that a published input determines alone, and
//! the findings that name the mechanism of a difference. A verdict is never tighter than the print.

use crate::reference::{Allowance, Print, Reference, ReferenceTable};
use boardlab_document::error::Error;
use boardlab_result::{CLOSE, Cell, Column, Row, RunResult, Table, Value, Verdict};

/// Names the parameters that each table depends on, and counts their origins: `depends` gets the table's
/// id and the parameter's key.
pub fn name_parameters(run: &mut RunResult, depends: impl Fn(&str, &str) -> bool) {
    let keys: Vec<String> = run.parameters.iter().map(|parameter| parameter.key.clone()).collect();
    for table in &mut run.tables {
        let own = keys.iter().filter(|key| depends(&table.id, key));
        table.parameters = own.cloned().collect();
    }
    run.count_provenance();
}

/// Whether `key` begins with one of `prefixes`.
pub fn is_of(key: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| key.starts_with(prefix))
}

impl Reference {
    /// A figure as it was printed, for quotation.
    ///
    /// # Errors
    /// [`Error::UnknownName`] when it was not printed.
    pub fn quote(&self, table: &str, row: &str, column: &str) -> Result<&str, Error> {
        Ok(&self.table(table)?.cell(row, column)?.text)
    }

    /// A figure as a number; NaN where words were printed.
    ///
    /// # Errors
    /// [`Error::UnknownName`] when it was not printed.
    pub fn number(&self, table: &str, row: &str, column: &str) -> Result<f64, Error> {
        let cell = self.table(table)?.cell(row, column)?;
        Ok(cell.published.as_f64().unwrap_or(f64::NAN))
    }
}

/// What an experiment knows about the cells of one table; without rules every cell is judged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rules(Vec<Rule>);

/// What an experiment knows about one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    row: String,
    column: String,
    /// The finding on the mechanism of a difference; `None` where the cell is an input.
    finding: Option<usize>,
}

impl Rules {
    /// The cell follows from a published input, or from a fit to itself: it proves nothing.
    #[must_use]
    pub fn input(self, row: impl Into<String>, column: impl Into<String>) -> Self {
        self.with(row.into(), column.into(), None)
    }

    /// If the cell does not pass, the finding with this index names the mechanism.
    #[must_use]
    pub fn explained(
        self,
        row: impl Into<String>,
        column: impl Into<String>,
        finding: usize,
    ) -> Self {
        self.with(row.into(), column.into(), Some(finding))
    }

    fn with(mut self, row: String, column: String, finding: Option<usize>) -> Self {
        self.0.push(Rule { row, column, finding });
        self
    }

    /// The rules about a cell.
    fn of<'r>(&'r self, row: &'r str, column: &'r str) -> impl Iterator<Item = &'r Rule> {
        self.0.iter().filter(move |rule| rule.row == row && rule.column == column)
    }
}

/// Compares `ours` with a figure of `table`: pass within the print and the spread that the publication states,
/// close within [`CLOSE`] of it or what the reference allows the table, otherwise fail. Words agree with no number.
#[must_use]
pub fn judge(ours: f64, printed: &Print, table: &ReferenceTable) -> Verdict {
    let Some((low, high)) = printed.span else { return Verdict::Fail };
    // A share of the printed figure, or of the ends of a printed range.
    let (least, most) = printed.published.as_f64().map_or((low, high), |figure| (figure, figure));
    let within = |share: f64| {
        // The ends are sums of rounded f64: a verdict must not be tighter by their last bit.
        let last_bit = 1e-12 * low.abs().max(high.abs());
        ours >= low.min(least - share * least.abs()) - last_bit
            && ours <= high.max(most + share * most.abs()) + last_bit
    };
    let spread = table.spread.as_ref().map_or(0.0, Allowance::share);
    let close = table.close.as_ref().map_or(CLOSE, Allowance::share);
    if within(spread) {
        Verdict::Pass
    } else if within(close) {
        Verdict::Close
    } else {
        Verdict::Fail
    }
}

/// Adds the published figures to each of `tables` that was published, by its own rules.
///
/// # Errors
/// [`Error::UnknownName`] when a rule is about a cell that was not published.
pub fn apply_each(
    tables: &mut [Table],
    reference: &Reference,
    rules: impl Fn(&Table, &ReferenceTable) -> Rules,
) -> Result<(), Error> {
    for table in tables {
        if let Ok(published) = reference.table(&table.id) {
            let rules = rules(table, published);
            apply(table, published, &rules)?;
        }
    }
    Ok(())
}

/// Adds the published figures to `table`, with the verdicts.
///
/// Rows, columns and cells that were published and that `table` lacks are added as not built.
///
/// # Errors
/// [`Error::UnknownName`] when a rule is about a cell that was not published.
pub fn apply(table: &mut Table, reference: &ReferenceTable, rules: &Rules) -> Result<(), Error> {
    // A rule about no published cell would silently do nothing.
    for rule in &rules.0 {
        reference.cell(&rule.row, &rule.column)?;
    }
    table.source = Some(reference.source_and_allowances());
    for published in &reference.rows {
        let known = table.rows.iter().position(|row| row.id == published.id);
        let index = known.unwrap_or_else(|| {
            table.rows.push(Row::new(&published.id, &published.title));
            table.rows.len() - 1
        });
        if table.rows[index].unit.is_empty() {
            table.rows[index].unit = published.unit.into();
        }
        for (column, printed) in &published.cells {
            if !table.columns.iter().any(|known| known.id == *column) {
                table.columns.push(Column { id: column.clone(), title: column.clone() });
            }
            let cells = &mut table.rows[index].cells;
            let cell = cells.entry(column.clone()).or_insert_with(Cell::none);
            cell.published = Some(printed.published.clone());
            cell.printed = Some(printed.text.clone());
            compare(cell, (printed, reference), rules, (&published.id, column));
        }
    }
    Ok(())
}

fn compare(
    cell: &mut Cell,
    (printed, table): (&Print, &ReferenceTable),
    rules: &Rules,
    (row, column): (&str, &str),
) {
    let verdict = match &cell.value {
        Value::None => Verdict::NotBuilt,
        _ if rules.of(row, column).any(|rule| rule.finding.is_none()) => Verdict::Input,
        Value::Text(words) if *words == printed.text => Verdict::Pass,
        value => value.as_f64().map_or(Verdict::Fail, |ours| judge(ours, printed, table)),
    };
    let finding = rules.of(row, column).find_map(|rule| rule.finding);
    cell.finding = finding.filter(|_| matches!(verdict, Verdict::Close | Verdict::Fail));
    cell.verdict = Some(match (verdict, cell.finding) {
        (Verdict::Fail, Some(_)) => Verdict::Differs,
        _ => verdict,
    });
}
