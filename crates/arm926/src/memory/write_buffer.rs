//! The time of the bus, and the buffers between the core and it: 16 words with 4 addresses for stores, one line for evictions.
//!
//! Layer: rank 3. [`WriteBuffer`] knows when the bus is free and what waits for it. Buffered data are on the board at once; only the
//! time that they take on the bus is deferred. The bus carries out what waits in order, whenever it is free;
//! the core's own transfers go before what has not begun. A read of an address for which a write waits lets both buffers drain
//! first. Source: ARM DDI 0198D, 4.2 (sizes, no forwarding to reads); that other reads overtake is assumed.

mod queue;

use std::num::NonZeroU8;

use serde::{Deserialize, Serialize};

use crate::address::{Cycles, Physical};
use crate::bus::{Waits, Width};
use queue::Queue;

/// Words that the store buffer holds.
const WORDS: u32 = 16;

/// Addresses that the store buffer holds: bursts of words in sequence share one.
const ADDRESSES: usize = 4;

/// Bursts on AHB do not cross 1 KB.
const BURST_LIMIT: u32 = 1 << 10;

/// A transfer that waits for the bus, or is on it.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
struct Pending {
    /// The first byte.
    at: u32,
    /// Bytes.
    length: u32,
    /// Words in the store buffer; 0 for the write-back buffer.
    words: u32,
    /// Further words may follow in the same burst.
    open: bool,
    /// When it came.
    since: u64,
    /// How long it takes on the bus.
    cycles: u64,
    /// It is on the bus.
    begun: bool,
}

/// The bus and what waits for it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct WriteBuffer {
    /// Core cycles a bus cycle.
    ratio: u64,
    /// When the bus is free.
    free_at: u64,
    pending: Queue,
}

impl WriteBuffer {
    /// Empty, on a bus with so many core cycles a bus cycle.
    pub(crate) fn new(ratio: NonZeroU8) -> Self {
        Self { ratio: u64::from(ratio.get()), free_at: 0, pending: Queue::default() }
    }

    /// Whether it could have come to this: a saved one may say anything.
    pub(crate) fn is_sound(&self, ratio: NonZeroU8) -> bool {
        self.ratio == u64::from(ratio.get())
            && self.pending.iter().count() <= ADDRESSES + 1
            && self.pending.iter().all(|other| other.words <= WORDS && other.length <= 4 * WORDS)
    }

    /// The core cycles of a burst: one bus cycle for the address, one for each word, and the wait states.
    fn span(&self, words: u32, waits: Waits) -> u64 {
        let rest = u64::from(words.saturating_sub(1));
        (2 + u64::from(waits.first) + rest * (1 + u64::from(waits.next))) * self.ratio
    }

    /// Lets the bus work up to `now`: what begins before that is begun.
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
            self.pending.pop_front();
        }
    }

    /// Waits until nothing is left. The cycles waited.
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

    /// Waits for the transfer that is on the bus, or begins now, to end.
    fn wait_for_head(&mut self, now: &mut Cycles) {
        if let Some(head) = self.pending.pop_front() {
            if !head.begun {
                self.free_at = self.free_at.max(head.since).saturating_add(head.cycles);
            }
            now.0 = now.0.max(self.free_at);
        }
    }

    /// Before a read of `length` bytes at `at`: drains if one of them waits in a buffer. The cycles waited.
    pub(crate) fn before_read(&mut self, at: Physical, length: u32, now: &mut Cycles) -> u64 {
        self.settle(*now);
        let meets = |other: &Pending| {
            other.at < at.0.saturating_add(length) && at.0 < other.at.saturating_add(other.length)
        };
        if self.pending.iter().any(meets) { self.drain(now) } else { 0 }
    }

    /// When the bus is free for a transfer of the core.
    pub(crate) fn free(&mut self, now: Cycles) -> Cycles {
        self.settle(now);
        Cycles(self.free_at.max(now.0))
    }

    /// Takes the bus for the core's transfer of so many words from `start` on; the core waits for the first of them. The cycles waited.
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

    /// Puts a store in; waits for room. The cycles waited.
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
        self.pending.push_back(Pending {
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

    /// Makes the word part of the last burst, if it follows it.
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

    /// Waits until the write-back buffer is empty. The cycles waited.
    pub(crate) fn before_write_back(&mut self, now: &mut Cycles) -> u64 {
        let before = now.0;
        self.settle(*now);
        while self.pending.iter().count() > self.pending.addresses() {
            self.wait_for_head(now);
        }
        now.0 - before
    }

    /// Puts a line or half of one in the write-back buffer, which must be empty.
    pub(crate) fn write_back(&mut self, at: Physical, length: u32, waits: Waits, now: Cycles) {
        let cycles = self.span(length / 4, waits);
        let since = now.0;
        self.pending.push_back(Pending {
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
