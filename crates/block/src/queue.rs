//! A queue of bounded depth, which computes the time at which a request is accepted.
//!
//! Layer: rank 2. Main type: [`Queue`]. A request is accepted as soon as fewer requests than the depth
//! are in flight: at the earliest end of those in a full queue. No event list is needed, since the end
//! of a request is known when it is accepted.

use boardlab_sim::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A queue of a device or a host: the ends of the requests in flight.
#[derive(Debug, Clone)]
pub struct Queue {
    depth: usize,
    ends: BinaryHeap<Reverse<Instant>>,
}

impl Queue {
    /// An empty queue with room for `depth` requests.
    ///
    /// # Panics
    /// If `depth` is zero.
    #[must_use]
    pub fn new(depth: u32) -> Self {
        assert!(depth > 0, "Queue: no room for any request");
        let depth = usize::try_from(depth).expect("usize holds u32");
        Self { depth, ends: BinaryHeap::with_capacity(depth) }
    }

    /// The time at which a request submitted at `at` is accepted. [`Queue::hold`] must follow when its
    /// end is known.
    #[inline]
    pub fn accept(&mut self, at: Instant) -> Instant {
        if self.ends.len() < self.depth {
            return at;
        }
        let Reverse(first) = self.ends.pop().expect("a full queue holds a request");
        first.max(at)
    }

    /// Adds a request that is in flight until `end`.
    ///
    /// # Panics
    /// If the queue is full: call [`Queue::accept`] first.
    #[inline]
    pub fn hold(&mut self, end: Instant) {
        assert!(self.ends.len() < self.depth, "Queue::hold: the queue is full");
        self.ends.push(Reverse(end));
    }

    /// The latest end of the requests in flight; `None` if there are none.
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
