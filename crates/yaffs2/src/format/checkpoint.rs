//! The checkpoint: all tables in memory as a stream over the chunks of blocks of their own.
//!
//! Layer: rank 5, format. Main types: [`PageHeader`], [`Validity`], [`DeviceRecord`], [`BlockRecord`],
//! [`ObjectRecord`], [`Checksum`].
//!
//! ```text
//!  validity, head | device | blocks, 8 bytes each | bits of chunks in use | objects | validity, tail | checksum
//! ```
//! Each chunk of the stream begins with a header of 16 bytes: version, number, and the running sum and xor of
//! the bytes before it. An object of a file is followed by the lowest nodes of its tree, each after the number
//! of its first chunk, and by FFFF_FFFF. How long such a node is depends on the size of a pointer, so a
//! checkpoint of a 64-bit kernel is not one of a 32-bit kernel.
//!
//! Source: `core/yaffs_checkptrw.c`, `core/yaffs_yaffs2.c`, `core/yaffs_guts.h`.

use super::{ByteOrder, to_u32};

/// The version that is written.
pub const VERSION: u32 = 8;
/// What a validity marker holds.
pub const MAGIC: u32 = 0x5941_FF53;
/// Bytes of the header of a chunk of the stream.
pub const PAGE_HEADER: usize = 16;
/// Bytes of the marker at either end.
pub const VALIDITY: usize = 16;
/// Bytes of the record of the device.
pub const DEVICE: usize = 36;
/// Bytes of the record of a block.
pub const BLOCK: usize = 8;
/// Bytes of the record of an object.
pub const OBJECT: usize = 32;
/// Ends the nodes of a file; as the number of an object it ends the objects.
pub const END: u32 = u32::MAX;

fn put<const N: usize>(order: ByteOrder, fields: [u32; N]) -> Vec<u8> {
    fields.into_iter().flat_map(|field| order.bytes32(field)).collect()
}

fn field(bytes: &[u8], order: ByteOrder, index: usize) -> u32 {
    order.get32(bytes, index * 4..index * 4 + 4)
}

/// The header of a chunk of the stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageHeader {
    /// The number of the chunk in the stream, from 0.
    pub number: u32,
    /// The sum of all bytes of the stream before it.
    pub sum: u32,
    /// Their exclusive or.
    pub xor: u32,
}

impl PageHeader {
    /// The bytes on flash.
    #[must_use]
    pub fn emit(&self, order: ByteOrder) -> Vec<u8> {
        put(order, [VERSION, self.number, self.sum, self.xor])
    }
}

/// A validity marker: the head or the tail.
#[must_use]
pub fn validity(head: bool, order: ByteOrder) -> Vec<u8> {
    put(order, [to_u32(VALIDITY), MAGIC, VERSION, u32::from(head)])
}

/// The record of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceRecord {
    /// Erased blocks.
    pub erased_blocks: i32,
    /// The block that chunks are taken from; -1 for none.
    pub alloc_block: i32,
    /// The next chunk in it.
    pub alloc_page: u32,
    /// Chunks that hold nothing of use.
    pub free_chunks: i32,
    /// Files whose data wait for garbage collection.
    pub deleted_files: i32,
    /// Files without a name.
    pub unlinked_files: i32,
    /// The sequence number of the newest block.
    pub sequence: u32,
}

impl DeviceRecord {
    /// The bytes on flash.
    #[must_use]
    pub fn emit(&self, order: ByteOrder) -> Vec<u8> {
        let fields = [
            to_u32(DEVICE),
            self.erased_blocks.cast_unsigned(),
            self.alloc_block.cast_unsigned(),
            self.alloc_page,
            self.free_chunks.cast_unsigned(),
            self.deleted_files.cast_unsigned(),
            self.unlinked_files.cast_unsigned(),
            0,
            self.sequence,
        ];
        put(order, fields)
    }

    /// The record in `bytes`; `None` if it says another size.
    ///
    /// # Panics
    /// When there are fewer than [`DEVICE`].
    #[must_use]
    pub fn parse(bytes: &[u8], order: ByteOrder) -> Option<Self> {
        let get = |index| field(bytes, order, index);
        (get(0) == to_u32(DEVICE)).then(|| Self {
            erased_blocks: get(1).cast_signed(),
            alloc_block: get(2).cast_signed(),
            alloc_page: get(3),
            free_chunks: get(4).cast_signed(),
            deleted_files: get(5).cast_signed(),
            unlinked_files: get(6).cast_signed(),
            sequence: get(8),
        })
    }
}

/// The record of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlockRecord {
    /// Chunks of files that were deleted softly.
    pub soft_deleted: u32,
    /// Chunks in use.
    pub in_use: u32,
    /// The number of the state.
    pub state: u32,
    /// Whether the block is to be marked bad.
    pub needs_retiring: bool,
    /// Whether it is known to be erased.
    pub skip_erased_check: bool,
    /// Whether it is to be collected first.
    pub prioritised: bool,
    /// How often errors occurred in it.
    pub strikes: u32,
    /// Whether it ends with a summary.
    pub has_summary: bool,
    /// Whether a header in it shrinks a file.
    pub has_shrink_header: bool,
    /// The sequence number.
    pub sequence: u32,
}

impl BlockRecord {
    /// The bytes on flash.
    #[must_use]
    pub fn emit(&self, order: ByteOrder) -> Vec<u8> {
        let flags = self.soft_deleted & 0x3FF
            | (self.in_use & 0x3FF) << 10
            | (self.state & 15) << 20
            | u32::from(self.needs_retiring) << 24
            | u32::from(self.skip_erased_check) << 25
            | u32::from(self.prioritised) << 26
            | (self.strikes & 7) << 27
            | u32::from(self.has_summary) << 30
            | u32::from(self.has_shrink_header) << 31;
        put(order, [flags, self.sequence])
    }

    /// The record in `bytes`.
    ///
    /// # Panics
    /// When there are fewer than [`BLOCK`].
    #[must_use]
    pub fn parse(bytes: &[u8], order: ByteOrder) -> Self {
        let flags = field(bytes, order, 0);
        let bit = |at: u32| flags >> at & 1 == 1;
        Self {
            soft_deleted: flags & 0x3FF,
            in_use: flags >> 10 & 0x3FF,
            state: flags >> 20 & 15,
            needs_retiring: bit(24),
            skip_erased_check: bit(25),
            prioritised: bit(26),
            strikes: flags >> 27 & 7,
            has_summary: bit(30),
            has_shrink_header: bit(31),
            sequence: field(bytes, order, 1),
        }
    }
}

/// The record of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ObjectRecord {
    /// Its number.
    pub object: u32,
    /// Its directory; 0 for none.
    pub parent: u32,
    /// The chunk of its header; 0 for none.
    pub header: u32,
    /// The number of its type.
    pub kind: u32,
    /// Whether it is deleted.
    pub deleted: bool,
    /// Whether its chunks are deleted softly.
    pub soft_deleted: bool,
    /// Whether it has no name.
    pub unlinked: bool,
    /// Whether it may be on no flash.
    pub fake: bool,
    /// Whether it may be renamed.
    pub rename_allowed: bool,
    /// Whether it may be deleted.
    pub unlink_allowed: bool,
    /// Which of two copies of its header is newer, on YAFFS1.
    pub serial: u8,
    /// Chunks of data.
    pub data_chunks: i32,
    /// The size of a file, or the object that a hard link leads to.
    pub size_or_equivalent: u64,
}

impl ObjectRecord {
    /// The bytes on flash.
    #[must_use]
    pub fn emit(&self, order: ByteOrder) -> Vec<u8> {
        let bits = self.kind & 7
            | u32::from(self.deleted) << 3
            | u32::from(self.soft_deleted) << 4
            | u32::from(self.unlinked) << 5
            | u32::from(self.fake) << 6
            | u32::from(self.rename_allowed) << 7
            | u32::from(self.unlink_allowed) << 8
            | u32::from(self.serial) << 9;
        let fields = [
            to_u32(OBJECT),
            self.object,
            self.parent,
            self.header,
            bits,
            self.data_chunks.cast_unsigned(),
        ];
        let mut bytes = put(order, fields);
        bytes.extend(match order {
            ByteOrder::Little => self.size_or_equivalent.to_le_bytes(),
            ByteOrder::Big => self.size_or_equivalent.to_be_bytes(),
        });
        bytes
    }

    /// What ends the objects.
    #[must_use]
    pub fn emit_end(order: ByteOrder) -> Vec<u8> {
        put(order, [to_u32(OBJECT), END, END, END, END, END, END, END])
    }

    /// The record in `bytes`; `None` if it says another size. Its number is [`END`] behind the last.
    ///
    /// # Panics
    /// When there are fewer than [`OBJECT`].
    #[must_use]
    pub fn parse(bytes: &[u8], order: ByteOrder) -> Option<Self> {
        let get = |index| field(bytes, order, index);
        if get(0) != to_u32(OBJECT) {
            return None;
        }
        let bits = get(4);
        let bit = |at: u32| bits >> at & 1 == 1;
        let (low, high) = match order {
            ByteOrder::Little => (get(6), get(7)),
            ByteOrder::Big => (get(7), get(6)),
        };
        Some(Self {
            object: get(1),
            parent: get(2),
            header: get(3),
            kind: bits & 7,
            deleted: bit(3),
            soft_deleted: bit(4),
            unlinked: bit(5),
            fake: bit(6),
            rename_allowed: bit(7),
            unlink_allowed: bit(8),
            serial: u8::try_from(bits >> 9 & 0xFF).expect("eight bits"),
            data_chunks: get(5).cast_signed(),
            size_or_equivalent: u64::from(high) << 32 | u64::from(low),
        })
    }
}

/// The running checksum of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checksum {
    /// The sum of the bytes.
    pub sum: u32,
    /// Their exclusive or.
    pub xor: u32,
}

impl Checksum {
    /// Adds bytes of the stream.
    pub fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.sum = self.sum.wrapping_add(u32::from(byte));
            self.xor ^= u32::from(byte);
        }
    }

    /// The number at the end of the stream.
    #[must_use]
    pub const fn value(&self) -> u32 {
        self.sum << 8 | self.xor & 0xFF
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_were_written() {
        let device = DeviceRecord {
            erased_blocks: 3,
            alloc_block: -1,
            alloc_page: 0,
            free_chunks: 190,
            deleted_files: 0,
            unlinked_files: 1,
            sequence: 0x1005,
        };
        let block = BlockRecord {
            soft_deleted: 1,
            in_use: 63,
            state: 5,
            has_summary: true,
            strikes: 5,
            sequence: 0x1003,
            ..BlockRecord::default()
        };
        let object = ObjectRecord {
            object: 257,
            parent: 1,
            header: 64,
            kind: 1,
            rename_allowed: true,
            serial: 200,
            data_chunks: 9,
            size_or_equivalent: 5 << 32 | 17,
            ..ObjectRecord::default()
        };
        for order in [ByteOrder::Little, ByteOrder::Big] {
            assert_eq!(DeviceRecord::parse(&device.emit(order), order), Some(device));
            assert_eq!(BlockRecord::parse(&block.emit(order), order), block);
            assert_eq!(ObjectRecord::parse(&object.emit(order), order), Some(object));
            let end = ObjectRecord::parse(&ObjectRecord::emit_end(order), order).unwrap();
            assert_eq!(end.object, END);
        }
        assert_eq!(block.emit(ByteOrder::Little)[..4], [0x01, 0xFC, 0x50, 0x68]);
        assert_eq!(ObjectRecord::parse(&[0; OBJECT], ByteOrder::Little), None);
        assert_eq!(DeviceRecord::parse(&[0; DEVICE], ByteOrder::Little), None);
    }

    #[test]
    fn the_checksum_is_the_sum_above_the_exclusive_or() {
        let mut checksum = Checksum::default();
        checksum.add(&[1, 2, 0xFF]);
        assert_eq!(checksum.value(), 0x102 << 8 | 0xFC);
    }
}
