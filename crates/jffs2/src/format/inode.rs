//! The inode node: all metadata of an inode, with or without a piece of its content.
//!
//! Layer: rank 5, format. Main types: [`InodeView`] over bytes, [`Inode`], the 68 bytes before the
//! data.
//!
//! ```text
//!  0       12    16        20     24    26    28      32     36     40     44
//!  | header | ino | version | mode | uid | gid | isize | atime mtime ctime |
//!  44       48      52      56      57          58      60         64         68
//!  | offset | csize | dsize | compr | usercompr | flags | data crc | node crc | data, csize bytes
//! ```
//! The node checksum covers the first 60 bytes, the data checksum the data as they are stored.
//!
//! Source: Linux 6.1, `struct jffs2_raw_inode`.

use super::header::{Header, NodeType};
use super::{ByteOrder, Malformed, checked, crc, pad};
use std::fmt;

/// Bytes before the data.
pub const SIZE: u32 = 68;
/// Bytes that the node checksum covers.
const COVERED: usize = 60;

mod field {
    use std::ops::Range;
    pub(super) const INO: Range<usize> = 12..16;
    pub(super) const VERSION: Range<usize> = 16..20;
    pub(super) const MODE: Range<usize> = 20..24;
    pub(super) const UID: Range<usize> = 24..26;
    pub(super) const GID: Range<usize> = 26..28;
    pub(super) const ISIZE: Range<usize> = 28..32;
    pub(super) const ATIME: Range<usize> = 32..36;
    pub(super) const MTIME: Range<usize> = 36..40;
    pub(super) const CTIME: Range<usize> = 40..44;
    pub(super) const OFFSET: Range<usize> = 44..48;
    pub(super) const CSIZE: Range<usize> = 48..52;
    pub(super) const DSIZE: Range<usize> = 52..56;
    pub(super) const COMPR: usize = 56;
    pub(super) const USERCOMPR: usize = 57;
    pub(super) const FLAGS: Range<usize> = 58..60;
    pub(super) const DATA_CRC: Range<usize> = 60..64;
    pub(super) const NODE_CRC: Range<usize> = 64..68;
}

/// How the data of a node are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Compressor {
    /// As they are.
    None,
    /// Not at all: they are zeros.
    Zero,
    /// Repeats since the last time that the same byte occurred.
    Rtime,
    /// Rubin's arithmetic coder with a table fitted to MIPS code.
    RubinMips,
    /// As they are: a compressor for tests, never written.
    Copy,
    /// Rubin's arithmetic coder with a table fitted to each page.
    DynRubin,
    /// A zlib stream.
    Zlib,
    /// LZO1X.
    Lzo,
    /// A number that this version does not know.
    Unknown(u8),
}

impl Compressor {
    /// The number on flash.
    #[must_use]
    pub const fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Zero => 1,
            Self::Rtime => 2,
            Self::RubinMips => 3,
            Self::Copy => 4,
            Self::DynRubin => 5,
            Self::Zlib => 6,
            Self::Lzo => 7,
            Self::Unknown(number) => number,
        }
    }

    /// The compressor of a number on flash.
    #[must_use]
    pub const fn of(number: u8) -> Self {
        match number {
            0 => Self::None,
            1 => Self::Zero,
            2 => Self::Rtime,
            3 => Self::RubinMips,
            4 => Self::Copy,
            5 => Self::DynRubin,
            6 => Self::Zlib,
            7 => Self::Lzo,
            other => Self::Unknown(other),
        }
    }
}

impl fmt::Display for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
            Self::Zero => f.pad("zero"),
            Self::Rtime => f.pad("rtime"),
            Self::RubinMips => f.pad("rubinmips"),
            Self::Copy => f.pad("copy"),
            Self::DynRubin => f.pad("dynrubin"),
            Self::Zlib => f.pad("zlib"),
            Self::Lzo => f.pad("lzo"),
            Self::Unknown(number) => f.pad(&format!("unknown ({number})")),
        }
    }
}

/// An inode node without its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inode {
    /// The inode.
    pub ino: u32,
    /// Its age: of two nodes of an inode the one with the higher version is newer.
    pub version: u32,
    /// Kind and permission bits.
    pub mode: u32,
    /// Owner.
    pub uid: u16,
    /// Group.
    pub gid: u16,
    /// Bytes of the file after this node.
    pub isize: u32,
    /// Last access, in seconds since 1970.
    pub atime: u32,
    /// Last change of the content.
    pub mtime: u32,
    /// Last change of the attributes.
    pub ctime: u32,
    /// Where the data lie in the file.
    pub offset: u32,
    /// Bytes of the data as stored.
    pub csize: u32,
    /// Bytes of the data in the file.
    pub dsize: u32,
    /// How they are stored.
    pub compressor: Compressor,
    /// Which compressor the user asked for; 0 when none.
    pub user_compressor: u8,
    /// Bit 0: read ahead; bit 1: the user asked for a compressor.
    pub flags: u16,
    /// The checksum of the data as stored.
    pub data_crc: u32,
}

/// Bytes that are an inode node: long enough, with the right node checksum. The data may not be among
/// them.
#[derive(Debug, Clone, Copy)]
pub struct InodeView<'a> {
    bytes: &'a [u8],
    order: ByteOrder,
}

impl<'a> InodeView<'a> {
    /// `bytes` from the header on; of the data there may be any number or none.
    ///
    /// # Errors
    /// [`Malformed::Short`], [`Malformed::NodeCrc`].
    pub fn new(bytes: &'a [u8], order: ByteOrder) -> Result<Self, Malformed> {
        checked(bytes, order, SIZE, COVERED, field::NODE_CRC)?;
        Ok(Self { bytes, order })
    }

    /// The inode.
    #[must_use]
    pub fn ino(&self) -> u32 {
        self.order.get32(self.bytes, field::INO)
    }

    /// The version.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.order.get32(self.bytes, field::VERSION)
    }

    /// The total length that the header says.
    #[must_use]
    pub fn length(&self) -> u32 {
        self.order.get32(self.bytes, 4..8)
    }

    /// All fields. Hole nodes that old kernels wrote with `csize` and `dsize` exchanged are put right.
    #[must_use]
    pub fn parse(&self) -> Inode {
        let get = |at| self.order.get32(self.bytes, at);
        let node = Inode {
            ino: self.ino(),
            version: self.version(),
            mode: get(field::MODE),
            uid: self.order.get16(self.bytes, field::UID),
            gid: self.order.get16(self.bytes, field::GID),
            isize: get(field::ISIZE),
            atime: get(field::ATIME),
            mtime: get(field::MTIME),
            ctime: get(field::CTIME),
            offset: get(field::OFFSET),
            csize: get(field::CSIZE),
            dsize: get(field::DSIZE),
            compressor: Compressor::of(self.bytes[field::COMPR]),
            user_compressor: self.bytes[field::USERCOMPR],
            flags: self.order.get16(self.bytes, field::FLAGS),
            data_crc: get(field::DATA_CRC),
        };
        if node.compressor == Compressor::Zero && node.dsize == 0 {
            return Inode { csize: 0, dsize: node.csize, ..node };
        }
        node
    }

    /// Whether the total length in the header is that of the fields and the stored data, and the data
    /// begin within the file.
    ///
    /// # Errors
    /// [`Malformed::Length`], [`Malformed::Value`].
    pub fn check_lengths(&self) -> Result<(), Malformed> {
        let (total, csize) = (self.length(), self.order.get32(self.bytes, field::CSIZE));
        let needed = u64::from(SIZE) + u64::from(csize);
        if u64::from(total).next_multiple_of(4) != needed.next_multiple_of(4) {
            return Err(Malformed::Length { total, needed });
        }
        let offset = self.order.get32(self.bytes, field::OFFSET);
        if offset > self.order.get32(self.bytes, field::ISIZE) {
            return Err(Malformed::Value { field: "offset", found: offset });
        }
        Ok(())
    }

    /// What `bytes` hold of the data as stored, at most `csize` bytes.
    #[must_use]
    pub fn data(&self) -> &'a [u8] {
        let data = &self.bytes[super::to_usize(SIZE)..];
        let stored = super::to_usize(self.order.get32(self.bytes, field::CSIZE));
        &data[..stored.min(data.len())]
    }
}

impl Inode {
    /// The header of this node.
    #[must_use]
    pub const fn header(&self) -> Header {
        Header::new(NodeType::Inode, SIZE + self.csize)
    }

    /// Bytes that the node takes on flash, with what aligns the next one.
    #[must_use]
    pub const fn padded(&self) -> u32 {
        pad(SIZE + self.csize)
    }

    /// Writes header and fields to the first 68 of `bytes`, with the node checksum; the data follow.
    ///
    /// # Panics
    /// When there are fewer.
    pub fn emit(&self, bytes: &mut [u8], order: ByteOrder) {
        self.header().emit(bytes, order);
        for (at, value) in [
            (field::INO, self.ino),
            (field::VERSION, self.version),
            (field::MODE, self.mode),
            (field::ISIZE, self.isize),
            (field::ATIME, self.atime),
            (field::MTIME, self.mtime),
            (field::CTIME, self.ctime),
            (field::OFFSET, self.offset),
            (field::CSIZE, self.csize),
            (field::DSIZE, self.dsize),
            (field::DATA_CRC, self.data_crc),
        ] {
            order.put32(bytes, at, value);
        }
        order.put16(bytes, field::UID, self.uid);
        order.put16(bytes, field::GID, self.gid);
        bytes[field::COMPR] = self.compressor.number();
        bytes[field::USERCOMPR] = self.user_compressor;
        order.put16(bytes, field::FLAGS, self.flags);
        let sum = crc(0, &bytes[..COVERED]);
        order.put32(bytes, field::NODE_CRC, sum);
    }
}

impl fmt::Display for Inode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "inode {} version {} mode {:o} size {}: {} bytes at {} stored as {} ({})",
            self.ino,
            self.version,
            self.mode,
            self.isize,
            self.dsize,
            self.offset,
            self.csize,
            self.compressor
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The metadata of a directory with a mode of 0755, as mkfs.jffs2 writes it.
    fn directory() -> Inode {
        Inode {
            ino: 1,
            version: 1,
            mode: 0o040_755,
            uid: 1000,
            gid: 100,
            isize: 0,
            atime: 0x6540_0000,
            mtime: 0x6540_0001,
            ctime: 0x6540_0002,
            offset: 0,
            csize: 0,
            dsize: 0,
            compressor: Compressor::None,
            user_compressor: 0,
            flags: 0,
            data_crc: 0,
        }
    }

    #[test]
    fn an_inode_node_has_its_fields_where_linux_has_them() {
        let mut bytes = [0xEE; 68];
        let node = Inode {
            offset: 0x1000,
            csize: 3,
            dsize: 0x1000,
            isize: 0x2345,
            compressor: Compressor::Zlib,
            data_crc: 0x1122_3344,
            ..directory()
        };
        node.emit(&mut bytes, ByteOrder::Little);
        let expected = [
            0x85, 0x19, 0x02, 0xe0, 71, 0, 0, 0, //
            bytes[8], bytes[9], bytes[10], bytes[11], 1, 0, 0, 0, //
            1, 0, 0, 0, 0xed, 0x41, 0, 0, //
            0xe8, 0x03, 100, 0, 0x45, 0x23, 0, 0, //
            0, 0, 0x40, 0x65, 1, 0, 0x40, 0x65, //
            2, 0, 0x40, 0x65, 0, 0x10, 0, 0, //
            3, 0, 0, 0, 0, 0x10, 0, 0, //
            6, 0, 0, 0, 0x44, 0x33, 0x22, 0x11, //
            bytes[64], bytes[65], bytes[66], bytes[67],
        ];
        assert_eq!(bytes, expected);
        assert_eq!(node.padded(), 72);
    }

    #[test]
    fn an_inode_node_is_read_back_in_both_orders() {
        for order in [ByteOrder::Little, ByteOrder::Big] {
            let mut bytes = [0; 68];
            directory().emit(&mut bytes, order);
            let view = InodeView::new(&bytes, order).unwrap();
            assert_eq!(view.parse(), directory());
            assert_eq!(view.check_lengths(), Ok(()));
            assert_eq!(view.data(), b"");
        }
    }

    #[test]
    fn a_wrong_bit_in_a_field_is_noticed() {
        let mut bytes = [0; 68];
        directory().emit(&mut bytes, ByteOrder::Little);
        bytes[21] ^= 0x02;
        let refused = InodeView::new(&bytes, ByteOrder::Little).map(|view| view.parse());
        assert!(matches!(refused, Err(Malformed::NodeCrc { .. })), "{refused:?}");
        let short = InodeView::new(&bytes[..67], ByteOrder::Little).map(|view| view.parse());
        assert_eq!(short, Err(Malformed::Short { expected: 68, found: 67 }));
    }

    #[test]
    fn lengths_that_do_not_add_up_are_noticed() {
        let mut bytes = [0; 68];
        let lying = Inode { csize: u32::MAX - 70, ..directory() };
        // The header is that of the node without data.
        lying.emit(&mut bytes, ByteOrder::Little);
        directory().header().emit(&mut bytes, ByteOrder::Little);
        let sum = crc(0, &bytes[..60]);
        ByteOrder::Little.put32(&mut bytes, 64..68, sum);
        let view = InodeView::new(&bytes, ByteOrder::Little).unwrap();
        assert!(matches!(view.check_lengths(), Err(Malformed::Length { .. })));
    }

    #[test]
    fn a_hole_with_sizes_exchanged_is_put_right() {
        let mut bytes = [0; 68];
        let hole = Inode { compressor: Compressor::Zero, csize: 4096, ..directory() };
        hole.emit(&mut bytes, ByteOrder::Big);
        let found = InodeView::new(&bytes, ByteOrder::Big).unwrap().parse();
        assert_eq!((found.csize, found.dsize), (0, 4096));
    }
}
