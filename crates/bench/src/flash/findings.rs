//! Findings: the slowest operation, and which share of the time it takes.
//!
//! Layer: rank 10. Function: [`all`].

use crate::latencies::StepRun;
use boardlab_experiment::finding::find;
use boardlab_result::RunResult;
use boardlab_result::prose::{float, percent_of};

/// Adds what took longest.
pub(super) fn all(run: &mut RunResult, runs: &[StepRun]) {
    let total: u64 = runs.iter().map(|one| one.elapsed.as_nanos()).sum();
    let Some(longest) = runs.iter().max_by_key(|one| one.elapsed) else { return };
    let share = percent_of(float(longest.elapsed.as_nanos()) / float(total.max(1)));
    let mean = longest.latencies.mean().unwrap_or_default();
    let finding = format!(
        "The step {} takes {share} of the time. Each of its {} operations ({}) takes {mean} on average.",
        longest.name,
        longest.latencies.count(),
        longest.operation,
    );
    find(run, finding);
}
