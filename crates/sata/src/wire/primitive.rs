//! The primitives: the 18 dwords by which the two link layers communicate.
//!
//! Layer: facts of the wire. Main type: [`Primitive`]. The first byte of a primitive on the wire is a
//! control character: K28.5 (BCh) for ALIGN, K28.3 (7Ch) for all others. The other three are data
//! characters. Data dwords contain no control character, so the two cannot be confused. Primitives are
//! neither scrambled nor part of a CRC.
//!
//! Source: Serial ATA Revision 3, 9.4; the values agree in six public cores.

use std::fmt;

/// A primitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Primitive {
    /// Compensates clock differences in the elastic buffers: a pair in every 256 dwords, below the link
    /// layer.
    Align,
    /// The primitive before it is repeated; filler follows.
    Cont,
    /// The receiver requests an early end of the frame.
    Dmat,
    /// End of the frame.
    Eof,
    /// The sender has no data now, or the receiver requests a pause.
    Hold,
    /// Answer to HOLD.
    Holda,
    /// A power mode is accepted.
    Pmack,
    /// A power mode is refused.
    Pmnak,
    /// Request of the Partial power mode.
    PmreqP,
    /// Request of the Slumber power mode.
    PmreqS,
    /// The frame is damaged or refused.
    RErr,
    /// The frame is being received.
    RIp,
    /// The frame is good.
    ROk,
    /// Ready to receive.
    RRdy,
    /// Start of the frame.
    Sof,
    /// Idle.
    Sync,
    /// The frame was sent; its sender waits for R_OK or R_ERR.
    Wtrm,
    /// Request of the link for a frame.
    XRdy,
}

impl Primitive {
    /// All primitives, ordered by name.
    pub const ALL: [Self; 18] = [
        Self::Align,
        Self::Cont,
        Self::Dmat,
        Self::Eof,
        Self::Hold,
        Self::Holda,
        Self::Pmack,
        Self::Pmnak,
        Self::PmreqP,
        Self::PmreqS,
        Self::RErr,
        Self::RIp,
        Self::ROk,
        Self::RRdy,
        Self::Sof,
        Self::Sync,
        Self::Wtrm,
        Self::XRdy,
    ];

    /// The dword; the control character is its least significant byte.
    #[must_use]
    #[inline]
    pub const fn dword(self) -> u32 {
        match self {
            Self::Align => 0x7B4A_4ABC,
            Self::Cont => 0x9999_AA7C,
            Self::Dmat => 0x3636_B57C,
            Self::Eof => 0xD5D5_B57C,
            Self::Hold => 0xD5D5_AA7C,
            Self::Holda => 0x9595_AA7C,
            Self::Pmack => 0x9595_957C,
            Self::Pmnak => 0xF5F5_957C,
            Self::PmreqP => 0x1717_B57C,
            Self::PmreqS => 0x7575_957C,
            Self::RErr => 0x5656_B57C,
            Self::RIp => 0x5555_B57C,
            Self::ROk => 0x3535_B57C,
            Self::RRdy => 0x4A4A_957C,
            Self::Sof => 0x3737_B57C,
            Self::Sync => 0xB5B5_957C,
            Self::Wtrm => 0x5858_B57C,
            Self::XRdy => 0x5757_B57C,
        }
    }

    /// The primitive of a dword with a control character; `None` if there is none.
    #[must_use]
    #[inline]
    pub const fn from_dword(dword: u32) -> Option<Self> {
        Some(match dword {
            0x7B4A_4ABC => Self::Align,
            0x9999_AA7C => Self::Cont,
            0x3636_B57C => Self::Dmat,
            0xD5D5_B57C => Self::Eof,
            0xD5D5_AA7C => Self::Hold,
            0x9595_AA7C => Self::Holda,
            0x9595_957C => Self::Pmack,
            0xF5F5_957C => Self::Pmnak,
            0x1717_B57C => Self::PmreqP,
            0x7575_957C => Self::PmreqS,
            0x5656_B57C => Self::RErr,
            0x5555_B57C => Self::RIp,
            0x3535_B57C => Self::ROk,
            0x4A4A_957C => Self::RRdy,
            0x3737_B57C => Self::Sof,
            0xB5B5_957C => Self::Sync,
            0x5858_B57C => Self::Wtrm,
            0x5757_B57C => Self::XRdy,
            _ => return None,
        })
    }

    /// The name in the standard, without the trailing `P`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Align => "ALIGN",
            Self::Cont => "CONT",
            Self::Dmat => "DMAT",
            Self::Eof => "EOF",
            Self::Hold => "HOLD",
            Self::Holda => "HOLDA",
            Self::Pmack => "PMACK",
            Self::Pmnak => "PMNAK",
            Self::PmreqP => "PMREQ_P",
            Self::PmreqS => "PMREQ_S",
            Self::RErr => "R_ERR",
            Self::RIp => "R_IP",
            Self::ROk => "R_OK",
            Self::RRdy => "R_RDY",
            Self::Sof => "SOF",
            Self::Sync => "SYNC",
            Self::Wtrm => "WTRM",
            Self::XRdy => "X_RDY",
        }
    }

    /// Whether it may be sent repeatedly, so that CONT and filler may replace the repetitions.
    #[must_use]
    #[inline]
    pub const fn is_repeatable(self) -> bool {
        matches!(
            self,
            Self::Hold
                | Self::Holda
                | Self::PmreqP
                | Self::PmreqS
                | Self::RErr
                | Self::RIp
                | Self::ROk
                | Self::RRdy
                | Self::Sync
                | Self::Wtrm
                | Self::XRdy
        )
    }
}

impl fmt::Display for Primitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dword_is_one_primitive_and_the_other_way_round() {
        for primitive in Primitive::ALL {
            assert_eq!(Primitive::from_dword(primitive.dword()), Some(primitive));
            let control = primitive.dword() & 0xFF;
            assert_eq!(control == 0xBC, primitive == Primitive::Align);
            assert!(control == 0xBC || control == 0x7C, "{primitive}");
        }
        let mut names: Vec<_> = Primitive::ALL.iter().map(|primitive| primitive.name()).collect();
        assert!(names.is_sorted());
        names.dedup();
        assert_eq!(names.len(), 18);
    }

    #[test]
    fn a_dword_of_one_wrong_bit_is_no_primitive() {
        for primitive in Primitive::ALL {
            for bit in 0..32 {
                let dword = primitive.dword() ^ (1 << bit);
                assert_eq!(Primitive::from_dword(dword), None, "{primitive} without bit {bit}");
            }
        }
        // ALIGN of the inverted pair of wires.
        assert_eq!(Primitive::from_dword(0x7BB5_B5BC), None);
    }

    #[test]
    fn what_is_sent_once_is_not_continued() {
        use Primitive as P;
        for once in [P::Align, P::Cont, P::Dmat, P::Sof, P::Eof, P::Pmack, P::Pmnak] {
            assert!(!once.is_repeatable(), "{once}");
        }
        assert_eq!(P::ALL.iter().filter(|primitive| primitive.is_repeatable()).count(), 11);
    }
}
