//! The dword engine: link and transport layers of both ends, dword by dword.
//!
//! Layer: between the wire and the agents. Main types: [`Wiring`], what a link is built of, shared with
//! the FIS engine.
//!
//! # When things happen
//! In each tick both ends send a dword, then both take the dword that arrives, then the receive FIFOs
//! give a dword to the agent, then each end decides what it sends in the next tick. What is sent at
//! tick t arrives at t + latency, so it can be answered at t + latency + 1. At the ticks 254 and 255 of every 256
//! both ends send ALIGN instead, and what they had to say waits; reception goes on.
//!
//! | what | tick |
//! |---|---|
//! | a free end asks its agent (`wake` not later than t, SYNC seen and SYNC sent since it is idle) | t |
//! | X_RDY for what the agent gave | t + 1 until R_RDY was seen; a host that sees X_RDY instead takes the frame |
//! | X_RDY arrives at a free end (or a yielding host) at t: R_RDY | t + 1 until SOF was seen |
//! | R_RDY arrives at t: SOF, and the agent's `supply(t, 0)` is asked in that tick | t + 1 |
//! | header | the tick after SOF |
//! | payload | one a tick from the tick after the header on, not before the gate's `at`; HOLD instead while it is closed |
//! | the last dword that a gate promised is sent at t: `supply(t, ..)` | t |
//! | CRC, EOF, then WTRM | the ticks after the last payload dword, whatever the receiver asks for |
//! | SOF arrives at t: R_IP | t + 1 |
//! | header of a Data FIS arrives at t: `begin(t)`, `drain(t, 0)` | t |
//! | a payload dword can be taken, if the gate is open | from the tick on in which the dword after it arrives (it might have been the CRC), one a tick |
//! | the last dword that a gate promised is taken at t: `drain(t, ..)`, if more may come | t |
//! | fill reaches `hold_from` (arrived, CRC included, less taken) at t: HOLD | t + 1 until fill is `hold_to` or less |
//! | HOLD arrives at t: HOLDA | t + `holda_after`, ALIGNs not counted, if it was not taken back before |
//! | anything but HOLD arrives at t: payload goes on | t + 1; a tick later where CONT has to be ended first |
//! | EOF arrives and the FIFO is empty at t, or gets empty: `end(t, ..)` or `received(t, ..)`, then R_OK or R_ERR | t + 1 until SYNC was seen |
//! | R_OK or R_ERR arrives at t: `sent(t, ..)`, then SYNC | t + 1 |
//! | SYNC arrives at t while R_OK is sent: SYNC | t + 1 |

//!
//! The states are in [`State`], faults as data in [`Fault`], a record of what went over in [`Trace`]. Left
//! out: OOB signals and speed negotiation, power modes, port multipliers.

mod engine;
mod fault;
mod frame;
pub(crate) mod hold;
mod lane;
mod receiving;
mod sending;
mod state;
mod station;
mod stride;
pub(crate) mod timeout;
mod trace;
pub(crate) mod transport;

pub use engine::{Engine, RESET, Stop};
pub use fault::{Fault, Part, Place, What};
pub use state::State;
pub use station::{Census, Tally};
pub use trace::{Item, Run, Trace};
pub use transport::RETRIES;

use crate::wire::Speed;
use std::fmt;

/// Which end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The host.
    Host,
    /// The device.
    Device,
}

impl Side {
    const fn index(self) -> usize {
        match self {
            Self::Host => 0,
            Self::Device => 1,
        }
    }
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Host => "host",
            Self::Device => "device",
        })
    }
}

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct End {
    /// Dwords from this end's link layer to the other's, on the way out: serialiser, cable, elastic buffer, alignment.
    pub latency: u32,
    /// Dwords from a HOLD received to the HOLDA sent for it, ALIGNs not counted: 1 to [`End::LONGEST_HOLDA`].
    /// Until then a sender goes on with data.
    pub holda_after: u32,
    /// Dwords of the receive FIFO, the register of the last one not counted.
    pub fifo: u32,
    /// Fill, in dwords, at which this end begins to send HOLD: at least 2, since one dword waits for its successor.
    pub hold_from: u32,
    /// Fill down to which it goes on with HOLD: at least 1.
    pub hold_to: u32,
    /// Repeated primitives are replaced by CONT and filler.
    pub continues: bool,
}

impl End {
    /// Dwords that the standard gives an end to answer HOLD by HOLDA.
    pub const LONGEST_HOLDA: u32 = 20;

    /// Room that must be left in the FIFO when HOLD is first sent, with `other` at the far end: the 20
    /// dwords that the standard gives the sender, and what is on its way there and back.
    #[must_use]
    pub const fn headroom(&self, other: &Self) -> u32 {
        Self::LONGEST_HOLDA + self.latency + other.latency
    }
}

/// A link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Wiring {
    /// Its speed.
    pub speed: Speed,
    /// The host's end.
    pub host: End,
    /// The device's end.
    pub device: End,
}
