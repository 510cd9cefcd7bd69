//! The engine: both ends, their agents, time.
//!
//! Layer: top of the dword engine. Main types: [`Engine`], [`Stop`]. A tick at a time, except where
//! nothing but repetition is under way, which is leapt over, and where payload runs through, which `stride`
//! moves in slices. Both give the same ticks as single steps do; [`Engine::step_singly`] turns them off.
//!
//! Speed negotiation and OOB signals are not modelled: the link is up at tick 0, and a reset takes [`RESET`].

use super::fault::{Fault, Part, Schedule, What};
use super::lane::Symbol;
use super::state::State;
use super::station::{Census, Station, Tally};
use super::trace::{Recorder, Trace};
use super::{Side, Wiring, timeout};
use crate::agent::Agent;
use crate::wire::{Primitive, Tick, align};
use boardlab_sim::Duration;

/// From COMRESET to the first SYNC.
///
/// `assumed`: COMRESET, COMINIT and COMWAKE of six bursts each take 10 us with their calibration, and one
/// speed of negotiation 54.6 us (2,048 dwords at 1.5 Gb/s); with what receivers need to lock, 200 us.
pub const RESET: Duration = Duration::from_micros(200);

/// Ticks after which a primitive that repeats has become filler, ALIGNs included.
pub(super) const SETTLED: u64 = 6;

/// Why [`Engine::run`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stop {
    /// Neither end sends or receives anything, and neither agent's wake is finite.
    Idle,
    /// The tick that was given is reached.
    Limit,
}

/// A link with both its ends, and the agents above them.
#[derive(Debug, Clone)]
pub struct Engine<H: Agent, D: Agent> {
    pub(super) wiring: Wiring,
    pub(super) now: Tick,
    pub(super) host: Station,
    pub(super) device: Station,
    pub(super) host_agent: H,
    pub(super) device_agent: D,
    pub(super) faults: Schedule,
    /// Since when nothing but repetition was sent and heard.
    pub(super) quiet: Tick,
    /// When a link that is down comes up.
    up: Tick,
    powered: bool,
    resets: u64,
    singly: bool,
}

impl<H: Agent, D: Agent> Engine<H, D> {
    /// A link that comes up at tick 0.
    #[must_use]
    pub fn new(wiring: Wiring, host: H, device: D) -> Self {
        Self {
            wiring,
            now: Tick::ZERO,
            host: Station::new(Side::Host, wiring.host),
            device: Station::new(Side::Device, wiring.device),
            host_agent: host,
            device_agent: device,
            faults: Schedule::default(),
            quiet: Tick::ZERO,
            up: Tick::NEVER,
            powered: true,
            resets: 0,
            singly: false,
        }
    }

    /// Goes on until nothing is left to do, or `limit` is reached.
    pub fn run(&mut self, limit: Tick) -> Stop {
        while !self.is_idle() {
            if self.now >= limit {
                return Stop::Limit;
            }
            if self.singly || !(self.leap(limit) || self.stride(limit)) {
                self.step();
            }
        }
        Stop::Idle
    }

    /// The next tick.
    #[must_use]
    pub const fn now(&self) -> Tick {
        self.now
    }

    /// The host.
    #[must_use]
    pub const fn host(&self) -> &H {
        &self.host_agent
    }

    /// The host, to be given work.
    #[must_use]
    pub const fn host_mut(&mut self) -> &mut H {
        &mut self.host_agent
    }

    /// The device.
    #[must_use]
    pub const fn device(&self) -> &D {
        &self.device_agent
    }

    /// The device, to be changed.
    #[must_use]
    pub const fn device_mut(&mut self) -> &mut D {
        &mut self.device_agent
    }

    /// The agents.
    #[must_use]
    pub fn into_agents(self) -> (H, D) {
        (self.host_agent, self.device_agent)
    }

    /// What the link is built of.
    #[must_use]
    pub const fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// Adds a fault to those that are to come.
    pub fn inject(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Records from now on what both ends send.
    pub fn record(&mut self) {
        self.host.recorder = Some(Recorder::default());
        self.device.recorder = Some(Recorder::default());
    }

    /// What was recorded so far.
    #[must_use]
    pub fn trace(&self) -> Trace {
        let runs = |station: &Station| {
            station.recorder.as_ref().map_or_else(Vec::new, |recorder| recorder.runs(self.now))
        };
        Trace { host: runs(&self.host), device: runs(&self.device) }
    }

    /// Each tick as a step of its own: slow, and the same.
    pub const fn step_singly(&mut self, singly: bool) {
        self.singly = singly;
    }

    /// What the link layer of an end does.
    #[must_use]
    pub const fn state(&self, side: Side) -> State {
        match side {
            Side::Host => self.host.state,
            Side::Device => self.device.state,
        }
    }

    /// What an end has met.
    #[must_use]
    pub const fn tally(&self, side: Side) -> &Tally {
        match side {
            Side::Host => &self.host.tally,
            Side::Device => &self.device.tally,
        }
    }

    /// What an end has put on the wire.
    #[must_use]
    pub const fn census(&self, side: Side) -> Census {
        match side {
            Side::Host => self.host.census,
            Side::Device => self.device.census,
        }
    }

    /// Times that the link was reset.
    #[must_use]
    pub const fn resets(&self) -> u64 {
        self.resets
    }

    /// The device's power fails: nothing more comes from it, and what was on its way is lost. Its agent is
    /// not told; the caller does what a power cut does to it.
    pub fn cut_device(&mut self) {
        self.powered = false;
        self.go_down();
        self.up = Tick::NEVER;
    }

    /// The device has power again: the link comes up as after a reset, and both agents are told then.
    pub fn restore_device(&mut self) {
        if !self.powered {
            self.powered = true;
            self.up = self.now.after(self.wiring.speed.ticks_in(RESET));
        }
    }

    fn go_down(&mut self) {
        self.host.go_down();
        self.device.go_down();
        self.quiet = self.now;
    }

    fn reset(&mut self, now: Tick) {
        self.resets += 1;
        // A second one while the link is down, or one without a device, brings nothing.
        if self.powered && self.host.state != State::NoComm {
            self.go_down();
            self.up = now.after(self.wiring.speed.ticks_in(RESET));
        }
    }

    /// Nothing to do, and nothing on its way that would change that.
    fn is_idle(&self) -> bool {
        let asleep = |wake: Tick| wake == Tick::NEVER;
        if self.host.state == State::NoComm {
            return !self.powered && asleep(self.host_agent.wake());
        }
        let rests = |station: &Station| {
            station.state == State::Idle && station.sending.retry.pending().is_none()
        };
        let free = self.faults.is_empty() && self.host.is_free() && self.device.is_free();
        rests(&self.host)
            && rests(&self.device)
            && (free || self.is_quiet())
            && asleep(self.host_agent.wake())
            && asleep(self.device_agent.wake())
    }

    /// Whether all that is on its way repeats what was heard already.
    #[inline]
    fn is_quiet(&self) -> bool {
        let longest = self.host.lane.latency().max(self.device.lane.latency());
        self.now.since(self.quiet) >= longest + SETTLED
    }

    /// One tick.
    fn step(&mut self) {
        let now = self.now;
        if now == self.up {
            self.come_up(now);
        }
        if align::is_align(now) {
            self.host.align(now);
            self.device.align(now);
        } else {
            self.emit(now);
        }
        let (to_device, to_host) = (self.host.lane.arriving(now), self.device.lane.arriving(now));
        self.host.arrive(&mut self.host_agent, now, to_host);
        self.device.arrive(&mut self.device_agent, now, to_device);
        let host_resets = self.host.decide(&mut self.host_agent, now);
        let device_resets = self.device.decide(&mut self.device_agent, now);
        if !self.powered && self.host_agent.requests_reset(now) {
            // COMRESETs that nobody answers.
            self.host_agent.next(now);
        }
        self.now = now.after(1);
        if host_resets || device_resets {
            self.reset(now);
        }
        if self.host.active || self.device.active {
            (self.host.active, self.device.active) = (false, false);
            self.quiet = self.now;
        }
    }

    fn come_up(&mut self, now: Tick) {
        self.up = Tick::NEVER;
        self.host.come_up();
        self.device.come_up();
        self.host_agent.reset(now);
        self.device_agent.reset(now);
    }

    fn emit(&mut self, now: Tick) {
        if self.faults.is_empty() {
            let symbol = self.host.emit(&mut self.host_agent, now);
            self.host.lane.send(now, symbol);
            let symbol = self.device.emit(&mut self.device_agent, now);
            self.device.lane.send(now, symbol);
            return;
        }
        let faults = &mut self.faults;
        emit_harmed(faults, &mut self.host, &mut self.host_agent, now);
        emit_harmed(faults, &mut self.device, &mut self.device_agent, now);
    }

    /// Leaps over repetition to near the next tick at which something can happen.
    fn leap(&mut self, limit: Tick) -> bool {
        if !self.is_quiet() {
            return false;
        }
        let next = self.next_event(limit);
        let period = self.host.lane.period().max(self.device.lane.period());
        let ticks = next.since(self.now) / period * period;
        if ticks == 0 {
            return false;
        }
        // What is on its way lies in the rings at the same places after whole periods.
        let slots = align::slots_before(self.now.after(ticks)) - align::slots_before(self.now);
        self.host.repeat(slots, ticks - slots);
        self.device.repeat(slots, ticks - slots);
        self.now = self.now.after(ticks);
        true
    }

    /// The first tick up to `limit` at which the agents, the gates or the faults may do something.
    fn next_event(&self, limit: Tick) -> Tick {
        let limit = limit.min(self.up).min(self.faults.first_tick());
        if self.host.state == State::NoComm {
            if self.powered {
                return limit;
            }
            // The host may abort what it waits for: the device has no power.
            return timeout::first_abort(&self.host_agent, self.now, limit).unwrap_or(limit);
        }
        let limit = self.host.next_event(&self.host_agent, self.now, limit);
        self.device.next_event(&self.device_agent, self.now, limit)
    }
}

/// What `station` sends, and what the faults make of it.
fn emit_harmed<A: Agent>(faults: &mut Schedule, station: &mut Station, agent: &mut A, now: Tick) {
    let number = station.sending.frames;
    let (state, dword) = (station.state, station.sending.sent());
    let symbol = station.emit(agent, now);
    let sent = station.sending.sent();
    let part = match (state, symbol) {
        (State::SendSof, _) => Some((number, Part::Sof)),
        (State::SendData | State::SendHold, Symbol::Data(_)) if sent > dword => {
            Some((number - 1, Part::Word(dword)))
        }
        (State::SendCrc, Symbol::Data(_)) => Some((number - 1, Part::Crc)),
        (State::SendEof, _) => Some((number - 1, Part::Eof)),
        _ => None,
    };
    let harmed = match faults.strike(station.side, now, part) {
        None => symbol,
        Some(what) => {
            station.active = true;
            station.plain = now.after(1);
            match what {
                What::Escape => station.escape(agent, now),
                What::Type(code) if state == State::SendSof => station.sending.retype(code),
                _ => {}
            }
            harm(symbol, what)
        }
    };
    station.lane.send(now, harmed);
}

fn harm(symbol: Symbol, what: What) -> Symbol {
    match (what, symbol) {
        (What::Flip(bit), Symbol::Data(word)) => Symbol::Data(word ^ 1 << (bit % 32)),
        (What::Flip(_) | What::Invalid, _) => Symbol::Invalid,
        (What::Primitive(primitive), _) => Symbol::Primitive(primitive),
        (What::Data(word), _) => Symbol::Data(word),
        (What::Lost, _) => Symbol::Primitive(Primitive::Align),
        (What::Type(_) | What::Escape, symbol) => symbol,
    }
}
