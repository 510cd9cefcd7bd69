//! Experiment 1: the job again and again on a card with plenty of unused space.
//!
//! Layer: rank 10. Main type: [`Free`]; functions: [`run`], and [`prepare`] for a card that was zeroed and
//! discarded. fio is run as the publication's script runs it, in virtual time, on the card behind its slot;
//! nothing is counted that fio or the card would not count.

use crate::sdwear::scenario::{Repeated, Scenario};
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

/// What the first experiment gave.
#[derive(Debug, Clone)]
pub(crate) struct Free {
    /// Bandwidth of each iteration as fio reports it, bytes a second.
    pub(crate) rates: Vec<f64>,
    /// Written by fio in all.
    pub(crate) written: Bytes,
    /// Requests of fio.
    pub(crate) requests: u64,
    /// Why it ended before its last iteration.
    pub(crate) error: Option<String>,
    /// What the jobs had to say.
    pub(crate) notes: Vec<Note>,
    /// Files and devices opened, and flushes asked for, by fio.
    pub(crate) opens: u64,
    pub(crate) syncs: u64,
    /// What the card did for it, its preparation not counted.
    pub(crate) counters: Counters,
    pub(crate) counts: Counts,
    pub(crate) took: Duration,
    /// What the card tells of itself in the end.
    pub(crate) health: Table,
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

/// The host that fio runs on: what a request costs is in the card's slot.
pub(crate) fn host(seed: Seed) -> fio::Host {
    fio::Host { submit: Duration::ZERO, complete: Duration::ZERO, seed }
}

/// Runs `repeated` on a new card of `part`.
pub(crate) fn run(
    scenario: &Scenario,
    part: &CardPart,
    repeated: &Repeated,
    seed: Seed,
) -> Result<Free, Cause> {
    let mut card = compose(part, &scenario.host, Data::Lost, seed)?;
    let mut clock = Clock::new();
    prepare(&mut card, &mut clock)?;
    let (began, before) = (clock.now(), *card.translation().counters());
    let counted = *card.counts();
    let mut free = Free {
        rates: Vec::new(),
        written: Bytes::ZERO,
        requests: 0,
        error: None,
        notes: Vec::new(),
        opens: 0,
        syncs: 0,
        counters: Counters::default(),
        counts: Counts::default(),
        took: Duration::ZERO,
        health: health_table(&card),
    };
    for _ in 0..repeated.iterations {
        clock.advance_to(clock.now() + repeated.between);
        match fio::run(&mut card, &mut clock, &repeated.job, &host(seed)) {
            Ok(run) => free.note(&run),
            Err(error) => {
                free.error = Some(error.to_string());
                break;
            }
        }
    }
    free.counters = card.translation().counters().since(&before);
    free.counts = card.counts().since(&counted);
    free.health = health_table(&card);
    free.health.title = "The health report of the card after experiment 1".into();
    free.took = clock.now().since(began);
    Ok(free)
}

impl Free {
    /// Adds a run of fio.
    fn note(&mut self, run: &fio::Run) {
        for report in &run.reports {
            let totals = &report.account.totals[Direction::Write as usize];
            self.rates.push(float(report.bandwidth(Direction::Write)));
            self.written += Bytes::new(totals.bytes);
            self.requests += totals.requests;
            self.opens += report.opens;
            self.syncs += report.account.syncs.count();
        }
        for note in &run.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
    }
}
