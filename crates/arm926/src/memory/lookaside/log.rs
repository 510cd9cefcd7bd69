//! The instruction lines that were evicted, as a log.
//!
//! Layer: rank 3. Main type: [`Log`], from which the tables of a context that becomes current again learn what they
//! missed. Evicted data lines and translations are not in it: the data cache and the TLB tell
//! ([`Tables::reconcile`](super::hits::Tables::reconcile)).

use crate::address::Modified;

/// The number of evictions that the log keeps.
const KEPT: usize = 1 << 12;

/// The last evictions, numbered from the first one on.
#[derive(Debug, Default)]
pub(super) struct Log {
    lines: Vec<Modified>,
    /// The number of the next eviction.
    count: u64,
    /// Everything was invalidated before this one.
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
            self.lines.resize(KEPT, line);
        }
        self.lines[(self.count % KEPT as u64) as usize] = line;
        self.count += 1;
    }

    /// Invalidates everything, also in tables of other contexts.
    pub(super) const fn invalidate_all(&mut self) {
        self.count += 1;
        self.floor = self.count;
    }

    /// The evictions from number `from` on; `None` if the log does not reach back so far.
    #[allow(clippy::cast_possible_truncation, reason = "below the length of the log")]
    pub(super) fn since(&self, from: u64) -> Option<impl Iterator<Item = Modified> + '_> {
        let known = from >= self.floor && self.count - from <= KEPT as u64;
        let line = |number: u64| self.lines[(number % KEPT as u64) as usize];
        known.then(|| (from..self.count).map(line))
    }
}
