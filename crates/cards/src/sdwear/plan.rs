//! The plan of the SD experiment for a board with a card that may be worn.
//!
//! Layer: rank 10. Function: [`plan`].

use super::run::{free, read, rewrites};
use super::scenario::{RepeatedJob, Scenario};
use crate::planned;
use boardlab_experiment::{Failure, PlanRequest, Progress};
use boardlab_measure::plan::{Plan, Step};
use boardlab_sim::Bytes;

/// The card, unless the user names another one.
const DEVICE: &str = "/dev/mmcblk0";
/// The most steps of an experiment.
const STEPS: u64 = 4_000;
/// Bytes of one discard.
const DISCARD: u64 = 4 << 20;
/// What to try when the model fails.
const HELP: &str =
    "the part cannot work as a card: compare it with the built-in one: boardlab list keys sd-wear";

/// Both experiments, as far as the cycles that the user allows.
pub(super) fn plan(request: &PlanRequest<'_>) -> Result<Plan, Failure> {
    let (reading, candidates) = read(&request.request)?;
    let (scenario, seed) = (reading.value, request.request.seed);
    let told = |step, done| (request.request.progress)(Progress { step, done, total: 2 });
    let failed = |error| Failure::run("the card", error, HELP);
    let one = |job: &RepeatedJob| RepeatedJob { iterations: 1, ..job.clone() };
    let first = free::run(&scenario, &scenario.part, &one(&scenario.free), seed).map_err(failed)?;
    told("experiment 1", 1);
    let mut short = scenario.clone();
    (short.full.rewrites, short.full.probes) = (one(&scenario.full.rewrites), 1);
    let rewritten = candidates.first().map(|card| rewrites::run(&short, card, seed)).transpose();
    let rewritten = rewritten.map_err(failed)?;
    told("experiment 2", 2);
    let rate = |rates: &[f64]| rates.first().map(|rate| whole(*rate));
    let rewrite_rate = rewritten.and_then(|one| rate(&one.runs.rates));
    let card = Card { device: request.target("device", DEVICE), scenario: &scenario };
    let mut plan = Plan::new(request.request.scenario);
    let size = card.capacity();
    let written = size.saturating_mul(request.max_cycles);
    plan = plan.endurance(card.device, u64::from(scenario.wear.endurance));
    plan.push(Step::new("registers", "mmc.registers").device(card.device));
    let fill = card.step("discard", "block.discard").key("size", DISCARD);
    plan.push(fill.remark("Before each experiment: blkdiscard on the whole card."));
    let (free, left) = card.free(&mut plan, written / 2, rate(&first.runs.rates))?;
    let full = card.full(&mut plan, written / 2 + left, rewrite_rate)?;
    Ok(plan.remark(&beyond(&scenario, request.max_cycles, (free, full))))
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive rate")]
fn whole(rate: f64) -> u64 {
    rate.round() as u64
}

/// What a board cannot give, and how much of the rest the plan has.
fn beyond(scenario: &Scenario, max_cycles: u64, (runs, rewrites): (u64, u64)) -> String {
    format!(
        "The publication wrote 11 TB in seven days. With {max_cycles} cycles of the card the plan has {runs} of its {} \
         runs of 60 s (experiment 1) and {rewrites} of its {} runs of 100 rewrites (experiment 2); more with \
         --max-cycles. How the controller spreads the wear is in no interface of an SD card: an eMMC tells its life \
         time in EXT_CSD, a card with health registers by mmc.health. The caches are dropped by O_DIRECT.",
        scenario.free.iterations, scenario.full.rewrites.iterations
    )
}

/// The card on the board.
struct Card<'a> {
    device: &'a str,
    scenario: &'a Scenario,
}

impl Card<'_> {
    fn step(&self, name: &str, operation: &str) -> Step {
        Step::new(name, operation).device(self.device)
    }

    fn capacity(&self) -> u64 {
        self.scenario.part.face.capacity.get()
    }

    /// The step that does what the job of an experiment does.
    fn job(&self, name: &str, job: &RepeatedJob) -> Result<Step, Failure> {
        let settings = &job.job.jobs[0].settings;
        let planned = planned::step(name, settings, self.device, self.capacity());
        planned.map_err(|reason| {
            Failure::run(name, format!("not a job for the agent: {reason}"), HELP)
        })
    }

    /// Experiment 1 in `budget` bytes. Returns the runs, and what is left. A run writes a little more than
    /// what is predicted, so that the wear is known before; a much faster card ends it early.
    fn free(&self, plan: &mut Plan, budget: u64, rate: Option<u64>) -> Result<(u64, u64), Failure> {
        let job = &self.scenario.free;
        let settings = &job.job.jobs[0].settings;
        let block = settings.smallest_block();
        let expected = settings.timing.runtime.zip(rate);
        let expected =
            expected.map(|(time, rate)| rate.saturating_mul(time.as_nanos() / 1_000_000_000));
        let most = job.size(Bytes::new(self.capacity())).get() / block;
        let count = expected.map_or(most, |bytes| (bytes / block * 11 / 10).min(most).max(1));
        let one = count.saturating_mul(block).max(1);
        let runs = (budget / one).min(job.iterations).min(STEPS);
        for run in 1..=runs {
            let step = self.job(&format!("free-{run}"), job)?.with_key("count", count);
            plan.push(step.key("seed", run).predict("bytes_per_s", rate));
        }
        Ok((runs, budget - runs * one))
    }

    /// Experiment 2 in `budget` bytes: fills the card, and rewrites its beginning. Returns the runs.
    fn full(&self, plan: &mut Plan, budget: u64, rate: Option<u64>) -> Result<u64, Failure> {
        let full = &self.scenario.full;
        let Some(left) = budget.checked_sub(self.capacity()) else { return Ok(0) };
        let job = &full.rewrites;
        let passes = job.job.jobs[0].settings.loops.max(1);
        let one = full.zeroed.get() + job.size(Bytes::new(self.capacity())).get() * passes;
        let runs = (left / one.max(1)).min(job.iterations).min(STEPS);
        if runs > 0 {
            let fill = self.step("fill", "block.write").key("size", 1 << 20).key("data", "ff");
            plan.push(fill.remark("Experiment 2: the whole card is filled with 0xFF."));
        }
        for run in 1..=runs {
            let zero = self.step(&format!("zero-{run}"), "block.write").key("data", "zero");
            plan.push(zero.key("length", full.zeroed.get()).key("size", full.zeroed.get()));
            plan.push(
                self.job(&format!("rewrite-{run}"), job)?
                    .key("seed", run)
                    .predict("bytes_per_s", rate),
            );
        }
        Ok(runs)
    }
}
