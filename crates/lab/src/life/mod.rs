//! How long a card lives: years and bytes until it is read-only or loses data, over many cards, and why.
//!
//! Layer: rank 10. In reading order: [`scenario`] (card, load, days), [`model`] (the card in full, and scaled),
//! [`places`] (which pages a load writes), `recorded` (jobs of fio, traces), [`pace`] (what puts a scaled card right),
//! [`live`] (one card), [`faults`] (when data can no longer be corrected), [`mod@study`] (many cards), [`factors`] (what a
//! life is made of), `what_if` (what else could be chosen), `tables`, `charts`, `findings`.
//!
//! Equations, parameters and known error: docs/models/life.md.

pub mod factors;
pub mod faults;
pub mod live;
pub mod model;
pub mod pace;
pub mod places;
pub mod scenario;
pub mod study;

mod charts;
mod findings;
mod limits;
mod recorded;
mod tables;
mod what_if;

use crate::experiment::{Failure, Progress, Request, VERSION};
use crate::finding::find;
use boardlab_result::RunResult;
use boardlab_sim::Seed;
use model::Model;
use places::{Source, Work};
use scenario::{Load, Scenario, Unused};
use study::{Study, study};

/// The built-in scenario.
pub(crate) const SCENARIO: &str = "sd-life";

fn read(request: &Request<'_>) -> Result<(Scenario, RunResult), Failure> {
    let document = request.document;
    let folder = document.source().folder();
    let reading = document.read(|section| scenario::read(&section, folder))?;
    let title = format!("Life of {}", reading.value.part.name);
    let mut run = RunResult::new(request.scenario, &title, request.seed.get(), VERSION);
    run.parameters = reading.parameters;
    let Unused { jobs, trace } = &reading.value.unused;
    if let Some(file) = trace {
        recorded::open(file)?;
    }
    for (section, is_there) in [("fio", *jobs), ("trace", trace.is_some())] {
        if is_there {
            let text = format!("The section [{section}] is not used: workload.kind is another.");
            run.warnings.push(text);
        }
    }
    Ok((reading.value, run))
}

/// Whether `request` can be run; a checksum of the job file or the trace.
pub(crate) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    let (scenario, _) = read(request)?;
    what_if::choices(&scenario)?;
    recorded::checksum(&scenario)
}

/// What the scenario asks of its card, and what there is to say about it.
fn work(scenario: &Scenario, seed: Seed) -> Result<(Work, Vec<String>), Failure> {
    let model = Model::full(&scenario.part, scenario.days.powered).map_err(refused)?;
    match &scenario.load {
        Load::Pattern(pattern) => {
            #[allow(clippy::cast_precision_loss, reason = "bytes below 2^53")]
            let bytes_a_day = pattern.bytes_a_day.get() as f64;
            let (source, days) = (Source::Pattern(*pattern), scenario.days);
            Ok((Work { bytes_a_day, source, days }, Vec::new()))
        }
        Load::Fio(fio) => recorded::fio(scenario, fio, &model, seed),
        Load::Trace(trace) => recorded::trace(scenario, trace, &model),
    }
}

fn refused(error: boardlab_ftl::Error) -> Failure {
    let help = "take a larger spare, fewer bad blocks from the factory, or another part";
    Failure::Run { system: "the card".into(), error: Box::new(error), help }
}

/// Lives, factors, what-ifs.
pub(crate) fn life(request: &Request<'_>) -> Result<RunResult, Failure> {
    let (scenario, mut run) = read(request)?;
    let choices =
        if scenario.what_if.cards > 0 { what_if::choices(&scenario)? } else { Vec::new() };
    let steps = choices.len() + 1;
    let done = |step: &str, done| (request.progress)(Progress { step, done, total: steps });
    let (work, notes) = work(&scenario, request.seed)?;
    let base = study(&scenario.part, work, scenario.life, scenario.life.cards, request.seed);
    let base = base.map_err(refused)?;
    done("lives", 1);
    run.warnings.extend(notes);
    let median = base.median();
    let factors = factors::factors(median, &base.model, &base.work);
    run.tables.push(tables::life(&base));
    run.tables.push(tables::factors(median, &factors));
    if !choices.is_empty() {
        let table = compare(&scenario, &base, choices, request, &done)?;
        run.tables.push(table);
    }
    run.tables.push(tables::wear(median, base.model.rated));
    run.tables.push(tables::health(median, base.model.rated));
    if !base.model.scale.is_full() {
        run.tables.push(tables::pace(&base));
    }
    charts::draw(&mut run, &base, &factors);
    findings::add(&mut run, &scenario, &base, &factors);
    gains(&mut run);
    name_parameters(&mut run);
    run.count_provenance();
    Ok(run)
}

/// The table of what else could be chosen.
fn compare(
    scenario: &Scenario,
    base: &Study,
    choices: Vec<what_if::Choice>,
    request: &Request<'_>,
    done: &dyn Fn(&str, usize),
) -> Result<boardlab_result::Table, Failure> {
    let cards = scenario.what_if.cards.min(scenario.life.cards);
    // The same cards, so that a difference is one of the choice.
    let same = |scenario: &Scenario, work: Work| {
        study(&scenario.part, work, scenario.life, cards, request.seed)
            .map_err(|error| error.to_string())
    };
    let chosen = same(scenario, base.work.clone());
    let mut rows = vec![("as-is".to_owned(), "as it is".to_owned(), chosen)];
    for (number, choice) in choices.into_iter().enumerate() {
        let what_if::Choice { id, title, scenario, other_card } = choice;
        let work = match other_card {
            true => work(&scenario, request.seed)?.0,
            false => Work { days: scenario.days, ..base.work.clone() },
        };
        let lives = same(&scenario, work);
        done(&id, number + 2);
        rows.push((id, title, lives));
    }
    Ok(tables::what_if(&rows))
}

/// What of the choices gives most, and what costs most.
fn gains(run: &mut RunResult) {
    let Some(table) = run.table("what-if") else { return };
    let mut changes: Vec<(f64, String)> = table
        .rows
        .iter()
        .skip(1)
        .filter_map(|row| Some((row.cells.get("change_ratio")?.value.as_f64()?, row.title.clone())))
        .collect();
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let told = |(change, title): &(f64, String)| {
        let percent = change.abs() * 100.0;
        let way = if *change < 0.0 { "less" } else { "more" };
        format!("{title}: {percent:.0} % {way}")
    };
    let most: Vec<String> =
        changes.iter().rev().take(2).filter(|one| one.0 > 0.01).map(told).collect();
    let least: Vec<String> = changes.iter().take(2).filter(|one| one.0 < -0.01).map(told).collect();
    if !most.is_empty() {
        find(run, format!("Gives most: {}.", most.join("; ")));
    }
    if !least.is_empty() {
        find(run, format!("Costs most: {}.", least.join("; ")));
    }
}

/// Names the parameters that each table depends on.
fn name_parameters(run: &mut RunResult) {
    let timed = ["part.bus.", "part.flash.times.", "part.flash.single_bit.", "board."];
    let keys: Vec<String> = run
        .parameters
        .iter()
        .map(|parameter| parameter.key.clone())
        .filter(|key| !timed.iter().any(|prefix| key.starts_with(prefix)))
        .collect();
    for table in &mut run.tables {
        let choice = |key: &String| !key.starts_with("what_if.") || table.id == "what-if";
        table.parameters = keys.iter().filter(|key| choice(key)).cloned().collect();
    }
}
