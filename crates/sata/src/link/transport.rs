//! The transport layer's rules: which frames are retried, and how agents are asked about payload.
//!
//! Layer: between link layer and agent; both engines apply them. Main type: [`Retry`].
//!
//! Source: Serial ATA Revision 3, 10, which permits retries of any FIS but Data. It sets no number of
//! retries: [`RETRIES`] is `assumed`.

use crate::agent::{Agent, Gate, Outcome, Outgoing, Reception};
use crate::wire::Tick;
use crate::wire::fis::Fis;

/// The number of retries of a FIS other than Data after R_ERR or SYNC.
pub const RETRIES: u8 = 3;

/// The FIS that an end retries.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Retry {
    fis: Option<Fis>,
    /// Retries of it so far, the one that is pending included.
    count: u8,
}

impl Retry {
    /// The FIS that is to be sent again, until its outcome is known.
    #[inline]
    pub(crate) const fn pending(&self) -> Option<Fis> {
        self.fis
    }

    /// Whether `frame` is sent again after `outcome`; if not, its agent is told.
    #[inline]
    pub(crate) fn after(&mut self, frame: Option<Outgoing>, outcome: Outcome) -> bool {
        match frame {
            Some(Outgoing::Fis(fis)) if outcome != Outcome::Accepted && self.count < RETRIES => {
                *self = Self { fis: Some(fis), count: self.count + 1 };
                true
            }
            _ => {
                *self = Self::default();
                false
            }
        }
    }
}

/// Asks when the payload after the first `sent` dwords can be sent.
///
/// # Panics
/// When the gate grants no dword.
#[inline]
pub(crate) fn supply(agent: &mut impl Agent, now: Tick, sent: u32) -> Gate {
    let gate = agent.supply(now, sent);
    assert!(gate.until > sent, "Agent::supply: a gate that grants no dword after {sent}");
    gate
}

/// Asks when the payload after the first `taken` dwords can be taken.
///
/// # Panics
/// When the gate grants no dword.
#[inline]
pub(crate) fn drain(agent: &mut impl Agent, now: Tick, taken: u32) -> Gate {
    let gate = agent.drain(now, taken);
    assert!(gate.until > taken, "Agent::drain: a gate that grants no dword after {taken}");
    gate
}

/// Ends a Data FIS at its receiver, which refuses a damaged one whatever its agent answers.
#[inline]
pub(crate) fn end(agent: &mut impl Agent, now: Tick, good: bool) -> Reception {
    match agent.end(now, good) {
        Reception::Accept if good => Reception::Accept,
        _ => Reception::Refuse,
    }
}
