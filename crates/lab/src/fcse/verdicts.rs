//! The published figures beside ours.
//!
//! Layer: rank 11. Functions: [`verdicts`], [`name_parameters`]. The quantum is fitted to the first figure, which therefore shows nothing; the second
//! one is explained by the finding that it is the same quantum, seen from another phase.

use boardlab_document::error::Error;
use boardlab_experiment::reference::Reference;
use boardlab_experiment::verdict::{self, Rules, apply_each, is_of};
use boardlab_result::RunResult;

/// Puts the published figures beside ours; `quantum` is the finding about them.
pub(super) fn verdicts(
    run: &mut RunResult,
    reference: &Reference,
    quantum: usize,
) -> Result<(), Error> {
    let rules = Rules::default().input("without-fcse", "time_ns").explained(
        "with-fcse",
        "time_ns",
        quantum,
    );
    apply_each(&mut run.tables, reference, |_, _| rules.clone())
}

/// Names the parameters that each table depends on.
pub(super) fn name_parameters(run: &mut RunResult) {
    verdict::name_parameters(run, |table, key| {
        let own: &[&str] = match table {
            "qemu" => &["published."],
            "table1" | "phases" | "at-once" => &["published.", "board."],
            "ring-chg" | "ring-pipe" | "misses" | "waiting" => &["ring.", "board."],
            "latency-handler" | "latency-task" => &["real_time.", "board."],
            "interrupts-off" => &["interrupts_off.", "board."],
            "exec" => &["exec.", "board."],
            _ => &["board."],
        };
        is_of(key, own)
    });
}
