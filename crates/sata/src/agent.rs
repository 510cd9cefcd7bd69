//! The interface between a link end and the protocol above it: a host's sequencer or a device's command
//! layer.
//!
//! Layer: between the engines below and the protocols above. Main types: [`Agent`], [`Gate`],
//! [`Outgoing`]. An engine owns the wire and the time. It asks the agents of both ends what they send
//! and when they can accept or supply data, and passes received FISes and data to them. The dword
//! engine and the FIS engine drive the same agents, so each protocol is implemented once.
//!
//! Data are transferred in frames of up to [`crate::LARGEST_DATA`] payload dwords. A [`Gate`] states
//! how fast an agent can supply or accept them: from a tick on, a number of dwords of the frame, one
//! per tick. If the receiver's gate is closed, its FIFO fills until its link sends HOLD. If the
//! sender's gate is closed, the sender itself sends HOLD.

use crate::wire::fis::Fis;
use crate::wire::{Counting, Tick};

/// What an agent wants to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outgoing {
    /// A FIS without payload.
    Fis(Fis),
    /// A Data FIS with this number of payload dwords: 1 to [`crate::LARGEST_DATA`].
    Data(u32),
    /// COMRESET: the link goes down and comes up again. Hosts only.
    Reset,
}

/// The outcome of a transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// R_OK.
    Accepted,
    /// R_ERR: the CRC was wrong, or the agent of the other end refused the frame. The transport has
    /// already retried what may be retried: any FIS but Data.
    Refused,
    /// SYNC arrived during the frame: the other end aborted it (SYNC escape).
    Escaped,
}

/// The response to a received frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reception {
    /// R_OK.
    Accept,
    /// R_ERR: the FIS is unknown or not expected now.
    Refuse,
}

/// Permission to transfer the dwords of a frame up to `until`, one per tick, from tick `at` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    /// One past the last dword, counted from the first payload dword of the frame. Exceeds the number
    /// of dwords transferred so far.
    pub until: u32,
    /// The first tick; [`Tick::NEVER`] if no time is known.
    pub at: Tick,
}

impl Gate {
    /// The whole frame, at once.
    pub const OPEN: Self = Self { until: u32::MAX, at: Tick::ZERO };
}

/// The protocol of one end above the transport.
///
/// The ticks of successive calls never decrease. The calls for one frame come in order. For a Data FIS
/// that is sent: `supply` and `fill` (or `describe`), then `sent`. For one that is received: `begin`,
/// `drain` and `take` (or `take_described`), then `end`.
pub trait Agent {
    /// Returns the tick at which [`Agent::next`] may have something to send if nothing happens before,
    /// or `NEVER` if only a received or sent frame can change that. The tick may lie in the past.
    fn wake(&self) -> Tick;

    /// Returns what to send next, from `now` on. The engine calls this while the link is free, possibly
    /// several times for one frame; [`Agent::sent`] reports when that frame has been sent.
    fn next(&mut self, now: Tick) -> Option<Outgoing>;

    /// Whether the agent aborts whatever is in progress and resets the link. The engine also asks while
    /// the link is busy, since a frame may hang: at the agent's wake and every 256 ticks after it. Once
    /// true, the answer stays true until [`Agent::next`] has returned [`Outgoing::Reset`].
    fn requests_reset(&self, _now: Tick) -> bool {
        false
    }

    /// Reports the outcome of what [`Agent::next`] returned.
    fn sent(&mut self, now: Tick, outcome: Outcome);

    /// Handles a FIS other than Data, received with a correct CRC.
    fn received(&mut self, now: Tick, fis: &Fis) -> Reception;

    /// Returns when the payload after the first `sent` dwords can be sent. The engine asks when the
    /// frame begins and whenever the dwords of the last gate are sent.
    fn supply(&mut self, now: Tick, sent: u32) -> Gate;

    /// Fills `words` with the payload of the current outgoing frame from dword `first` on.
    fn fill(&mut self, first: u32, words: &mut [u32]);

    /// Returns the whole payload of the current outgoing frame as a counting pattern, if it is one.
    fn describe(&mut self) -> Option<Counting>;

    /// Begins to receive a Data FIS.
    fn begin(&mut self, now: Tick);

    /// Returns when the payload after the first `taken` dwords can be accepted. The engine asks when
    /// the frame begins and whenever the dwords of the last gate are accepted.
    fn drain(&mut self, now: Tick, taken: u32) -> Gate;

    /// Accepts the next payload dwords of the incoming frame. Only its end shows whether they are
    /// correct.
    fn take(&mut self, words: &[u32]);

    /// Accepts the next `dwords` payload dwords, given as a counting pattern.
    fn take_described(&mut self, dwords: u32, words: Counting);

    /// Ends the incoming Data FIS; `good` says whether its CRC was correct. The engine ignores the
    /// response to a damaged frame and sends R_ERR.
    fn end(&mut self, now: Tick, good: bool) -> Reception;

    /// Reports that the link was reset and is up again. Frames in progress are dropped, and the reset
    /// itself is not reported by `sent`. Devices send their signature.
    fn reset(&mut self, now: Tick);
}
