//! The queued commands of a drive, by tag and state.
//!
//! Layer: part of the command layer. Main type: [`Queue`]. Source: Serial ATA Revision 3, 13.6. Left
//! out: priorities, and commands whose data phase is divided into several.

use crate::wire::Tick;
use boardlab_block::Extent;

/// A queued command.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct QueueSlot {
    pub(crate) extent: Extent,
    pub(crate) is_write: bool,
    /// The number of queued commands received before.
    pub(crate) order: u64,
    /// When the controller has decoded the command; when it completes, once a write has all its data.
    pub(crate) at: Tick,
}

/// The queued commands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Queue {
    pub(crate) slots: [QueueSlot; 32],
    /// One bit for each tag that waits for its data phase, is in it, or waits for its completion to be
    /// sent.
    pub(crate) waiting: u32,
    pub(crate) transferring: u32,
    pub(crate) completing: u32,
    pub(crate) received: u64,
    /// A command has failed. All commands are aborted until the host has read which one.
    pub(crate) halted: bool,
}

/// Returns the tags of a set of bits.
pub(crate) fn tags(mut bits: u32) -> impl Iterator<Item = u8> {
    std::iter::from_fn(move || {
        let tag = bits.trailing_zeros();
        bits &= bits.wrapping_sub(1);
        u8::try_from(tag).ok().filter(|&tag| tag < 32)
    })
}

impl Queue {
    /// Returns the tags in flight, as bits.
    pub(crate) const fn in_flight(&self) -> u32 {
        self.waiting | self.transferring | self.completing
    }

    /// Adds a received command.
    pub(crate) fn push(&mut self, tag: u8, extent: Extent, is_write: bool, at: Tick) {
        self.slots[usize::from(tag)] = QueueSlot { extent, is_write, order: self.received, at };
        self.received += 1;
        self.waiting |= 1 << tag;
    }

    /// Removes the commands that have completed by `now` and returns their tags, as bits.
    pub(crate) fn take_completed(&mut self, now: Tick) -> u32 {
        let ended = tags(self.completing)
            .filter(|&tag| self.slots[usize::from(tag)].at <= now)
            .fold(0, |bits, tag| bits | 1 << tag);
        self.completing &= !ended;
        ended
    }

    /// Returns when the next command completes.
    pub(crate) fn next_completion(&self) -> Tick {
        tags(self.completing)
            .map(|tag| self.slots[usize::from(tag)].at)
            .min()
            .unwrap_or(Tick::NEVER)
    }

    pub(crate) const fn clear(&mut self) {
        (self.waiting, self.transferring, self.completing) = (0, 0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_the_bits() {
        assert_eq!(tags(0).count(), 0);
        assert_eq!(tags(0x8000_0005).collect::<Vec<_>>(), [0, 2, 31]);
    }

    #[test]
    fn commands_that_complete_together_are_reported_together() {
        let mut queue = Queue::default();
        for tag in 0..3 {
            queue.push(tag, Extent::new(0, 1), true, Tick(u64::from(tag) * 10));
        }
        (queue.completing, queue.waiting) = (0b111, 0);
        assert_eq!(queue.take_completed(Tick(10)), 0b11);
        assert_eq!((queue.in_flight(), queue.next_completion()), (0b100, Tick(20)));
    }
}
