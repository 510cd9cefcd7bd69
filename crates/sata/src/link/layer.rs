//! The link layer of one end: its state, what it sends in a tick, and how it handles the dword that
//! arrives.
//!
//! Layer: the state machine of one end, which the engine drives tick by tick. Main types:
//! [`LinkLayer`], [`Counters`], [`Traffic`]. This file contains idle states and the arbitration of the
//! link; `transmit` contains the states that send a frame, `receive` those that receive one.
//!
//! Source: Serial ATA Revision 3, 9.7.

use super::frame::{RxFrame, TxFrame};
use super::lane::Lane;
use super::state::State;
use super::trace::{Item, Recorder};
use super::transport::Retry;
use super::{End, Side, timeout};
use crate::agent::{Agent, Outcome, Outgoing};
use crate::wire::cont::{Expander, Suppressor};
use crate::wire::{Dword, Primitive, Tick};

/// The event counters of an end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Counters {
    /// SOFs sent.
    pub frames: u64,
    /// Retries of FISes after R_ERR or SYNC.
    pub retries: u64,
    /// Frames of the other end that this end received first, although it had requested the link itself.
    pub collisions: u64,
    /// Frames answered with R_ERR.
    pub refusals: u64,
    /// Dwords for which the receive FIFO had no room. Their frames were refused.
    pub overflows: u64,
    /// The highest fill of the receive FIFO in dwords, including the register behind it.
    pub fullest: u32,
}

/// The numbers of dwords that an end has sent on the wire.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Traffic {
    /// ALIGNs.
    pub aligns: u64,
    /// Other primitives, including CONT.
    pub primitives: u64,
    /// Filler after CONT.
    pub fillers: u64,
    /// Dwords of frames.
    pub data: u64,
}

/// The link layer of an end.
#[derive(Debug, Clone)]
pub(super) struct LinkLayer {
    pub(super) side: Side,
    pub(super) end: End,
    pub(super) state: State,
    /// The primitive received last; `None` after a data dword.
    pub(super) received: Option<Primitive>,
    /// SYNC was sent since this state was entered.
    sync_sent: bool,
    /// SYNC was received since this state was entered. What follows it is ignored unless it is X_RDY:
    /// filler whose CONT was lost would otherwise block the end for ever.
    sync_received: bool,
    /// The tick since which this end has sent nothing but payload, or nothing but R_IP, ALIGNs aside.
    pub(super) steady: Tick,
    /// The delay line to the other end.
    pub(super) lane: Lane,
    suppressor: Suppressor,
    pub(super) expander: Expander,
    pub(super) tx: TxFrame,
    pub(super) rx: RxFrame,
    /// Something other than a repetition happened in this tick.
    pub(super) active: bool,
    pub(super) counters: Counters,
    pub(super) traffic: Traffic,
    pub(super) recorder: Option<Recorder>,
}

impl LinkLayer {
    pub(super) fn new(side: Side, end: End) -> Self {
        Self {
            side,
            end,
            state: State::Idle,
            received: Some(Primitive::Sync),
            sync_sent: false,
            sync_received: true,
            steady: Tick::ZERO,
            lane: Lane::new(end.latency),
            suppressor: Suppressor::new(),
            expander: Expander::new(),
            tx: TxFrame::new(),
            rx: RxFrame::new(),
            active: true,
            counters: Counters::default(),
            traffic: Traffic::default(),
            recorder: None,
        }
    }

    /// Takes the link down, and drops the frames in progress.
    pub(super) fn go_down(&mut self) {
        self.enter(State::NoComm);
        (self.tx.outgoing, self.tx.retry) = (None, Retry::default());
        self.rx.begin();
    }

    /// Brings the link up.
    pub(super) fn come_up(&mut self) {
        self.enter(State::Idle);
        (self.received, self.sync_received) = (Some(Primitive::Sync), true);
        (self.suppressor, self.expander) = (Suppressor::new(), Expander::new());
        self.lane.clear();
    }

    #[inline]
    pub(super) fn enter(&mut self, state: State) {
        self.state = state;
        (self.sync_sent, self.sync_received) = (false, false);
        self.active = true;
    }

    /// Whether this end has nothing to do but to ask its agent.
    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.state == State::Idle && self.sync_sent && self.sync_received
    }

    /// Returns the dword sent at `now`, which does not carry ALIGN.
    #[inline]
    pub(super) fn emit<A: Agent>(&mut self, agent: &mut A, now: Tick) -> Dword {
        if !matches!(self.state, State::SendData | State::RcvData) {
            self.steady = now.after(1);
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
            State::RcvData if self.rx.overlong => {
                self.steady = now.after(1);
                self.primitive(now, Primitive::Dmat)
            }
            state => {
                self.sync_sent = true;
                let primitive = state.primitive().expect("states without one are above");
                self.primitive(now, primitive)
            }
        }
    }

    /// Sends ALIGN; or nothing while the link is down, which a receiver cannot distinguish.
    pub(super) fn align(&mut self, now: Tick) {
        self.traffic.aligns += u64::from(self.state != State::NoComm);
        self.lane.send(now, Dword::Primitive(Primitive::Align));
    }

    /// Counts repetitions of what is sent now: `slots` dwords, and `aligns` ALIGNs between them.
    pub(super) fn repeat(&mut self, slots: u64, aligns: u64) {
        let Some(primitive) = self.state.primitive() else {
            return;
        };
        self.traffic.aligns += aligns;
        if self.end.cont && primitive.is_repeatable() {
            self.traffic.fillers += slots;
        } else {
            self.traffic.primitives += slots;
        }
    }

    /// The first tick from `now` to `limit` at which agent or gates may do something while only
    /// repetitions are received; `limit` if there is none.
    pub(super) fn next_event<A: Agent>(&self, agent: &A, now: Tick, limit: Tick) -> Tick {
        let gate = match self.state {
            // The gate may have opened during ALIGNs.
            State::SendHold => self.tx.gate.at.max(now),
            // A gate that is already open changes nothing.
            state if state.receives() || state == State::RcvEof => match self.rx.gate.at {
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
            true => timeout::first_request(agent, now, gate).unwrap_or(gate),
        }
    }

    #[inline]
    pub(super) fn record(&mut self, now: Tick, item: Item) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(now, item);
        }
    }

    fn nothing(&mut self, now: Tick) -> Dword {
        self.record(now, Item::Nothing);
        Dword::Primitive(Primitive::Align)
    }

    /// Sends `primitive`, or CONT or filler in its place.
    #[inline]
    pub(super) fn primitive(&mut self, now: Tick, primitive: Primitive) -> Dword {
        self.record(now, Item::Primitive(primitive));
        if !self.end.cont {
            self.traffic.primitives += 1;
            return Dword::Primitive(primitive);
        }
        let dword = self.suppressor.primitive(primitive);
        match dword {
            Dword::Data(_) => self.traffic.fillers += 1,
            Dword::Primitive(_) | Dword::Invalid => self.traffic.primitives += 1,
        }
        dword
    }

    /// Returns the primitive that must be sent before a data dword, so that the receiver does not take
    /// the data for filler.
    #[inline]
    pub(super) fn before_data(&mut self, now: Tick) -> Option<Dword> {
        if !self.end.cont {
            return None;
        }
        let Dword::Primitive(primitive) = self.suppressor.data(0) else {
            return None;
        };
        self.steady = now.after(1);
        self.traffic.primitives += 1;
        self.record(now, Item::Primitive(primitive));
        Some(Dword::Primitive(primitive))
    }

    /// Handles the dword that arrives at `now`.
    #[inline]
    pub(super) fn arrive<A: Agent>(&mut self, agent: &mut A, now: Tick, symbol: Dword) {
        if symbol != Dword::Primitive(Primitive::Align) {
            let dword = self.expander.dword(symbol);
            self.received = match dword {
                Dword::Primitive(primitive) => Some(primitive),
                Dword::Data(_) | Dword::Invalid => None,
            };
            self.receive(agent, now, dword);
            self.sync_received |= dword == Dword::Primitive(Primitive::Sync);
        }
        if self.state.receives() || self.state == State::RcvEof {
            self.drain_fifo(agent, now);
        }
    }

    #[inline]
    fn receive<A: Agent>(&mut self, agent: &mut A, now: Tick, dword: Dword) {
        use Dword::Primitive as P;
        use Primitive::{RRdy, Sof, Sync, XRdy};
        if self.state.receives() {
            return self.receive_as_receiver(agent, now, dword);
        }
        if self.state.sends() {
            return self.receive_as_sender(agent, now, dword);
        }
        match (self.state, dword) {
            (State::Idle | State::SyncEscape, P(XRdy)) => self.enter(State::RcvChkRdy),
            (State::SyncEscape | State::GoodEnd | State::BadEnd, P(Sync)) => {
                self.enter(State::Idle);
            }
            (State::SendChkRdy, P(RRdy)) => self.enter(State::SendSof),
            (State::SendChkRdy, P(XRdy)) if self.side == Side::Host => {
                self.counters.collisions += 1;
                self.enter(State::RcvChkRdy);
            }
            (State::RcvChkRdy, P(Sof)) => {
                self.rx.begin();
                self.enter(State::RcvData);
            }
            (State::RcvChkRdy, P(XRdy)) => {}
            (State::RcvChkRdy, _) => {
                // The X_RDY was a fault. The other end waits for no answer, so this end need not wait
                // for SYNC.
                self.enter(State::Idle);
                self.sync_received = true;
            }
            (State::RcvEof, P(Sync)) => self.discard(agent, now, State::Idle),
            _ => {}
        }
    }

    /// Decides what to send next: asks the agent if the link is free. Returns whether the link is to be
    /// reset.
    #[inline]
    pub(super) fn decide<A: Agent>(&mut self, agent: &mut A, now: Tick) -> bool {
        if !self.is_free() {
            return self.polls_reset(agent, now);
        }
        if let Some(fis) = self.tx.retry.pending() {
            self.tx.outgoing = Some(Outgoing::Fis(fis));
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
                self.tx.outgoing = outgoing;
                self.enter(State::SendChkRdy);
                false
            }
        }
    }

    /// Whether the agent, if it is asked at `now`, resets the link.
    #[inline]
    fn polls_reset<A: Agent>(&self, agent: &mut A, now: Tick) -> bool {
        self.state != State::NoComm
            && timeout::is_asked(agent.wake(), now)
            && agent.requests_reset(now)
            && agent.next(now) == Some(Outgoing::Reset)
    }

    /// Aborts what is in progress and sends SYNC, as on request of the transport.
    pub(super) fn sync_escape<A: Agent>(&mut self, agent: &mut A, now: Tick) {
        match self.state {
            State::NoComm | State::Idle => return,
            state if state.sends() => self.conclude(agent, now, Outcome::Escaped),
            state if state.receives() => self.discard(agent, now, State::Idle),
            State::RcvEof => self.discard(agent, now, State::Idle),
            _ => {}
        }
        self.enter(State::SyncEscape);
    }
}
