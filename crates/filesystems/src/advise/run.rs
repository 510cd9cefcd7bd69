//! Runs every candidate in every case, and makes the result.
//!
//! Layer: rank 10. Functions: [`check`], [`run`].

use super::candidate::{Case, choices, sizes};
use super::rank::Advice;
use super::scenario::{Scenario, chosen_compressions};
use super::trials::{Basis, HELP, Trials};
use super::{charts, findings, tables};
use crate::nandfs::fs::{self, FileSystemType};
use crate::nandfs::scenario::without_idle;
use boardlab_codec::crc32;
use boardlab_document::Reading;
use boardlab_experiment::crew::Crew;
use boardlab_experiment::{Failure, Request};
use boardlab_result::RunResult;

fn read(request: &Request<'_>, types: &[FileSystemType]) -> Result<Reading<Scenario>, Failure> {
    let mut reading = request.document.read(|section| Scenario::read(section, types))?;
    let Scenario { flash, systems, measured, kernel, product, .. } = &reading.value;
    let mut chosen = chosen_compressions((systems, measured), kernel.profile);
    chosen.retain(|_| product.compressions);
    let idle = flash.unused().iter().map(|(key, _)| *key).chain(chosen.iter().map(String::as_str));
    without_idle(&mut reading.parameters, (systems, measured), idle);
    Ok(reading)
}

/// Checks `request`; a checksum of the samples of files that it names.
pub(super) fn check(request: &Request<'_>) -> Result<u32, Failure> {
    let product = read(request, fs::ALL)?.value.product;
    let all = std::iter::once(&product.data).chain(&product.kinds);
    Ok(all.filter_map(|data| data.sample()).fold(0, |sum, sample| crc32(sum, &sample.bytes)))
}

/// Measures every candidate, and ranks them.
pub(super) fn run(request: &Request<'_>) -> Result<RunResult, Failure> {
    let Reading { value: scenario, parameters } = read(request, fs::ALL)?;
    let advice = advice(request, &scenario)?;
    let mut run = request.blank("Which filesystem to take", parameters);
    run.tables = tables::all(&advice, &scenario);
    findings::add(&mut run, &advice, &scenario);
    charts::draw(&mut run, &advice, &scenario);
    run.virtual_time_ns = advice.ranked.iter().map(|one| one.candidate.spent().as_nanos()).sum();
    Ok(run)
}

/// Runs all candidates.
fn advice(request: &Request<'_>, scenario: &Scenario) -> Result<Advice, Failure> {
    let choices = choices(scenario, fs::ALL);
    let (cases, sizes) = (Case::all(scenario), sizes(scenario));
    let basis = Basis { scenario, cases: &cases, sizes: &sizes, seed: request.seed };
    let mut crew = Crew::default();
    let begun = choices.iter().map(|choice| Trials::begin(basis, choice, &mut crew));
    let begun: Vec<_> = begun.collect();
    crew.perform(request)?;
    let all = begun.into_iter().map(Trials::end).collect();
    let advice = Advice::new(all, (scenario, &cases, &sizes));
    if advice.ranked.is_empty() {
        let (name, reason) = advice.refused.first().expect("a scenario has filesystems");
        return Err(Failure::run(name.as_str(), reason.as_str(), HELP));
    }
    Ok(advice)
}
