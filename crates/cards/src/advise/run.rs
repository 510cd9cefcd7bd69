//! Runs every card, and makes the result.
//!
//! Layer: rank 10. Functions: [`check`], [`run`].

use super::candidate::{HELP, Trials};
use super::rank::Advice;
use super::scenario::{self, Scenario};
use super::{charts, findings, tables};
use crate::fio::scenario::jobs;
use boardlab_codec::crc::crc32;
use boardlab_document::Reading;
use boardlab_document::error::At;
use boardlab_experiment::crew::Crew;
use boardlab_experiment::verdict::name_parameters;
use boardlab_experiment::{Failure, Request};
use boardlab_result::RunResult;
use boardlab_workload::fio::JobFile;

fn read(request: &Request<'_>) -> Result<(Reading<Scenario>, JobFile), Failure> {
    let reading = request.document.read(|section| scenario::read(&section))?;
    let asked = &reading.value.jobs;
    let file = jobs::parse(asked)?;
    if !file.jobs.iter().any(|job| job.settings.access.directions[1]) {
        let what = "writes nothing: cards are ranked by their writes";
        return Err(jobs::refused(At::Path(asked.name.clone()), "all", what).into());
    }
    Ok((reading, file))
}

/// Checks `request`; returns a checksum of the job file.
pub(super) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    let (reading, _) = read(request)?;
    Ok(crc32(0, reading.value.jobs.text.as_bytes()))
}

/// Measures every card, and ranks them.
pub(super) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let (Reading { value: scenario, parameters }, file) = read(request)?;
    let advice = advice(request, &scenario, &file)?;
    let mut run = request.blank("Which card or eMMC to take", parameters);
    run.tables = tables::all(&advice);
    findings::add(&mut run, &advice, &scenario);
    charts::draw(&mut run, &advice, &scenario);
    run.virtual_time_ns = advice.ranked.iter().map(|one| one.candidate.jobs.time.as_nanos()).sum();
    name_parameters(&mut run, |_, _| true);
    Ok(run)
}

/// Runs all cards.
fn advice(request: &Request<'_>, scenario: &Scenario, file: &JobFile) -> Result<Advice, Failure> {
    let mut crew = Crew::default();
    let begin = |card| Trials::begin((scenario, file), card, request.seed, &mut crew);
    let begun: Vec<_> = scenario.cards.iter().map(begin).collect();
    crew.perform(request)?;
    let advice = Advice::new(begun.into_iter().map(Trials::end).collect(), scenario);
    if advice.ranked.is_empty() {
        let (name, reason) = advice.refused.first().expect("a scenario has a card");
        return Err(Failure::run(name.as_str(), reason.as_str(), HELP));
    }
    Ok(advice)
}
