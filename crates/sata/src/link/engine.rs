//! The engine: both ends, their agents, and time.
//!
//! Layer: top of the dword engine. Main types: [`Engine`], [`Stop`]. The engine advances tick by tick,
//! with two short cuts: it skips ticks in which both ends only repeat what they send, and `burst` moves
//! streaming payload in slices. Both give the same results as single steps; [`Engine::step_singly`]
//! turns them off.
//!
//! Left out: speed negotiation and OOB signals. The link is up at tick 0, and a reset takes [`RESET`].

use super::fault::{Effect, Fault, Part, Schedule};
use super::layer::{Counters, LinkLayer, Traffic};
use super::state::State;
use super::trace::{Recorder, Trace};
use super::{Side, Wiring, timeout};
use crate::agent::Agent;
use crate::wire::{Dword, Primitive, Tick, align};
use boardlab_sim::Duration;

/// The time from COMRESET to the first SYNC.
///
/// `assumed`: COMRESET, COMINIT and COMWAKE of six bursts each take 10 us with their calibration, and
/// the negotiation of one speed takes 54.6 us (2,048 dwords at 1.5 Gb/s). With the time that receivers
/// need to lock, this makes 200 us.
pub const RESET: Duration = Duration::from_micros(200);

/// The ticks after which CONT and filler have replaced a repeated primitive, ALIGNs included.
pub(super) const SETTLED: u64 = 6;

/// The reason why [`Engine::run`] returned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Stop {
    /// Neither end sends or receives anything, and neither agent's wake is finite.
    Idle,
    /// The limit is reached.
    Limit,
}

/// A link with both its ends and their agents.
#[derive(Debug, Clone)]
pub struct Engine<H: Agent, D: Agent> {
    pub(super) wiring: Wiring,
    pub(super) now: Tick,
    pub(super) host: LinkLayer,
    pub(super) device: LinkLayer,
    pub(super) host_agent: H,
    pub(super) device_agent: D,
    pub(super) faults: Schedule,
    /// The tick since which both ends have only sent and received repetitions.
    pub(super) quiet: Tick,
    /// The tick at which a link that is down comes up.
    up: Tick,
    powered: bool,
    resets: u64,
    singly: bool,
}

impl<H: Agent, D: Agent> Engine<H, D> {
    /// Creates a link that comes up at tick 0.
    #[must_use]
    pub fn new(wiring: Wiring, host: H, device: D) -> Self {
        Self {
            wiring,
            now: Tick::ZERO,
            host: LinkLayer::new(Side::Host, wiring.host),
            device: LinkLayer::new(Side::Device, wiring.device),
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

    /// Runs until nothing is left to do, or until `limit` is reached.
    pub fn run(&mut self, limit: Tick) -> Stop {
        while !self.is_idle() {
            if self.now >= limit {
                return Stop::Limit;
            }
            if self.singly || !(self.skip(limit) || self.burst(limit)) {
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

    /// The host's agent.
    #[must_use]
    pub const fn host(&self) -> &H {
        &self.host_agent
    }

    /// The host's agent, mutable: to give it work.
    #[must_use]
    pub const fn host_mut(&mut self) -> &mut H {
        &mut self.host_agent
    }

    /// The device's agent.
    #[must_use]
    pub const fn device(&self) -> &D {
        &self.device_agent
    }

    /// The device's agent, mutable.
    #[must_use]
    pub const fn device_mut(&mut self) -> &mut D {
        &mut self.device_agent
    }

    /// Returns both agents.
    #[must_use]
    pub fn into_agents(self) -> (H, D) {
        (self.host_agent, self.device_agent)
    }

    /// The parameters of the link.
    #[must_use]
    pub const fn wiring(&self) -> &Wiring {
        &self.wiring
    }

    /// Adds a pending fault.
    pub fn inject(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Starts to record what both ends send.
    pub fn record(&mut self) {
        self.host.recorder = Some(Recorder::default());
        self.device.recorder = Some(Recorder::default());
    }

    /// Returns the record so far.
    #[must_use]
    pub fn trace(&self) -> Trace {
        let runs = |layer: &LinkLayer| {
            layer.recorder.as_ref().map_or_else(Vec::new, |recorder| recorder.runs(self.now))
        };
        Trace { host: runs(&self.host), device: runs(&self.device) }
    }

    /// Makes every tick a single step, without short cuts: slower, with the same results.
    pub const fn step_singly(&mut self, singly: bool) {
        self.singly = singly;
    }

    /// The state of the link layer of `side`.
    #[must_use]
    pub const fn state(&self, side: Side) -> State {
        match side {
            Side::Host => self.host.state,
            Side::Device => self.device.state,
        }
    }

    /// The event counters of `side`.
    #[must_use]
    pub const fn counters(&self, side: Side) -> &Counters {
        match side {
            Side::Host => &self.host.counters,
            Side::Device => &self.device.counters,
        }
    }

    /// The number of dwords that `side` has sent, by kind.
    #[must_use]
    pub const fn traffic(&self, side: Side) -> Traffic {
        match side {
            Side::Host => self.host.traffic,
            Side::Device => self.device.traffic,
        }
    }

    /// The number of link resets.
    #[must_use]
    pub const fn resets(&self) -> u64 {
        self.resets
    }

    /// Cuts the power of the device: it sends nothing more, and dwords in flight are lost. The caller
    /// informs the device's agent of the power cut.
    pub fn cut_device(&mut self) {
        self.powered = false;
        self.go_down();
        self.up = Tick::NEVER;
    }

    /// Restores the power of the device. The link comes up as after a reset, and both agents are
    /// informed then.
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
        // A reset while the link is down, or without a device, has no effect.
        if self.powered && self.host.state != State::NoComm {
            self.go_down();
            self.up = now.after(self.wiring.speed.ticks_in(RESET));
        }
    }

    /// Whether nothing is left to do, and nothing in flight changes that.
    fn is_idle(&self) -> bool {
        let asleep = |wake: Tick| wake == Tick::NEVER;
        if self.host.state == State::NoComm {
            return !self.powered && asleep(self.host_agent.wake());
        }
        let rests =
            |layer: &LinkLayer| layer.state == State::Idle && layer.tx.retry.pending().is_none();
        let free = self.faults.is_empty() && self.host.is_free() && self.device.is_free();
        rests(&self.host)
            && rests(&self.device)
            && (free || self.is_quiet())
            && asleep(self.host_agent.wake())
            && asleep(self.device_agent.wake())
    }

    /// Whether everything in flight repeats what was received already.
    #[inline]
    fn is_quiet(&self) -> bool {
        let longest = self.host.lane.latency().max(self.device.lane.latency());
        self.now.since(self.quiet) >= longest + SETTLED
    }

    /// Executes one tick.
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
            // The host sends COMRESETs that nobody answers.
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
        emit_with_faults(faults, &mut self.host, &mut self.host_agent, now);
        emit_with_faults(faults, &mut self.device, &mut self.device_agent, now);
    }

    /// Skips repetitions, to shortly before the next tick at which something can happen.
    fn skip(&mut self, limit: Tick) -> bool {
        if !self.is_quiet() {
            return false;
        }
        let next = self.next_event(limit);
        let period = self.host.lane.period().max(self.device.lane.period());
        let ticks = next.since(self.now) / period * period;
        if ticks == 0 {
            return false;
        }
        // After whole periods, the dwords in flight are at the same places of the rings.
        let slots = align::slots_before(self.now.after(ticks)) - align::slots_before(self.now);
        self.host.repeat(slots, ticks - slots);
        self.device.repeat(slots, ticks - slots);
        self.now = self.now.after(ticks);
        true
    }

    /// The first tick up to `limit` at which agents, gates or faults may do something.
    fn next_event(&self, limit: Tick) -> Tick {
        let limit = limit.min(self.up).min(self.faults.first_tick());
        if self.host.state == State::NoComm {
            if self.powered {
                return limit;
            }
            // The host may abort its wait, since the device has no power.
            return timeout::first_request(&self.host_agent, self.now, limit).unwrap_or(limit);
        }
        let limit = self.host.next_event(&self.host_agent, self.now, limit);
        self.device.next_event(&self.device_agent, self.now, limit)
    }
}

/// Sends the next dword of `layer`, as faults change it.
fn emit_with_faults<A: Agent>(
    faults: &mut Schedule,
    layer: &mut LinkLayer,
    agent: &mut A,
    now: Tick,
) {
    let number = layer.tx.frames;
    let (state, dword) = (layer.state, layer.tx.sent());
    let symbol = layer.emit(agent, now);
    let sent = layer.tx.sent();
    let part = match (state, symbol) {
        (State::SendSof, _) => Some((number, Part::Sof)),
        (State::SendData | State::SendHold, Dword::Data(_)) if sent > dword => {
            Some((number - 1, Part::Dword(dword)))
        }
        (State::SendCrc, Dword::Data(_)) => Some((number - 1, Part::Crc)),
        (State::SendEof, _) => Some((number - 1, Part::Eof)),
        _ => None,
    };
    let corrupted = match faults.trigger(layer.side, now, part) {
        None => symbol,
        Some(effect) => {
            layer.active = true;
            layer.steady = now.after(1);
            match effect {
                Effect::SyncEscape => layer.sync_escape(agent, now),
                Effect::Type(code) if state == State::SendSof => layer.tx.set_type(code),
                _ => {}
            }
            corrupt(symbol, effect)
        }
    };
    layer.lane.send(now, corrupted);
}

fn corrupt(symbol: Dword, effect: Effect) -> Dword {
    match (effect, symbol) {
        (Effect::Flip(bit), Dword::Data(word)) => Dword::Data(word ^ 1 << (bit % 32)),
        (Effect::Flip(_) | Effect::Invalid, _) => Dword::Invalid,
        (Effect::Primitive(primitive), _) => Dword::Primitive(primitive),
        (Effect::Data(word), _) => Dword::Data(word),
        (Effect::Lost, _) => Dword::Primitive(Primitive::Align),
        (Effect::Type(_) | Effect::SyncEscape, symbol) => symbol,
    }
}
