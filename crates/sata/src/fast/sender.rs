//! The sending end of a data phase.
//!
//! Main type: [`Sender`]. In slots (ticks without ALIGN) its arithmetic is plain: while it is going, a dword
//! goes in each. It stops where its agent has promised no more, or so many slots after HOLD was heard, and
//! tells each stop and each start to the other end.
//!
//! ```text
//!   Going   -- promise exhausted, gate closed -->  Dry (sends HOLD)
//!   Going   -- HOLD heard, its slots are over -->  Held (sends HOLDA)
//!   Held    -- HOLD no longer heard           -->  Ready
//!   Dry     -- gate opens                     -->  Going, or Held if HOLD is heard
//!   Ready   -- gate open                      -->  Going, or Dry
//! ```
//!
//! A primitive that went for more than two slots was replaced by CONT: it goes once more before data.

use super::load::Load;
use crate::agent::{Agent, Gate};
use crate::link::hold::HoldAnswer;
use crate::link::{End, State, transport};
use crate::wire::{Tick, align, cont};

/// The slot of the first dword after HOLD or HOLDA from slot `since` on: `slot`, or the next one if CONT has replaced the
/// primitive, which then goes once more.
#[inline]
pub(super) fn resume(end: &End, since: u64, slot: u64) -> u64 {
    slot + u64::from(end.continues && slot - since >= cont::SUPPRESSED_AFTER)
}

/// What the stream of dwords does from a tick on, as it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// Payload dword `from` goes in slot `slot`, the next ones in the slots after it.
    Go { slot: u64, from: u32 },
    /// No payload any more, after the first `sent` dwords.
    Stop { sent: u32 },
    /// EOF.
    End,
}

/// What it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// LT3, with a dword in each slot.
    Going,
    /// LT3 to LT5: the next slot decides whether a dword, HOLDA or HOLD is sent.
    Stopped(State),
    /// The CRC has gone.
    Ended,
}

/// The sending end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender {
    /// Payload dwords of the frame.
    dwords: u32,
    end: End,
    mode: Mode,
    /// The payload dword that goes next.
    next: u32,
    /// While it is going, the slot of that dword; else the first one in which anything can change.
    slot: u64,
    gate: Gate,
    /// HOLD is what was heard last.
    hears_hold: bool,
    answer: HoldAnswer,
    /// The state whose primitive goes on, and its first slot.
    repeats: Option<(State, u64)>,
    /// When it does something by itself.
    due: Tick,
}

impl Sender {
    /// With `dwords` to be sent by `end` from slot `slot` on, as `gate` allows.
    #[inline]
    pub(super) fn new(end: &End, dwords: u32, slot: u64, gate: Gate) -> Self {
        Self {
            dwords,
            end: *end,
            mode: Mode::Stopped(State::SendData),
            next: 0,
            slot,
            gate,
            hears_hold: false,
            answer: HoldAnswer::default(),
            repeats: None,
            due: align::tick_of(slot),
        }
    }

    #[inline]
    pub(super) const fn due(&self) -> Tick {
        self.due
    }

    /// Payload dwords that the agent has promised so far.
    fn promised(&self) -> u32 {
        self.gate.until.min(self.dwords)
    }

    /// The slot of the next thing that it does by itself.
    fn next_slot(&self) -> Option<u64> {
        match self.mode {
            // The slot of the last promised dword, in which the agent is asked; or that of HOLDA before it.
            Mode::Going => {
                let last = self.slot + u64::from(self.promised() - self.next) - 1;
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

    /// Does what is due: a change, and its slot.
    pub(super) fn step(
        &mut self,
        agent: &mut impl Agent,
        load: &mut Load,
    ) -> Option<(u64, Change)> {
        let slot = self.next_slot()?;
        let change = match self.mode {
            Mode::Going if self.answer.slot() == Some(slot) => Some(self.held(slot)),
            Mode::Going => self.exhausted(slot, agent, load),
            Mode::Stopped(state) => self.start(state, slot, agent, load),
            Mode::Ended => None,
        };
        self.due = self.next_slot().map_or(Tick::NEVER, align::tick_of);
        change
    }

    /// The last promised dword goes in `slot`.
    fn exhausted(
        &mut self,
        slot: u64,
        agent: &mut impl Agent,
        load: &mut Load,
    ) -> Option<(u64, Change)> {
        (self.next, self.slot) = (self.promised(), slot + 1);
        if self.next == self.dwords {
            self.mode = Mode::Ended;
            // The CRC goes in between.
            return Some((slot + 2, Change::End));
        }
        self.gate = transport::supply(agent, align::tick_of(slot), self.next);
        if self.gate.at <= align::tick_of(slot + 1) {
            load.fill(agent, self.promised());
            return None;
        }
        // Whether HOLD or HOLDA goes in the next slot is seen then.
        self.mode = Mode::Stopped(State::SendData);
        Some((slot + 1, Change::Stop { sent: self.next }))
    }

    /// HOLDA goes from `slot` on.
    fn held(&mut self, slot: u64) -> (u64, Change) {
        self.next += u32::try_from(slot - self.slot).expect("no more than were promised");
        self.wait(slot, State::RcvrHold);
        (slot, Change::Stop { sent: self.next })
    }

    fn wait(&mut self, slot: u64, state: State) {
        self.mode = Mode::Stopped(state);
        self.answer.clear();
        // What was decided for this slot can change in the next one.
        self.slot = slot + 1;
        if self.repeats.is_none_or(|(repeated, _)| repeated != state) {
            self.repeats = Some((state, slot));
        }
    }

    /// Data could go in `slot`, if nothing stands in the way.
    fn start(
        &mut self,
        state: State,
        slot: u64,
        agent: &mut impl Agent,
        load: &mut Load,
    ) -> Option<(u64, Change)> {
        let ready = self.gate.at <= align::tick_of(slot);
        match self.answer.next_state(state, slot, ready, self.hears_hold) {
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
        self.mode = Mode::Going;
        load.fill(agent, self.promised());
        Some((slot, Change::Go { slot, from: self.next }))
    }

    /// HOLD begins or ends to be heard at `now`.
    pub(super) fn hear(&mut self, now: Tick, hold: bool) {
        self.hears_hold = hold;
        let slot = align::slots_before(now.after(1));
        match self.mode {
            Mode::Going | Mode::Stopped(State::SendData) => {
                self.answer.receive(&self.end, hold, slot);
            }
            Mode::Stopped(State::RcvrHold) if !hold => {
                (self.mode, self.slot) = (Mode::Stopped(State::SendData), slot);
            }
            Mode::Stopped(_) | Mode::Ended => {}
        }
        self.due = self.next_slot().map_or(Tick::NEVER, align::tick_of);
    }
}
