//! What the fast engine remembers of lookups that hit, and when it must forget.
//!
//! Layer: rank 3. Replacement on this core does not depend on hits, so a lookup that would hit again may be left out without
//! changing any later one. [`Lookaside`] is told by the memory system whenever a hit may no longer be one; the reference
//! interpreter never reads it. It is derived data and is not saved. Main types: [`Lookaside`], and for each privilege a
//! [`Hits`]: direct-mapped tables of [`DataHit`] and [`LineHit`] with a fixed layout, because compiled code reads them too.
//!
//! Tables are tagged by virtual addresses and indexed by bits below the 25th, which FCSE leaves alone: the places of a
//! line under all its virtual addresses are one place, so an eviction told by modified address needs no translation back. Forgetting too
//! much is always right, only slower: what shares a place or a group of places with the line is forgotten with it.

use std::sync::Arc;

use super::Memory;
use crate::address::{LINE, Modified, Virtual};

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

/// A line of the instruction cache that hits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct LineHit {
    /// Names this stay of the line in the cache, and with it its contents, among all stays of all lines of this core; 0: no hit.
    pub stamp: u64,
    /// Its first virtual address.
    pub tag: u32,
    unused: u32,
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
const NO_LINE: LineHit = LineHit { stamp: 0, tag: NO_TAG, unused: 0 };

impl Hits {
    const NONE: Self = Self {
        reads: [NO_DATA; DATA_ENTRIES],
        writes: [NO_DATA; DATA_ENTRIES],
        lines: [NO_LINE; LINE_ENTRIES],
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

    /// The stamp of the line of `at`, if it is known to hit; else 0.
    #[must_use]
    pub const fn stamp(&self, at: u32) -> u64 {
        let hit = &self.lines[Self::line_place(at)];
        if hit.tag == at & !(LINE - 1) { hit.stamp } else { 0 }
    }

    fn forget_reads(&mut self, groups: u64) {
        for group in each(groups & self.used[0]) {
            self.reads[group * GROUP..][..GROUP].fill(NO_DATA);
        }
        self.used[0] &= !groups;
    }

    fn forget_writes(&mut self, groups: u64) {
        for group in each(groups & self.used[1]) {
            self.writes[group * GROUP..][..GROUP].fill(NO_DATA);
        }
        self.used[1] &= !groups;
    }

    fn forget_lines(&mut self, groups: u64) {
        for group in each(groups & self.used[2]) {
            self.lines[group * LINE_GROUP..][..LINE_GROUP].fill(NO_LINE);
        }
        self.used[2] &= !groups;
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

/// Names a look-aside, and with it the core whose it is, among all that live: stamps mean something to an engine only together with it.
#[derive(Debug, Clone, Default)]
pub struct Identity(Arc<()>);

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Identity {}

/// Remembered hits.
#[derive(Debug)]
pub struct Lookaside {
    /// In user mode, and in privileged modes.
    hits: Box<[Hits; 2]>,
    /// The stamp that was given last.
    stamp: u64,
    identity: Identity,
}

impl Default for Lookaside {
    fn default() -> Self {
        Self { hits: Box::new([Hits::NONE; 2]), stamp: 0, identity: Identity::default() }
    }
}

/// A copy of a core is another core: it begins with nothing remembered.
impl Clone for Lookaside {
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Lookaside {
    /// The hits at a privilege.
    #[must_use]
    #[inline]
    pub fn hits(&self, privileged: bool) -> &Hits {
        &self.hits[usize::from(privileged)]
    }

    /// Its name. An engine that finds another one than before forgets what it derived.
    #[must_use]
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }

    /// A number that no stay of a line of this core had before.
    pub(crate) const fn new_stamp(&mut self) -> u64 {
        self.stamp += 1;
        self.stamp
    }

    /// Remembers that the line of `at`, which is at `offset` of the data cache's array, hits when read.
    pub fn add_read(&mut self, at: Virtual, privileged: bool, offset: u32) {
        let hits = &mut self.hits[usize::from(privileged)];
        let place = Hits::read_place(at.0);
        let tag = at.0 & !(LINE - 1);
        hits.reads[place] = DataHit { tag, shift: offset.wrapping_sub(tag) };
        hits.used[0] |= 1 << (place / GROUP);
    }

    /// Remembers that the half-line of `at`, in the line at `offset` of the data cache's array, hits when written, is written back and dirty.
    pub fn add_write(&mut self, at: Virtual, privileged: bool, offset: u32) {
        let hits = &mut self.hits[usize::from(privileged)];
        let place = Hits::write_place(at.0);
        let (tag, line) = (at.0 & !(HALF - 1), at.0 & !(LINE - 1));
        hits.writes[place] = DataHit { tag, shift: offset.wrapping_sub(line) };
        hits.used[1] |= 1 << (place / GROUP);
    }

    /// Remembers that the line of `at` hits when fetched: a stamp that nothing else has.
    pub fn add_line(&mut self, at: Virtual, privileged: bool) -> u64 {
        let stamp = self.new_stamp();
        let hits = &mut self.hits[usize::from(privileged)];
        let place = Hits::line_place(at.0);
        hits.lines[place] = LineHit { stamp, tag: at.0 & !(LINE - 1), unused: 0 };
        hits.used[2] |= 1 << (place / LINE_GROUP);
        stamp
    }

    /// A line left the data cache, or its contents moved.
    pub fn data_line_gone(&mut self, line: Modified) {
        let half = Hits::write_place(line.0);
        for hits in &mut *self.hits {
            hits.reads[Hits::read_place(line.0)] = NO_DATA;
            hits.writes[half..half + 2].fill(NO_DATA);
        }
    }

    /// A line of the data cache is no longer dirty, in one half or both: the next store to it must be noted.
    pub fn data_line_cleaned(&mut self, line: Modified) {
        let half = Hits::write_place(line.0);
        for hits in &mut *self.hits {
            hits.writes[half..half + 2].fill(NO_DATA);
        }
    }

    /// A line left the instruction cache.
    pub fn instruction_line_gone(&mut self, line: Modified) {
        for hits in &mut *self.hits {
            hits.lines[Hits::line_place(line.0)] = NO_LINE;
        }
    }

    /// The TLB lost what it knew about the `size` bytes from `page` on.
    pub fn translation_gone(&mut self, page: Modified, size: u32) {
        let lines = size.div_ceil(LINE);
        let line = page.0 / LINE;
        for hits in &mut *self.hits {
            hits.forget_reads(groups(line, lines, GROUP));
            hits.forget_writes(groups(line * 2, lines * 2, GROUP));
            hits.forget_lines(groups(line, lines, LINE_GROUP));
        }
    }

    /// Anything may have changed: the control register, domains, the FCSE process number, an operation on all of a cache or TLB.
    pub fn forget_all(&mut self) {
        for hits in &mut *self.hits {
            hits.forget_reads(u64::MAX);
            hits.forget_writes(u64::MAX);
            hits.forget_lines(u64::MAX);
        }
    }
}

impl Memory {
    /// Remembers those lines (half-lines, if written) of the `bytes` from `at` on that an access at this privilege would hit now.
    pub(crate) fn remember(&mut self, at: Virtual, bytes: u32, (privileged, write): (bool, bool)) {
        let unit = if write { HALF } else { LINE };
        let mut line = Virtual(at.0 & !(unit - 1));
        loop {
            if let Some(offset) = self.data_line(line, privileged, write)
                && let Ok(offset) = u32::try_from(offset)
            {
                if write {
                    self.lookaside().add_write(line, privileged, offset);
                } else {
                    self.lookaside().add_read(line, privileged, offset);
                }
            }
            line.0 = line.0.wrapping_add(unit);
            if line.0.wrapping_sub(at.0) >= bytes {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: u32 = 0x0210_0A40;

    fn filled() -> Lookaside {
        let mut lookaside = Lookaside::default();
        for privileged in [false, true] {
            lookaside.add_read(Virtual(AT), privileged, 64);
            lookaside.add_write(Virtual(AT + 16), privileged, 64);
            lookaside.add_line(Virtual(AT), privileged);
        }
        lookaside
    }

    fn known(lookaside: &Lookaside) -> [bool; 3] {
        let [user, privileged] = [false, true].map(|privileged| {
            let hits = lookaside.hits(privileged);
            let (read, write) = (hits.read(AT + 8, 4), hits.write(AT + 20, 4));
            assert!(read.is_none_or(|at| at == 72) && write.is_none_or(|at| at == 84));
            [read.is_some(), write.is_some(), hits.stamp(AT + 31) != 0]
        });
        assert_eq!(user, privileged);
        user
    }

    #[test]
    fn a_hit_is_remembered_for_its_line_or_half_line_and_aligned_accesses_only() {
        let lookaside = filled();
        assert_eq!(known(&lookaside), [true; 3]);
        let hits = lookaside.hits(true);
        assert_eq!(hits.write(AT, 4), None, "the other half");
        assert_eq!((hits.read(AT + 1, 4), hits.read(AT + 1, 2)), (None, None));
        assert_eq!((hits.read(AT + 2, 2), hits.read(AT + 3, 1)), (Some(66), Some(67)));
        assert_eq!(hits.read(AT + 32, 4), None);
        assert_eq!(hits.read(AT + 0x10_0000, 4), None);
    }

    #[test]
    fn an_empty_table_has_no_hit_at_any_address() {
        let lookaside = Lookaside::default();
        for at in (0..128).chain(0xFFFF_FF80..=0xFFFF_FFFF) {
            for size in [1, 2, 4] {
                assert_eq!(lookaside.hits(false).read(at, size), None);
                assert_eq!(lookaside.hits(false).write(at, size), None);
            }
            assert_eq!(lookaside.hits(false).stamp(at), 0);
        }
    }

    #[test]
    fn each_notification_forgets_what_it_says_under_both_addresses_of_a_line() {
        for line in [Modified(AT), Modified(AT | 7 << 25)] {
            let check = |forget: fn(&mut Lookaside, Modified), left| {
                let mut lookaside = filled();
                forget(&mut lookaside, line);
                assert_eq!(known(&lookaside), left);
            };
            check(Lookaside::data_line_gone, [false, false, true]);
            check(Lookaside::data_line_cleaned, [true, false, true]);
            check(Lookaside::instruction_line_gone, [true, true, false]);
            check(|lookaside, _| lookaside.forget_all(), [false; 3]);
        }
    }

    #[test]
    fn a_lost_translation_forgets_every_line_of_its_page() {
        for (page, size) in [(AT & !1023, 1024), (AT & !4095, 4096), (AT & !0xF_FFFF, 1 << 20)] {
            for at in (page..page + size).step_by(32) {
                let mut lookaside = Lookaside::default();
                lookaside.add_read(Virtual(at), true, 0);
                lookaside.add_write(Virtual(at), false, 0);
                lookaside.add_write(Virtual(at + 16), true, 0);
                lookaside.add_line(Virtual(at), true);
                lookaside.translation_gone(Modified(page | 3 << 25), size);
                assert_eq!(lookaside.hits(true).read(at, 4), None);
                assert_eq!(lookaside.hits(false).write(at, 4), None);
                assert_eq!(lookaside.hits(true).write(at + 16, 4), None);
                assert_eq!(lookaside.hits(true).stamp(at), 0);
            }
        }
    }

    #[test]
    fn a_lost_small_page_leaves_its_neighbours() {
        let mut lookaside = filled();
        lookaside.translation_gone(Modified((AT & !1023) + 1024), 1024);
        lookaside.translation_gone(Modified((AT & !1023) - 1024), 1024);
        assert_eq!(known(&lookaside), [true; 3]);
    }
}
