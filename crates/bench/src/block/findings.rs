//! Findings: what a deeper queue brings, up to the lanes of the device.
//!
//! Layer: rank 10. Function: [`all`].

use super::scenario::Scenario;
use crate::latencies::StepRun;
use boardlab_experiment::finding::find;
use boardlab_result::RunResult;

/// Adds which step gets most operations a second, and why.
pub(super) fn all(run: &mut RunResult, scenario: &Scenario, runs: &[StepRun]) {
    let rated = scenario.steps.iter().zip(runs);
    let rated = rated.filter_map(|(step, run)| Some((step, run, run.operations_per_s()?)));
    let Some((step, fastest, rate)) = rated.max_by(|one, other| one.2.total_cmp(&other.2)) else {
        return;
    };
    let lanes = scenario.device.lanes;
    let limit = if step.depth < lanes {
        format!("the device would take {lanes} at once, and the step gives it {}", step.depth)
    } else {
        format!("it uses all {lanes} lanes of the device")
    };
    let mean = fastest.latencies.mean().unwrap_or_default();
    let name = &step.name;
    find(
        run,
        format!(
            "The step {name} gets most done: {rate:.0} operations a second. Each takes {mean} on average; {limit}."
        ),
    );
}
