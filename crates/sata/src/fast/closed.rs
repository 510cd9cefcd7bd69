//! The data phase in closed form, for frames in which each end waits at most once.
//!
//! Main type: [`ClosedForm`]. Most frames are of this kind: the only gate of the sender opens at some
//! tick, the only gate of the receiver opens at some tick, and the receiver sends HOLD at most once in
//! between. The ticks of such a frame are a chain of sums, equal to those that [`super::flow`] computes
//! event by event. All other frames are left to [`super::flow`].
//!
//! ```text
//!   sender    HOLD.. 0 1 2 3 ....... f+e HOLDA.................. f+e+1 ... n CRC EOF
//!                         \             /  \                   /
//!   receiver    fill:   0 1 ... hold_from    gate opens ... hold_to
//! ```

use super::flow::Completion;
use super::sender::resume;
use crate::LARGEST_DATA;
use crate::agent::Gate;
use crate::link::End;
use crate::wire::{Tick, align};

/// A frame that may have a closed form.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClosedForm<'a> {
    pub(super) from: &'a End,
    pub(super) to: &'a End,
    pub(super) forward: u64,
    pub(super) backward: u64,
    pub(super) dwords: u32,
    /// The first slot in which payload can be sent.
    pub(super) first: u64,
}

impl ClosedForm<'_> {
    /// Returns the end of the frame, if it has a closed form.
    #[inline]
    pub(super) fn end(&self, supply: Gate, drain: Gate) -> Option<Completion> {
        if supply.until < self.dwords || supply.at == Tick::NEVER || drain.at == Tick::NEVER {
            return None;
        }
        // Before EOF, the receiver does not know that a short frame ends where its agent's grant ends.
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
        let taken = align::tick_of(eof).after(self.forward).max(drained);
        Some(Completion { eof, taken, good: true })
    }

    /// The slots for which HOLD stops payload that begins in slot `start`, if HOLD stops it at most
    /// once.
    #[inline]
    fn held(&self, start: u64, open: Tick) -> Option<u64> {
        let hold_from = self.to.hold_start();
        if hold_from > self.dwords {
            // The FIFO holds the whole frame, if it has the size that it should have.
            return (self.dwords <= self.to.fifo).then_some(0);
        }
        let came = |dword: u32| align::tick_of(start + u64::from(dword)).after(self.forward);
        let full = came(hold_from - 1);
        if full >= open {
            return (hold_from <= self.to.fifo).then_some(0);
        }
        let stop = self.received(full, self.backward) + self.from.holda_slots() - 1;
        let sent = u32::try_from(stop - start).unwrap_or(u32::MAX);
        if sent >= self.dwords {
            return (self.dwords <= self.to.fifo).then_some(0);
        }
        // All dwords sent are in the FIFO when the gate opens.
        let hold_to = self.to.hold_end();
        if sent > self.to.fifo || came(sent) > open {
            return None;
        }
        let empty = open.after(u64::from(sent - hold_to) - 1);
        Some(resume(self.from, stop, self.received(empty, self.backward)) - stop)
    }

    /// The first slot after the arrival of what the receiver begins to send after `now`.
    #[inline]
    fn received(&self, now: Tick, backward: u64) -> u64 {
        align::slots_before(align::settle(now.after(1)).after(backward + 1))
    }
}
