//! The volume table: one record of 172 bytes a volume, in two equal copies in the layout volume.
//!
//! Layer: rank 4, format. Main types: [`Record`], [`VolumeKind`]; [`parse_table`] reads a whole table.
//!
//! ```text
//!  0             4           8         12     13       14       16        144     145    168
//!  | LEBs reserved | alignment | padding | type | update | length | name 128 | flags | 0 * 23 | crc
//! ```
//! An empty record has zeros and the checksum of zeros.
//!
//! Source: Linux 6.1, `struct ubi_vtbl_record`; `vtbl.c`, `vtbl_check`.

use super::{Malformed, ORDER, VOLUMES_MAX, check_crc, crc, is_negative, to_usize};
use std::fmt;

/// Bytes of a record.
pub const SIZE: usize = 172;
/// The longest name of a volume (`UBI_VOL_NAME_MAX`).
pub const NAME_MAX: usize = 127;
/// Flag: at the next attach, give the volume all free blocks (`UBI_VTBL_AUTORESIZE_FLG`).
pub const AUTORESIZE: u8 = 1;
/// Flag: do not verify a static volume when it is opened (`UBI_VTBL_SKIP_CRC_CHECK_FLG`).
pub const SKIP_CHECK: u8 = 2;
/// Bytes that the checksum covers.
const COVERED: usize = SIZE - 4;

mod field {
    use std::ops::Range;
    pub(super) const RESERVED: Range<usize> = 0..4;
    pub(super) const ALIGNMENT: Range<usize> = 4..8;
    pub(super) const DATA_PAD: Range<usize> = 8..12;
    pub(super) const KIND: usize = 12;
    pub(super) const UPDATE: usize = 13;
    pub(super) const NAME_LENGTH: Range<usize> = 14..16;
    pub(super) const NAME: Range<usize> = 16..144;
    pub(super) const FLAGS: usize = 144;
    pub(super) const CRC: Range<usize> = super::COVERED..super::SIZE;
}

/// The type of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VolumeKind {
    /// LEBs are written and changed one by one.
    Dynamic,
    /// Written as a whole, with checksums.
    Static,
}

impl VolumeKind {
    /// The number on flash.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::Dynamic => 1,
            Self::Static => 2,
        }
    }

    /// The type of a number on flash.
    #[must_use]
    pub const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Dynamic),
            2 => Some(Self::Static),
            _ => None,
        }
    }
}

impl fmt::Display for VolumeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Dynamic => "dynamic",
            Self::Static => "static",
        })
    }
}

/// The record of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// LEBs reserved for the volume, at least one.
    pub reserved_lebs: u32,
    /// The size of its LEBs is a multiple of this.
    pub alignment: u32,
    /// The bytes at the end of each LEB that the alignment leaves unused.
    pub data_pad: u32,
    /// Its type.
    pub kind: VolumeKind,
    /// Whether an update began and did not end.
    pub updating: bool,
    /// Its name: 1 to [`NAME_MAX`] bytes without NUL.
    pub name: Vec<u8>,
    /// [`AUTORESIZE`], [`SKIP_CHECK`], and flags that this version does not know.
    pub flags: u8,
}

/// The geometry that records must fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The size of a LEB without alignment.
    pub leb_size: u32,
    /// The smallest write.
    pub min_io: u32,
    /// The blocks that are not bad.
    pub good_pebs: u32,
}

/// The number of records of a table in LEBs of this size.
#[must_use]
pub fn slots(leb_size: u32) -> u32 {
    const RECORD: u32 = 172;
    (leb_size / RECORD).min(VOLUMES_MAX)
}

impl Record {
    /// The record in the first [`SIZE`] of `bytes`; `None` if it is empty.
    ///
    /// # Errors
    /// [`Malformed::Short`], [`Malformed::Crc`], [`Malformed::Value`].
    pub fn parse(bytes: &[u8], limits: Limits) -> Result<Option<Self>, Malformed> {
        let Some(bytes) = bytes.get(..SIZE) else {
            return Err(Malformed::Short { expected: SIZE, found: bytes.len() });
        };
        check_crc(bytes, COVERED)?;
        let number = |at| ORDER.get32(bytes, at);
        let reserved_lebs = number(field::RESERVED);
        if reserved_lebs == 0 {
            let stray = bytes[..COVERED].iter().find(|&&byte| byte != 0);
            return stray.map_or(Ok(None), |&byte| Err(Malformed::value("a vacant record", byte)));
        }
        let (alignment, data_pad) = (number(field::ALIGNMENT), number(field::DATA_PAD));
        let unaligned = alignment != 1 && !alignment.is_multiple_of(limits.min_io);
        if alignment == 0 || alignment > limits.leb_size || unaligned {
            return Err(Malformed::value("the alignment", alignment));
        }
        if data_pad != limits.leb_size % alignment {
            return Err(Malformed::value("the padding", data_pad));
        }
        let kind = VolumeKind::of(bytes[field::KIND])
            .ok_or_else(|| Malformed::value("the volume type", bytes[field::KIND]))?;
        let updating = match bytes[field::UPDATE] {
            0 => false,
            1 => true,
            other => return Err(Malformed::value("the update marker", other)),
        };
        if is_negative(reserved_lebs) || reserved_lebs > limits.good_pebs {
            return Err(Malformed::value("the number of reserved LEBs", reserved_lebs));
        }
        let name = parse_name(bytes)?;
        let flags = bytes[field::FLAGS];
        Ok(Some(Self { reserved_lebs, alignment, data_pad, kind, updating, name, flags }))
    }

    /// The bytes of the record.
    ///
    /// # Panics
    /// When the name is longer than [`NAME_MAX`].
    #[must_use]
    pub fn bytes(&self) -> [u8; SIZE] {
        assert!(self.name.len() <= NAME_MAX, "Record: a name of more than {NAME_MAX} bytes");
        let mut bytes = [0; SIZE];
        ORDER.put32(&mut bytes, field::RESERVED, self.reserved_lebs);
        ORDER.put32(&mut bytes, field::ALIGNMENT, self.alignment);
        ORDER.put32(&mut bytes, field::DATA_PAD, self.data_pad);
        bytes[field::KIND] = self.kind.number();
        bytes[field::UPDATE] = u8::from(self.updating);
        let length = u16::try_from(self.name.len()).expect("checked above");
        ORDER.put16(&mut bytes, field::NAME_LENGTH, length);
        bytes[field::NAME.start..field::NAME.start + self.name.len()].copy_from_slice(&self.name);
        bytes[field::FLAGS] = self.flags;
        seal(&mut bytes);
        bytes
    }

    /// The bytes of a vacant record.
    #[must_use]
    pub fn vacant() -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        seal(&mut bytes);
        bytes
    }
}

fn seal(bytes: &mut [u8; SIZE]) {
    let sum = crc(&bytes[..COVERED]);
    ORDER.put32(bytes, field::CRC, sum);
}

fn parse_name(bytes: &[u8]) -> Result<Vec<u8>, Malformed> {
    let length = ORDER.get16(bytes, field::NAME_LENGTH);
    let name = bytes[field::NAME].get(..usize::from(length));
    let Some(name) = name.filter(|name| name.len() <= NAME_MAX) else {
        return Err(Malformed::value("the length of the name", length));
    };
    let whole = !name.is_empty() && !name.contains(&0);
    if !whole || bytes[field::NAME.start + name.len()] != 0 {
        return Err(Malformed::value("the length of the name", length));
    }
    Ok(name.to_vec())
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = String::from_utf8_lossy(&self.name);
        write!(f, "{} volume \"{name}\" of {} LEBs", self.kind, self.reserved_lebs)?;
        if self.updating { f.write_str(", in an interrupted update") } else { Ok(()) }
    }
}

/// What is wrong with a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableError {
    /// A record has a wrong checksum: the copy is damaged, the other one may be good.
    Damaged {
        /// The number of the record.
        record: u32,
        /// What is wrong.
        cause: Malformed,
    },
    /// A record with the right checksum is illegal.
    Illegal {
        /// The number of the record.
        record: u32,
        /// What is wrong.
        cause: Malformed,
    },
    /// Two volumes have the same name.
    SameName {
        /// The number of the first.
        first: u32,
        /// The number of the second.
        second: u32,
    },
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged { record, cause } | Self::Illegal { record, cause } => {
                write!(f, "record {record} of the volume table: {cause}")
            }
            Self::SameName { first, second } => {
                write!(f, "volumes {first} and {second} have the same name")
            }
        }
    }
}

impl std::error::Error for TableError {}

/// All records of a table, `None` for vacant ones.
///
/// # Errors
/// The first record that is wrong, in the kernel's order of checks.
pub fn parse_table(bytes: &[u8], limits: Limits) -> Result<Vec<Option<Record>>, TableError> {
    let mut records: Vec<Option<Record>> = Vec::new();
    for record in 0..slots(limits.leb_size) {
        let tail = bytes.get(to_usize(record) * SIZE..).unwrap_or_default();
        let parsed = Record::parse(tail, limits).map_err(|cause| match cause {
            Malformed::Value { .. } => TableError::Illegal { record, cause },
            _ => TableError::Damaged { record, cause },
        })?;
        records.push(parsed);
    }
    let named = || (0..).zip(&records).filter_map(|(id, record)| Some((id, record.as_ref()?)));
    for (first, record) in named() {
        let same = |&(id, other): &(u32, &Record)| id > first && other.name == record.name;
        if let Some((second, _)) = named().find(same) {
            return Err(TableError::SameName { first, second });
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { leb_size: 129_024, min_io: 2_048, good_pebs: 64 };

    fn record() -> Record {
        Record {
            reserved_lebs: 10,
            alignment: 1,
            data_pad: 0,
            kind: VolumeKind::Dynamic,
            updating: false,
            name: b"rootfs".to_vec(),
            flags: AUTORESIZE,
        }
    }

    #[test]
    fn a_vacant_record_has_the_checksum_of_zeros() {
        let bytes = Record::vacant();
        assert_eq!(bytes[..168], [0; 168]);
        assert_eq!(bytes[168..], [0xF1, 0x16, 0xC3, 0x6B]);
        assert_eq!(Record::parse(&bytes, LIMITS), Ok(None));
    }

    #[test]
    fn a_record_has_the_bytes_of_the_format() {
        let bytes = record().bytes();
        assert_eq!(bytes[..22], *b"\0\0\0\x0A\0\0\0\x01\0\0\0\0\x01\0\0\x06rootfs");
        assert_eq!((bytes[22..144].iter().max(), bytes[144]), (Some(&0), 1));
        assert_eq!(Record::parse(&bytes, LIMITS), Ok(Some(record())));
        assert_eq!(record().to_string(), "dynamic volume \"rootfs\" of 10 LEBs");
    }

    #[test]
    fn every_changed_byte_is_found() {
        for at in 0..SIZE {
            let mut bytes = record().bytes();
            bytes[at] ^= 0x10;
            assert!(matches!(Record::parse(&bytes, LIMITS), Err(Malformed::Crc { .. })), "{at}");
        }
    }

    #[test]
    fn illegal_records_are_refused() {
        let wrong = |record: Record| match Record::parse(&record.bytes(), LIMITS) {
            Err(Malformed::Value { field, .. }) => field,
            other => panic!("{other:?}"),
        };
        assert_eq!(wrong(Record { alignment: 0, ..record() }), "the alignment");
        assert_eq!(wrong(Record { alignment: 3, ..record() }), "the alignment");
        assert_eq!(wrong(Record { data_pad: 1, ..record() }), "the padding");
        assert_eq!(wrong(Record { reserved_lebs: 65, ..record() }), "the number of reserved LEBs");
        assert_eq!(wrong(Record { name: vec![], ..record() }), "the length of the name");
        assert_eq!(wrong(Record { name: vec![b'a', 0], ..record() }), "the length of the name");
        assert_eq!(wrong(Record { reserved_lebs: 0, ..record() }), "a vacant record");
    }

    #[test]
    fn two_volumes_have_different_names() {
        let mut table = Record::vacant().repeat(128);
        assert_eq!(parse_table(&table, LIMITS).map(|records| records.len()), Ok(128));
        table[SIZE..2 * SIZE].copy_from_slice(&record().bytes());
        assert_eq!(parse_table(&table, LIMITS).unwrap()[1], Some(record()));
        table[5 * SIZE..6 * SIZE].copy_from_slice(&record().bytes());
        let same = TableError::SameName { first: 1, second: 5 };
        assert_eq!(parse_table(&table, LIMITS), Err(same));
        table[0] = 1;
        let damaged = parse_table(&table, LIMITS);
        assert!(matches!(damaged, Err(TableError::Damaged { record: 0, .. })));
    }
}
