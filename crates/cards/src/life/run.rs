//! Simulates lives, computes factors and alternatives, and makes the result.
//!
//! Layer: rank 10. Functions: [`check`], [`life`].

pub mod factors;
pub mod faults;
pub mod live;
pub(crate) mod model;
pub(super) mod pace;
pub mod places;
pub mod study;

mod recorded;
mod what_if;

use super::scenario::{self, Load, Scenario, UnusedLoads};
use super::{charts, findings, tables};
use boardlab_experiment::verdict::{self, is_of};
use boardlab_experiment::{Failure, Progress, Request};
use boardlab_result::RunResult;
use boardlab_result::prose::float;
use boardlab_sim::Seed;
use model::Model;
use places::{Source, Work};
use study::{Study, StudyError, study};

fn read(request: &Request<'_>) -> Result<(Scenario, RunResult), Failure> {
    let document = request.document;
    let reading = document.read(|section| scenario::read(&section))?;
    let title = format!("Life of {}", reading.value.part.name);
    let mut run = request.blank(&title, reading.parameters);
    let UnusedLoads { jobs, trace } = &reading.value.unused;
    if let Some(file) = trace {
        recorded::open(file)?;
    }
    let unused = [jobs.then_some("fio"), trace.as_ref().map(|_| "trace")].into_iter().flatten();
    run.warnings.extend(
        unused.map(|section| {
            format!("The section [{section}] is not used: workload.kind is another.")
        }),
    );
    Ok((reading.value, run))
}

/// Checks `request`; returns a checksum of the job file or the trace.
pub(super) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    let (scenario, _) = read(request)?;
    what_if::choices(&scenario)?;
    recorded::checksum(&scenario)
}

/// The load of the scenario, and remarks on it.
fn work(scenario: &Scenario, seed: Seed) -> Result<(Work, Vec<String>), Failure> {
    let model = Model::full(&scenario.part, scenario.days.powered).map_err(refused)?;
    match &scenario.load {
        Load::Pattern(pattern) => {
            let bytes_a_day = float(pattern.bytes_a_day.get());
            let (source, days) = (Source::Pattern(*pattern), scenario.days);
            Ok((Work { bytes_a_day, source, days }, Vec::new()))
        }
        Load::Fio { jobs, runs_a_day } => recorded::fio(scenario, jobs, *runs_a_day, &model, seed),
        Load::Trace(trace) => recorded::trace(scenario, trace, &model),
    }
}

fn refused(error: boardlab_ftl::Error) -> Failure {
    let help = "take a larger spare, fewer bad blocks from the factory, or another part";
    Failure::run("the card", error, help)
}

/// Computes lives, factors and alternatives.
pub(super) fn life(request: &Request<'_>) -> Result<RunResult, Failure> {
    let (scenario, mut run) = read(request)?;
    let choices =
        if scenario.what_if.cards > 0 { what_if::choices(&scenario)? } else { Vec::new() };
    let steps = choices.len() + 1;
    let done = |step: &str, done| (request.progress)(Progress { step, done, total: steps });
    let (work, notes) = work(&scenario, request.seed)?;
    let (cards, seed, stop) = (scenario.life.cards, request.seed, request.stop);
    let base = study(&scenario.part, work, scenario.life, cards, seed, stop);
    let base = base.map_err(|error| match error {
        StudyError::Layer(error) => refused(error),
        StudyError::Stopped => Failure::Stopped,
    })?;
    done("lives", 1);
    run.warnings.extend(notes);
    let median = base.median();
    let factors = factors::factors(median, &base);
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
    name_parameters(&mut run);
    Ok(run)
}

/// The table of the alternatives.
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
        study(&scenario.part, work, scenario.life, cards, request.seed, request.stop)
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
        request.stop.check()?;
        done(&id, number + 2);
        rows.push((id, title, lives));
    }
    Ok(tables::what_if(&rows))
}

/// Names the parameters that each table depends on.
fn name_parameters(run: &mut RunResult) {
    const TIMED: [&str; 4] = ["part.bus.", "part.flash.times.", "part.flash.slc.", "board."];
    verdict::name_parameters(run, |table, key| {
        !is_of(key, &TIMED) && (!key.starts_with("what_if.") || table == "what-if")
    });
}
