//! The tables of hits of one context.
//!
//! Layer: rank 3. [`Hits`] is direct-mapped and has a fixed layout, because compiled code reads it too; [`Tables`] are those for user
//! mode and for privileged modes. Indices are bits of an address below the 25th, which FCSE leaves alone: the places of a line under all its
//! virtual addresses are one place, so an eviction told by modified address needs no translation back.

use super::Context;
use crate::address::{LINE, Modified, SLOT, Virtual};
use crate::memory::cache::{self, Cache};
use crate::memory::tlb::{self, Entry as Translation, Tlb};

/// Entries of each table of data lines and half-lines.
pub const DATA_ENTRIES: usize = 2048;

/// Entries of each table of instruction lines.
pub const LINE_ENTRIES: usize = 1024;

/// Bytes of half a line: what has a dirty bit.
pub const HALF: u32 = LINE / 2;

/// The tag of no entry: an address that is aligned within its line or half-line differs from it.
const NO_TAG: u32 = 0xC;

/// Entries that are forgotten together.
const GROUP: usize = DATA_ENTRIES / 64;

/// Lines of the data cache that are compared together.
const COMPARED: usize = 32;

/// Groups of instruction lines are so many entries.
const LINE_GROUP: usize = LINE_ENTRIES / 64;

/// A line (of reads) or half-line (of writes) that hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct DataHit {
    /// Its first virtual address.
    pub tag: u32,
    /// What is added to an address in it, modulo 2^32, for the place in the data cache's array.
    pub shift: u32,
}

/// A line of the instruction cache that hits: its first virtual address, and in the upper half its stamp.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct LineHit(u64);

impl LineHit {
    /// No hit.
    pub const NONE: Self = Self(0);

    /// What no line ever is.
    pub(crate) const NEVER: Self = Self(1);

    /// The line of `at`; `stamp` tells its contents apart from all others that it has had on this core, and is not 0.
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

    /// Whether it is one and `at` lies in it.
    #[inline(always)]
    pub(crate) const fn is_of(self, at: u32) -> bool {
        self.at() == at & !(LINE - 1) && self.stamp() != 0
    }

    /// What tells its contents apart; 0: no hit.
    #[must_use]
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation, reason = "the upper half, shifted down")]
    pub const fn stamp(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Both as one word, as the tables hold them.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }
}

/// The hits at one privilege.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Hits {
    /// Lines that hit when read, at [`Hits::read_place`].
    pub reads: [DataHit; DATA_ENTRIES],
    /// Half-lines that hit when written, are written back and dirty, at [`Hits::write_place`].
    pub writes: [DataHit; DATA_ENTRIES],
    /// Lines that hit when fetched, at [`Hits::line_place`].
    pub lines: [LineHit; LINE_ENTRIES],
    /// The groups in use of `reads`, of `writes` and of `lines`.
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

    /// Where the line of `at` is in `reads`.
    #[must_use]
    #[inline]
    pub const fn read_place(at: u32) -> usize {
        (at / LINE) as usize % DATA_ENTRIES
    }

    /// Where the half-line of `at` is in `writes`.
    #[must_use]
    #[inline]
    pub const fn write_place(at: u32) -> usize {
        (at / HALF) as usize % DATA_ENTRIES
    }

    /// Where the line of `at` is in `lines`.
    #[must_use]
    #[inline]
    pub const fn line_place(at: u32) -> usize {
        (at / LINE) as usize % LINE_ENTRIES
    }

    /// Where in the data cache's array a read at `at` of `size` bytes (1, 2 or 4) hits; nothing also if it is not aligned.
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

    /// Where in the data cache's array a write at `at` of `size` bytes (1, 2 or 4) hits; nothing also if it is not aligned.
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

    /// The line of `at`, if it is known to hit.
    #[must_use]
    pub const fn line(&self, at: u32) -> LineHit {
        let hit = self.lines[Self::line_place(at)];
        if hit.is_of(at) { hit } else { LineHit::NONE }
    }

    /// Remembers that the line of `at`, which is at `offset` of the data cache's array, hits when read.
    pub(super) fn add_read(&mut self, at: Virtual, offset: u32) {
        let place = Self::read_place(at.0);
        let tag = at.0 & !(LINE - 1);
        self.reads[place] = DataHit { tag, shift: offset.wrapping_sub(tag) };
        self.used[0] |= 1 << (place / GROUP);
    }

    /// Remembers that the half-line of `at`, in the line at `offset`, hits when written.
    pub(super) fn add_write(&mut self, at: Virtual, offset: u32) {
        let place = Self::write_place(at.0);
        let (tag, line) = (at.0 & !(HALF - 1), at.0 & !(LINE - 1));
        self.writes[place] = DataHit { tag, shift: offset.wrapping_sub(line) };
        self.used[1] |= 1 << (place / GROUP);
    }

    /// Remembers that a line hits when fetched.
    pub(super) fn add_line(&mut self, line: LineHit) {
        let place = Self::line_place(line.at());
        self.lines[place] = line;
        self.used[2] |= 1 << (place / LINE_GROUP);
    }

    /// Forgets everything.
    fn clear(&mut self) {
        let [reads, writes, lines] = std::mem::take(&mut self.used);
        each(reads).for_each(|group| self.reads[group * GROUP..][..GROUP].fill(NO_DATA));
        each(writes).for_each(|group| self.writes[group * GROUP..][..GROUP].fill(NO_DATA));
        each(lines)
            .for_each(|group| self.lines[group * LINE_GROUP..][..LINE_GROUP].fill(LineHit::NONE));
    }

    /// Forgets each entry of the page of `1 << shift` bytes at `page`, which has virtual addresses at `pages`.
    fn forget_page(&mut self, page: Modified, shift: u8, pages: [u32; 2]) {
        let lines = (1_u32 << shift).div_ceil(LINE);
        let line = page.0 / LINE;
        // Without a branch, so that the host compares several at once.
        let gone = |at: u32| pages.map(|page| at >> shift == page >> shift) != [false; 2];
        for group in each(groups(line, lines, GROUP) & self.used[0]) {
            let entries = &mut self.reads[group * GROUP..][..GROUP];
            entries.iter_mut().for_each(|hit| *hit = if gone(hit.tag) { NO_DATA } else { *hit });
        }
        for group in each(groups(line * 2, lines * 2, GROUP) & self.used[1]) {
            let entries = &mut self.writes[group * GROUP..][..GROUP];
            entries.iter_mut().for_each(|hit| *hit = if gone(hit.tag) { NO_DATA } else { *hit });
        }
        for group in each(groups(line, lines, LINE_GROUP) & self.used[2]) {
            let entries = &mut self.lines[group * LINE_GROUP..][..LINE_GROUP];
            let none = LineHit::NONE;
            entries.iter_mut().for_each(|hit| *hit = if gone(hit.at()) { none } else { *hit });
        }
    }
}

/// The numbers of the bits that are set.
fn each(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(lowest)
    })
}

/// The groups of places that the `units` from unit `first` on fall into, of tables of `group` entries a group.
const fn groups(first: u32, units: u32, group: usize) -> u64 {
    let entries = group * 64;
    if units as usize >= entries {
        return u64::MAX;
    }
    let from = first as usize % entries / group;
    let to = (first as usize + units as usize - 1) % entries / group;
    let (upwards, downwards) = (u64::MAX << from, u64::MAX >> (63 - to));
    if first as usize % entries + units as usize <= entries {
        upwards & downwards
    } else {
        upwards | downwards
    }
}

/// The hits of a context at both privileges.
#[derive(Debug)]
pub(super) struct Tables {
    /// In user mode, and in privileged modes.
    pub(super) hits: Box<[Hits; 2]>,
    /// For each line of the data cache, what the entries presume of it: its tag and dirty bits as
    /// [`Cache::presence`] has them; 0 if there is no entry.
    presumed: Box<[u32]>,
    /// For each place of the TLB, the translation that entries presume there.
    translations: Box<[Option<Translation>; tlb::PLACES]>,
    pub(super) context: Context,
}

impl Tables {
    /// Without entries; for a data cache of so many lines.
    pub(super) fn new(context: Context, lines: usize) -> Self {
        Self {
            hits: Box::new([Hits::NONE; 2]),
            presumed: vec![0; lines].into(),
            translations: Box::new([None; tlb::PLACES]),
            context,
        }
    }

    /// The lines of the data cache.
    pub(super) fn data_lines(&self) -> usize {
        self.presumed.len()
    }

    /// Removes all entries.
    pub(super) fn clear(&mut self) {
        self.hits.iter_mut().for_each(Hits::clear);
        self.presumed.fill(0);
        self.translations.fill(None);
    }

    /// Notes that entries presume this translation at this place of the TLB.
    #[inline]
    pub(super) fn presume_translation(&mut self, place: usize, translation: Translation) {
        self.translations[place] = Some(translation);
    }

    /// The TLB replaced what was at a place.
    pub(super) fn translation_gone(&mut self, place: usize) {
        let Some(Translation { base, shift, .. }) = self.translations[place].take() else { return };
        let (page, in_slot) = (Modified(base), Virtual(base % SLOT));
        let pages =
            if in_slot.modified(self.context.pid) == page { [base, in_slot.0] } else { [base; 2] };
        self.hits.iter_mut().for_each(|hits| hits.forget_page(page, shift, pages));
    }

    /// Adds the entry of a line that hits when read.
    pub(super) fn add_read(&mut self, at: Virtual, privileged: bool, offset: u32) {
        self.hits[usize::from(privileged)].add_read(at, offset);
        self.presume(at, offset, 0);
    }

    /// Adds the entry of a half-line that hits when written.
    pub(super) fn add_write(&mut self, at: Virtual, privileged: bool, offset: u32) {
        self.hits[usize::from(privileged)].add_write(at, offset);
        self.presume(at, offset, cache::half(at.0));
    }

    /// Notes that entries presume the line of `at`, with these halves dirty.
    fn presume(&mut self, at: Virtual, offset: u32, halves: u8) {
        let line = at.modified(self.context.pid).line();
        let presence = cache::presence(line, halves);
        if let Some(presumed) = self.presumed.get_mut((offset / LINE) as usize) {
            let same = cache::line_of(*presumed) == Some(line);
            *presumed = if same { *presumed | presence } else { presence };
        }
    }

    /// Removes the entries whose translation or line of the data cache is no longer as they presume.
    pub(super) fn reconcile(&mut self, tlb: &Tlb, data: &Cache) {
        for place in 0..tlb::PLACES {
            if self.translations[place].is_some_and(|presumed| presumed != *tlb.entry(place)) {
                self.translation_gone(place);
            }
        }
        let pid = self.context.pid;
        for (group, presumed) in self.presumed.chunks_mut(COMPARED).enumerate() {
            let lines = group * COMPARED..group * COMPARED + presumed.len();
            let found = data.presences(lines.clone()).zip(&*presumed);
            // Most groups are as they were: told without a branch for each line.
            if !found.fold(false, |any, (found, presumed)| any | cache::differs(*presumed, found)) {
                continue;
            }
            for (presumed, found) in presumed.iter_mut().zip(data.presences(lines)) {
                let Some(line) = cache::line_of(*presumed) else { continue };
                if cache::line_of(found) != Some(line) {
                    remove_data_line(&mut self.hits, line, pid);
                    *presumed = 0;
                } else if *presumed & !found != 0 {
                    self.hits.iter_mut().for_each(|hits| forget_halves(hits, line, pid));
                    *presumed = cache::presence(line, 0);
                }
            }
        }
    }

    /// Line `index` of the data cache, that of `line`, was evicted or invalidated.
    #[inline]
    pub(super) fn data_line_gone(&mut self, index: usize, line: Modified) {
        // Without a presumption there is no entry.
        if std::mem::take(&mut self.presumed[index]) != 0 {
            remove_data_line(&mut self.hits, line, self.context.pid);
        }
    }

    /// Line `index` of the data cache, that of `line`, is no longer dirty.
    pub(super) fn data_line_cleaned(&mut self, index: usize, line: Modified) {
        let presumed = &mut self.presumed[index];
        if *presumed != 0 {
            *presumed = cache::presence(line, 0);
            self.hits.iter_mut().for_each(|hits| forget_halves(hits, line, self.context.pid));
        }
    }

    /// A line of the instruction cache was evicted or invalidated.
    #[inline]
    pub(super) fn instruction_line_gone(&mut self, line: Modified) {
        for hits in &mut *self.hits {
            let hit = &mut hits.lines[Hits::line_place(line.0)];
            if Virtual(hit.at()).modified(self.context.pid) == line {
                *hit = LineHit::NONE;
            }
        }
    }
}

/// Removes the entries of a data line at both privileges.
#[inline]
fn remove_data_line(hits: &mut [Hits; 2], line: Modified, pid: u8) {
    for hits in hits {
        forget(&mut hits.reads[Hits::read_place(line.0)], line, pid);
        forget_halves(hits, line, pid);
    }
}

/// Forgets a hit if it is one of `line`.
#[inline]
fn forget(hit: &mut DataHit, line: Modified, pid: u8) {
    if Virtual(hit.tag).modified(pid).line() == line {
        *hit = NO_DATA;
    }
}

/// Forgets that the halves of `line` are dirty.
#[inline]
fn forget_halves(hits: &mut Hits, line: Modified, pid: u8) {
    let half = Hits::write_place(line.0);
    hits.writes[half..half + 2].iter_mut().for_each(|hit| forget(hit, line, pid));
}
