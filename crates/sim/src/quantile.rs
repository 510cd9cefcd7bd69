//! A distribution of durations as an integer quantile table.
//!
//! A higher layer, where floating point is allowed, computes the table once. Sampling uses integer
//! arithmetic only, so the same seed gives the same times on any machine.

use crate::random::Stream;
use crate::time::Duration;

/// Quantiles at equal steps of probability from 0 to 1, with linear interpolation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuantileTable {
    /// Nanoseconds at probability `i / (len - 1)`, in ascending order; at least two.
    points: Box<[u64]>,
}

impl QuantileTable {
    /// A table of `points`: quantiles at equal steps of probability from 0 to 1.
    ///
    /// `None` when there are fewer than two points or a later point is smaller than an earlier one.
    #[must_use]
    pub fn new(points: &[Duration]) -> Option<Self> {
        let points: Box<[u64]> = points.iter().map(|point| point.as_nanos()).collect();
        (points.len() >= 2 && points.is_sorted()).then_some(Self { points })
    }

    /// The distribution whose only value is `value`.
    #[must_use]
    pub fn constant(value: Duration) -> Self {
        Self { points: Box::new([value.as_nanos(); 2]) }
    }

    /// The shortest duration.
    #[must_use]
    pub fn min(&self) -> Duration {
        Duration::from_nanos(self.points[0])
    }

    /// The longest duration.
    #[must_use]
    pub fn max(&self) -> Duration {
        Duration::from_nanos(self.points[self.points.len() - 1])
    }

    /// The quantiles at equal steps of probability.
    pub fn points(&self) -> impl Iterator<Item = Duration> + '_ {
        self.points.iter().map(|&nanos| Duration::from_nanos(nanos))
    }

    /// The mean of the linear interpolation, rounded down.
    #[must_use]
    pub fn mean(&self) -> Duration {
        let twice: u128 =
            self.points.windows(2).map(|pair| u128::from(pair[0]) + u128::from(pair[1])).sum();
        let steps = u128::try_from(self.points.len() - 1).expect("a length fits u128");
        let mean = twice / 2 / steps;
        Duration::from_nanos(u64::try_from(mean).expect("a mean lies between its points"))
    }

    /// The quantile of the probability `position` / 2^64.
    #[must_use]
    #[inline]
    pub fn at(&self, position: u64) -> Duration {
        let steps = (self.points.len() - 1) as u64;
        let scaled = u128::from(position) * u128::from(steps);
        #[allow(clippy::cast_possible_truncation, reason = "the two halves of a u128")]
        let (step, within) = ((scaled >> 64) as usize, scaled as u64);
        let (low, high) = (self.points[step], self.points[step + 1]);
        let rise = (u128::from(high - low) * u128::from(within)) >> 64;
        #[allow(clippy::cast_possible_truncation, reason = "less than high - low")]
        Duration::from_nanos(low + rise as u64)
    }

    /// Draws a duration from `stream`.
    #[inline]
    pub fn sample(&self, stream: &mut Stream) -> Duration {
        self.at(stream.next_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seed;

    fn table(points: &[u64]) -> QuantileTable {
        let points: Vec<_> = points.iter().copied().map(Duration::from_nanos).collect();
        QuantileTable::new(&points).unwrap()
    }

    #[test]
    fn quantiles_lie_on_straight_lines_between_the_points() {
        let table = table(&[100, 200, 600]);
        assert_eq!(table.at(0).as_nanos(), 100);
        assert_eq!(table.at(1 << 62).as_nanos(), 150);
        assert_eq!(table.at(1 << 63).as_nanos(), 200);
        assert_eq!(table.at(u64::MAX).as_nanos(), 599);
        assert_eq!(table.mean().as_nanos(), 275);
    }

    #[test]
    fn a_falling_or_short_table_is_refused() {
        let spans = |points: &[u64]| -> Vec<_> {
            points.iter().copied().map(Duration::from_nanos).collect()
        };
        assert!(QuantileTable::new(&spans(&[2, 1])).is_none());
        assert!(QuantileTable::new(&spans(&[2])).is_none());
    }

    #[test]
    fn samples_have_the_mean_of_the_table() {
        let table = table(&[169_500, 190_000, 202_000, 223_800]);
        let mut stream = Seed::new(3).stream("samples");
        let drawn = 100_000;
        let total: Duration = (0..drawn).map(|_| table.sample(&mut stream)).sum();
        let difference = (total / drawn).as_nanos().abs_diff(table.mean().as_nanos());
        assert!(difference < 200, "{difference} ns");
    }
}
