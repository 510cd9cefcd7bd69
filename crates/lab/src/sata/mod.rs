//! The SATA experiment: how fast is an SSD on a host core, and what does command sequencing in firmware cost?
//!
//! Layer: rank 10. It composes drives, a link and a host, and puts the published figures beside ours. In reading
//! order: [`console`] (the serial menu of its host), [`scenario`] (what is run), `bench` (one drive, run after run), `measure` (the runs of the publication), `what_if`
//! (what it does not ask), `trace` (one command on the wire), `tables`, `means` (the printed means recomputed),
//! `judge` (verdicts), `findings`, `charts`.
//!
//! Publication: SATA-IP application note 1, 2009; its figures are in `reference/sata.toml`.

pub mod console;
pub mod scenario;

mod bench;
mod beyond;
mod charts;
mod findings;
mod judge;
mod limits;
mod means;
mod measure;
mod sequencing;
mod tables;
mod told;
mod trace;
mod what_if;

use crate::experiment::{Failure, Progress, Request, VERSION};
use crate::in_order::in_order;
use crate::reference::Reference;
use bench::Cause;
use boardlab_document::Reading;
use boardlab_result::{RunResult, Timeline};
use boardlab_sim::{Duration, Seed};
use measure::{Swept, Tested};
use rayon::prelude::*;
use scenario::Scenario;
use std::sync::atomic::{AtomicUsize, Ordering};
use what_if::{Cached, Queued, Sized, Sped};

/// What to try when a run fails.
const HELP: &str = "what --set asks for cannot work: compare the drive with docs/formats/part.md and the host with board.md";

fn read(request: &Request<'_>) -> Result<Reading<Scenario>, Failure> {
    Ok(request.document.read(|section| scenario::read(&section))?)
}

/// Whether `request` can be run; it names no data files.
pub(crate) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    read(request).map(|_| 0)
}

/// Everything that the publication measured, and what it did not ask.
pub(crate) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let Reading { value: scenario, parameters } = read(request)?;
    let measured = measure(request, &scenario)?;
    let title = "SSD transfer rates of a SATA host";
    let mut run = RunResult::new(request.scenario, title, request.seed.get(), VERSION);
    run.parameters = parameters;
    let reference = Reference::named("sata")?;
    let print = request.is_as_published().then_some(&reference);
    tables::all(&mut run, &scenario, &measured, print)?;
    let facts = findings::Facts { scenario: &scenario, measured: &measured };
    let explaining = findings::all(&mut run, &facts, print)?;
    if let (Some(reference), Some(explaining)) = (print, &explaining) {
        judge::verdicts(&mut run, reference, explaining)?;
    }
    charts::all(&mut run, &scenario, &measured, print);
    run.timelines.clone_from(&measured.timelines);
    request.warn_if_altered(&mut run);
    let swept = measured.swept.iter().map(|one| one.took);
    let tested = [measured.intel.took, measured.g_monster.took];
    run.virtual_time_ns = swept.chain(tested).map(Duration::as_nanos).sum();
    judge::name_parameters(&mut run);
    run.count_provenance();
    Ok(run)
}

/// Everything that was measured.
struct Measured {
    intel: Tested,
    g_monster: Tested,
    /// Those of table 7-1, in its order.
    swept: [Swept; 2],
    sizes: Vec<Sized>,
    speeds: Vec<Sped>,
    caches: Vec<Cached>,
    queue: Vec<Queued>,
    timelines: Vec<Timeline>,
}

/// A piece of work; the longest come first, so that no core is left with one in the end.
#[derive(Debug, Clone, Copy)]
enum Job {
    GMonster,
    Transcend,
    Buffalo,
    Intel,
    Beyond,
}

/// What came of it.
enum Done {
    Tested(Box<Tested>),
    Swept(Box<Swept>),
    Beyond(Box<Beyond>),
}

/// What the publication did not ask.
struct Beyond {
    sizes: Vec<Sized>,
    speeds: Vec<Sped>,
    caches: Vec<Cached>,
    queue: Vec<Queued>,
    timelines: Vec<Timeline>,
}

impl Job {
    const ALL: [Self; 5] =
        [Self::GMonster, Self::Transcend, Self::Buffalo, Self::Intel, Self::Beyond];

    const fn name(self) -> &'static str {
        match self {
            Self::GMonster => "g-monster-v2",
            Self::Transcend => "transcend",
            Self::Buffalo => "buffalo",
            Self::Intel => "intel-x25-e",
            Self::Beyond => "what if",
        }
    }

    fn perform(self, scenario: &Scenario, seed: Seed) -> Result<Done, Cause> {
        let drives = &scenario.drives;
        let tested = |done| Done::Tested(Box::new(done));
        let swept = |done| Done::Swept(Box::new(done));
        match self {
            Self::GMonster => measure::test(scenario, &drives.g_monster, true, seed).map(tested),
            Self::Intel => measure::test(scenario, &drives.intel, false, seed).map(tested),
            Self::Transcend => measure::sweep(scenario, &drives.transcend, seed).map(swept),
            Self::Buffalo => measure::sweep(scenario, &drives.buffalo, seed).map(swept),
            Self::Beyond => {
                let beyond = Beyond {
                    sizes: what_if::sizes(scenario, seed)?,
                    speeds: what_if::speeds(scenario, seed)?,
                    caches: what_if::caches(scenario, seed)?,
                    queue: what_if::queue(scenario, seed)?,
                    timelines: trace::timelines(scenario, seed)?,
                };
                Ok(Done::Beyond(Box::new(beyond)))
            }
        }
    }
}

/// Runs everything, on all cores.
fn measure(request: &Request<'_>, scenario: &Scenario) -> Result<Measured, Failure> {
    let (finished, total) = (AtomicUsize::new(0), Job::ALL.len());
    let done = in_order(Job::ALL.par_iter().map(|job| {
        let done = job.perform(scenario, request.seed).map_err(|error| Failure::Run {
            system: job.name().into(),
            error,
            help: HELP,
        })?;
        let done_now = finished.fetch_add(1, Ordering::Relaxed) + 1;
        (request.progress)(Progress { step: job.name(), done: done_now, total });
        Ok::<Done, Failure>(done)
    }))?;
    let (mut tested, mut swept, mut beyond) = (Vec::new(), Vec::new(), None);
    for one in done {
        match one {
            Done::Tested(one) => tested.push(*one),
            Done::Swept(one) => swept.push(*one),
            Done::Beyond(one) => beyond = Some(*one),
        }
    }
    let [g_monster, intel] = tested.try_into().expect("two drives are tested");
    let swept = swept.try_into().expect("two drives are swept");
    let beyond = beyond.expect("the last job is what goes beyond");
    let Beyond { sizes, speeds, caches, queue, timelines } = beyond;
    Ok(Measured { intel, g_monster, swept, sizes, speeds, caches, queue, timelines })
}
