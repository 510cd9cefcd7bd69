//! The printed means recomputed, and what a mean of rates should be.
//!
//! Layer: rank 11. Functions: [`arithmetic`], [`harmonic`], [`deviation`], [`table`]. The mean rate of several runs is all bytes over all time: the
//! harmonic mean weighted by bytes. The publication prints the arithmetic mean of its rows, in which 32 MB count as much as
//! 16 GB.

use crate::sata::run::Measurements;
use crate::sata::tables::{self, rate};
use boardlab_document::error::Error;
use boardlab_experiment::reference::Reference;
use boardlab_result::prose::float;
use boardlab_result::{Row, Table};

/// The mean of the rows.
pub(crate) fn arithmetic(rates: &[[f64; 2]]) -> [f64; 2] {
    let count = float(rates.len());
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
    let less = float(rates.len().saturating_sub(1).max(1));
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
        let of = |column| reference.number(table, &row, column);
        Ok([of("write")?, of("read")?])
    });
    each.collect()
}

/// The means of both tables, printed and ours.
pub(crate) fn table(
    measured: &Measurements,
    reference: &Reference,
    loops: &[u64],
) -> Result<Table, Error> {
    let mut rows = Vec::new();
    for (id, tested) in [("table5-1", &measured.intel), ("table5-2", &measured.g_monster)] {
        let print = printed(reference, id, loops)?;
        let ours = harmonic(&tables::rows(&tested.firmware, loops), loops);
        let (rows_mean, bytes) = (arithmetic(&print), harmonic(&print, loops));
        for (at, column) in ["write", "read"].into_iter().enumerate() {
            let mean = reference.number(id, "mean", column)?;
            let row = Row::new(format!("{id}/{column}"), "");
            rows.push((row, [mean, rows_mean[at], bytes[at], ours[at]]));
        }
    }
    let table = Table::new("means", "Means of tables 5-1 and 5-2, recomputed")
        .of(rows)
        .column("printed_bytes_per_s", "printed mean", |one| rate(one[0]))
        .column("rows_bytes_per_s", "mean of the printed rows", |one| rate(one[1]))
        .column("bytes_bytes_per_s", "bytes over time, printed", |one| rate(one[2]))
        .column("ours_bytes_per_s", "bytes over time, ours", |one| rate(one[3]));
    Ok(table.table())
}
