//! A log of rare events of a run, for timelines and profiles.
//!
//! Layer: rank 3. Main types: [`Recorder`], [`Event`]. Code shared by all engines reports the events;
//! without a recorder nothing is stored.

use serde::{Deserialize, Serialize};

use crate::address::Cycles;
use crate::exception::Exception;
use crate::registers::Mode;

/// A rare event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// An exception was taken at the instruction at `at`.
    Exception {
        /// The exception.
        exception: Exception,
        /// The address of the instruction.
        at: u32,
        /// The mode before.
        from: Mode,
        /// r7 at a software interrupt, which holds the number of a system call; 0 otherwise.
        call: u32,
    },
    /// The mode changed without an exception: a return, or an MSR.
    Mode {
        /// The new mode.
        to: Mode,
        /// The address at which execution continues.
        at: u32,
    },
    /// The FCSE PID register was written.
    Process {
        /// The new FCSE PID.
        pid: u8,
    },
    /// The translation table base was written.
    Table {
        /// The new base.
        base: u32,
    },
    /// The core waits for an interrupt, until the next event.
    Wait,
}

/// A bounded list of events with their times.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorder {
    events: Vec<(Cycles, Event)>,
    limit: usize,
    dropped: u64,
}

impl Recorder {
    /// A recorder that stores the first `limit` events.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { events: Vec::new(), limit, dropped: 0 }
    }

    /// Records an event.
    pub fn note(&mut self, now: Cycles, event: Event) {
        if self.events.len() < self.limit {
            self.events.push((now, event));
        } else {
            self.dropped += 1;
        }
    }

    /// The events in order.
    #[must_use]
    pub fn events(&self) -> &[(Cycles, Event)] {
        &self.events
    }

    /// Takes the events, in order; the limit then applies anew.
    pub fn take(&mut self) -> Vec<(Cycles, Event)> {
        std::mem::take(&mut self.events)
    }

    /// The number of events dropped beyond the limit.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}
