//! Faults of a link, as data: where, from which end, and what happens there.
//!
//! Layer: what a scenario says to the engine. Main types: [`Fault`], [`Place`], [`What`]. A fault strikes once.
//! Faults change what is on the wire behind the sending link layer, which knows nothing of them; two of
//! them, said at their variants, act before it.

use super::Side;
use crate::wire::{Primitive, Tick};

/// One fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fault {
    /// The end whose dword it strikes.
    pub from: Side,
    /// Which dword.
    pub place: Place,
    /// What becomes of it.
    pub what: What,
}

/// Which dword of an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// The one that is sent at this tick. One that carries ALIGN is passed by unharmed, and the fault with it.
    Tick(Tick),
    /// A dword of the frame with this number, counted from zero by SOFs that this end sent.
    Frame(u64, Part),
}

/// A dword of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// SOF.
    Sof,
    /// A dword of the FIS, the first being 0.
    Word(u32),
    /// The CRC.
    Crc,
    /// EOF.
    Eof,
}

/// What becomes of a dword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum What {
    /// One of its 32 bits is turned over. Of a primitive nothing remains that can be decoded.
    Flip(u8),
    /// A primitive comes instead.
    Primitive(Primitive),
    /// A data dword comes instead.
    Data(u32),
    /// The receiver cannot decode it.
    Invalid,
    /// It gets lost: the receiver's elastic buffer puts an ALIGN there.
    Lost,
    /// The type of the frame is this, with a CRC that is right. Only at a SOF; acts before the link
    /// layer.
    Type(u8),
    /// The end gives up what it is doing and sends SYNC, as after a request of its transport; the dword
    /// itself goes.
    Escape,
}

/// The faults that are still to come.
#[derive(Debug, Clone, Default)]
pub(super) struct Schedule {
    faults: Vec<Fault>,
    /// The first of their ticks.
    first: Option<Tick>,
    /// The lowest frame number of each end.
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

    /// The first tick at which one strikes, whatever frames are sent.
    pub(super) fn first_tick(&self) -> Tick {
        self.first.unwrap_or(Tick::NEVER)
    }

    /// Whether one may strike the frame that `side` sends, or one of its frames before.
    pub(super) fn in_frame(&self, side: Side, number: u64) -> bool {
        self.frames[side.index()].is_some_and(|first| first <= number)
    }

    /// Takes the first that strikes what `from` sends at `now`, a part of frame `number` or none; those whose
    /// tick has gone by are dropped.
    pub(super) fn strike(
        &mut self,
        from: Side,
        now: Tick,
        part: Option<(u64, Part)>,
    ) -> Option<What> {
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
        let struck = position.map(|position| self.faults.remove(position).what);
        if self.faults.len() != before {
            self.index();
        }
        struck
    }
}
