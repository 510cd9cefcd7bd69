//! The plan of a fio bench: its jobs as steps for the agent, with what the model predicts.
//!
//! Layer: rank 10. Function: [`plan`].

use super::run::{read, run};
use super::scenario::{Composition, jobs};
use crate::planned;
use boardlab_experiment::{Failure, PlanRequest};
use boardlab_measure::plan::{Plan, Step};

/// The step that fills the device before the jobs.
const FILL: &str = "fill";

/// The jobs that the agent can do, one after the other; a remark for each of the others.
pub(super) fn plan(request: &PlanRequest<'_>) -> Result<Plan, Failure> {
    let (scenario, _) = read(&request.request)?;
    let file = jobs::parse(&scenario.jobs)?;
    let result = run(&request.request)?;
    let capacity = scenario.composition.capacity();
    let fallback = match scenario.composition {
        Composition::Card(..) => "/dev/mmcblk0",
        Composition::Drive(..) => "/dev/sda",
    };
    let device = request.target("device", fallback);
    let mut plan = Plan::new(request.request.scenario)
        .remark("Jobs run one after the other, each alone. fio itself is run by boardlab run JOB.fio --on DEVICE.");
    let fill = scenario.fill.of(capacity).get() >> 20 << 20;
    if fill > 0 {
        let step = Step::new(FILL, "block.write").device(device).key("length", fill);
        plan.push(step.key("size", 1 << 20).key("data", "ff"));
    }
    for (number, job) in file.jobs.iter().enumerate() {
        let name = name(&job.name, number);
        match planned::step(&name, &job.settings, device, capacity.get()) {
            Ok(step) => plan.push(predict(step, &result, &job.name, number)),
            Err(reason) => {
                plan.add_remark(&format!("The job {} is not in the plan: {reason}.", job.name));
            }
        }
    }
    if plan.steps().is_empty() {
        let help = "jobs for the agent read or write blocks of one size";
        return Err(Failure::run("the plan", "no job is one that the agent can do", help));
    }
    Ok(plan)
}

/// The name of a step for a job; names of steps differ, and have fewer characters.
fn name(job: &str, number: usize) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let job: String = job.chars().take(40).map(plain).collect();
    format!("{job}.{number}")
}

fn predict(mut step: Step, result: &boardlab_result::RunResult, job: &str, number: usize) -> Step {
    let kind = if step.writes() { "write" } else { "read" };
    let row = format!("{job}.{number}.{kind}");
    let figures = [
        ("mean_ns", "mean_ns"),
        ("p99_ns", "percentile99_ns"),
        ("bytes_per_s", "bandwidth_bytes_per_s"),
    ];
    for (metric, column) in figures {
        step = step.predict(metric, result.figure("fio", &row, column));
    }
    step
}
