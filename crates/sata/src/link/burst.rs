//! Bursts of payload: many ticks at once, with the same results as single steps.
//!
//! Layer: a short cut of the engine. While the sender has data, the receiver takes a dword in each
//! tick, and only payload and R_IP are in flight, no tick contains a decision. Such ticks, up to the
//! next pair of ALIGNs, are computed as slices: CRC, scrambling and delay line.

use super::engine::{Engine, SETTLED};
use super::lane::Lane;
use super::layer::LinkLayer;
use super::state::State;
use super::trace::Item;
use crate::agent::Agent;
use crate::wire::{Dword, Primitive, Tick, align};

/// The shortest burst that saves time.
const SHORTEST: u64 = 4;

impl<H: Agent, D: Agent> Engine<H, D> {
    /// Executes as many ticks as possible at once. Returns false if there are none.
    #[inline]
    pub(super) fn burst(&mut self, limit: Tick) -> bool {
        let host_sends = match (self.host.state, self.device.state) {
            (State::SendData, State::RcvData) => true,
            (State::RcvData, State::SendData) => false,
            _ => return false,
        };
        let room = self.room(limit);
        let (host, device) = (&mut self.host, &mut self.device);
        let (host_agent, device_agent) = (&mut self.host_agent, &mut self.device_agent);
        let ticks = if host_sends {
            stream(host, host_agent, device, self.now, room)
        } else {
            stream(device, device_agent, host, self.now, room)
        };
        self.now = self.now.after(ticks);
        if ticks > 0 {
            self.quiet = self.now;
        }
        ticks > 0
    }

    /// The ticks before ALIGN, the limit, a fault, or an agent's wake.
    fn room(&self, limit: Tick) -> u64 {
        let now = self.now;
        let sender = if self.host.state == State::SendData { &self.host } else { &self.device };
        if self.faults.in_frame(sender.side, sender.tx.frames.saturating_sub(1)) {
            return 0;
        }
        let aligned = align::SLOTS.saturating_sub(now.0 % align::PERIOD);
        // An agent whose wake has passed is asked in a tick of ALIGN.
        let wake = |wake: Tick| if wake < now { u64::MAX } else { wake.since(now) };
        aligned
            .min(limit.since(now))
            .min(self.faults.first_tick().since(now))
            .min(wake(self.host_agent.wake()))
            .min(wake(self.device_agent.wake()))
    }
}

/// Executes up to `room` ticks of a sender, with its agent, and a receiver. Returns how many.
fn stream<A: Agent>(
    sender: &mut LinkLayer,
    agent: &mut A,
    receiver: &mut LinkLayer,
    now: Tick,
    room: u64,
) -> u64 {
    let forward = sender.lane.latency();
    let backward = receiver.lane.latency();
    let settled =
        sender.steady.after(forward) <= now && receiver.steady.after(backward + SETTLED) <= now;
    // R_IP was received last, so no HOLD awaits its answer.
    let undisturbed = sender.received == Some(Primitive::RIp);
    if !settled || !undisturbed || align::is_align(Tick(now.0.wrapping_sub(forward))) {
        return 0;
    }
    let taken = receiver.rx.burst_limit(now, receiver.end.fifo);
    let ticks = room.min(sender.tx.burst_limit(now).min(taken).into()).min(Lane::BURST);
    if ticks < SHORTEST {
        return 0;
    }
    let count = u32::try_from(ticks).expect("at most as many as between ALIGNs");
    let dwords = usize::try_from(ticks).expect("at most as many as between ALIGNs");
    sender.record(now, Item::Data);
    sender.traffic.data += ticks;
    sender.lane.send_all(now, sender.tx.burst(agent, count));
    receiver.send_repeated(now, dwords);
    receiver.counters.fullest = receiver.counters.fullest.max(receiver.rx.fill() + 1);
    receiver.rx.burst(count, sender.lane.arriving_data(now, dwords));
    receiver.received_data();
    ticks
}

impl LinkLayer {
    /// Sends R_IP repeatedly.
    fn send_repeated(&mut self, now: Tick, dwords: usize) {
        let dword = match self.end.cont {
            true => Dword::Data(0),
            false => Dword::Primitive(Primitive::RIp),
        };
        self.lane.send_repeated(now, dwords, dword);
        self.repeat(dwords as u64, 0);
    }

    /// Notes that the last dword received was payload.
    fn received_data(&mut self) {
        self.received = None;
        let _same = self.expander.dword(Dword::Data(0));
    }
}
