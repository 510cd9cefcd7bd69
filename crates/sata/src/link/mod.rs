//! The dword engine: link and transport layers of both ends, dword by dword.
//!
//! Main types: [`Wiring`], what a link is built of, shared with the FIS engine.

use crate::wire::Speed;

/// One end of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct End {
    /// Dwords from this end's link layer to the other's, on the way out: serialiser, cable, elastic buffer, alignment.
    pub latency: u32,
    /// Dwords of the receive FIFO.
    pub fifo: u32,
    /// Fill, in dwords, at which this end begins to send HOLD.
    pub hold_from: u32,
    /// Fill down to which it goes on with HOLD.
    pub hold_to: u32,
    /// Repeated primitives are replaced by CONT and filler.
    pub continues: bool,
}

impl End {
    /// Room that must be left in the FIFO when HOLD is first sent, with `other` at the far end: the 20
    /// dwords that the standard gives the sender, and what is on its way there and back.
    #[must_use]
    pub const fn headroom(&self, other: &Self) -> u32 {
        20 + self.latency + other.latency
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
