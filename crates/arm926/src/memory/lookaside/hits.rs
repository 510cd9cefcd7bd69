//! The look-aside tables of one context.
//!
//! Layer: rank 3. [`Hits`] is direct-mapped, with a fixed layout for compiled code; [`Tables`] are
//! those for user mode and privileged modes. Indices are address bits below bit 25, which FCSE leaves
//! unchanged, so all virtual addresses of a line have one index, and an eviction needs only the MVA.

use super::Context;
use crate::address::{LINE, Modified, SLOT, Virtual};
use crate::memory::cache::{self, Cache};
use crate::memory::tlb::{self, Entry as Translation, Tlb};

/// The number of entries of each data table.
pub const DATA_ENTRIES: usize = 2048;

/// The number of entries of the instruction line table.
pub const LINE_ENTRIES: usize = 1024;

/// The bytes of a half-line, the unit of dirty bits.
pub const HALF: u32 = LINE / 2;

/// The tag of an empty entry, which no aligned address in a line or half-line has.
const NO_TAG: u32 = 0xC;

/// The number of data entries invalidated together.
const GROUP: usize = DATA_ENTRIES / 64;

/// The number of data cache lines compared together.
const COMPARE_GROUP: usize = 32;

/// The number of line entries invalidated together.
const LINE_GROUP: usize = LINE_ENTRIES / 64;

/// A line (for reads) or half-line (for writes) that hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct DataHit {
    /// Its first virtual address.
    pub tag: u32,
    /// The offset in the data cache minus the virtual address of the line, modulo 2^32.
    pub shift: u32,
}

/// An instruction line that hits: its first virtual address, and its stamp in the upper half.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct LineHit(u64);

impl LineHit {
    /// No hit.
    pub const NONE: Self = Self(0);

    /// A value that no line has.
    pub(crate) const NEVER: Self = Self(1);

    /// The line of `at` with a nonzero `stamp`, which identifies its contents on this core.
    #[must_use]
    pub(crate) const fn new(at: u32, stamp: u32) -> Self {
        Self((stamp as u64) << 32 | (at & !(LINE - 1)) as u64)
    }

    /// Its first virtual address.
    #[must_use]
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "the lower half is meant")]
    pub const fn at(self) -> u32 {
        self.0 as u32
    }

    /// Whether it is the line of `at`, and not [`Self::NONE`].
    #[inline(always)]
    pub(crate) const fn is_of(self, at: u32) -> bool {
        self.at() == at & !(LINE - 1) && self.stamp() != 0
    }

    /// The stamp, which identifies the contents; 0 for no hit.
    #[must_use]
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "the upper half, shifted down")]
    pub const fn stamp(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The address and stamp as one word, as the tables hold them.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }
}

/// A table of [`Hits`].
#[derive(Debug, Clone, Copy)]
enum Table {
    Reads,
    Writes,
    Lines,
}

/// The entries at one privilege.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Hits {
    /// Lines that hit reads, by [`Hits::read_place`].
    pub reads: [DataHit; DATA_ENTRIES],
    /// Dirty half-lines that hit writes in write-back regions, by [`Hits::write_place`].
    pub writes: [DataHit; DATA_ENTRIES],
    /// Lines that hit fetches, by [`Hits::line_place`].
    pub lines: [LineHit; LINE_ENTRIES],
    /// The groups with entries in `reads`, `writes` and `lines`.
    used: [u64; 3],
}

const NO_DATA: DataHit = DataHit { tag: NO_TAG, shift: 0 };

impl Hits {
    const NONE: Self = Self {
        reads: [NO_DATA; DATA_ENTRIES],
        writes: [NO_DATA; DATA_ENTRIES],
        lines: [LineHit::NONE; LINE_ENTRIES],
        used: [0; 3],
    };

    /// The index of the line of `at` in `reads`.
    #[must_use]
    #[inline]
    pub const fn read_place(at: u32) -> usize {
        (at / LINE) as usize % DATA_ENTRIES
    }

    /// The index of the half-line of `at` in `writes`.
    #[must_use]
    #[inline]
    pub const fn write_place(at: u32) -> usize {
        (at / HALF) as usize % DATA_ENTRIES
    }

    /// The index of the line of `at` in `lines`.
    #[must_use]
    #[inline]
    pub const fn line_place(at: u32) -> usize {
        (at / LINE) as usize % LINE_ENTRIES
    }

    /// The offset in the data cache of a read of `size` bytes (1, 2 or 4), if it is aligned and hits.
    #[must_use]
    #[inline(always)]
    pub const fn read(&self, at: u32, size: u32) -> Option<usize> {
        let hit = self.reads[Self::read_place(at)];
        if hit.tag == at & (!(LINE - 1) | (size - 1)) {
            Some(at.wrapping_add(hit.shift) as usize)
        } else {
            None
        }
    }

    /// The offset in the data cache of a write of `size` bytes (1, 2 or 4), if it is aligned and hits.
    #[must_use]
    #[inline(always)]
    pub const fn write(&self, at: u32, size: u32) -> Option<usize> {
        let hit = self.writes[Self::write_place(at)];
        if hit.tag == at & (!(HALF - 1) | (size - 1)) {
            Some(at.wrapping_add(hit.shift) as usize)
        } else {
            None
        }
    }

    /// The line hit of `at`, or [`LineHit::NONE`].
    #[must_use]
    pub const fn line(&self, at: u32) -> LineHit {
        let hit = self.lines[Self::line_place(at)];
        if hit.is_of(at) { hit } else { LineHit::NONE }
    }

    /// Adds the line of `at`, which is at `offset` in the data cache, to `reads`. Returns the bit of its
    /// group.
    fn add_read(&mut self, at: Virtual, offset: u32) -> u64 {
        let place = Self::read_place(at.0);
        let tag = at.0 & !(LINE - 1);
        self.reads[place] = DataHit { tag, shift: offset.wrapping_sub(tag) };
        let group = 1 << (place / GROUP);
        self.used[0] |= group;
        group
    }

    /// Adds the half-line of `at`, in the line at `offset` in the data cache, to `writes`. Returns the bit
    /// of its group.
    fn add_write(&mut self, at: Virtual, offset: u32) -> u64 {
        let place = Self::write_place(at.0);
        let (tag, line) = (at.0 & !(HALF - 1), at.0 & !(LINE - 1));
        self.writes[place] = DataHit { tag, shift: offset.wrapping_sub(line) };
        let group = 1 << (place / GROUP);
        self.used[1] |= group;
        group
    }

    /// Adds a line to `lines`. Returns the bit of its group.
    fn add_line(&mut self, line: LineHit) -> u64 {
        let place = Self::line_place(line.at());
        self.lines[place] = line;
        let group = 1 << (place / LINE_GROUP);
        self.used[2] |= group;
        group
    }

    /// Invalidates all data entries.
    fn clear_data(&mut self) {
        let [reads, writes, _] = self.used;
        set_bits(reads).for_each(|group| self.reads[group * GROUP..][..GROUP].fill(NO_DATA));
        set_bits(writes).for_each(|group| self.writes[group * GROUP..][..GROUP].fill(NO_DATA));
        (self.used[0], self.used[1]) = (0, 0);
    }

    /// Invalidates all instruction lines.
    fn clear_lines(&mut self) {
        set_bits(std::mem::take(&mut self.used[2]))
            .for_each(|group| self.lines[group * LINE_GROUP..][..LINE_GROUP].fill(LineHit::NONE));
    }

    /// Invalidates the entries of a table, in these groups, of the pages of `1 << shift` bytes at `pages`.
    fn invalidate_pages(&mut self, table: Table, groups: u64, shift: u8, pages: [u32; 2]) {
        let groups = groups & self.used[table as usize];
        // Branch-free, so that the host vectorizes it.
        let within = |at: u32| pages.map(|page| at >> shift == page >> shift) != [false; 2];
        let data = match table {
            Table::Reads => &mut self.reads,
            Table::Writes => &mut self.writes,
            Table::Lines => {
                for group in set_bits(groups) {
                    let (lines, none) = (&mut self.lines[group * LINE_GROUP..], LineHit::NONE);
                    let lines = lines[..LINE_GROUP].iter_mut();
                    lines.for_each(|line| *line = if within(line.at()) { none } else { *line });
                }
                return;
            }
        };
        for group in set_bits(groups) {
            let entries = &mut data[group * GROUP..][..GROUP];
            entries.iter_mut().for_each(|hit| *hit = if within(hit.tag) { NO_DATA } else { *hit });
        }
    }
}

/// The indices of the set bits.
fn set_bits(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(lowest)
    })
}

/// The offset of a line in the data cache.
#[allow(clippy::cast_possible_truncation, reason = "a cache has at most 128 KiB")]
const fn offset(line: usize) -> u32 {
    line as u32 * LINE
}

/// The entries of a context at both privileges.
#[derive(Debug)]
pub(super) struct Tables {
    /// Those of user mode, and those of privileged modes.
    pub(super) hits: [Box<Hits>; 2],
    /// For each line of the data cache the [`cache::presence`] that entries presume; 0 without entries.
    presumed: Box<[u32]>,
    /// For each place of the TLB the translation that entries presume.
    translations: Box<[Option<Translation>; tlb::PLACES]>,
    /// For each place of the TLB the groups with such entries, by privilege and [`Table`].
    presuming: Box<[[[u64; 3]; 2]; tlb::PLACES]>,
    pub(super) context: Context,
}

impl Tables {
    /// Creates empty tables, for a data cache with this number of lines.
    pub(super) fn new(context: Context, lines: usize) -> Self {
        Self {
            hits: [(); 2].map(|()| Box::new(Hits::NONE)),
            presumed: vec![0; lines].into(),
            translations: Box::new([None; tlb::PLACES]),
            presuming: Box::new([[[0; 3]; 2]; tlb::PLACES]),
            context,
        }
    }

    /// The number of lines of the data cache.
    pub(super) fn data_lines(&self) -> usize {
        self.presumed.len()
    }

    /// Invalidates all entries.
    pub(super) fn clear(&mut self) {
        self.clear_data();
        self.clear_lines();
        self.translations.fill(None);
        self.presuming.fill([[0; 3]; 2]);
    }

    /// Invalidates all data entries.
    pub(super) fn clear_data(&mut self) {
        self.hits.iter_mut().for_each(|hits| hits.clear_data());
        self.presumed.fill(0);
    }

    /// Invalidates all instruction lines.
    pub(super) fn clear_lines(&mut self) {
        self.hits.iter_mut().for_each(|hits| hits.clear_lines());
    }

    /// Records that entries in a group presume this translation at its place of the TLB.
    #[inline]
    fn presume_translation(
        &mut self,
        (place, translation): (usize, &Translation),
        (table, privileged): (Table, bool),
        group: u64,
    ) {
        let presumed = &mut self.translations[place];
        // While it has entries, it is the one that they presume.
        if presumed.is_none() {
            *presumed = Some(*translation);
        }
        self.presuming[place][usize::from(privileged)][table as usize] |= group;
    }

    /// Invalidates the entries of the translation at a place of the TLB.
    pub(super) fn drop_translation(&mut self, place: usize) {
        let Some(Translation { base, shift, .. }) = self.translations[place].take() else { return };
        let in_slot = Virtual(base % SLOT);
        let aliased = in_slot.modified(self.context.pid) == Modified(base);
        let pages = if aliased { [base, in_slot.0] } else { [base; 2] };
        let presuming = std::mem::take(&mut self.presuming[place]);
        for (hits, groups) in self.hits.iter_mut().zip(presuming) {
            for (table, groups) in
                [Table::Reads, Table::Writes, Table::Lines].into_iter().zip(groups)
            {
                hits.invalidate_pages(table, groups, shift, pages);
            }
        }
    }

    /// Adds the entry of a line that hits when fetched, with its translation in the TLB, if there is one.
    pub(super) fn add_line(
        &mut self,
        line: LineHit,
        privileged: bool,
        translation: Option<(usize, &Translation)>,
    ) {
        let group = self.hits[usize::from(privileged)].add_line(line);
        if let Some(translation) = translation {
            self.presume_translation(translation, (Table::Lines, privileged), group);
        }
    }

    /// Adds the entry of a line that hits when read or, for a `write`, of a half-line that hits when
    /// written: the line's index in the data cache, its MVA, and its translation in the TLB.
    pub(super) fn add_data(
        &mut self,
        at: Virtual,
        (privileged, write): (bool, bool),
        (line, address): (usize, Modified),
        translation: (usize, &Translation),
    ) {
        let hits = &mut self.hits[usize::from(privileged)];
        let (table, group, halves) = if write {
            (Table::Writes, hits.add_write(at, offset(line)), cache::half(at.0))
        } else {
            (Table::Reads, hits.add_read(at, offset(line)), 0)
        };
        self.presume_translation(translation, (table, privileged), group);
        self.presume(line, address, halves);
    }

    /// Records that entries presume the line at `address` in the data cache, with these halves dirty.
    fn presume(&mut self, line: usize, address: Modified, halves: u8) {
        let presence = cache::presence(address, halves);
        if let Some(presumed) = self.presumed.get_mut(line) {
            let same = cache::line_of(*presumed) == Some(address);
            *presumed = if same { *presumed | presence } else { presence };
        }
    }

    /// Invalidates the entries whose presumed translation or data cache line has changed.
    pub(super) fn reconcile(&mut self, tlb: &Tlb, data: &Cache) {
        for place in 0..tlb::PLACES {
            if self.translations[place].is_some_and(|presumed| presumed != *tlb.entry(place)) {
                self.drop_translation(place);
            }
        }
        let pid = self.context.pid;
        for (group, presumed) in self.presumed.chunks_mut(COMPARE_GROUP).enumerate() {
            let lines = group * COMPARE_GROUP..group * COMPARE_GROUP + presumed.len();
            let found = data.presences(lines.clone()).zip(&*presumed);
            // Most groups are unchanged, which is found without a branch per line.
            if !found.fold(false, |any, (found, presumed)| any | cache::differs(*presumed, found)) {
                continue;
            }
            for (presumed, found) in presumed.iter_mut().zip(data.presences(lines)) {
                let Some(line) = cache::line_of(*presumed) else { continue };
                if cache::line_of(found) != Some(line) {
                    invalidate_data(&mut self.hits, line, pid);
                    *presumed = 0;
                } else if *presumed & !found != 0 {
                    self.hits.iter_mut().for_each(|hits| invalidate_writes(hits, line, pid));
                    *presumed = cache::presence(line, 0);
                }
            }
        }
    }

    /// Invalidates the entries of line `index` of the data cache, at `line`.
    #[inline]
    pub(super) fn drop_data_line(&mut self, index: usize, line: Modified) {
        // Without a presumption there is no entry.
        if std::mem::take(&mut self.presumed[index]) != 0 {
            invalidate_data(&mut self.hits, line, self.context.pid);
        }
    }

    /// Invalidates the write entries of line `index` of the data cache, at `line`.
    pub(super) fn clean_data_line(&mut self, index: usize, line: Modified) {
        let presumed = &mut self.presumed[index];
        if *presumed != 0 {
            *presumed = cache::presence(line, 0);
            self.hits.iter_mut().for_each(|hits| invalidate_writes(hits, line, self.context.pid));
        }
    }

    /// Invalidates the entries of an instruction line.
    #[inline]
    pub(super) fn drop_instruction_line(&mut self, line: Modified) {
        for hits in &mut self.hits {
            let hit = &mut hits.lines[Hits::line_place(line.0)];
            if Virtual(hit.at()).modified(self.context.pid) == line {
                *hit = LineHit::NONE;
            }
        }
    }
}

/// Invalidates the entries of a data line at both privileges.
#[inline]
fn invalidate_data(hits: &mut [Box<Hits>; 2], line: Modified, pid: u8) {
    for hits in hits {
        invalidate(&mut hits.reads[Hits::read_place(line.0)], line, pid);
        invalidate_writes(hits, line, pid);
    }
}

/// Invalidates an entry if it is one of `line`.
#[inline]
fn invalidate(hit: &mut DataHit, line: Modified, pid: u8) {
    if Virtual(hit.tag).modified(pid).line() == line {
        *hit = NO_DATA;
    }
}

/// Invalidates the write entries of `line`.
#[inline]
fn invalidate_writes(hits: &mut Hits, line: Modified, pid: u8) {
    let half = Hits::write_place(line.0);
    hits.writes[half..half + 2].iter_mut().for_each(|hit| invalidate(hit, line, pid));
}
