//! The sender of a data phase.
//!
//! Main type: [`Sender`]. Its arithmetic is in slots (ticks without ALIGN): while it streams, it sends
//! a dword in each. It stops where the agent's grant ends, or in the slot of HOLDA after it has
//! received HOLD, and reports each start and stop to the receiver.
//!
//! ```text
//!   streaming         -- grant ends, gate closed -->  stopped, SendHold (sends HOLD)
//!   streaming         -- slot of HOLDA           -->  stopped, RcvrHold (sends HOLDA)
//!   stopped, RcvrHold -- HOLD has ended          -->  stopped, SendData
//!   stopped, SendHold -- gate opens              -->  streaming, or RcvrHold if HOLD is received
//!   stopped, SendData -- gate open               -->  streaming, or SendHold
//! ```
//!
//! A primitive that was sent in more than two slots was replaced by CONT; it is sent once more before
//! data.

use super::payload::Payload;
use crate::agent::{Agent, Gate};
use crate::link::hold::HoldAnswer;
use crate::link::{End, State, transport};
use crate::wire::{Tick, align, cont};

/// The slot of the first dword after HOLD or HOLDA from slot `since` on: `slot`, or the next one if
/// CONT has replaced the primitive, which is then sent once more.
#[inline]
pub(super) fn resume(end: &End, since: u64, slot: u64) -> u64 {
    slot + u64::from(end.cont && slot - since >= cont::SUPPRESSED_AFTER)
}

/// A change of the stream of payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Payload dword `from` is sent in slot `slot`, its successors in the slots after that.
    Go { slot: u64, from: u32 },
    /// Payload stops after the first `sent` dwords.
    Stop { sent: u32 },
    /// EOF.
    End,
}

/// The mode of the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// LT3: sends a dword in each slot.
    Streaming,
    /// LT3 to LT5: the next slot decides whether a dword, HOLDA or HOLD is sent.
    Stopped(State),
    /// The CRC is sent.
    Ended,
}

/// The sender.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender {
    /// Payload dwords of the frame.
    dwords: u32,
    end: End,
    mode: Mode,
    /// The next payload dword.
    next: u32,
    /// The slot of the next dword while the sender streams; otherwise the first slot in which something
    /// can change.
    slot: u64,
    gate: Gate,
    /// Whether HOLD was received last.
    hold_received: bool,
    answer: HoldAnswer,
    /// The state whose primitive is repeated, and its first slot.
    repeats: Option<(State, u64)>,
    /// The tick of its next event.
    due: Tick,
}

impl Sender {
    /// Creates the sender `end` of `dwords` from slot `slot` on, as `gate` grants them.
    #[inline]
    pub(super) fn new(end: &End, dwords: u32, slot: u64, gate: Gate) -> Self {
        Self {
            dwords,
            end: *end,
            mode: Mode::Stopped(State::SendData),
            next: 0,
            slot,
            gate,
            hold_received: false,
            answer: HoldAnswer::default(),
            repeats: None,
            due: align::tick_of(slot),
        }
    }

    #[inline]
    pub(super) const fn due(&self) -> Tick {
        self.due
    }

    /// The payload dwords that the agent has granted so far.
    fn granted(&self) -> u32 {
        self.gate.until.min(self.dwords)
    }

    /// The slot of its next event.
    fn next_slot(&self) -> Option<u64> {
        match self.mode {
            // The slot of the last granted dword, in which the agent is asked; or an earlier slot of
            // HOLDA.
            Mode::Streaming => {
                let last = self.slot + u64::from(self.granted() - self.next) - 1;
                Some(self.answer.slot().map_or(last, |answer| answer.min(last)))
            }
            Mode::Stopped(State::RcvrHold) | Mode::Ended => None,
            Mode::Stopped(State::SendHold) if self.gate.at == Tick::NEVER => None,
            Mode::Stopped(State::SendHold) => {
                Some(self.slot.max(align::slots_before(self.gate.at)))
            }
            Mode::Stopped(_) => Some(self.slot),
        }
    }

    /// Executes the next event. Returns the change, if there is one, and its slot.
    pub(super) fn step(
        &mut self,
        agent: &mut impl Agent,
        payload: &mut Payload,
    ) -> Option<(u64, Change)> {
        let slot = self.next_slot()?;
        let change = match self.mode {
            Mode::Streaming if self.answer.slot() == Some(slot) => Some(self.held(slot)),
            Mode::Streaming => self.end_of_grant(slot, agent, payload),
            Mode::Stopped(state) => self.start(state, slot, agent, payload),
            Mode::Ended => None,
        };
        self.due = self.next_slot().map_or(Tick::NEVER, align::tick_of);
        change
    }

    /// Sends the last granted dword in `slot`.
    fn end_of_grant(
        &mut self,
        slot: u64,
        agent: &mut impl Agent,
        payload: &mut Payload,
    ) -> Option<(u64, Change)> {
        (self.next, self.slot) = (self.granted(), slot + 1);
        if self.next == self.dwords {
            self.mode = Mode::Ended;
            // The CRC is sent in between.
            return Some((slot + 2, Change::End));
        }
        self.gate = transport::supply(agent, align::tick_of(slot), self.next);
        if self.gate.at <= align::tick_of(slot + 1) {
            payload.fill(agent, self.granted());
            return None;
        }
        // The next slot decides between HOLD and HOLDA.
        self.mode = Mode::Stopped(State::SendData);
        Some((slot + 1, Change::Stop { sent: self.next }))
    }

    /// Sends HOLDA from `slot` on.
    fn held(&mut self, slot: u64) -> (u64, Change) {
        self.next += u32::try_from(slot - self.slot).expect("no more than were granted");
        self.wait(slot, State::RcvrHold);
        (slot, Change::Stop { sent: self.next })
    }

    fn wait(&mut self, slot: u64, state: State) {
        self.mode = Mode::Stopped(state);
        self.answer.clear();
        // The next slot can decide differently.
        self.slot = slot + 1;
        if self.repeats.is_none_or(|(repeated, _)| repeated != state) {
            self.repeats = Some((state, slot));
        }
    }

    /// Sends data from `slot` on, unless HOLD, HOLDA or the end of CONT must be sent.
    fn start(
        &mut self,
        state: State,
        slot: u64,
        agent: &mut impl Agent,
        payload: &mut Payload,
    ) -> Option<(u64, Change)> {
        let now = align::tick_of(slot);
        match self.answer.next_state(state, now, self.gate.at <= now, self.hold_received) {
            State::SendData => {}
            waits => {
                self.wait(slot, waits);
                return None;
            }
        }
        let since = self.repeats.take().map_or(slot, |(_, since)| since);
        self.slot = resume(&self.end, since, slot);
        if self.slot > slot {
            return None;
        }
        self.mode = Mode::Streaming;
        payload.fill(agent, self.granted());
        Some((slot, Change::Go { slot, from: self.next }))
    }

    /// Receives the start or the end of HOLD at `now`.
    pub(super) fn receive(&mut self, now: Tick, hold: bool) {
        self.hold_received = hold;
        let slot = align::slots_before(now.after(1));
        match self.mode {
            Mode::Streaming | Mode::Stopped(State::SendData) if hold => {
                self.answer.receive(&self.end, now);
            }
            Mode::Streaming | Mode::Stopped(State::SendData) => self.answer.clear(),
            Mode::Stopped(State::RcvrHold) if !hold => {
                (self.mode, self.slot) = (Mode::Stopped(State::SendData), slot);
            }
            Mode::Stopped(_) | Mode::Ended => {}
        }
        self.due = self.next_slot().map_or(Tick::NEVER, align::tick_of);
    }
}
