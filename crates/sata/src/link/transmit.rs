//! Transmission of a frame: from SOF to the answer.
//!
//! Layer: the states LT2 to LT8 of a link layer. Main type: [`LinkLayer`].
//!
//! Source: Serial ATA Revision 3, 9.7.2.

use super::layer::LinkLayer;
use super::state::State;
use super::trace::Item;
use crate::agent::{Agent, Outcome, Outgoing};
use crate::wire::{Dword, Primitive, Tick};

impl LinkLayer {
    pub(super) fn emit_sof<A: Agent>(&mut self, agent: &mut A, now: Tick) -> Dword {
        self.tx.begin(agent, now);
        self.counters.frames += 1;
        self.enter(State::SendData);
        self.primitive(now, Primitive::Sof)
    }

    /// Sends in LT3 and LT5 a dword of the frame, HOLD if there is none, or HOLDA if its slot has come.
    #[inline]
    pub(super) fn emit_data<A: Agent>(&mut self, agent: &mut A, now: Tick) -> Dword {
        let (ready, hold) = (self.tx.is_ready(now), self.received == Some(Primitive::Hold));
        match self.tx.answer.next_state(self.state, now, ready, hold) {
            State::RcvrHold => {
                self.steady = now.after(1);
                self.tx.answer.clear();
                self.enter(State::RcvrHold);
                return self.primitive(now, Primitive::Holda);
            }
            State::SendHold => {
                if self.state == State::SendData {
                    self.steady = now.after(1);
                    // LT5 decides by what is received when data are ready; a HOLD that has ended by
                    // then is not answered.
                    self.tx.answer.clear();
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
        self.enter(if self.tx.is_last() { State::SendCrc } else { State::SendData });
        self.record_dword(now);
        self.traffic.data += 1;
        Dword::Data(self.tx.dword(agent, now))
    }

    #[inline]
    fn record_dword(&mut self, now: Tick) {
        if self.recorder.is_none() {
            return;
        }
        let item = match self.tx.outgoing {
            Some(Outgoing::Fis(fis)) => Item::Fis(fis),
            _ if self.tx.in_payload() => Item::Data,
            _ => Item::Header,
        };
        self.record(now, item);
    }

    pub(super) fn emit_crc(&mut self, now: Tick) -> Dword {
        self.active = true;
        if let Some(primitive) = self.before_data(now) {
            return primitive;
        }
        self.enter(State::SendEof);
        self.record(now, Item::Crc);
        self.traffic.data += 1;
        Dword::Data(self.tx.crc())
    }

    #[inline]
    pub(super) fn receive_as_sender<A: Agent>(&mut self, agent: &mut A, now: Tick, dword: Dword) {
        use Dword::Primitive as P;
        use Primitive::{Dmat, Hold, RErr, ROk, Sync};
        match (self.state, dword) {
            (_, P(Sync)) => self.conclude(agent, now, Outcome::Escaped),
            (State::Wait, P(ROk)) => self.succeed(agent, now),
            (State::Wait, P(RErr)) => self.conclude(agent, now, Outcome::Refused),
            (State::SendData | State::RcvrHold | State::SendHold, P(Dmat)) => self.terminate(),
            (State::SendData, P(Hold)) => self.tx.answer.receive(&self.end, now),
            (State::SendData, _) => self.tx.answer.clear(),
            (State::RcvrHold, P(Hold) | Dword::Invalid) => {}
            (State::RcvrHold, _) => self.enter(State::SendData),
            _ => {}
        }
    }

    /// Ends a Data FIS early, as the receiver's DMAT requests. Other FISes ignore DMAT.
    fn terminate(&mut self) {
        if matches!(self.tx.outgoing, Some(Outgoing::Data(_))) {
            self.tx.terminated = true;
            self.enter(State::SendCrc);
        }
    }

    fn succeed<A: Agent>(&mut self, agent: &mut A, now: Tick) {
        let outcome = if self.tx.terminated { Outcome::Escaped } else { Outcome::Accepted };
        self.conclude(agent, now, outcome);
    }

    /// Ends the frame with `outcome`: it is retried, or the agent is informed.
    pub(super) fn conclude<A: Agent>(&mut self, agent: &mut A, now: Tick, outcome: Outcome) {
        let outgoing = self.tx.outgoing.take();
        self.enter(State::Idle);
        if self.tx.retry.after(outgoing, outcome) {
            self.counters.retries += 1;
        } else {
            agent.sent(now, outcome);
        }
    }
}
