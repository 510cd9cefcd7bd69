//! One system of the scenario, composed and run.

use crate::nor::scenario::{Scenario, System};
use boardlab_experiment::Failure;
use boardlab_nor::chip::Chip;
use boardlab_nor::driver::{Board, CfiInfo, Polls, Step, Steps};
use boardlab_nor::tuner::{Completion, PollLoop};
use boardlab_nor::{Bus, Host, NorMtd, Part};
use boardlab_parts::nor::board::BoardSpec;
use boardlab_result::prose::float;
use boardlab_sim::{Bytes, Clock, Duration, QuantileTable, Seed};
use boardlab_workload::mtd_debug::{self, Job};
use std::sync::Arc;

/// What one system's write gave.
#[derive(Debug, Clone)]
pub(crate) struct WriteMeasurement {
    /// From the call to the last completed buffer.
    pub(crate) total: Duration,
    /// Every step by the time base.
    pub(crate) steps: Steps,
    pub(crate) polls: Polls,
    /// Bus cycles of the write.
    pub(crate) cycles: u64,
    /// Of `total`, the time in which the CPU slept.
    pub(crate) idle: Duration,
    /// What the CFI query told.
    pub(crate) cfi_info: CfiInfo,
    /// Microseconds of the best wait on this board, for a poll of the scenario's cost.
    pub(crate) tuned_us: u64,
    /// All virtual time, the verifying read included.
    pub(crate) virtual_time: Duration,
}

impl WriteMeasurement {
    /// The share of the write in which the CPU could do nothing else.
    pub(crate) fn busy(&self) -> f64 {
        1.0 - self.idle.as_secs_f64() / self.total.as_secs_f64()
    }

    /// Polls for one program.
    pub(crate) fn polls_each(&self) -> f64 {
        float(self.polls.program) / float(self.steps.of(Step::Wait).count().max(1))
    }
}

/// A CPU as `board` describes it.
pub(crate) fn host(board: &BoardSpec, seed: Seed) -> Host {
    Host::new(board.host.clone(), seed.stream("nor.host"))
}

/// The device of a scenario with `system`'s driver attached.
pub(crate) fn attach(
    scenario: &Scenario,
    board: &BoardSpec,
    system: &System,
    seed: Seed,
    clock: &mut Clock,
) -> NorMtd {
    let chip = |index| {
        let seed = seed.child(&format!("nor.chip.{index}"));
        Chip::new(Arc::clone(&scenario.part), seed).expect("the part was checked when it was read")
    };
    let bus = Bus::new((0..board.chips).map(chip).collect(), board.bus);
    let board = Board::new(bus, host(board, seed));
    let attached = NorMtd::attach(system.kind, board, clock);
    attached.expect("a part with CFI, as the scenario demands, answers the query")
}

/// Writes the scenario's data with `system` on `board` and reads it back.
pub(crate) fn simulate(
    scenario: &Scenario,
    board: &BoardSpec,
    system: &System,
    seed: Seed,
) -> Result<WriteMeasurement, Failure> {
    let mut clock = Clock::new();
    let mut mtd = attach(scenario, board, system, seed, &mut clock);
    let cfi_info = mtd.driver.cfi_info().clone();
    mtd.driver.profile.check_erased = system.check_erased;
    let tuned = tuned_wait(&scenario.part, board, scenario.tune.poll_cost, seed);
    mtd.driver.program_wait = system.policy(&cfi_info, &scenario.tune, tuned, board);
    let name = system.kind.profile().name;
    let failed = |error: boardlab_workload::Error| Failure::run(name, error, super::HELP);
    let job = Job::new(Bytes::ZERO, Bytes::of(&scenario.data)).chunk(Bytes::of(&scenario.data));
    let (cycles, begun) = (mtd.board.bus.cycles(), clock.now());
    mtd_debug::write(&mut mtd, &mut clock, &job, &mut &scenario.data[..]).map_err(failed)?;
    let (total, cycles) = (clock.now().since(begun), mtd.board.bus.cycles() - cycles);
    let idle = mtd.board.host.idle();
    // Reading back in pieces of the default size costs less memory than one whole buffer.
    let job = Job::new(Bytes::ZERO, Bytes::of(&scenario.data));
    mtd_debug::verify(&mut mtd, &mut clock, &job, &mut &scenario.data[..]).map_err(failed)?;
    Ok(WriteMeasurement {
        total,
        steps: mtd.driver.steps().clone(),
        polls: mtd.driver.polls(),
        cycles,
        idle,
        cfi_info,
        tuned_us: tuned,
        virtual_time: clock.now().since(boardlab_sim::Instant::ZERO),
    })
}

/// How long the operation that a wait is for takes: a buffer, or a word where there is none.
pub(crate) fn program_time(part: &Part) -> &QuantileTable {
    match part.write_buffer {
        Some(_) => &part.timing.buffer_program.time,
        None => &part.timing.word_program.time,
    }
}

/// The driver's poll loop on `board`, with a gap of one microsecond.
pub(crate) fn poll_loop(board: &BoardSpec, seed: Seed) -> PollLoop {
    PollLoop::toggle(&host(board, seed), board.bus, 1)
}

/// The best wait in whole microseconds of `udelay`, when a poll is worth `poll_cost`.
pub(crate) fn tuned_wait(part: &Part, board: &BoardSpec, poll_cost: Duration, seed: Seed) -> u64 {
    let completion = Completion::new(program_time(part));
    let best = poll_loop(board, seed).best_wait(&completion, poll_cost.as_micros_f64());
    let host = host(board, seed);
    let lasts = |micros: &u64| (host.udelay(*micros).as_micros_f64() - best).abs();
    let below = host.micros_within(nanos(best));
    let nearest = [below, below + 1].into_iter().min_by(|a, b| lasts(a).total_cmp(&lasts(b)));
    nearest.expect("two candidates")
}

/// Microseconds as a duration, to the nearest nanosecond.
pub(crate) fn nanos(micros: f64) -> Duration {
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a span, rounded")]
    Duration::from_nanos((micros * 1e3).round().max(0.0) as u64)
}
