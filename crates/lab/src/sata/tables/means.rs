//! The printed means recomputed, and what a mean of rates should be.
//!
//! Layer: rank 11. Functions: [`arithmetic`], [`harmonic`], [`deviation`], [`table`]. The mean rate of several runs is all bytes over all time: the
//! harmonic mean weighted by bytes. The publication prints the arithmetic mean of its rows, in which 32 MB count as much as
//! 16 GB.

use crate::sata::run::Measured;
use crate::sata::tables::rows;
use crate::sata::verdicts::printed_rate;
use boardlab_document::error::Error;
use boardlab_experiment::reference::Reference;
use boardlab_result::prose::float;
use boardlab_result::{Cell, Row, Table};

/// The mean of the rows.
pub(crate) fn arithmetic(rates: &[[f64; 2]]) -> [f64; 2] {
    let count = float(u64::try_from(rates.len()).unwrap_or(u64::MAX));
    [0, 1].map(|at| rates.iter().map(|row| row[at]).sum::<f64>() / count)
}

/// All bytes over all time, where each row moves as much as its weight.
pub(crate) fn harmonic(rates: &[[f64; 2]], weights: &[u64]) -> [f64; 2] {
    let all: f64 = weights.iter().map(|&weight| float(weight)).sum();
    [0, 1].map(|at| {
        let times = rates.iter().zip(weights).map(|(row, &weight)| float(weight) / row[at]);
        all / times.sum::<f64>()
    })
}

/// The standard deviation of the rows, each taken as one of a sample.
pub(crate) fn deviation(rates: &[[f64; 2]]) -> [f64; 2] {
    let mean = arithmetic(rates);
    let less = float(u64::try_from(rates.len()).unwrap_or(u64::MAX).saturating_sub(1).max(1));
    [0, 1].map(|at| {
        let squares = rates.iter().map(|row| (row[at] - mean[at]).powi(2));
        (squares.sum::<f64>() / less).sqrt()
    })
}

/// The printed rows of a table of loops.
pub(crate) fn printed(
    reference: &Reference,
    table: &str,
    loops: &[u64],
) -> Result<Vec<[f64; 2]>, Error> {
    let each = loops.iter().map(|count| {
        let row = count.to_string();
        let of = |column| printed_rate(reference, table, &row, column);
        Ok([of("write")?.unwrap_or(f64::NAN), of("read")?.unwrap_or(f64::NAN)])
    });
    each.collect()
}

/// The means of both tables, printed and ours.
pub(crate) fn table(
    measured: &Measured,
    reference: &Reference,
    loops: &[u64],
) -> Result<Table, Error> {
    let mut table = Table::new("means", "Means of tables 5-1 and 5-2, recomputed")
        .column("printed_bytes_per_s", "printed mean")
        .column("rows_bytes_per_s", "mean of the printed rows")
        .column("bytes_bytes_per_s", "bytes over time, printed")
        .column("ours_bytes_per_s", "bytes over time, ours");
    let both = [("table5-1", &measured.intel), ("table5-2", &measured.g_monster)];
    for (id, tested) in both {
        let print = printed(reference, id, loops)?;
        let (rows_mean, bytes) = (arithmetic(&print), harmonic(&print, loops));
        let ours = harmonic(&rows(&tested.firmware, loops), loops);
        for (at, column) in ["write", "read"].into_iter().enumerate() {
            let mean = printed_rate(reference, id, "mean", column)?.unwrap_or(f64::NAN);
            let cell = |value: f64| Cell::real(value.round());
            table.rows.push(
                Row::new(format!("{id}/{column}"), "")
                    .cell("printed_bytes_per_s", cell(mean))
                    .cell("rows_bytes_per_s", cell(rows_mean[at]))
                    .cell("bytes_bytes_per_s", cell(bytes[at]))
                    .cell("ours_bytes_per_s", cell(ours[at])),
            );
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_by_bytes_is_all_bytes_over_all_time() {
        let rates = [[100.0, 50.0], [50.0, 50.0]];
        assert_eq!(arithmetic(&rates), [75.0, 50.0]);
        // 1 s for 100 and 6 s for 300.
        let [write, read] = harmonic(&rates, &[100, 300]);
        assert!((write - 400.0 / 7.0).abs() < 1e-9 && (read - 50.0).abs() < 1e-9);
        let [write, read] = deviation(&rates);
        assert!((write - 1_250_f64.sqrt()).abs() < 1e-9 && read == 0.0);
    }
}
