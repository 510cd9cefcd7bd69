//! Faults of a link, as data: which dword of which end, and the effect on it.
//!
//! Layer: input of the engine. Main types: [`Fault`], [`Place`], [`Effect`]. A fault is triggered once.
//! Faults change dwords on the wire, after the sending link layer, which does not notice them. Two
//! effects act earlier, as their variants say.

use super::Side;
use crate::wire::{Primitive, Tick};

/// A fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fault {
    /// The end that sends the dword.
    pub from: Side,
    /// The place of the dword.
    pub place: Place,
    /// The effect on the dword.
    pub effect: Effect,
}

/// The place of a dword in what an end sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The dword that is sent at this tick. If the tick carries ALIGN, the fault has no effect.
    Tick(Tick),
    /// A dword of the frame with this number, which counts the SOFs of this end from zero.
    Frame(u64, Part),
}

/// A dword of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// SOF.
    Sof,
    /// A dword of the FIS; the first is 0.
    Dword(u32),
    /// The CRC.
    Crc,
    /// EOF.
    Eof,
}

/// The effect of a fault on a dword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// One of its 32 bits flips. A primitive can then no longer be decoded.
    Flip(u8),
    /// This primitive replaces it.
    Primitive(Primitive),
    /// This data dword replaces it.
    Data(u32),
    /// The receiver cannot decode it.
    Invalid,
    /// It is lost: the elastic buffer of the receiver inserts an ALIGN instead.
    Lost,
    /// The frame has this type, with a correct CRC. Applies to SOF only, and acts before the link
    /// layer.
    Type(u8),
    /// The end aborts what it is doing by a SYNC escape, as on request of its transport. The dword
    /// itself is sent.
    SyncEscape,
}

/// The pending faults.
#[derive(Debug, Clone, Default)]
pub(super) struct Schedule {
    faults: Vec<Fault>,
    /// The first tick of a fault that is placed by its tick.
    first: Option<Tick>,
    /// The lowest frame number of the faults of each end.
    frames: [Option<u64>; 2],
}

impl Schedule {
    pub(super) fn push(&mut self, fault: Fault) {
        self.faults.push(fault);
        self.index();
    }

    fn index(&mut self) {
        let ticks = self.faults.iter().filter_map(|fault| match fault.place {
            Place::Tick(tick) => Some(tick),
            Place::Frame(..) => None,
        });
        self.first = ticks.min();
        self.frames = [Side::Host, Side::Device].map(|side| {
            let own = self.faults.iter().filter(|fault| fault.from == side);
            let numbers = own.filter_map(|fault| match fault.place {
                Place::Frame(number, _) => Some(number),
                Place::Tick(_) => None,
            });
            numbers.min()
        });
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.faults.is_empty()
    }

    /// The first tick at which a fault triggers, whichever frames are sent.
    pub(super) fn first_tick(&self) -> Tick {
        self.first.unwrap_or(Tick::NEVER)
    }

    /// Whether a fault may trigger in frame `number` of `side`, or in an earlier one.
    pub(super) fn in_frame(&self, side: Side, number: u64) -> bool {
        self.frames[side.index()].is_some_and(|first| first <= number)
    }

    /// Removes and returns the effect of the first fault that applies to what `from` sends at `now`,
    /// which is a part of frame `number` if `part` is given. Drops faults whose tick has passed.
    pub(super) fn trigger(
        &mut self,
        from: Side,
        now: Tick,
        part: Option<(u64, Part)>,
    ) -> Option<Effect> {
        if self.first.is_none_or(|first| first > now) && part.is_none() {
            return None;
        }
        let before = self.faults.len();
        self.faults.retain(|fault| !matches!(fault.place, Place::Tick(tick) if tick < now));
        let position = self.faults.iter().position(|fault| {
            fault.from == from
                && match fault.place {
                    Place::Tick(tick) => tick == now,
                    Place::Frame(number, which) => part == Some((number, which)),
                }
        });
        let triggered = position.map(|position| self.faults.remove(position).effect);
        if self.faults.len() != before {
            self.index();
        }
        triggered
    }
}
