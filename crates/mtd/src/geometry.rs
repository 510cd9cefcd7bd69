//! The geometry of a raw flash: its size, its erase blocks and its smallest write.
//!
//! Layer: rank 2. Main type: [`Geometry`]. It also has the bounds checks that all devices share, so
//! that all report the same errors, also for offsets near the end of u64.

use crate::error::Error;
use crate::index::{BlockIndex, PageIndex};
use boardlab_sim::Bytes;
use std::ops::Range;

/// The kind of flash, as far as software must know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FlashKind {
    /// Any word can be programmed by itself, bits only from 1 to 0.
    Nor,
    /// Pages, with spare bytes and bad blocks.
    Nand,
    /// Memory that behaves like flash.
    Ram,
}

/// Consecutive erase blocks of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct EraseRegion {
    /// The number of blocks.
    pub count: u32,
    /// The size of a block.
    pub size: Bytes,
}

/// The OOB area (spare area) of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Oob {
    /// The number of OOB bytes.
    pub size: Bytes,
    /// The number of free OOB bytes, which the driver leaves to its user.
    pub available: Bytes,
}

/// The geometry of a device.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// The kind of flash.
    pub kind: FlashKind,
    /// Erase blocks in address order.
    pub regions: Vec<EraseRegion>,
    /// The smallest program, and its alignment: a byte or a word of NOR, a page of NAND.
    pub write_size: Bytes,
    /// The unit that the device programs at once if it can: the write buffer of NOR, a page of NAND.
    pub write_buffer: Bytes,
    /// The OOB area of a page, on devices with pages.
    pub oob: Option<Oob>,
}

impl Geometry {
    /// The geometry of `count` erase blocks of `size` whose bytes can be programmed singly.
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

    /// The number of erase blocks.
    #[must_use]
    pub fn block_count(&self) -> u32 {
        self.regions.iter().map(|region| region.count).sum()
    }

    /// The start and the size of block `index`; `None` beyond the device.
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

    /// The number of pages, of the write size each.
    #[must_use]
    pub fn page_count(&self) -> u64 {
        self.size() / self.write_size
    }

    /// Whether the geometry is consistent: no empty region, blocks and write buffer of whole write
    /// sizes, and no more free OOB bytes than OOB bytes.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let whole = |size: Bytes| !size.is_zero() && size.is_multiple_of(self.write_size);
        !self.write_size.is_zero()
            && !self.regions.is_empty()
            && self.regions.iter().all(|region| region.count > 0 && whole(region.size))
            && whole(self.write_buffer)
            && self.oob.is_none_or(|oob| !oob.size.is_zero() && oob.available <= oob.size)
    }

    /// The `length` bytes from `offset` on, start and end. An empty range may lie at the very end.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] when it does not lie within the device; sums beyond u64 do not.
    pub fn range(&self, offset: Bytes, length: Bytes) -> Result<Range<Bytes>, Error> {
        let size = self.size();
        let end = offset.checked_add(length).filter(|&end| end <= size);
        end.map(|end| offset..end).ok_or(Error::OutOfRange { offset, length, size })
    }

    /// Like [`Geometry::range`], for a program: whole units of the write size.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Misaligned`].
    pub fn program_range(&self, offset: Bytes, length: Bytes) -> Result<Range<Bytes>, Error> {
        let range = self.range(offset, length)?;
        let unit = self.write_size;
        if offset.is_multiple_of(unit) && length.is_multiple_of(unit) {
            return Ok(range);
        }
        Err(Error::Misaligned { offset, length, unit })
    }

    /// The bytes of an erase block, start and end.
    ///
    /// # Errors
    /// [`Error::NoSuchBlock`].
    pub fn block_range(&self, block: BlockIndex) -> Result<Range<Bytes>, Error> {
        let found = self.block(block).map(|(start, size)| start..start + size);
        found.ok_or_else(|| Error::NoSuchBlock { block, count: self.block_count() })
    }

    /// The bytes of a page, counted in units of the write size, start and end.
    ///
    /// # Errors
    /// [`Error::NoSuchPage`].
    pub fn page_range(&self, page: PageIndex) -> Result<Range<Bytes>, Error> {
        let count = self.page_count();
        if u64::from(page.0) >= count {
            return Err(Error::NoSuchPage { page, count });
        }
        let start = self.write_size * u64::from(page.0);
        Ok(start..start + self.write_size)
    }

    /// Checks an access to the first `length` free OOB bytes of a page; returns the OOB area.
    ///
    /// # Errors
    /// [`Error::NoOob`], [`Error::NoSuchPage`], [`Error::OobOutOfRange`].
    pub fn oob_range(&self, page: PageIndex, length: Bytes) -> Result<Oob, Error> {
        let oob = self.oob.ok_or(Error::NoOob)?;
        self.page_range(page)?;
        if length > oob.available {
            return Err(Error::OobOutOfRange { page, length, size: oob.available });
        }
        Ok(oob)
    }

    /// Splits `range` at the boundaries of erase blocks. The part beyond the device is omitted.
    pub fn by_block(
        &self,
        range: Range<Bytes>,
    ) -> impl Iterator<Item = (BlockIndex, Range<Bytes>)> + '_ {
        let mut next = range.start;
        std::iter::from_fn(move || {
            let block = self.block_at(next).filter(|_| next < range.end)?;
            let (start, size) = self.block(block)?;
            let piece = next..range.end.min(start + size);
            next = piece.end;
            Some((block, piece))
        })
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

    #[test]
    fn a_range_is_refused_beyond_the_end_and_beyond_u64() {
        let geometry = top_boot();
        let (end, one) = (Bytes::mib(8), Bytes::new(1));
        assert_eq!(geometry.range(end, Bytes::ZERO), Ok(end..end));
        for (offset, length) in [(end, one), (Bytes::ZERO, end + one), (one, Bytes::new(u64::MAX))]
        {
            let refused = Error::OutOfRange { offset, length, size: end };
            assert_eq!(geometry.range(offset, length), Err(refused));
        }
        let block = BlockIndex(131);
        assert_eq!(geometry.block_range(block), Err(Error::NoSuchBlock { block, count: 131 }));
    }

    #[test]
    fn a_program_must_be_whole_write_units() {
        let unit = Bytes::new(2);
        let geometry = Geometry { write_size: unit, write_buffer: Bytes::new(64), ..top_boot() };
        assert!(geometry.is_sound());
        assert!(geometry.program_range(Bytes::new(6), Bytes::new(4)).is_ok());
        for (offset, length) in [(1, 2), (2, 3)].map(|(o, l)| (Bytes::new(o), Bytes::new(l))) {
            let refused = Error::Misaligned { offset, length, unit };
            assert_eq!(geometry.program_range(offset, length), Err(refused));
        }
    }

    #[test]
    fn a_range_splits_at_block_borders_of_any_size() {
        let geometry = top_boot();
        let start = Bytes::kib(127 * 64 + 30);
        let pieces: Vec<_> = geometry.by_block(start..start + Bytes::kib(13)).collect();
        let border = |kib: u64| Bytes::kib(127 * 64 + kib);
        assert_eq!(
            pieces,
            [
                (BlockIndex(127), border(30)..border(32)),
                (BlockIndex(128), border(32)..border(40)),
                (BlockIndex(129), border(40)..border(43)),
            ]
        );
        assert_eq!(geometry.by_block(start..start).count(), 0);
    }

    #[test]
    fn an_unsound_geometry_is_told_apart() {
        let sound = Geometry::uniform(FlashKind::Nand, 4, Bytes::kib(16));
        assert!(sound.is_sound());
        let zero = Bytes::ZERO;
        let region = EraseRegion { count: 1, size: Bytes::new(1_000) };
        let oob = Oob { size: Bytes::new(16), available: Bytes::new(17) };
        let page = Bytes::new(512);
        for unsound in [
            Geometry { regions: Vec::new(), ..sound.clone() },
            Geometry { write_size: zero, ..sound.clone() },
            Geometry { write_buffer: zero, ..sound.clone() },
            Geometry { write_size: page, write_buffer: Bytes::new(700), ..sound.clone() },
            Geometry {
                write_size: page,
                write_buffer: page,
                regions: vec![region],
                ..sound.clone()
            },
            Geometry { oob: Some(oob), ..sound.clone() },
        ] {
            assert!(!unsound.is_sound(), "{unsound:?}");
        }
    }
}
