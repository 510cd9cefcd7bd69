//! The receiving end of a data phase: FIFO, drain, HOLD.
//!
//! Main type: [`Receiver`]. Between two events each of the quantities below is a line in time, so that
//! the next event follows by arithmetic:
//!
//! ```text
//!   arrived(t)   one more in each tick in which a slot arrives, while the sender is going; CRC included
//!   taken(t)     min(arrived(t) - 1, promised, taken + (t - from + 1)): one in each tick from `from` on
//!   fill         arrived - taken; HOLD from `hold_from` on until it is down to `hold_to`
//! ```
//!
//! A dword is payload only when the next one has come: it might have been the CRC. Fill rises only while nothing can be taken. It falls by one a tick when nothing comes, and by one for each
//! ALIGN when dwords come while others are taken.

use super::load::Load;
use super::sender::Change;
use crate::LARGEST_DATA;
use crate::agent::{Agent, Gate};
use crate::link::{End, transport};
use crate::wire::{Tick, align};

/// The stream as it comes, the CRC as the dword after the payload.
#[derive(Debug, Clone, Copy)]
enum Stream {
    /// Nothing; so many dwords came before.
    Still(u32),
    /// Dword `from` came with slot `slot`, the next ones with the slots after it.
    Going { slot: u64, from: u32 },
}

/// The receiving end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Receiver {
    /// Payload dwords of the frame.
    dwords: u32,
    /// Ticks that a dword travels.
    latency: u64,
    end: End,
    stream: Stream,
    /// Dwords that were taken before `from`.
    taken: u32,
    /// From this tick on one dword can be taken in each.
    from: Tick,
    /// Dwords that the agent has promised to take so far.
    promised: u32,
    holding: bool,
    /// More came than there was room for.
    overflown: bool,
    /// EOF has come.
    ended: bool,
    /// When it does something by itself.
    due: Tick,
}

impl Receiver {
    /// `end` receives `dwords`, each of which travels for `latency`; the header has come at `now`, and
    /// the agent's first promise is `gate`.
    #[inline]
    pub(super) fn new(end: &End, latency: u64, dwords: u32, now: Tick, gate: Gate) -> Self {
        let mut new = Self {
            dwords,
            latency,
            end: *end,
            stream: Stream::Still(0),
            taken: 0,
            from: now.after(1),
            promised: 0,
            holding: false,
            overflown: false,
            ended: false,
            due: Tick::NEVER,
        };
        new.promise(gate);
        new
    }

    #[inline]
    pub(super) const fn due(&self) -> Tick {
        self.due
    }

    /// Whether EOF has come and everything was taken, or nothing of it counts.
    #[inline]
    pub(super) const fn is_done(&self) -> bool {
        self.ended && (self.overflown || self.taken == self.dwords)
    }

    /// Dwords that were taken.
    pub(super) const fn taken(&self) -> u32 {
        self.taken
    }

    /// Whether there was room for everything.
    #[inline]
    pub(super) const fn is_good(&self) -> bool {
        !self.overflown
    }

    fn promise(&mut self, gate: Gate) {
        self.promised = gate.until;
        self.from = self.from.max(gate.at);
    }

    /// The tick in which dword `dword` comes if the stream goes on.
    fn arrival(&self, slot: u64, from: u32, dword: u32) -> Tick {
        align::tick_of(slot + u64::from(dword - from)).after(self.latency)
    }

    /// Dwords that have come by the end of tick `at`.
    fn arrived(&self, at: Tick) -> u32 {
        match self.stream {
            Stream::Still(dwords) => dwords,
            Stream::Going { slot, from } => {
                let came = align::slots_before(Tick(at.since(Tick(self.latency)) + 1)) - slot;
                let rest = u64::from(self.dwords + 1 - from);
                from + u32::try_from(came.min(rest)).expect("no more than the frame has")
            }
        }
    }

    /// Dwords that are taken by the end of tick `at`, of `arrived`.
    fn taken_by(&self, at: Tick, arrived: u32) -> u32 {
        if at < self.from {
            return self.taken;
        }
        let could = u64::from(self.taken) + at.since(self.from) + 1;
        let known = arrived.saturating_sub(1).min(self.promised);
        known.min(u32::try_from(could).unwrap_or(u32::MAX))
    }

    /// The stream changes as `change` says with the dword that comes at `now`.
    pub(super) fn hear(&mut self, now: Tick, change: Change) {
        // The lines begin anew with a new stream.
        let before = Tick(now.0 - 1);
        match change {
            Change::End => {
                self.ended = true;
                self.settle(before, self.arrived(before));
                // A frame that has lost dwords is thrown away as it ends.
                if self.overflown {
                    self.from = Tick::NEVER;
                }
            }
            Change::Stop { sent } => {
                self.settle(before, self.arrived(before));
                self.stream = Stream::Still(sent);
            }
            Change::Go { slot, from } => {
                self.settle(before, from);
                self.stream = Stream::Going { slot, from };
            }
        }
    }

    /// Forgets the past: `taken` and `from` as they are after `now`.
    fn settle(&mut self, now: Tick, arrived: u32) {
        // The FIFO is at its fullest when the first dword is about to be taken.
        let fullest = if now > self.from { self.arrived(self.from) } else { arrived };
        self.overflown |= self.end.overflows(fullest.saturating_sub(self.taken));
        self.taken = self.taken_by(now, arrived);
        self.from = self.from.max(now.after(1));
    }

    /// Does what is due at `now`, after it has heard all that came in this tick. Says whether HOLD begins
    /// or ends.
    pub(super) fn step(
        &mut self,
        now: Tick,
        agent: &mut impl Agent,
        load: &mut Load,
    ) -> Option<bool> {
        let arrived = self.arrived(now);
        self.settle(now, arrived);
        // Until EOF has come a frame might go on up to the largest one.
        let last = if self.ended { self.dwords } else { LARGEST_DATA.max(self.dwords) };
        if self.taken == self.promised && self.taken < last && !self.is_done() {
            load.take(agent, self.taken);
            self.promise(transport::drain(agent, now, self.taken));
        }
        let fill = arrived - self.taken;
        let was = self.holding;
        self.holding = self.end.holds(was, fill);
        self.due = self.exhausted(arrived).min(self.crossing(arrived));
        (was != self.holding).then_some(self.holding)
    }

    /// When everything that is promised, or everything there is, will have been taken.
    fn exhausted(&self, arrived: u32) -> Tick {
        let all = self.promised.min(self.dwords);
        if self.taken == all || self.from == Tick::NEVER {
            return Tick::NEVER;
        }
        let drained = self.from.after(u64::from(all - self.taken) - 1);
        match self.stream {
            _ if arrived > all => drained,
            Stream::Still(_) => Tick::NEVER,
            Stream::Going { slot, from } => drained.max(self.arrival(slot, from, all)),
        }
    }

    /// When HOLD begins or ends.
    fn crossing(&self, arrived: u32) -> Tick {
        if arrived > self.dwords {
            return Tick::NEVER;
        }
        match (self.holding, self.stream) {
            (false, Stream::Still(_)) => Tick::NEVER,
            (false, Stream::Going { slot, from }) => self.full(slot, from),
            (true, _) if self.from == Tick::NEVER => Tick::NEVER,
            (true, Stream::Still(_)) => self.emptied(arrived),
            (true, Stream::Going { slot, from }) => {
                self.emptied(self.dwords + 1).min(self.thinned(slot, from))
            }
        }
    }

    /// When the FIFO has filled up to `hold_from` in the stream that goes on.
    fn full(&self, slot: u64, from: u32) -> Tick {
        let dword = self.taken.saturating_add(self.end.hold_start() - 1);
        if dword > self.dwords {
            return Tick::NEVER;
        }
        let full = self.arrival(slot, from, dword);
        if full < self.from { full } else { Tick::NEVER }
    }

    /// When the FIFO is down to `hold_to` if `arrived` dwords are all that come.
    fn emptied(&self, arrived: u32) -> Tick {
        let over = u64::from((arrived - self.taken).saturating_sub(self.end.hold_end()));
        self.from.after(over.saturating_sub(1))
    }

    /// The same while dwords come as fast as they are taken, but for ALIGNs.
    fn thinned(&self, slot: u64, from: u32) -> Tick {
        // With y = t - latency + 1, arrived(t) = from + slots_before(y) - slot, and slots_before(y) is y less the
        // ALIGNs before y; so fill(t) = level - aligns_before(y).
        let first = self.from.0 + 1 - self.latency;
        let level = self.from.0 + u64::from(from) - self.latency - slot - u64::from(self.taken);
        let need = level.saturating_sub(u64::from(self.end.hold_end()));
        if need <= first - align::slots_before(Tick(first)) {
            return self.from;
        }
        let last = (need - 1) / 2 * align::PERIOD + align::SLOTS + (need - 1) % 2;
        Tick(last + self.latency)
    }
}
