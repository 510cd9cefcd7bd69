//! Payload that runs through: many ticks at once, with the same result as single steps.
//!
//! Layer: the fast path of the engine. While the sender has data, the receiver takes a dword in each tick
//! and nothing but data and R_IP is on its way, no tick decides anything. Such ticks, up to the next pair of
//! ALIGNs, are done as slices: CRC, scrambling and delay line.

use super::engine::{Engine, SETTLED};
use super::lane::{Lane, Symbol};
use super::state::State;
use super::station::Station;
use super::trace::Item;
use crate::agent::Agent;
use crate::wire::cont::Dword;
use crate::wire::{Primitive, Tick, align};

/// Below this it is not worth it.
const SHORTEST: u64 = 4;

impl<H: Agent, D: Agent> Engine<H, D> {
    /// Does as many ticks as it can at once; false if there are none.
    #[inline]
    pub(super) fn stride(&mut self, limit: Tick) -> bool {
        let host_sends = match (self.host.state, self.device.state) {
            (State::SendData, State::RcvData) => true,
            (State::RcvData, State::SendData) => false,
            _ => return false,
        };
        let room = self.room(limit);
        let (host, device) = (&mut self.host, &mut self.device);
        let (host_agent, device_agent) = (&mut self.host_agent, &mut self.device_agent);
        let ticks = if host_sends {
            run_through((host, host_agent), device, self.now, room)
        } else {
            run_through((device, device_agent), host, self.now, room)
        };
        self.now = self.now.after(ticks);
        if ticks > 0 {
            self.quiet = self.now;
        }
        ticks > 0
    }

    /// Ticks before ALIGN, the limit, a fault, or an agent's wake.
    fn room(&self, limit: Tick) -> u64 {
        let now = self.now;
        let sender = if self.host.state == State::SendData { &self.host } else { &self.device };
        if self.faults.in_frame(sender.side, sender.sending.frames.saturating_sub(1)) {
            return 0;
        }
        let aligned = align::SLOTS.saturating_sub(now.0 % align::PERIOD);
        // A wake in the past is looked at beside ALIGNs only.
        let wake = |wake: Tick| if wake < now { u64::MAX } else { wake.since(now) };
        aligned
            .min(limit.since(now))
            .min(self.faults.first_tick().since(now))
            .min(wake(self.host_agent.wake()))
            .min(wake(self.device_agent.wake()))
    }
}

/// Ticks that a sender and a receiver have done at once, at most `room`.
fn run_through<S: Agent>(
    (sender, sends): (&mut Station, &mut S),
    receiver: &mut Station,
    now: Tick,
    room: u64,
) -> u64 {
    let there = sender.lane.latency();
    let back = receiver.lane.latency();
    let settled = sender.plain.after(there) <= now && receiver.plain.after(back + SETTLED) <= now;
    // With R_IP seen last, no HOLD is waiting for its answer.
    let undisturbed = sender.seen == Some(Primitive::RIp);
    if !settled || !undisturbed || align::is_align(Tick(now.0.wrapping_sub(there))) {
        return 0;
    }
    let taken = receiver.receiving.run(now, receiver.end.fifo);
    let ticks = room.min(sender.sending.run(now).min(taken).into()).min(Lane::RUN);
    if ticks < SHORTEST {
        return 0;
    }
    let count = u32::try_from(ticks).expect("at most as many as between ALIGNs");
    let dwords = usize::try_from(ticks).expect("at most as many as between ALIGNs");
    sender.note(now, Item::Data);
    sender.census.data += ticks;
    sender.lane.send_all(now, sender.sending.slice(sends, count));
    receiver.send_same(now, dwords);
    receiver.tally.fullest = receiver.tally.fullest.max(receiver.receiving.fill() + 1);
    receiver.receiving.pass(count, sender.lane.arriving_data(now, dwords));
    receiver.heard_data();
    ticks
}

impl Station {
    /// R_IP goes on.
    fn send_same(&mut self, now: Tick, dwords: usize) {
        let symbol = match self.end.continues {
            true => Symbol::Data(0),
            false => Symbol::Primitive(Primitive::RIp),
        };
        self.lane.send_same(now, dwords, symbol);
        self.repeat(dwords as u64, 0);
    }

    /// The last dword that arrived was one of payload.
    fn heard_data(&mut self) {
        self.seen = None;
        let _same = self.expander.dword(Dword::Data(0));
    }
}
