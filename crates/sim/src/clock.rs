//! The time of one run, and the counters with which a program on the board reads it.

use crate::time::{Duration, Instant};
use crate::units::Hertz;

/// The virtual time of one run. A component that consumes time takes it as `&mut` and advances it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clock {
    now: Instant,
}

impl Clock {
    /// A clock at the beginning of a run.
    #[must_use]
    pub const fn new() -> Self {
        Self { now: Instant::ZERO }
    }

    /// The current time.
    #[must_use]
    #[inline]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Lets `span` pass.
    #[inline]
    pub fn advance(&mut self, span: Duration) {
        self.now += span;
    }

    /// Waits until `deadline`; returns at once if it has passed.
    #[inline]
    pub fn advance_to(&mut self, deadline: Instant) {
        self.now = self.now.max(deadline);
    }
}

/// A value of a free-running counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Ticks(u64);

impl Ticks {
    /// A counter value, or a difference, of `count`.
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The raw count.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Ticks counted since `earlier`.
    ///
    /// # Panics
    /// When `earlier` is later than `self`.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Self {
        assert!(self.0 >= earlier.0, "Ticks::since: earlier is later than self");
        Self(self.0 - earlier.0)
    }
}

/// A free-running counter of a CPU, such as the PowerPC time base register.
///
/// It counts whole ticks only: the resolution of a measurement is one tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeBase {
    frequency: Hertz,
}

impl TimeBase {
    /// A counter of `frequency` that is zero at the beginning of the run.
    #[must_use]
    pub const fn new(frequency: Hertz) -> Self {
        Self { frequency }
    }

    /// The frequency of the counter.
    #[must_use]
    pub const fn frequency(self) -> Hertz {
        self.frequency
    }

    /// The counter's value at `now`, in whole ticks.
    #[must_use]
    #[inline]
    pub fn read(self, now: Instant) -> Ticks {
        Ticks(self.frequency.cycles_in(now.since(Instant::ZERO)))
    }

    /// The first nanosecond at which the counter has the value `ticks`.
    ///
    /// # Panics
    /// Beyond 584 years.
    #[must_use]
    #[inline]
    pub fn instant_of(self, ticks: Ticks) -> Instant {
        const SECOND: u64 = 1_000_000_000;
        let frequency = self.frequency.get();
        // Separate whole seconds keep the arithmetic in u64, which polling loops need for speed.
        let (seconds, rest) = (ticks.0 / frequency, ticks.0 % frequency);
        let within = match rest.checked_mul(SECOND) {
            Some(product) => product.div_ceil(frequency),
            None => {
                let wide = (u128::from(rest) * u128::from(SECOND)).div_ceil(u128::from(frequency));
                u64::try_from(wide).expect("TimeBase: less than one second")
            }
        };
        let nanos = seconds.checked_mul(SECOND).and_then(|whole| whole.checked_add(within));
        Instant::from_nanos(nanos.expect("TimeBase: beyond 584 years"))
    }

    /// The first nanosecond at which the counter has counted `ticks` since `now`.
    #[must_use]
    #[inline]
    pub fn after(self, now: Instant, ticks: Ticks) -> Instant {
        const SECOND: u64 = 1_000_000_000;
        let frequency = self.frequency.get();
        let (seconds, rest) = (now.as_nanos() / SECOND, now.as_nanos() % SECOND);
        // A polling loop calls this for each poll, so there is only one division by a variable.
        if let Some(product) = rest.checked_mul(frequency) {
            let target = product / SECOND + ticks.0;
            if let (true, Some(scaled)) = (target < frequency, target.checked_mul(SECOND)) {
                return Instant::from_nanos(seconds * SECOND + scaled.div_ceil(frequency));
            }
        }
        self.instant_of(Ticks(self.read(now).0 + ticks.0))
    }

    /// The duration of `ticks`, rounded to the nearest nanosecond.
    #[must_use]
    pub fn duration(self, ticks: Ticks) -> Duration {
        self.frequency.time_of(ticks.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_begins_where_the_counter_first_shows_it() {
        let time_base = TimeBase::new(Hertz::from_hz(33_300_000));
        for count in [0, 1, 2, 33, 8_448, 33_300_000, 33_300_001] {
            let start = time_base.instant_of(Ticks::new(count));
            assert_eq!(time_base.read(start).get(), count);
            if count > 0 {
                let before = start - Duration::from_nanos(1);
                assert_eq!(time_base.read(before).get(), count - 1);
            }
        }
    }

    #[test]
    fn the_end_of_a_spin_is_where_the_counter_shows_it() {
        for hz in [33_300_000, 1_000_000, 60_000_000_000, 999_999_937] {
            let time_base = TimeBase::new(Hertz::from_hz(hz));
            for now in [0, 1, 999_999_999, 1_000_000_000, 7_123_456_789].map(Instant::from_nanos) {
                for ticks in [0, 1, 33, 8_448, 33_300_000, 123_456_789] {
                    let slow = Ticks::new(time_base.read(now).get() + ticks);
                    let end = time_base.after(now, Ticks::new(ticks));
                    assert_eq!(end, time_base.instant_of(slow), "{hz} Hz, {now} + {ticks}");
                }
            }
        }
    }

    #[test]
    fn a_fast_counter_is_as_exact_as_a_slow_one() {
        let time_base = TimeBase::new(Hertz::from_hz(60_000_000_000));
        let late = Instant::from_nanos(123_456_789_999_999_999);
        let ticks = time_base.read(late);
        assert_eq!(ticks.get(), 60 * 123_456_789_999_999_999);
        assert_eq!(time_base.instant_of(ticks), late);
    }

    #[test]
    fn a_deadline_that_is_over_costs_nothing() {
        let mut clock = Clock::new();
        clock.advance(Duration::from_micros(5));
        clock.advance_to(Instant::from_nanos(10));
        assert_eq!(clock.now().as_nanos(), 5_000);
    }
}
