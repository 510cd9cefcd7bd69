//! What went over a link, run by run.
//!
//! Layer: a record beside the engine. Main types: [`Trace`], [`Run`], [`Item`]. One lane an end: what its link
//! layer sent, before CONT replaced what repeats. ALIGNs are not recorded: they are at known ticks, and
//! runs go on across them.

use crate::wire::fis::Fis;
use crate::wire::{Primitive, Tick};
use std::fmt;

/// What an end sends for one tick or for many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Item {
    /// A primitive.
    Primitive(Primitive),
    /// The dwords of a FIS without payload.
    Fis(Fis),
    /// The first dword of a Data FIS.
    Header,
    /// Payload.
    Data,
    /// The CRC of a frame.
    Crc,
    /// Nothing: the link is down.
    Nothing,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Primitive(primitive) => primitive.fmt(f),
            Self::Fis(fis) => fis.fmt(f),
            Self::Header => f.pad("Data"),
            Self::Data => f.pad("payload"),
            Self::Crc => f.pad("CRC"),
            Self::Nothing => f.pad("nothing"),
        }
    }
}

/// The same for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    /// First tick.
    pub from: Tick,
    /// One past the last.
    pub until: Tick,
    /// What was sent.
    pub item: Item,
}

impl Run {
    /// Its length, ALIGNs in it included.
    #[must_use]
    pub const fn ticks(&self) -> u64 {
        self.until.since(self.from)
    }
}

/// Both lanes of a link, each from the first recorded tick on without a gap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// What the host sent.
    pub host: Vec<Run>,
    /// What the device sent.
    pub device: Vec<Run>,
}

/// One lane while it is being recorded.
#[derive(Debug, Clone, Default)]
pub(super) struct Recorder {
    runs: Vec<Run>,
}

impl Recorder {
    /// From `now` on `item` is sent.
    #[inline]
    pub(super) fn note(&mut self, now: Tick, item: Item) {
        if let Some(last) = self.runs.last_mut() {
            if last.item == item {
                return;
            }
            last.until = now;
        }
        self.runs.push(Run { from: now, until: Tick::NEVER, item });
    }

    /// The runs before `now`.
    pub(super) fn runs(&self, now: Tick) -> Vec<Run> {
        let mut runs = self.runs.clone();
        if let Some(last) = runs.last_mut() {
            last.until = now;
        }
        runs
    }
}
