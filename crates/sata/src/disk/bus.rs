//! The link as a timeline of frames of several commands.
//!
//! Layer: below [`crate::disk::Disk`]. Main type: [`Bus`]. A frame occupies the link as long as in the
//! engines, with ALIGNs spread evenly (see [`crate::arithmetic`]): from X_RDY to the arrival of R_RDY,
//! its dwords, from WTRM to the arrival of R_OK, SYNC. Since a device sends what is ready first, a
//! frame that becomes ready later is placed behind the frames already reserved or in a gap between
//! them.

use crate::link::{Side, Wiring};
use crate::wire::{Speed, align};
use boardlab_sim::{Duration, Instant};
use std::collections::VecDeque;

/// The dwords of Register, DMA Setup, Set Device Bits and DMA Activate FISes.
pub(super) const REGISTER: u64 = 5;
pub(super) const DMA_SETUP: u64 = 7;
pub(super) const SET_DEVICE_BITS: u64 = 2;
pub(super) const DMA_ACTIVATE: u64 = 1;

/// The time that a frame occupies the link.
#[derive(Debug, Clone, Copy)]
struct Reservation {
    start: Instant,
    /// When the host and the device can begin another frame.
    free: [Instant; 2],
}

/// The times of a transmitted frame.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery {
    /// When the other end has received all of it and checked the CRC.
    pub(super) received: Instant,
    /// When the sender has received R_OK.
    pub(super) acknowledged: Instant,
}

/// The link.
#[derive(Debug, Clone)]
pub(super) struct Bus {
    speed: Speed,
    latency: [u64; 2],
    /// Ordered by start. Those that ended before every request still possible are removed.
    reservations: VecDeque<Reservation>,
}

const fn index(side: Side) -> usize {
    match side {
        Side::Host => 0,
        Side::Device => 1,
    }
}

impl Bus {
    pub(super) fn new(wiring: &Wiring) -> Self {
        let latency = [wiring.host.latency.into(), wiring.device.latency.into()];
        Self { speed: wiring.speed, latency, reservations: VecDeque::new() }
    }

    /// Returns the time of `dwords` including ALIGNs, to the nearest nanosecond.
    pub(super) fn span(&self, dwords: u64) -> Duration {
        // A dword at the lowest speed takes 80/3 ns. With this unit all products fit u64.
        let dwords_per_80_ns = match self.speed {
            Speed::Gen1 => 3,
            Speed::Gen2 => 6,
            Speed::Gen3 => 12,
        };
        let (numerator, denominator) =
            (dwords * align::PERIOD * 80, align::SLOTS * dwords_per_80_ns);
        Duration::from_nanos((numerator + denominator / 2) / denominator)
    }

    /// Removes reservations that end by `at`: no later request begins before.
    pub(super) fn prune(&mut self, at: Instant) {
        while self.reservations.front().is_some_and(|reserved| reserved.end() <= at) {
            self.reservations.pop_front();
        }
    }

    /// Sends a FIS of `dwords` without payload, ready at `ready`.
    pub(super) fn fis(&mut self, from: Side, ready: Instant, dwords: u64) -> Delivery {
        // Its first dword takes the place of the header of a Data FIS.
        self.frame(from, ready, dwords - 1, |first, bus| first + bus.span(dwords - 1))
    }

    /// Sends a Data FIS of `dwords` of payload, ready at `ready`. `flow` is given the instant at which
    /// the first payload dword can pass the end that determines the pace: the sender for data to the
    /// host, the receiver otherwise. It returns when all dwords have passed.
    pub(super) fn frame(
        &mut self,
        from: Side,
        ready: Instant,
        dwords: u64,
        flow: impl FnOnce(Instant, &Self) -> Instant,
    ) -> Delivery {
        let [sender, receiver] = match from {
            Side::Host => self.latency,
            Side::Device => [self.latency[1], self.latency[0]],
        };
        // X_RDY out, R_RDY back, SOF, header; after the payload CRC and EOF.
        let before = self.span(sender + receiver + 4);
        let start = self.first_gap(from, ready, before + self.span(dwords + 1 + sender));
        let travel = self.span(sender);
        let received = match from {
            Side::Device => flow(start + before, self) + travel,
            Side::Host => flow(start + before + travel, self),
        } + self.span(1);
        // R_OK back, SYNC out, SYNC back.
        let acknowledged = received + self.span(1 + receiver);
        let idle = acknowledged + self.span(1 + sender);
        let mut free = [idle + self.span(1); 2];
        free[index(from)] = idle + self.span(2 + receiver);
        self.reserve(Reservation { start, free });
        Delivery { received, acknowledged }
    }

    /// Returns the first instant from `ready` on at which a frame of at least `length` can begin.
    fn first_gap(&self, from: Side, ready: Instant, length: Duration) -> Instant {
        let passed = self.reservations.partition_point(|reserved| reserved.end() <= ready);
        let mut start = ready;
        for reserved in self.reservations.range(passed..) {
            if start + length <= reserved.start {
                break;
            }
            start = start.max(reserved.free[index(from)]);
        }
        start
    }

    /// Adds a reservation. Reservations with no room for a frame between them are merged, so that a
    /// stream of frames is found in one step.
    fn reserve(&mut self, mut new: Reservation) {
        let least = self.span(self.latency[0] + self.latency[1] + 4);
        let place = self.reservations.partition_point(|other| other.start <= new.start);
        if let Some(after) = self.reservations.get(place).copied()
            && after.start < new.end() + least
        {
            new.free = [0, 1].map(|end| new.free[end].max(after.free[end]));
            self.reservations.remove(place);
        }
        match place.checked_sub(1).and_then(|before| self.reservations.get_mut(before)) {
            Some(before) if new.start < before.end() + least => {
                before.free = [0, 1].map(|end| new.free[end].max(before.free[end]));
            }
            _ => self.reservations.insert(place, new),
        }
    }
}

impl Reservation {
    fn end(&self) -> Instant {
        self.free[0].max(self.free[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::End;

    fn bus(speed: Speed) -> Bus {
        let end = |latency| End {
            latency,
            holda_after: 1,
            fifo: 64,
            hold_from: 32,
            hold_to: 16,
            cont: false,
        };
        Bus::new(&Wiring { speed, host: end(3), device: end(5) })
    }

    fn at(nanos: u64) -> Instant {
        Instant::from_nanos(nanos)
    }

    #[test]
    fn a_span_of_dwords_includes_its_aligns() {
        for speed in Speed::ALL {
            for dwords in [0, 127, 254, 25_400, 254_000_000] {
                let exact = speed.time_of(dwords * 256 / 254).as_nanos();
                let span = bus(speed).span(dwords).as_nanos();
                assert!(span >= exact && span <= exact + 60, "{speed} {dwords}: {span} {exact}");
            }
        }
        assert_eq!(bus(Speed::Gen2).span(254 * 3), Duration::from_nanos(256 * 40));
    }

    #[test]
    fn a_frame_takes_its_three_round_trips() {
        let mut bus = bus(Speed::Gen2);
        let near = |one: Instant, other: Instant| {
            // Each part is rounded by itself.
            assert!(one.as_nanos().abs_diff(other.as_nanos()) <= 4, "{one} {other}");
        };
        // Latencies of 3, 5 and 3 dwords; X_RDY, R_RDY, SOF and CRC; five of the FIS; then EOF has
        // arrived.
        let asked = bus.fis(Side::Host, at(1_000), REGISTER).received;
        near(asked, at(1_000) + bus.span(3 + 5 + 3 + 4 + 5));
        // After R_OK, SYNC and SYNC the device may begin.
        let answered = bus.fis(Side::Device, asked, REGISTER).received;
        near(answered, asked + bus.span(1 + 5 + 1 + 3 + 1) + bus.span(5 + 3 + 5 + 4 + 5));
    }

    #[test]
    fn a_short_frame_goes_into_a_gap_and_a_long_one_behind() {
        let mut bus = bus(Speed::Gen2);
        let first = bus.fis(Side::Device, at(0), 1);
        let far = bus.fis(Side::Device, at(50_000), 1);
        let short = bus.fis(Side::Device, first.acknowledged, 7);
        assert!(short.acknowledged < at(50_000));
        let long = bus
            .frame(Side::Device, first.acknowledged, 4_000, |start, bus| start + bus.span(4_000));
        assert!(long.received > far.acknowledged + bus.span(4_000));
        bus.prune(Instant::MAX);
        assert_eq!(bus.reservations.len(), 0);
    }

    #[test]
    fn frames_without_a_gap_between_them_are_merged() {
        let mut bus = bus(Speed::Gen3);
        let mut now = at(0);
        for _ in 0..1_000 {
            now = bus
                .frame(Side::Device, now, 2_048, |start, bus| start + bus.span(2_048))
                .acknowledged;
        }
        assert_eq!(bus.reservations.len(), 1);
    }
}
