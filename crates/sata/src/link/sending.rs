//! Frames that go out: SOF to the answer.
//!
//! Layer: the half of a link layer's state machine that sends, LT2 to LT8. Main type: [`Station`].
//!
//! Source: Serial ATA Revision 3, 9.7.2.

use super::lane::Symbol;
use super::state::State;
use super::station::{Heard, Station};
use super::trace::Item;
use crate::agent::{Agent, Outcome, Outgoing};
use crate::wire::{Primitive, Tick, align};

impl Station {
    pub(super) fn emit_sof<A: Agent>(&mut self, agent: &mut A, now: Tick) -> Symbol {
        self.sending.begin(agent, now);
        self.tally.frames += 1;
        self.enter(State::SendData);
        self.primitive(now, Primitive::Sof)
    }

    /// In LT3 and LT5: a dword of the frame, or HOLD while there is none, or HOLDA when its time has come.
    #[inline]
    pub(super) fn emit_data<A: Agent>(&mut self, agent: &mut A, now: Tick) -> Symbol {
        let (slot, ready) = (align::slots_before(now), self.sending.is_ready(now));
        let hold = self.seen == Some(Primitive::Hold);
        match self.sending.answer.next_state(self.state, slot, ready, hold) {
            State::RcvrHold => {
                self.plain = now.after(1);
                self.sending.answer.clear();
                self.enter(State::RcvrHold);
                return self.primitive(now, Primitive::Holda);
            }
            State::SendHold => {
                if self.state == State::SendData {
                    self.plain = now.after(1);
                    // LT5 looks at what is heard then; a HOLD that is over by that time is not answered.
                    self.sending.answer.clear();
                    self.enter(State::SendHold);
                }
                return self.primitive(now, Primitive::Hold);
            }
            _ => {}
        }
        if let Some(primitive) = self.before_data(now) {
            self.active = true;
            return primitive;
        }
        self.enter(if self.sending.is_last() { State::SendCrc } else { State::SendData });
        self.note_dword(now);
        self.census.data += 1;
        Symbol::Data(self.sending.dword(agent, now))
    }

    #[inline]
    fn note_dword(&mut self, now: Tick) {
        if self.recorder.is_none() {
            return;
        }
        let item = match self.sending.outgoing {
            Some(Outgoing::Fis(fis)) => Item::Fis(fis),
            _ if self.sending.in_payload() => Item::Data,
            _ => Item::Header,
        };
        self.note(now, item);
    }

    pub(super) fn emit_crc(&mut self, now: Tick) -> Symbol {
        self.active = true;
        if let Some(primitive) = self.before_data(now) {
            return primitive;
        }
        self.enter(State::SendEof);
        self.note(now, Item::Crc);
        self.census.data += 1;
        Symbol::Data(self.sending.crc())
    }

    #[inline]
    pub(super) fn hear_sending<A: Agent>(&mut self, agent: &mut A, now: Tick, heard: Heard) {
        use Heard::Primitive as P;
        use Primitive::{Dmat, Hold, RErr, ROk, Sync};
        match (self.state, heard) {
            (_, P(Sync)) => self.conclude(agent, now, Outcome::Escaped),
            (State::Wait, P(ROk)) => self.succeed(agent, now),
            (State::Wait, P(RErr)) => self.conclude(agent, now, Outcome::Refused),
            (State::SendData | State::RcvrHold | State::SendHold, P(Dmat)) => self.cut_short(),
            (State::SendData, _) => {
                let next = align::slots_before(now.after(1));
                self.sending.answer.receive(&self.end, heard == P(Hold), next);
            }
            (State::RcvrHold, P(Hold) | Heard::Invalid) => {}
            (State::RcvrHold, _) => self.enter(State::SendData),
            _ => {}
        }
    }

    /// The receiver asked for an early end, of which only Data frames take notice.
    fn cut_short(&mut self) {
        if matches!(self.sending.outgoing, Some(Outgoing::Data(_))) {
            self.sending.cut = true;
            self.enter(State::SendCrc);
        }
    }

    fn succeed<A: Agent>(&mut self, agent: &mut A, now: Tick) {
        let outcome = if self.sending.cut { Outcome::Escaped } else { Outcome::Accepted };
        self.conclude(agent, now, outcome);
    }

    /// The frame has ended: it is sent again, or the agent is told.
    pub(super) fn conclude<A: Agent>(&mut self, agent: &mut A, now: Tick, outcome: Outcome) {
        let outgoing = self.sending.outgoing.take();
        self.enter(State::Idle);
        if self.sending.retry.after(outgoing, outcome) {
            self.tally.retries += 1;
        } else {
            agent.sent(now, outcome);
        }
    }
}
