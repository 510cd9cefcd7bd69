//! Performs the steps, and makes the result.
//!
//! Layer: rank 10. Functions: [`check`], [`run`], [`plan`].

use super::findings;
use super::scenario::{ERASE, PROGRAM, Port as Costs, READ, Scenario, room};
use crate::latencies::StepRun;
use crate::steps::{self, Step};
use crate::tables;
use boardlab_experiment::verdict::name_parameters;
use boardlab_experiment::{Failure, PlanRequest, Request};
use boardlab_measure::plan::Plan;
use boardlab_mtd::{BlockIndex, Mtd, PageIndex};
use boardlab_nand::chip::{Die, Setup};
use boardlab_nand::driver::ProfileError;
use boardlab_nand::{Nand, Part, Port, PortTiming};
use boardlab_result::RunResult;
use boardlab_sim::{Bytes, Clock, Instant, Seed};
use std::sync::Arc;

/// What to try when a step fails.
const HELP: &str = "a program needs erased flash: begin with steps mtd.erase";
/// The device of the plan, unless the user names another one.
const DEVICE: &str = "/dev/mtd0";

fn read(request: &Request<'_>) -> Result<(Scenario, RunResult), Failure> {
    let reading = request.document.read(Scenario::read)?;
    let title = format!("Operations of {}", reading.value.part.name);
    Ok((reading.value, request.blank(&title, reading.parameters)))
}

/// Checks `request`.
pub(super) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    read(request)?;
    Ok(0)
}

/// Performs the steps on a new flash, which is erased.
pub(super) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let (scenario, mut run) = read(request)?;
    let (runs, clock) = measure(request, &scenario)?;
    run.tables.push(tables::steps(&runs));
    findings::all(&mut run, &runs);
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

fn measure(request: &Request<'_>, scenario: &Scenario) -> Result<(Vec<StepRun>, Clock), Failure> {
    let mut clock = Clock::new();
    let failed = |error| Failure::run(&scenario.part.name, error, HELP);
    let mut mtd = attach(scenario, request.seed, &mut clock).map_err(failed)?;
    let runs = steps::perform(request, &scenario.steps, |step| {
        let run = perform(&mut mtd, &mut clock, &scenario.part, step);
        run.map_err(|error| Failure::run(&step.name, error, HELP))
    })?;
    Ok((runs, clock))
}

/// A new flash behind its driver.
fn attach(scenario: &Scenario, seed: Seed, clock: &mut Clock) -> Result<Nand, ProfileError> {
    let profile = scenario.kernel.profile(&scenario.part)?;
    let setup = Setup::perfect(seed.child("nand"));
    let die = Die::new(Arc::new(scenario.part.clone()), &setup).map_err(ProfileError::Part)?;
    let Costs { per_command, per_byte } = scenario.port;
    let timing = PortTiming { per_command, per_byte, ..PortTiming::default() };
    Nand::attach(Port::new(die, timing).map_err(ProfileError::Part)?, profile, clock)
}

/// Performs a step. Bad blocks are skipped, as on a board.
fn perform(
    mtd: &mut Nand,
    clock: &mut Clock,
    part: &Part,
    step: &Step,
) -> Result<StepRun, boardlab_mtd::Error> {
    let pattern = step.pattern(room(part, step)).expect("the scenario was checked");
    let mut run = StepRun::new(&step.name, step.operation);
    let mut buffer = vec![0; pattern.size().to_usize()];
    let oob = mtd.geometry().oob.map_or(Bytes::ZERO, |oob| oob.size);
    let begun = clock.now();
    for at in pattern {
        let block = mtd.geometry().block_at(at);
        let Some(block) = block else { continue };
        if mtd.is_bad(clock, block)? {
            continue;
        }
        let start = clock.now();
        let bytes = operation(mtd, clock, step.operation, (at, block), &mut buffer, oob)?;
        run.record(clock.now().since(start), bytes);
    }
    run.elapsed = clock.now().since(begun);
    Ok(run)
}

fn operation(
    mtd: &mut Nand,
    clock: &mut Clock,
    operation: &str,
    (at, block): (Bytes, BlockIndex),
    buffer: &mut [u8],
    oob: Bytes,
) -> Result<Bytes, boardlab_mtd::Error> {
    match operation {
        READ => mtd.read(clock, at, buffer).map(drop)?,
        PROGRAM => {
            buffer.fill(0);
            mtd.program(clock, at, buffer)?;
        }
        ERASE => mtd.erase(clock, block)?,
        _ => {
            let page = at / mtd.geometry().write_size;
            let page = PageIndex(page.try_into().unwrap_or(u32::MAX));
            // All OOB bytes are moved, whichever of them the caller gets.
            mtd.read_oob(clock, page, &mut [])?;
            return Ok(oob);
        }
    }
    Ok(Bytes::of(buffer))
}
