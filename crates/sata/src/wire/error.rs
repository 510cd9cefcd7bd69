//! Errors of the crate: invalid frames, FISes, IDENTIFY data, and parameters of a drive.
//!
//! Layer: error type, used by the whole crate. Main type: [`Error`].

use crate::wire::fis::Kind;
use crate::wire::identify;
use std::fmt;

/// An invalid input: where, what was found, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A frame without a dword for the FIS, or without one for the CRC.
    ShortFrame {
        /// Dwords of the frame, CRC included.
        found: usize,
    },
    /// A frame whose CRC does not match its dwords.
    Crc {
        /// The CRC of the dwords.
        expected: u32,
        /// The CRC in the frame.
        found: u32,
    },
    /// An unknown type of FIS.
    UnknownFis {
        /// The first byte.
        found: u8,
    },
    /// A FIS of another type than expected.
    WrongFis {
        /// The expected type.
        expected: Kind,
        /// The type found.
        found: Kind,
    },
    /// A FIS of a wrong length.
    FisLength {
        /// The type.
        fis: Kind,
        /// The length of such a FIS in dwords; of a Data FIS, the largest.
        expected: usize,
        /// Dwords found, without CRC.
        found: usize,
    },
    /// A reserved bit that is set. Receivers ignore it; a checker reports it.
    Reserved {
        /// The type of FIS.
        fis: Kind,
        /// The dword.
        dword: usize,
        /// The reserved bits that are set.
        bits: u32,
    },
    /// IDENTIFY data of a wrong length.
    IdentifyLength {
        /// Dwords found.
        found: usize,
    },
    /// IDENTIFY data whose checksum does not match.
    IdentifyChecksum {
        /// The checksum of the words.
        expected: u8,
        /// The checksum found.
        found: u8,
    },
    /// An invalid value in IDENTIFY data.
    Identify {
        /// The word; the first one if the value has several.
        word: usize,
        /// The value.
        found: u64,
        /// The valid values.
        expected: &'static str,
    },
    /// A text in IDENTIFY data with a character that is not printable ASCII.
    IdentifyText {
        /// The word; of a text to be written, the first word.
        word: usize,
        /// The character.
        found: char,
    },
    /// A text that is too long for its field in IDENTIFY data.
    IdentifyLong {
        /// The first word of the field.
        word: usize,
        /// The largest number of characters.
        limit: usize,
        /// The number of characters found.
        found: usize,
    },
    /// A parameter of a drive outside its limits, which may depend on other parameters.
    Drive {
        /// The parameter.
        what: &'static str,
        /// Its value.
        found: u64,
        /// The lowest valid value.
        least: u64,
        /// The highest valid value; `u64::MAX` if there is no limit.
        most: u64,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Drive { what, found, least, most: u64::MAX } => {
                write!(f, "a drive with {found} {what}: expected at least {least}")
            }
            Self::Drive { what, found, least, most } => {
                write!(f, "a drive with {found} {what}: expected {least} to {most}")
            }
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
            Self::IdentifyLength { found } => {
                write!(f, "IDENTIFY data of {found} dwords: expected {}", identify::DWORDS)
            }
            Self::IdentifyChecksum { expected, found } => {
                write!(f, "IDENTIFY data with checksum {found:02X}h: expected {expected:02X}h")
            }
            Self::Identify { word, found, expected } => {
                write!(f, "IDENTIFY word {word} is {found} ({found:X}h): expected {expected}")
            }
            Self::IdentifyText { word, found } => {
                write!(f, "IDENTIFY word {word} has a character {found:?}")?;
                f.write_str(": expected printable ASCII")
            }
            Self::IdentifyLong { word, limit, found } => {
                write!(f, "a text of {found} characters for IDENTIFY word {word}")?;
                write!(f, ": expected up to {limit}")
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
