//! ALIGN pacing: which ticks of a link carry ALIGN, and when a number of dwords has been sent.
//!
//! Layer: facts and arithmetic. Both ends send a pair of ALIGN primitives at the ticks 254 and 255 of
//! every 256, whatever their state, so 254 of 256 ticks remain for dwords of the link layer. These
//! ticks are called slots, numbered from zero.
//!
//! Source: Serial ATA Revision 3, 9.4: a pair at least in every 256 dwords. That both ends send no
//! more, and in phase, are choices of this model.

use crate::wire::Tick;

/// Ticks from one pair of ALIGNs to the next.
pub const PERIOD: u64 = 256;
/// Slots among these ticks.
pub const SLOTS: u64 = 254;

/// Whether `tick` carries ALIGN.
#[must_use]
#[inline]
pub const fn is_align(tick: Tick) -> bool {
    tick.0 % PERIOD >= SLOTS
}

/// The slots before `tick`.
#[must_use]
#[inline]
pub const fn slots_before(tick: Tick) -> u64 {
    let within = tick.0 % PERIOD;
    tick.0 / PERIOD * SLOTS + if within < SLOTS { within } else { SLOTS }
}

/// The tick of slot number `slot`; [`Tick::NEVER`] if it exceeds the largest tick.
#[must_use]
#[inline]
pub const fn tick_of(slot: u64) -> Tick {
    Tick((slot / SLOTS).saturating_mul(PERIOD).saturating_add(slot % SLOTS))
}

/// The tick of a dword that is sent after `dwords` others, the first of which may be sent at `tick`.
///
/// With no others, this is `tick` itself, or the first tick after a pair of ALIGNs. `NEVER` stays
/// `NEVER`.
#[must_use]
#[inline]
pub const fn advance(tick: Tick, dwords: u64) -> Tick {
    if tick.0 == Tick::NEVER.0 {
        return tick;
    }
    tick_of(slots_before(tick).saturating_add(dwords))
}

/// The first tick from `tick` on that does not carry ALIGN: `advance(tick, 0)`, without a division.
#[must_use]
#[inline]
pub const fn settle(tick: Tick) -> Tick {
    if is_align(tick) { Tick(tick.0 | (PERIOD - 1)).after(1) } else { tick }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_ticks_of_each_256_carry_align() {
        let aligns: Vec<u64> = (0..600).filter(|&tick| is_align(Tick(tick))).collect();
        assert_eq!(aligns, [254, 255, 510, 511]);
        let share = (0..256 * 1_000).filter(|&tick| is_align(Tick(tick))).count();
        assert_eq!(share, 2 * 1_000);
    }

    #[test]
    fn slots_are_counted_as_by_hand() {
        let mut slots = 0;
        for tick in (0..2_000).map(Tick) {
            assert_eq!(slots_before(tick), slots, "before tick {tick}");
            if !is_align(tick) {
                assert_eq!(tick_of(slots), tick);
                slots += 1;
            }
        }
    }

    #[test]
    fn dwords_go_in_the_ticks_that_are_left() {
        for begin in 0..600 {
            assert_eq!(settle(Tick(begin)), advance(Tick(begin), 0));
            let mut free = (begin..).map(Tick).filter(|&tick| !is_align(tick));
            for dwords in 0..700 {
                assert_eq!(
                    Some(advance(Tick(begin), dwords)),
                    free.next(),
                    "{dwords} from {begin}"
                );
            }
        }
    }

    #[test]
    fn the_end_of_time_is_not_passed() {
        assert_eq!(advance(Tick::NEVER, 1), Tick::NEVER);
        assert_eq!(advance(Tick(u64::MAX - 5), u64::MAX), Tick::NEVER);
        assert_eq!(tick_of(u64::MAX), Tick::NEVER);
    }
}
