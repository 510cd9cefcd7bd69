//! Frames that come: SOF to EOF, and the receive FIFO.
//!
//! Layer: the half of a link layer's state machine that receives, LR3 to LR9. Main type: [`Station`].
//!
//! Source: Serial ATA Revision 3, 9.7.3.

use super::frame::Incoming;
use super::state::State;
use super::station::{Heard, Station};
use super::transport;
use crate::agent::{Agent, Reception};
use crate::wire::fis::Fis;
use crate::wire::{Primitive, Tick};

impl Station {
    #[inline]
    pub(super) fn hear_receiving<A: Agent>(&mut self, agent: &mut A, now: Tick, heard: Heard) {
        use Heard::Primitive as P;
        use Primitive::{Eof, Hold, Sync, Wtrm};
        if let Heard::Data(dword) = heard {
            return self.dword(agent, now, dword);
        }
        match (self.state, heard) {
            (_, P(Eof)) => self.frame_ended(agent, now),
            (_, P(Sync)) => self.lose_frame(agent, now, State::Idle),
            (_, P(Wtrm)) => self.lose_frame(agent, now, State::BadEnd),
            (State::RcvData, P(Hold)) => self.enter(State::RcvHold),
            (State::RcvHold, P(Hold)) => {}
            (State::RcvHold, _) => self.enter(State::RcvData),
            _ => {}
        }
    }

    #[inline]
    fn dword<A: Agent>(&mut self, agent: &mut A, now: Tick, dword: u32) {
        self.active = true;
        if self.receiving.dword(agent, now, dword, &self.end) {
            self.tally.overflows += 1;
        }
        self.tally.fullest = self.tally.fullest.max(self.receiving.fill());
        if self.state == State::RcvHold {
            self.enter(State::RcvData);
        }
    }

    fn frame_ended<A: Agent>(&mut self, agent: &mut A, now: Tick) {
        if !self.receiving.complete() {
            return self.lose_frame(agent, now, State::BadEnd);
        }
        self.enter(State::RcvEof);
        if self.receiving.kind == Incoming::Fis {
            let answer = match Fis::parse(&self.receiving.words) {
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
                self.tally.refusals += 1;
                self.enter(State::BadEnd);
            }
        }
    }

    /// The frame is bad, or was given up.
    pub(super) fn lose_frame<A: Agent>(&mut self, agent: &mut A, now: Tick, next: State) {
        if self.receiving.kind == Incoming::Data {
            self.receiving.give(agent);
            let _refused = transport::end(agent, now, false);
        }
        if next == State::BadEnd {
            self.tally.refusals += 1;
        }
        self.receiving.begin();
        self.enter(next);
    }

    /// The agent takes from the FIFO; HOLD follows its fill, and the answer its end.
    #[inline]
    pub(super) fn work_fifo<A: Agent>(&mut self, agent: &mut A, now: Tick) {
        if self.receiving.kind != Incoming::Data {
            return;
        }
        self.active |= self.receiving.drain(agent, now);
        let holding = self.state == State::Hold;
        let holds = self.end.holds(holding, self.receiving.fill());
        match self.state {
            State::RcvData | State::RcvHold if holds => self.enter(State::Hold),
            State::Hold if !holds => {
                let held = self.seen == Some(Primitive::Hold);
                self.enter(if held { State::RcvHold } else { State::RcvData });
            }
            State::RcvEof if self.receiving.is_drained() => {
                self.receiving.give(agent);
                let answer = transport::end(agent, now, true);
                self.answer(answer);
            }
            _ => {}
        }
    }
}
