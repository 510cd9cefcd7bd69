//! A queue of bounded depth as a recurrence: when is there room for one more?
//!
//! Layer: rank 2. Main type: [`Queue`]. A request is accepted as soon as fewer than the depth are
//! in flight; that is the end of the earliest one still held. No event list is needed, since the
//! end of a request is known when it is accepted.

use boardlab_sim::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The ends of the requests that a device or a host holds.
#[derive(Debug, Clone)]
pub struct Queue {
    depth: usize,
    ends: BinaryHeap<Reverse<Instant>>,
}

impl Queue {
    /// An empty queue with room for `depth` requests.
    ///
    /// # Panics
    /// When there is room for none.
    #[must_use]
    pub fn new(depth: u32) -> Self {
        assert!(depth > 0, "Queue: no room for any request");
        let depth = usize::try_from(depth).expect("usize holds u32");
        Self { depth, ends: BinaryHeap::with_capacity(depth) }
    }

    /// When a request that arrives at `at` is accepted. [`Queue::hold`] must follow once its end is
    /// known.
    #[inline]
    pub fn accept(&mut self, at: Instant) -> Instant {
        if self.ends.len() < self.depth {
            return at;
        }
        let Reverse(first) = self.ends.pop().expect("a full queue holds a request");
        first.max(at)
    }

    /// Holds a request until `end`.
    ///
    /// # Panics
    /// When there was no room: [`Queue::accept`] makes it.
    #[inline]
    pub fn hold(&mut self, end: Instant) {
        assert!(self.ends.len() < self.depth, "Queue::hold: no room was made");
        self.ends.push(Reverse(end));
    }

    /// When the last of those held ends; `None` when none is.
    #[must_use]
    pub fn last(&self) -> Option<Instant> {
        self.ends.iter().map(|&Reverse(end)| end).max()
    }

    /// Removes all requests.
    pub fn clear(&mut self) {
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_has_room_when_the_earliest_ends() {
        let at = Instant::from_nanos;
        let mut queue = Queue::new(2);
        assert_eq!(queue.accept(at(0)), at(0));
        queue.hold(at(50));
        assert_eq!(queue.accept(at(1)), at(1));
        queue.hold(at(30));
        assert_eq!(queue.accept(at(2)), at(30));
        queue.hold(at(90));
        assert_eq!(queue.last(), Some(at(90)));
        assert_eq!(queue.accept(at(60)), at(60));
    }
}
