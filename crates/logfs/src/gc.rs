//! Garbage collection and wear levelling.
//!
//! Layer: rank 5. Main type: [`Collector`]. Before every operation there must be as many free segments as there
//! are levels. When there are not, the segment file is searched, and the segment with the least valid bytes is
//! emptied, preferably one of the data.
//!
//! Source: Linux 3.12, `fs/logfs/gc.c`.

use crate::error::{Damage, Error, What};
use crate::format::object::{self, FILLER, MAX, ObjectHeader};
use crate::format::segment;
use crate::format::{
    AREAS, BLOCK, BlockId, FILE_LEVELS, MASTER, Malformed, SegmentEntry, SegmentHeader,
};
use crate::tree::Target;
use crate::{Logfs, inode};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use std::collections::{BTreeMap, BTreeSet};

/// Erases between two such moves.
const WEAR_PERIOD: u64 = 100;
/// Entries of the segment file that are looked at at once.
const SCAN: u32 = 512;
/// Candidates in a list.
const LIST: usize = 64;
/// Free segments that emptying one takes at most: for its level, for inodes, and for two levels above them.
const FREE_MIN: usize = 4;
/// Searches of the whole flash before garbage collection gives up.
const ROUNDS: u32 = 128;

/// A list of candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    /// Free segments in reserve for bad ones.
    Reserve,
    /// Free segments.
    Free,
    /// Segments that can be emptied, by distance from the root.
    Low(usize),
    /// Segments that can be moved for their wear.
    Wear,
}

/// A segment that may be taken for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Candidate {
    segment: u32,
    valid: u32,
    erase_count: u32,
    distance: usize,
    list: List,
    key: (u32, u64),
}

/// Candidates by valid bytes or by erase count.
#[derive(Debug, Clone, Default)]
struct Candidates {
    by_key: BTreeMap<(u32, u64), u32>,
    limit: usize,
}

/// Garbage collection.
#[derive(Debug, Clone)]
pub(crate) struct Collector {
    /// How often any segment was erased (global erase count).
    pub gec: u64,
    /// The last segment that was looked at.
    pub sweeper: u32,
    /// Segments that are not collected: superblocks, journal, bad ones, and the one that is being collected.
    pub reserved: BTreeSet<u32>,
    /// Whether segments are being replaced whose objects are not all on the flash: no commit may come.
    pub rescuing: bool,
    all: BTreeMap<u32, Candidate>,
    reserve: Candidates,
    free: Candidates,
    low: Vec<Candidates>,
    wear: Candidates,
    serial: u64,
    next_wear_move: u64,
    next_journal_move: u64,
}

impl Collector {
    pub(crate) fn new(bad_segment_reserve: u32) -> Self {
        let list = |limit| Candidates { by_key: BTreeMap::new(), limit };
        Self {
            gec: 0,
            sweeper: 0,
            reserved: BTreeSet::new(),
            rescuing: false,
            all: BTreeMap::new(),
            reserve: list(usize::try_from(bad_segment_reserve).unwrap_or(LIST)),
            free: list(LIST + 512),
            low: (0..AREAS).map(|_| list(LIST)).collect(),
            wear: list(LIST),
            serial: 0,
            next_wear_move: 0,
            next_journal_move: 0,
        }
    }

    fn list(&mut self, list: List) -> &mut Candidates {
        match list {
            List::Reserve => &mut self.reserve,
            List::Free => &mut self.free,
            List::Low(distance) => &mut self.low[distance],
            List::Wear => &mut self.wear,
        }
    }

    /// Free segments.
    pub(crate) fn free_count(&self) -> usize {
        self.free.by_key.len()
    }

    /// Segments in all lists, for the memory that they take.
    pub(crate) fn candidates(&self) -> usize {
        self.all.len()
    }

    fn remove(&mut self, segment: u32) -> Option<Candidate> {
        let candidate = self.all.remove(&segment)?;
        self.list(candidate.list).by_key.remove(&candidate.key);
        Some(candidate)
    }

    /// Adds a candidate to a list, which holds one more than its limit. Returns what found no place, the
    /// worst (`add_list`).
    fn add(&mut self, mut candidate: Candidate, list: List) -> Option<Candidate> {
        self.serial += 1;
        let by_wear = !matches!(list, List::Low(_));
        let measure = if by_wear { candidate.erase_count } else { candidate.valid };
        (candidate.list, candidate.key) = (list, (measure, self.serial));
        self.all.insert(candidate.segment, candidate);
        let candidates = self.list(list);
        candidates.by_key.insert(candidate.key, candidate.segment);
        if candidates.by_key.len() <= candidates.limit + 1 {
            return None;
        }
        let (_, worst) = candidates.by_key.pop_last()?;
        self.all.remove(&worst)
    }

    /// Puts a segment where it is of use (`__add_candidate`).
    fn place(&mut self, candidate: Candidate, full: u32) {
        if candidate.valid == 0 {
            if let Some(rest) = self.add(candidate, List::Reserve) {
                self.add(rest, List::Free);
            }
            return;
        }
        let rest = if candidate.valid < full {
            self.add(candidate, List::Low(candidate.distance))
        } else {
            Some(candidate)
        };
        if let Some(rest) = rest {
            self.add(rest, List::Wear);
        }
    }

    fn first(&self, list: &Candidates) -> Option<Candidate> {
        let segment = list.by_key.values().next()?;
        self.all.get(segment).copied()
    }

    /// Takes the free segment that was erased least; from the reserve when `reserve` is set and no other is left.
    pub(crate) fn take_free(&mut self, reserve: bool) -> Option<u32> {
        let found = self.first(&self.free);
        let found = found.or_else(|| self.first(&self.reserve).filter(|_| reserve))?;
        self.remove(found.segment).map(|candidate| candidate.segment)
    }

    /// Takes a segment from the reserve, with its erase count.
    pub(crate) fn take_reserve(&mut self) -> Option<(u32, u32)> {
        let found = self.first(&self.reserve)?;
        self.remove(found.segment).map(|candidate| (candidate.segment, candidate.erase_count))
    }

    /// The segment to empty next (`get_candidate`). With few free segments the kernel looks only near the root, and
    /// stops on a full flash when nothing can be emptied there, though emptying a segment takes fewer.
    fn best(&self, faithful: bool) -> Option<Candidate> {
        let free = self.free_count() + self.reserve.by_key.len();
        let farthest = if !faithful && free >= FREE_MIN {
            AREAS - 1
        } else {
            self.free_count().min(AREAS - 1)
        };
        let mut best: Option<Candidate> = None;
        for distance in (0..=farthest).rev() {
            let Some(candidate) = self.first(&self.low[distance]) else { continue };
            if best.is_none_or(|best| candidate.valid + MAX <= best.valid) {
                best = Some(candidate);
            }
        }
        best
    }

    /// Whether every candidate is in its list.
    pub(crate) fn is_consistent(&self) -> bool {
        let lists = [&self.reserve, &self.free, &self.wear].into_iter().chain(&self.low);
        let listed: usize = lists.map(|list| list.by_key.len()).sum();
        listed == self.all.len()
    }

    /// Free segments by their numbers, with those in reserve.
    pub(crate) fn free_segments(&self) -> impl Iterator<Item = u32> + '_ {
        self.free.by_key.values().chain(self.reserve.by_key.values()).copied()
    }
}

/// Whether an object is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Validity {
    /// Nothing leads to it.
    Invalid,
    /// Something does.
    Valid,
    /// What leads to it does so only until the next commit.
    UntilCommit,
}

impl<M: Mtd> Logfs<M> {
    /// Makes room for an operation (`logfs_gc_pass`).
    pub(crate) fn collect(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let pending = self.space.taken + self.space.freed + u64::from(MAX);
        if i64::try_from(pending).unwrap_or(i64::MAX) >= self.space.free {
            self.commit(clock)?;
        }
        if !self.failing.is_empty() {
            self.rescue(clock)?;
        }
        let target = crate::store::to_usize(self.layout.levels);
        self.collect_until(clock, target)?;
        self.level_wear(clock)?;
        self.level_journal_wear(clock)
    }

    fn collect_until(&mut self, clock: &mut Clock, target: usize) -> Result<(), Error> {
        let aliases_max = self.layout.aliases_max;
        if self.space.shadowed_segments() >= aliases_max {
            self.commit(clock)?;
        }
        if self.collector.free_count() >= target && self.aliases.count < aliases_max {
            return Ok(());
        }
        let (mut round, mut last_progress) = (0, 0);
        while round < ROUNDS {
            if self.collector.free_count() < target {
                // The counts of segments are those of the last commit.
                self.commit(clock)?;
                round += u32::from(self.scan_some(clock)?);
                if self.collector.free_count() < target {
                    if self.collect_best(clock)? {
                        last_progress = round;
                    } else if round - last_progress > 2 {
                        break;
                    }
                    continue;
                }
            }
            if self.aliases.count < aliases_max {
                return Ok(());
            }
            let Some(block) = self.aliases.oldest() else { return Ok(()) };
            self.write_back(clock, block)?;
            self.trim();
            round = 0;
            last_progress = 0;
        }
        // The kernel stops here.
        if self.options.faithful { Err(Error::NoSegment) } else { Ok(()) }
    }

    /// Writes a block so that its changed words need not be in the journal any more.
    fn write_back(&mut self, clock: &mut Clock, block: BlockId) -> Result<(), Error> {
        self.counts.written_back += 1;
        if block.ino == MASTER && block.level == 0 && self.inodes.contains_key(&block.index) {
            return self.write_inode_block(clock, block.index);
        }
        if block.ino != MASTER {
            self.get(clock, block.ino)?;
        }
        let hole = Error::damaged(0, What::Block(block), Damage::Hole);
        let at = self.find(clock, block)?.ok_or(hole)?;
        self.load(clock, block, at)?;
        self.change(clock, Target { id: block, data: None }, true)
    }

    fn is_reserved(&self, segment: u32) -> bool {
        self.collector.reserved.contains(&segment)
            || self.areas[..AREAS].iter().any(|area| area.open && area.segment == segment)
            || self.failing.contains(&segment)
    }

    /// How far a level is from the root (`root_distance`).
    fn distance(&self, level: u8) -> usize {
        let superblock = &self.superblock;
        let (inode_file, indirect) =
            (usize::from(superblock.inode_file_levels), usize::from(superblock.indirect_levels));
        let distance = match level {
            0..=3 => (inode_file + indirect).saturating_sub(usize::from(level)),
            6..=9 => inode_file.saturating_sub(usize::from(level - FILE_LEVELS)),
            _ => inode_file + indirect,
        };
        distance.min(AREAS - 1)
    }

    /// Looks at the next entries of the segment file; returns whether the end was reached.
    fn scan_some(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        for _ in 0..SCAN {
            self.collector.sweeper += 1;
            if self.collector.sweeper >= self.layout.segments {
                self.collector.sweeper = 0;
                return Ok(true);
            }
            self.scan_segment(clock, self.collector.sweeper)?;
        }
        Ok(false)
    }

    /// Looks for free segments until there are enough, but not further than once around.
    pub(crate) fn find_free(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let target = crate::store::to_usize(self.layout.levels);
        let mut rounds = 0;
        while self.collector.free_count() < target && rounds < 2 {
            rounds += u32::from(self.scan_some(clock)?);
        }
        Ok(())
    }

    fn scan_segment(&mut self, clock: &mut Clock, segment: u32) -> Result<(), Error> {
        if self.is_reserved(segment) {
            return Ok(());
        }
        self.collector.remove(segment);
        let entry = self.segment_entry(clock, segment)?;
        if entry.is_store() {
            let candidate = Candidate {
                segment,
                valid: entry.valid,
                erase_count: entry.erase_count(),
                distance: self.distance(entry.level()),
                list: List::Free,
                key: (0, 0),
            };
            self.collector.place(candidate, self.layout.usable());
        }
        Ok(())
    }

    fn collect_best(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        let Some(candidate) = self.collector.best(self.options.faithful) else { return Ok(false) };
        self.collector.remove(candidate.segment);
        self.counts.collections += 1;
        self.collect_segment(clock, candidate.segment)?;
        Ok(true)
    }

    /// Empties a segment (`__logfs_gc_once`).
    fn collect_segment(&mut self, clock: &mut Clock, segment: u32) -> Result<(), Error> {
        let valid = self.segment_entry(clock, segment)?.valid;
        let end = self.layout.segment_size;
        let cleaned = self.empty_segment(clock, segment, end)?;
        self.settle_valid(clock, segment, valid, cleaned)
    }

    /// Corrects the entry of an emptied segment: nothing is valid in it after the next commit. The kernel stops
    /// when the entry is wrong.
    fn settle_valid(
        &mut self,
        clock: &mut Clock,
        segment: u32,
        valid: u32,
        cleaned: Option<u32>,
    ) -> Result<(), Error> {
        let Some(cleaned) = cleaned.filter(|&cleaned| cleaned != valid) else { return Ok(()) };
        if self.options.faithful {
            let what = What::SegmentEntry(segment);
            let cause = Malformed::Field { name: "valid", value: u64::from(valid) };
            return Err(Error::damaged(self.layout.at(segment, 0), what, Damage::Malformed(cause)));
        }
        self.counts.corrected_entries += 1;
        let entry = self.segment_entry(clock, segment)?;
        self.set_segment_entry(clock, segment, SegmentEntry { valid: cleaned, ..entry })
    }

    /// Moves all valid objects of a segment before `end`. Returns their bytes; `None` when the segment is damaged
    /// and stays as it is (`logfs_gc_segment`).
    fn empty_segment(
        &mut self,
        clock: &mut Clock,
        segment: u32,
        end: u32,
    ) -> Result<Option<u32>, Error> {
        let fresh = self.collector.reserved.insert(segment);
        let emptied = self.move_objects(clock, segment, end);
        match &emptied {
            // It stays reserved until the next mount.
            Ok(None) => self.findings.damaged_segments.push(segment),
            _ if fresh => drop(self.collector.reserved.remove(&segment)),
            _ => {}
        }
        emptied
    }

    fn move_objects(
        &mut self,
        clock: &mut Clock,
        segment: u32,
        end: u32,
    ) -> Result<Option<u32>, Error> {
        let mut bytes = [0; segment::HEADER];
        self.read_bytes(clock, self.layout.at(segment, 0), &mut bytes)?;
        let Ok(header) = SegmentHeader::parse(&bytes) else { return Ok(None) };
        if usize::from(header.level) >= AREAS || header.segment != segment {
            return Ok(None);
        }
        let (mut within, mut cleaned) = (segment::HEADER_BYTES, 0);
        while within + object::HEADER_BYTES < end {
            let at = self.layout.at(segment, within);
            let mut bytes = [0; object::HEADER];
            self.read_bytes(clock, at, &mut bytes)?;
            let object = match ObjectHeader::parse(&bytes) {
                Err(Malformed::Erased) => break,
                Err(_) => return Ok(None),
                Ok(object) => object,
            };
            match self.validity(clock, at, &object, header.level)? {
                Validity::Valid => {
                    self.move_object(clock, at, &object, header.level)?;
                    cleaned += object.counted(header.level);
                }
                Validity::UntilCommit => cleaned += object.counted(header.level),
                Validity::Invalid => {}
            }
            within += object.stored();
        }
        Ok(Some(cleaned))
    }

    fn block_of(object: &ObjectHeader, level: u8) -> BlockId {
        let level = if level >= FILE_LEVELS { level - FILE_LEVELS } else { level };
        BlockId::leading_to(object.ino, level, object.bix)
    }

    /// Whether an object is valid (`logfs_is_valid_block`).
    fn validity(
        &mut self,
        clock: &mut Clock,
        at: u64,
        object: &ObjectHeader,
        level: u8,
    ) -> Result<Validity, Error> {
        if object.ino == FILLER {
            return Ok(Validity::Invalid);
        }
        let id = Self::block_of(object, level);
        let known = match self.get(clock, object.ino) {
            Ok(inode) => Some((inode.disk.links, inode.held)),
            Err(Error::MissingInode(_)) => None,
            Err(error) => return Err(error),
        };
        if let Some((links, held)) = known
            && id.gc_level() == level
        {
            let orphan = links == 0 && !held && object.ino != MASTER;
            if orphan && !self.options.faithful && !self.orphans.contains(&object.ino) {
                self.orphans.push(object.ino);
            }
            // The kernel takes the blocks of an inode without names for free, though they count as valid.
            if !(orphan && self.options.faithful) && self.find(clock, id)? == Some(at) {
                return Ok(Validity::Valid);
            }
        }
        Ok(if self.space.is_replaced(at) { Validity::UntilCommit } else { Validity::Invalid })
    }

    /// Writes an object to another place (`logfs_rewrite_block`).
    fn move_object(
        &mut self,
        clock: &mut Clock,
        at: u64,
        object: &ObjectHeader,
        level: u8,
    ) -> Result<(), Error> {
        self.counts.moves += 1;
        let id = Self::block_of(object, level);
        let in_memory =
            id.level > 0 || !self.inodes.get(&id.ino).is_some_and(inode::Inode::is_file);
        if in_memory || id.ino < crate::format::FIRST_INO {
            self.load(clock, id, at)?;
            self.change(clock, Target { id, data: None }, true)?;
        } else {
            let mut data = vec![0; BLOCK];
            self.read_object(clock, id, at, &mut data)?;
            self.change(clock, Target { id, data: Some(&data) }, true)?;
        }
        if id.level == 0 {
            if id.ino == MASTER {
                self.commit(clock)?;
            } else {
                self.write_inode_block(clock, id.ino)?;
            }
        }
        Ok(())
    }

    /// Looks whether the open segments were written to after the last commit, and empties those
    /// (`logfs_check_areas`). The kernel looks at one after the other, and so writes into segments that it has not
    /// looked at yet.
    pub(crate) fn check_areas(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let mut interrupted = Vec::new();
        for which in 0..AREAS {
            if !self.is_interrupted(clock, which)? {
                continue;
            }
            let area = self.areas[which];
            self.findings.interrupted_segments.push(area.segment);
            if self.is_mistaken(crate::Mistake::TrustsOpenSegments) {
                continue;
            }
            self.areas[which].open = false;
            if self.options.faithful {
                self.empty_interrupted(clock, area)?;
            } else {
                self.collector.reserved.insert(area.segment);
                interrupted.push(area);
            }
        }
        // The end of such a segment may be in the last commit alone: there is no other before all of it is moved.
        self.collector.rescuing = true;
        let emptied = interrupted.into_iter().try_for_each(|area| {
            self.collector.reserved.remove(&area.segment);
            self.empty_interrupted(clock, area)
        });
        self.collector.rescuing = false;
        emptied
    }

    fn is_interrupted(&mut self, clock: &mut Clock, which: usize) -> Result<bool, Error> {
        let area = self.areas[which];
        Ok(area.open && self.goes_on(clock, area.segment, area.written)?)
    }

    /// Whether something was programmed in a segment behind its first `written` bytes.
    pub(crate) fn goes_on(
        &mut self,
        clock: &mut Clock,
        segment: u32,
        written: u32,
    ) -> Result<bool, Error> {
        let unit = self.layout.write_size;
        if written + unit > self.layout.segment_size {
            return Ok(false);
        }
        Ok(!self.media.is_erased(clock, self.layout.at(segment, written), unit)?)
    }

    fn empty_interrupted(
        &mut self,
        clock: &mut Clock,
        area: crate::store::Area,
    ) -> Result<(), Error> {
        let segment = area.segment;
        let valid = self.segment_entry(clock, segment)?.valid;
        // What follows is no part of the last commit.
        let end = if self.options.faithful { self.layout.segment_size } else { area.used };
        let cleaned = self.empty_segment(clock, segment, end)?;
        self.settle_valid(clock, segment, valid, cleaned)?;
        self.media.release(self.layout.bytes_of(segment));
        Ok(())
    }

    /// Replaces the segments in which a program failed: what is valid in them is in memory or on the flash.
    pub(crate) fn rescue(&mut self, clock: &mut Clock) -> Result<(), Error> {
        while let Some(&segment) = self.failing.last() {
            let open = (0..AREAS)
                .find(|&which| self.areas[which].open && self.areas[which].segment == segment);
            let end = open.map_or(self.layout.segment_size, |which| self.areas[which].used);
            if let Some(which) = open {
                self.areas[which].open = false;
            }
            self.collector.rescuing = true;
            let emptied = self.empty_segment(clock, segment, end);
            self.collector.rescuing = false;
            emptied?;
            self.changed = true;
            self.media.release(self.layout.bytes_of(segment));
            self.failing.retain(|&other| other != segment);
            self.mark_bad(clock, segment)?;
        }
        Ok(())
    }

    /// Moves a segment that is erased seldom (`logfs_wl_pass`). The comparison is the kernel's: it lets a segment
    /// be moved that was erased less than `wear_delta` times more than the best free one, and so nearly always.
    fn level_wear(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if self.collector.next_wear_move >= self.collector.gec {
            return Ok(());
        }
        self.collector.next_wear_move = self.collector.gec + WEAR_PERIOD;
        let (Some(seldom), Some(free)) = (
            self.collector.first(&self.collector.wear),
            self.collector.first(&self.collector.free),
        ) else {
            return Ok(());
        };
        if seldom.erase_count < free.erase_count + self.options.wear_delta {
            self.collector.remove(seldom.segment);
            self.counts.wear_moves += 1;
            self.collect_segment(clock, seldom.segment)?;
        }
        Ok(())
    }

    /// Moves the journal when its segments were erased much more often than others (`logfs_journal_wl_pass`).
    fn level_journal_wear(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if self.collector.next_journal_move >= self.collector.gec {
            return Ok(());
        }
        self.collector.next_journal_move = self.collector.gec + WEAR_PERIOD;
        let needed = crate::store::to_usize(self.layout.journal_segments);
        if self.collector.reserve.by_key.len() < needed {
            return Ok(());
        }
        let Some(free) = self.collector.first(&self.collector.free) else { return Ok(()) };
        let journal = &self.journal;
        let used = journal.segments.iter().zip(&journal.erase_counts).filter(|&(&it, _)| it > 0);
        let least = used.map(|(_, &count)| count).min().unwrap_or_default();
        let mut most = free.erase_count;
        let layout_end = self.layout.segments;
        for segment in self.superblock_segments.into_iter().filter(|&segment| segment < layout_end)
        {
            most = most.max(self.segment_entry(clock, segment)?.erase_count());
        }
        if least > most + 2 * self.options.wear_delta { self.move_journal(clock) } else { Ok(()) }
    }

    /// Deletes inodes without names that nobody has open, which a collection met. The kernel keeps them for
    /// ever.
    pub(crate) fn delete_orphans(&mut self, clock: &mut Clock) -> Result<(), Error> {
        while let Some(ino) = self.orphans.pop() {
            let gone = self.get(clock, ino).map(|inode| inode.disk.links > 0 || inode.held);
            match gone {
                Ok(false) => {
                    self.counts.orphans += 1;
                    self.delete_inode(clock, ino)?;
                }
                Ok(true) | Err(Error::MissingInode(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
