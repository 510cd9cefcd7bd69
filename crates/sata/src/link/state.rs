//! The states of a link layer, by the standard's names, and what each sends.
//!
//! Layer: facts. Main type: [`State`]. One state machine an end: a link layer sends or receives a frame, never
//! both. Transitions are in `station` (idle and hand-over), `sending` and `receiving`.
//!
//! ```text
//!  Idle -> SendChkRdy -> SendSof -> SendData -> SendCrc -> SendEof -> Wait -> Idle
//!                                   |      ^
//!                      RcvrHold <---'      '---> SendHold
//!
//!  Idle -> RcvChkRdy -> RcvData -> RcvEof -> GoodEnd or BadEnd -> Idle
//!                       |     ^
//!              Hold <---'     '---> RcvHold
//! ```
//!
//! Source: Serial ATA Revision 3, 9.7. Left out: L_RcvWaitFifo (the FIFO is empty before a frame is
//! answered, so an end is always ready), L_GoodCRC (the transport answers in the tick of EOF), and the
//! power modes.

use crate::wire::Primitive;

/// A state of a link layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// LS2: the link is down.
    NoComm,
    /// L1: nothing to do.
    Idle,
    /// L2: gives up what it did; SYNC until SYNC or X_RDY was seen.
    SyncEscape,
    /// LT1: waits for R_RDY.
    SendChkRdy,
    /// LT2: begins the frame.
    SendSof,
    /// LT3: its dwords.
    SendData,
    /// LT4: was asked to hold.
    RcvrHold,
    /// LT5: has no data.
    SendHold,
    /// LT6: the CRC.
    SendCrc,
    /// LT7: ends the frame.
    SendEof,
    /// LT8: waits for the answer.
    Wait,
    /// LR1: ready for a frame.
    RcvChkRdy,
    /// LR3: receives.
    RcvData,
    /// LR4: its FIFO has no more room than what may be on its way.
    Hold,
    /// LR5: was told that there are no data now.
    RcvHold,
    /// LR6 and LR7: the frame has ended, and its data are being taken from the FIFO.
    RcvEof,
    /// LR8: it was good.
    GoodEnd,
    /// LR9: it was not.
    BadEnd,
}

impl State {
    /// The primitive that is sent in it; none where dwords of a frame are, or nothing.
    #[must_use]
    #[inline]
    pub const fn primitive(self) -> Option<Primitive> {
        Some(match self {
            Self::NoComm | Self::SendData | Self::SendCrc => return None,
            Self::Idle | Self::SyncEscape => Primitive::Sync,
            Self::SendChkRdy => Primitive::XRdy,
            Self::SendSof => Primitive::Sof,
            Self::RcvrHold | Self::RcvHold => Primitive::Holda,
            Self::SendHold | Self::Hold => Primitive::Hold,
            Self::SendEof => Primitive::Eof,
            Self::Wait => Primitive::Wtrm,
            Self::RcvChkRdy => Primitive::RRdy,
            Self::RcvData | Self::RcvEof => Primitive::RIp,
            Self::GoodEnd => Primitive::ROk,
            Self::BadEnd => Primitive::RErr,
        })
    }

    /// Whether a frame is under way from this end, from SOF to its answer.
    #[must_use]
    #[inline]
    pub const fn sends(self) -> bool {
        matches!(
            self,
            Self::SendSof
                | Self::SendData
                | Self::RcvrHold
                | Self::SendHold
                | Self::SendCrc
                | Self::SendEof
                | Self::Wait
        )
    }

    /// Whether a frame is under way to this end, from SOF to EOF.
    #[must_use]
    #[inline]
    pub const fn receives(self) -> bool {
        matches!(self, Self::RcvData | Self::Hold | Self::RcvHold)
    }
}
