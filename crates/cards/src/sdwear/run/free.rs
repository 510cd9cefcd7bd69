//! Experiment 1: the job again and again on a card with plenty of unused space.
//!
//! Layer: rank 10. Main types: [`Free`], and [`Runs`], what fio reports of a job that was run again and
//! again; function: [`run`]. fio runs as the publication's script runs it, in virtual time, on the card
//! in its slot; nothing is counted that fio or the card would not count.

use crate::sdwear::scenario::{RepeatedJob, Scenario};
use crate::worn;
use boardlab_block::{BlockDevice, Extent};
use boardlab_experiment::Cause;
use boardlab_ftl::{Counters, Translation};
use boardlab_parts::card::compose::compose;
use boardlab_parts::card::health_table;
use boardlab_parts::card::part::CardPart;
use boardlab_parts::managed::Layer;
use boardlab_result::Table;
use boardlab_result::prose::float;
use boardlab_sd::{Card, Counts, Data};
use boardlab_sim::{Bytes, Clock, Duration, Seed};
use boardlab_workload::fio::{self, Direction, Note};

/// What fio reports of its runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Runs {
    /// The bandwidth of each run, in bytes a second.
    pub(crate) rates: Vec<f64>,
    /// Bytes written in all.
    pub(crate) written: Bytes,
    /// Requests.
    pub(crate) requests: u64,
    /// The time of all runs, without what comes between them.
    pub(crate) time: Duration,
    /// Remarks on the jobs.
    pub(crate) notes: Vec<Note>,
    /// Files and devices opened.
    pub(crate) opens: u64,
    /// Flushes requested.
    pub(crate) syncs: u64,
    /// Why they ended before the last iteration.
    pub(crate) error: Option<String>,
}

impl Runs {
    /// Runs `repeated` on `device`, with `prepare` before each run.
    pub(crate) fn of<D: BlockDevice>(
        (device, clock): (&mut D, &mut Clock),
        repeated: &RepeatedJob,
        seed: Seed,
        mut prepare: impl FnMut(&mut D, &mut Clock) -> Result<(), Cause>,
    ) -> Self {
        // What a request costs the host is in the card's slot.
        let host = fio::Host { submit: Duration::ZERO, complete: Duration::ZERO, seed };
        let mut runs = Self::default();
        for _ in 0..repeated.iterations {
            clock.advance_to(clock.now() + repeated.between);
            let run = prepare(device, clock)
                .and_then(|()| Ok(fio::run(device, clock, &repeated.job, &host)?));
            match run {
                Ok(run) => runs.add(run),
                Err(error) => {
                    runs.error = Some(error.to_string());
                    break;
                }
            }
        }
        runs
    }

    fn add(&mut self, run: fio::Run) {
        for report in run.reports {
            let totals = &report.account.totals[Direction::Write as usize];
            self.rates.push(float(report.bandwidth(Direction::Write)));
            self.written += Bytes::new(totals.bytes);
            self.requests += totals.requests;
            self.time += report.ended.since(report.started);
            self.opens += report.opens;
            self.syncs += report.account.syncs.count();
        }
        for note in run.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
    }
}

/// The outcome of experiment 1.
#[derive(Debug, Clone)]
pub(crate) struct Free {
    /// What fio reports.
    pub(crate) runs: Runs,
    /// What the translation layer did for it, without its preparation.
    pub(crate) counters: Counters,
    /// What the card did on its bus meanwhile.
    pub(crate) counts: Counts,
    /// Virtual time of all runs and pauses.
    pub(crate) took: Duration,
    /// The card's health registers at the end.
    pub(crate) health: Table,
    /// That the card is worn out, if it is.
    pub(crate) worn: Option<String>,
}

/// Writes zeros over the whole card, as `blkdiscard -z` does.
pub(crate) fn fill(card: &mut Card<Layer>, clock: &mut Clock) -> Result<(), Cause> {
    // One request of the block layer is at most this.
    const REQUEST: u64 = 1 << 20;
    let (block, blocks) = (card.geometry().block.get(), card.geometry().count);
    let step = REQUEST / block;
    for first in (0..blocks).step_by(usize::try_from(step).unwrap_or(1)) {
        card.write_zeroes(clock, Extent::new(first, step.min(blocks - first)))?;
    }
    Ok(())
}

/// `blkdiscard -z` and `blkdiscard` on the whole card, as before each experiment.
pub(crate) fn prepare(card: &mut Card<Layer>, clock: &mut Clock) -> Result<(), Cause> {
    fill(card, clock)?;
    let all = Extent::new(0, card.geometry().count);
    if card.geometry().discard.is_some() {
        card.discard(clock, all)?;
    }
    Ok(())
}

/// Runs `repeated` on a new card of `part`.
pub(crate) fn run(
    scenario: &Scenario,
    part: &CardPart,
    repeated: &RepeatedJob,
    seed: Seed,
) -> Result<Free, Cause> {
    let mut card = compose(part, &scenario.host, Data::Lost, seed)?;
    let mut clock = Clock::new();
    prepare(&mut card, &mut clock)?;
    let (began, before) = (clock.now(), *card.translation().counters());
    let counted = *card.counts();
    let runs = Runs::of((&mut card, &mut clock), repeated, seed, |_, _| Ok(()));
    let mut health = health_table(&card);
    health.title = "The health report of the card after experiment 1".into();
    Ok(Free {
        runs,
        counters: card.translation().counters().since(&before),
        counts: card.counts().since(&counted),
        took: clock.now().since(began),
        health,
        worn: worn::told(&card),
    })
}
