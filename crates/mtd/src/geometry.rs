//! The shape of a raw flash: its size, its erase blocks and its smallest write.

use boardlab_sim::Bytes;
use std::fmt;

/// Number of an erase block, counted from the start of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct BlockIndex(pub u32);

/// Number of a page, counted from the start of the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PageIndex(pub u32);

impl fmt::Display for BlockIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for PageIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What kind of cells, as far as software must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FlashKind {
    /// Any word can be programmed by itself, bits only from 1 to 0.
    Nor,
    /// Pages, with spare bytes and bad blocks.
    Nand,
    /// Memory that behaves like flash.
    Ram,
}

/// A run of erase blocks of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EraseRegion {
    /// How many blocks.
    pub count: u32,
    /// The size of each.
    pub size: Bytes,
}

/// The spare bytes of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Oob {
    /// All spare bytes.
    pub size: Bytes,
    /// Those that the driver leaves to its user.
    pub available: Bytes,
}

/// The shape of a device.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// What kind of flash.
    pub kind: FlashKind,
    /// Erase blocks in address order.
    pub regions: Vec<EraseRegion>,
    /// The smallest program, and its alignment: a byte or a word of NOR, a page of NAND.
    pub write_size: Bytes,
    /// What the device programs at once when it can: the write buffer of NOR, a page of NAND.
    pub write_buffer: Bytes,
    /// Spare bytes a page, where there are pages.
    pub oob: Option<Oob>,
}

impl Geometry {
    /// A device of `count` erase blocks of one `size` that can program single bytes.
    #[must_use]
    pub fn uniform(kind: FlashKind, count: u32, size: Bytes) -> Self {
        let write_size = Bytes::new(1);
        let regions = vec![EraseRegion { count, size }];
        Self { kind, regions, write_size, write_buffer: write_size, oob: None }
    }

    /// The size of the device.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.regions.iter().map(|region| region.size * u64::from(region.count)).sum()
    }

    /// How many erase blocks there are.
    #[must_use]
    pub fn block_count(&self) -> u32 {
        self.regions.iter().map(|region| region.count).sum()
    }

    /// Where block `index` starts and how large it is; `None` beyond the device.
    #[must_use]
    pub fn block(&self, index: BlockIndex) -> Option<(Bytes, Bytes)> {
        let (mut start, mut left) = (Bytes::ZERO, index.0);
        for region in &self.regions {
            if left < region.count {
                return Some((start + region.size * u64::from(left), region.size));
            }
            left -= region.count;
            start += region.size * u64::from(region.count);
        }
        None
    }

    /// The block that holds the byte at `offset`; `None` beyond the device.
    #[must_use]
    pub fn block_at(&self, offset: Bytes) -> Option<BlockIndex> {
        let (mut start, mut first) = (Bytes::ZERO, 0);
        for region in &self.regions {
            let end = start + region.size * u64::from(region.count);
            if offset < end {
                let within = (offset - start) / region.size;
                return Some(BlockIndex(first + u32::try_from(within).ok()?));
            }
            start = end;
            first += region.count;
        }
        None
    }

    /// How many pages there are, counted in units of the write size.
    #[must_use]
    pub fn page_count(&self) -> u64 {
        self.size() / self.write_size
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn top_boot() -> Geometry {
        let regions = [(127, 64), (1, 32), (2, 8), (1, 16)];
        let region = |(count, kib)| EraseRegion { count, size: Bytes::kib(kib) };
        Geometry {
            regions: regions.into_iter().map(region).collect(),
            ..Geometry::uniform(FlashKind::Nor, 1, Bytes::kib(1))
        }
    }

    #[test]
    fn blocks_of_a_boot_sector_part_are_found_by_index_and_by_offset() {
        let geometry = top_boot();
        assert_eq!((geometry.size(), geometry.block_count()), (Bytes::mib(8), 131));
        for index in (0..131).map(BlockIndex) {
            let (start, size) = geometry.block(index).unwrap();
            assert_eq!(geometry.block_at(start), Some(index));
            assert_eq!(geometry.block_at(start + size - Bytes::new(1)), Some(index));
        }
        assert_eq!(geometry.block(BlockIndex(128)).unwrap().1, Bytes::kib(8));
        assert_eq!(geometry.block(BlockIndex(131)), None);
        assert_eq!(geometry.block_at(Bytes::mib(8)), None);
    }
}
