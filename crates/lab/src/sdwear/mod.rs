//! The SD experiment: does wear levelling keep a card alive when the same region is written again and again?
//!
//! Layer: rank 10. It composes card, slot and fio jobs, and puts the published figures beside ours. In reading
//! order: [`scenario`] (what is run), [`measure`] (what is measured of a card), `free` (experiment 1), `wear` (the same
//! volume with other levelling), `watch` and `rewrites` (experiment 2, with every controller that is compared), [`bands`]
//! (clusters of throughput), `power` (which volume could tell levelling apart), `tables`, `judge` (findings and
//! verdicts), `charts`.
//!
//! A further controller is one entry in the scenario.
//!
//! Publication: LeavaTail's diary, 2024; its figures are in `reference/sdwear.toml`.

pub mod bands;
pub mod measure;
pub mod scenario;

mod charts;
mod free;
mod judge;
mod limits;
mod power;
mod rewrites;
mod tables;
mod told;
mod watch;
mod wear;

use crate::experiment::{Failure, Progress, Request, VERSION};
use crate::in_order::in_order;
use crate::reference::Reference;
use boardlab_document::Reading;
use boardlab_ftl::Levelling;
use boardlab_result::RunResult;
use boardlab_result::prose::real;
use boardlab_sim::Bytes;
use free::{Cause, Free};
use power::{Asked, Told};
use rayon::prelude::*;
use rewrites::{Candidate, Rewritten};
use scenario::Scenario;
use std::sync::atomic::{AtomicUsize, Ordering};
use wear::{Variant, Worn};

/// What to try when a card fails.
const HELP: &str =
    "the part or what --set asks for cannot work as a card: compare it with docs/formats/part.md";

/// The scenario, and the cards that it is about.
fn read(request: &Request<'_>) -> Result<(Reading<Scenario>, Vec<Candidate>), Failure> {
    let reading = request.document.read(|section| scenario::read(&section))?;
    let candidates = rewrites::candidates(request.document, &reading.value)?;
    Ok((reading, candidates))
}

/// Whether `request` can be run; it names no data files.
pub(crate) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    read(request).map(|_| 0)
}

/// Both experiments, the comparison of wear levelling, and which volume could tell it.
pub(crate) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let (Reading { value: scenario, parameters }, candidates) = read(request)?;
    let measured = measure(request, &scenario, candidates)?;
    let title = format!("SD card wear levelling under {} of writes", volume(scenario.wear.volume));
    let mut run = RunResult::new(request.scenario, &title, request.seed.get(), VERSION);
    run.parameters = parameters;
    let reference = Reference::named("sdwear")?;
    let print = request.is_as_published().then_some(&reference);
    assemble(&mut run, &scenario, &measured, print)?;
    request.warn_if_altered(&mut run);
    let probes = measured.rewritten.iter().map(|one| one.probe.took + one.took);
    let spent = probes.fold(measured.free.took, |sum, took| sum + took);
    run.virtual_time_ns = spent.as_nanos();
    judge::name_parameters(&mut run);
    run.count_provenance();
    Ok(run)
}

/// A volume in whole terabytes, or to the megabyte where it is less.
fn volume(bytes: Bytes) -> String {
    match real(bytes) / 1e12 {
        terabytes if terabytes >= 1.0 => format!("{terabytes:.0} TB"),
        _ => format!("{:.0} MB", real(bytes) / 1e6),
    }
}

/// Everything that was measured.
struct Measured {
    free: Free,
    worn: Vec<Worn>,
    rewritten: Vec<Rewritten>,
    power: Vec<Told>,
}

impl Measured {
    fn worn(&self, id: &str) -> &Worn {
        self.worn.iter().find(|one| one.id == id).expect("every variant was run")
    }
}

/// A piece of work.
enum Job {
    Free,
    Worn(Box<Variant>),
    Rewritten(Box<Candidate>),
    Power(boardlab_document::quantity::Ratio),
}

/// What came of it.
enum Done {
    Free(Box<Free>),
    Worn(Box<Worn>),
    Rewritten(Box<Rewritten>),
    Power(Vec<Told>),
}

impl Job {
    fn system(&self) -> String {
        match self {
            Self::Free => "experiment 1".into(),
            Self::Worn(variant) => format!("levelling {}", variant.id),
            Self::Rewritten(candidate) => format!("experiment 2, {}", candidate.id),
            Self::Power(spare) => format!("power at {spare} spare"),
        }
    }

    fn perform(&self, scenario: &Scenario, seed: boardlab_sim::Seed) -> Result<Done, Cause> {
        Ok(match self {
            Self::Free => {
                let free = free::run(scenario, &scenario.part, &scenario.free, seed)?;
                Done::Free(Box::new(free))
            }
            Self::Worn(variant) => Done::Worn(Box::new(wear::run(scenario, variant, seed)?)),
            Self::Rewritten(candidate) => {
                Done::Rewritten(Box::new(rewrites::run(scenario, candidate, seed)?))
            }
            Self::Power(spare) => {
                let ask = |levelling, until| Asked { spare: *spare, levelling, until };
                let dynamic = power::run(scenario, ask(Levelling::Dynamic, None), seed)?;
                let until = Some(dynamic.passed.unwrap_or(dynamic.end.0));
                let fixed = Levelling::Threshold(scenario.wear.threshold);
                Done::Power(vec![dynamic, power::run(scenario, ask(fixed, until), seed)?])
            }
        })
    }
}

/// Runs everything, on all cores.
fn measure(
    request: &Request<'_>,
    scenario: &Scenario,
    candidates: Vec<Candidate>,
) -> Result<Measured, Failure> {
    let variants = wear::variants(scenario).into_iter();
    let jobs: Vec<Job> = [Job::Free]
        .into_iter()
        .chain(candidates.into_iter().map(|one| Job::Rewritten(Box::new(one))))
        .chain(variants.map(|one| Job::Worn(Box::new(one))))
        .chain(scenario.wear.spares.iter().map(|spare| Job::Power(*spare)))
        .collect();
    let (finished, total) = (AtomicUsize::new(0), jobs.len());
    let done = in_order(jobs.par_iter().map(|job| {
        let done = job.perform(scenario, request.seed).map_err(|error| Failure::Run {
            system: job.system(),
            error,
            help: HELP,
        })?;
        let done_now = finished.fetch_add(1, Ordering::Relaxed) + 1;
        (request.progress)(Progress { step: &job.system(), done: done_now, total });
        Ok::<Done, Failure>(done)
    }));
    let (mut free, mut worn, mut rewritten, mut power) = (None, Vec::new(), Vec::new(), Vec::new());
    for one in done? {
        match one {
            Done::Free(run) => free = Some(*run),
            Done::Worn(run) => worn.push(*run),
            Done::Rewritten(run) => rewritten.push(*run),
            Done::Power(told) => power.extend(told),
        }
    }
    let free = free.expect("the first job is experiment 1");
    Ok(Measured { free, worn, rewritten, power })
}

/// Tables, findings, verdicts and charts.
fn assemble(
    run: &mut RunResult,
    scenario: &Scenario,
    measured: &Measured,
    print: Option<&Reference>,
) -> Result<(), Failure> {
    let Measured { free, worn, rewritten, power } = measured;
    let pages = scenario.part.geometry().map_or(0, |geometry| geometry.pages());
    let physical = scenario.part.managed.page * u64::from(pages);
    let clusters = judge::clusters(print)?;
    let limit = scenario.wear.limit;
    let at = match print {
        Some(_) => "at the published volume".to_owned(),
        None => format!("at a volume of {}", volume(scenario.wear.volume)),
    };
    run.tables = vec![tables::experiment1(scenario, free, &at), tables::work(free)];
    if let Some(reference) = print {
        let printed = judge::published(reference, "experiment1", "capacity")?;
        run.tables.push(tables::units(scenario, physical, printed));
    }
    run.tables.push(free.health.clone());
    run.tables.extend([tables::wear(worn, &at), tables::fates(worn, limit)]);
    run.tables.extend(rewritten.first().map(|first| tables::experiment2(first, &clusters)));
    run.tables.push(tables::titles(&scenario.controllers));
    run.tables.push(tables::controllers(rewritten, &clusters));
    run.tables.push(tables::rewritten_wear(rewritten));
    let of = |bands: fn(&Rewritten) -> &[rewrites::BandRow]| {
        rewritten.iter().map(|one| (one.id.as_str(), bands(one))).collect::<Vec<_>>()
    };
    let title = "Bands of single rewrites, from the fastest to the slowest";
    run.tables.push(tables::bands("experiment2-bands", title, &of(|one| &one.bands)));
    let title = "Bands of whole runs of fio, as it reports them";
    run.tables.push(tables::bands("experiment2-runs", title, &of(|one| &one.run_bands)));
    run.tables.push(tables::power(power, limit));
    let facts = judge::Facts { scenario, measured, physical };
    judge::findings(run, &facts, print)?;
    charts::all(run, scenario, measured, (&at, &clusters));
    Ok(())
}
