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
use crate::link::End;
use crate::wire::{Tick, align};

/// Slots after which a primitive that goes on is not on the wire itself any more: CONT is.
pub(super) const REPEATS: u64 = 3;

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
    /// A dword goes in each slot.
    Going,
    /// One will, unless something stands in the way.
    Ready,
    /// HOLD: the gate is closed.
    Dry,
    /// HOLDA.
    Held,
    /// The CRC has gone.
    Ended,
}

/// The sending end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sender {
    /// Payload dwords of the frame.
    dwords: u32,
    /// Slots from HOLD heard to HOLDA sent.
    answers_after: u64,
    /// Repeated primitives are replaced by CONT.
    continues: bool,
    mode: Mode,
    /// The payload dword that goes next.
    next: u32,
    /// While it is going, the slot of that dword; else the first one in which anything can change.
    slot: u64,
    gate: Gate,
    /// HOLD is what was heard last.
    hears_hold: bool,
    /// The slot in which HOLDA answers it.
    answer: Option<u64>,
    /// The mode whose primitive goes on, and its first slot.
    repeats: Option<(Mode, u64)>,
    /// When it does something by itself.
    due: Tick,
}

impl Sender {
    /// With `dwords` to be sent by `end` from slot `slot` on, as `gate` allows.
    #[inline]
    pub(super) fn new(end: &End, dwords: u32, slot: u64, gate: Gate) -> Self {
        Self {
            dwords,
            answers_after: end.holda_after.clamp(1, End::LONGEST_HOLDA).into(),
            continues: end.continues,
            mode: Mode::Ready,
            next: 0,
            slot,
            gate,
            hears_hold: false,
            answer: None,
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
                Some(self.answer.map_or(last, |answer| answer.min(last)))
            }
            Mode::Ready => Some(self.slot),
            Mode::Dry if self.gate.at == Tick::NEVER => None,
            Mode::Dry => Some(self.slot.max(align::slots_before(self.gate.at))),
            Mode::Held | Mode::Ended => None,
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
            Mode::Going if self.answer == Some(slot) => Some(self.held(slot)),
            Mode::Going => self.exhausted(slot, agent, load),
            _ => self.start(slot, agent, load),
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
        self.gate = agent.supply(align::tick_of(slot), self.next);
        assert!(self.gate.until > self.next, "Agent::supply: a gate that promises nothing");
        if self.gate.at <= align::tick_of(slot + 1) {
            load.fill(agent, self.promised());
            return None;
        }
        // Whether HOLD or HOLDA goes in the next slot is seen then.
        self.mode = Mode::Ready;
        Some((slot + 1, Change::Stop { sent: self.next }))
    }

    /// HOLDA goes from `slot` on.
    fn held(&mut self, slot: u64) -> (u64, Change) {
        self.next += u32::try_from(slot - self.slot).expect("no more than were promised");
        self.wait(slot, Mode::Held);
        (slot, Change::Stop { sent: self.next })
    }

    fn wait(&mut self, slot: u64, mode: Mode) {
        (self.mode, self.answer) = (mode, None);
        // What was decided for this slot can change in the next one.
        self.slot = slot + 1;
        if self.repeats.is_none_or(|(repeated, _)| repeated != mode) {
            self.repeats = Some((mode, slot));
        }
    }

    /// Data could go in `slot`, if nothing stands in the way.
    fn start(
        &mut self,
        slot: u64,
        agent: &mut impl Agent,
        load: &mut Load,
    ) -> Option<(u64, Change)> {
        let must_answer = match self.mode {
            Mode::Dry => self.hears_hold,
            _ => self.answer.is_some_and(|answer| answer <= slot),
        };
        if must_answer {
            self.wait(slot, Mode::Held);
        } else if self.gate.at > align::tick_of(slot) {
            self.wait(slot, Mode::Dry);
        } else if let Some((_, since)) = self.repeats.take()
            && self.continues
            && slot - since >= REPEATS
        {
            self.slot = slot + 1;
        } else {
            (self.slot, self.mode) = (slot, Mode::Going);
            load.fill(agent, self.promised());
            return Some((slot, Change::Go { slot, from: self.next }));
        }
        None
    }

    /// HOLD begins or ends to be heard at `now`.
    pub(super) fn hear(&mut self, now: Tick, hold: bool) {
        self.hears_hold = hold;
        let slot = align::slots_before(now.after(1));
        match self.mode {
            Mode::Going | Mode::Ready if hold => {
                self.answer = Some(slot + self.answers_after - 1);
            }
            Mode::Going | Mode::Ready => self.answer = None,
            Mode::Held if !hold => (self.mode, self.slot) = (Mode::Ready, slot),
            Mode::Held | Mode::Dry | Mode::Ended => {}
        }
        self.due = self.next_slot().map_or(Tick::NEVER, align::tick_of);
    }
}
