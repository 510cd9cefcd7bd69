//! A link layer: its state, what it sends in a tick, and what it makes of the dword that arrives.
//!
//! Layer: the state machine of one end, driven tick by tick by the engine. Main types: [`Station`],
//! [`Tally`]. This file has what is sent, idle times and the hand-over of the link; frames that go out
//! are in `sending`, frames that come in `receiving`.
//!
//! Source: Serial ATA Revision 3, 9.7.

use super::frame::{Receiving, Sending};
use super::lane::{Lane, Symbol};
use super::state::State;
use super::trace::{Item, Recorder};
use super::transport::Retry;
use super::{End, Side, timeout};
use crate::agent::{Agent, Outcome, Outgoing};
use crate::wire::cont::{Dword, Expander, Suppressor};
use crate::wire::{Primitive, Tick};

/// What an end has met so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Tally {
    /// SOFs sent.
    pub frames: u64,
    /// FISes that were sent again after R_ERR or SYNC.
    pub retries: u64,
    /// Frames of the other end that it took although it had one to send itself.
    pub collisions: u64,
    /// Frames that were answered with R_ERR.
    pub refusals: u64,
    /// Dwords for which its receive FIFO had no room. The frame was refused then.
    pub overflows: u64,
    /// The most dwords that its receive FIFO has held, the one in its last register included.
    pub fullest: u32,
}

/// What went out on a lane, as it was on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Census {
    /// ALIGNs.
    pub aligns: u64,
    /// Other primitives, CONT among them.
    pub primitives: u64,
    /// Filler after CONT.
    pub fillers: u64,
    /// Dwords of frames.
    pub data: u64,
}

/// What an end heard: a dword that arrived, without ALIGNs and with CONT resolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Heard {
    Data(u32),
    Primitive(Primitive),
    Invalid,
}

/// One end's link layer.
#[derive(Debug, Clone)]
pub(super) struct Station {
    pub(super) side: Side,
    pub(super) end: End,
    pub(super) state: State,
    /// The primitive that arrived last; `None` after a data dword.
    pub(super) seen: Option<Primitive>,
    /// SYNC was sent since it became idle.
    rested: bool,
    /// SYNC was heard in that time. What comes after it does not matter, unless it is X_RDY: filler whose CONT
    /// was lost would shut the end off for good.
    cleared: bool,
    /// Since when it has sent nothing but payload or nothing but R_IP, ALIGNs aside.
    pub(super) plain: Tick,
    /// Its way to the other end.
    pub(super) lane: Lane,
    suppressor: Suppressor,
    pub(super) expander: Expander,
    pub(super) sending: Sending,
    pub(super) receiving: Receiving,
    /// Something other than repetition happened in this tick.
    pub(super) active: bool,
    pub(super) tally: Tally,
    pub(super) census: Census,
    pub(super) recorder: Option<Recorder>,
}

impl Station {
    pub(super) fn new(side: Side, end: End) -> Self {
        Self {
            side,
            end,
            state: State::Idle,
            seen: Some(Primitive::Sync),
            rested: false,
            cleared: true,
            plain: Tick::ZERO,
            lane: Lane::new(end.latency),
            suppressor: Suppressor::new(),
            expander: Expander::new(),
            sending: Sending::new(),
            receiving: Receiving::new(),
            active: true,
            tally: Tally::default(),
            census: Census::default(),
            recorder: None,
        }
    }

    /// The link goes down: whatever was under way is forgotten.
    pub(super) fn go_down(&mut self) {
        self.enter(State::NoComm);
        (self.sending.outgoing, self.sending.retry) = (None, Retry::default());
        self.receiving.begin();
    }

    /// The link is up.
    pub(super) fn come_up(&mut self) {
        self.enter(State::Idle);
        (self.seen, self.cleared) = (Some(Primitive::Sync), true);
        (self.suppressor, self.expander) = (Suppressor::new(), Expander::new());
        self.lane.clear();
    }

    #[inline]
    pub(super) fn enter(&mut self, state: State) {
        self.state = state;
        (self.rested, self.cleared) = (false, false);
        self.active = true;
    }

    /// Whether nothing is to be done at this end but to ask its agent.
    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.state == State::Idle && self.rested && self.cleared
    }

    /// What is sent at `now`, which does not carry ALIGN.
    #[inline]
    pub(super) fn emit<A: Agent>(&mut self, agent: &mut A, now: Tick) -> Symbol {
        if !matches!(self.state, State::SendData | State::RcvData) {
            self.plain = now.after(1);
        }
        match self.state {
            State::NoComm => self.nothing(now),
            State::SendSof => self.emit_sof(agent, now),
            State::SendData | State::SendHold => self.emit_data(agent, now),
            State::SendCrc => self.emit_crc(now),
            State::SendEof => {
                self.enter(State::Wait);
                self.primitive(now, Primitive::Eof)
            }
            State::RcvData if self.receiving.overlong => {
                self.plain = now.after(1);
                self.primitive(now, Primitive::Dmat)
            }
            state => {
                self.rested = true;
                let primitive = state.primitive().expect("states without one are above");
                self.primitive(now, primitive)
            }
        }
    }

    /// ALIGN is sent, or nothing while the link is down, which is the same to a receiver.
    pub(super) fn align(&mut self, now: Tick) {
        self.census.aligns += u64::from(self.state != State::NoComm);
        self.lane.send(now, Symbol::Primitive(Primitive::Align));
    }

    /// What is sent now goes on for so many dwords, with so many ALIGNs between them.
    pub(super) fn repeat(&mut self, slots: u64, aligns: u64) {
        let Some(primitive) = self.state.primitive() else {
            return;
        };
        self.census.aligns += aligns;
        if self.end.continues && primitive.continues() {
            self.census.fillers += slots;
        } else {
            self.census.primitives += slots;
        }
    }

    /// The first tick from `now` to `limit` at which agent or gates may do something while nothing new is
    /// heard; `limit` if there is none.
    pub(super) fn next_event<A: Agent>(&self, agent: &A, now: Tick, limit: Tick) -> Tick {
        let gate = match self.state {
            // It may have opened while ALIGNs went.
            State::SendHold => self.sending.gate.at.max(now),
            // A gate that is open already is not what is waited for.
            state if state.receives() || state == State::RcvEof => match self.receiving.gate.at {
                at if at < now => limit,
                at => at,
            },
            _ => limit,
        };
        let gate = gate.min(limit);
        let wake = agent.wake();
        match wake < now {
            false => gate.min(wake),
            true if self.state == State::Idle => now,
            true => timeout::first_abort(agent, now, gate).unwrap_or(gate),
        }
    }

    #[inline]
    pub(super) fn note(&mut self, now: Tick, item: Item) {
        if let Some(recorder) = &mut self.recorder {
            recorder.note(now, item);
        }
    }

    fn nothing(&mut self, now: Tick) -> Symbol {
        self.note(now, Item::Nothing);
        Symbol::Primitive(Primitive::Align)
    }

    /// Sends `primitive`, or CONT or filler in its place.
    #[inline]
    pub(super) fn primitive(&mut self, now: Tick, primitive: Primitive) -> Symbol {
        self.note(now, Item::Primitive(primitive));
        if !self.end.continues {
            self.census.primitives += 1;
            return Symbol::Primitive(primitive);
        }
        match self.suppressor.primitive(primitive) {
            Dword::Primitive(primitive) => {
                self.census.primitives += 1;
                Symbol::Primitive(primitive)
            }
            Dword::Data(filler) => {
                self.census.fillers += 1;
                Symbol::Data(filler)
            }
        }
    }

    /// What has to be sent before a data dword, so that it is not taken for filler.
    #[inline]
    pub(super) fn before_data(&mut self, now: Tick) -> Option<Symbol> {
        if !self.end.continues {
            return None;
        }
        match self.suppressor.data(0) {
            Dword::Data(_) => None,
            Dword::Primitive(primitive) => {
                self.plain = now.after(1);
                self.census.primitives += 1;
                self.note(now, Item::Primitive(primitive));
                Some(Symbol::Primitive(primitive))
            }
        }
    }

    /// What arrives at `now`.
    #[inline]
    pub(super) fn arrive<A: Agent>(&mut self, agent: &mut A, now: Tick, symbol: Symbol) {
        let heard = match symbol {
            Symbol::Primitive(Primitive::Align) => None,
            Symbol::Invalid => Some(Heard::Invalid),
            Symbol::Data(word) => Some(self.expand(Dword::Data(word))),
            Symbol::Primitive(primitive) => Some(self.expand(Dword::Primitive(primitive))),
        };
        if let Some(heard) = heard {
            self.seen = match heard {
                Heard::Primitive(primitive) => Some(primitive),
                Heard::Data(_) | Heard::Invalid => None,
            };
            self.hear(agent, now, heard);
            self.cleared |= heard == Heard::Primitive(Primitive::Sync);
        }
        if self.state.receives() || self.state == State::RcvEof {
            self.work_fifo(agent, now);
        }
    }

    #[inline]
    fn expand(&mut self, dword: Dword) -> Heard {
        match self.expander.dword(dword) {
            Dword::Data(word) => Heard::Data(word),
            Dword::Primitive(primitive) => Heard::Primitive(primitive),
        }
    }

    #[inline]
    fn hear<A: Agent>(&mut self, agent: &mut A, now: Tick, heard: Heard) {
        use Heard::Primitive as P;
        use Primitive::{RRdy, Sof, Sync, XRdy};
        if self.state.receives() {
            return self.hear_receiving(agent, now, heard);
        }
        if self.state.sends() {
            return self.hear_sending(agent, now, heard);
        }
        match (self.state, heard) {
            (State::Idle | State::SyncEscape, P(XRdy)) => self.enter(State::RcvChkRdy),
            (State::SyncEscape | State::GoodEnd | State::BadEnd, P(Sync)) => {
                self.enter(State::Idle);
            }
            (State::SendChkRdy, P(RRdy)) => self.enter(State::SendSof),
            (State::SendChkRdy, P(XRdy)) if self.side == Side::Host => {
                self.tally.collisions += 1;
                self.enter(State::RcvChkRdy);
            }
            (State::RcvChkRdy, P(Sof)) => {
                self.receiving.begin();
                self.enter(State::RcvData);
            }
            (State::RcvChkRdy, P(XRdy)) => {}
            (State::RcvChkRdy, _) => {
                // The X_RDY was none. No answer of this end is waited for, so neither is SYNC.
                self.enter(State::Idle);
                self.cleared = true;
            }
            (State::RcvEof, P(Sync)) => self.lose_frame(agent, now, State::Idle),
            _ => {}
        }
    }

    /// What the end will send: asks the agent, where the link is free. True if the link is to be reset.
    #[inline]
    pub(super) fn decide<A: Agent>(&mut self, agent: &mut A, now: Tick) -> bool {
        if !self.is_free() {
            return self.poll(agent, now);
        }
        if let Some(fis) = self.sending.retry.pending() {
            self.sending.outgoing = Some(Outgoing::Fis(fis));
            self.enter(State::SendChkRdy);
            return false;
        }
        if agent.wake() > now {
            return false;
        }
        self.active = true;
        match agent.next(now) {
            None => false,
            Some(Outgoing::Reset) => true,
            outgoing => {
                self.sending.outgoing = outgoing;
                self.enter(State::SendChkRdy);
                false
            }
        }
    }

    /// Whether the agent gives up what hangs: asked at its wake, and after that once in 256 ticks.
    #[inline]
    fn poll<A: Agent>(&self, agent: &mut A, now: Tick) -> bool {
        self.state != State::NoComm
            && timeout::is_asked(agent.wake(), now)
            && agent.requests_reset(now)
            && agent.next(now) == Some(Outgoing::Reset)
    }

    /// The transport gives up what is under way.
    pub(super) fn escape<A: Agent>(&mut self, agent: &mut A, now: Tick) {
        match self.state {
            State::NoComm | State::Idle => return,
            state if state.sends() => self.conclude(agent, now, Outcome::Escaped),
            state if state.receives() => self.lose_frame(agent, now, State::Idle),
            State::RcvEof => self.lose_frame(agent, now, State::Idle),
            _ => {}
        }
        self.enter(State::SyncEscape);
    }
}
