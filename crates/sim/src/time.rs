//! Points and spans of virtual time, in whole nanoseconds.
//!
//! u64 nanoseconds last 584 years. Overflow and a negative span violate an invariant of a model and
//! panic; input that could cause them is rejected where it is read.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point in virtual time: nanoseconds since the run began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Instant(u64);

/// A span of virtual time in nanoseconds, never negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Duration(u64);

impl Instant {
    /// The beginning of the run.
    pub const ZERO: Self = Self(0);
    /// A point that no run reaches; used for "never".
    pub const MAX: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the beginning of the run.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the run began.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span since `earlier`.
    ///
    /// # Panics
    /// When `earlier` is later than `self`: time never runs backwards in a model.
    #[must_use]
    #[inline]
    pub const fn since(self, earlier: Self) -> Duration {
        assert!(self.0 >= earlier.0, "Instant::since: earlier is later than self");
        Duration(self.0 - earlier.0)
    }

    /// The span since `earlier`, or zero when `earlier` is later.
    #[must_use]
    pub const fn saturating_since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// This point plus `span`, or [`Instant::MAX`].
    #[must_use]
    pub const fn saturating_add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(span.0))
    }
}

impl Duration {
    /// The empty span.
    pub const ZERO: Self = Self(0);
    /// The longest span, 584 years.
    pub const MAX: Self = Self(u64::MAX);

    /// A span of `nanos` nanoseconds.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// A span of `micros` microseconds. Panics on overflow.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self::from_parts(micros, 1_000)
    }

    /// A span of `millis` milliseconds. Panics on overflow.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self::from_parts(millis, 1_000_000)
    }

    /// A span of `secs` seconds. Panics on overflow.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Self {
        Self::from_parts(secs, 1_000_000_000)
    }

    const fn from_parts(count: u64, unit: u64) -> Self {
        match count.checked_mul(unit) {
            Some(nanos) => Self(nanos),
            None => panic!("Duration: more than u64 nanoseconds"),
        }
    }

    /// The span in nanoseconds.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in whole microseconds, rounded down.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }

    /// The span in seconds, for display and analysis only.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "display only; exact below 104 days")]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The span in microseconds, for display and analysis only.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "display only; exact below 104 days")]
    pub fn as_micros_f64(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// Whether the span is empty.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self - other`, or zero.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self + other`, or `None` on overflow.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }

    /// `self * factor`, or `None` on overflow.
    #[must_use]
    pub const fn checked_mul(self, factor: u64) -> Option<Self> {
        match self.0.checked_mul(factor) {
            Some(nanos) => Some(Self(nanos)),
            None => None,
        }
    }

    /// How many whole `step`s fit into the span.
    ///
    /// # Panics
    /// When `step` is zero.
    #[must_use]
    pub const fn div_duration(self, step: Self) -> u64 {
        self.0 / step.0
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, span: Duration) -> Self {
        Self(self.0.checked_add(span.0).expect("Instant: beyond 584 years"))
    }
}

impl AddAssign<Duration> for Instant {
    #[inline]
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.checked_sub(span.0).expect("Instant: before the run began"))
    }
}

impl Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, other: Self) -> Self {
        Self(self.0.checked_add(other.0).expect("Duration: more than u64 nanoseconds"))
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.checked_sub(other.0).expect("Duration: negative span"))
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.checked_mul(factor).expect("Duration: more than u64 nanoseconds"))
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    /// Rounds down.
    fn div(self, divisor: u64) -> Self {
        Self(self.0 / divisor)
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

/// Shows four significant digits with the unit that fits: `253.7 us`, `43.22 s`, `284 ns`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, scale) = match self.0 {
            0..1_000 => return f.pad(&format!("{} ns", self.0)),
            1_000..1_000_000 => ("us", 1_000),
            1_000_000..1_000_000_000 => ("ms", 1_000_000),
            _ => ("s", 1_000_000_000),
        };
        let whole = self.0 / scale;
        let decimals = match whole {
            0..10 => 3,
            10..100 => 2,
            100..1_000 => 1,
            _ => 0,
        };
        let step = scale / 10_u64.pow(decimals);
        let rounded = self.0 / step + u64::from(self.0 % step * 2 >= step);
        let fraction = rounded % 10_u64.pow(decimals);
        let text = if fraction == 0 {
            format!("{} {unit}", rounded / 10_u64.pow(decimals))
        } else {
            let digits = format!("{fraction:0width$}", width = decimals as usize);
            format!("{}.{} {unit}", rounded / 10_u64.pow(decimals), digits.trim_end_matches('0'))
        };
        f.pad(&text)
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn display_has_four_significant_digits_and_a_unit() {
        let shown = |nanos| Duration::from_nanos(nanos).to_string();
        assert_eq!(shown(0), "0 ns");
        assert_eq!(shown(284), "284 ns");
        assert_eq!(shown(1_136), "1.136 us");
        assert_eq!(shown(253_694), "253.7 us");
        assert_eq!(shown(11_000_000), "11 ms");
        assert_eq!(shown(43_218_400_000), "43.22 s");
        assert_eq!(shown(999_999), "1000 us");
        assert_eq!(shown(u64::MAX), "18446744074 s");
    }

    #[test]
    fn spans_add_and_subtract_exactly() {
        let start = Instant::from_nanos(5);
        assert_eq!((start + Duration::from_micros(1)).since(start).as_nanos(), 1_000);
        assert_eq!(start.saturating_since(Instant::MAX), Duration::ZERO);
        assert_eq!(Duration::from_secs(1).div_duration(Duration::from_millis(300)), 3);
    }

    #[test]
    #[should_panic(expected = "earlier is later than self")]
    fn time_never_runs_backwards() {
        let _ = Instant::ZERO.since(Instant::from_nanos(1));
    }
}
