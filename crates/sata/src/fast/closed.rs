//! The data phase in closed form, where each end waits at most once.
//!
//! Main type: [`Course`]. Most frames are of this kind: the sender's only gate opens at some time, the
//! receiver's only gate opens at some time, and in between the receiver perhaps sends HOLD once. What
//! happens is then a chain of sums, the same that [`super::flow`] would come to event by event. Anything
//! else is left to the events.
//!
//! ```text
//!   sender    HOLD.. 0 1 2 3 ....... f+e HOLDA.................. f+e+1 ... n CRC EOF
//!                         \             /  \                   /
//!   receiver    fill:   0 1 ... hold_from    gate opens ... hold_to
//! ```

use super::flow::Passed;
use super::sender::resume;
use crate::LARGEST_DATA;
use crate::agent::Gate;
use crate::link::End;
use crate::wire::{Tick, align};

/// A frame that may be of that kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Course<'a> {
    pub(super) from: &'a End,
    pub(super) to: &'a End,
    pub(super) forth: u64,
    pub(super) back: u64,
    pub(super) dwords: u32,
    /// The slot in which payload could first go.
    pub(super) first: u64,
}

impl Course<'_> {
    /// Where it ends, if it is one.
    #[inline]
    pub(super) fn end(&self, supply: Gate, drain: Gate) -> Option<Passed> {
        if supply.until < self.dwords || supply.at == Tick::NEVER || drain.at == Tick::NEVER {
            return None;
        }
        // Before EOF the receiver does not know that a short frame ends where its agent's promise does.
        if drain.until < self.dwords || (drain.until == self.dwords && self.dwords < LARGEST_DATA) {
            return None;
        }
        let open = align::slots_before(supply.at);
        let start = match open <= self.first {
            true => self.first,
            false => resume(self.from, self.first, open),
        };
        // CRC and EOF follow the payload.
        let after = start + u64::from(self.dwords) + 1;
        let eof = after + self.held(start, drain.at)?;
        let drained = drain.at.after(u64::from(self.dwords) - 1);
        let taken = align::tick_of(eof).after(self.forth).max(drained);
        Some(Passed { eof, taken, good: true })
    }

    /// Slots for which HOLD stops the payload that begins in slot `start`, if it does so not more than once.
    #[inline]
    fn held(&self, start: u64, open: Tick) -> Option<u64> {
        let hold_from = self.to.hold_start();
        if hold_from > self.dwords {
            // The FIFO holds it all, if it is as large as it should be.
            return (self.dwords <= self.to.fifo).then_some(0);
        }
        let came = |dword: u32| align::tick_of(start + u64::from(dword)).after(self.forth);
        let full = came(hold_from - 1);
        if full >= open {
            return (hold_from <= self.to.fifo).then_some(0);
        }
        let stop = self.heard(full, self.back) + self.from.holda_slots() - 1;
        let sent = u32::try_from(stop - start).unwrap_or(u32::MAX);
        if sent >= self.dwords {
            return (self.dwords <= self.to.fifo).then_some(0);
        }
        // All that was sent has come and lies in the FIFO when the gate opens.
        let hold_to = self.to.hold_end();
        if sent > self.to.fifo || came(sent) > open {
            return None;
        }
        let empty = open.after(u64::from(sent - hold_to) - 1);
        Some(resume(self.from, stop, self.heard(empty, self.back)) - stop)
    }

    /// The first slot after what the receiver has begun to send after `now` was heard.
    #[inline]
    fn heard(&self, now: Tick, back: u64) -> u64 {
        align::slots_before(align::settle(now.after(1)).after(back + 1))
    }
}
