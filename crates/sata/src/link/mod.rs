//! The dword engine: link and transport layers of both ends, dword by dword.
//!
//! Layer: between the wire and the agents. Main types: [`Engine`]; [`Wiring`], the parameters of a
//! link, shared with the FIS engine.
//!
//! # Timing
//! In each tick both ends send a dword, both receive the dword that arrives, the receive FIFOs give a
//! dword to the agents, and each end decides what it sends in the next tick. A dword sent at tick t
//! arrives at t + latency, so it can be answered at t + latency + 1. At the ticks 254 and 255 of every
//! 256 both ends send ALIGN instead, and what they have to send waits; reception continues.
//!
//! | event | tick |
//! |---|---|
//! | a free end asks its agent (`wake` is not later than t; SYNC was sent and received since the end is idle) | t |
//! | X_RDY for the agent's frame | from t + 1 until R_RDY is received; a host that receives X_RDY instead yields |
//! | X_RDY arrives at a free end (or a yielding host) at t: R_RDY | from t + 1 until SOF is received |
//! | R_RDY arrives at t: SOF; in that tick the agent is asked for `supply(t, 0)` | t + 1 |
//! | header | the tick after SOF |
//! | payload | one dword a tick after the header, not before the gate's `at`; HOLD while the gate is closed |
//! | the last dword granted by a gate is sent at t: `supply(t, ..)` | t |
//! | CRC, EOF, then WTRM | the ticks after the last payload dword, whatever the receiver sends |
//! | SOF arrives at t: R_IP | t + 1 |
//! | header of a Data FIS arrives at t: `begin(t)`, `drain(t, 0)` | t |
//! | a payload dword can be taken, if the gate is open | one a tick, from the tick on in which its successor arrives, since it may be the CRC |
//! | the last dword granted by a gate is taken at t: `drain(t, ..)`, if more may follow | t |
//! | the fill (dwords arrived, CRC included, less those taken) reaches `hold_from` at t: HOLD | from t + 1 until the fill is `hold_to` or less |
//! | HOLD arrives at t: HOLDA | t + `holda_after`, ALIGNs not counted, unless HOLD has ended by then |
//! | anything but HOLD arrives at t: payload continues | t + 1; a tick later if CONT must be ended first |
//! | EOF has arrived and the FIFO is empty at t: `end(t, ..)` or `received(t, ..)`, then R_OK or R_ERR | from t + 1 until SYNC is received |
//! | R_OK or R_ERR arrives at t: `sent(t, ..)`, then SYNC | t + 1 |
//! | SYNC arrives at t while R_OK is sent: SYNC | t + 1 |
//!
//! The states are in [`State`], faults as data in [`Fault`], a record of what was sent in [`Trace`].
//!
//! # What the FIS engine shares
//! The rules that both engines apply are functions that both call: flow control (`hold`), retries and
//! questions to the agents (`transport`), timeouts (`timeout`). The state machine itself is not shared;
//! [`crate::fast`] says why.
//!
//! Left out: OOB signals and speed negotiation, power modes, port multipliers.

mod burst;
mod engine;
mod fault;
mod frame;
pub(crate) mod hold;
mod lane;
mod layer;
mod receive;
mod state;
pub(crate) mod timeout;
mod trace;
mod transmit;
pub(crate) mod transport;

pub use engine::{Engine, RESET, Stop};
pub use fault::{Effect, Fault, Part, Place};
pub use layer::{Counters, Traffic};
pub use state::State;
pub use trace::{Item, Run, Trace};
pub use transport::RETRIES;

use crate::wire::Speed;
use std::fmt;

/// An end of a link.
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

/// The parameters of one end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct End {
    /// Dwords from this end's link layer to that of the other end: serialiser, cable, elastic buffer,
    /// alignment.
    pub latency: u32,
    /// Dwords from a received HOLD to the HOLDA sent for it, ALIGNs not counted: 1 to
    /// [`End::LONGEST_HOLDA`]. Until then the sender continues with data.
    pub holda_after: u32,
    /// The receive FIFO in dwords, without the register of the last dword.
    pub fifo: u32,
    /// The fill in dwords at which this end starts to send HOLD: at least 2, since one dword waits for
    /// its successor.
    pub hold_from: u32,
    /// The fill down to which it continues to send HOLD: at least 1.
    pub hold_to: u32,
    /// Whether CONT and filler replace repeated primitives.
    pub cont: bool,
}

impl End {
    /// The dwords within which the standard requires HOLDA in answer to HOLD.
    pub const LONGEST_HOLDA: u32 = 20;

    /// The headroom that the FIFO needs above `hold_from`, with `other` at the far end: the 20 dwords
    /// that the standard allows the sender, and the dwords in flight in both directions.
    #[must_use]
    pub const fn headroom(&self, other: &Self) -> u32 {
        Self::LONGEST_HOLDA + self.latency + other.latency
    }
}

/// The parameters of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Wiring {
    /// The speed.
    pub speed: Speed,
    /// The host's end.
    pub host: End,
    /// The device's end.
    pub device: End,
}
