//! The log of evicted instruction lines.
//!
//! Layer: rank 3. Main type: [`Log`], from which inactive tables learn the evictions that they missed.
//! Data lines and translations are compared with the data cache and the TLB instead
//! ([`Tables::reconcile`](super::tables::Tables::reconcile)).

use crate::address::Modified;

/// The number of evictions that the log keeps.
const CAPACITY: usize = 1 << 12;

/// The last evictions, numbered from the first one.
#[derive(Debug, Default)]
pub(super) struct Log {
    lines: Vec<Modified>,
    /// The number of the next eviction.
    count: u64,
    /// The first number after the last invalidation of everything.
    floor: u64,
}

impl Log {
    /// The number of the next eviction.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Adds an eviction.
    #[inline]
    #[allow(clippy::cast_possible_truncation, reason = "below the length of the log")]
    pub(super) fn add(&mut self, line: Modified) {
        if self.lines.is_empty() {
            self.lines.resize(CAPACITY, line);
        }
        self.lines[(self.count % CAPACITY as u64) as usize] = line;
        self.count += 1;
    }

    /// Invalidates all entries, including those of other contexts.
    pub(super) const fn invalidate_all(&mut self) {
        self.count += 1;
        self.floor = self.count;
    }

    /// The evictions from number `from` on; `None` if the log no longer has them.
    #[allow(clippy::cast_possible_truncation, reason = "below the length of the log")]
    pub(super) fn since(&self, from: u64) -> Option<impl Iterator<Item = Modified> + '_> {
        let known = from >= self.floor && self.count - from <= CAPACITY as u64;
        let line = |number: u64| self.lines[(number % CAPACITY as u64) as usize];
        known.then(|| (from..self.count).map(line))
    }
}
