//! Experiment 2: the beginning of a full card is rewritten again and again, with every controller to
//! compare.
//!
//! Layer: rank 10. Main types: [`Candidate`], [`RewriteOutcome`], [`BandRow`]; functions: [`candidates`],
//! [`run`]. The whole card is written first. Each iteration then zeroes the beginning and runs the job;
//! each write of the job is a sample with its rate and its cause. Bands are sought among the samples
//! and among the bandwidths that fio reports of whole runs. Each controller also runs some iterations
//! of experiment 1: it must reproduce both.
//!
//! `blkdiscard -z` writes zeros over the bus: Linux' driver for SD cards has no command for it.

use super::bands::{self, Bands};
use super::free::{self, Free, Runs};
use super::measure::{Rates, Sample};
use super::watch::Watch;
use super::wear::levelled;
use crate::sdwear::scenario::{RepeatedJob, Scenario};
use boardlab_block::{BlockDevice, Layered};
use boardlab_document::Document;
use boardlab_document::error::Error;
use boardlab_experiment::Cause;
use boardlab_ftl::{Counters, Levelling, Translation, Wear};
use boardlab_parts::card::compose::compose;
use boardlab_parts::card::part::{self, CardPart};
use boardlab_result::prose::float;
use boardlab_sd::Data;
use boardlab_sim::{Bytes, Clock, Duration, Seed};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Samples that are kept in their order, for a chart.
const KEPT: usize = 120;

/// A controller with a kind of wear levelling.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    /// Its row: controller and levelling.
    pub(crate) id: String,
    /// The controller.
    pub(crate) controller: String,
    /// The card.
    pub(crate) part: CardPart,
}

/// Every controller of the scenario with dynamic and with static levelling.
pub(crate) fn candidates(
    document: &Document,
    scenario: &Scenario,
) -> Result<Vec<Candidate>, Error> {
    let fixed = Levelling::Threshold(scenario.wear.threshold);
    let mut all = Vec::new();
    for one in &scenario.controllers {
        let mut document = document.clone();
        document.set(&one.set)?;
        let part = document.read(|top| {
            let part = top.section("part", part::read);
            top.leave_rest();
            part
        })?;
        for (name, levelling) in [("dynamic", Levelling::Dynamic), ("static", fixed)] {
            all.push(Candidate {
                id: format!("{}/{name}", one.id),
                controller: one.id.clone(),
                part: levelled(&part.value, levelling, true),
            });
        }
    }
    Ok(all)
}

/// A band with the figures of its samples.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BandRow {
    /// The number of its samples.
    pub(crate) count: usize,
    /// Its share of all samples.
    pub(crate) share: f64,
    /// The rates of its samples.
    pub(crate) rates: Rates,
    /// What took the time, the most frequent cause first.
    pub(crate) cause: String,
    /// Pages programmed besides the host's, for each page of the host.
    pub(crate) moved: f64,
    /// Blocks erased in a sample.
    pub(crate) erases: f64,
}

/// The outcome of experiment 2 with one candidate.
#[derive(Debug, Clone)]
pub(crate) struct RewriteOutcome {
    pub(crate) id: String,
    pub(crate) controller: String,
    /// What fio reports.
    pub(crate) runs: Runs,
    /// Writes of the job.
    pub(crate) rewrites: usize,
    /// Bands of single writes.
    pub(crate) bands: Vec<BandRow>,
    /// Bands of whole runs.
    pub(crate) run_bands: Vec<BandRow>,
    /// How far apart the bands of single writes are.
    pub(crate) silhouette: f64,
    /// The rates of the first writes in their order, in bytes a second.
    pub(crate) first: Vec<f64>,
    /// Flushes that reached the card.
    pub(crate) flushes: u64,
    /// What the translation layer did once the card was full.
    pub(crate) counters: Counters,
    pub(crate) wear: Wear,
    /// The same controller in experiment 1.
    pub(crate) probe: Free,
    /// Virtual time of all runs, with what comes between them.
    pub(crate) took: Duration,
}

impl RewriteOutcome {
    /// The mean time of a run of the job.
    pub(crate) fn run_time(&self) -> Duration {
        let runs = u64::try_from(self.runs.rates.len()).unwrap_or(u64::MAX).max(1);
        Duration::from_nanos(self.runs.time.as_nanos() / runs)
    }
}

/// Runs both experiments with `candidate`.
pub(crate) fn run(
    scenario: &Scenario,
    candidate: &Candidate,
    seed: Seed,
) -> Result<RewriteOutcome, Cause> {
    let (part, full) = (&candidate.part, &scenario.full);
    let probes = RepeatedJob { iterations: full.probes, ..scenario.free.clone() };
    let probe = free::run(scenario, part, &probes, seed)?;
    let mut card = compose(part, &scenario.host, Data::Lost, seed)?;
    let mut clock = Clock::new();
    free::prepare(&mut card, &mut clock)?;
    // With 0xFF: what is written makes no difference to a card that does not look at it.
    free::fill(&mut card, &mut clock)?;
    let (before, flushes, began) =
        (*card.translation().counters(), card.counts().flushes, clock.now());
    let mut watched = Layered::new(Watch::new(part), card);
    // sync, drop the caches, `blkdiscard -z`, fio.
    let runs = Runs::of((&mut watched, &mut clock), &full.rewrites, seed, |card, clock| {
        let zeroed = card.geometry().extent(Bytes::ZERO, full.zeroed)?;
        Ok(card.write_zeroes(clock, zeroed).map(drop)?)
    });
    let (Watch { samples, .. }, card) = watched.into_parts();
    let rates: Vec<f64> = samples.iter().map(Sample::rate).collect();
    let (bands, run_bands) = (bands::find(&rates), bands::find(&runs.rates));
    let per_run = (samples.len() / runs.rates.len().max(1)).max(1);
    Ok(RewriteOutcome {
        id: candidate.id.clone(),
        controller: candidate.controller.clone(),
        rewrites: samples.len(),
        silhouette: bands.silhouette,
        bands: rows(&bands, rates.len(), part.managed.page, |sample| &samples[sample..=sample]),
        run_bands: rows(&run_bands, runs.rates.len(), part.managed.page, |run| {
            let from = (run * per_run).min(samples.len());
            &samples[from..(from + per_run).min(samples.len())]
        }),
        first: rates.into_iter().take(KEPT).collect(),
        runs,
        flushes: card.counts().flushes - flushes,
        counters: card.translation().counters().since(&before),
        wear: card.translation().wear(),
        probe,
        took: clock.now().since(began),
    })
}

/// `bands` with the figures of the samples of their members.
fn rows<'s>(
    bands: &Bands,
    all: usize,
    page: Bytes,
    samples: impl Fn(usize) -> &'s [Sample],
) -> Vec<BandRow> {
    let row = |band: &bands::Band| {
        let each = || band.members.iter().flat_map(|&member| samples(member));
        let count = float(each().count().max(1));
        let pages: u64 = each().map(|one| one.bytes.div_ceil(page.get())).sum();
        let moved: u64 = each().map(|one| u64::from(one.moved)).sum();
        let erases: u64 = each().map(|one| u64::from(one.erases)).sum();
        BandRow {
            count: band.members.len(),
            share: float(band.members.len()) / float(all.max(1)),
            rates: band.rates,
            cause: causes(each().map(|one| one.cause)),
            moved: float(moved) / float(pages.max(1)),
            erases: float(erases) / count,
        }
    };
    bands.all.iter().map(row).collect()
}

/// The causes of some samples with their shares, without those of less than 1 %.
fn causes<'c>(each: impl Iterator<Item = &'c str>) -> String {
    let mut counts = BTreeMap::new();
    for cause in each {
        *counts.entry(cause).or_insert(0) += 1;
    }
    let mut counts: Vec<(&str, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    let total: usize = counts.iter().map(|(_, count)| count).sum();
    let told: Vec<String> = counts
        .iter()
        .filter(|(_, count)| count * 100 >= total)
        .map(|(cause, count)| match count * 100 / total.max(1) {
            100 => (*cause).to_owned(),
            share => format!("{cause} {share} %"),
        })
        .collect();
    told.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_told_by_their_share() {
        assert_eq!(causes(["merge"; 5].into_iter()), "merge");
        let mixed = ["merge", "merge", "merge", "ordinary cells"];
        assert_eq!(causes(mixed.into_iter()), "merge 75 %, ordinary cells 25 %");
        let rare = ["merge"; 299].into_iter().chain(["levelling"]);
        assert_eq!(causes(rare), "merge 99 %");
    }
}
