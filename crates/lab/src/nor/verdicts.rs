//! The published figures beside ours, and the parameters that they depend on.
//!
//! Layer: rank 11. Functions: [`verdicts`], [`name_parameters`].

use super::findings::Explaining;
use boardlab_document::error::Error;
use boardlab_experiment::reference::Reference;
use boardlab_experiment::verdict::{self, Rules, apply_each, is_of};
use boardlab_result::{RunResult, Table};

/// Puts the published figures beside ours.
pub(super) fn verdicts(
    tables: &mut [Table],
    reference: &Reference,
    explaining: &Explaining,
) -> Result<(), Error> {
    apply_each(tables, reference, |table, _| rules(&table.id, explaining))
}

/// What is known about the cells of a table.
fn rules(table: &str, explaining: &Explaining) -> Rules {
    let Explaining { first_poll, poll_period, rounded_rows } = *explaining;
    match table {
        // The bus cycle is the published fill time, the program time the published wait.
        "table4" => ["mean_ns", "min_ns", "max_ns", "total_ns"]
            .into_iter()
            .fold(Rules::default(), |rules, column| rules.input("U-6", column))
            .input("U-5", "mean_ns")
            .input("U-5", "total_ns"),
        "table5" => Rules::default()
            .input("L-3", "mean_ns")
            .input("L-3", "total_ns")
            .input("L-6", "mean_ns")
            .input("L-6", "total_ns")
            .explained("L-7", "mean_ns", first_poll),
        "table6" => Rules::default()
            .input("L-3", "total_ns")
            .input("L-6", "total_ns")
            // The poll gap is fitted to these three.
            .input("L-7-poll", "mean_ns")
            .input("total", "total_ns")
            .input("saving", "total_ns")
            .explained("L-7", "total_ns", rounded_rows),
        _ => Rules::default()
            .explained("L-7-poll", "mean_ns", poll_period)
            .explained("L-7", "total_ns", poll_period)
            .explained("total", "total_ns", poll_period)
            .explained("saving", "total_ns", poll_period),
    }
}

/// Names the parameters that each table depends on.
pub(super) fn name_parameters(run: &mut RunResult) {
    const SHARED: [&str; 5] =
        ["part.geometry", "part.timing.buffer", "board.bus", "board.cpu.time_base", "workload"];
    verdict::name_parameters(run, |table, key| {
        let own: &[&str] = match table {
            "table4" => &["uboot", "board.cpu.call", "board.cpu.split"],
            "table5" => &["linux", "board.cpu", "part.cfi.word_typical"],
            "table6" => &["improved", "linux", "board.cpu", "part.cfi.word_typical"],
            "table6-own-gap" => &["improved.wait", "linux", "board.cpu", "part.cfi.word_typical"],
            _ => &["linux", "tune", "what_if", "board.cpu", "part.cfi"],
        };
        (is_of(key, &SHARED) || is_of(key, own))
            && !key.ends_with("wake_latency")
            && !key.ends_with("context_switch")
    });
}
