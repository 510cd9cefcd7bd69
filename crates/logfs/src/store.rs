//! The object store: segments that are being written, and objects in segments.
//!
//! Layer: rank 5. Main type: [`Area`], a segment that is being written. There is one for each level, since
//! what is higher in the tree changes more often, and one for the journal. What does not fill a write unit is
//! in memory, and with a commit in the journal.
//!
//! Source: Linux 3.12, `fs/logfs/segment.c`.

use crate::block::Home;
use crate::error::{Damage, Error, What};
use crate::format::object::{self, ObjectHeader, ObjectKind};
use crate::format::segment::{self, SegmentKind};
use crate::format::{AREAS, BLOCK, BlockId, MASTER, SegmentEntry, SegmentHeader, crc};
use crate::media::PAGE;
use crate::space::Shadow;
use crate::{Logfs, format, inode};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::Work;
use std::ops::Range;

/// The area of the journal.
pub(crate) const JOURNAL: usize = AREAS;

/// A segment that is being written.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Area {
    /// Whether there is one.
    pub open: bool,
    /// Its number.
    pub segment: u32,
    /// Bytes that are on the flash: whole write units.
    pub written: u32,
    /// Bytes in it.
    pub used: u32,
}

/// A usize of a length on flash.
pub(crate) fn to_usize(value: u32) -> usize {
    usize::try_from(value).expect("usize holds u32")
}

/// A length of an object or entry as a number of bytes on flash.
pub(crate) fn to_u32(length: usize) -> u32 {
    u32::try_from(length).expect("objects are below 64 KiB")
}

impl<M: Mtd> Logfs<M> {
    /// Reads bytes of the flash through the pages in memory.
    pub(crate) fn read_bytes(
        &mut self,
        clock: &mut Clock,
        at: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        self.media.read(clock, at, buffer)?;
        self.host.spend(clock, Work::Copy, buffer.len());
        Ok(())
    }

    /// Puts bytes into an open segment, in memory.
    pub(crate) fn put_bytes(&mut self, clock: &mut Clock, at: u64, data: &[u8]) {
        self.media.write(at, data);
        self.host.spend(clock, Work::Copy, data.len());
    }

    /// Erases a segment (`logfs_erase_segment`).
    pub(crate) fn erase_segment(&mut self, clock: &mut Clock, segment: u32) -> Result<(), Error> {
        self.collector.gec += 1;
        let first = segment * self.layout.blocks;
        let bytes = self.layout.bytes_of(segment);
        let erased = self.media.erase(clock, first..first + self.layout.blocks, bytes);
        erased.map_err(Error::from).inspect_err(|error| {
            if !error.is_power_cut() {
                self.worn_out.insert(segment);
            }
        })
    }

    /// Programs bytes of an area. The kernel writes whole pages of memory: with smaller write units it programs
    /// pages of the flash twice.
    fn program_area(
        &mut self,
        clock: &mut Clock,
        which: usize,
        range: Range<u32>,
    ) -> Result<(), Error> {
        let segment = self.areas[which].segment;
        let mut bytes = self.layout.at(segment, range.start)..self.layout.at(segment, range.end);
        if self.options.faithful {
            bytes = bytes.start / PAGE * PAGE..bytes.end.next_multiple_of(PAGE);
        }
        let done = self.media.program(clock, bytes, self.layout.write_size);
        self.programmed(which, done.map_err(Error::from))
    }

    /// Handles a program that failed. The kernel does not look.
    fn programmed(&mut self, which: usize, done: Result<(), Error>) -> Result<(), Error> {
        use boardlab_mtd::Error as Flash;
        match done {
            Err(Error::Flash(
                Flash::ProgramFailed { .. } | Flash::VerifyFailed { .. } | Flash::BadBlock { .. },
            )) if which != JOURNAL => {
                if !self.options.faithful {
                    self.failing.push(self.areas[which].segment);
                }
                Ok(())
            }
            // What the kernel programs twice in a mirrored run.
            Err(Error::Flash(Flash::AlreadyProgrammed { .. } | Flash::ProgramFailed { .. }))
                if self.options.faithful =>
            {
                Ok(())
            }
            done => done,
        }
    }

    /// Fills the rest of a page of memory with ones.
    fn pad_page(&mut self, which: usize) {
        let area = self.areas[which];
        let start = self.layout.at(area.segment, area.used);
        self.media.pad(start..start.next_multiple_of(PAGE));
    }

    /// Writes the whole write units of an area (`logfs_sync_area`).
    pub(crate) fn sync_area(&mut self, clock: &mut Clock, which: usize) -> Result<(), Error> {
        let area = self.areas[which];
        let length = (area.used - area.written) / self.layout.write_size * self.layout.write_size;
        if length == 0 {
            return Ok(());
        }
        self.pad_page(which);
        let end = area.written + length;
        self.areas[which].written = end;
        self.program_area(clock, which, area.written..end)
    }

    /// Fills the rest of a segment with ones and writes it (`logfs_open_area`).
    pub(crate) fn close_area(&mut self, clock: &mut Clock, which: usize) -> Result<(), Error> {
        let area = self.areas[which];
        self.areas[which].open = false;
        let end = self.layout.segment_size;
        if area.written < end {
            self.media.pad(
                self.layout.at(area.segment, area.used)..self.layout.bytes_of(area.segment).end,
            );
            self.program_area(clock, which, area.written..end)?;
        }
        if !self.failing.contains(&area.segment) {
            self.media.release(self.layout.bytes_of(area.segment));
        }
        Ok(())
    }

    /// Makes sure that an area has room for so many bytes. Returns whether another segment was begun.
    pub(crate) fn open_area(
        &mut self,
        clock: &mut Clock,
        which: usize,
        bytes: u32,
    ) -> Result<bool, Error> {
        let area = self.areas[which];
        if area.open && area.used + bytes <= self.layout.segment_size {
            return Ok(false);
        }
        if area.open {
            self.close_area(clock, which)?;
        }
        if which == JOURNAL {
            self.begin_journal_segment(clock)?;
        } else {
            self.begin_segment(clock, which)?;
        }
        Ok(area.open)
    }

    /// Begins a free segment of a level.
    fn begin_segment(&mut self, clock: &mut Clock, which: usize) -> Result<(), Error> {
        loop {
            let segment =
                self.collector.take_free(!self.options.faithful).ok_or(Error::NoSegment)?;
            let entry = self.segment_entry(clock, segment)?;
            if !entry.is_store() {
                // Only a damaged image has such a segment among the free ones.
                continue;
            }
            let erase_count = entry.erase_count() + 1;
            match self.erase_segment(clock, segment) {
                Ok(()) => {}
                Err(error) if error.is_power_cut() => return Err(error),
                Err(_) => {
                    self.mark_bad(clock, segment)?;
                    continue;
                }
            }
            let level = u8::try_from(which).expect("below 12");
            let header = SegmentHeader {
                kind: SegmentKind::Objects,
                level,
                segment,
                erase_count,
                gec: self.collector.gec,
            };
            let entry = SegmentEntry::new(erase_count, level, entry.valid);
            self.set_segment_entry(clock, segment, entry)?;
            self.areas[which] =
                Area { open: true, segment, written: 0, used: segment::HEADER_BYTES };
            self.put_bytes(clock, self.layout.at(segment, 0), &header.emit());
            return Ok(());
        }
    }

    /// Takes a segment out of use that cannot be erased or programmed. The kernel remembers it until the
    /// unmount; here the segment file does.
    pub(crate) fn mark_bad(&mut self, clock: &mut Clock, segment: u32) -> Result<(), Error> {
        self.worn_out.insert(segment);
        self.counts.bad_segments += 1;
        self.space.bad_segments += 1;
        self.collector.reserved.insert(segment);
        if !self.options.faithful {
            self.set_segment_entry(clock, segment, SegmentEntry::BAD)?;
            let spare = self.superblock.bad_segment_reserve;
            if self.space.bad_segments > spare {
                self.space.free -= i64::from(self.layout.usable());
            }
        }
        Ok(())
    }

    /// Room for an object in the area of a level; returns its offset.
    fn allocate(&mut self, clock: &mut Clock, which: usize, bytes: u32) -> Result<u64, Error> {
        self.open_area(clock, which, bytes)?;
        let area = &mut self.areas[which];
        let at = self.layout.at(area.segment, area.used);
        area.used += bytes;
        Ok(at)
    }

    /// What the blocks of an inode hold at a level.
    pub(crate) fn kind_of(&self, id: BlockId) -> ObjectKind {
        if id.level > 0 {
            return ObjectKind::Block;
        }
        if id.ino == MASTER {
            return ObjectKind::Inode;
        }
        let directory = self.inodes.get(&id.ino).is_some_and(inode::Inode::is_directory);
        if directory { ObjectKind::Dentry } else { ObjectKind::Block }
    }

    /// Writes an object; its content is `data`, or the block in memory. Returns its offset and the bytes that
    /// it counts for (`logfs_segment_write`).
    pub(crate) fn write_object(
        &mut self,
        clock: &mut Clock,
        id: BlockId,
        data: Option<&[u8]>,
    ) -> Result<(u64, u32), Error> {
        self.changed = true;
        self.counts.objects += 1;
        self.host.spend(clock, Work::Node, 0);
        let (kind, level) = (self.kind_of(id), id.gc_level());
        let which = usize::from(level);
        let compress =
            level == 0 && self.inodes.get(&id.ino).is_some_and(inode::Inode::is_compressed);
        if compress {
            let content = self.content(id, kind, data);
            self.host.spend(clock, Work::Deflate, content.len());
            if let Some(packed) = self.deflate.shrink(&content, content.len()) {
                let at =
                    self.allocate(clock, which, to_u32(packed.len()) + object::HEADER_BYTES)?;
                return Ok((at, self.put_object(clock, at, (id, kind, true), &packed)));
            }
        }
        // The segment is opened first: the content may be the entries of the segment file.
        let at = self.allocate(clock, which, to_u32(kind.size()) + object::HEADER_BYTES)?;
        let content = self.content(id, kind, data);
        Ok((at, self.put_object(clock, at, (id, kind, false), &content)))
    }

    fn content(&mut self, id: BlockId, kind: ObjectKind, data: Option<&[u8]>) -> Vec<u8> {
        let bytes = data.or_else(|| self.nodes.get(id)).unwrap_or_default();
        let mut content = bytes[..bytes.len().min(kind.size())].to_vec();
        content.resize(kind.size(), 0);
        content
    }

    fn put_object(
        &mut self,
        clock: &mut Clock,
        at: u64,
        (id, kind, compressed): (BlockId, ObjectKind, bool),
        stored: &[u8],
    ) -> u32 {
        self.host.spend(clock, Work::Crc, stored.len());
        let length = u16::try_from(stored.len()).expect("at most 4,096");
        let (ino, bix, data_crc) = (id.ino, id.bix(), crc(stored));
        let header = ObjectHeader { length, kind, compressed, ino, bix, data_crc };
        self.put_bytes(clock, at, &header.emit());
        self.put_bytes(clock, at + object::HEADER as u64, stored);
        header.stored()
    }

    /// The header of the object at an offset, which must be that of a block (`read_obj_header`).
    pub(crate) fn read_header(
        &mut self,
        clock: &mut Clock,
        id: BlockId,
        at: u64,
    ) -> Result<ObjectHeader, Error> {
        let damaged = |cause| Error::damaged(at, What::Block(id), cause);
        if !self.can_hold_object(at) {
            return Err(damaged(Damage::Outside));
        }
        let mut bytes = [0; object::HEADER];
        self.read_bytes(clock, at, &mut bytes)?;
        let header =
            ObjectHeader::parse(&bytes).map_err(|cause| damaged(Damage::Malformed(cause)))?;
        let mask = !(format::span(id.level) - 1);
        if header.ino != id.ino || header.bix & mask != id.bix() & mask {
            return Err(damaged(Damage::Foreign { ino: header.ino, bix: header.bix }));
        }
        let within = at & u64::from(self.layout.segment_size - 1);
        let end = within + u64::from(header.stored());
        if to_usize(u32::from(header.length)) > BLOCK || end > u64::from(self.layout.segment_size) {
            let (found, expected) = (usize::from(header.length), header.kind.size());
            return Err(damaged(Damage::Length { found, expected }));
        }
        Ok(header)
    }

    /// Whether an object can begin at an offset.
    fn can_hold_object(&self, at: u64) -> bool {
        let within = at & u64::from(self.layout.segment_size - 1);
        let end = u64::from(self.layout.segment_size - object::HEADER_BYTES);
        self.layout.segment_of(at) < u64::from(self.layout.segments)
            && (u64::from(segment::HEADER_BYTES)..=end).contains(&within)
    }

    /// Reads the data of a block at an offset (`__logfs_segment_read`).
    pub(crate) fn read_object(
        &mut self,
        clock: &mut Clock,
        id: BlockId,
        at: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let damaged = |cause| Error::damaged(at, What::Block(id), cause);
        let header = self.read_header(clock, id, at)?;
        self.host.spend(clock, Work::Node, 0);
        let start = at + object::HEADER as u64;
        let length = usize::from(header.length);
        let check = |data: &[u8]| {
            let (found, expected) = (header.data_crc, crc(data));
            if found == expected {
                return Ok(());
            }
            Err(damaged(Damage::Malformed(format::Malformed::Crc { found, expected })))
        };
        self.host.spend(clock, Work::Crc, length);
        if !header.compressed {
            if length != buffer.len() {
                // Early tools wrote whole blocks for inodes.
                let shorter = length > buffer.len();
                if !shorter {
                    return Err(damaged(Damage::Length { found: length, expected: buffer.len() }));
                }
                let mut whole = vec![0; length];
                self.read_bytes(clock, start, &mut whole)?;
                buffer.copy_from_slice(&whole[..buffer.len()]);
                return check(&whole);
            }
            self.read_bytes(clock, start, buffer)?;
            return check(buffer);
        }
        let mut packed = vec![0; length];
        self.read_bytes(clock, start, &mut packed)?;
        check(&packed)?;
        self.host.spend(clock, Work::Inflate, buffer.len());
        let room = buffer.len();
        match self.inflate.zlib(&packed, buffer) {
            Ok(found) if found == room => Ok(()),
            Ok(found) => Err(damaged(Damage::Length { found, expected: room })),
            Err(_) => Err(damaged(Damage::Compressed)),
        }
    }

    /// Reads a block into memory, unless it is there, with the words that changed since (`logfs_segment_read`).
    pub(crate) fn load(&mut self, clock: &mut Clock, id: BlockId, at: u64) -> Result<(), Error> {
        if self.nodes.touch(id).is_some() {
            return Ok(());
        }
        let mut bytes = vec![0; self.kind_of(id).size()].into_boxed_slice();
        self.read_object(clock, id, at, &mut bytes)?;
        self.nodes.insert(id, bytes);
        self.take_words(id);
        Ok(())
    }

    /// Puts changed words into the block that is in memory now (`move_btree_to_page`).
    pub(crate) fn take_words(&mut self, id: BlockId) {
        let here =
            self.aliases.get(id).is_some_and(|changed| matches!(changed.home, Home::Here(_)));
        if !here {
            return;
        }
        if let Some(Home::Here(values)) = self.aliases.move_to(id, Home::Node) {
            for (word, value) in values {
                self.nodes.set_word(id, usize::from(word), value);
            }
        }
    }

    /// What is replaced at an offset, as the shadow of something new or of nothing (`logfs_segment_delete`).
    pub(crate) fn replaced_bytes(
        &mut self,
        clock: &mut Clock,
        id: BlockId,
        at: u64,
    ) -> Result<u32, Error> {
        self.changed = true;
        if at == 0 {
            return Ok(0);
        }
        let header = self.read_header(clock, id, at)?;
        Ok(header.counted(id.gc_level()))
    }

    /// The shadow of a written object.
    pub(crate) fn note_shadow(&mut self, shadow: Shadow) {
        self.space.note(shadow, self.layout.segment_shift);
    }
}
