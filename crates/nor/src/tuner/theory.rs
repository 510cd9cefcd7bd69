//! Expectation time and polls of "wait, then poll" for a given completion-time distribution.
//!
//! Let `X` be the completion time, `w` the wait, `s` the time from the start of a poll to its sampling
//! of the chip, `c` the duration of a poll, `T` the period of the polls, and `v = w + s`. Then:
//!
//! ```text
//! E[time]  = E[max(v, X)] + (c - s) + T/2 P(X > v)
//! E[polls] = 1 + (E[max(v, X)] - v) / T + P(X > v)/2
//! ```
//!
//! The term `T/2` is valid where the density of `X` hardly changes within `T`.

use crate::bus::BusTiming;
use crate::host::Host;
use boardlab_sim::{Duration, QuantileTable};

/// The distribution of a completion time. All times in microseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Completion {
    /// Quantiles at equal steps of probability from 0 to 1.
    points: Vec<f64>,
}

/// The timing of a poll loop. All times in microseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PollLoop {
    /// The time from the start of a poll to the read that must find the chip ready.
    pub sample: f64,
    /// The duration of a poll.
    pub poll: f64,
    /// The time from the start of one poll to the start of the next.
    pub period: f64,
}

/// The expected values for a wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expectation {
    /// The time from the start of the operation until the driver detects its end, in microseconds.
    pub time: f64,
    /// The number of polls.
    pub polls: f64,
}

impl Expectation {
    /// The time plus the cost of the polls at `poll_cost` microseconds each.
    #[must_use]
    pub fn cost(&self, poll_cost: f64) -> f64 {
        self.time + poll_cost * self.polls
    }
}

impl Completion {
    /// The distribution of `table`.
    #[must_use]
    pub fn new(table: &QuantileTable) -> Self {
        Self { points: table.points().map(Duration::as_micros_f64).collect() }
    }

    fn segments(&self) -> impl Iterator<Item = (f64, f64)> + '_ {
        self.points.windows(2).map(|pair| (pair[0], pair[1]))
    }

    #[allow(clippy::cast_precision_loss, reason = "thousands of points")]
    fn steps(&self) -> f64 {
        (self.points.len() - 1) as f64
    }

    /// The mean completion time.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.segments().map(|(low, high)| (low + high) / 2.0).sum::<f64>() / self.steps()
    }

    /// The standard deviation of the completion time.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        // A straight line from a to b has the mean square (a^2 + ab + b^2) / 3.
        let square = |(low, high): (f64, f64)| {
            let (low, high) = (low - mean, high - mean);
            (low * low + low * high + high * high) / 3.0
        };
        (self.segments().map(square).sum::<f64>() / self.steps()).sqrt()
    }

    /// The probability that the operation is complete by `time`.
    #[must_use]
    pub fn done_by(&self, time: f64) -> f64 {
        let share = |(low, high): (f64, f64)| {
            if time >= high {
                1.0
            } else if time <= low {
                0.0
            } else {
                (time - low) / (high - low)
            }
        };
        self.segments().map(share).sum::<f64>() / self.steps()
    }

    /// The quantile: the time by which the operation is complete with `probability`.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "floor of a number within the table"
    )]
    pub fn quantile(&self, probability: f64) -> f64 {
        let position = probability.clamp(0.0, 1.0) * self.steps();
        let step = (position.floor() as usize).min(self.points.len() - 2);
        #[allow(clippy::cast_precision_loss, reason = "thousands of points")]
        let within = position - step as f64;
        self.points[step] + (self.points[step + 1] - self.points[step]) * within
    }

    /// The mean of the maximum of `time` and the completion time.
    #[must_use]
    pub fn mean_of_later(&self, time: f64) -> f64 {
        let later = |(low, high): (f64, f64)| {
            if time >= high {
                time
            } else if time <= low {
                (low + high) / 2.0
            } else {
                // Uniform between low and high: below `time` it counts as `time`.
                let before = (time - low) / (high - low);
                before * time + (1.0 - before) * (time + high) / 2.0
            }
        };
        self.segments().map(later).sum::<f64>() / self.steps()
    }
}

impl PollLoop {
    /// The toggle test (two reads) followed by `udelay(gap_us)` on `host` and its bus.
    ///
    /// `udelay` counts from the last whole tick of the time base, so the period is a whole number of
    /// ticks.
    #[must_use]
    pub fn toggle(host: &Host, bus: BusTiming, gap_us: u64) -> Self {
        let frequency = host.time_base().frequency();
        let poll = bus.read_cycle * 2;
        let gap = frequency.cycles_in(host.udelay(gap_us) + Duration::from_nanos(1));
        // Not rounded to nanoseconds: a wait has hundreds of periods.
        #[allow(clippy::cast_precision_loss, reason = "thousands of ticks, millions of hertz")]
        let period = (frequency.cycles_in(poll) + gap) as f64 * 1e6 / frequency.get() as f64;
        let poll = poll.as_micros_f64();
        Self { sample: bus.read_cycle.as_micros_f64(), poll, period: period.max(poll) }
    }

    /// The expected values for a wait of `wait` microseconds before the first poll.
    #[must_use]
    pub fn expected(&self, completion: &Completion, wait: f64) -> Expectation {
        let seen = wait + self.sample;
        let later = completion.mean_of_later(seen);
        let busy = 1.0 - completion.done_by(seen);
        Expectation {
            time: later + (self.poll - self.sample) + self.period / 2.0 * busy,
            polls: 1.0 + (later - seen) / self.period + busy / 2.0,
        }
    }

    /// The best wait as a probability: its quantile of the completion time.
    #[must_use]
    pub fn best_quantile(&self, poll_cost: f64) -> f64 {
        poll_cost / (poll_cost + self.period)
    }

    /// The best wait in microseconds at a cost of `poll_cost` microseconds per poll.
    ///
    /// Setting the derivative of `E[time] + L E[polls]` to zero, without the small terms in the
    /// density of `X`, gives `P(X <= v) = L / (L + T)`; at no cost, the shortest completion time.
    #[must_use]
    pub fn best_wait(&self, completion: &Completion, poll_cost: f64) -> f64 {
        let start = (completion.quantile(self.best_quantile(poll_cost)) - self.sample).max(0.0);
        // The small terms move the optimum by less than a period: search the neighbourhood.
        let cost = |wait: f64| self.expected(completion, wait).cost(poll_cost);
        let steps = (0..=400).map(|step| (start + f64::from(step - 200) * 0.05).max(0.0));
        steps.fold(start, |best, wait| if cost(wait) < cost(best) { wait } else { best })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform() -> Completion {
        let points = [100, 200].map(Duration::from_micros);
        Completion::new(&QuantileTable::new(&points).unwrap())
    }

    const LOOP: PollLoop = PollLoop { sample: 0.25, poll: 0.5, period: 1.5 };

    #[test]
    fn probabilities_and_quantiles_are_inverse() {
        let completion = uniform();
        assert_eq!((completion.mean(), completion.done_by(150.0)), (150.0, 0.5));
        assert_eq!((completion.done_by(99.0), completion.done_by(201.0)), (0.0, 1.0));
        assert_eq!(completion.quantile(0.25), 125.0);
        assert_eq!(completion.mean_of_later(150.0), 0.5 * 150.0 + 0.5 * 175.0);
        assert!((completion.deviation() - 100.0 / 12_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn waiting_past_the_longest_completion_takes_one_poll() {
        let expected = LOOP.expected(&uniform(), 256.0);
        assert_eq!(expected, Expectation { time: 256.5, polls: 1.0 });
    }

    #[test]
    fn a_free_poll_makes_the_shortest_completion_the_best_wait() {
        // A little more saves the lag of the last poll: F(v) = T/2 f(v) at v = 100.75.
        let best = LOOP.best_wait(&uniform(), 0.0);
        assert!((best - 100.5).abs() < 0.1, "{best}");
    }

    #[test]
    fn the_best_wait_is_the_newsvendor_quantile() {
        // The small terms: the lag T/2 and half a poll are saved only where the chip is still busy.
        let best = LOOP.best_wait(&uniform(), 0.5);
        let quantile = uniform().quantile(LOOP.best_quantile(0.5)) - LOOP.sample;
        assert!((best - quantile).abs() < 1.5, "{best} {quantile}");
        let cost = |wait| LOOP.expected(&uniform(), wait).cost(0.5);
        assert!(cost(best) <= cost(best - 0.5) && cost(best) <= cost(best + 0.5));
    }
}
