//! A record of what both ends of a link sent, as runs.
//!
//! Layer: a record beside the engine. Main types: [`Trace`], [`Run`], [`Item`]. Each end has one lane,
//! which shows what its link layer sent before CONT replaced repetitions. ALIGNs are not recorded:
//! their ticks are known, and runs extend across them.

use crate::wire::fis::Fis;
use crate::wire::{Primitive, Tick};
use std::fmt;

/// What an end sends during a run.
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

/// Consecutive ticks in which an end sends the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Run {
    /// The first tick.
    pub from: Tick,
    /// One past the last tick.
    pub until: Tick,
    /// What is sent.
    pub item: Item,
}

impl Run {
    /// The length in ticks, ALIGNs included.
    #[must_use]
    pub const fn ticks(&self) -> u64 {
        self.until.since(self.from)
    }
}

/// The record of both lanes, each without gaps from its first recorded tick on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// The runs of the host.
    pub host: Vec<Run>,
    /// The runs of the device.
    pub device: Vec<Run>,
}

/// The recorder of one lane.
#[derive(Debug, Clone, Default)]
pub(super) struct Recorder {
    runs: Vec<Run>,
}

impl Recorder {
    /// Records that `item` is sent from `now` on.
    #[inline]
    pub(super) fn record(&mut self, now: Tick, item: Item) {
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
