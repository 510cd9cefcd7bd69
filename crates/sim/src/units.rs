//! Sizes, rates and frequencies as types of their own.
//!
//! A whole transfer is computed in u128 and rounded once, to the nearest nanosecond: a 285.4 ns
//! cycle repeated 33 million times must not lose a quarter of a second to truncation.

use crate::time::Duration;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// A size in bytes, or a byte offset into a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Self = Self(0);

    /// A size of `count` bytes.
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// A size of `count` KiB (1,024 bytes).
    #[must_use]
    pub const fn kib(count: u64) -> Self {
        Self(count * 1_024)
    }

    /// A size of `count` MiB (1,048,576 bytes).
    #[must_use]
    pub const fn mib(count: u64) -> Self {
        Self(count * 1_048_576)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The size as an index into memory of this process.
    ///
    /// # Panics
    /// On a machine whose address space is smaller than the size.
    #[must_use]
    pub fn to_usize(self) -> usize {
        usize::try_from(self.0).expect("Bytes: larger than this machine's memory")
    }

    /// The length of a buffer.
    #[must_use]
    pub const fn of(buffer: &[u8]) -> Self {
        Self(buffer.len() as u64)
    }

    /// Whether the size is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether the size is a whole multiple of `unit`.
    #[must_use]
    pub const fn is_multiple_of(self, unit: Self) -> bool {
        self.0.is_multiple_of(unit.0)
    }

    /// The number of `unit`s that hold the size, rounded up.
    #[must_use]
    pub const fn div_ceil(self, unit: Self) -> u64 {
        self.0.div_ceil(unit.0)
    }

    /// `self + other`, or `None` on overflow.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.checked_add(other.0).expect("Bytes: overflow"))
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.checked_sub(other.0).expect("Bytes: negative size"))
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, factor: u64) -> Self {
        Self(self.0.checked_mul(factor).expect("Bytes: overflow"))
    }
}

impl Div for Bytes {
    type Output = u64;
    /// Whole units of `other` in `self`, rounded down.
    fn div(self, other: Self) -> u64 {
        self.0 / other.0
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(sizes: I) -> Self {
        sizes.fold(Self::ZERO, Add::add)
    }
}

/// Shows the largest binary unit that divides the size: `64 MiB`, `512 B`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u32); 4] = [("TiB", 40), ("GiB", 30), ("MiB", 20), ("KiB", 10)];
        let fits = |&&(_, bits): &&(&str, u32)| self.0 != 0 && self.0.trailing_zeros() >= bits;
        match UNITS.iter().find(fits) {
            Some((unit, bits)) => f.pad(&format!("{} {unit}", self.0 >> bits)),
            None => f.pad(&format!("{} B", self.0)),
        }
    }
}

/// A transfer rate as an exact ratio of bytes to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    amount: Bytes,
    per: Duration,
}

impl Rate {
    /// A rate of `amount` per `per`; `None` if either is zero.
    #[must_use]
    pub fn new(amount: Bytes, per: Duration) -> Option<Self> {
        (!amount.is_zero() && !per.is_zero()).then_some(Self { amount, per })
    }

    /// The time of a whole transfer of `size`, rounded once to the nearest nanosecond.
    ///
    /// # Panics
    /// When the transfer takes longer than 584 years.
    #[must_use]
    pub fn time_for(self, size: Bytes) -> Duration {
        Duration::from_nanos(scale(size.get(), self.per.as_nanos(), self.amount.get()))
    }

    /// Bytes a second, for display and analysis only.
    #[must_use]
    #[allow(clippy::cast_precision_loss, reason = "display only")]
    pub fn bytes_per_second(self) -> f64 {
        self.amount.get() as f64 / self.per.as_secs_f64()
    }
}

/// A frequency in hertz.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Hertz(u64);

impl Hertz {
    /// A frequency of `hz` cycles a second.
    ///
    /// # Panics
    /// When `hz` is zero.
    #[must_use]
    pub const fn from_hz(hz: u64) -> Self {
        assert!(hz > 0, "Hertz: a clock that stands still");
        Self(hz)
    }

    /// Cycles a second.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The time of `cycles` whole cycles, rounded once to the nearest nanosecond.
    #[must_use]
    pub fn time_of(self, cycles: u64) -> Duration {
        Duration::from_nanos(scale(cycles, 1_000_000_000, self.0))
    }

    /// The number of whole cycles in `span`.
    ///
    /// # Panics
    /// When there are more than u64 cycles.
    #[must_use]
    #[inline]
    pub fn cycles_in(self, span: Duration) -> u64 {
        const SECOND: u64 = 1_000_000_000;
        // Separate whole seconds keep the arithmetic in u64, which polling loops need for speed.
        let (seconds, rest) = (span.as_nanos() / SECOND, span.as_nanos() % SECOND);
        let within = match rest.checked_mul(self.0) {
            Some(product) => product / SECOND,
            None => narrow(u128::from(rest) * u128::from(self.0) / u128::from(SECOND)),
        };
        let whole = seconds.checked_mul(self.0).and_then(|whole| whole.checked_add(within));
        whole.expect("Hertz: more than u64 cycles")
    }
}

fn narrow(value: u128) -> u64 {
    u64::try_from(value).expect("units: a quantity beyond u64")
}

/// Shows the decimal unit that keeps three decimals exact: `33.3 MHz`, `250 Hz`.
impl fmt::Display for Hertz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, u64); 3] =
            [("GHz", 1_000_000_000), ("MHz", 1_000_000), ("kHz", 1_000)];
        let fits =
            |&&(_, unit): &&(&str, u64)| self.0 >= unit && self.0.is_multiple_of(unit / 1_000);
        let Some((name, unit)) = UNITS.iter().find(fits) else {
            return f.pad(&format!("{} Hz", self.0));
        };
        let thousandths = format!("{:03}", self.0 % unit / (unit / 1_000));
        match thousandths.trim_end_matches('0') {
            "" => f.pad(&format!("{} {name}", self.0 / unit)),
            decimals => f.pad(&format!("{}.{decimals} {name}", self.0 / unit)),
        }
    }
}

/// `count * numerator / denominator` in u128, rounded to the nearest, halves up.
fn scale(count: u64, numerator: u64, denominator: u64) -> u64 {
    let (count, numerator) = (u128::from(count), u128::from(numerator));
    let denominator = u128::from(denominator);
    let product = count.checked_mul(numerator).expect("scale: u64 times u64 fits u128");
    let rounded = (product + denominator / 2) / denominator;
    narrow(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_transfer_is_rounded_once() {
        let rate = Rate::new(Bytes::new(3), Duration::from_nanos(1)).unwrap();
        assert_eq!(rate.time_for(Bytes::new(1)).as_nanos(), 0);
        assert_eq!(rate.time_for(Bytes::new(3_000_000)).as_nanos(), 1_000_000);
        let published = Rate::new(Bytes::mib(4), Duration::from_millis(11)).unwrap();
        assert_eq!(published.time_for(Bytes::mib(64)), Duration::from_millis(176));
    }

    #[test]
    fn cycles_and_time_are_inverse_up_to_one_cycle() {
        let clock = Hertz::from_hz(33_300_000);
        assert_eq!(clock.time_of(8_448).as_nanos(), 253_694);
        assert_eq!(clock.cycles_in(Duration::from_nanos(253_694)), 8_448);
        assert_eq!(clock.cycles_in(Duration::from_nanos(253_693)), 8_447);
    }

    #[test]
    fn sizes_show_the_unit_that_divides_them() {
        assert_eq!(Bytes::mib(64).to_string(), "64 MiB");
        assert_eq!(Bytes::new(512).to_string(), "512 B");
        assert_eq!(Bytes::new(1_536).to_string(), "1536 B");
        assert_eq!(Bytes::kib(3).to_string(), "3 KiB");
        assert_eq!(Bytes::ZERO.to_string(), "0 B");
    }

    #[test]
    fn frequencies_show_the_unit_that_keeps_them_exact() {
        let shown = |hz| Hertz::from_hz(hz).to_string();
        assert_eq!(shown(33_300_000), "33.3 MHz");
        assert_eq!(shown(250), "250 Hz");
        assert_eq!(shown(1_000_000_000), "1 GHz");
        assert_eq!(shown(33_333_333), "33333.333 kHz");
    }

    #[test]
    fn a_rate_of_nothing_does_not_exist() {
        assert!(Rate::new(Bytes::ZERO, Duration::from_secs(1)).is_none());
        assert!(Rate::new(Bytes::new(1), Duration::ZERO).is_none());
    }
}
