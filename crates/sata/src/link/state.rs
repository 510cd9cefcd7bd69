//! The states of a link layer, named as in the standard, and what each sends.
//!
//! Layer: facts. Main type: [`State`]. Each end has one state machine: a link layer sends or receives a
//! frame, never both. The transitions are in `layer` (idle states and arbitration), `transmit` and
//! `receive`.
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
    /// L1: idle.
    Idle,
    /// L2: has aborted; sends SYNC until SYNC or X_RDY arrives.
    SyncEscape,
    /// LT1: waits for R_RDY.
    SendChkRdy,
    /// LT2: begins the frame.
    SendSof,
    /// LT3: sends the dwords of the frame.
    SendData,
    /// LT4: answers HOLD of the receiver.
    RcvrHold,
    /// LT5: has no data, and sends HOLD.
    SendHold,
    /// LT6: sends the CRC.
    SendCrc,
    /// LT7: ends the frame.
    SendEof,
    /// LT8: waits for R_OK or R_ERR.
    Wait,
    /// LR1: ready for a frame.
    RcvChkRdy,
    /// LR3: receives.
    RcvData,
    /// LR4: sends HOLD, because its FIFO is filled to its threshold.
    Hold,
    /// LR5: answers HOLD of the sender.
    RcvHold,
    /// LR6 and LR7: the frame has ended, and the agent empties the FIFO.
    RcvEof,
    /// LR8: the frame is good.
    GoodEnd,
    /// LR9: the frame is damaged or refused.
    BadEnd,
}

impl State {
    /// The primitive that this state sends; `None` if it sends dwords of a frame, or nothing.
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

    /// Whether this end sends a frame, from SOF to the answer.
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

    /// Whether this end receives a frame, from SOF to EOF.
    #[must_use]
    #[inline]
    pub const fn receives(self) -> bool {
        matches!(self, Self::RcvData | Self::Hold | Self::RcvHold)
    }
}
