//! The geometry of a block device: its logical blocks, its preferences, and its guarantees.
//!
//! Layer: rank 2. Main type: [`Geometry`]. The fields are those of Linux' `struct queue_limits` (6.1,
//! `include/linux/blkdev.h`) that a workload or a filesystem uses; zones and integrity data are left
//! out.

use crate::error::Error;
use crate::extent::Extent;
use boardlab_sim::Bytes;

/// The content of discarded blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DiscardedContent {
    /// Zeros.
    Zeros,
    /// 0xFF, as erased flash.
    Ones,
    /// Undefined: the old content, or anything else.
    Undefined,
}

/// How a device handles discards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Discard {
    /// Only whole, aligned units of this size are guaranteed to be discarded.
    pub granularity: Bytes,
    /// The content of discarded blocks.
    pub reads: DiscardedContent,
}

/// The location of the data of a completed write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cache {
    /// On the medium: there is no volatile cache.
    None,
    /// Possibly in a volatile cache of this size, until a flush.
    Volatile(Bytes),
}

/// The geometry of a device.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Size of a logical block: a power of two.
    pub block: Bytes,
    /// The number of logical blocks.
    pub count: u64,
    /// The smallest write without read-modify-write: `physical_block_size` of Linux.
    pub physical: Bytes,
    /// The preferred request size: `optimal_io_size`, the allocation unit of a card.
    pub optimal: Bytes,
    /// The largest request.
    pub maximum: Bytes,
    /// The queue depth, at least one: 1 for a card, 32 for NCQ.
    pub depth: u32,
    /// The handling of discards, if they are supported.
    pub discard: Option<Discard>,
    /// The write cache.
    pub cache: Cache,
}

impl Geometry {
    /// A device of `size` with logical blocks of 512 bytes, no preferences, zeros after a discard and
    /// no cache. The size is rounded down to whole blocks.
    #[must_use]
    pub fn of_size(size: Bytes) -> Self {
        let block = Bytes::new(512);
        Self {
            block,
            count: size / block,
            physical: block,
            optimal: block,
            maximum: Bytes::new(u64::MAX),
            depth: 1,
            discard: Some(Discard { granularity: block, reads: DiscardedContent::Zeros }),
            cache: Cache::None,
        }
    }

    /// The size of the device.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.block * self.count
    }

    /// Whether the geometry is consistent: the block is a power of two of at least 512 bytes, the other
    /// sizes are whole blocks, none is zero, and the total size fits u64.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let whole = |size: Bytes| !size.is_zero() && size.is_multiple_of(self.block);
        let block = self.block.get();
        block.is_power_of_two()
            && block >= 512
            && self.count > 0
            && block.checked_mul(self.count).is_some()
            && whole(self.physical)
            && whole(self.optimal)
            && self.maximum >= self.block
            && self.depth > 0
            && self.discard.is_none_or(|discard| whole(discard.granularity))
    }

    /// All blocks of the device.
    #[must_use]
    pub const fn whole(&self) -> Extent {
        Extent::new(0, self.count)
    }

    /// The size of `count` blocks of this device.
    #[must_use]
    #[inline]
    pub fn bytes(&self, extent: Extent) -> Bytes {
        self.block * extent.count
    }

    /// The blocks of `length` bytes from `offset` on.
    ///
    /// # Errors
    /// [`Error::Misaligned`] when they are not whole blocks, [`Error::OutOfRange`] when they do not
    /// lie within the device.
    pub fn extent(&self, offset: Bytes, length: Bytes) -> Result<Extent, Error> {
        if !offset.is_multiple_of(self.block) || !length.is_multiple_of(self.block) {
            return Err(Error::Misaligned { offset, length, unit: self.block });
        }
        let extent = Extent::new(offset / self.block, length / self.block);
        self.check(extent)?;
        Ok(extent)
    }

    /// Checks that an extent is within the device. An empty one may be at the very end.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    #[inline]
    pub fn check(&self, extent: Extent) -> Result<(), Error> {
        match extent.first.0.checked_add(extent.count) {
            Some(end) if end <= self.count => Ok(()),
            _ => Err(Error::OutOfRange { extent, count: self.count }),
        }
    }

    /// Checks that `length` is the size of the blocks of `extent`.
    ///
    /// # Errors
    /// [`Error::BufferLength`].
    #[inline]
    pub fn check_buffer(&self, extent: Extent, length: usize) -> Result<(), Error> {
        let found = Bytes::new(u64::try_from(length).unwrap_or(u64::MAX));
        let expected = self.block.get().checked_mul(extent.count).map(Bytes::new);
        if expected == Some(found) {
            return Ok(());
        }
        Err(Error::BufferLength { extent, block: self.block, found })
    }

    /// The whole, aligned units of `granularity` within `extent`, as blocks: the part that a discard
    /// is guaranteed to free. Empty if there is none.
    #[must_use]
    pub fn aligned_within(&self, extent: Extent, granularity: Bytes) -> Extent {
        let unit = (granularity / self.block).max(1);
        let blocks = extent.blocks();
        let first = blocks.start.div_ceil(unit).saturating_mul(unit);
        let end = blocks.end / unit * unit;
        Extent::new(first, end.saturating_sub(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Geometry {
        Geometry::of_size(Bytes::kib(64))
    }

    #[test]
    fn bytes_become_blocks_only_when_they_are_whole_ones() {
        let geometry = small();
        let kib = Bytes::kib(1);
        assert_eq!(geometry.extent(kib, kib), Ok(Extent::new(2, 2)));
        let (offset, unit) = (Bytes::new(100), Bytes::new(512));
        let refused = Error::Misaligned { offset, length: kib, unit };
        assert_eq!(geometry.extent(offset, kib), Err(refused));
        assert!(geometry.extent(kib, Bytes::new(513)).is_err());
    }

    #[test]
    fn an_extent_is_refused_beyond_the_end_and_beyond_u64() {
        let geometry = small();
        assert_eq!(geometry.check(Extent::new(128, 0)), Ok(()));
        assert_eq!(geometry.check(Extent::new(0, 128)), Ok(()));
        for extent in [Extent::new(128, 1), Extent::new(0, 129), Extent::new(1, u64::MAX)] {
            let refused = Error::OutOfRange { extent, count: 128 };
            assert_eq!(geometry.check(extent), Err(refused));
        }
    }

    #[test]
    fn a_buffer_must_hold_exactly_the_blocks() {
        let geometry = small();
        assert_eq!(geometry.check_buffer(Extent::new(3, 2), 1_024), Ok(()));
        assert!(geometry.check_buffer(Extent::new(3, 2), 1_023).is_err());
        assert!(geometry.check_buffer(Extent::new(0, u64::MAX), 0).is_err());
    }

    #[test]
    fn a_discard_gives_back_whole_units_only() {
        let geometry = small();
        let unit = Bytes::kib(4);
        assert_eq!(geometry.aligned_within(Extent::new(3, 30), unit), Extent::new(8, 24));
        assert_eq!(geometry.aligned_within(Extent::new(9, 14), unit).count, 0);
        assert_eq!(geometry.aligned_within(Extent::new(0, 8), unit), Extent::new(0, 8));
    }

    #[test]
    fn an_unsound_geometry_is_told_apart() {
        assert!(small().is_sound());
        let (odd, granularity) = (Bytes::new(700), Bytes::new(768));
        let reads = DiscardedContent::Zeros;
        for unsound in [
            Geometry { block: Bytes::new(256), ..small() },
            Geometry { block: Bytes::new(768), ..small() },
            Geometry { count: 0, ..small() },
            Geometry { count: u64::MAX, ..small() },
            Geometry { physical: odd, ..small() },
            Geometry { optimal: Bytes::ZERO, ..small() },
            Geometry { maximum: Bytes::new(511), ..small() },
            Geometry { depth: 0, ..small() },
            Geometry { discard: Some(Discard { granularity, reads }), ..small() },
        ] {
            assert!(!unsound.is_sound(), "{unsound:?}");
        }
    }

    #[test]
    fn extents_overlap_only_when_they_share_a_block() {
        let extent = Extent::new(10, 5);
        assert!(extent.overlaps(Extent::new(14, 1)));
        assert!(!extent.overlaps(Extent::new(15, 1)));
        assert!(!extent.overlaps(Extent::new(5, 5)));
        assert!(!extent.overlaps(Extent::new(12, 0)));
    }
}
