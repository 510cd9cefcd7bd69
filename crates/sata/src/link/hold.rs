//! Flow control of a data phase: when a receiver sends HOLD, and when a sender answers it with HOLDA.
//!
//! Layer: rules of the link layer. Main type: [`HoldAnswer`]; the receiver's thresholds are methods of
//! [`End`]. Both engines apply these rules: the dword engine in each slot, the FIS engine in the slots
//! in which the outcome can change.
//!
//! Source: Serial ATA Revision 3, 9.7.2 (LT3 to LT5) and 9.7.3 (LR3 to LR5).

use super::{End, State};
use crate::wire::{Tick, align};

impl End {
    /// The fill of its FIFO at which a receiver begins to send HOLD.
    #[inline]
    pub(crate) fn hold_start(&self) -> u32 {
        self.hold_from.max(2)
    }

    /// The fill of its FIFO at which a receiver stops tx HOLD.
    #[inline]
    pub(crate) fn hold_end(&self) -> u32 {
        self.hold_to.max(1)
    }

    /// Whether a receiver whose FIFO holds `fill` dwords sends HOLD; `holding` says whether it did
    /// before.
    #[inline]
    pub(crate) fn holds(&self, holding: bool, fill: u32) -> bool {
        if holding { fill > self.hold_end() } else { fill >= self.hold_start() }
    }

    /// Whether `fill` dwords exceed the FIFO and the register in which the CRC is recognised.
    #[inline]
    pub(crate) const fn overflows(&self, fill: u32) -> bool {
        fill > self.fifo.saturating_add(1)
    }

    /// Slots from a received HOLD to the HOLDA sent for it.
    #[inline]
    pub(crate) fn holda_slots(&self) -> u64 {
        self.holda_after.clamp(1, Self::LONGEST_HOLDA).into()
    }
}

/// The tick at which a sender answers HOLD with HOLDA.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HoldAnswer {
    tick: Option<Tick>,
}

impl HoldAnswer {
    /// Handles HOLD that `end` receives at `now` in LT3. The first HOLD sets the tick of the answer.
    #[inline]
    pub(crate) fn receive(&mut self, end: &End, now: Tick) {
        if self.tick.is_none() {
            self.tick = Some(align::advance(now.after(1), end.holda_slots() - 1));
        }
    }

    /// Drops the answer: it was sent, HOLD has ended, or LT3 is left.
    #[inline]
    pub(crate) const fn clear(&mut self) {
        self.tick = None;
    }

    /// The slot of the answer, if HOLD was received.
    #[inline]
    pub(crate) fn slot(&self) -> Option<u64> {
        self.tick.map(align::slots_before)
    }

    /// The state in which a sender that was in `state` (LT3 or LT5) sends at `now`: LT3 a dword, LT4
    /// HOLDA, LT5 HOLD. `ready` says whether the agent has a dword, `hold` whether HOLD was received
    /// last.
    #[inline]
    pub(crate) fn next_state(&self, state: State, now: Tick, ready: bool, hold: bool) -> State {
        let answers = match state {
            State::SendHold => hold && ready,
            _ => self.tick.is_some_and(|answer| answer <= now),
        };
        match (answers, ready) {
            (true, _) => State::RcvrHold,
            (false, true) => State::SendData,
            (false, false) => State::SendHold,
        }
    }
}
