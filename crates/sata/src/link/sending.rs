//! Frames that go out: SOF to the answer.
//!
//! Layer: the half of a link layer's state machine that sends, LT2 to LT8. Main type: [`Station`].
//!
//! Source: Serial ATA Revision 3, 9.7.2.

use super::lane::Symbol;
use super::state::State;
use super::station::{Heard, Station};
use super::trace::Item;
use super::transport::RETRIES;
use crate::agent::{Agent, Outcome, Outgoing};
use crate::wire::{Primitive, Tick};

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
        if self.must_answer_hold(now) {
            self.plain = now.after(1);
            self.enter(State::RcvrHold);
            return self.primitive(now, Primitive::Holda);
        }
        if !self.sending.is_ready(now) {
            if self.state == State::SendData {
                self.plain = now.after(1);
                // LT5 looks at what is heard then; a HOLD that is over by that time is not answered.
                self.sending.hold_in = None;
                self.enter(State::SendHold);
            }
            return self.primitive(now, Primitive::Hold);
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

    /// In LT3 so many dwords after HOLD was seen; in LT5 when there would be data again.
    #[inline]
    fn must_answer_hold(&mut self, now: Tick) -> bool {
        if self.state == State::SendHold {
            return self.seen == Some(Primitive::Hold) && self.sending.is_ready(now);
        }
        match &mut self.sending.hold_in {
            None => false,
            Some(0) => true,
            Some(left) => {
                *left -= 1;
                false
            }
        }
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
            (_, P(Sync)) => self.fail(agent, now, Outcome::Escaped),
            (State::Wait, P(ROk)) => self.succeed(agent, now),
            (State::Wait, P(RErr)) => self.fail(agent, now, Outcome::Refused),
            (State::SendData | State::RcvrHold | State::SendHold, P(Dmat)) => self.cut_short(),
            (State::SendData, P(Hold)) => {
                let after = self.end.holda_after.clamp(1, crate::link::End::LONGEST_HOLDA);
                self.sending.hold_in.get_or_insert(after - 1);
            }
            (State::SendData, _) => self.sending.hold_in = None,
            (State::RcvrHold, P(Hold) | Heard::Invalid) => {}
            (State::RcvrHold, _) => {
                self.sending.hold_in = None;
                self.enter(State::SendData);
            }
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
        if self.sending.cut {
            return self.fail(agent, now, Outcome::Escaped);
        }
        self.conclude(agent, now, Outcome::Accepted);
    }

    /// The frame did not get through: it is sent again, or the agent is told.
    pub(super) fn fail<A: Agent>(&mut self, agent: &mut A, now: Tick, outcome: Outcome) {
        let repeats = matches!(self.sending.outgoing, Some(Outgoing::Fis(_)));
        if repeats && self.sending.retries < RETRIES {
            self.sending.retries += 1;
            self.sending.again = true;
            self.tally.retries += 1;
            self.enter(State::Idle);
            return;
        }
        self.conclude(agent, now, outcome);
    }

    fn conclude<A: Agent>(&mut self, agent: &mut A, now: Tick, outcome: Outcome) {
        (self.sending.outgoing, self.sending.again) = (None, false);
        self.enter(State::Idle);
        agent.sent(now, outcome);
    }
}
