//! The timing of the bus, the store buffer (16 words, 4 addresses) and the write-back buffer (one
//! line).
//!
//! Layer: rank 3. [`WriteBuffer`] knows when the bus is free and which transfers are pending. Buffered
//! data reach the board at once; only their bus time is deferred. Pending transfers are in order; the
//! core's own overtake those not begun. A read of a pending address drains both buffers first. Source:
//! ARM DDI 0198D, 4.2 (sizes, no forwarding to reads); that other reads overtake is assumed.

mod queue;

use std::num::NonZeroU8;

use serde::{Deserialize, Serialize};

use crate::address::{Cycles, Physical};
use crate::bus::{Waits, Width};
use queue::Queue;

/// The capacity of the store buffer in words.
const WORDS: u32 = 16;

/// The capacity of the store buffer in addresses; a burst of consecutive words takes one.
const ADDRESSES: usize = 4;

/// The boundary that AHB bursts do not cross: 1 KB.
const BURST_LIMIT: u32 = 1 << 10;

/// A transfer that is pending or on the bus.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct PendingTransfer {
    /// The first byte.
    at: u32,
    /// The number of bytes.
    length: u32,
    /// The number of words in the store buffer; 0 in the write-back buffer.
    words: u32,
    /// Whether further words may join the burst.
    open: bool,
    /// The time of its arrival.
    since: u64,
    /// Its duration on the bus.
    cycles: u64,
    /// Whether it is on the bus.
    begun: bool,
}

/// The bus and its pending transfers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WriteBuffer {
    /// Core cycles per bus cycle.
    ratio: u64,
    /// The time at which the bus is free.
    free_at: u64,
    pending: Queue,
}

impl WriteBuffer {
    /// Creates empty buffers, on a bus with `ratio` core cycles per bus cycle.
    pub(crate) fn new(ratio: NonZeroU8) -> Self {
        Self { ratio: u64::from(ratio.get()), free_at: 0, pending: Queue::default() }
    }

    /// Whether the state is possible: snapshots are untrusted input.
    pub(crate) fn is_sound(&self, ratio: NonZeroU8) -> bool {
        self.ratio == u64::from(ratio.get())
            && self.pending.iter().count() <= ADDRESSES + 1
            && self.pending.iter().all(|other| other.words <= WORDS && other.length <= 4 * WORDS)
    }

    /// The core cycles of a burst: a bus cycle for the address, one for each word, and the wait states.
    fn span(&self, words: u32, waits: Waits) -> u64 {
        let rest = u64::from(words.saturating_sub(1));
        (2 + u64::from(waits.first) + rest * (1 + u64::from(waits.next))) * self.ratio
    }

    /// Advances the bus to `now`.
    #[inline(always)]
    fn settle(&mut self, now: Cycles) {
        while let Some(head) = self.pending.front_mut() {
            if !head.begun {
                let start = self.free_at.max(head.since);
                if start >= now.0 {
                    return;
                }
                head.begun = true;
                self.free_at = start.saturating_add(head.cycles);
            }
            if self.free_at > now.0 {
                return;
            }
            self.pending.drop_front();
        }
    }

    /// Waits until both buffers are empty; returns the cycles waited.
    #[inline(never)]
    pub(crate) fn drain(&mut self, now: &mut Cycles) -> u64 {
        let before = now.0;
        while let Some(waiting) = self.pending.pop_front() {
            if !waiting.begun {
                self.free_at = self.free_at.max(waiting.since).saturating_add(waiting.cycles);
            }
            now.0 = now.0.max(self.free_at);
        }
        now.0 - before
    }

    /// Waits for the oldest transfer to end.
    #[inline(always)]
    fn wait_for_head(&mut self, now: &mut Cycles) {
        if let Some(&mut PendingTransfer { begun, since, cycles, .. }) = self.pending.front_mut() {
            if !begun {
                self.free_at = self.free_at.max(since).saturating_add(cycles);
            }
            now.0 = now.0.max(self.free_at);
            self.pending.drop_front();
        }
    }

    /// Drains the buffers before a read that overlaps a pending write; returns the cycles waited.
    pub(crate) fn before_read(&mut self, at: Physical, length: u32, now: &mut Cycles) -> u64 {
        self.settle(*now);
        let overlaps = |other: &PendingTransfer| {
            other.at < at.0.saturating_add(length) && at.0 < other.at.saturating_add(other.length)
        };
        if self.pending.iter().any(overlaps) { self.drain(now) } else { 0 }
    }

    /// The time at which the bus is free for a transfer of the core.
    pub(crate) fn free(&mut self, now: Cycles) -> Cycles {
        self.settle(now);
        Cycles(self.free_at.max(now.0))
    }

    /// Performs a transfer of the core, which waits for its first word; returns the cycles waited.
    pub(crate) fn transfer(
        &mut self,
        start: Cycles,
        words: u32,
        waits: Waits,
        now: &mut Cycles,
    ) -> u64 {
        self.free_at = start.0.saturating_add(self.span(words, waits));
        let until = start.plus(self.span(1, waits));
        let waited = until.0 - now.0;
        *now = until;
        waited
    }

    /// Buffers a store, after waiting for room; returns the cycles waited.
    #[inline(never)]
    pub(crate) fn store(
        &mut self,
        at: Physical,
        width: Width,
        waits: Waits,
        now: &mut Cycles,
    ) -> u64 {
        let before = now.0;
        self.settle(*now);
        while self.pending.words() >= WORDS {
            self.wait_for_head(now);
        }
        if self.append(at, width, waits) {
            return now.0 - before;
        }
        while self.pending.addresses() >= ADDRESSES {
            self.wait_for_head(now);
        }
        self.pending.push_back(PendingTransfer {
            at: at.0,
            length: width.bytes(),
            words: 1,
            open: width == Width::Word,
            since: now.0,
            cycles: self.span(1, waits),
            begun: false,
        });
        now.0 - before
    }

    /// Appends a word to the last burst if it is consecutive.
    #[inline(always)]
    fn append(&mut self, at: Physical, width: Width, waits: Waits) -> bool {
        let ratio = self.ratio;
        let Some(last) = self.pending.back() else { return false };
        let follows = last.open && !last.begun && width == Width::Word;
        if !follows || last.at.wrapping_add(last.length) != at.0 || at.0.is_multiple_of(BURST_LIMIT)
        {
            return false;
        }
        self.pending.extend_back((1 + u64::from(waits.next)) * ratio);
        true
    }

    /// Waits until the write-back buffer is empty; returns the cycles waited.
    pub(crate) fn before_write_back(&mut self, now: &mut Cycles) -> u64 {
        let before = now.0;
        self.settle(*now);
        while self.pending.iter().count() > self.pending.addresses() {
            self.wait_for_head(now);
        }
        now.0 - before
    }

    /// Buffers a write-back of a line or half-line; the write-back buffer must be empty.
    pub(crate) fn write_back(&mut self, at: Physical, length: u32, waits: Waits, now: Cycles) {
        let cycles = self.span(length / 4, waits);
        let since = now.0;
        self.pending.push_back(PendingTransfer {
            at: at.0,
            length,
            words: 0,
            open: false,
            since,
            cycles,
            begun: false,
        });
    }
}
