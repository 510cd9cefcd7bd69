//! The FIS engine: the ticks of the dword engine, computed in one step per FIS.
//!
//! Layer: beside [`crate::link`], below the agents, which it drives in the same way. Main type:
//! [`Engine`]. A frame is a short chain of sums:
//!
//! ```text
//!   sender    X_RDY.......... SOF hdr payload... CRC EOF WTRM........... SYNC......... idle
//!                   \       /                       \          /     \        /
//!   receiver  SYNC   R_RDY..........  R_IP.........   R_OK..........   SYNC idle
//! ```
//!
//! Each arrow takes the latency of the end where it begins. The answer is sent in the next slot after
//! its arrival; a slot is a tick without ALIGN ([`crate::wire::align`]). Only a data phase in which an
//! end waits needs more steps, a few for each HOLD (`flow`).
//!
//! The ticks are exactly those of the dword engine. Left out: faults of the wire, a trace of
//! primitives, and a stop within a frame: [`Engine::run`] completes a frame that it has begun.
//!
//! # What is shared with the dword engine
//! Both engines call the same functions for flow control (`link::hold`), retries and questions to the
//! agents (`link::transport`), and timeouts (`link::timeout`). The following stays separate:
//!
//! - The state machine. The dword engine takes a transition for each dword received, which a fault may
//!   have changed: R_ERR, DMAT, SYNC, a lost EOF. Here nothing is damaged, so the sequence of a frame's
//!   primitives is known, and only the tick of each has to be computed.
//! - Reception. The dword engine counts the fill of the FIFO tick by tick. Here the fill is a piecewise
//!   linear function of time, solved for the tick at which it reaches the next threshold.
//! - Payload. In the dword engine each end has its own copy, since the payload is scrambled and perhaps
//!   damaged in between. Here one buffer, or one description, serves both ends (`payload`).
//! - Arbitration. In the dword engine the X_RDY of both ends meet. Here the earlier wake decides, and
//!   the latency of X_RDY says how long a device may still overtake the host.
//!
//! Source: Serial ATA Revision 3, 9.7 (link layer state machine), 9.4 (primitives).

mod closed;
mod flow;
mod payload;
mod receiver;
mod sender;

use crate::agent::{Agent, Outcome, Outgoing, Reception};
use crate::link::transport::{self, Retry};
use crate::link::{End, RESET, Side, Stop, Wiring};
use crate::shares::{Ledger, Shares};
use crate::wire::{Speed, Tick, align};
use flow::{Ends, Flow, reset_request};

/// An end and its agent.
#[derive(Debug, Clone)]
struct Port<A> {
    agent: A,
    end: End,
    /// The first tick in which it may begin to send.
    free: Tick,
    /// Its agent had nothing to send at its wake. Reset by the next frame in either direction.
    polled: bool,
    retry: Retry,
}

impl<A: Agent> Port<A> {
    fn new(agent: A, end: End) -> Self {
        Self { agent, end, free: Tick::ZERO, polled: false, retry: Retry::default() }
    }

    /// The tick at which it may have something to send.
    #[inline]
    fn wake(&self) -> Tick {
        if self.retry.pending().is_some() {
            return self.free;
        }
        match self.agent.wake() {
            wake if self.polled && wake <= self.free => Tick::NEVER,
            wake => wake.max(self.free),
        }
    }

    /// Returns what it sends at `now`, its wake.
    #[inline]
    fn next(&mut self, now: Tick) -> Option<Outgoing> {
        self.free = now;
        if let Some(fis) = self.retry.pending() {
            return Some(Outgoing::Fis(fis));
        }
        let next = self.agent.next(now);
        self.polled = next.is_none();
        next
    }

    /// Resets the end; the link is free at `free`.
    fn reset(&mut self, free: Tick) {
        (self.free, self.polled, self.retry) = (free, false, Retry::default());
    }
}

/// A link with an agent at each end.
#[derive(Debug, Clone)]
pub struct Engine<H, D> {
    speed: Speed,
    host: Port<H>,
    device: Port<D>,
    now: Tick,
    /// The frame in progress hangs, and no agent aborts it.
    hung: bool,
    flow: Flow,
    ledger: Ledger,
}

impl<H: Agent, D: Agent> Engine<H, D> {
    /// Creates a link that is up at tick 0.
    ///
    /// # Panics
    /// If `hold_from` of an end is zero or does not exceed its `hold_to`.
    #[must_use]
    pub fn new(wiring: Wiring, host: H, device: D) -> Self {
        for end in [wiring.host, wiring.device] {
            assert!(
                end.hold_from > end.hold_to,
                "fast::Engine: HOLD must end below where it begins"
            );
        }
        Self {
            speed: wiring.speed,
            host: Port::new(host, wiring.host),
            device: Port::new(device, wiring.device),
            now: Tick::ZERO,
            hung: false,
            flow: Flow::default(),
            ledger: Ledger::default(),
        }
    }

    /// The tick up to which the run has advanced.
    #[must_use]
    pub const fn now(&self) -> Tick {
        self.now
    }

    /// The division of the time up to [`Engine::now`].
    #[must_use]
    pub const fn shares(&self) -> Shares {
        self.ledger.at(self.now)
    }

    /// The host's agent.
    #[must_use]
    pub const fn host(&self) -> &H {
        &self.host.agent
    }

    /// The host's agent, mutable: to give it work.
    pub const fn host_mut(&mut self) -> &mut H {
        self.host.polled = false;
        &mut self.host.agent
    }

    /// The device's agent.
    #[must_use]
    pub const fn device(&self) -> &D {
        &self.device.agent
    }

    /// The device's agent, mutable.
    pub const fn device_mut(&mut self) -> &mut D {
        self.device.polled = false;
        &mut self.device.agent
    }

    /// Returns both agents.
    #[must_use]
    pub fn into_agents(self) -> (H, D) {
        (self.host.agent, self.device.agent)
    }

    /// Computes every data phase event by event, none in closed form: slower, with the same results.
    pub const fn step_by_events(&mut self, by_events: bool) {
        self.flow.by_events = by_events;
    }

    /// Runs until both ends are idle or `limit` is reached. A frame that began before `limit` is
    /// completed.
    pub fn run(&mut self, limit: Tick) -> Stop {
        if self.hung {
            match reset_request(&self.host.agent, self.now, limit.after(1)) {
                Some(at) => self.request_reset(at),
                None => return self.stop(limit),
            }
        }
        loop {
            let (host, device) = (self.host.wake(), self.device.wake());
            let first = host.min(device);
            if first >= limit || first == Tick::NEVER {
                return self.stop(limit);
            }
            if host <= device {
                if let Some(next) = self.host.next(host) {
                    self.host_begins(host, next);
                }
            } else if let Some(next) = self.device.next(device) {
                self.device_begins(device, next);
            }
            if self.hung {
                return self.stop(limit);
            }
        }
    }

    /// Stops: nothing happens before `limit`.
    fn stop(&mut self, limit: Tick) -> Stop {
        let idle = self.host.wake().min(self.device.wake()) == Tick::NEVER;
        if limit == Tick::NEVER || (idle && !self.hung) {
            return Stop::Idle;
        }
        self.now = self.now.max(limit);
        Stop::Limit
    }

    /// Begins a frame of the host, which requests the link at `start`. If the device requests the link
    /// before the host's X_RDY arrives, the host yields.
    fn host_begins(&mut self, start: Tick, what: Outgoing) {
        let seen = reply_arrives(start, self.host.end.latency);
        while what != Outgoing::Reset && self.device.wake() < seen {
            let wake = self.device.wake();
            if let Some(theirs) = self.device.next(wake) {
                return self.frame(Side::Device, wake, theirs);
            }
        }
        self.frame(Side::Host, start, what);
    }

    /// Begins a frame of the device, which requests the link at `start`. A host that requests it before
    /// that X_RDY arrives waits.
    fn device_begins(&mut self, start: Tick, what: Outgoing) {
        let seen = reply_arrives(start, self.device.end.latency);
        while self.host.wake() < seen {
            let wake = self.host.wake();
            match self.host.next(wake) {
                None => {}
                Some(Outgoing::Reset) => return self.reset(wake),
                Some(_) => break,
            }
        }
        self.frame(Side::Device, start, what);
    }

    fn frame(&mut self, sender: Side, start: Tick, what: Outgoing) {
        self.ledger.idle(start);
        let carrier = Carrier { flow: &mut self.flow, ledger: &mut self.ledger };
        let ended = match sender {
            _ if what == Outgoing::Reset => return self.reset(start),
            Side::Host => carrier.carry(&mut self.host, &mut self.device, start, what),
            Side::Device => carrier.carry(&mut self.device, &mut self.host, start, what),
        };
        match ended {
            Ok(now) => self.now = now,
            Err(Tick::NEVER) => self.hung = true,
            Err(at) => self.request_reset(at),
        }
    }

    /// Lets the host, if it still wants to, reset the link on which a frame hangs.
    fn request_reset(&mut self, at: Tick) {
        let gives = self.host.agent.next(at) == Some(Outgoing::Reset);
        self.hung = !gives;
        if gives {
            self.reset(at);
        }
    }

    /// Resets the link at `at`.
    fn reset(&mut self, at: Tick) {
        self.now = at.after(self.speed.ticks_in(RESET));
        self.ledger.idle(self.now);
        let free = align::settle(self.now);
        self.host.reset(free);
        self.device.reset(free);
        self.host.agent.reset(self.now);
        self.device.agent.reset(self.now);
    }
}

/// The parts of the engine besides its ends that a frame needs.
struct Carrier<'a> {
    flow: &'a mut Flow,
    ledger: &'a mut Ledger,
}

/// The tick at which the answer to what arrived at `seen` arrives in turn, over `latency`.
#[inline]
fn reply_arrives(seen: Tick, latency: u32) -> Tick {
    align::settle(seen.after(1)).after(u64::from(latency))
}

impl Carrier<'_> {
    /// Carries a frame that `from` begins at `start`. Returns when both ends are free again; the error
    /// of a frame that never ends is the tick at which an agent aborts it.
    #[inline]
    fn carry<S: Agent, R: Agent>(
        self,
        from: &mut Port<S>,
        to: &mut Port<R>,
        start: Tick,
        what: Outgoing,
    ) -> Result<Tick, Tick> {
        let seen = reply_arrives(start, from.end.latency);
        let ready = reply_arrives(seen, to.end.latency);
        let sof = align::slots_before(ready.after(1));
        match what {
            Outgoing::Fis(fis) => {
                // SOF is followed by the FIS, its CRC and EOF.
                let eof = align::tick_of(sof + u64::from(fis.dwords()) + 2);
                let came = eof.after(u64::from(from.end.latency));
                let reception = to.agent.received(came, &fis);
                let free = acknowledge(from, to, came, reception, what);
                self.ledger.turn(from.free);
                Ok(free)
            }
            Outgoing::Data(dwords) => self.carry_data(from, to, dwords, sof),
            Outgoing::Reset => Ok(start),
        }
    }

    /// Carries a Data FIS whose SOF is sent in slot `sof`.
    #[inline]
    fn carry_data<S: Agent, R: Agent>(
        self,
        from: &mut Port<S>,
        to: &mut Port<R>,
        dwords: u32,
        sof: u64,
    ) -> Result<Tick, Tick> {
        let latency = u64::from(from.end.latency);
        let mut ends = Ends {
            from: from.end,
            to: to.end,
            forward: latency,
            backward: u64::from(to.end.latency),
            checked: align::tick_of(sof),
            sender: &mut from.agent,
            receiver: &mut to.agent,
        };
        let completion = self.flow.pass(&mut ends, dwords, sof)?;
        let reception = transport::end(&mut to.agent, completion.taken, completion.good);
        let known = reply_arrives(completion.taken, to.end.latency);
        if let Some(at) = reset_request(&from.agent, completion.taken, known) {
            return Err(at);
        }
        let free = acknowledge(from, to, completion.taken, reception, Outgoing::Data(dwords));
        // Slots between SOF and EOF without a dword, and the wait after EOF.
        let came = align::tick_of(completion.eof).after(latency);
        let waited = align::slots_before(completion.taken) - align::slots_before(came);
        let stood = completion.eof - sof - u64::from(dwords) - 3;
        self.ledger.data(from.free, dwords, stood + waited);
        Ok(free)
    }
}

/// Acknowledges a frame: the receiver answers at `came`, and after the answer has arrived both ends
/// send SYNC. Returns when both are free.
#[inline]
fn acknowledge<S: Agent, R: Agent>(
    from: &mut Port<S>,
    to: &mut Port<R>,
    came: Tick,
    reception: Reception,
    frame: Outgoing,
) -> Tick {
    let known = reply_arrives(came, to.end.latency);
    let over = reply_arrives(known, from.end.latency);
    // An end is free when it has sent and received SYNC.
    to.free = align::settle(over.after(1));
    from.free = reply_arrives(over, to.end.latency);
    (from.polled, to.polled) = (false, false);
    let outcome = match reception {
        Reception::Accept => Outcome::Accepted,
        Reception::Refuse => Outcome::Refused,
    };
    if !from.retry.after(Some(frame), outcome) {
        from.agent.sent(known, outcome);
    }
    from.free
}
