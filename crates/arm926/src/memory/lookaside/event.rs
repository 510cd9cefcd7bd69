//! What invalidates look-aside entries, and a log of it.
//!
//! Layer: rank 3. Main types: [`Event`]; [`Log`], from which the tables of a context that becomes current again
//! learn what they missed. Evicted data lines are not in the log: their cache tells
//! ([`Tables::reconcile`](super::hits::Tables::reconcile)).

use crate::address::Modified;

/// How many events the log keeps.
const KEPT: usize = 1 << 12;

/// An event after which an access may no longer hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// A line left the instruction cache.
    InstructionLineGone(Modified),
    /// The TLB lost what it knew about the 2^`shift` bytes from `page` on.
    TranslationGone {
        /// The first address.
        page: Modified,
        /// The size as a power of two.
        shift: u8,
    },
}

/// The last events, numbered from the first one on.
#[derive(Debug, Default)]
pub(super) struct Log {
    events: Vec<Event>,
    /// How many there were.
    count: u64,
    /// Before this one, everything was forgotten.
    floor: u64,
}

impl Log {
    /// The number of the next event.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Adds an event.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "below the length of the log")]
    pub(super) fn add(&mut self, event: Event) {
        if self.events.is_empty() {
            self.events.resize(KEPT, event);
        }
        self.events[(self.count % KEPT as u64) as usize] = event;
        self.count += 1;
    }

    /// Everything is forgotten, also in tables that were put away.
    pub(super) const fn forget_all(&mut self) {
        self.count += 1;
        self.floor = self.count;
    }

    /// The events from number `from` on; nothing if not all of them are known.
    #[allow(clippy::cast_possible_truncation, reason = "below the length of the log")]
    pub(super) fn since(&self, from: u64) -> Option<impl Iterator<Item = Event> + '_> {
        let known = from >= self.floor && self.count - from <= KEPT as u64;
        let event = |number: u64| self.events[(number % KEPT as u64) as usize];
        known.then(|| (from..self.count).map(event))
    }
}
