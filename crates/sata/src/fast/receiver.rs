//! The receiver of a data phase: FIFO, drain, HOLD.
//!
//! Main type: [`Receiver`]. Between two events each of these quantities is linear in time, so the tick
//! of the next event is computed:
//!
//! ```text
//!   arrived(t)   one more in each tick in which a slot arrives, while payload is sent; CRC included
//!   taken(t)     min(arrived(t) - 1, granted, taken + (t - from + 1)): one in each tick from `from` on
//!   fill         arrived - taken; HOLD from `hold_from` on until it is down to `hold_to`
//! ```
//!
//! A dword is known to be payload when its successor has arrived; it might be the CRC. The fill rises
//! only while nothing can be taken. It falls by one a tick while nothing arrives, and by one for each
//! ALIGN while dwords arrive and others are taken.

use super::payload::Payload;
use super::sender::Change;
use crate::LARGEST_DATA;
use crate::agent::{Agent, Gate};
use crate::link::{End, transport};
use crate::wire::{Tick, align};

/// The stream of payload as it arrives; the CRC is the dword after the payload.
#[derive(Debug, Clone, Copy)]
enum Stream {
    /// No payload arrives, after this number of dwords.
    Stopped(u32),
    /// Dword `from` arrives with slot `slot`, its successors with the slots after that.
    Running { slot: u64, from: u32 },
}

/// The receiver.
#[derive(Debug, Clone, Copy)]
pub(super) struct Receiver {
    /// Payload dwords of the frame.
    dwords: u32,
    /// Ticks that a dword travels.
    latency: u64,
    end: End,
    stream: Stream,
    /// The dwords taken before `from`.
    taken: u32,
    /// The tick from which on a dword can be taken in each tick.
    from: Tick,
    /// The dwords that the agent has granted so far.
    granted: u32,
    holding: bool,
    /// The FIFO has overflowed.
    overflow: bool,
    /// EOF has arrived.
    ended: bool,
    /// The tick of its next event.
    due: Tick,
}

impl Receiver {
    /// Creates the receiver `end` of `dwords`, each of which travels for `latency`. The header has
    /// arrived at `now`, and `gate` is the agent's first grant.
    #[inline]
    pub(super) fn new(end: &End, latency: u64, dwords: u32, now: Tick, gate: Gate) -> Self {
        let mut new = Self {
            dwords,
            latency,
            end: *end,
            stream: Stream::Stopped(0),
            taken: 0,
            from: now.after(1),
            granted: 0,
            holding: false,
            overflow: false,
            ended: false,
            due: Tick::NEVER,
        };
        new.grant(gate);
        new
    }

    #[inline]
    pub(super) const fn due(&self) -> Tick {
        self.due
    }

    /// Whether EOF has arrived and every dword is taken, or the frame is lost.
    #[inline]
    pub(super) const fn is_done(&self) -> bool {
        self.ended && (self.overflow || self.taken == self.dwords)
    }

    /// The dwords taken.
    pub(super) const fn taken(&self) -> u32 {
        self.taken
    }

    /// Whether the FIFO had room for every dword.
    #[inline]
    pub(super) const fn is_good(&self) -> bool {
        !self.overflow
    }

    fn grant(&mut self, gate: Gate) {
        self.granted = gate.until;
        self.from = self.from.max(gate.at);
    }

    /// The tick in which dword `dword` arrives if the stream continues.
    fn arrival(&self, slot: u64, from: u32, dword: u32) -> Tick {
        align::tick_of(slot + u64::from(dword - from)).after(self.latency)
    }

    /// The dwords that have arrived by the end of tick `at`.
    fn arrived(&self, at: Tick) -> u32 {
        match self.stream {
            Stream::Stopped(dwords) => dwords,
            Stream::Running { slot, from } => {
                let came = align::slots_before(Tick(at.since(Tick(self.latency)) + 1)) - slot;
                let rest = u64::from(self.dwords + 1 - from);
                from + u32::try_from(came.min(rest)).expect("no more than the frame has")
            }
        }
    }

    /// The dwords taken by the end of tick `at`, if `arrived` have arrived.
    fn taken_by(&self, at: Tick, arrived: u32) -> u32 {
        if at < self.from {
            return self.taken;
        }
        let could = u64::from(self.taken) + at.since(self.from) + 1;
        let known = arrived.saturating_sub(1).min(self.granted);
        known.min(u32::try_from(could).unwrap_or(u32::MAX))
    }

    /// Applies `change`, which the dword that arrives at `now` makes to the stream.
    pub(super) fn receive(&mut self, now: Tick, change: Change) {
        // A new stream begins a new linear piece.
        let before = Tick(now.0 - 1);
        match change {
            Change::End => {
                self.ended = true;
                self.update(before, self.arrived(before));
                // A frame that has lost dwords is discarded at its end.
                if self.overflow {
                    self.from = Tick::NEVER;
                }
            }
            Change::Stop { sent } => {
                self.update(before, self.arrived(before));
                self.stream = Stream::Stopped(sent);
            }
            Change::Go { slot, from } => {
                self.update(before, from);
                self.stream = Stream::Running { slot, from };
            }
        }
    }

    /// Updates `taken` and `from` to the state after `now`.
    fn update(&mut self, now: Tick, arrived: u32) {
        // The FIFO is fullest when its first dword is about to be taken.
        let fullest = if now > self.from { self.arrived(self.from) } else { arrived };
        self.overflow |= self.end.overflows(fullest.saturating_sub(self.taken));
        self.taken = self.taken_by(now, arrived);
        self.from = self.from.max(now.after(1));
    }

    /// Executes the event at `now`, after all changes that arrive in this tick. Returns whether HOLD
    /// starts or ends, if it does.
    pub(super) fn step(
        &mut self,
        now: Tick,
        agent: &mut impl Agent,
        payload: &mut Payload,
    ) -> Option<bool> {
        let arrived = self.arrived(now);
        self.update(now, arrived);
        // Before EOF, the receiver must expect a frame of the largest length.
        let last = if self.ended { self.dwords } else { LARGEST_DATA.max(self.dwords) };
        if self.taken == self.granted && self.taken < last && !self.is_done() {
            payload.take(agent, self.taken);
            self.grant(transport::drain(agent, now, self.taken));
        }
        let fill = arrived - self.taken;
        let was = self.holding;
        self.holding = self.end.holds(was, fill);
        self.due = self.end_of_grant(arrived).min(self.next_threshold(arrived));
        (was != self.holding).then_some(self.holding)
    }

    /// The tick in which all granted dwords, or all dwords there are, will be taken.
    fn end_of_grant(&self, arrived: u32) -> Tick {
        let all = self.granted.min(self.dwords);
        if self.taken == all || self.from == Tick::NEVER {
            return Tick::NEVER;
        }
        let drained = self.from.after(u64::from(all - self.taken) - 1);
        match self.stream {
            _ if arrived > all => drained,
            Stream::Stopped(_) => Tick::NEVER,
            Stream::Running { slot, from } => drained.max(self.arrival(slot, from, all)),
        }
    }

    /// The tick in which HOLD starts or ends.
    fn next_threshold(&self, arrived: u32) -> Tick {
        if arrived > self.dwords {
            return Tick::NEVER;
        }
        match (self.holding, self.stream) {
            (false, Stream::Stopped(_)) => Tick::NEVER,
            (false, Stream::Running { slot, from }) => self.filled(slot, from),
            (true, _) if self.from == Tick::NEVER => Tick::NEVER,
            (true, Stream::Stopped(_)) => self.drained_by_agent(arrived),
            (true, Stream::Running { slot, from }) => {
                self.drained_by_agent(self.dwords + 1).min(self.drained_by_aligns(slot, from))
            }
        }
    }

    /// The tick in which the fill reaches `hold_from` while the stream continues.
    fn filled(&self, slot: u64, from: u32) -> Tick {
        let dword = self.taken.saturating_add(self.end.hold_start() - 1);
        if dword > self.dwords {
            return Tick::NEVER;
        }
        let full = self.arrival(slot, from, dword);
        if full < self.from { full } else { Tick::NEVER }
    }

    /// The tick in which the fill is down to `hold_to` if only `arrived` dwords arrive.
    fn drained_by_agent(&self, arrived: u32) -> Tick {
        let over = u64::from((arrived - self.taken).saturating_sub(self.end.hold_end()));
        self.from.after(over.saturating_sub(1))
    }

    /// The same while a dword arrives for each that is taken, except in ticks of ALIGN.
    fn drained_by_aligns(&self, slot: u64, from: u32) -> Tick {
        // With y = t - latency + 1, arrived(t) = from + slots_before(y) - slot, and slots_before(y) is
        // y less the ALIGNs before y; so fill(t) = level - aligns_before(y).
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
