//! One direction of the wire: a delay line of dwords.
//!
//! Layer: time only. Main type: [`Lane`]. A dword sent at tick t arrives at t + latency.

use crate::wire::{Dword, Primitive, Tick};

/// The delay line.
#[derive(Debug, Clone)]
pub(super) struct Lane {
    /// A ring whose length is a power of two above the sum of the latency and the longest burst.
    ring: Vec<Dword>,
    latency: u64,
}

impl Lane {
    /// The longest burst: ticks that may be written before their arriving dwords are read.
    pub(super) const BURST: u64 = 256;

    pub(super) fn new(latency: u32) -> Self {
        let room =
            usize::try_from(u64::from(latency) + Self::BURST + 1).expect("dwords fit memory");
        let ring = vec![Dword::Primitive(Primitive::Sync); room.next_power_of_two()];
        Self { ring, latency: latency.into() }
    }

    /// Resets the lane to the state in which the link comes up: SYNC arrives.
    pub(super) fn clear(&mut self) {
        self.ring.fill(Dword::Primitive(Primitive::Sync));
    }

    /// Skipping a multiple of this number of ticks leaves the dwords in flight where they are.
    pub(super) fn period(&self) -> u64 {
        self.ring.len() as u64
    }

    pub(super) const fn latency(&self) -> u64 {
        self.latency
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the ring is a power of two below 2^33")]
    fn slot(&self, tick: u64) -> usize {
        tick as usize & (self.ring.len() - 1)
    }

    #[inline]
    pub(super) fn send(&mut self, now: Tick, dword: Dword) {
        let slot = self.slot(now.0);
        self.ring[slot] = dword;
    }

    /// The dword that arrives at `now`. With a latency of zero, that of `now` must be sent before.
    #[inline]
    pub(super) fn arriving(&self, now: Tick) -> Dword {
        self.ring[self.slot(now.0.wrapping_sub(self.latency))]
    }

    /// Sends data dwords in the ticks from `now` on.
    pub(super) fn send_all(&mut self, now: Tick, words: &[u32]) {
        let start = self.slot(now.0);
        let near = words.len().min(self.ring.len() - start);
        let (ends, starts) = words.split_at(near);
        for (slot, &word) in self.ring[start..].iter_mut().zip(ends) {
            *slot = Dword::Data(word);
        }
        for (slot, &word) in self.ring.iter_mut().zip(starts) {
            *slot = Dword::Data(word);
        }
    }

    /// Sends `dword` in each of `count` ticks from `now` on.
    pub(super) fn send_repeated(&mut self, now: Tick, count: usize, dword: Dword) {
        let start = self.slot(now.0);
        let near = count.min(self.ring.len() - start);
        self.ring[start..start + near].fill(dword);
        self.ring[..count - near].fill(dword);
    }

    /// The data dwords that arrive in `count` ticks from `now` on.
    pub(super) fn arriving_data(&self, now: Tick, count: usize) -> impl Iterator<Item = u32> {
        let start = self.slot(now.0.wrapping_sub(self.latency));
        let near = count.min(self.ring.len() - start);
        let symbols = self.ring[start..start + near].iter().chain(&self.ring[..count - near]);
        symbols.filter_map(|dword| match dword {
            Dword::Data(word) => Some(*word),
            Dword::Primitive(_) | Dword::Invalid => None,
        })
    }
}
