//! The FIS engine: the times of the dword engine, from one step a FIS.
//!
//! Layer: beside [`crate::link`], below the agents, which it drives in the same way. Main type: [`Engine`]. The
//! wire is free of errors. A frame is a handful of sums:
//!
//! ```text
//!   sender    X_RDY.......... SOF hdr payload... CRC EOF WTRM........... SYNC......... idle
//!                   \       /                       \          /     \        /
//!   receiver  SYNC   R_RDY..........  R_IP.........   R_OK..........   SYNC idle
//! ```
//!
//! Each arrow takes the latency of the end that it leaves, is answered in the tick after it came, and
//! goes in the next slot, which is a tick without ALIGN ([`crate::wire::align`]). Only a data phase in which
//! somebody waits needs more steps, some for every HOLD (`flow`).
//!
//! Where nothing goes wrong on the wire the ticks are those of the dword engine, one for one. Left out: faults
//! of the wire, primitives themselves (no trace), and stopping within a frame: [`Engine::run`] ends
//! a frame that it has begun.
//!
//! Source: Serial ATA Revision 3, 9.6 (link layer state machine), 9.4 (primitives).

mod closed;
mod flow;
mod load;
mod receiver;
mod sender;

use crate::agent::{Agent, Outcome, Outgoing, Reception};
use crate::link::transport::{self, Retry};
use crate::link::{End, RESET, Side, Stop, Wiring};
use crate::shares::{Ledger, Shares};
use crate::wire::{Speed, Tick, align};
use flow::{Ends, Flow, given_up};

/// One end and its agent.
#[derive(Debug, Clone)]
struct Port<A> {
    agent: A,
    end: End,
    /// The first tick in which it may begin to send.
    free: Tick,
    /// It was asked at its wake and had nothing; until something comes or goes.
    silent: bool,
    retry: Retry,
}

impl<A: Agent> Port<A> {
    fn new(agent: A, end: End) -> Self {
        Self { agent, end, free: Tick::ZERO, silent: false, retry: Retry::default() }
    }

    /// When it may have something to send.
    #[inline]
    fn wake(&self) -> Tick {
        if self.retry.pending().is_some() {
            return self.free;
        }
        match self.agent.wake() {
            wake if self.silent && wake <= self.free => Tick::NEVER,
            wake => wake.max(self.free),
        }
    }

    /// What it sends from `now` on, its wake.
    #[inline]
    fn next(&mut self, now: Tick) -> Option<Outgoing> {
        self.free = now;
        if let Some(fis) = self.retry.pending() {
            return Some(Outgoing::Fis(fis));
        }
        let next = self.agent.next(now);
        self.silent = next.is_none();
        next
    }

    /// The link was reset, and is free at `free`.
    fn reset(&mut self, free: Tick) {
        (self.free, self.silent, self.retry) = (free, false, Retry::default());
    }
}

/// A link with an agent at either end.
#[derive(Debug, Clone)]
pub struct Engine<H, D> {
    speed: Speed,
    host: Port<H>,
    device: Port<D>,
    now: Tick,
    /// A frame hangs, and nobody gives it up.
    hangs: bool,
    flow: Flow,
    ledger: Ledger,
}

impl<H: Agent, D: Agent> Engine<H, D> {
    /// A link that is up at tick 0.
    ///
    /// # Panics
    /// When a FIFO's `hold_from` is zero or not above its `hold_to`.
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
            hangs: false,
            flow: Flow::default(),
            ledger: Ledger::default(),
        }
    }

    /// The tick up to which everything has happened.
    #[must_use]
    pub const fn now(&self) -> Tick {
        self.now
    }

    /// Where the time went, up to [`Engine::now`].
    #[must_use]
    pub const fn shares(&self) -> Shares {
        self.ledger.at(self.now)
    }

    /// The host's agent.
    #[must_use]
    pub const fn host(&self) -> &H {
        &self.host.agent
    }

    /// The host's agent, which may be given something to do.
    pub const fn host_mut(&mut self) -> &mut H {
        self.host.silent = false;
        &mut self.host.agent
    }

    /// The device's agent.
    #[must_use]
    pub const fn device(&self) -> &D {
        &self.device.agent
    }

    /// The device's agent, which may be given something to do.
    pub const fn device_mut(&mut self) -> &mut D {
        self.device.silent = false;
        &mut self.device.agent
    }

    /// Takes the link apart.
    #[must_use]
    pub fn into_agents(self) -> (H, D) {
        (self.host.agent, self.device.agent)
    }

    /// Every data phase event by event, none in closed form: slower, and the same.
    pub const fn step_by_events(&mut self, by_events: bool) {
        self.flow.by_events = by_events;
    }

    /// Goes on until both ends are idle or `limit` has come; a frame that began before it is brought to
    /// its end.
    pub fn run(&mut self, limit: Tick) -> Stop {
        if self.hangs {
            match given_up(&self.host.agent, self.now, limit.after(1)) {
                Some(at) => self.give_up(at),
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
            if self.hangs {
                return self.stop(limit);
            }
        }
    }

    /// Nothing happens before `limit`.
    fn stop(&mut self, limit: Tick) -> Stop {
        let idle = self.host.wake().min(self.device.wake()) == Tick::NEVER;
        if limit == Tick::NEVER || (idle && !self.hangs) {
            return Stop::Idle;
        }
        self.now = self.now.max(limit);
        Stop::Limit
    }

    /// The host has asked for the link at `start`. The device goes first if it has done so before that
    /// is seen: the host yields.
    fn host_begins(&mut self, start: Tick, what: Outgoing) {
        let seen = answered(start, self.host.end.latency);
        while what != Outgoing::Reset && self.device.wake() < seen {
            let wake = self.device.wake();
            if let Some(theirs) = self.device.next(wake) {
                return self.frame(Side::Device, wake, theirs);
            }
        }
        self.frame(Side::Host, start, what);
    }

    /// The device has asked for the link at `start`. What the host wants before that is seen has to wait.
    fn device_begins(&mut self, start: Tick, what: Outgoing) {
        let seen = answered(start, self.device.end.latency);
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
        let parts = Parts { flow: &mut self.flow, ledger: &mut self.ledger };
        let ended = match sender {
            _ if what == Outgoing::Reset => return self.reset(start),
            Side::Host => parts.carry(&mut self.host, &mut self.device, start, what),
            Side::Device => parts.carry(&mut self.device, &mut self.host, start, what),
        };
        match ended {
            Ok(now) => self.now = now,
            Err(Tick::NEVER) => self.hangs = true,
            Err(at) => self.give_up(at),
        }
    }

    /// An agent no longer waits for a frame.
    fn give_up(&mut self, at: Tick) {
        let gives = self.host.agent.next(at) == Some(Outgoing::Reset);
        self.hangs = !gives;
        if gives {
            self.reset(at);
        }
    }

    /// The link goes down at `at`, and comes up again.
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

/// What a frame uses of the engine besides its ends.
struct Parts<'a> {
    flow: &'a mut Flow,
    ledger: &'a mut Ledger,
}

/// The tick in which what comes at `seen` has been answered and the answer has come back.
#[inline]
fn answered(seen: Tick, latency: u32) -> Tick {
    align::settle(seen.after(1)).after(u64::from(latency))
}

impl Parts<'_> {
    /// Carries a frame that `from` begins at `start`. Says when both ends are free again; of one that never
    /// ends, when an agent gives it up.
    #[inline]
    fn carry<S: Agent, R: Agent>(
        self,
        from: &mut Port<S>,
        to: &mut Port<R>,
        start: Tick,
        what: Outgoing,
    ) -> Result<Tick, Tick> {
        let seen = answered(start, from.end.latency);
        let ready = answered(seen, to.end.latency);
        let sof = align::slots_before(ready.after(1));
        match what {
            Outgoing::Fis(fis) => {
                // The FIS, its CRC and EOF follow SOF.
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

    /// Carries a Data FIS whose SOF goes in slot `sof`.
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
            forth: latency,
            back: u64::from(to.end.latency),
            calm: align::tick_of(sof),
            sender: &mut from.agent,
            receiver: &mut to.agent,
        };
        let passed = self.flow.pass(&mut ends, dwords, sof)?;
        let reception = transport::end(&mut to.agent, passed.taken, passed.good);
        let known = answered(passed.taken, to.end.latency);
        if let Some(at) = given_up(&from.agent, passed.taken, known) {
            return Err(at);
        }
        let free = acknowledge(from, to, passed.taken, reception, Outgoing::Data(dwords));
        // Slots between SOF and EOF that nothing went in, and the wait after EOF.
        let came = align::tick_of(passed.eof).after(latency);
        let waited = align::slots_before(passed.taken) - align::slots_before(came);
        let stood = passed.eof - sof - u64::from(dwords) - 3;
        self.ledger.data(from.free, dwords, stood + waited);
        Ok(free)
    }
}

/// The receiver answers at `came`, the sender hears of it, and both say SYNC.
#[inline]
fn acknowledge<S: Agent, R: Agent>(
    from: &mut Port<S>,
    to: &mut Port<R>,
    came: Tick,
    reception: Reception,
    frame: Outgoing,
) -> Tick {
    let known = answered(came, to.end.latency);
    let over = answered(known, from.end.latency);
    // An end is free when it has sent SYNC and sees SYNC.
    to.free = align::settle(over.after(1));
    from.free = answered(over, to.end.latency);
    (from.silent, to.silent) = (false, false);
    let outcome = match reception {
        Reception::Accept => Outcome::Accepted,
        Reception::Refuse => Outcome::Refused,
    };
    if !from.retry.after(Some(frame), outcome) {
        from.agent.sent(known, outcome);
    }
    from.free
}
