//! The division of a link's time by use.
//!
//! Layer: accounting for the engines. Main type: [`Shares`]. Every tick of a run belongs to one of six
//! kinds, so the kinds sum to the elapsed time:
//!
//! ```text
//!   idle  X_RDY R_RDY  SOF hdr payload.. HOLD.. payload.. CRC EOF  (FIFO) R_OK SYNC  idle
//!   |over-|turnaround-|framing|payload--|hold--|payload--|framing-|hold--|turnaround|overhead
//! ```
//!
//! A FIS without payload counts as turnaround as a whole, since it transfers no data. ALIGNs are
//! counted separately unless the link is idle. The time in which the receiver drains its FIFO after EOF
//! also counts as HOLD: the receiver is behind.

use crate::wire::{Tick, align};
use std::ops::{Add, AddAssign, Sub};

/// Ticks by use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Shares {
    /// Payload dwords of Data FISes.
    pub payload: u64,
    /// SOF, header, CRC and EOF of Data FISes.
    pub framing: u64,
    /// ALIGNs, unless the link is idle.
    pub align: u64,
    /// The handshakes of all frames, and FISes without payload as a whole.
    pub turnaround: u64,
    /// Stalls of Data FISes: the sender or the receiver waits, or the receiver drains its FIFO after
    /// EOF.
    pub hold: u64,
    /// Time in which the link is idle or down: neither end has anything to send. An aborted frame
    /// counts here from its beginning on.
    pub overhead: u64,
}

impl Shares {
    /// Returns the sum of all kinds.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.payload + self.framing + self.align + self.turnaround + self.hold + self.overhead
    }

    /// Returns each kind with its name, in the order of the fields.
    #[must_use]
    pub const fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("payload", self.payload),
            ("framing", self.framing),
            ("ALIGN", self.align),
            ("turnaround", self.turnaround),
            ("HOLD", self.hold),
            ("overhead", self.overhead),
        ]
    }
}

impl Add for Shares {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self {
            payload: self.payload + other.payload,
            framing: self.framing + other.framing,
            align: self.align + other.align,
            turnaround: self.turnaround + other.turnaround,
            hold: self.hold + other.hold,
            overhead: self.overhead + other.overhead,
        }
    }
}

impl AddAssign for Shares {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Shares {
    type Output = Self;
    /// Returns the shares of an interval: `self` at its end, `earlier` at its beginning.
    fn sub(self, earlier: Self) -> Self {
        Self {
            payload: self.payload - earlier.payload,
            framing: self.framing - earlier.framing,
            align: self.align - earlier.align,
            turnaround: self.turnaround - earlier.turnaround,
            hold: self.hold - earlier.hold,
            overhead: self.overhead - earlier.overhead,
        }
    }
}

/// Shares that accumulate over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Ledger {
    shares: Shares,
    /// Every tick before this one is accounted for.
    booked: Tick,
}

impl Ledger {
    /// Returns the shares at `now`. The time since the last frame counts as idle.
    pub(crate) const fn at(&self, now: Tick) -> Shares {
        let mut shares = self.shares;
        shares.overhead += now.since(self.booked);
        shares
    }

    /// Accounts for the time up to `until`, in which the link is idle or down.
    #[inline]
    pub(crate) const fn idle(&mut self, until: Tick) {
        self.shares.overhead += until.since(self.booked);
        if until.0 > self.booked.0 {
            self.booked = until;
        }
    }

    /// Accounts for the ALIGNs up to `until`. Returns the number of other slots, which the caller
    /// accounts for.
    #[inline]
    const fn busy(&mut self, until: Tick) -> u64 {
        let slots = align::slots_before(until) - align::slots_before(self.booked);
        self.shares.align += until.since(self.booked) - slots;
        self.booked = until;
        slots
    }

    /// Accounts for a frame without payload, or a handshake, up to `until`.
    #[inline]
    pub(crate) const fn turn(&mut self, until: Tick) {
        self.shares.turnaround += self.busy(until);
    }

    /// Accounts for a Data FIS of `payload` dwords and its handshakes up to `until`, of which `stalled`
    /// slots were stalls.
    #[inline]
    pub(crate) const fn data(&mut self, until: Tick, payload: u32, stalled: u64) {
        let (slots, payload) = (self.busy(until), payload as u64);
        self.shares.payload += payload;
        self.shares.framing += FRAMING;
        self.shares.hold += stalled;
        self.shares.turnaround += slots - payload - FRAMING - stalled;
    }
}

/// SOF, header, CRC, EOF.
const FRAMING: u64 = crate::arithmetic::DATA_FRAMING;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tick_is_booked_once() {
        let mut ledger = Ledger::default();
        ledger.idle(Tick(100));
        ledger.turn(Tick(300));
        ledger.data(Tick(3_000), 2_048, 500);
        let shares = ledger.at(Tick(3_100));
        assert_eq!(shares.overhead, 200);
        // 254, 255; then 510, 511 and so on up to 2814, 2815.
        assert_eq!(shares.align, 2 + 20);
        assert_eq!(shares.turnaround, 198 + 2_700 - 20 - 2_052 - 500);
        assert_eq!((shares.payload, shares.framing, shares.hold), (2_048, 4, 500));
        assert_eq!(shares.total(), 3_100);
        assert_eq!((shares + shares) - shares, shares);
        assert_eq!(shares.named().map(|(_, ticks)| ticks).iter().sum::<u64>(), 3_100);
    }
}
