//! Performs the steps, and makes the result.
//!
//! Layer: rank 10. Functions: [`check`], [`run`], [`plan`].

use super::findings;
use super::scenario::{DISCARD, FLUSH, READ, Scenario, WRITE};
use crate::latencies::StepRun;
use crate::steps::{self, Step};
use crate::tables;
use boardlab_block::{BlockDevice, Error, Extent, Payload, RamBlock, Request, Target};
use boardlab_experiment::verdict::name_parameters;
use boardlab_experiment::{self as experiment, Failure, PlanRequest};
use boardlab_measure::plan::Plan;
use boardlab_result::RunResult;
use boardlab_sim::{Bytes, Clock, Instant};

/// What to try when a step fails.
const HELP: &str = "compare the steps with the size of the device";
/// The device of the plan, unless the user names another one.
const DEVICE: &str = "/dev/nullb0";

fn read(request: &experiment::Request<'_>) -> Result<(Scenario, RunResult), Failure> {
    let reading = request.document.read(Scenario::read)?;
    Ok((reading.value, request.blank("Operations of a block device", reading.parameters)))
}

/// Checks `request`.
pub(super) fn check(request: &experiment::Request<'_>) -> Result<u32, Failure> {
    read(request)?;
    Ok(0)
}

/// Performs the steps on a new device.
pub(super) fn run(request: &experiment::Request<'_>) -> Result<RunResult, Failure> {
    let (scenario, mut run) = read(request)?;
    let (runs, clock) = measure(request, &scenario)?;
    run.tables.push(tables::steps(&runs));
    findings::all(&mut run, &scenario, &runs);
    run.virtual_time_ns = clock.now().since(Instant::ZERO).as_nanos();
    name_parameters(&mut run, |_, _| true);
    Ok(run)
}

/// The same steps for a board, each with what the model takes.
pub(super) fn plan(request: &PlanRequest<'_>) -> Result<Plan, Failure> {
    let (scenario, _) = read(&request.request)?;
    let (runs, _) = measure(&request.request, &scenario)?;
    Ok(steps::plan(request, &scenario.steps, &runs, DEVICE))
}

fn measure(
    request: &experiment::Request<'_>,
    scenario: &Scenario,
) -> Result<(Vec<StepRun>, Clock), Failure> {
    let (mut device, mut clock) = (scenario.device.build(), Clock::new());
    let runs = steps::perform(request, &scenario.steps, |step| {
        let run = perform(&mut device, &mut clock, scenario, step);
        run.map_err(|error| Failure::run(&step.name, error, HELP))
    })?;
    Ok((runs, clock))
}

/// Performs a step with as many operations outstanding as it says.
fn perform(
    device: &mut RamBlock,
    clock: &mut Clock,
    scenario: &Scenario,
    step: &Step,
) -> Result<StepRun, Error> {
    let pattern = step.pattern(scenario.device.room()).expect("the scenario was checked");
    let mut run = StepRun::new(&step.name, step.operation);
    let size = pattern.size();
    let begun = clock.now();
    // When each of the outstanding operations ends.
    let mut ends = vec![begun; step.depth.try_into().expect("at most 256")];
    for at in pattern {
        let free = ends.iter_mut().min().expect("at least one at once");
        clock.advance_to(*free);
        let extent = device.geometry().extent(at, size)?;
        let mut start = clock.now();
        if step.operation == FLUSH {
            // The agent writes what it flushes; the write is not timed.
            start = device.submit(start, write(extent))?.ended;
        }
        *free = device.submit(start, request(step.operation, extent))?.ended;
        let moved = if step.operation == FLUSH { Bytes::ZERO } else { size };
        run.record(free.since(start), moved);
    }
    clock.advance_to(ends.into_iter().max().unwrap_or(begun));
    run.elapsed = clock.now().since(begun);
    Ok(run)
}

fn request(operation: &str, extent: Extent) -> Request<'static> {
    match operation {
        READ => Request::Read { extent, into: Target::Nowhere },
        WRITE => write(extent),
        DISCARD => Request::Discard { extent },
        _ => Request::Flush,
    }
}

const fn write(extent: Extent) -> Request<'static> {
    Request::Write { extent, data: Payload::Repeated(0), durable: false }
}
