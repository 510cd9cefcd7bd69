//! A table of a comparison for people: one line a difference.
//!
//! Layer: rank 8, inside `report`. Main type: [`Pair`]; function: [`pairs`]. In the result, and so
//! in JSON and CSV, a comparison has the columns `a_mean_ns`, `b_mean_ns` and `mean_ns_ratio` for
//! each quantity, exact and by id; side by side on a screen they would be wider than any terminal.

use crate::format;
use boardlab_result::{Row, RunResult, Table, Unit, Value};

/// The scenario name of the results of [`crate::compare`].
pub(crate) const SCENARIO: &str = "compare";

/// The headings of the columns after the row's name.
pub(crate) const HEADINGS: [&str; 4] = ["quantity", "A", "B", "B/A"];

/// One quantity of one row, in A and in B.
pub(crate) struct Pair<'a> {
    /// The row.
    pub(crate) row: &'a Row,
    /// Whether it is the first of its row.
    pub(crate) first: bool,
    /// Name of the quantity, figure in A, figure in B, B/A: as in [`HEADINGS`].
    pub(crate) cells: [String; 4],
}

/// A quantity and its columns.
struct Quantity<'a> {
    title: &'a str,
    /// Id of its column in the tables that are compared.
    id: &'a str,
    a: &'a str,
    b: &'a str,
    ratio: Option<&'a str>,
}

/// The differences of `table` in order; `None` for a table that is not a comparison.
pub(crate) fn pairs<'a>(run: &RunResult, table: &'a Table) -> Option<Vec<Pair<'a>>> {
    let quantities = (run.scenario == SCENARIO).then(|| quantities(table)).flatten()?;
    let of_row = |row: &'a Row| {
        let there = quantities.iter().filter(|quantity| {
            row.cells.contains_key(quantity.a) || row.cells.contains_key(quantity.b)
        });
        let pair = |(at, quantity)| Pair { row, first: at == 0, cells: cells(row, quantity) };
        there.enumerate().map(pair).collect::<Vec<_>>()
    };
    Some(table.rows.iter().flat_map(of_row).collect())
}

/// The quantities of a comparison; `None` where the columns are not those of one.
fn quantities(table: &Table) -> Option<Vec<Quantity<'_>>> {
    let mut columns = table.columns.iter().peekable();
    let mut quantities = Vec::new();
    while let Some(a) = columns.next() {
        let quantity = a.id.strip_prefix("a_")?;
        let b = columns.next().filter(|b| b.id.strip_prefix("b_") == Some(quantity))?;
        let ratio = columns.next_if(|ratio| ratio.id.strip_suffix("_ratio") == Some(quantity));
        quantities.push(Quantity {
            title: a.title.strip_suffix(" A").unwrap_or(&a.title),
            id: quantity,
            a: &a.id,
            b: &b.id,
            ratio: ratio.map(|ratio| ratio.id.as_str()),
        });
    }
    (!quantities.is_empty()).then_some(quantities)
}

fn cells(row: &Row, quantity: &Quantity<'_>) -> [String; 4] {
    let shown = |column: &str, unit| {
        let value = row.cells.get(column).map_or(&Value::None, |cell| &cell.value);
        format::figure(value, unit)
    };
    let ratio = quantity.ratio.filter(|ratio| row.cells.contains_key(*ratio));
    [
        quantity.title.into(),
        shown(quantity.a, row.unit_in(quantity.id)),
        shown(quantity.b, row.unit_in(quantity.id)),
        ratio.map(|ratio| shown(ratio, Unit::Ratio)).unwrap_or_default(),
    ]
}
