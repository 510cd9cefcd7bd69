//! Statistics of the duration of a repeated step: count, total, extremes, mean and percentiles.

use crate::time::Duration;
use hdrhistogram::Histogram;

/// Statistics of one repeated step, in constant memory.
///
/// Count, total, minimum, maximum and mean are exact; percentiles are those of a histogram with
/// three significant digits (HDR histogram).
#[derive(Debug, Clone)]
pub struct Phase {
    count: u64,
    total: Duration,
    min: Duration,
    max: Duration,
    histogram: Histogram<u64>,
}

impl Default for Phase {
    fn default() -> Self {
        Self::new()
    }
}

impl Phase {
    /// The statistics of a step without occurrences.
    #[must_use]
    pub fn new() -> Self {
        let histogram = Histogram::new(3).expect("three significant digits are within 0 to 5");
        Self { count: 0, total: Duration::ZERO, min: Duration::MAX, max: Duration::ZERO, histogram }
    }

    /// Records an occurrence that took `span`.
    #[inline]
    pub fn record(&mut self, span: Duration) {
        self.count += 1;
        self.total += span;
        self.min = self.min.min(span);
        self.max = self.max.max(span);
        self.histogram.record(span.as_nanos()).expect("an automatically sized histogram grows");
    }

    /// The number of occurrences.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The total duration.
    #[must_use]
    pub const fn total(&self) -> Duration {
        self.total
    }

    /// The shortest duration, or `None` without an occurrence.
    #[must_use]
    pub fn min(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.min)
    }

    /// The longest duration, or `None` without an occurrence.
    #[must_use]
    pub fn max(&self) -> Option<Duration> {
        (self.count > 0).then_some(self.max)
    }

    /// The mean rounded to the nearest nanosecond, or `None` without an occurrence.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        let rounded = |count| Duration::from_nanos((self.total.as_nanos() + count / 2) / count);
        (self.count > 0).then(|| rounded(self.count))
    }

    /// The quantile `numerator / denominator`: the smallest recorded duration that this fraction of
    /// all occurrences does not exceed, to three significant digits; `None` without an occurrence.
    ///
    /// # Panics
    /// When the fraction is greater than one or its denominator is zero.
    #[must_use]
    pub fn quantile(&self, numerator: u64, denominator: u64) -> Option<Duration> {
        assert!(numerator <= denominator && denominator > 0, "Phase::quantile: not a fraction");
        #[allow(clippy::cast_precision_loss, reason = "a fraction for display")]
        let fraction = numerator as f64 / denominator as f64;
        (self.count > 0).then(|| {
            Duration::from_nanos(
                self.histogram.value_at_quantile(fraction).min(self.max.as_nanos()),
            )
        })
    }

    /// Adds the occurrences of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.total += other.total;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.histogram.add(&other.histogram).expect("an automatically sized histogram grows");
    }

    /// Counts in bins of equal `width`, from the bin that holds the minimum to that of the
    /// maximum: pairs of the bin's lower edge and its count. Empty without an occurrence.
    ///
    /// # Panics
    /// When `width` is zero.
    #[must_use]
    pub fn bins(&self, width: Duration) -> Vec<(Duration, u64)> {
        assert!(!width.is_zero(), "Phase::bins: bins of no width");
        let (Some(min), Some(max)) = (self.min(), self.max()) else { return Vec::new() };
        let first = min.div_duration(width);
        let count = usize::try_from(max.div_duration(width) - first + 1).expect("bins fit memory");
        let mut bins: Vec<_> = (first..).take(count).map(|index| (width * index, 0_u64)).collect();
        for value in self.histogram.iter_recorded() {
            let span = Duration::from_nanos(value.value_iterated_to()).clamp(min, max);
            let index = usize::try_from(span.div_duration(width) - first).expect("within bins");
            bins[index].1 += value.count_at_value();
        }
        bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(micros: &[u64]) -> Phase {
        let mut phase = Phase::new();
        micros.iter().for_each(|&span| phase.record(Duration::from_micros(span)));
        phase
    }

    #[test]
    fn a_step_that_never_happened_has_no_extremes() {
        let phase = Phase::new();
        assert_eq!((phase.min(), phase.max(), phase.mean()), (None, None, None));
        assert_eq!(phase.quantile(1, 2), None);
        assert!(phase.bins(Duration::from_micros(1)).is_empty());
    }

    #[test]
    fn exact_figures_are_exact() {
        let phase = phase(&[170, 226, 204]);
        assert_eq!(phase.count(), 3);
        assert_eq!(phase.total(), Duration::from_micros(600));
        assert_eq!(phase.mean(), Some(Duration::from_micros(200)));
        assert_eq!(phase.min(), Some(Duration::from_micros(170)));
        assert_eq!(phase.max(), Some(Duration::from_micros(226)));
    }

    #[test]
    fn percentiles_are_within_three_digits_and_the_maximum() {
        let phase = phase(&(1..=1_000).collect::<Vec<_>>());
        let median = phase.quantile(1, 2).unwrap().as_micros();
        assert!((499..=501).contains(&median), "{median}");
        assert_eq!(phase.quantile(1, 1), phase.max());
    }

    #[test]
    fn bins_hold_every_step_once() {
        let phase = phase(&[170, 171, 171, 226]);
        let bins = phase.bins(Duration::from_micros(10));
        assert_eq!(bins.first(), Some(&(Duration::from_micros(170), 3)));
        assert_eq!(bins.last(), Some(&(Duration::from_micros(220), 1)));
        assert_eq!(bins.iter().map(|bin| bin.1).sum::<u64>(), 4);
    }

    #[test]
    fn merged_phases_count_both() {
        let mut both = phase(&[1, 2]);
        both.merge(&phase(&[9]));
        assert_eq!((both.count(), both.max()), (3, Some(Duration::from_micros(9))));
    }
}
