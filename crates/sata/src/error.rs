//! Errors of the crate: what of the bytes of a frame, or of a part, cannot be.
//!
//! Main type: [`Error`].

use crate::wire::fis::Kind;
use std::fmt;

/// What is wrong, where, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A frame without a dword for the FIS, or without one for the CRC.
    ShortFrame {
        /// Its dwords, CRC included.
        found: usize,
    },
    /// A frame with a CRC that is not that of its dwords.
    Crc {
        /// The CRC of its dwords.
        expected: u32,
        /// What it has.
        found: u32,
    },
    /// A type of FIS that there is not.
    UnknownFis {
        /// The first byte.
        found: u8,
    },
    /// Another type of FIS than the one asked for.
    WrongFis {
        /// That one.
        expected: Kind,
        /// The one that came.
        found: Kind,
    },
    /// A FIS of a wrong length.
    FisLength {
        /// Its type.
        fis: Kind,
        /// Dwords of such a FIS; of a Data FIS, the most that it may have.
        expected: usize,
        /// Dwords that came, CRC left out.
        found: usize,
    },
    /// A reserved bit is set. Receivers are to pass over it; a checker may not.
    Reserved {
        /// The type of FIS.
        fis: Kind,
        /// Which dword.
        dword: usize,
        /// The reserved bits that are set.
        bits: u32,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShortFrame { found } => {
                write!(f, "a frame of {found} dwords: expected at least a FIS of one and its CRC")
            }
            Self::Crc { expected, found } => {
                write!(f, "a frame with CRC {found:08X}: expected {expected:08X} for its dwords")
            }
            Self::UnknownFis { found } => {
                write!(f, "a FIS of type {found:02X}h: expected")?;
                Kind::ALL.iter().enumerate().try_for_each(|(at, kind)| {
                    write!(f, "{} {:02X}h", if at == 0 { "" } else { "," }, kind.code())
                })
            }
            Self::WrongFis { expected, found } => {
                write!(f, "a FIS {found} ({:02X}h): expected {expected}", found.code())?;
                write!(f, " ({:02X}h)", expected.code())
            }
            Self::FisLength { fis: Kind::Data, expected, found } => {
                write!(f, "a FIS Data (46h) of {found} dwords: expected 2 to {expected}")
            }
            Self::FisLength { fis, expected, found } => {
                write!(f, "a FIS {fis} ({:02X}h) of {found} dwords", fis.code())?;
                write!(f, ": expected {expected}")
            }
            Self::Reserved { fis, dword, bits } => {
                write!(f, "a FIS {fis} ({:02X}h) with reserved bits {bits:08X}", fis.code())?;
                write!(f, " in dword {dword}: expected 0")
            }
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_say_what_was_found_and_what_was_expected() {
        let unknown = Error::UnknownFis { found: 0x28 }.to_string();
        assert_eq!(unknown, "a FIS of type 28h: expected 27h, 34h, 39h, 41h, 46h, 58h, 5Fh, A1h");
        let length = Error::FisLength { fis: Kind::RegisterD2h, expected: 5, found: 4 };
        let expected = "a FIS Register - Device to Host (34h) of 4 dwords: expected 5";
        assert_eq!(length.to_string(), expected);
        let crc = Error::Crc { expected: 1, found: 0xABCD };
        assert_eq!(crc.to_string(), "a frame with CRC 0000ABCD: expected 00000001 for its dwords");
    }
}
