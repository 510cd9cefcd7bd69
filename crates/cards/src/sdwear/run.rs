//! Runs both experiments and what goes beyond them in parallel, and makes the result.
//!
//! Layer: rank 10. Main type: [`Measurements`]; functions: [`check`], [`run`].

pub(super) mod bands;
pub(super) mod free;
pub(super) mod measure;
pub(super) mod power;
pub(super) mod rewrites;
pub(super) mod watch;
pub(super) mod wear;

use super::scenario::Scenario;
use super::{charts, findings, tables, verdicts};
use boardlab_document::{Override, Reading};
use boardlab_experiment::crew::{Crew, Slot};
use boardlab_experiment::reference::Reference;
use boardlab_experiment::{Failure, Request};
use boardlab_ftl::Levelling;
use boardlab_result::RunResult;
use boardlab_result::prose::real;
use boardlab_sim::Bytes;
use free::Free;
use power::WearCurve;
use rewrites::{Candidate, RewriteOutcome};
use wear::VariantWear;

/// What to try when a card fails.
const HELP: &str = "the part or what --set asks for cannot work as a card: compare it with the built-in one: boardlab list keys sd-wear";

/// The scenario, and the cards of experiment 2.
pub(super) fn read(request: &Request<'_>) -> Result<(Reading<Scenario>, Vec<Candidate>), Failure> {
    let reading = request.document.read(Scenario::read)?;
    let candidates = rewrites::candidates(request.document, &reading.value)?;
    Ok((reading, candidates))
}

/// Checks `request`; it names no data files.
pub(super) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    read(request).map(|_| 0)
}

/// Runs both experiments, the comparison of wear levelling, and the search for the volume that tells it
/// apart.
pub(super) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let (Reading { value: scenario, parameters }, candidates) = read(request)?;
    let measured = measure(request, &scenario, candidates)?;
    let title = format!("SD card wear levelling under {} of writes", volume(scenario.wear.volume));
    let mut run = request.blank(&title, parameters);
    let renamed = scenario.controllers.iter().flat_map(|one| &one.set).flat_map(Override::renamed);
    run.warnings.extend(renamed.map(ToString::to_string));
    let reference = Reference::named("sdwear")?;
    let print = request.is_as_published().then_some(&reference);
    assemble(&mut run, &scenario, &measured, print)?;
    request.warn_if_altered(&mut run);
    let probes = measured.rewritten.iter().map(|one| one.probe.took + one.took);
    let spent = probes.fold(measured.free.took, |sum, took| sum + took);
    run.virtual_time_ns = spent.as_nanos();
    verdicts::name_parameters(&mut run);
    Ok(run)
}

/// A volume in whole terabytes, or in megabytes if it is less than one.
fn volume(bytes: Bytes) -> String {
    match real(bytes) / 1e12 {
        terabytes if terabytes >= 1.0 => format!("{terabytes:.0} TB"),
        _ => format!("{:.0} MB", real(bytes) / 1e6),
    }
}

/// All measurements.
pub(super) struct Measurements {
    pub(super) free: Free,
    pub(super) worn: Vec<VariantWear>,
    pub(super) rewritten: Vec<RewriteOutcome>,
    pub(super) power: Vec<WearCurve>,
}

impl Measurements {
    pub(super) fn worn(&self, id: &str) -> &VariantWear {
        self.worn.iter().find(|one| one.id == id).expect("every variant was run")
    }
}

/// Measures everything, on all cores.
fn measure(
    request: &Request<'_>,
    scenario: &Scenario,
    candidates: Vec<Candidate>,
) -> Result<Measurements, Failure> {
    let (seed, mut crew) = (request.seed, Crew::default());
    let free = crew
        .add("experiment 1", HELP, || free::run(scenario, &scenario.part, &scenario.free, seed));
    let rewritten = candidates.into_iter().map(|one| {
        let name = format!("experiment 2, {}", one.id);
        crew.add(name, HELP, move || rewrites::run(scenario, &one, seed))
    });
    let rewritten: Vec<_> = rewritten.collect();
    let worn = wear::variants(scenario).into_iter().map(|one| {
        let name = format!("levelling {}", one.id);
        crew.add(name, HELP, move || wear::run(scenario, &one, seed))
    });
    let worn: Vec<_> = worn.collect();
    let power = scenario.wear.over_provisioning.iter().map(|&spare| {
        crew.add(format!("power at {spare} spare"), HELP, move || {
            let dynamic = power::run(scenario, spare, Levelling::Dynamic, None, seed)?;
            let until = Some(dynamic.passed.unwrap_or(dynamic.end.0));
            let fixed = Levelling::Threshold(scenario.wear.threshold);
            Ok([dynamic, power::run(scenario, spare, fixed, until, seed)?])
        })
    });
    let power: Vec<_> = power.collect();
    crew.perform(request)?;
    Ok(Measurements {
        free: free.take(),
        worn: worn.into_iter().map(Slot::take).collect(),
        rewritten: rewritten.into_iter().map(Slot::take).collect(),
        power: power.into_iter().flat_map(Slot::take).collect(),
    })
}

/// Adds tables, findings, verdicts and charts.
fn assemble(
    run: &mut RunResult,
    scenario: &Scenario,
    measured: &Measurements,
    print: Option<&Reference>,
) -> Result<(), Failure> {
    let Measurements { free, worn, rewritten, power } = measured;
    let pages = scenario.part.geometry().map_or(0, |geometry| geometry.pages());
    let physical = scenario.part.managed.page * u64::from(pages);
    let clusters = verdicts::clusters(print)?;
    let limit = scenario.wear.endurance;
    let at = match print {
        Some(_) => "at the published volume".to_owned(),
        None => format!("at a volume of {}", volume(scenario.wear.volume)),
    };
    run.tables = vec![tables::experiment1(scenario, free, &at), tables::work(free)];
    if let Some(reference) = print {
        let printed = reference.number("experiment1", "capacity", "card")?;
        run.tables.push(tables::units(scenario, physical, printed));
    }
    run.tables.push(free.health.clone());
    run.tables.extend([tables::wear(worn, &at), tables::fates(worn, limit)]);
    run.tables.extend(rewritten.first().map(|first| tables::experiment2(first, &clusters)));
    run.tables.push(tables::titles(&scenario.controllers));
    run.tables.push(tables::controllers(rewritten, &clusters));
    run.tables.push(tables::rewritten_wear(rewritten));
    let of = |bands: fn(&RewriteOutcome) -> &[rewrites::BandRow]| {
        rewritten.iter().map(|one| (one.id.as_str(), bands(one))).collect::<Vec<_>>()
    };
    let title = "Bands of single rewrites, from the fastest to the slowest";
    run.tables.push(tables::bands("experiment2-bands", title, &of(|one| &one.bands)));
    let title = "Bands of whole runs of fio, as it reports them";
    run.tables.push(tables::bands("experiment2-runs", title, &of(|one| &one.run_bands)));
    run.tables.push(tables::power(power, limit));
    let facts = findings::Facts { scenario, measured, physical, clusters: &clusters };
    let explaining = findings::all(run, &facts, print)?;
    if let (Some(reference), Some(explaining)) = (print, explaining) {
        verdicts::verdicts(run, reference, &explaining)?;
    }
    charts::all(run, scenario, measured, (&at, &clusters));
    Ok(())
}
