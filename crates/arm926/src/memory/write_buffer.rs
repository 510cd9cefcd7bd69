//! The timing of the bus, the store buffer (16 words, 4 addresses) and the write-back buffer (one
//! line).
//!
//! Layer: rank 3. [`WriteBuffer`] knows when each pending transfer begins and ends on the bus. Buffered
//! data reach the board at once; only their bus time is deferred. Pending transfers are in order; the
//! core's own overtake those not begun. A read of a pending address drains both buffers first. Source:
//! ARM DDI 0198D, 4.2 (sizes, no forwarding to reads); that other reads overtake is assumed.

mod queue;
#[cfg(test)]
mod tests;

use std::num::NonZeroU8;

use serde::{Deserialize, Serialize};

use crate::address::{Cycles, Physical};
use crate::bus::{Waits, Width};
use queue::Queue;

/// The capacity of the store buffer in words.
const WORDS: u32 = 16;

/// The capacity of the store buffer in addresses; a burst of consecutive words takes one.
const ADDRESSES: u32 = 4;

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
    /// The time after which it is on the bus, unless a transfer of the core overtakes it.
    begin: u64,
    /// The time at which it ends, unless it is overtaken or a word joins it.
    end: u64,
}

/// The bus and its pending transfers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WriteBuffer {
    /// Core cycles per bus cycle.
    ratio: u64,
    /// The end of the last transfer, pending or of the core.
    end: u64,
    pending: Queue,
}

impl WriteBuffer {
    /// Creates empty buffers, on a bus with `ratio` core cycles per bus cycle.
    pub(crate) fn new(ratio: NonZeroU8) -> Self {
        Self { ratio: u64::from(ratio.get()), end: 0, pending: Queue::default() }
    }

    /// Whether the state is possible: snapshots are untrusted input.
    pub(crate) fn is_sound(&self, ratio: NonZeroU8) -> bool {
        let mut free_at = 0;
        self.ratio == u64::from(ratio.get())
            && self.pending.addresses() <= ADDRESSES
            && self.pending.iter().filter(|other| other.words == 0).count() <= 1
            && self.pending.iter().all(|other| {
                let in_order = free_at <= other.begin && other.begin <= other.end;
                free_at = other.end;
                let is_of_a_buffer = other.words > 0 || !other.open;
                in_order && is_of_a_buffer && other.words <= WORDS && other.length <= 4 * WORDS
            })
            && free_at <= self.end
            && i64::try_from(self.end).is_ok()
    }

    /// The core cycles of a burst: a bus cycle for the address, one for each word, and the wait states.
    fn span(&self, words: u32, waits: Waits) -> u64 {
        let rest = u64::from(words.saturating_sub(1));
        (2 + u64::from(waits.first) + rest * (1 + u64::from(waits.next))) * self.ratio
    }

    /// Removes the transfers that ended by `now`.
    #[inline(always)]
    fn settle(&mut self, now: Cycles) {
        while self.pending.front().is_some_and(|head| head.end <= now.0) {
            self.pending.drop_front();
        }
    }

    /// Waits until both buffers are empty; returns the cycles waited.
    #[inline(never)]
    pub(crate) fn drain(&mut self, now: &mut Cycles) -> u64 {
        let before = now.0;
        while self.pending.front().is_some() {
            self.wait_for_head(now);
        }
        now.0 - before
    }

    /// Waits for the oldest transfer to end.
    #[inline(always)]
    fn wait_for_head(&mut self, now: &mut Cycles) {
        if let Some(head) = self.pending.front() {
            now.0 = now.0.max(head.end);
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
        Cycles(match self.pending.front() {
            None => self.end.max(now.0),
            Some(head) if head.begin < now.0 => head.end,
            Some(head) => head.begin,
        })
    }

    /// Performs a transfer of the core, which waits for its first word; returns the cycles waited. `start`
    /// is the result of [`WriteBuffer::free`] at `now`.
    pub(crate) fn transfer(
        &mut self,
        start: Cycles,
        words: u32,
        waits: Waits,
        now: &mut Cycles,
    ) -> u64 {
        let end = start.0.saturating_add(self.span(words, waits));
        self.end = self.pending.overtake(now.0, end);
        let until = start.plus(self.span(1, waits));
        let waited = until.0 - now.0;
        *now = until;
        waited
    }

    /// Buffers a store, after waiting for room; returns the cycles waited.
    #[inline(always)]
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
        if self.append(at, width, waits, *now) {
            return now.0 - before;
        }
        while self.pending.addresses() >= ADDRESSES {
            self.wait_for_head(now);
        }
        self.push(at, width.bytes(), (1, width == Width::Word), self.span(1, waits), *now);
        now.0 - before
    }

    /// Buffers words in a row within a cache line, at least one, like one [`WriteBuffer::store`] each; returns
    /// the cycles waited.
    #[inline(never)]
    pub(crate) fn store_words(
        &mut self,
        at: Physical,
        count: u32,
        waits: Waits,
        now: &mut Cycles,
    ) -> u64 {
        let waited = self.store(at, Width::Word, waits, now);
        let others = count - 1;
        if self.pending.words() + others <= WORDS {
            // None waits, so none finds the burst of the first on the bus.
            self.extend(others, waits);
            return waited;
        }
        let others = (1..count).map(|index| Physical(at.0.wrapping_add(4 * index)));
        others.fold(waited, |waited, at| waited + self.store(at, Width::Word, waits, now))
    }

    /// Adds a transfer of `cycles`, with this number of words in the store buffer, which others may join if
    /// it is open.
    #[inline(always)]
    fn push(
        &mut self,
        at: Physical,
        length: u32,
        (words, open): (u32, bool),
        cycles: u64,
        now: Cycles,
    ) {
        let begin = self.end.max(now.0);
        self.end = begin.saturating_add(cycles);
        let end = self.end;
        self.pending.push_back(PendingTransfer { at: at.0, length, words, open, begin, end });
    }

    /// Appends a word to the last burst if it is consecutive and not yet on the bus.
    #[inline(always)]
    fn append(&mut self, at: Physical, width: Width, waits: Waits, now: Cycles) -> bool {
        let Some(last) = self.pending.back() else { return false };
        let follows = last.open && now.0 <= last.begin && width == Width::Word;
        if !follows || last.at.wrapping_add(last.length) != at.0 || at.0.is_multiple_of(BURST_LIMIT)
        {
            return false;
        }
        self.extend(1, waits);
        true
    }

    /// Adds words to the last burst.
    #[inline(always)]
    fn extend(&mut self, words: u32, waits: Waits) {
        let cycles = u64::from(words) * (1 + u64::from(waits.next)) * self.ratio;
        self.end = self.end.saturating_add(cycles);
        self.pending.extend_back(words, self.end);
    }

    /// Waits until the write-back buffer is empty; returns the cycles waited.
    pub(crate) fn before_write_back(&mut self, now: &mut Cycles) -> u64 {
        let before = now.0;
        self.settle(*now);
        while self.pending.has_write_back() {
            self.wait_for_head(now);
        }
        now.0 - before
    }

    /// Buffers a write-back of a line or half-line; the write-back buffer must be empty.
    pub(crate) fn write_back(&mut self, at: Physical, length: u32, waits: Waits, now: Cycles) {
        self.push(at, length, (0, false), self.span(length / 4, waits), now);
    }
}
