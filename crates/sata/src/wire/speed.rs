//! Link speeds, and the time of a link: the time of a dword is the tick of both engines.
//!
//! Layer: facts and arithmetic. Main types: [`Speed`], [`Tick`]. A dword is 40 line bits after 8b/10b
//! coding, so the dword clock is a fortieth of the line rate. Ticks count dwords since the link came
//! up, ALIGNs included. Virtual time follows from ticks by one rounding.
//!
//! Source: Serial ATA Revision 3, 7.2.

use boardlab_sim::{Duration, Hertz, Instant};
use std::fmt;

/// A line rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Speed {
    /// 1.5 Gb/s.
    Gen1,
    /// 3 Gb/s.
    Gen2,
    /// 6 Gb/s.
    Gen3,
}

impl Speed {
    /// All speeds, the slowest first.
    pub const ALL: [Self; 3] = [Self::Gen1, Self::Gen2, Self::Gen3];

    /// Dwords per second.
    #[must_use]
    pub const fn dword_clock(self) -> Hertz {
        match self {
            Self::Gen1 => Hertz::from_hz(37_500_000),
            Self::Gen2 => Hertz::from_hz(75_000_000),
            Self::Gen3 => Hertz::from_hz(150_000_000),
        }
    }

    /// A number of ticks and the nanoseconds that they take: 3 in 80 at 1.5 Gb/s.
    const fn ticks_in_nanos(self) -> (u64, u64) {
        match self {
            Self::Gen1 => (3, 80),
            Self::Gen2 => (3, 40),
            Self::Gen3 => (3, 20),
        }
    }

    /// The instant at which tick `tick` begins, rounded down to nanoseconds.
    ///
    /// # Panics
    /// If `tick` is [`Tick::NEVER`].
    #[must_use]
    #[inline]
    pub fn instant(self, tick: Tick) -> Instant {
        assert!(tick != Tick::NEVER, "Speed::instant: never");
        Instant::ZERO + self.time_of(tick.0)
    }

    /// The time of `count` dwords, rounded down to nanoseconds.
    #[must_use]
    #[inline]
    pub fn time_of(self, count: u64) -> Duration {
        let (ticks, nanos) = self.ticks_in_nanos();
        Duration::from_nanos(match count.checked_mul(nanos) {
            Some(product) => product / ticks,
            None => narrow(u128::from(count) * u128::from(nanos) / u128::from(ticks)),
        })
    }

    /// The first tick that begins at `at` or later.
    #[must_use]
    #[inline]
    pub fn tick_from(self, at: Instant) -> Tick {
        let (ticks, nanos) = self.ticks_in_nanos();
        Tick(match at.as_nanos().checked_mul(ticks) {
            Some(product) => product.div_ceil(nanos),
            None => narrow((u128::from(at.as_nanos()) * u128::from(ticks)).div_ceil(nanos.into())),
        })
    }

    /// The number of ticks that cover `span`, rounded up.
    #[must_use]
    #[inline]
    pub fn ticks_in(self, span: Duration) -> u64 {
        self.tick_from(Instant::ZERO + span).0
    }
}

impl fmt::Display for Speed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Gen1 => "1.5 Gb/s",
            Self::Gen2 => "3 Gb/s",
            Self::Gen3 => "6 Gb/s",
        })
    }
}

/// Narrows `value`; the largest `u64` stands for the end of time.
fn narrow(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// A point in time on a link, in dwords since it came up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tick(pub u64);

impl Tick {
    /// The first tick.
    pub const ZERO: Self = Self(0);
    /// Later than all other ticks: what does not happen by itself.
    pub const NEVER: Self = Self(u64::MAX);

    /// The tick `count` dwords later. `NEVER` stays `NEVER`.
    #[must_use]
    #[inline]
    pub const fn after(self, count: u64) -> Self {
        Self(self.0.saturating_add(count))
    }

    /// The dwords since `earlier`; zero if that is later.
    #[must_use]
    #[inline]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Tick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NEVER => f.pad("never"),
            Self(tick) => tick.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_dwords_take_forty_nanoseconds_at_three_gigabits() {
        assert_eq!(Speed::Gen2.instant(Tick(3)), Instant::from_nanos(40));
        assert_eq!(Speed::Gen1.time_of(3), Duration::from_nanos(80));
        assert_eq!(Speed::Gen3.time_of(3), Duration::from_nanos(20));
    }

    #[test]
    fn ticks_and_instants_hold_to_the_end_of_time() {
        for speed in Speed::ALL {
            let second = speed.dword_clock().get();
            assert_eq!(speed.time_of(second), Duration::from_secs(1));
            for at in [u64::MAX, u64::MAX / 3, u64::MAX / 3 + 1, u64::MAX / 81] {
                let ticks = (u128::from(at) * u128::from(second)).div_ceil(1_000_000_000);
                assert_eq!(u128::from(speed.tick_from(Instant::from_nanos(at)).0), ticks);
                let nanos = u128::from(at) * 1_000_000_000 / u128::from(second);
                let nanos = u64::try_from(nanos).unwrap_or(u64::MAX);
                assert_eq!(speed.time_of(at).as_nanos(), nanos);
            }
        }
    }

    #[test]
    fn a_tick_begins_no_earlier_than_its_instant() {
        for speed in Speed::ALL {
            for nanos in 0..500 {
                let tick = speed.tick_from(Instant::from_nanos(nanos));
                // What began at the floor of the tick's own nanosecond is at most one below.
                assert!(speed.instant(tick).as_nanos() >= nanos, "{speed} {nanos}");
                if tick.0 > 0 {
                    assert!(speed.instant(Tick(tick.0 - 1)).as_nanos() < nanos, "{speed} {nanos}");
                }
            }
        }
    }
}
