//! The header of a segment, and its entry in the segment file.
//!
//! Layer: rank 5, format. Main types: [`SegmentHeader`], [`SegmentEntry`].
//!
//! ```text
//!   0     4   6      7       8         12            16      24
//!  | crc | 0 | kind | level | segment | erase count | global | objects ...
//!                                                     erase count
//! ```
//! The CRC covers bytes 4 to 23. Source: `struct logfs_segment_header`, `struct logfs_segment_entry`.

use super::bytes::{Reader, Writer};
use super::{Malformed, check_crc, crc};
use boardlab_mtd::is_erased;

/// Bytes of the header.
pub const HEADER: usize = 24;
/// The same as a number of bytes on flash.
pub const HEADER_BYTES: u32 = 24;
/// Where the first entry of a journal segment begins.
pub const JOURNAL_START: u32 = 32;

/// What is in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SegmentKind {
    /// A superblock.
    Super,
    /// A part of the journal.
    Journal,
    /// Objects.
    Objects,
}

impl SegmentKind {
    const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Super),
            2 => Some(Self::Journal),
            3 => Some(Self::Objects),
            _ => None,
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Super => 1,
            Self::Journal => 2,
            Self::Objects => 3,
        }
    }
}

/// The header of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentHeader {
    /// What is in it.
    pub kind: SegmentKind,
    /// The level of its objects.
    pub level: u8,
    /// Its number.
    pub segment: u32,
    /// How often it was erased.
    pub erase_count: u32,
    /// How often any segment had been erased then (global erase count).
    pub gec: u64,
}

impl SegmentHeader {
    /// The header at the beginning of `bytes`.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Reader::new(bytes, HEADER)?;
        if is_erased(&bytes[..HEADER]) {
            return Err(Malformed::Erased);
        }
        check_crc(fields.u32(), &bytes[4..HEADER])?;
        fields.skip(2);
        let number = fields.u8();
        let kind = SegmentKind::of(number)
            .ok_or(Malformed::Field { name: "type", value: u64::from(number) })?;
        Ok(Self {
            kind,
            level: fields.u8(),
            segment: fields.u32(),
            erase_count: fields.u32(),
            gec: fields.u64(),
        })
    }

    /// The header as it lies on flash.
    #[must_use]
    pub fn emit(&self) -> [u8; HEADER] {
        let mut fields = Writer::<HEADER>::new();
        fields.skip(6).u8(self.kind.number()).u8(self.level);
        fields.u32(self.segment).u32(self.erase_count).u64(self.gec);
        let mut bytes = fields.done();
        let sum = crc(&bytes[4..]);
        bytes[..4].copy_from_slice(&sum.to_be_bytes());
        bytes
    }
}

/// The entry of a segment in the segment file: a word of eight bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SegmentEntry {
    /// The erase count in the upper 28 bits, the level in the lower 4; all ones for a bad segment.
    pub erase_count_level: u32,
    /// Bytes of valid objects with their headers; all ones for superblocks, journal and bad segments.
    pub valid: u32,
}

impl SegmentEntry {
    /// `valid` of a segment that holds no objects.
    pub const RESERVED: u32 = u32::MAX;
    /// A bad segment.
    pub const BAD: Self = Self { erase_count_level: u32::MAX, valid: Self::RESERVED };

    /// An entry of a segment with objects of a level.
    #[must_use]
    pub fn new(erase_count: u32, level: u8, valid: u32) -> Self {
        Self { erase_count_level: erase_count << 4 | u32::from(level & 0xF), valid }
    }

    /// The entry in a word of the segment file.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "the two halves of the word")]
    pub const fn of_word(word: u64) -> Self {
        Self { erase_count_level: (word >> 32) as u32, valid: word as u32 }
    }

    /// The word.
    #[must_use]
    pub const fn word(self) -> u64 {
        (self.erase_count_level as u64) << 32 | self.valid as u64
    }

    /// Whether the segment is bad.
    #[must_use]
    pub const fn is_bad(self) -> bool {
        self.erase_count_level == u32::MAX
    }

    /// Whether the segment holds objects or may.
    #[must_use]
    pub const fn is_store(self) -> bool {
        !self.is_bad() && self.valid != Self::RESERVED
    }

    /// How often it was erased.
    #[must_use]
    pub const fn erase_count(self) -> u32 {
        self.erase_count_level >> 4
    }

    /// The level of its objects.
    #[must_use]
    pub const fn level(self) -> u8 {
        (self.erase_count_level & 0xF).to_le_bytes()[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Segment 13 of the image of Linux 3.6 in the tests of `image`.
    #[test]
    fn a_header_is_read_and_written() {
        let header = SegmentHeader {
            kind: SegmentKind::Objects,
            level: 6,
            segment: 13,
            erase_count: 1,
            gec: 4_098,
        };
        let bytes = header.emit();
        assert_eq!(bytes[4..], [0, 0, 3, 6, 0, 0, 0, 13, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x10, 2]);
        assert_eq!(SegmentHeader::parse(&bytes), Ok(header));
        for bit in 0..HEADER * 8 {
            let mut flipped = bytes;
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(SegmentHeader::parse(&flipped).is_err(), "bit {bit}");
        }
        assert_eq!(SegmentHeader::parse(&[0xFF; HEADER]), Err(Malformed::Erased));
    }

    #[test]
    fn an_entry_is_a_word() {
        let entry = SegmentEntry::new(5, 7, 4_124);
        assert_eq!(entry.word(), 0x0000_0057_0000_101C);
        assert_eq!(SegmentEntry::of_word(entry.word()), entry);
        assert_eq!((entry.erase_count(), entry.level(), entry.is_store()), (5, 7, true));
        assert!(SegmentEntry::BAD.is_bad() && !SegmentEntry::BAD.is_store());
    }
}
