//! How far an embedded operation has come, across suspensions.
//!
//! Layer: inside the chip. Main type: [`Span`]. It keeps whole nanoseconds, so that the time in
//! all is exact however often an operation is suspended.

use boardlab_sim::{Duration, Instant};

/// Progress of one step of an embedded operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    /// When it was started, or resumed for the last time.
    pub(super) resumed: Instant,
    /// Time spent on it before that.
    pub(super) done: Duration,
    /// Time after which it ends, done or failed.
    pub(super) whole: Duration,
}

impl Span {
    /// A step of length `whole` that starts at `now`.
    pub(super) const fn new(now: Instant, whole: Duration) -> Self {
        Self { resumed: now, done: Duration::ZERO, whole }
    }

    /// When it ends unless it is suspended.
    pub(super) fn end(&self) -> Instant {
        self.resumed.saturating_add(self.whole.saturating_sub(self.done))
    }

    /// Time spent on it until `now`, while it runs.
    pub(super) fn elapsed(&self, now: Instant) -> Duration {
        let spent = now.saturating_since(self.resumed);
        self.done.checked_add(spent).unwrap_or(Duration::MAX).min(self.whole)
    }

    /// Stops at `now`.
    pub(super) fn pause(&mut self, now: Instant) {
        self.done = self.elapsed(now);
    }
}
