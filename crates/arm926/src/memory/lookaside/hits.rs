//! The look-aside entries of one context at one privilege.
//!
//! Layer: rank 3. [`Hits`] is direct-mapped, with a fixed layout for compiled code. Indices are address
//! bits below bit 25, which FCSE leaves unchanged, so all virtual addresses of a line have one index,
//! and an eviction needs only the MVA.

use crate::address::{LINE, Modified, Virtual};

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
    /// The address in this process minus the virtual address of the line, modulo 2^64: for compiled
    /// code.
    pub host: u64,
}

/// A line of the data cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataLine {
    pub(super) index: usize,
    /// Its MVA.
    pub(super) at: Modified,
    /// The address of its first byte in this process.
    pub(super) host: u64,
}

impl DataLine {
    /// The entry with this `tag`, for the line at the virtual address `at`.
    #[allow(clippy::cast_possible_truncation, reason = "a cache has at most 128 KiB")]
    const fn hit(self, tag: u32, at: u32) -> DataHit {
        let shift = (self.index as u32 * LINE).wrapping_sub(at);
        DataHit { tag, shift, host: self.host.wrapping_sub(at as u64) }
    }
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

/// A set of indices below `64 * N`.
#[derive(Debug)]
struct Indices<const N: usize> {
    words: [u64; N],
    /// The words that are not 0.
    used: u64,
}

impl<const N: usize> Indices<N> {
    const NONE: Self = Self { words: [0; N], used: 0 };

    #[inline]
    const fn add(&mut self, index: usize) {
        self.words[index / 64 % N] |= 1 << (index % 64);
        self.used |= 1 << (index / 64 % N);
    }

    /// Keeps the indices for which `keeps` holds.
    #[inline]
    fn retain(&mut self, mut keeps: impl FnMut(usize) -> bool) {
        for word in set_bits(self.used) {
            let bits = self.words[word];
            let kept = set_bits(bits).filter(|bit| keeps(64 * word + bit));
            let kept = kept.fold(0, |kept, bit| kept | 1 << bit);
            self.words[word] = kept;
            if kept == 0 {
                self.used &= !(1 << word);
            }
        }
    }

    fn clear(&mut self) {
        set_bits(std::mem::take(&mut self.used)).for_each(|word| self.words[word] = 0);
    }
}

/// The indices at which the tables may have entries of one page.
#[derive(Debug)]
pub(super) struct Marks {
    reads: Indices<{ DATA_ENTRIES / 64 }>,
    writes: Indices<{ DATA_ENTRIES / 64 }>,
    lines: Indices<{ LINE_ENTRIES / 64 }>,
}

impl Marks {
    pub(super) const NONE: Self =
        Self { reads: Indices::NONE, writes: Indices::NONE, lines: Indices::NONE };

    /// Marks the entry of a read or, for a `write`, of a write at `at`.
    #[inline]
    pub(super) const fn add_data(&mut self, at: Virtual, write: bool) {
        if write {
            self.writes.add(Hits::write_place(at.0));
        } else {
            self.reads.add(Hits::read_place(at.0));
        }
    }

    /// Marks the entry of an instruction line.
    #[inline]
    pub(super) const fn add_line(&mut self, line: LineHit) {
        self.lines.add(Hits::line_place(line.at()));
    }

    /// Whether an entry of an instruction line is marked.
    pub(super) const fn has_lines(&self) -> bool {
        self.lines.used != 0
    }

    /// Removes all marks.
    pub(super) fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        self.lines.clear();
    }
}

/// The virtual addresses of a translation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    /// The first ones: two for the slot of the current process, otherwise one twice.
    pub(super) at: [u32; 2],
    /// The bits of an address that are compared with them.
    pub(super) mask: u32,
}

impl Page {
    #[inline]
    const fn contains(self, at: u32) -> bool {
        let [one, other] = self.at;
        at & self.mask == one || at & self.mask == other
    }
}

/// An entry of a table.
trait Entry: Copy + PartialEq {
    /// No entry.
    const NONE: Self;

    /// The address of its line or half-line.
    fn at(self) -> u32;

    /// Whether it is one of `page`.
    #[inline]
    fn is_in(self, page: Page) -> bool {
        page.contains(self.at()) && self != Self::NONE
    }
}

impl Entry for DataHit {
    const NONE: Self = NO_DATA;

    #[inline]
    fn at(self) -> u32 {
        self.tag
    }
}

impl Entry for LineHit {
    const NONE: Self = Self::NONE;

    #[inline]
    fn at(self) -> u32 {
        self.at()
    }
}

/// Moves the entries of `page` at these indices to another table, and keeps the indices of these.
#[inline]
fn move_entries<T: Entry, const LENGTH: usize, const N: usize>(
    [from, to]: [&mut [T; LENGTH]; 2],
    marks: &mut Indices<N>,
    page: Page,
) {
    marks.retain(|index| {
        let (from, to) = (&mut from[index % LENGTH], &mut to[index % LENGTH]);
        let is_moved = from.is_in(page);
        if is_moved {
            *to = std::mem::replace(from, T::NONE);
        }
        is_moved
    });
}

/// Invalidates the entries of `page` at these indices, and removes the indices.
fn drop_entries<T: Entry, const LENGTH: usize, const N: usize>(
    table: &mut [T; LENGTH],
    marks: &mut Indices<N>,
    page: Page,
) {
    marks.retain(|index| {
        let entry = &mut table[index % LENGTH];
        if entry.is_in(page) {
            *entry = T::NONE;
        }
        false
    });
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

const NO_DATA: DataHit = DataHit { tag: NO_TAG, shift: 0, host: 0 };

impl Hits {
    pub(super) const NONE: Self = Self {
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

    /// Adds the line of `at` to `reads`.
    pub(super) const fn add_read(&mut self, at: Virtual, line: DataLine) {
        let place = Self::read_place(at.0);
        let tag = at.0 & !(LINE - 1);
        self.reads[place] = line.hit(tag, tag);
        self.used[0] |= 1 << (place / GROUP);
    }

    /// Adds the half-line of `at` to `writes`.
    pub(super) const fn add_write(&mut self, at: Virtual, line: DataLine) {
        let place = Self::write_place(at.0);
        self.writes[place] = line.hit(at.0 & !(HALF - 1), at.0 & !(LINE - 1));
        self.used[1] |= 1 << (place / GROUP);
    }

    /// Adds a line to `lines`.
    pub(super) const fn add_line(&mut self, line: LineHit) {
        let place = Self::line_place(line.at());
        self.lines[place] = line;
        self.used[2] |= 1 << (place / LINE_GROUP);
    }

    /// Invalidates all data entries.
    pub(super) fn clear_data(&mut self) {
        let [reads, writes, _] = self.used;
        set_bits(reads).for_each(|group| self.reads[group * GROUP..][..GROUP].fill(NO_DATA));
        set_bits(writes).for_each(|group| self.writes[group * GROUP..][..GROUP].fill(NO_DATA));
        (self.used[0], self.used[1]) = (0, 0);
    }

    /// Invalidates all instruction lines.
    pub(super) fn clear_lines(&mut self) {
        set_bits(std::mem::take(&mut self.used[2]))
            .for_each(|group| self.lines[group * LINE_GROUP..][..LINE_GROUP].fill(LineHit::NONE));
    }

    /// Moves the entries of `page`, which are at `marks`, to other tables.
    pub(super) fn move_page(&mut self, to: &mut Self, page: Page, marks: &mut Marks) {
        move_entries([&mut self.reads, &mut to.reads], &mut marks.reads, page);
        move_entries([&mut self.writes, &mut to.writes], &mut marks.writes, page);
        move_entries([&mut self.lines, &mut to.lines], &mut marks.lines, page);
        to.used.iter_mut().zip(self.used).for_each(|(to, from)| *to |= from);
    }

    /// Invalidates the entries of `page`, which are at `marks`, and removes these.
    pub(super) fn drop_page(&mut self, page: Page, marks: &mut Marks) {
        drop_entries(&mut self.reads, &mut marks.reads, page);
        drop_entries(&mut self.writes, &mut marks.writes, page);
        drop_entries(&mut self.lines, &mut marks.lines, page);
    }

    /// Invalidates the entries of a data line of the process `pid`, written to in these halves at most.
    #[inline]
    pub(super) fn drop_data_line(&mut self, line: Modified, halves: u8, pid: u8) {
        invalidate(&mut self.reads[Self::read_place(line.0)], line, pid);
        self.drop_writes(line, halves, pid);
    }

    /// Invalidates the write entries of these halves of a data line of the process `pid`.
    #[inline]
    pub(super) fn drop_writes(&mut self, line: Modified, halves: u8, pid: u8) {
        let place = Self::write_place(line.0);
        for half in 0..2 {
            if halves >> half & 1 != 0 {
                invalidate(&mut self.writes[place + half], line, pid);
            }
        }
    }

    /// Invalidates the entry of an instruction line of the process `pid`.
    #[inline]
    pub(super) fn drop_instruction_line(&mut self, line: Modified, pid: u8) {
        let hit = &mut self.lines[Self::line_place(line.0)];
        if Virtual(hit.at()).modified(pid) == line {
            *hit = LineHit::NONE;
        }
    }
}

/// Invalidates an entry if it is one of `line`.
#[inline]
fn invalidate(hit: &mut DataHit, line: Modified, pid: u8) {
    if Virtual(hit.tag).modified(pid).line() == line {
        *hit = NO_DATA;
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
