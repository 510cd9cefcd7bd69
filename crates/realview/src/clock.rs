//! Conversion between the core's cycles and the ticks of the board's other clocks.
//!
//! Layer: rank 4, bottom of this crate. Main type: [`CoreClock`]. All clocks start with the core's
//! first cycle and run exactly at their rates. The number of elapsed ticks is rounded down, and the
//! cycle of a tick is rounded up. So the two directions agree, and nothing drifts. Left out:
//! tolerance and phase of oscillators.

use boardlab_arm926::Cycles;
use boardlab_sim::{Hertz, Instant};
use serde::{Deserialize, Serialize};

/// The clock that counts [`Cycles`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct CoreClock {
    hertz: u64,
}

impl From<CoreClock> for u64 {
    fn from(clock: CoreClock) -> Self {
        clock.hertz
    }
}

impl TryFrom<u64> for CoreClock {
    type Error = &'static str;

    /// A clock from a snapshot.
    fn try_from(hertz: u64) -> Result<Self, &'static str> {
        if hertz == 0 { Err("a core clock of 0 Hz") } else { Ok(Self { hertz }) }
    }
}

impl CoreClock {
    /// A core clock of `rate`, which is not zero.
    #[must_use]
    pub const fn new(rate: Hertz) -> Self {
        Self { hertz: rate.get() }
    }

    /// The rate of the core's clock.
    #[must_use]
    pub const fn rate(self) -> Hertz {
        Hertz::from_hz(self.hertz)
    }

    /// The number of ticks of a clock of `rate` up to `now`.
    #[must_use]
    pub fn ticks(self, rate: Hertz, now: Cycles) -> u64 {
        scale(now.0, rate.get(), self.hertz, Round::Down)
    }

    /// The first cycle at which a clock of `rate` has made `ticks` ticks.
    #[must_use]
    pub fn cycle_of(self, rate: Hertz, ticks: u64) -> Cycles {
        Cycles(scale(ticks, self.hertz, rate.get(), Round::Up))
    }

    /// The instant of virtual time at `now`, rounded down to a nanosecond.
    #[must_use]
    pub fn instant(self, now: Cycles) -> Instant {
        Instant::from_nanos(scale(now.0, NANOSECONDS, self.hertz, Round::Down))
    }

    /// The first cycle at or after `instant`.
    #[must_use]
    pub fn cycle_at(self, instant: Instant) -> Cycles {
        Cycles(scale(instant.as_nanos(), self.hertz, NANOSECONDS, Round::Up))
    }
}

const NANOSECONDS: u64 = 1_000_000_000;

#[derive(Clone, Copy)]
enum Round {
    Down,
    Up,
}

/// `value` times `numerator` / `denominator`, saturated to 64 bits.
fn scale(value: u64, numerator: u64, denominator: u64, round: Round) -> u64 {
    // A division of 64 bits takes a fraction of the time of one of 128.
    if let Some(product) = value.checked_mul(numerator) {
        return match round {
            Round::Down => product / denominator,
            Round::Up => product.div_ceil(denominator),
        };
    }
    let product = u128::from(value) * u128::from(numerator);
    let denominator = u128::from(denominator);
    let result = match round {
        Round::Down => product / denominator,
        Round::Up => product.div_ceil(denominator),
    };
    u64::try_from(result).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_has_passed_at_its_cycle_and_not_one_before() {
        for core in [200_000_000, 199_999_999, 33_333_333, 7, 1] {
            let clock = CoreClock::new(Hertz::from_hz(core));
            for rate in [1, 100, 1_000_000, 24_000_000, core] {
                let rate = Hertz::from_hz(rate);
                for tick in [1, 2, 3, 99, 1_000_003] {
                    let at = clock.cycle_of(rate, tick);
                    assert!(clock.ticks(rate, at) >= tick, "{core} {rate:?} {tick}");
                    assert!(clock.ticks(rate, Cycles(at.0 - 1)) < tick, "{core} {rate:?} {tick}");
                }
            }
        }
    }

    #[test]
    fn products_within_and_beyond_64_bits_are_divided_alike() {
        let exact = |value: u64, numerator: u64, denominator: u64| {
            let product = u128::from(value) * u128::from(numerator);
            (product / u128::from(denominator), product.div_ceil(u128::from(denominator)))
        };
        for numerator in [1, 1_000_000, 24_000_000, NANOSECONDS] {
            let limit = u64::MAX / numerator;
            for value in [0, 1, limit - 1, limit, limit.saturating_add(1), limit.saturating_add(7)]
            {
                for denominator in [7, 33_333_333, 200_000_000] {
                    let (down, up) = exact(value, numerator, denominator);
                    let by = |round| u128::from(scale(value, numerator, denominator, round));
                    assert_eq!((by(Round::Down), by(Round::Up)), (down, up));
                }
            }
        }
    }

    #[test]
    fn what_is_beyond_64_bits_is_never() {
        let clock = CoreClock::new(Hertz::from_hz(200_000_000));
        assert_eq!(clock.cycle_of(Hertz::from_hz(1), u64::MAX), Cycles::NEVER);
        assert_eq!(clock.cycle_at(Instant::from_nanos(1)), Cycles(1));
        assert_eq!(clock.instant(Cycles(3)), Instant::from_nanos(15));
        assert!(CoreClock::try_from(0).is_err(), "a snapshot may say anything");
    }
}
