//! The statistics of a job, as fio counts them: latencies, bandwidth over windows, depths, logs.
//!
//! Layer: rank 6. Main types: [`Account`], [`Totals`], [`Spread`], [`LogEntry`]. Latencies are kept as
//! histograms of three digits; count, extremes and mean are exact. The bounds of the latency table are
//! those of fio 3.33's reports.

use crate::fio::settings::{Direction, Reporting};
use boardlab_sim::{Duration, Instant, Phase};

/// Mean and standard deviation in constant memory: sums of the distances from the first value, so
/// that a value costs no division and large values lose no digits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    first: f64,
    sum: f64,
    square: f64,
}

impl Spread {
    /// Adds a value.
    #[inline]
    pub fn add(&mut self, value: f64) {
        if self.count == 0 {
            *self = Self::constant(0, value);
        }
        self.count += 1;
        let distance = value - self.first;
        self.sum += distance;
        self.square += distance * distance;
        (self.min, self.max) = (self.min.min(value), self.max.max(value));
    }

    /// `count` equal values.
    #[must_use]
    pub const fn constant(count: u64, value: f64) -> Self {
        Self { count, min: value, max: value, first: value, sum: 0.0, square: 0.0 }
    }

    /// The same values, each larger by `shift`; no values stay none.
    #[must_use]
    pub fn shifted(&self, shift: f64) -> Self {
        if self.count == 0 {
            return *self;
        }
        let (first, min, max) = (self.first + shift, self.min + shift, self.max + shift);
        Self { first, min, max, ..*self }
    }

    /// The mean; zero of no values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.first + self.sum / to_f64(self.count) }
    }

    /// The deviation of a sample, as fio computes it: zero for fewer than two.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let count = to_f64(self.count);
        ((self.square - self.sum * self.sum / count).max(0.0) / (count - 1.0)).sqrt()
    }

    /// Adds the values of another.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 {
            *self = *other;
            return;
        }
        let (apart, theirs) = (other.first - self.first, to_f64(other.count));
        self.square += other.square + 2.0 * apart * other.sum + theirs * apart * apart;
        self.sum += other.sum + theirs * apart;
        self.count += other.count;
        (self.min, self.max) = (self.min.min(other.min), self.max.max(other.max));
    }
}

#[allow(clippy::cast_precision_loss, reason = "statistics for display")]
pub(super) fn to_f64(value: u64) -> f64 {
    value as f64
}

/// Sums over windows of equal length.
#[derive(Debug, Clone)]
struct Window {
    length: Duration,
    start: Instant,
    sum: u64,
    samples: Spread,
}

impl Window {
    fn new(length: Duration, start: Instant) -> Self {
        Self { length, start, sum: 0, samples: Spread::default() }
    }

    /// Counts `amount` at `now`; a complete window becomes a sample per second.
    #[inline]
    fn add(&mut self, now: Instant, amount: u64) {
        self.sum += amount;
        let passed = now.saturating_since(self.start);
        if passed >= self.length {
            self.samples.add(to_f64(self.sum) / passed.as_secs_f64());
            (self.start, self.sum) = (now, 0);
        }
    }
}

/// One direction.
#[derive(Debug, Clone)]
pub struct Totals {
    /// Completed requests.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// From issue to completion.
    pub completion: Phase,
    /// Its spread, in nanoseconds.
    pub spread: Spread,
    /// Bytes per second, by windows.
    bandwidth: Window,
    /// Requests per second, by windows.
    rate: Window,
}

impl Totals {
    fn new(reporting: &Reporting, start: Instant) -> Self {
        Self {
            requests: 0,
            bytes: 0,
            completion: Phase::new(),
            spread: Spread::default(),
            bandwidth: Window::new(reporting.bandwidth_window, start),
            rate: Window::new(reporting.iops_window, start),
        }
    }

    /// Bytes a second in windows of `bwavgtime`.
    #[must_use]
    pub const fn bandwidth(&self) -> &Spread {
        &self.bandwidth.samples
    }

    /// Requests a second in windows of `iopsavgtime`.
    #[must_use]
    pub const fn rate(&self) -> &Spread {
        &self.rate.samples
    }
}

/// Upper bounds of fio's table of latencies, in nanoseconds: ten below 1 us, ten below 1 ms, eleven
/// below 2 s; the rest is above.
pub const BOUNDS: [u64; 31] = {
    const STEPS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1_000];
    let mut bounds = [2_000_000_000; 31];
    let mut index = 0;
    while index < 30 {
        bounds[index] = STEPS[index % 10] * [1, 1_000, 1_000_000][index / 10];
        index += 1;
    }
    bounds
};

/// A line of a log: milliseconds, value, direction, block size, offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEntry {
    /// Since the job began.
    pub time: Duration,
    /// KiB a second, nanoseconds, or requests a second.
    pub value: u64,
    /// The direction.
    pub direction: Direction,
    /// Bytes of the block; 0 for a mean over several.
    pub block: u64,
    /// The offset; only with `log_offset`.
    pub offset: Option<u64>,
}

/// What is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// KiB a second.
    Bandwidth,
    /// Completion latency, nanoseconds.
    Latency,
    /// Requests a second.
    Rate,
}

/// The mean over the window of a log.
#[derive(Debug, Clone, Copy, Default)]
struct Average {
    start: Duration,
    count: u64,
    sum: u64,
    max: u64,
    bytes: u64,
}

/// A completed request.
#[derive(Debug, Clone, Copy)]
pub struct CompletedRequest {
    /// The direction.
    pub direction: Direction,
    /// Its offset.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
    /// When it was issued.
    pub issued: Instant,
    /// When it completed.
    pub ended: Instant,
}

/// The statistics of a copy of a job.
#[derive(Debug, Clone)]
pub struct Account {
    /// When counting began.
    pub start: Instant,
    /// When the last request completed.
    pub end: Instant,
    /// Reads, writes, trims.
    pub totals: [Totals; 3],
    /// Flushes.
    pub syncs: Phase,
    /// Their spread.
    pub sync_spread: Spread,
    /// Requests by the number in flight when they were issued: 1, 2, 4, 8, 16, 32, 64 and more.
    pub depths: [u64; 7],
    /// Requests by completion latency, see [`BOUNDS`]; the last is above all bounds.
    pub latencies: [u64; 32],
    /// The time to submit a request.
    pub submission: Duration,
    /// Bandwidth, latency and rate, when asked for.
    pub logs: [Vec<LogEntry>; 3],
    wanted: [bool; 3],
    averages: [[Average; 3]; 3],
    log_window: Duration,
    log_maximum: bool,
    log_offset: bool,
}

impl Account {
    /// Counts from `start` on.
    #[must_use]
    pub fn new(reporting: &Reporting, start: Instant, submission: Duration) -> Self {
        Self {
            start,
            end: start,
            totals: std::array::from_fn(|_| Totals::new(reporting, start)),
            syncs: Phase::new(),
            sync_spread: Spread::default(),
            depths: [0; 7],
            latencies: [0; 32],
            submission,
            logs: [const { Vec::new() }; 3],
            wanted: std::array::from_fn(|index| reporting.logs[index].is_some()),
            averages: Default::default(),
            log_window: reporting.log_average,
            log_maximum: reporting.log_maximum,
            log_offset: reporting.log_offset,
        }
    }

    /// Counts an issued request; `under_way` includes it.
    #[inline]
    pub fn issue(&mut self, under_way: usize) {
        let class = (usize::BITS - under_way.leading_zeros()).saturating_sub(1).min(6);
        self.depths[usize::try_from(class).expect("at most six")] += 1;
    }

    /// Counts a completed request.
    #[inline]
    pub fn done(&mut self, done: &CompletedRequest) {
        let span = done.ended.since(done.issued);
        let nanos = span.as_nanos();
        let totals = &mut self.totals[done.direction as usize];
        totals.requests += 1;
        totals.bytes += done.bytes;
        totals.completion.record(span);
        totals.spread.add(to_f64(nanos));
        totals.bandwidth.add(done.ended, done.bytes);
        totals.rate.add(done.ended, 1);
        self.latencies[BOUNDS.partition_point(|bound| *bound <= nanos)] += 1;
        self.end = self.end.max(done.ended);
        if self.wanted != [false; 3] {
            self.log(done, span);
        }
    }

    /// Counts a flush.
    pub fn sync(&mut self, issued: Instant, ended: Instant) {
        let span = ended.since(issued);
        self.syncs.record(span);
        self.sync_spread.add(to_f64(span.as_nanos()));
        self.end = self.end.max(ended);
    }

    fn log(&mut self, done: &CompletedRequest, span: Duration) {
        let time = done.ended.saturating_since(self.start);
        let second = 1_000_000_000;
        let nanos = span.as_nanos().max(1);
        let speed = u128::from(done.bytes) * second / u128::from(nanos) / 1_024;
        let values = [u64::try_from(speed).unwrap_or(u64::MAX), span.as_nanos(), 1];
        for (index, amount) in values.into_iter().enumerate() {
            if !self.wanted[index] {
                continue;
            }
            if self.log_window.is_zero() {
                let offset = self.log_offset.then_some(done.offset);
                let (value, direction, block) = (amount, done.direction, done.bytes);
                self.logs[index].push(LogEntry { time, value, direction, block, offset });
                continue;
            }
            let average = &mut self.averages[index][done.direction as usize];
            if time.saturating_sub(average.start) >= self.log_window {
                let value = summary(index, average, time, self.log_maximum);
                let direction = done.direction;
                self.logs[index].extend(value.map(|value| LogEntry {
                    time,
                    value,
                    direction,
                    block: 0,
                    offset: None,
                }));
                *average = Average { start: time, ..Average::default() };
            }
            average.count += 1;
            average.sum += amount;
            average.max = average.max.max(amount);
            average.bytes += done.bytes;
        }
    }

    /// How long counting lasted.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.end.since(self.start)
    }

    /// Adds the statistics of another copy.
    pub fn merge(&mut self, other: &Self) {
        self.start = self.start.min(other.start);
        self.end = self.end.max(other.end);
        for (ours, theirs) in self.totals.iter_mut().zip(&other.totals) {
            ours.requests += theirs.requests;
            ours.bytes += theirs.bytes;
            ours.completion.merge(&theirs.completion);
            ours.spread.merge(&theirs.spread);
            ours.bandwidth.samples.merge(&theirs.bandwidth.samples);
            ours.rate.samples.merge(&theirs.rate.samples);
        }
        self.syncs.merge(&other.syncs);
        self.sync_spread.merge(&other.sync_spread);
        self.depths.iter_mut().zip(other.depths).for_each(|(ours, theirs)| *ours += theirs);
        self.latencies.iter_mut().zip(other.latencies).for_each(|(ours, theirs)| *ours += theirs);
        self.logs.iter_mut().zip(&other.logs).for_each(|(ours, theirs)| ours.extend(theirs));
    }
}

/// The log value for a window; `None` when no request completed in it.
fn summary(index: usize, average: &Average, time: Duration, maximum: bool) -> Option<u64> {
    if average.count == 0 {
        return None;
    }
    let nanos = u128::from(time.saturating_sub(average.start).as_nanos().max(1));
    let second = |amount: u64| u128::from(amount) * 1_000_000_000 / nanos;
    let value = match index {
        _ if maximum => u128::from(average.max),
        0 => second(average.bytes) / 1_024,
        1 => u128::from(average.sum / average.count),
        _ => second(average.count),
    };
    u64::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::Settings;

    fn account() -> Account {
        Account::new(&Settings::default().reporting, Instant::ZERO, Duration::ZERO)
    }

    fn done(issued: u64, ended: u64) -> CompletedRequest {
        let at = Instant::from_nanos;
        let (issued, ended) = (at(issued), at(ended));
        CompletedRequest { direction: Direction::Write, offset: 0, bytes: 4_096, issued, ended }
    }

    #[test]
    fn spreads_are_those_of_all_values_however_they_were_added() {
        let values: Vec<f64> = (0..100).map(|value| f64::from(value * value % 37)).collect();
        let mean = values.iter().sum::<f64>() / 100.0;
        let square: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let (mut all, mut part) = (Spread::default(), Spread::default());
        values[..40].iter().for_each(|value| all.add(*value));
        values[40..].iter().for_each(|value| part.add(*value));
        all.merge(&part);
        assert!((all.mean() - mean).abs() < 1e-9);
        assert!((all.deviation() - (square / 99.0).sqrt()).abs() < 1e-9);
        assert_eq!((all.min, all.max, all.count), (0.0, 36.0, 100));
    }

    #[test]
    fn depths_and_latencies_fall_into_the_classes_of_fio() {
        let mut account = account();
        [1, 2, 3, 4, 8, 31, 32, 64, 500].into_iter().for_each(|depth| account.issue(depth));
        assert_eq!(account.depths, [1, 2, 1, 1, 1, 1, 2]);
        account.done(&done(0, 1));
        account.done(&done(0, 2));
        account.done(&done(0, 3_000_000_000));
        assert_eq!((account.latencies[0], account.latencies[1], account.latencies[31]), (1, 1, 1));
    }

    #[test]
    fn bandwidth_is_sampled_by_windows() {
        let mut account = account();
        (1..=10_000).for_each(|n| account.done(&done((n - 1) * 200_000, n * 200_000)));
        let samples = account.totals[1].bandwidth();
        assert_eq!(samples.count, 4);
        assert!((samples.mean() / (4_096.0 * 5_000.0) - 1.0).abs() < 0.001, "{samples:?}");
    }
}
