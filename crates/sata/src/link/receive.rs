//! Reception of a frame: from SOF to the answer, with the receive FIFO.
//!
//! Layer: the states LR3 to LR9 of a link layer. Main type: [`LinkLayer`].
//!
//! Source: Serial ATA Revision 3, 9.7.3.

use super::frame::RxKind;
use super::layer::LinkLayer;
use super::state::State;
use super::transport;
use crate::agent::{Agent, Reception};
use crate::wire::fis::Fis;
use crate::wire::{Dword, Primitive, Tick};

impl LinkLayer {
    #[inline]
    pub(super) fn receive_as_receiver<A: Agent>(&mut self, agent: &mut A, now: Tick, dword: Dword) {
        use Dword::Primitive as P;
        use Primitive::{Eof, Hold, Sync, Wtrm};
        if let Dword::Data(dword) = dword {
            return self.receive_dword(agent, now, dword);
        }
        match (self.state, dword) {
            (_, P(Eof)) => self.end_of_frame(agent, now),
            (_, P(Sync)) => self.discard(agent, now, State::Idle),
            (_, P(Wtrm)) => self.discard(agent, now, State::BadEnd),
            (State::RcvData, P(Hold)) => self.enter(State::RcvHold),
            (State::RcvHold, P(Hold)) => {}
            (State::RcvHold, _) => self.enter(State::RcvData),
            _ => {}
        }
    }

    #[inline]
    fn receive_dword<A: Agent>(&mut self, agent: &mut A, now: Tick, dword: u32) {
        self.active = true;
        if self.rx.dword(agent, now, dword, &self.end) {
            self.counters.overflows += 1;
        }
        self.counters.fullest = self.counters.fullest.max(self.rx.fill());
        if self.state == State::RcvHold {
            self.enter(State::RcvData);
        }
    }

    fn end_of_frame<A: Agent>(&mut self, agent: &mut A, now: Tick) {
        if !self.rx.complete() {
            return self.discard(agent, now, State::BadEnd);
        }
        self.enter(State::RcvEof);
        if self.rx.kind == RxKind::Fis {
            let answer = match Fis::parse(&self.rx.words) {
                Ok(fis) => agent.received(now, &fis),
                Err(_) => Reception::Refuse,
            };
            self.answer(answer);
        }
    }

    fn answer(&mut self, answer: Reception) {
        match answer {
            Reception::Accept => self.enter(State::GoodEnd),
            Reception::Refuse => {
                self.counters.refusals += 1;
                self.enter(State::BadEnd);
            }
        }
    }

    /// Discards the frame in progress: it is damaged, or the other end aborted it.
    pub(super) fn discard<A: Agent>(&mut self, agent: &mut A, now: Tick, next: State) {
        if self.rx.kind == RxKind::Data {
            self.rx.deliver(agent);
            let _refused = transport::end(agent, now, false);
        }
        if next == State::BadEnd {
            self.counters.refusals += 1;
        }
        self.rx.begin();
        self.enter(next);
    }

    /// Lets the agent take from the FIFO. Its fill decides about HOLD; when it is empty after EOF, the
    /// frame is answered.
    #[inline]
    pub(super) fn drain_fifo<A: Agent>(&mut self, agent: &mut A, now: Tick) {
        if self.rx.kind != RxKind::Data {
            return;
        }
        self.active |= self.rx.drain(agent, now);
        let holding = self.state == State::Hold;
        let holds = self.end.holds(holding, self.rx.fill());
        match self.state {
            State::RcvData | State::RcvHold if holds => self.enter(State::Hold),
            State::Hold if !holds => {
                let held = self.received == Some(Primitive::Hold);
                self.enter(if held { State::RcvHold } else { State::RcvData });
            }
            State::RcvEof if self.rx.is_drained() => {
                self.rx.deliver(agent);
                let answer = transport::end(agent, now, true);
                self.answer(answer);
            }
            _ => {}
        }
    }
}
