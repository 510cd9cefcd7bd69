//! A new filesystem, as `mklogfs` makes it.
//!
//! Layer: rank 5. Main type: [`Format`]. The segments in use are erased, and no others: LogFS erases a segment
//! before it writes to it.
//!
//! ```text
//!  superblock | journal, 4 segments | segment file | inodes | free ... | superblock at the end
//! ```
//! Source: logfsprogs (2011), as far as its images show.

use crate::error::MountError;
use crate::format::journal::{self, Alias, Anchor, Dynamic, EntryKind};
use crate::format::object::{self, ObjectHeader, ObjectKind};
use crate::format::segment::{self, JOURNAL_START, SegmentKind};
use crate::format::superblock::LAST_COPY;
use crate::format::{
    BLOCK, BLOCK_SHIFT, BlockId, DIRECT, DiskInode, FIRST_INO, JOURNAL_SEGMENTS, POINTERS, ROOT,
    SEGMENT_FILE, SegmentEntry, SegmentHeader, Superblock, crc, span,
};
use crate::layout::erase_size;
use crate::mount::superblock_bytes;
use crate::store::{to_u32, to_usize};
use boardlab_codec::zlib::ZlibDeflate;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::{Bytes, Clock};
use std::collections::BTreeMap;

/// The count of erases that a new filesystem begins with: more than were needed to make it.
const GEC: u64 = 0x1000;
/// Segments of which one may be the last superblock's, from the end.
const LAST_TRIES: u32 = 63;
/// The fewest segments: superblocks, journal, two for each level, the reserve, and one for data.
const SEGMENTS_MIN: u32 = 28;
/// The smallest segment.
pub const SEGMENT_SHIFT_MIN: u8 = 15;
/// The largest unit that is written at once: a superblock lies 4 KiB before the end.
pub const WRITE_SHIFT_MAX: u8 = 12;

/// How a filesystem is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Whether files are compressed, unless their directory says otherwise.
    pub compress: bool,
    /// The binary logarithm of a segment: an erase block or several. `None`: an erase block, but at least
    /// 128 KiB.
    pub segment_shift: Option<u8>,
    /// The binary logarithm of what is written at once. `None`: 12, since Linux writes whole pages of memory.
    pub write_shift: Option<u8>,
    /// Segments of the journal.
    pub journal_segments: u8,
    /// Segments in reserve for bad ones; at least as many as the journal has.
    pub bad_segment_reserve: u32,
}

impl Default for Format {
    /// As `mklogfs -w 12` does it.
    fn default() -> Self {
        Self {
            compress: false,
            segment_shift: None,
            write_shift: None,
            journal_segments: 4,
            bad_segment_reserve: 4,
        }
    }
}

/// A segment of a level that is being filled.
#[derive(Debug)]
struct Filling {
    segment: u32,
    bytes: Vec<u8>,
}

struct Maker<'a, M> {
    device: &'a mut M,
    segment_shift: u8,
    /// Erase blocks of a segment.
    blocks: u32,
    write_size: u32,
    segments: u32,
    /// The next segment to be taken.
    next: u32,
    entries: Vec<SegmentEntry>,
    filling: BTreeMap<u8, Filling>,
    used: u64,
}

impl<M: Mtd> Maker<'_, M> {
    fn at(&self, segment: u32) -> u64 {
        u64::from(segment) << self.segment_shift
    }

    fn size(&self) -> usize {
        1 << self.segment_shift
    }

    /// Erases a segment; false when it is bad.
    fn erase(&mut self, clock: &mut Clock, segment: u32) -> Result<bool, MountError> {
        use boardlab_mtd::Error as Flash;
        for block in segment * self.blocks..(segment + 1) * self.blocks {
            let block = BlockIndex(block);
            if self.device.is_bad(clock, block)? {
                return Ok(false);
            }
            match self.device.erase(clock, block) {
                Ok(()) => {}
                Err(
                    Flash::EraseFailed { .. } | Flash::BadBlock { .. } | Flash::Protected { .. },
                ) => {
                    return Ok(false);
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(true)
    }

    /// The next good segment, erased.
    fn take(&mut self, clock: &mut Clock) -> Result<u32, MountError> {
        loop {
            let segment = self.next;
            if segment >= self.segments {
                let good = self.entries.iter().filter(|entry| **entry != SegmentEntry::BAD);
                let (found, expected) = (good.count() as u64, SEGMENTS_MIN.into());
                return Err(MountError::Unfit { field: "good segments", found, expected });
            }
            self.next += 1;
            if self.erase(clock, segment)? {
                return Ok(segment);
            }
            self.entries[to_usize(segment)] = SegmentEntry::BAD;
        }
    }

    fn reserve(&mut self, segment: u32) {
        let entry = SegmentEntry::new(1, 0, 0);
        self.entries[to_usize(segment)] = SegmentEntry { valid: SegmentEntry::RESERVED, ..entry };
    }

    fn program(
        &mut self,
        clock: &mut Clock,
        at: u64,
        mut bytes: Vec<u8>,
    ) -> Result<(), MountError> {
        bytes.resize(bytes.len().next_multiple_of(to_usize(self.write_size)), 0xFF);
        Ok(self.device.program(clock, Bytes::new(at), &bytes)?)
    }

    fn close(&mut self, clock: &mut Clock, level: u8) -> Result<(), MountError> {
        let Some(filling) = self.filling.remove(&level) else { return Ok(()) };
        let valid = to_u32(filling.bytes.len()) - segment::HEADER_BYTES;
        self.entries[to_usize(filling.segment)] = SegmentEntry::new(1, level, valid);
        self.program(clock, self.at(filling.segment), filling.bytes)
    }

    /// Writes an object and returns its offset.
    fn object(
        &mut self,
        clock: &mut Clock,
        id: BlockId,
        kind: ObjectKind,
        data: &[u8],
    ) -> Result<u64, MountError> {
        let level = id.gc_level();
        let needed = object::HEADER + BLOCK;
        if self
            .filling
            .get(&level)
            .is_some_and(|filling| filling.bytes.len() + needed > self.size())
        {
            self.close(clock, level)?;
        }
        if !self.filling.contains_key(&level) {
            let segment = self.take(clock)?;
            let gec = u64::from(segment);
            let header =
                SegmentHeader { kind: SegmentKind::Objects, level, segment, erase_count: 1, gec };
            self.filling.insert(level, Filling { segment, bytes: header.emit().to_vec() });
        }
        let length = u16::try_from(data.len()).expect("at most 4,096");
        let (ino, bix, data_crc) = (id.ino, id.bix(), crc(data));
        let header = ObjectHeader { length, kind, compressed: false, ino, bix, data_crc };
        self.used += u64::from(header.stored());
        let shift = self.segment_shift;
        let filling = self.filling.get_mut(&level).expect("it was opened");
        let at = (u64::from(filling.segment) << shift) + filling.bytes.len() as u64;
        filling.bytes.extend(header.emit());
        filling.bytes.extend(data);
        Ok(at)
    }

    /// The segment file, all zeros: its entries are in the journal.
    fn segment_file(&mut self, clock: &mut Clock) -> Result<DiskInode, MountError> {
        let mut disk = DiskInode {
            mode: 0o100_000,
            links: 1,
            size: u64::from(self.segments) * 8,
            ..DiskInode::default()
        };
        let used = self.used;
        let blocks = (disk.size).div_ceil(BLOCK as u64);
        let mut level: Vec<u64> = Vec::new();
        for block in 0..blocks {
            let id = BlockId::data(SEGMENT_FILE, block);
            let at = self.object(clock, id, ObjectKind::Block, &[0; BLOCK])?;
            match usize::try_from(block) {
                Ok(index) if index < DIRECT => disk.pointers[index] = at,
                _ => level.push(at),
            }
        }
        // The first block of pointers does not use those of the direct ones.
        if !level.is_empty() {
            level.splice(0..0, [0; DIRECT]);
        }
        while !level.is_empty() && (disk.height == 0 || level.len() > 1) {
            disk.height += 1;
            level = self.pointers(clock, disk.height, &level)?;
        }
        disk.pointers[DIRECT] = level.first().copied().unwrap_or_default();
        disk.used = self.used - used;
        Ok(disk)
    }

    /// Blocks of pointers over the blocks of a level.
    fn pointers(
        &mut self,
        clock: &mut Clock,
        level: u8,
        below: &[u64],
    ) -> Result<Vec<u64>, MountError> {
        let mut offsets = Vec::new();
        for (index, some) in (0_u64..).zip(below.chunks(POINTERS)) {
            let mut bytes: Vec<u8> = some.iter().flat_map(|at| at.to_be_bytes()).collect();
            bytes.resize(BLOCK, 0);
            let id = BlockId { ino: SEGMENT_FILE, level, index };
            offsets.push(self.object(clock, id, ObjectKind::Block, &bytes)?);
        }
        Ok(offsets)
    }

    fn aliases(&self) -> Vec<Alias> {
        let of = |(segment, entry): (usize, &SegmentEntry)| Alias {
            block: BlockId::data(SEGMENT_FILE, (segment / POINTERS) as u64),
            word: u16::try_from(segment % POINTERS).expect("below 512"),
            value: entry.word(),
        };
        let changed = |entry: &SegmentEntry| entry.word() != 0;
        self.entries.iter().enumerate().filter(|(_, entry)| changed(entry)).map(of).collect()
    }

    fn journal(
        &mut self,
        clock: &mut Clock,
        segment: u32,
        anchor: &Anchor,
    ) -> Result<(), MountError> {
        let gec = u64::from(segment);
        let kind = SegmentKind::Journal;
        let header = SegmentHeader { kind, level: 0, segment, erase_count: 0, gec };
        let mut bytes = header.emit().to_vec();
        bytes.resize(to_usize(JOURNAL_START), 0);
        let dynamic = Dynamic { gec: GEC, used: self.used, ..Dynamic::default() };
        let mut entries = vec![
            (EntryKind::Anchor, anchor.emit().to_vec()),
            (EntryKind::Dynamic, dynamic.emit().to_vec()),
        ];
        for some in self.aliases().chunks(BLOCK / journal::ALIAS) {
            entries.push((EntryKind::Aliases, journal::emit_aliases(some)));
        }
        let mut deflate = ZlibDeflate::new(3);
        let mut offsets = Vec::new();
        for (kind, data) in entries {
            offsets.extend((self.at(segment) + bytes.len() as u64).to_be_bytes());
            let packed = deflate.shrink(&data, BLOCK);
            let unpacked = packed.as_ref().map(|_| data.len());
            let stored = packed.as_deref().unwrap_or(&data);
            bytes.extend(journal::emit(kind, unpacked, stored, journal::BY_MKLOGFS));
        }
        bytes.extend(journal::emit(EntryKind::Commit, None, &offsets, journal::BY_MKLOGFS));
        bytes.resize(self.size(), 0);
        self.program(clock, self.at(segment), bytes)
    }
}

/// Whether the first good erase block has no superblock because it is erased.
///
/// # Errors
/// As [`Format::make`].
pub fn is_blank<M: Mtd>(clock: &mut Clock, device: &mut M) -> Result<bool, MountError> {
    let [first, _] = crate::mount::superblock_places(clock, device)?;
    let mut head = [0; crate::format::superblock::SIZE];
    match device.read(clock, Bytes::new(first), &mut head) {
        Ok(_) | Err(boardlab_mtd::Error::Uncorrectable { .. }) => {
            Ok(boardlab_mtd::is_erased(&head))
        }
        Err(error) => Err(error.into()),
    }
}

impl Format {
    /// Makes an empty filesystem on a device.
    ///
    /// # Errors
    /// [`MountError::Unfit`] when it is too small or its pages too large, [`MountError::UnequalBlocks`], and those
    /// of the device.
    pub fn make<M: Mtd>(&self, clock: &mut Clock, device: &mut M) -> Result<(), MountError> {
        let mut maker = self.maker(device)?;
        let unfit = |field, found, expected| MountError::Unfit { field, found, expected };
        let count = usize::from(self.journal_segments);
        if !(2..=JOURNAL_SEGMENTS).contains(&count) {
            return Err(unfit("segments of the journal", count as u64, JOURNAL_SEGMENTS as u64));
        }
        let first = maker.take(clock)?;
        maker.reserve(first);
        let last = self.last_segment(clock, &mut maker)?;
        let mut segments = [0; JOURNAL_SEGMENTS];
        for slot in &mut segments[..count] {
            *slot = maker.take(clock)?;
            maker.reserve(*slot);
        }
        let segment_file = maker.segment_file(clock)?;
        let flags = if self.compress { crate::format::inode::FLAG_COMPRESSED } else { 0 };
        let root = DiskInode { mode: 0o040_755, links: 1, flags, ..DiskInode::default() };
        let mut anchor =
            Anchor { size: FIRST_INO << BLOCK_SHIFT, last_ino: FIRST_INO, ..Anchor::default() };
        for (ino, disk) in [(SEGMENT_FILE, &segment_file), (ROOT, &root)] {
            let at =
                maker.object(clock, BlockId::of_inode(ino), ObjectKind::Inode, &disk.emit())?;
            anchor.pointers[usize::try_from(ino).expect("2 or 3")] = at;
            anchor.used += u64::from(object::HEADER_BYTES) + disk.emit().len() as u64;
        }
        for level in maker.filling.keys().copied().collect::<Vec<_>>() {
            maker.close(clock, level)?;
        }
        maker.journal(clock, segments[0], &anchor)?;
        let (places, size) =
            ([maker.at(first), maker.at(last + 1) - LAST_COPY], maker.at(maker.segments));
        let superblock = Superblock {
            header: Superblock::header_of(0, 0),
            inode_file_levels: 3,
            indirect_levels: 4,
            data_levels: 1,
            segment_shift: maker.segment_shift,
            block_shift: BLOCK_SHIFT,
            write_shift: u8::try_from(maker.write_size.ilog2()).expect("at most 12"),
            size,
            segment_size: 0,
            bad_segment_reserve: self.bad_segment_reserve.max(self.journal_segments.into()),
            features: [0; 4],
            root_reserve: 0,
            speed_reserve: 0,
            journal: segments,
            places,
        };
        let bytes = superblock_bytes(&superblock, maker.write_size);
        for place in places {
            maker.program(clock, place, bytes.clone())?;
        }
        Ok(())
    }

    fn maker<'a, M: Mtd>(&self, device: &'a mut M) -> Result<Maker<'a, M>, MountError> {
        let unfit = |field, found, expected| MountError::Unfit { field, found, expected };
        let geometry = device.geometry();
        let erase = erase_size(geometry)?;
        let erase_shift = u8::try_from(erase.ilog2()).expect("below 32");
        let segment_shift = self.segment_shift.unwrap_or_else(|| erase_shift.max(17));
        if !(SEGMENT_SHIFT_MIN.max(erase_shift)..=30).contains(&segment_shift) {
            return Err(unfit(
                "segment_shift",
                segment_shift.into(),
                erase_shift.max(SEGMENT_SHIFT_MIN).into(),
            ));
        }
        let write_shift = self.write_shift.unwrap_or(WRITE_SHIFT_MAX);
        let program = geometry.write_size.get();
        let fits = write_shift <= WRITE_SHIFT_MAX && (1_u64 << write_shift).is_multiple_of(program);
        if !fits {
            return Err(unfit("write size", 1 << write_shift, program));
        }
        let segments = geometry.size().get() >> segment_shift;
        let segments =
            u32::try_from(segments).map_err(|_| unfit("segments", segments, u32::MAX.into()))?;
        if segments < SEGMENTS_MIN {
            return Err(unfit("segments", segments.into(), SEGMENTS_MIN.into()));
        }
        // The inode file and the segment file have three levels at most.
        if u64::from(segments) > span(2) * POINTERS as u64 {
            return Err(unfit("segments", segments.into(), span(2) * POINTERS as u64));
        }
        Ok(Maker {
            device,
            segment_shift,
            blocks: (1 << segment_shift) / erase,
            write_size: 1 << write_shift,
            segments,
            next: 0,
            entries: vec![SegmentEntry::of_word(0); to_usize(segments)],
            filling: BTreeMap::new(),
            used: 0,
        })
    }

    /// The segment of the last superblock.
    fn last_segment<M: Mtd>(
        &self,
        clock: &mut Clock,
        maker: &mut Maker<'_, M>,
    ) -> Result<u32, MountError> {
        let lowest = maker.segments.saturating_sub(LAST_TRIES).max(maker.next);
        for segment in (lowest..maker.segments).rev() {
            if maker.erase(clock, segment)? {
                maker.reserve(segment);
                return Ok(segment);
            }
            maker.entries[to_usize(segment)] = SegmentEntry::BAD;
        }
        Err(MountError::AllBad)
    }
}
