//! The superblock: what never changes but the list of the segments of the journal. There are two copies.
//!
//! Layer: rank 5, format. Main type: [`Superblock`].
//!
//! ```text
//!   0        24     32   36                            48      56        60       64
//!  | segment | magic | crc | levels and shifts, 6 unused | bytes | segment | reserve | features ...
//!    header                                                        (0)
//!   96             104             112                    176             192        256
//!  | root reserve | speed reserve | segments of journal  | two places    | unused   |
//! ```
//! The CRC covers bytes 36 to 255.
//!
//! Source: `struct logfs_disk_super`.

use super::bytes::{Reader, Writer};
use super::segment::{SegmentHeader, SegmentKind};
use super::{BLOCK_SHIFT, JOURNAL_SEGMENTS, Malformed, check_crc, crc};

/// The magic number of Linux since 2.6.35.
pub const MAGIC: u64 = 0x7A3A_8E5C_B9D5_BF67;
/// The magic number of Linux 2.6.34 and of the patches before, whose journal has other headers: it is not read.
pub const OLD_MAGIC: u64 = 0xB21F_205A_C97E_8168;
/// The largest unit that is written at once: it must fit into an entry of the journal.
const WRITE_SHIFT_MAX: u8 = 15;
/// Bytes of a superblock.
pub const SIZE: usize = 256;
/// Where the second copy begins before the end of its segment.
pub const LAST_COPY: u64 = 0x1000;

/// Where the magic number lies in a superblock.
pub const MAGIC_AT: usize = 24;
const CRC_AT: usize = 32;
const COVERED: usize = 36;

/// The superblock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Superblock {
    /// The header of its segment.
    pub header: SegmentHeader,
    /// Levels of the inode file.
    pub inode_file_levels: u8,
    /// Levels of indirect blocks of files.
    pub indirect_levels: u8,
    /// Levels of data.
    pub data_levels: u8,
    /// The binary logarithm of a segment.
    pub segment_shift: u8,
    /// The binary logarithm of a block.
    pub block_shift: u8,
    /// The binary logarithm of what is written at once.
    pub write_shift: u8,
    /// Bytes of the filesystem.
    pub size: u64,
    /// Bytes of a segment, or 0.
    pub segment_size: u32,
    /// Segments in reserve for bad ones.
    pub bad_segment_reserve: u32,
    /// Features that a reader, a writer, and nobody must know, and flags.
    pub features: [u64; 4],
    /// Bytes for root alone.
    pub root_reserve: u64,
    /// Bytes that make garbage collection faster.
    pub speed_reserve: u64,
    /// The segments of the journal; 0 for none.
    pub journal: [u32; JOURNAL_SEGMENTS],
    /// The offsets of both copies.
    pub places: [u64; 2],
}

impl Superblock {
    /// The superblock at the beginning of `bytes`.
    ///
    /// # Errors
    /// [`Malformed`], also for shifts that no flash has.
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let whole = Reader::new(bytes, SIZE)?;
        let mut fields = whole;
        fields.skip(MAGIC_AT);
        let magic = fields.u64();
        if magic != MAGIC {
            return Err(Malformed::Magic(magic));
        }
        let header = SegmentHeader::parse(bytes)?;
        check_crc(fields.u32(), &bytes[COVERED..SIZE])?;
        let found = Self::parse_fields(header, fields);
        found.check()?;
        Ok(found)
    }

    fn parse_fields(header: SegmentHeader, mut fields: Reader<'_>) -> Self {
        let levels: [u8; 6] = std::array::from_fn(|_| fields.u8());
        fields.skip(6);
        Self {
            header,
            inode_file_levels: levels[0],
            indirect_levels: levels[1],
            data_levels: levels[2],
            segment_shift: levels[3],
            block_shift: levels[4],
            write_shift: levels[5],
            size: fields.u64(),
            segment_size: fields.u32(),
            bad_segment_reserve: fields.u32(),
            features: std::array::from_fn(|_| fields.u64()),
            root_reserve: fields.u64(),
            speed_reserve: fields.u64(),
            journal: std::array::from_fn(|_| fields.u32()),
            places: std::array::from_fn(|_| fields.u64()),
        }
    }

    fn check(&self) -> Result<(), Malformed> {
        let wrong = |name, value: u8| Err(Malformed::Field { name, value: u64::from(value) });
        if self.block_shift != BLOCK_SHIFT {
            return wrong("block_shift", self.block_shift);
        }
        if !(BLOCK_SHIFT + 1..=30).contains(&self.segment_shift) {
            return wrong("segment_shift", self.segment_shift);
        }
        if self.write_shift > WRITE_SHIFT_MAX || self.write_shift >= self.segment_shift {
            return wrong("write_shift", self.write_shift);
        }
        if self.journal.iter().all(|&segment| segment == 0) {
            return Err(Malformed::Field { name: "journal_seg", value: 0 });
        }
        Ok(())
    }

    /// The superblock as it lies on flash.
    #[must_use]
    pub fn emit(&self) -> [u8; SIZE] {
        let mut fields = Writer::<SIZE>::new();
        fields.put(&self.header.emit()).u64(MAGIC).u32(0);
        fields.u8(self.inode_file_levels).u8(self.indirect_levels).u8(self.data_levels);
        fields.u8(self.segment_shift).u8(self.block_shift).u8(self.write_shift).skip(6);
        fields.u64(self.size).u32(self.segment_size).u32(self.bad_segment_reserve);
        self.features.iter().for_each(|&feature| {
            fields.u64(feature);
        });
        fields.u64(self.root_reserve).u64(self.speed_reserve);
        self.journal.iter().for_each(|&segment| {
            fields.u32(segment);
        });
        self.places.iter().for_each(|&place| {
            fields.u64(place);
        });
        let mut bytes = fields.done();
        let sum = crc(&bytes[COVERED..]);
        bytes[CRC_AT..COVERED].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    /// Whether two copies say the same; their segments differ.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        let header = other.header;
        Self { header, ..self.clone() } == *other
    }

    /// The header of a copy in a segment.
    #[must_use]
    pub const fn header_of(segment: u32, erase_count: u32) -> SegmentHeader {
        let gec = segment as u64;
        SegmentHeader { kind: SegmentKind::Super, level: 0, segment, erase_count, gec }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Superblock {
        let mut journal = [0; JOURNAL_SEGMENTS];
        journal[..4].copy_from_slice(&[1, 2, 3, 4]);
        Superblock {
            header: Superblock::header_of(0, 0),
            inode_file_levels: 3,
            indirect_levels: 4,
            data_levels: 1,
            segment_shift: 17,
            block_shift: 12,
            write_shift: 12,
            size: 32 << 20,
            segment_size: 0,
            bad_segment_reserve: 4,
            features: [0; 4],
            root_reserve: 0,
            speed_reserve: 0,
            journal,
            places: [0, (32 << 20) - LAST_COPY],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let sample = sample();
        let bytes = sample.emit();
        assert_eq!(Superblock::parse(&bytes), Ok(sample));
        assert_eq!(bytes[24..32], [0x7A, 0x3A, 0x8E, 0x5C, 0xB9, 0xD5, 0xBF, 0x67]);
        assert_eq!(bytes[36..48], [3, 4, 1, 17, 12, 12, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes[112..120], [0, 0, 0, 1, 0, 0, 0, 2]);
    }

    #[test]
    fn every_changed_byte_is_found_but_the_unused_ones_of_the_segment_header() {
        let bytes = sample().emit();
        for at in 0..SIZE {
            let mut changed = bytes;
            changed[at] ^= 0x10;
            assert!(Superblock::parse(&changed).is_err(), "byte {at}");
        }
        assert!((0..SIZE).all(|length| Superblock::parse(&bytes[..length]).is_err()));
    }

    #[test]
    fn impossible_shifts_are_refused() {
        for (name, wrong) in [
            ("segment_shift", Superblock { segment_shift: 31, ..sample() }),
            ("write_shift", Superblock { write_shift: 16, ..sample() }),
            ("block_shift", Superblock { block_shift: 9, ..sample() }),
            ("journal_seg", Superblock { journal: [0; JOURNAL_SEGMENTS], ..sample() }),
        ] {
            let refused = Superblock::parse(&wrong.emit());
            assert!(matches!(refused, Err(Malformed::Field { name: found, .. }) if found == name));
        }
    }
}
