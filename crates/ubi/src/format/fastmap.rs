//! The fastmap: a list of all blocks and of the mapping, so that an attach needs no scan.
//!
//! Layer: rank 4, format. Main types: [`SuperBlock`], the first structure; [`Fastmap`], all of it.
//!
//! ```text
//!  super block 312 | counts 32 | pool 1048 | pool for moves 1048 |
//!  free, used, scrub, erase: 8 bytes a block: number, erase counter |
//!  per volume: header 32, mapping 8 + 4 a LEB | zeros to whole LEBs
//! ```
//! The checksum in the super block covers everything, with itself as zero. Blocks of the pools may have
//! been used since; their headers are read at attach.
//!
//! Source: Linux 6.1, `struct ubi_fm_sb` and those after it; `fastmap.c`, `ubi_write_fastmap`.

use super::vtbl::VolumeKind;
use super::{Malformed, ORDER, crc, to_usize};
use std::fmt;

/// The anchor is one of so many blocks at the beginning of the device (`UBI_FM_MAX_START`).
pub const START: u32 = 64;
/// Blocks of a fastmap at most (`UBI_FM_MAX_BLOCKS`).
pub const BLOCKS_MAX: u32 = 32;
/// Blocks of a pool at least (`UBI_FM_MIN_POOL_SIZE`).
pub const POOL_MIN: u32 = 8;
/// Blocks of a pool at most (`UBI_FM_MAX_POOL_SIZE`).
pub const POOL_MAX: u32 = 256;
/// Bytes of the super block.
pub const SUPER_SIZE: usize = 312;

const VERSION: u8 = 1;
const SUPER_MAGIC: u32 = 0x7B11_D69F;
const HEADER_MAGIC: u32 = 0xD4B8_2EF7;
const VOLUME_MAGIC: u32 = 0xFA37_0ED1;
const POOL_MAGIC: u32 = 0x67AF_4D08;
const MAPPING_MAGIC: u32 = 0xF0C0_40A8;
/// A LEB that is not mapped.
const UNMAPPED: u32 = u32::MAX;

mod field {
    use std::ops::Range;
    pub(super) const MAGIC: Range<usize> = 0..4;
    pub(super) const VERSION: usize = 4;
    pub(super) const DATA_CRC: Range<usize> = 8..12;
    pub(super) const USED_BLOCKS: Range<usize> = 12..16;
    pub(super) const LOCATIONS: usize = 16;
    pub(super) const COUNTERS: usize = 16 + 4 * 32;
}

/// A block and its erase counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// The number of the block.
    pub peb: u32,
    /// How often it was erased.
    pub ec: u32,
}

/// The super block: where the fastmap is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SuperBlock {
    /// Its blocks, the anchor first.
    pub blocks: Vec<Block>,
    /// The checksum of the whole fastmap.
    pub data_crc: u32,
}

/// Free blocks that were set aside.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pool {
    /// The blocks.
    pub pebs: Vec<u32>,
    /// How many it may have.
    pub size_max: u32,
}

/// A volume and its mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Volume {
    /// Its number.
    pub id: u32,
    /// Its type.
    pub kind: VolumeKind,
    /// Unused bytes of each LEB.
    pub data_pad: u32,
    /// LEBs with data.
    pub used_lebs: u32,
    /// Bytes of the last LEB with data.
    pub last_bytes: u32,
    /// The block of each LEB.
    pub mapping: Vec<Option<u32>>,
}

/// All of a fastmap but its super block.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fastmap {
    /// Free blocks for new data.
    pub pool: Pool,
    /// Free blocks for data that are moved.
    pub wl_pool: Pool,
    /// The other free blocks.
    pub free: Vec<Block>,
    /// Blocks with LEBs.
    pub used: Vec<Block>,
    /// Blocks with LEBs that are to be moved.
    pub scrub: Vec<Block>,
    /// Blocks that are to be erased.
    pub erase: Vec<Block>,
    /// The number of bad blocks.
    pub bad_count: u32,
    /// The volumes.
    pub volumes: Vec<Volume>,
}

/// The bytes of a fastmap of this device, in whole LEBs (`ubi_calc_fm_size`).
#[must_use]
pub fn size(peb_count: u32, leb_size: u32) -> u64 {
    const VOLUMES: u64 = 128 + 1;
    let bytes = 312 + 32 + 2 * 1_048 + u64::from(peb_count) * (8 + 4) + VOLUMES * (8 + 32);
    bytes.next_multiple_of(u64::from(leb_size))
}

impl SuperBlock {
    /// The super block that `bytes` begin with.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<Self, Malformed> {
        let Some(bytes) = bytes.get(..SUPER_SIZE) else {
            return Err(Malformed::Short { expected: SUPER_SIZE, found: bytes.len() });
        };
        expect_magic(bytes, SUPER_MAGIC)?;
        let version = bytes[field::VERSION];
        if version != VERSION {
            return Err(Malformed::value("the version", version));
        }
        let count = ORDER.get32(bytes, field::USED_BLOCKS);
        if !(1..=BLOCKS_MAX).contains(&count) {
            return Err(Malformed::value("the number of blocks", count));
        }
        let number = |table: usize, index: usize| {
            let at = table + 4 * index;
            ORDER.get32(bytes, at..at + 4)
        };
        let block = |index| Block {
            peb: number(field::LOCATIONS, index),
            ec: number(field::COUNTERS, index),
        };
        let blocks = (0..to_usize(count)).map(block).collect();
        Ok(Self { blocks, data_crc: ORDER.get32(bytes, field::DATA_CRC) })
    }

    fn emit(blocks: &[Block], bytes: &mut [u8]) {
        ORDER.put32(bytes, field::MAGIC, SUPER_MAGIC);
        bytes[field::VERSION] = VERSION;
        let count = u32::try_from(blocks.len()).expect("a fastmap has few blocks");
        ORDER.put32(bytes, field::USED_BLOCKS, count);
        for (index, block) in blocks.iter().enumerate() {
            for (table, value) in [(field::LOCATIONS, block.peb), (field::COUNTERS, block.ec)] {
                let at = table + 4 * index;
                ORDER.put32(bytes, at..at + 4, value);
            }
        }
    }
}

impl fmt::Display for SuperBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let anchor = self.blocks.first().map_or(0, |block| block.peb);
        write!(f, "fastmap of {} blocks from block {anchor} on", self.blocks.len())
    }
}

fn expect_magic(bytes: &[u8], expected: u32) -> Result<(), Malformed> {
    let found = ORDER.get32(bytes, field::MAGIC);
    if found == expected { Ok(()) } else { Err(Malformed::Magic { expected, found }) }
}

/// Reads structures one after another, never to the very end: the kernel takes a fastmap without a byte
/// left as damaged.
struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Malformed> {
        let end = self.at.saturating_add(length);
        let found = self.bytes.len();
        if end >= found {
            return Err(Malformed::Short { expected: end, found });
        }
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn pool(&mut self) -> Result<Pool, Malformed> {
        let bytes = self.take(8 + 4 * to_usize(POOL_MAX) + 16)?;
        expect_magic(bytes, POOL_MAGIC)?;
        let count = u32::from(ORDER.get16(bytes, 4..6));
        let size_max = u32::from(ORDER.get16(bytes, 6..8));
        if count > POOL_MAX || size_max > POOL_MAX {
            return Err(Malformed::value("the size of a pool", count.max(size_max)));
        }
        let numbers = bytes[8..].chunks_exact(4).take(to_usize(count));
        Ok(Pool { pebs: numbers.map(|number| ORDER.get32(number, 0..4)).collect(), size_max })
    }

    fn blocks(&mut self, count: u32) -> Result<Vec<Block>, Malformed> {
        (0..count)
            .map(|_| {
                let bytes = self.take(8)?;
                Ok(Block { peb: ORDER.get32(bytes, 0..4), ec: ORDER.get32(bytes, 4..8) })
            })
            .collect()
    }

    fn volume(&mut self) -> Result<Volume, Malformed> {
        let header = self.take(32)?;
        expect_magic(header, VOLUME_MAGIC)?;
        let number = |at: usize| ORDER.get32(header, at..at + 4);
        let kind = match header[8] {
            3 => VolumeKind::Dynamic,
            4 => VolumeKind::Static,
            other => return Err(Malformed::value("the volume type", other)),
        };
        let start = self.take(8)?;
        expect_magic(start, MAPPING_MAGIC)?;
        let lebs = ORDER.get32(start, 4..8);
        let entries = self.take(to_usize(lebs).saturating_mul(4))?.chunks_exact(4);
        let mapping = entries.map(|entry| {
            let peb = ORDER.get32(entry, 0..4);
            (!super::is_negative(peb)).then_some(peb)
        });
        Ok(Volume {
            id: number(4),
            kind,
            data_pad: number(12),
            used_lebs: number(16),
            last_bytes: number(20),
            mapping: mapping.collect(),
        })
    }
}

impl Fastmap {
    /// A whole fastmap with its super block.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn parse(bytes: &[u8]) -> Result<(SuperBlock, Self), Malformed> {
        let first = SuperBlock::parse(bytes)?;
        let mut zeroed = bytes.to_vec();
        zeroed[field::DATA_CRC].fill(0);
        let (expected, found) = (first.data_crc, crc(&zeroed));
        if expected != found {
            return Err(Malformed::Crc { expected, found });
        }
        let mut reader = Reader { bytes, at: SUPER_SIZE };
        let header = reader.take(32)?;
        expect_magic(header, HEADER_MAGIC)?;
        let number = |at: usize| ORDER.get32(header, at..at + 4);
        let (pool, wl_pool) = (reader.pool()?, reader.pool()?);
        let fastmap = Self {
            pool,
            wl_pool,
            free: reader.blocks(number(4))?,
            used: reader.blocks(number(8))?,
            scrub: reader.blocks(number(12))?,
            erase: reader.blocks(number(20))?,
            bad_count: number(16),
            volumes: (0..number(24)).map(|_| reader.volume()).collect::<Result<_, _>>()?,
        };
        Ok((first, fastmap))
    }

    /// The bytes of a fastmap in these blocks, `size` of them.
    ///
    /// # Panics
    /// When it does not fit.
    #[must_use]
    pub fn bytes(&self, blocks: &[Block], size: usize) -> Vec<u8> {
        let mut bytes = vec![0; SUPER_SIZE];
        SuperBlock::emit(blocks, &mut bytes);
        let count = |length: usize| u32::try_from(length).expect("a device has fewer blocks");
        let lists = [&self.free, &self.used, &self.scrub, &self.erase];
        let [free, used, scrub, erase] = lists.map(|list| count(list.len()));
        let volumes = count(self.volumes.len());
        for value in [HEADER_MAGIC, free, used, scrub, self.bad_count, erase, volumes, 0] {
            push32(&mut bytes, value);
        }
        self.pool.emit(&mut bytes);
        self.wl_pool.emit(&mut bytes);
        for block in lists.into_iter().flatten() {
            push32(&mut bytes, block.peb);
            push32(&mut bytes, block.ec);
        }
        self.volumes.iter().for_each(|volume| volume.emit(&mut bytes));
        assert!(bytes.len() <= size, "Fastmap: {} bytes in {size}", bytes.len());
        bytes.resize(size, 0);
        let sum = crc(&bytes);
        ORDER.put32(&mut bytes, field::DATA_CRC, sum);
        bytes
    }
}

impl Pool {
    fn emit(&self, bytes: &mut Vec<u8>) {
        let end = bytes.len() + 8 + 4 * to_usize(POOL_MAX) + 16;
        let small = |value: usize| u16::try_from(value).expect("a pool is small");
        push32(bytes, POOL_MAGIC);
        bytes.extend(ORDER.bytes16(small(self.pebs.len())));
        bytes.extend(ORDER.bytes16(small(to_usize(self.size_max))));
        self.pebs.iter().for_each(|&peb| push32(bytes, peb));
        bytes.resize(end, 0);
    }
}

impl Volume {
    fn emit(&self, bytes: &mut Vec<u8>) {
        let kind = match self.kind {
            VolumeKind::Dynamic => 3,
            VolumeKind::Static => 4,
        };
        push32(bytes, VOLUME_MAGIC);
        push32(bytes, self.id);
        bytes.extend([kind, 0, 0, 0]);
        for value in [self.data_pad, self.used_lebs, self.last_bytes, 0, 0, MAPPING_MAGIC] {
            push32(bytes, value);
        }
        push32(bytes, u32::try_from(self.mapping.len()).expect("a device has fewer blocks"));
        self.mapping.iter().for_each(|peb| push32(bytes, peb.unwrap_or(UNMAPPED)));
    }
}

fn push32(bytes: &mut Vec<u8>, value: u32) {
    bytes.extend(ORDER.bytes32(value));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fastmap() -> Fastmap {
        let block = |peb| Block { peb, ec: peb + 100 };
        Fastmap {
            pool: Pool { pebs: vec![7, 9], size_max: 8 },
            wl_pool: Pool { pebs: vec![11], size_max: 4 },
            free: vec![block(12), block(13)],
            used: vec![block(1)],
            scrub: vec![block(2)],
            erase: vec![block(3)],
            bad_count: 5,
            volumes: vec![Volume {
                id: 0x7FFF_EFFF,
                kind: VolumeKind::Dynamic,
                data_pad: 0,
                used_lebs: 2,
                last_bytes: 2,
                mapping: vec![Some(1), None, Some(2)],
            }],
        }
    }

    #[test]
    fn a_fastmap_has_the_bytes_of_the_format() {
        let anchor = Block { peb: 4, ec: 6 };
        let bytes = fastmap().bytes(&[anchor], 16_384);
        assert_eq!(bytes[..8], [0x7B, 0x11, 0xD6, 0x9F, 1, 0, 0, 0]);
        assert_eq!(bytes[12..20], [0, 0, 0, 1, 0, 0, 0, 4]);
        assert_eq!(bytes[144..148], [0, 0, 0, 6]);
        assert_eq!(bytes[312..320], [0xD4, 0xB8, 0x2E, 0xF7, 0, 0, 0, 2]);
        assert_eq!(bytes[344..356], [0x67, 0xAF, 0x4D, 0x08, 0, 2, 0, 8, 0, 0, 0, 7]);
        let lists = 312 + 32 + 2 * 1_048;
        assert_eq!(bytes[lists..lists + 8], [0, 0, 0, 12, 0, 0, 0, 112]);
        let volume = lists + 5 * 8;
        assert_eq!(bytes[volume..volume + 9], [0xFA, 0x37, 0x0E, 0xD1, 0x7F, 0xFF, 0xEF, 0xFF, 3]);
        let mapping = [0xF0, 0xC0, 0x40, 0xA8, 0, 0, 0, 3, 0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF];
        assert_eq!(bytes[volume + 32..volume + 48], mapping);
        let (first, parsed) = Fastmap::parse(&bytes).unwrap();
        assert_eq!((first.blocks, parsed), (vec![anchor], fastmap()));
    }

    #[test]
    fn every_changed_byte_is_found() {
        let bytes = fastmap().bytes(&[Block { peb: 4, ec: 6 }], 4_096);
        for at in 0..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x10;
            // Three bytes of the super block after the version are nobody's, but have a checksum.
            assert!(Fastmap::parse(&bytes).is_err(), "byte {at}");
        }
    }

    #[test]
    fn counts_beyond_the_end_are_refused() {
        let forged = |at: usize, value: u32| {
            let mut bytes = fastmap().bytes(&[Block { peb: 4, ec: 6 }], 4_096);
            ORDER.put32(&mut bytes, at..at + 4, value);
            bytes[field::DATA_CRC].fill(0);
            let sum = crc(&bytes);
            ORDER.put32(&mut bytes, field::DATA_CRC, sum);
            Fastmap::parse(&bytes).map(|_| ())
        };
        assert_eq!(forged(316, 2), Ok(()));
        for at in [316, 320, 324, 332, 336] {
            assert!(forged(at, u32::MAX).is_err(), "{at}");
        }
        assert_eq!(forged(12, 33), Err(Malformed::value("the number of blocks", 33_u32)));
    }

    #[test]
    fn the_size_is_in_whole_lebs() {
        assert_eq!(size(128, 129_024), 129_024);
        assert_eq!(size(1_024, 15_872), 2 * 15_872);
        assert_eq!(size(2_048, 129_024), 129_024);
    }
}
