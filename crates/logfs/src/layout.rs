//! The numbers of a filesystem that do not change.
//!
//! Layer: rank 5. Main type: [`Layout`].

use crate::error::MountError;
use crate::format::object::SEGMENT_RESERVE;
use crate::format::segment::JOURNAL_START;
use crate::format::{AREAS, Superblock, journal};
use boardlab_mtd::Geometry;
use std::ops::Range;

/// More aliases than these are written back (`MAX_OBJ_ALIASES`).
const ALIASES_MAX: u32 = 2_600;

/// The numbers of a filesystem that do not change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Bytes of a segment.
    pub segment_size: u32,
    /// The binary logarithm of that.
    pub segment_shift: u8,
    /// Segments.
    pub segments: u32,
    /// Bytes that are written at once.
    pub write_size: u32,
    /// Erase blocks of a segment.
    pub blocks: u32,
    /// Levels, each with a segment that is being written.
    pub levels: u32,
    /// Segments of the journal.
    pub journal_segments: u32,
    /// More aliases than these are written back.
    pub aliases_max: usize,
}

/// Bytes of the erase blocks, when they are all equal and a power of two.
pub(crate) fn erase_size(geometry: &Geometry) -> Result<u32, MountError> {
    let first = geometry.regions.first().map(|region| region.size.get()).unwrap_or_default();
    let equal = geometry.regions.iter().all(|region| region.size.get() == first);
    match u32::try_from(first) {
        Ok(size) if equal && size.is_power_of_two() => Ok(size),
        _ => Err(MountError::UnequalBlocks),
    }
}

impl Layout {
    /// The layout by the superblock, on a device.
    ///
    /// # Errors
    /// [`MountError`] when they do not fit each other.
    pub(crate) fn new(superblock: &Superblock, geometry: &Geometry) -> Result<Self, MountError> {
        let unfit = |field, found, expected| MountError::Unfit { field, found, expected };
        let erase = erase_size(geometry)?;
        let segment_size = 1_u32 << superblock.segment_shift;
        if segment_size < erase {
            return Err(unfit("segment size", segment_size.into(), erase.into()));
        }
        let size = geometry.size().get();
        if superblock.size > size {
            return Err(unfit("filesystem_size", superblock.size, size));
        }
        let write_size = 1_u32 << superblock.write_shift;
        let program = geometry.write_size.get();
        if !u64::from(write_size).is_multiple_of(program) {
            return Err(unfit("write size", write_size.into(), program));
        }
        let segments = superblock.size >> superblock.segment_shift;
        let segments =
            u32::try_from(segments).map_err(|_| unfit("segments", segments, u32::MAX.into()))?;
        if segments == 0 {
            return Err(unfit("filesystem_size", superblock.size, segment_size.into()));
        }
        let journal = superblock.journal.iter().copied().filter(|&segment| segment > 0);
        if let Some(beyond) = journal.clone().find(|&segment| segment >= segments) {
            return Err(unfit("journal_seg", beyond.into(), u64::from(segments) - 1));
        }
        let level_fields =
            [superblock.inode_file_levels, superblock.indirect_levels, superblock.data_levels];
        let levels: u32 = level_fields.into_iter().map(u32::from).sum();
        if levels == 0 || levels > 24 {
            return Err(unfit("levels", levels.into(), 8));
        }
        Ok(Self {
            segment_size,
            segment_shift: superblock.segment_shift,
            segments,
            write_size,
            blocks: segment_size / erase,
            levels,
            journal_segments: u32::try_from(journal.count()).expect("at most 16"),
            aliases_max: aliases_max(segment_size, write_size, segments),
        })
    }

    /// Bytes of objects that certainly fit into a segment.
    #[must_use]
    pub const fn usable(&self) -> u32 {
        self.segment_size.saturating_sub(SEGMENT_RESERVE)
    }

    /// The segment with an offset.
    #[must_use]
    pub const fn segment_of(&self, offset: u64) -> u64 {
        offset >> self.segment_shift
    }

    /// The offset of a byte of a segment.
    #[must_use]
    pub const fn at(&self, segment: u32, within: u32) -> u64 {
        ((segment as u64) << self.segment_shift) + within as u64
    }

    /// The offsets of a segment.
    #[must_use]
    pub const fn bytes_of(&self, segment: u32) -> Range<u64> {
        self.at(segment, 0)..self.at(segment, self.segment_size)
    }
}

/// The kernel's limit, or less: the whole state must fit into a segment of the journal. The kernel writes it
/// again and again when it does not.
fn aliases_max(segment_size: u32, write_size: u32, segments: u32) -> usize {
    let entry =
        |length: u32| journal::HEADER_BYTES + length.next_multiple_of(journal::HEADER_BYTES);
    let area = entry(10 + write_size);
    let fixed = JOURNAL_START + u32::try_from(AREAS).expect("12") * area + 2_048 + write_size;
    let room = segment_size.saturating_sub(fixed) / 33;
    // One commit can change the entry of every segment.
    let entries = segments.min(room / 2);
    let limit = ALIASES_MAX.min(room.saturating_sub(entries));
    usize::try_from(limit).expect("below 2,601")
}
