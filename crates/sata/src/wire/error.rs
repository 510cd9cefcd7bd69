//! Errors of the crate: what of the bytes of a frame, or of a part, cannot be.
//!
//! Main type: [`Error`].

use crate::wire::fis::Kind;
use crate::wire::identify;
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
    /// IDENTIFY data of a wrong length.
    IdentifyLength {
        /// Dwords.
        found: usize,
    },
    /// IDENTIFY data with a checksum that is not theirs.
    IdentifyChecksum {
        /// The checksum of the words.
        expected: u8,
        /// What they have.
        found: u8,
    },
    /// A word of IDENTIFY data with a value that it cannot have.
    Identify {
        /// The word, the first where the value has several.
        word: usize,
        /// The value.
        found: u64,
        /// What it can be.
        expected: &'static str,
    },
    /// A text of IDENTIFY data with a character that is not printable ASCII.
    IdentifyText {
        /// The word; of a text to be written, its first.
        word: usize,
        /// The character.
        found: char,
    },
    /// A text that is too long for IDENTIFY data.
    IdentifyLong {
        /// Its first word.
        word: usize,
        /// The most characters.
        limit: usize,
        /// Its characters.
        found: usize,
    },
    /// A number of a drive that does not fit the others.
    Drive {
        /// Which.
        what: &'static str,
        /// What it is.
        found: u64,
        /// The least that works.
        least: u64,
        /// The most.
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
