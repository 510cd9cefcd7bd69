//! A figure of a run as the prediction of a plan.
//!
//! Layer: rank 9. Function: [`predicted`].

use boardlab_result::RunResult;

/// The figure of a cell, rounded to a whole number; `None` where there is no such cell, or no number that a
/// plan can have.
#[must_use]
pub fn predicted(run: &RunResult, table: &str, row: &str, column: &str) -> Option<u64> {
    let figure = run.table(table)?.cell(row, column)?.value.as_f64()?.round();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
    (0.0..9e18).contains(&figure).then_some(figure as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_result::{Cell, Row, Table};

    #[test]
    fn a_figure_is_rounded_and_words_are_none() {
        let mut run = RunResult::new("x", "x", 1, "0");
        let row = Row::new("r", "").cell("a", Cell::real(1.5)).cell("b", Cell::text("words"));
        run.tables = vec![Table::new("t", "T").with_rows([row.cell("c", Cell::real(-1.0))])];
        assert_eq!(predicted(&run, "t", "r", "a"), Some(2));
        for column in ["b", "c", "d"] {
            assert_eq!(predicted(&run, "t", "r", column), None);
        }
        assert_eq!(predicted(&run, "u", "r", "a"), None);
    }
}
