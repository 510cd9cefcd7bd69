//! The poll loop over drawn completion times, in integer nanoseconds, without bus and chip.

use crate::bus::BusTiming;
use crate::host::{Host, Pause};
use crate::wait::{Feedback, WaitPolicy};
use boardlab_sim::{Clock, Duration, QuantileTable, Stream};

/// Completion times drawn once, so that all policies run over the same operations.
#[derive(Debug, Clone)]
pub struct Replay {
    completions: Vec<Duration>,
    bus: BusTiming,
    host: Host,
}

/// The performance of a policy over all operations of a replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ReplayResult {
    /// Mean time from the start of an operation until the driver detects its end, in microseconds.
    pub time: f64,
    /// Mean number of polls.
    pub polls: f64,
    /// Fraction of the time in which the CPU was busy.
    pub busy: f64,
    /// Operations reported complete before they were: always zero.
    pub early: u64,
}

impl Replay {
    /// Draws `count` completion times of `table` from `stream`.
    #[must_use]
    pub fn new(
        table: &QuantileTable,
        stream: &mut Stream,
        count: usize,
        bus: BusTiming,
        host: Host,
    ) -> Self {
        let completions = (0..count).map(|_| table.sample(stream)).collect();
        Self { completions, bus, host }
    }

    /// The number of operations.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.completions.len()
    }

    /// Whether there are no operations.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.completions.is_empty()
    }

    /// The same operations with completion times changed by `shift`, such as those of a part that
    /// drifts.
    #[must_use]
    pub fn shifted(&self, shift: impl Fn(usize, Duration) -> Duration) -> Self {
        let moved = self.completions.iter().enumerate().map(|(at, &span)| shift(at, span));
        Self { completions: moved.collect(), bus: self.bus, host: self.host.clone() }
    }

    /// Runs `policy` over all operations; it learns after each.
    #[must_use]
    pub fn run(&self, policy: &mut dyn WaitPolicy) -> ReplayResult {
        self.run_observed(policy, |_, _| ())
    }

    /// Runs `policy` over all operations and passes the number and time of each to `watch`.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "means of counted things")]
    pub fn run_observed(
        &self,
        policy: &mut dyn WaitPolicy,
        mut watch: impl FnMut(usize, Duration),
    ) -> ReplayResult {
        let mut host = self.host.clone();
        let mut clock = Clock::new();
        let (mut total, mut polls, mut early) = (Duration::ZERO, 0, 0);
        let idle_before = host.idle();
        for (at, &completion) in self.completions.iter().enumerate() {
            let started = clock.now();
            let done = started + completion;
            host.pause(&mut clock, policy.first());
            let mut asked = 1;
            while clock.now() + self.bus.read_cycle < done {
                clock.advance(self.bus.read_cycle * 2);
                host.pause(&mut clock, policy.gap(asked));
                asked += 1;
            }
            clock.advance(self.bus.read_cycle * 2);
            policy.learn(Feedback { polls: asked, failed: false });
            early += u64::from(clock.now() < done);
            polls += asked;
            total += clock.now().since(started);
            watch(at, clock.now().since(started));
        }
        let count = self.completions.len().max(1) as f64;
        let idle = host.idle() - idle_before;
        ReplayResult {
            time: total.as_micros_f64() / count,
            polls: polls as f64 / count,
            busy: 1.0 - idle.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE),
            early,
        }
    }

    /// Runs each of `waits`, in microseconds, before the first poll with `gap` between polls, and
    /// returns the one with the least `time + poll_cost * polls` and its result.
    ///
    /// # Panics
    /// When `waits` is empty.
    #[must_use]
    pub fn brute_force(
        &self,
        waits: impl IntoIterator<Item = u64>,
        gap: Pause,
        poll_cost: f64,
    ) -> (u64, ReplayResult) {
        let cost = |tried: &ReplayResult| tried.time + poll_cost * tried.polls;
        waits
            .into_iter()
            .map(|micros| {
                let wait = if micros == 0 { Pause::None } else { Pause::Spin(micros) };
                (micros, self.run(&mut crate::wait::FixedThenToggle { wait, gap }))
            })
            .min_by(|(_, left), (_, right)| cost(left).total_cmp(&cost(right)))
            .expect("Replay::brute_force: no wait to try")
    }
}
