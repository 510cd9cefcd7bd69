//! What stands above a link end: a host's sequencer or a device's command layer.
//!
//! Layer: the seam between the engines below and the protocols above. Main types: [`Agent`], [`Gate`],
//! [`Outgoing`]. An engine owns the wire and the time; it asks the agents of both ends what they
//! send and when they can take or give data, and tells them what came. The dword engine and the FIS
//! engine drive the same agents, so that a command is written once.
//!
//! Data pass in frames of up to [`crate::LARGEST_DATA`] payload dwords. How fast an agent can give or take
//! them is said in [`Gate`]s: from a tick on, so many dwords of the frame, one in each tick. A receiver
//! whose gate is closed lets its FIFO fill until its link asks for HOLD; a sender whose gate is closed
//! sends HOLD itself.

use crate::wire::fis::Fis;
use crate::wire::{Counting, Tick};

/// What an agent wants to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outgoing {
    /// A FIS without payload.
    Fis(Fis),
    /// A Data FIS with so many payload dwords: 1 to [`crate::LARGEST_DATA`].
    Data(u32),
    /// COMRESET: the link goes down and comes up again. Hosts only.
    Reset,
}

/// What became of what was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// R_OK.
    Accepted,
    /// R_ERR: the CRC was wrong, or the other end's agent refused it. What may be retried (any FIS but
    /// Data) the transport has retried before it says so.
    Refused,
    /// SYNC came in the middle of it: the other end gave it up.
    Escaped,
}

/// The answer to what was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reception {
    /// R_OK.
    Accept,
    /// R_ERR: not known, or not expected now.
    Refuse,
}

/// From tick `at` on, the dwords of a frame up to `until`, one in each tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gate {
    /// One past the last dword, counted from the first payload dword of the frame. More than the dwords
    /// that were passed so far.
    pub until: u32,
    /// When; [`Tick::NEVER`] where nothing is known to come.
    pub at: Tick,
}

impl Gate {
    /// Everything at once.
    pub const OPEN: Self = Self { until: u32::MAX, at: Tick::ZERO };
}

/// One end's protocol above the transport.
///
/// Ticks of successive calls never go back. Calls about one frame come in order: of a Data FIS that
/// is sent, `supply` and `fill` (or `describe`) and then `sent`; of one that is received, `begin`, `drain` and
/// `take` (or `take_described`), then `end`.
pub trait Agent {
    /// When [`Agent::next`] may have something to send if nothing comes before; `NEVER` if only
    /// something received or sent can bring it about. May lie in the past.
    fn wake(&self) -> Tick;

    /// What is to be sent first, from `now` on; asked while the link is free to send, and perhaps again before it
    /// was sent. It is done when [`Agent::sent`] says so.
    fn next(&mut self, now: Tick) -> Option<Outgoing>;

    /// Whether it gives up whatever is going on and resets the link: asked at its wake also while the link
    /// is not free, because a frame may hang, and once in 256 ticks after it. Who gives up at a tick does so at
    /// every later one, until it has asked for the reset. If so, [`Agent::next`] gives [`Outgoing::Reset`].
    fn gives_up(&self, _now: Tick) -> bool {
        false
    }

    /// What [`Agent::next`] gave was sent and answered.
    fn sent(&mut self, now: Tick, outcome: Outcome);

    /// A FIS other than Data came, and its CRC was right.
    fn received(&mut self, now: Tick, fis: &Fis) -> Reception;

    /// When the payload after the first `sent` dwords can be sent. Asked when the frame begins and whenever
    /// those promised before have gone.
    fn supply(&mut self, now: Tick, sent: u32) -> Gate;

    /// The payload dwords from `first` on of the frame that is being sent.
    fn fill(&mut self, first: u32, words: &mut [u32]);

    /// The whole payload of the frame that is being sent, where it can be described.
    fn describe(&mut self) -> Option<Counting>;

    /// A Data FIS begins to come.
    fn begin(&mut self, now: Tick);

    /// When the payload after the first `taken` dwords can be taken. Asked when the frame begins and
    /// whenever those promised before were taken.
    fn drain(&mut self, now: Tick, taken: u32) -> Gate;

    /// The next payload dwords of the frame that comes. Whether they are right is not known before its end.
    fn take(&mut self, words: &[u32]);

    /// The same, described: `dwords` of them.
    fn take_described(&mut self, dwords: u32, words: Counting);

    /// The Data FIS that came has ended, `good` if its CRC was right. Of a bad one the answer is not asked for:
    /// it is refused.
    fn end(&mut self, now: Tick, good: bool) -> Reception;

    /// The link was reset and is up again: what was being sent or received is forgotten, and nobody says
    /// `sent` of the reset. Devices send their signature.
    fn reset(&mut self, now: Tick);
}
