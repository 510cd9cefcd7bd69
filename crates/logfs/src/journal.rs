//! The journal: what the last commit says is the state of the filesystem.
//!
//! Layer: rank 5. Main type: [`Journal`]. A commit writes, in this order, what fills no write unit of the open
//! segments, the words of blocks that changed, the erase counts of the journal, the inode of the inode file, and
//! what of the superblock changes; then an entry that lists them. When a segment of the journal is full, all of
//! this goes into the next, so that every other one may be erased.
//!
//! Source: Linux 3.12, `fs/logfs/journal.c`.

use crate::block::{Home, word_of};
use crate::error::{Damage, Error, MountError, What};
use crate::format::journal::{
    self, Alias, Anchor, AreaEntry, Dynamic, ENTRIES_MAX, EntryHeader, EntryKind,
};
use crate::format::object::{self, FILLER, ObjectHeader, ObjectKind};
use crate::format::segment::{self, JOURNAL_START, SegmentKind};
use crate::format::{AREAS, BLOCK, JOURNAL_SEGMENTS, MASTER, SegmentHeader, crc};
use crate::store::{Area, JOURNAL, to_u32, to_usize};
use crate::{Logfs, Mistake};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::Work;
use std::collections::BTreeMap;

/// A write buffer whose used bytes are fewer than these is surely shorter as a zlib stream than a block.
const SURELY_SHORT: u32 = 3_000;
/// Aliases in an entry.
const ALIASES: usize = BLOCK / journal::ALIAS;

/// The journal.
#[derive(Debug, Clone, Default)]
pub(crate) struct Journal {
    /// Its segments; 0 for none.
    pub segments: [u32; JOURNAL_SEGMENTS],
    /// How often each was erased.
    pub erase_counts: [u32; JOURNAL_SEGMENTS],
    /// The offsets of the entries of this commit.
    entries: Vec<u64>,
    packed: Packed,
}

/// The kind of an entry, and which of them it is in a commit.
type Place = (EntryKind, usize);

/// The entries that were compressed last, with their streams. A clone is a new object: it holds no state.
#[derive(Debug, Default)]
struct Packed(BTreeMap<Place, (Vec<u8>, Option<Vec<u8>>)>);

impl Clone for Packed {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Journal {
    pub(crate) fn new(segments: [u32; JOURNAL_SEGMENTS]) -> Self {
        Self { segments, ..Self::default() }
    }
}

/// What a commit says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Commit {
    pub offset: u64,
    pub areas: Vec<(AreaEntry, Vec<u8>)>,
    pub aliases: Vec<Alias>,
    pub erase_counts: [u32; JOURNAL_SEGMENTS],
    pub anchor: Anchor,
    pub dynamic: Dynamic,
}

/// An entry that lists those of its commit.
struct CommitEntry {
    at: u64,
    /// The first byte behind it.
    end: u64,
    /// The offsets of the entries as they are stored.
    list: Vec<u8>,
}

impl CommitEntry {
    /// The offsets of the entries.
    fn entries(&self) -> impl Iterator<Item = u64> + use<'_> {
        let each = self.list.chunks_exact(8);
        each.map(|at| u64::from_be_bytes(at.try_into().expect("eight bytes")))
    }

    /// Whether the entry at `at` has bytes in the page of the flash in which this one ends.
    fn shares_page(&self, at: u64, page: u64) -> bool {
        let end = self.entries().filter(|&other| other > at && other < self.at).min();
        let end = end.unwrap_or(self.at);
        at < self.at && end > (self.end - 1) / page * page
    }
}

/// Whether an entry was written, or the segment was full and everything must be written again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Put {
    Written,
    Again,
}

impl<M: Mtd> Logfs<M> {
    /// Makes everything that was written durable (`logfs_write_anchor`).
    pub(crate) fn commit(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if !self.changed || self.collector.rescuing {
            return Ok(());
        }
        if self.failed {
            return Err(boardlab_vfs::Errno::RoFs.into());
        }
        self.changed = false;
        let late = self.is_mistaken(Mistake::CommitsBeforeData);
        let done = self.commit_now(clock, late);
        if done.is_err() {
            self.failed = true;
        }
        done
    }

    fn commit_now(&mut self, clock: &mut Clock, late: bool) -> Result<(), Error> {
        if !self.options.faithful {
            self.round_areas(clock)?;
        }
        if !late {
            self.sync_segments(clock)?;
        }
        self.account(clock)?;
        // The old segment of the journal stays valid until this is done.
        let mut attempts = 0;
        while !self.write_state(clock)? {
            attempts += 1;
            if attempts > 2 * JOURNAL_SEGMENTS {
                return Err(Error::NoSegment);
            }
        }
        if late {
            self.sync_segments(clock)?;
        }
        self.counts.commits += 1;
        Ok(())
    }

    /// Writes the whole write units of all areas. Segments in which that fails are replaced.
    fn sync_segments(&mut self, clock: &mut Clock) -> Result<(), Error> {
        loop {
            for which in 0..AREAS {
                if self.areas[which].open {
                    self.sync_area(clock, which)?;
                }
            }
            if !self.failing.is_empty() {
                self.rescue(clock)?;
                continue;
            }
            if !self.options.faithful {
                self.close_full_areas(clock)?;
            }
            return Ok(());
        }
    }

    /// Closes segments that are full to the last byte: a kernel would lay their write buffer over the next segment.
    fn close_full_areas(&mut self, clock: &mut Clock) -> Result<(), Error> {
        for which in 0..AREAS {
            if self.areas[which].open && self.areas[which].used == self.layout.segment_size {
                self.close_area(clock, which)?;
            }
        }
        Ok(())
    }

    /// Fills write units up whose rest would not fit into an entry of the journal: a kernel does not read
    /// entries that are longer than a block, and refuses the mount.
    fn round_areas(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let unit = self.layout.write_size;
        if to_usize(unit) + journal::AREA <= BLOCK {
            return Ok(());
        }
        for which in 0..AREAS {
            let area = self.areas[which];
            let rest = area.used % unit;
            if !area.open || rest < SURELY_SHORT || self.fits(clock, which) {
                continue;
            }
            // An object of no inode, up to the end of the unit, or just beyond it.
            let room = (unit - rest).max(object::HEADER_BYTES);
            if area.used + room > self.layout.segment_size {
                self.close_area(clock, which)?;
                continue;
            }
            let data = vec![0xFF; to_usize((room - object::HEADER_BYTES).min(to_u32(BLOCK)))];
            let header = ObjectHeader {
                length: u16::try_from(data.len()).expect("at most 4,096"),
                kind: ObjectKind::Block,
                compressed: false,
                ino: FILLER,
                bix: 0,
                data_crc: crc(&data),
            };
            let at = self.layout.at(area.segment, area.used);
            self.put_bytes(clock, at, &header.emit());
            self.put_bytes(clock, at + object::HEADER as u64, &data);
            self.areas[which].used += header.stored();
        }
        Ok(())
    }

    fn fits(&mut self, clock: &mut Clock, which: usize) -> bool {
        let bytes = self.area_bytes(which);
        self.pack(clock, (EntryKind::Area, which), &bytes).is_some()
    }

    /// A zlib stream of the entry at `place`, if it is shorter and fits into a block. The modelled CPU compresses
    /// every time; this one takes the last stream when the entry is the same, as most are from commit to commit.
    fn pack(&mut self, clock: &mut Clock, place: Place, bytes: &[u8]) -> Option<Vec<u8>> {
        self.host.spend(clock, Work::Deflate, bytes.len());
        let last = self.journal.packed.0.entry(place).or_default();
        if last.0 != bytes {
            *last = (bytes.to_vec(), self.deflate.shrink(bytes, BLOCK));
        }
        last.1.clone()
    }

    /// The entry of an area: what does not fill a write unit.
    fn area_bytes(&self, which: usize) -> Vec<u8> {
        let area = self.areas[which];
        let unit = self.layout.write_size;
        let start = area.used / unit * unit;
        let level = u8::try_from(which).expect("below 12");
        let entry = AreaEntry { segment: area.segment, used: area.used, level, age: 0 };
        let mut bytes = entry.emit().to_vec();
        let mut buffer = vec![0xFF; to_usize(unit)];
        let used = to_usize(area.used - start);
        let at = self.layout.at(area.segment, start);
        self.media.peek(at, &mut buffer[..used]);
        bytes.extend(buffer);
        bytes
    }

    /// Writes the state; false when another segment was begun and all of it must be written again.
    fn write_state(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        self.journal.entries.clear();
        let done = self.write_entries(clock);
        match done {
            Ok(put) => Ok(put == Put::Written),
            Err(error) if error.is_power_cut() || self.options.faithful => Err(error),
            Err(Error::Flash(_)) => {
                // This segment of the journal is bad: the next one.
                self.areas[JOURNAL].open = false;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    fn write_entries(&mut self, clock: &mut Clock) -> Result<Put, Error> {
        macro_rules! put {
            ($place:expr, $bytes:expr) => {
                let bytes = $bytes;
                if self.put_entry(clock, $place, &bytes)? == Put::Again {
                    return Ok(Put::Again);
                }
            };
        }
        for which in 0..AREAS {
            if self.areas[which].open {
                put!((EntryKind::Area, which), self.area_bytes(which));
            }
        }
        if !self.is_mistaken(Mistake::ForgetsAliases) {
            let aliases = self.current_aliases();
            for (number, some) in aliases.chunks(ALIASES).enumerate() {
                put!((EntryKind::Aliases, number), journal::emit_aliases(some));
            }
        }
        put!((EntryKind::EraseCounts, 0), journal::emit_erase_counts(&self.journal.erase_counts));
        put!((EntryKind::Anchor, 0), self.anchor()?.emit());
        put!((EntryKind::Dynamic, 0), self.dynamic().emit());
        let entries = self.journal.entries.iter().flat_map(|at| at.to_be_bytes());
        put!((EntryKind::Commit, 0), entries.collect::<Vec<u8>>());
        self.sync_area(clock, JOURNAL)?;
        Ok(Put::Written)
    }

    fn put_entry(&mut self, clock: &mut Clock, place: Place, bytes: &[u8]) -> Result<Put, Error> {
        let (kind, _) = place;
        let packed = if kind == EntryKind::Anchor { None } else { self.pack(clock, place, bytes) };
        let stored = packed.as_deref().unwrap_or(bytes);
        self.host.spend(clock, Work::Crc, stored.len());
        let unpacked = packed.as_ref().map(|_| bytes.len());
        let mut entry = journal::emit(kind, unpacked, stored, journal::BY_KERNEL);
        if self.open_area(clock, JOURNAL, to_u32(entry.len()))? {
            return Ok(Put::Again);
        }
        let area = self.areas[JOURNAL];
        let mut end = area.used + to_u32(entry.len());
        if kind == EntryKind::Commit {
            end = end.next_multiple_of(self.layout.write_size);
            entry.resize(to_usize(end - area.used), 0xFF);
        }
        let at = self.layout.at(area.segment, area.used);
        self.areas[JOURNAL].used = end;
        self.put_bytes(clock, at, &entry);
        if self.journal.entries.len() >= ENTRIES_MAX {
            return Err(Error::damaged(at, What::JournalEntry, Damage::Outside));
        }
        self.journal.entries.push(at);
        Ok(Put::Written)
    }

    /// The words that differ from those on flash, in the order in which blocks changed last.
    pub(crate) fn current_aliases(&self) -> Vec<Alias> {
        let mut aliases = Vec::with_capacity(self.aliases.count);
        for block in self.aliases.in_order() {
            let Some(changed) = self.aliases.get(block) else { continue };
            if let Home::Here(values) = &changed.home {
                let values = values.iter().rev();
                aliases.extend(values.map(|&(word, value)| Alias { block, word, value }));
                continue;
            }
            let inode = self.inodes.get(&block.index).filter(|_| changed.home == Home::Inode);
            let node = self.nodes.get(block).unwrap_or_default();
            aliases.extend(changed.words().map(|word| {
                let value = match inode {
                    Some(inode) => inode.disk.word(word),
                    None => word_of(node, usize::from(word)),
                };
                Alias { block, word, value: value.unwrap_or_default() }
            }));
        }
        aliases
    }

    fn anchor(&self) -> Result<Anchor, Error> {
        let disk = &self.inode(MASTER)?.disk;
        Ok(Anchor {
            size: disk.size,
            last_ino: self.numbers.last,
            used: disk.used,
            height: disk.height,
            pointers: disk.pointers,
        })
    }

    fn dynamic(&self) -> Dynamic {
        Dynamic {
            gec: self.collector.gec,
            sweeper: u64::from(self.collector.sweeper),
            rename_dir: self.pending.rename_dir,
            rename_pos: self.pending.rename_pos,
            victim: self.pending.victim,
            used: self.space.used,
            generation: self.numbers.generation,
        }
    }

    /// Begins the next segment of the journal.
    pub(crate) fn begin_journal_segment(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let present = self.areas[JOURNAL].segment;
        let slots = self.journal.segments;
        let start =
            slots.iter().position(|&segment| segment == present && segment > 0).unwrap_or(0);
        let next = (1..=JOURNAL_SEGMENTS).map(|step| (start + step) % JOURNAL_SEGMENTS);
        for slot in next.filter(|&slot| slots[slot] > 0) {
            let segment = slots[slot];
            if segment == present && self.layout.journal_segments > 1 {
                continue;
            }
            self.journal.erase_counts[slot] += 1;
            match self.erase_segment(clock, segment) {
                Ok(()) => {}
                Err(error) if error.is_power_cut() => return Err(error),
                Err(_) => continue,
            }
            let header = SegmentHeader {
                kind: SegmentKind::Journal,
                level: 0,
                segment,
                erase_count: self.journal.erase_counts[slot],
                gec: self.collector.gec,
            };
            let mut bytes = [0; 32];
            bytes[..segment::HEADER].copy_from_slice(&header.emit());
            self.areas[JOURNAL] = Area { open: true, segment, written: 0, used: JOURNAL_START };
            self.put_bytes(clock, self.layout.at(segment, 0), &bytes);
            return Ok(());
        }
        Err(Error::NoSegment)
    }

    /// Moves the journal to other segments, since its own were erased too often (`do_logfs_journal_wl_pass`).
    pub(crate) fn move_journal(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.counts.journal_moves += 1;
        let old = self.journal.clone();
        let mut erase_counts = old.erase_counts;
        let mut segments = old.segments;
        let mut count = 0;
        for slot in 0..JOURNAL_SEGMENTS {
            (segments[slot], erase_counts[slot]) = (0, 0);
            if count < self.layout.journal_segments {
                let Some((segment, erase_count)) = self.collector.take_reserve() else {
                    return Err(Error::NoSegment);
                };
                (segments[slot], erase_counts[slot]) = (segment, erase_count);
                count += 1;
            }
        }
        for (&segment, &erase_count) in old.segments.iter().zip(&old.erase_counts) {
            if segment > 0 {
                self.collector.reserved.remove(&segment);
                let entry = crate::format::SegmentEntry::new(erase_count, 0, 0);
                self.set_segment_entry(clock, segment, entry)?;
            }
        }
        for &segment in segments.iter().filter(|&&segment| segment > 0) {
            let entry = self.segment_entry(clock, segment)?;
            let reserved = crate::format::SegmentEntry::RESERVED;
            let entry = crate::format::SegmentEntry { valid: reserved, ..entry };
            self.set_segment_entry(clock, segment, entry)?;
            self.collector.reserved.insert(segment);
            self.erase_segment(clock, segment)?;
        }
        let present = self.areas[JOURNAL];
        if present.open {
            self.media.release(self.layout.bytes_of(present.segment));
        }
        self.journal = Journal { segments, erase_counts, ..Journal::default() };
        // The last of them, so that the first is the next.
        let last = segments.iter().rev().find(|&&segment| segment > 0).copied().unwrap_or_default();
        self.areas[JOURNAL] = Area { open: false, segment: last, ..Area::default() };
        self.changed = true;
        self.commit(clock)?;
        self.superblock.journal = segments;
        self.write_superblocks(clock)
    }
}

/// The commits of a segment of the journal, and their entries, are read by [`super::mount`].
impl<M: Mtd> Logfs<M> {
    fn read_entry_header(
        &mut self,
        clock: &mut Clock,
        at: u64,
    ) -> Result<Option<EntryHeader>, Error> {
        let mut bytes = [0; journal::HEADER];
        self.read_bytes(clock, at, &mut bytes)?;
        let limit = BLOCK.max(to_usize(self.layout.write_size)) + journal::HEADER + journal::AREA;
        Ok(EntryHeader::parse(&bytes).ok().filter(|header| {
            usize::from(header.unpacked) <= limit
                && usize::from(header.length) <= if self.options.faithful { BLOCK } else { limit }
        }))
    }

    /// An entry with its data unpacked; `Err(Malformed)` inside when it is damaged.
    fn read_entry(
        &mut self,
        clock: &mut Clock,
        at: u64,
        header: EntryHeader,
    ) -> Result<Option<Vec<u8>>, Error> {
        let mut bytes = vec![0; journal::HEADER + usize::from(header.length)];
        let end = at + bytes.len() as u64;
        if self.layout.segment_of(at) != self.layout.segment_of(end - 1) {
            return Ok(None);
        }
        self.read_bytes(clock, at, &mut bytes)?;
        self.host.spend(clock, Work::Crc, bytes.len());
        if header.check(&bytes).is_err() {
            return Ok(None);
        }
        let data = &bytes[journal::HEADER..];
        if !header.compressed {
            return Ok(Some(data.to_vec()));
        }
        let mut unpacked = vec![0; usize::from(header.unpacked)];
        self.host.spend(clock, Work::Inflate, unpacked.len());
        match self.inflate.zlib(data, &mut unpacked) {
            Ok(length) if length == unpacked.len() => Ok(Some(unpacked)),
            _ => Ok(None),
        }
    }

    /// The last two valid commits of a segment, the older first (`logfs_read_segment`).
    fn last_commits(
        &mut self,
        clock: &mut Clock,
        segment: u32,
    ) -> Result<[Option<CommitEntry>; 2], Error> {
        let mut last = [None, None];
        let mut within = 0;
        let end = self.layout.segment_size - journal::HEADER_BYTES;
        while within <= end {
            let at = self.layout.at(segment, within);
            within += journal::HEADER_BYTES;
            let Some(header) = self.read_entry_header(clock, at)? else { continue };
            let array = usize::from(header.unpacked);
            if header.kind != EntryKind::Commit
                || !array.is_multiple_of(8)
                || array > 8 * ENTRIES_MAX
            {
                continue;
            }
            if let Some(list) = self.read_entry(clock, at, header)? {
                within += header.stored() - journal::HEADER_BYTES;
                let [_, before] = last;
                let end = at + u64::from(header.stored());
                last = [before, Some(CommitEntry { at, end, list })];
            }
        }
        Ok(last)
    }

    /// Reads the state that the last commit of a segment has; `None` without a commit.
    ///
    /// A power cut may leave the last page of a commit with the entry that lists the others, and without one of the
    /// others in that page. Nothing was written after it, so what the commit before leads to still stands. The kernel
    /// refuses such a mount.
    pub(crate) fn read_commit(
        &mut self,
        clock: &mut Clock,
        segment: u32,
    ) -> Result<Option<Commit>, Error> {
        let [before, last] = self.last_commits(clock, segment)?;
        let Some(last) = last else { return Ok(None) };
        match self.read_listed(clock, &last) {
            Err(Error::Damaged { at, cause: Damage::Hole, .. })
                if !self.options.faithful && self.is_torn(clock, &last, at)? =>
            {
                self.findings.torn_commit = Some(last.at);
                before.map(|before| self.read_listed(clock, &before)).transpose()
            }
            commit => commit.map(Some),
        }
    }

    /// Whether a commit that lacks the entry at `at` was torn by a power cut: then it was the last thing written, and
    /// neither the journal nor an open segment goes on behind it.
    fn is_torn(&mut self, clock: &mut Clock, commit: &CommitEntry, at: u64) -> Result<bool, Error> {
        let page = self.media.device.geometry().write_buffer.get();
        if !commit.shares_page(at, page) {
            return Ok(false);
        }
        let next = commit.end.next_multiple_of(page);
        let behind = self.layout.segment_of(next) == self.layout.segment_of(commit.at);
        let length = u32::try_from(page).expect("a page fits u32");
        if behind && !self.media.is_erased(clock, next, length)? {
            return Ok(false);
        }
        let mut found = Commit::default();
        for entry in commit.entries() {
            // Those that cannot be read say nothing.
            let _ = self.read_into(clock, entry, &mut found);
        }
        let unit = self.layout.write_size;
        for (AreaEntry { segment, used, .. }, _) in found.areas {
            let written = used / unit * unit;
            let inside = segment > 0 && segment < self.layout.segments;
            if inside && self.goes_on(clock, segment, written)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn read_listed(&mut self, clock: &mut Clock, entry: &CommitEntry) -> Result<Commit, Error> {
        let mut commit = Commit { offset: entry.at, ..Commit::default() };
        for at in entry.entries() {
            self.read_into(clock, at, &mut commit)?;
        }
        Ok(commit)
    }

    fn read_into(&mut self, clock: &mut Clock, at: u64, commit: &mut Commit) -> Result<(), Error> {
        let damaged = |cause| Error::damaged(at, What::JournalEntry, cause);
        let outside = self.layout.segment_of(at) >= u64::from(self.layout.segments);
        if outside {
            return Err(damaged(Damage::Outside));
        }
        let header = self.read_entry_header(clock, at)?.ok_or_else(|| damaged(Damage::Hole))?;
        let data = self.read_entry(clock, at, header)?.ok_or_else(|| damaged(Damage::Hole))?;
        let malformed = |cause| damaged(Damage::Malformed(cause));
        match header.kind {
            EntryKind::Commit => return Err(damaged(Damage::Collision)),
            EntryKind::Dynamic => commit.dynamic = Dynamic::parse(&data).map_err(malformed)?,
            EntryKind::Anchor => commit.anchor = Anchor::parse(&data).map_err(malformed)?,
            EntryKind::EraseCounts => commit.erase_counts = journal::parse_erase_counts(&data),
            EntryKind::Area => {
                let (area, buffer) = AreaEntry::parse(&data).map_err(malformed)?;
                commit.areas.push((area, buffer.to_vec()));
            }
            EntryKind::Aliases => {
                for alias in data.chunks_exact(journal::ALIAS) {
                    commit.aliases.push(Alias::parse(alias).map_err(malformed)?);
                }
            }
        }
        Ok(())
    }

    /// The segments of the journal with a valid header, the newest first (`logfs_read_journal`).
    pub(crate) fn journal_by_age(&mut self, clock: &mut Clock) -> Result<Vec<u32>, Error> {
        let mut found = Vec::new();
        for segment in self.journal.segments {
            if segment == 0 {
                continue;
            }
            let mut bytes = [0; segment::HEADER];
            self.read_bytes(clock, self.layout.at(segment, 0), &mut bytes)?;
            if let Ok(header) = SegmentHeader::parse(&bytes)
                && header.kind == SegmentKind::Journal
            {
                found.push((header.gec, segment));
            }
        }
        // Of two with the same count, the first in the list is taken.
        found.sort_by_key(|&(gec, _)| std::cmp::Reverse(gec));
        Ok(found.into_iter().map(|(_, segment)| segment).collect())
    }

    /// Finds the last commit. The kernel looks into the newest segment alone, and refuses the mount when the power
    /// failed before the first commit in it.
    pub(crate) fn find_commit(&mut self, clock: &mut Clock) -> Result<(u32, Commit), MountError> {
        let segments = self.journal_by_age(clock)?;
        let newest = self.options.faithful || self.is_mistaken(Mistake::IgnoresOlderSegments);
        let tried = if newest { 1 } else { segments.len() };
        for (passed, &segment) in segments.iter().take(tried).enumerate() {
            if let Some(commit) = self.read_commit(clock, segment)? {
                self.findings.commit = commit.offset;
                self.findings.journal_segments_without_commit = passed;
                return Ok((segment, commit));
            }
        }
        Err(MountError::NoCommit { segments: segments.len() })
    }
}
