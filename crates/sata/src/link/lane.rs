//! One direction of the wire: a delay of so many dwords.
//!
//! Layer: time only. Main types: [`Symbol`], [`Lane`]. What is sent at tick t arrives at t + latency.

use crate::wire::{Primitive, Tick};

/// What a receiver's decoder makes of a dword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Symbol {
    /// A data dword, scrambled; or filler after CONT.
    Data(u32),
    /// A primitive.
    Primitive(Primitive),
    /// Neither: a decoding error.
    Invalid,
}

/// The delay line.
#[derive(Debug, Clone)]
pub(super) struct Lane {
    /// A power of two of them, more than the latency and a run of the fast path together.
    ring: Vec<Symbol>,
    latency: u64,
}

impl Lane {
    /// Ticks that may be written before those of them that have arrived are read.
    pub(super) const RUN: u64 = 256;

    pub(super) fn new(latency: u32) -> Self {
        let room = usize::try_from(u64::from(latency) + Self::RUN + 1).expect("dwords fit memory");
        let ring = vec![Symbol::Primitive(Primitive::Sync); room.next_power_of_two()];
        Self { ring, latency: latency.into() }
    }

    /// As it is when the link comes up: SYNC arrives.
    pub(super) fn clear(&mut self) {
        self.ring.fill(Symbol::Primitive(Primitive::Sync));
    }

    /// Time may leap by multiples of this without moving what is on its way.
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
    pub(super) fn send(&mut self, now: Tick, symbol: Symbol) {
        let slot = self.slot(now.0);
        self.ring[slot] = symbol;
    }

    /// What arrives at `now`; what was sent then may have to be sent first.
    #[inline]
    pub(super) fn arriving(&self, now: Tick) -> Symbol {
        self.ring[self.slot(now.0.wrapping_sub(self.latency))]
    }

    /// Sends data dwords in the ticks from `now` on.
    pub(super) fn send_all(&mut self, now: Tick, words: &[u32]) {
        let start = self.slot(now.0);
        let near = words.len().min(self.ring.len() - start);
        let (ends, starts) = words.split_at(near);
        for (slot, &word) in self.ring[start..].iter_mut().zip(ends) {
            *slot = Symbol::Data(word);
        }
        for (slot, &word) in self.ring.iter_mut().zip(starts) {
            *slot = Symbol::Data(word);
        }
    }

    /// Sends `symbol` in each of `count` ticks from `now` on.
    pub(super) fn send_same(&mut self, now: Tick, count: usize, symbol: Symbol) {
        let start = self.slot(now.0);
        let near = count.min(self.ring.len() - start);
        self.ring[start..start + near].fill(symbol);
        self.ring[..count - near].fill(symbol);
    }

    /// The data dwords that arrive in `count` ticks from `now` on.
    pub(super) fn arriving_data(&self, now: Tick, count: usize) -> impl Iterator<Item = u32> {
        let start = self.slot(now.0.wrapping_sub(self.latency));
        let near = count.min(self.ring.len() - start);
        let symbols = self.ring[start..start + near].iter().chain(&self.ring[..count - near]);
        symbols.filter_map(|symbol| match symbol {
            Symbol::Data(word) => Some(*word),
            Symbol::Primitive(_) | Symbol::Invalid => None,
        })
    }
}
