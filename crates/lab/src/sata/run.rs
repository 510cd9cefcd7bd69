//! The runs of the publication and what goes beyond them, side by side, and the result that is made of them.
//!
//! Layer: rank 11. Main type: [`Measurements`]; functions: [`check`], [`run`].

pub(super) mod bench;
pub(super) mod measure;
pub(super) mod trace;
pub(super) mod what_if;

use super::scenario::{self, Scenario};
use super::{charts, findings, tables, verdicts};
use boardlab_document::Reading;
use boardlab_experiment::crew::Crew;
use boardlab_experiment::reference::Reference;
use boardlab_experiment::{Failure, Request};
use boardlab_result::{RunResult, Timeline};
use boardlab_sim::Duration;
use measure::{DriveRun, WholeDrive};
use what_if::{CachePoint, DepthPoint, SizePoint, SpeedPoint};

/// What to try when a run fails.
const HELP: &str = "what --set asks for cannot work: compare drive and host with built-in ones: boardlab list keys sata-ssd";

pub(super) fn read(request: &Request<'_>) -> Result<Reading<Scenario>, Failure> {
    Ok(request.document.read(|section| scenario::read(&section))?)
}

/// Whether `request` can be run; it names no data files.
pub(super) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    read(request).map(|_| 0)
}

/// Everything that the publication measured, and what it did not ask.
pub(super) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let Reading { value: scenario, parameters } = read(request)?;
    let measured = measure(request, &scenario)?;
    let title = "SSD transfer rates of a SATA host";
    let mut run = request.blank(title, parameters);
    let reference = Reference::named("sata")?;
    let print = request.is_as_published().then_some(&reference);
    tables::all(&mut run, &scenario, &measured, print)?;
    let facts = findings::Facts { scenario: &scenario, measured: &measured };
    let explaining = findings::all(&mut run, &facts, print)?;
    if let (Some(reference), Some(explaining)) = (print, &explaining) {
        verdicts::verdicts(&mut run, reference, explaining)?;
    }
    charts::all(&mut run, &scenario, &measured, print);
    run.timelines.clone_from(&measured.timelines);
    request.warn_if_altered(&mut run);
    let swept = measured.swept.iter().map(|one| one.took);
    let tested = [measured.intel.took, measured.g_monster.took];
    run.virtual_time_ns = swept.chain(tested).map(Duration::as_nanos).sum();
    verdicts::name_parameters(&mut run);
    Ok(run)
}

/// Everything that was measured.
pub(super) struct Measurements {
    pub(super) intel: DriveRun,
    pub(super) g_monster: DriveRun,
    /// Those of table 7-1, in its order.
    pub(super) swept: [WholeDrive; 2],
    pub(super) sizes: Vec<SizePoint>,
    pub(super) speeds: Vec<SpeedPoint>,
    pub(super) caches: Vec<CachePoint>,
    pub(super) queue: Vec<DepthPoint>,
    pub(super) timelines: Vec<Timeline>,
}

/// Runs everything, on all cores; what takes longest comes first.
fn measure(request: &Request<'_>, scenario: &Scenario) -> Result<Measurements, Failure> {
    let (drives, seed, mut crew) = (&scenario.drives, request.seed, Crew::default());
    let g_monster =
        crew.add("g-monster-v2", HELP, || measure::test(scenario, &drives.g_monster, true, seed));
    let transcend =
        crew.add("transcend", HELP, || measure::sweep(scenario, &drives.transcend, seed));
    let buffalo = crew.add("buffalo", HELP, || measure::sweep(scenario, &drives.buffalo, seed));
    let intel =
        crew.add("intel-x25-e", HELP, || measure::test(scenario, &drives.intel, false, seed));
    let beyond = crew.add("what if", HELP, || {
        let (sizes, speeds) = (what_if::sizes(scenario, seed)?, what_if::speeds(scenario, seed)?);
        let (caches, queue) = (what_if::caches(scenario, seed)?, what_if::queue(scenario, seed)?);
        Ok((sizes, speeds, caches, queue, trace::timelines(scenario, seed)?))
    });
    crew.perform(request)?;
    let (intel, g_monster) = (intel.take(), g_monster.take());
    let swept = [transcend.take(), buffalo.take()];
    let (sizes, speeds, caches, queue, timelines) = beyond.take();
    Ok(Measurements { intel, g_monster, swept, sizes, speeds, caches, queue, timelines })
}
