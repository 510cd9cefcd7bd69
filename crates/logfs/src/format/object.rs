//! The header of an object: a block, an inode or a directory entry.
//!
//! Layer: rank 5, format. Main type: [`ObjectHeader`].
//!
//! ```text
//!   0     4        6      7             8       16      24         28
//!  | crc | length | kind | compression | inode | block | data crc | data ...
//! ```
//! The CRC covers bytes 4 to 23, the other the data as stored. Source: `struct logfs_object_header`.

use super::bytes::{Reader, Writer};
use super::{COMPRESSION_ZLIB, Malformed, check_crc, crc};
use boardlab_mtd::is_erased;

/// Bytes of the header.
pub const HEADER: usize = 28;
/// The same as a number of bytes on flash.
pub const HEADER_BYTES: u32 = 28;
/// Bytes of the largest object with its header.
pub const MAX: u32 = HEADER_BYTES + 4_096;
/// What a segment may waste: its header, and an end too short for the next object.
pub const SEGMENT_RESERVE: u32 = super::segment::HEADER_BYTES + MAX - 1;
/// The inode of objects that only fill space: none.
pub const FILLER: u64 = u64::MAX;

/// What an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// A block of data, or an indirect block.
    Block,
    /// An inode.
    Inode,
    /// A directory entry.
    Dentry,
}

impl ObjectKind {
    const fn of(number: u8) -> Option<Self> {
        match number {
            4 => Some(Self::Block),
            5 => Some(Self::Inode),
            6 => Some(Self::Dentry),
            _ => None,
        }
    }

    const fn number(self) -> u8 {
        match self {
            Self::Block => 4,
            Self::Inode => 5,
            Self::Dentry => 6,
        }
    }

    /// Bytes of its data when they are not compressed.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Block => super::BLOCK,
            Self::Inode => super::inode::SIZE,
            Self::Dentry => super::dentry::SIZE,
        }
    }
}

/// The header of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectHeader {
    /// Bytes of the data as stored.
    pub length: u16,
    /// What it is.
    pub kind: ObjectKind,
    /// Whether the data are a zlib stream.
    pub compressed: bool,
    /// The inode.
    pub ino: u64,
    /// The block: see [`super::BlockId::bix`].
    pub bix: u64,
    /// The CRC of the data as stored.
    pub data_crc: u32,
}

impl ObjectHeader {
    /// The header at the beginning of `bytes`.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut fields = Reader::new(bytes, HEADER)?;
        if is_erased(&bytes[..HEADER]) {
            return Err(Malformed::Erased);
        }
        check_crc(fields.u32(), &bytes[4..24])?;
        let (length, number, compression) = (fields.u16(), fields.u8(), fields.u8());
        let wrong = |name, value: u8| Malformed::Field { name, value: u64::from(value) };
        let kind = ObjectKind::of(number).ok_or_else(|| wrong("type", number))?;
        if compression > COMPRESSION_ZLIB {
            return Err(wrong("compr", compression));
        }
        let compressed = compression == COMPRESSION_ZLIB;
        let (ino, bix, data_crc) = (fields.u64(), fields.u64(), fields.u32());
        Ok(Self { length, kind, compressed, ino, bix, data_crc })
    }

    /// The header as it lies on flash.
    #[must_use]
    pub fn emit(&self) -> [u8; HEADER] {
        let mut fields = Writer::<HEADER>::new();
        fields.skip(4).u16(self.length).u8(self.kind.number()).u8(u8::from(self.compressed));
        fields.u64(self.ino).u64(self.bix).u32(self.data_crc);
        let mut bytes = fields.done();
        let sum = crc(&bytes[4..24]);
        bytes[..4].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    /// Bytes on flash with the header.
    #[must_use]
    pub fn stored(&self) -> u32 {
        HEADER_BYTES + u32::from(self.length)
    }

    /// Bytes that the object counts for in a segment of this level: those stored in the lowest, and in all others, where
    /// nothing is compressed, those of its kind.
    #[must_use]
    pub fn counted(&self, level: u8) -> u32 {
        let whole = u32::try_from(self.kind.size()).expect("at most 4,096");
        if level == 0 { self.stored() } else { HEADER_BYTES + whole }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_and_written_and_its_crc_covers_all_but_that_of_the_data() {
        let header = ObjectHeader {
            length: 200,
            kind: ObjectKind::Inode,
            compressed: false,
            ino: 1,
            bix: 20,
            data_crc: 0x1234_5678,
        };
        let bytes = header.emit();
        assert_eq!(bytes[4..8], [0, 200, 5, 0]);
        assert_eq!(ObjectHeader::parse(&bytes), Ok(header));
        for at in 0..24 {
            let mut changed = bytes;
            changed[at] ^= 1;
            assert!(ObjectHeader::parse(&changed).is_err(), "byte {at}");
        }
        assert_eq!(ObjectHeader::parse(&[0xFF; 40]), Err(Malformed::Erased));
    }
}
