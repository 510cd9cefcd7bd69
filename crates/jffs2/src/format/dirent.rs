//! The directory entry: a name in a directory and the inode it leads to, or that it no longer exists.
//!
//! Layer: rank 5, format. Main types: [`DirentView`] over bytes, [`Dirent`].
//!
//! ```text
//!  0       12     16        20    24       28      29     30     32         36         40
//!  | header | pino | version | ino | mctime | nsize | type | 0  0 | node crc | name crc | name
//! ```
//! An entry with inode 0 says that the name was removed. The node checksum covers the first 32 bytes.
//! Versions are counted in the directory, together with those of its inode nodes.
//!
//! Source: Linux 6.1, `struct jffs2_raw_dirent`.

use super::header::{Header, NodeType};
use super::{ByteOrder, Malformed, checked, crc, length_of, pad, to_usize};
use std::fmt;

/// Bytes before the name.
pub const SIZE: u32 = 40;
/// Bytes of the longest name that Linux writes, and of the longest target of a link
/// (`JFFS2_MAX_NAME_LEN`).
pub const NAME_MAX: usize = 254;
/// Bytes that the node checksum covers.
const COVERED: usize = 32;

mod field {
    use std::ops::Range;
    pub(super) const PARENT: Range<usize> = 12..16;
    pub(super) const VERSION: Range<usize> = 16..20;
    pub(super) const INO: Range<usize> = 20..24;
    pub(super) const MCTIME: Range<usize> = 24..28;
    pub(super) const NAME_LENGTH: usize = 28;
    pub(super) const KIND: usize = 29;
    pub(super) const UNUSED: Range<usize> = 30..32;
    pub(super) const NODE_CRC: Range<usize> = 32..36;
    pub(super) const NAME_CRC: Range<usize> = 36..40;
    pub(super) const NAME: usize = 40;
}

/// A directory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dirent<'a> {
    /// The directory.
    pub parent: u32,
    /// Its age: of two entries of one name the one with the higher version counts.
    pub version: u32,
    /// The inode; 0 when the name was removed.
    pub ino: u32,
    /// When it was made, in seconds since 1970; also the directory's time of change.
    pub mctime: u32,
    /// The type byte of the inode (`DT_*`).
    pub kind: u8,
    /// The name: 1 to 254 bytes when Linux wrote it.
    pub name: &'a [u8],
}

/// Bytes that are a directory entry: long enough, with the right node checksum. The name may not be
/// among them.
#[derive(Debug, Clone, Copy)]
pub struct DirentView<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> DirentView<'a> {
    /// `bytes` from the header on; of the name there may be any number or none.
    ///
    /// # Errors
    /// [`Malformed::Short`], [`Malformed::NodeCrc`].
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Result<Self, Malformed> {
        checked(bytes, order, SIZE, COVERED, field::NODE_CRC)?;
        Ok(Self { bytes, order })
    }

    /// The total length that the header says.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.order.get32(self.bytes, 4..8)
    }

    /// The length of the name.
    #[must_use]
    pub const fn name_length(&self) -> u8 {
        self.bytes[field::NAME_LENGTH]
    }

    /// The checksum that the name shall have.
    #[must_use]
    pub fn name_crc(&self) -> u32 {
        self.order.get32(self.bytes, field::NAME_CRC)
    }

    /// What `bytes` hold of the name.
    #[must_use]
    pub fn name_so_far(&self) -> &'a [u8] {
        let name = &self.bytes[field::NAME..];
        &name[..usize::from(self.name_length()).min(name.len())]
    }

    /// Whether the total length in the header is that of the fields and the name.
    ///
    /// # Errors
    /// [`Malformed::Length`].
    pub fn check_lengths(&self) -> Result<(), Malformed> {
        let (total, needed) = (self.length(), SIZE + u32::from(self.name_length()));
        if u64::from(total).next_multiple_of(4) == u64::from(pad(needed)) {
            return Ok(());
        }
        Err(Malformed::Length { total, needed: u64::from(needed) })
    }

    /// All fields with a name that was read elsewhere; its checksum is not looked at.
    #[must_use]
    pub fn with_name<'n>(&self, name: &'n [u8]) -> Dirent<'n> {
        Dirent {
            parent: self.order.get32(self.bytes, field::PARENT),
            version: self.order.get32(self.bytes, field::VERSION),
            ino: self.order.get32(self.bytes, field::INO),
            mctime: self.order.get32(self.bytes, field::MCTIME),
            kind: self.bytes[field::KIND],
            name,
        }
    }

    /// All fields and the name, which ends at its first NUL as the kernel's does.
    ///
    /// # Errors
    /// [`Malformed::Short`] when the name is not whole, [`Malformed::DataCrc`].
    pub fn parse(&self) -> Result<Dirent<'a>, Malformed> {
        let needed = SIZE + u32::from(self.name_length());
        let Some(name) = self.bytes.get(field::NAME..to_usize(needed)) else {
            return Err(Malformed::Short { expected: needed, found: length_of(self.bytes) });
        };
        let name = until_nul(name);
        let (expected, found) = (self.name_crc(), crc(0, name));
        if expected != found {
            return Err(Malformed::DataCrc { expected, found });
        }
        Ok(self.with_name(name))
    }
}

/// `name` up to its first NUL.
#[must_use]
pub fn until_nul(name: &[u8]) -> &[u8] {
    name.split(|&byte| byte == 0).next().unwrap_or(name)
}

impl Dirent<'_> {
    /// The same entry without its name, which borrows nothing.
    #[must_use]
    pub fn with_empty_name(&self) -> Dirent<'static> {
        Dirent { name: &[], ..*self }
    }

    /// Bytes of the node.
    ///
    /// # Panics
    /// When the name is longer than its length field can say.
    #[must_use]
    pub fn length(&self) -> u32 {
        SIZE + u32::from(self.name_length())
    }

    fn name_length(&self) -> u8 {
        u8::try_from(self.name.len()).expect("Dirent: a name of more than 255 bytes")
    }

    /// The header of this node.
    #[must_use]
    pub fn header(&self) -> Header {
        Header::new(NodeType::Dirent, self.length())
    }

    /// Writes the node to the first [`Dirent::length`] of `bytes`.
    ///
    /// # Panics
    /// When there are fewer, or the name is too long.
    pub fn emit(&self, bytes: &mut [u8], order: ByteOrder) {
        self.header().emit(bytes, order);
        order.put32(bytes, field::PARENT, self.parent);
        order.put32(bytes, field::VERSION, self.version);
        order.put32(bytes, field::INO, self.ino);
        order.put32(bytes, field::MCTIME, self.mctime);
        bytes[field::NAME_LENGTH] = self.name_length();
        bytes[field::KIND] = self.kind;
        bytes[field::UNUSED].fill(0);
        let sum = crc(0, &bytes[..COVERED]);
        order.put32(bytes, field::NODE_CRC, sum);
        order.put32(bytes, field::NAME_CRC, crc(0, self.name));
        bytes[field::NAME..field::NAME + self.name.len()].copy_from_slice(self.name);
    }
}

impl fmt::Display for Dirent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.escape_ascii();
        let (parent, version) = (self.parent, self.version);
        match self.ino {
            0 => write!(f, "no \"{name}\" in {parent} since version {version}"),
            ino => write!(f, "\"{name}\" in {parent} is inode {ino}, version {version}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Dirent<'static> {
        Dirent { parent: 1, version: 7, ino: 2, mctime: 0x6540_0000, kind: 8, name: b"hello" }
    }

    #[test]
    fn an_entry_has_its_fields_where_linux_has_them() {
        let mut bytes = [0xEE; 45];
        entry().emit(&mut bytes, ByteOrder::Big);
        let (header, rest) = bytes.split_at(12);
        assert_eq!(header[..8], [0x19, 0x85, 0xe0, 0x01, 0, 0, 0, 45]);
        let expected = [0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 2, 0x65, 0x40, 0, 0, 5, 8, 0, 0];
        assert_eq!(rest[..20], expected);
        assert_eq!(&rest[28..], b"hello");
    }

    #[test]
    fn an_entry_is_read_back_in_both_orders() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let mut bytes = [0; 48];
            entry().emit(&mut bytes, order);
            let view = DirentView::new(&bytes, order).unwrap();
            assert_eq!(view.parse(), Ok(entry()));
            assert_eq!(view.check_lengths(), Ok(()));
        }
    }

    #[test]
    fn a_wrong_bit_in_fields_or_name_is_noticed() {
        let mut bytes = [0; 45];
        entry().emit(&mut bytes, ByteOrder::Little);
        bytes[42] ^= 1;
        let view = DirentView::new(&bytes, ByteOrder::Little).unwrap();
        assert!(matches!(view.parse(), Err(Malformed::DataCrc { .. })));
        assert_eq!(view.name_so_far(), b"hemlo");
        bytes[16] ^= 1;
        assert!(DirentView::new(&bytes, ByteOrder::Little).is_err());
    }

    #[test]
    fn a_name_that_is_not_whole_is_told() {
        let mut bytes = [0; 45];
        entry().emit(&mut bytes, ByteOrder::Little);
        let view = DirentView::new(&bytes[..43], ByteOrder::Little).unwrap();
        assert_eq!(view.parse(), Err(Malformed::Short { expected: 45, found: 43 }));
        assert_eq!(view.name_so_far(), b"hel");
    }

    #[test]
    fn a_name_ends_at_its_first_nul() {
        assert_eq!(until_nul(b"ab\0cd"), b"ab");
        assert_eq!(until_nul(b"\0"), b"");
        assert_eq!(until_nul(b"ab"), b"ab");
    }

    #[test]
    fn an_entry_that_removes_a_name_says_so() {
        let removed = Dirent { ino: 0, ..entry() };
        assert_eq!(removed.to_string(), "no \"hello\" in 1 since version 7");
    }
}
