//! Flow control of a data phase: when an end sends HOLD, and when it answers HOLD with HOLDA.
//!
//! Layer: rules of the link layer. Main type: [`HoldAnswer`]; the receiver's thresholds are methods of [`End`].
//! Both engines apply them: the dword engine in each slot, the FIS engine in the slots in which their outcome can
//! change.
//!
//! Source: Serial ATA Revision 3, 9.7.2 (LT3 to LT5) and 9.7.3 (LR3 to LR5).

use super::{End, State};

impl End {
    /// The fill of its FIFO at which a receiver begins to send HOLD.
    #[inline]
    pub(crate) fn hold_start(&self) -> u32 {
        self.hold_from.max(2)
    }

    /// The fill of its FIFO at which a receiver stops sending HOLD.
    #[inline]
    pub(crate) fn hold_end(&self) -> u32 {
        self.hold_to.max(1)
    }

    /// Whether a receiver whose FIFO holds `fill` dwords sends HOLD; `holding` says whether it did before.
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

/// The slot in which a sender answers HOLD with HOLDA.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct HoldAnswer {
    slot: Option<u64>,
}

impl HoldAnswer {
    /// Notes in LT3 that `end` received HOLD, or something else, before slot `next`. The first HOLD sets the slot;
    /// anything else cancels the answer.
    #[inline]
    pub(crate) fn receive(&mut self, end: &End, hold: bool, next: u64) {
        match self.slot {
            None if hold => self.slot = Some(next + end.holda_slots() - 1),
            Some(_) if hold => {}
            _ => self.slot = None,
        }
    }

    /// Drops the answer: it was sent, or LT3 is left.
    #[inline]
    pub(crate) const fn clear(&mut self) {
        self.slot = None;
    }

    /// The slot, if HOLD was received.
    #[inline]
    pub(crate) const fn slot(&self) -> Option<u64> {
        self.slot
    }

    /// The state in which a sender that was in `state` (LT3 or LT5) sends in slot `slot`: LT3 a dword, LT4 HOLDA, LT5
    /// HOLD. `ready` says whether the agent has a dword, `hold` whether HOLD was received last.
    #[inline]
    pub(crate) fn next_state(&self, state: State, slot: u64, ready: bool, hold: bool) -> State {
        let answers = match state {
            State::SendHold => hold && ready,
            _ => self.slot.is_some_and(|answer| answer <= slot),
        };
        match (answers, ready) {
            (true, _) => State::RcvrHold,
            (false, true) => State::SendData,
            (false, false) => State::SendHold,
        }
    }
}
