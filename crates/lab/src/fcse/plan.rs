//! The plan of the context-switch experiment for a board that runs Linux.
//!
//! Layer: rank 11. Function: [`plan`].

use super::run::read;
use boardlab_experiment::{Failure, PlanRequest};
use boardlab_measure::plan::{Plan, Step};

/// What a board cannot give.
const BEYOND: &str = "Neither row of table 1 is a figure of Linux: both are of sys_chg, a call of the publication's \
    system that waits for the next timer interrupt, with FCSE and without. Mainline Linux has never used FCSE (patches outside of it did), and it has no such \
    call; the ELF file of `os/` boots on a RealView board and prints table 1 there. The plan gives what the question was \
    about: what a switch between processes costs on the board at hand, as lmbench measures it, with a growing number of \
    processes, and how late a timer wakes a task. It has no predictions, for the model is of an ARM926EJ-S with another \
    operating system.";
/// Passes of a token in a ring.
const HOPS: u64 = 20_000;
/// Sleeps of a timer.
const SLEEPS: u64 = 1_000;

/// Rings of processes as the scenario has them, and the clock.
pub(super) fn plan(request: &PlanRequest<'_>) -> Result<Plan, Failure> {
    let scenario = read(&request.request)?.value;
    let mut plan = Plan::new(request.request.scenario).remark(BEYOND);
    plan.push(Step::new("timer", "cpu.timer"));
    let tick = scenario.real_time.tick.as_nanos();
    plan.push(Step::new("wake-up", "cpu.sleep").key("count", SLEEPS).key("time_ns", tick));
    for operation in ["pipe", "futex"] {
        for processes in &scenario.ring.processes {
            let step = Step::new(format!("{operation}-{processes}"), &format!("cpu.{operation}"));
            plan.push(step.key("count", HOPS).key("processes", u64::from(*processes)));
        }
    }
    Ok(plan)
}
