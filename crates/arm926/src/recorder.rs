//! What happened in a run, for timelines and profiles.
//!
//! Layer: rank 3. A [`Recorder`] is told of rare [`Event`]s by code that all engines share; without one
//! nothing is kept.

use serde::{Deserialize, Serialize};

use crate::address::Cycles;
use crate::exception::Exception;
use crate::registers::Mode;

/// A rare event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Event {
    /// An exception was taken at the instruction at `at`.
    Exception {
        /// Which.
        exception: Exception,
        /// The address of the instruction.
        at: u32,
        /// The mode before.
        from: Mode,
        /// r7 at a software interrupt, where system calls have their number; 0 otherwise.
        call: u32,
    },
    /// The mode changed without an exception: a return, or an MSR.
    Mode {
        /// The new one.
        to: Mode,
        /// Where execution goes on.
        at: u32,
    },
    /// The FCSE process number was written.
    Process {
        /// The new one.
        pid: u8,
    },
    /// The translation table base was written.
    Table {
        /// The new one.
        base: u32,
    },
    /// The core waits for an interrupt from here, until the next event.
    Wait,
}

/// A bounded list of events with their instants.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Recorder {
    events: Vec<(Cycles, Event)>,
    limit: usize,
    dropped: u64,
}

impl Recorder {
    /// Keeps the first `limit` events.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self { events: Vec::new(), limit, dropped: 0 }
    }

    /// Notes an event.
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

    /// The events in order, which make room for others.
    pub fn take(&mut self) -> Vec<(Cycles, Event)> {
        std::mem::take(&mut self.events)
    }

    /// How many came after the limit.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}
