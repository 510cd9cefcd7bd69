//! The progress of an embedded operation across suspensions.
//!
//! Layer: inside the chip. Main type: [`Span`]. It counts whole nanoseconds, so that the total time
//! is exact for any number of suspensions.

use boardlab_sim::{Duration, Instant};

/// Progress of one step of an embedded operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// The time of the start or the last resumption.
    pub(super) resumed: Instant,
    /// The time spent before that.
    pub(super) done: Duration,
    /// The total time to its end, completed or failed.
    pub(super) whole: Duration,
}

impl Span {
    /// A step of length `whole` that starts at `now`.
    pub(super) const fn new(now: Instant, whole: Duration) -> Self {
        Self { resumed: now, done: Duration::ZERO, whole }
    }

    /// The end, unless it is suspended.
    pub(super) fn end(&self) -> Instant {
        self.resumed.saturating_add(self.whole.saturating_sub(self.done))
    }

    /// The time spent until `now`, while it runs.
    pub(super) fn elapsed(&self, now: Instant) -> Duration {
        let spent = now.saturating_since(self.resumed);
        self.done.checked_add(spent).unwrap_or(Duration::MAX).min(self.whole)
    }

    /// Suspends the step at `now`.
    pub(super) fn pause(&mut self, now: Instant) {
        self.done = self.elapsed(now);
    }
}
