//! The look-aside entries of one context at one privilege.
//!
//! Layer: rank 3. [`Hits`] is direct-mapped, with a fixed layout for compiled code. Indices are address
//! bits below bit 25, which FCSE leaves unchanged, so all virtual addresses of a line have one index,
//! and an eviction needs only the MVA.

use std::mem::offset_of;

use crate::address::{LINE, Modified, Virtual};

/// The number of entries of the data table.
const DATA_ENTRIES: usize = 1024;

/// The number of entries of the instruction line table.
const LINE_ENTRIES: usize = 1024;

/// The bytes of a half-line, the unit of dirty bits.
pub const HALF: u32 = LINE / 2;

/// An address in place of one that hits, in the data entry at `place`. It differs from every address with that
/// place in a bit of the place itself, so compiled code compares only the bits of lines and half-lines.
const fn no_address(place: usize) -> u32 {
    if place == 0 { LINE } else { 0 }
}

/// The number of data entries invalidated together.
const GROUP: usize = DATA_ENTRIES / 64;

/// The number of line entries invalidated together.
const LINE_GROUP: usize = LINE_ENTRIES / 64;

/// A line of the data cache that hits reads, and its dirty half-lines, which hit writes in a write-back
/// region. Its size is that of a line, so that an address has the offset of its entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(32))]
struct DataHit {
    /// The virtual address of the first half-line, if it hits writes.
    first: u32,
    /// The virtual address of the line.
    line: u32,
    /// The address of the line in this process minus its virtual address, modulo 2^64: for compiled code.
    host: u64,
    /// The virtual address of the second half-line, if it hits writes.
    second: u32,
    /// The offset in the data cache minus the virtual address of the line, modulo 2^32.
    shift: u32,
    /// The same as `host`, as far behind `second` as that is behind `first`.
    host_of_second: u64,
}

/// Where compiled code finds the parts of a [`DataHit`]: the bits of an address that are the offset of its
/// entry or half of it, and offsets behind that.
#[derive(Debug, Clone, Copy)]
pub struct DataLayout {
    /// The bytes of the line or half-line.
    pub unit: u32,
    /// The bits of an address.
    pub mask: u32,
    /// The offset of the address of the line or half-line, behind that of [`Hits`].
    pub tag: usize,
    /// The offset of the address in this process.
    pub host: usize,
}

/// The layout for reads.
#[allow(clippy::cast_possible_truncation, reason = "some kilobytes")]
pub const READS: DataLayout = DataLayout {
    unit: LINE,
    mask: (size_of::<DataHit>() * (DATA_ENTRIES - 1)) as u32,
    tag: offset_of!(Hits, data) + offset_of!(DataHit, line),
    host: offset_of!(Hits, data) + offset_of!(DataHit, host),
};

/// The layout for writes.
pub const WRITES: DataLayout = DataLayout {
    unit: HALF,
    mask: READS.mask | HALF,
    tag: offset_of!(Hits, data) + offset_of!(DataHit, first),
    host: offset_of!(Hits, data) + offset_of!(DataHit, host),
};

const _: () = {
    let half = HALF as usize;
    assert!(size_of::<DataHit>() == LINE as usize);
    assert!(offset_of!(DataHit, second) == offset_of!(DataHit, first) + half);
    assert!(offset_of!(DataHit, host_of_second) == offset_of!(DataHit, host) + half);
};

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
    /// The entry for the line at the virtual address `at`, without half-lines that hit writes.
    #[allow(clippy::cast_possible_truncation, reason = "a cache has at most 128 KiB")]
    const fn hit(self, at: u32) -> DataHit {
        let shift = (self.index as u32 * LINE).wrapping_sub(at);
        let host = self.host.wrapping_sub(at as u64);
        let none = no_address(Hits::data_place(at));
        DataHit { first: none, line: at, host, second: none, shift, host_of_second: host }
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
    data: Indices<{ DATA_ENTRIES / 64 }>,
    lines: Indices<{ LINE_ENTRIES / 64 }>,
}

impl Marks {
    pub(super) const NONE: Self = Self { data: Indices::NONE, lines: Indices::NONE };

    /// Marks the entry of the data line of `at`.
    #[inline]
    pub(super) const fn add_data(&mut self, at: Virtual) {
        self.data.add(Hits::data_place(at.0));
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
        self.data.clear();
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
    /// No entry at this place.
    fn none(place: usize) -> Self;

    /// The address of its line.
    fn at(self) -> u32;

    /// Whether it is at this place, and one of `page`.
    #[inline]
    fn is_in(self, place: usize, page: Page) -> bool {
        page.contains(self.at()) && self != Self::none(place)
    }
}

impl Entry for DataHit {
    #[inline]
    fn none(place: usize) -> Self {
        no_data(place)
    }

    #[inline]
    fn at(self) -> u32 {
        self.line
    }
}

impl Entry for LineHit {
    #[inline]
    fn none(_: usize) -> Self {
        Self::NONE
    }

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
        let is_moved = from.is_in(index, page);
        if is_moved {
            *to = std::mem::replace(from, T::none(index));
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
        if entry.is_in(index, page) {
            *entry = T::none(index);
        }
        false
    });
}

/// The entries at one privilege.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Hits {
    /// Lines that hit reads, with their half-lines that hit writes, by [`Hits::data_place`].
    data: [DataHit; DATA_ENTRIES],
    /// Lines that hit fetches, by [`Hits::line_place`].
    pub lines: [LineHit; LINE_ENTRIES],
    /// The groups with entries in `data` and `lines`.
    used: [u64; 2],
}

/// No data entry at this place.
const fn no_data(place: usize) -> DataHit {
    let none = no_address(place);
    DataHit { first: none, line: none, host: 0, second: none, shift: 0, host_of_second: 0 }
}

impl Hits {
    pub(super) const NONE: Self = {
        let mut data = [no_data(1); DATA_ENTRIES];
        data[0] = no_data(0);
        Self { data, lines: [LineHit::NONE; LINE_ENTRIES], used: [0; 2] }
    };

    /// The index of the line of `at` in `data`.
    #[inline]
    const fn data_place(at: u32) -> usize {
        (at / LINE) as usize % DATA_ENTRIES
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
        let hit = &self.data[Self::data_place(at)];
        if hit.line == at & (!(LINE - 1) | (size - 1)) {
            Some(at.wrapping_add(hit.shift) as usize)
        } else {
            None
        }
    }

    /// The offset in the data cache of a write of `size` bytes (1, 2 or 4), if it is aligned and hits.
    #[must_use]
    #[inline(always)]
    pub const fn write(&self, at: u32, size: u32) -> Option<usize> {
        let hit = &self.data[Self::data_place(at)];
        let half = if at & HALF == 0 { hit.first } else { hit.second };
        if half == at & (!(HALF - 1) | (size - 1)) {
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

    /// Adds the line of `at` to `data` and, for a `write`, its half-line. What permits a write permits a read.
    pub(super) const fn add_data(&mut self, at: Virtual, write: bool, line: DataLine) {
        let place = Self::data_place(at.0);
        let hit = &mut self.data[place];
        let begin = at.0 & !(LINE - 1);
        let new = line.hit(begin);
        if hit.line != begin || hit.shift != new.shift {
            *hit = new;
            self.used[0] |= 1 << (place / GROUP);
        }
        if write {
            let half = if at.0 & HALF == 0 { &mut hit.first } else { &mut hit.second };
            *half = at.0 & !(HALF - 1);
        }
    }

    /// Adds a line to `lines`.
    pub(super) const fn add_line(&mut self, line: LineHit) {
        let place = Self::line_place(line.at());
        self.lines[place] = line;
        self.used[1] |= 1 << (place / LINE_GROUP);
    }

    /// Invalidates all data entries.
    pub(super) fn clear_data(&mut self) {
        set_bits(std::mem::take(&mut self.used[0]))
            .for_each(|group| self.data[group * GROUP..][..GROUP].fill(no_data(1)));
        self.data[0] = no_data(0);
    }

    /// Invalidates all instruction lines.
    pub(super) fn clear_lines(&mut self) {
        set_bits(std::mem::take(&mut self.used[1]))
            .for_each(|group| self.lines[group * LINE_GROUP..][..LINE_GROUP].fill(LineHit::NONE));
    }

    /// Moves the entries of `page`, which are at `marks`, to other tables.
    pub(super) fn move_page(&mut self, to: &mut Self, page: Page, marks: &mut Marks) {
        move_entries([&mut self.data, &mut to.data], &mut marks.data, page);
        move_entries([&mut self.lines, &mut to.lines], &mut marks.lines, page);
        to.used.iter_mut().zip(self.used).for_each(|(to, from)| *to |= from);
    }

    /// Invalidates the entries of `page`, which are at `marks`, and removes these.
    pub(super) fn drop_page(&mut self, page: Page, marks: &mut Marks) {
        drop_entries(&mut self.data, &mut marks.data, page);
        drop_entries(&mut self.lines, &mut marks.lines, page);
    }

    /// Invalidates the entry of a data line of the process `pid`.
    #[inline]
    pub(super) fn drop_data_line(&mut self, line: Modified, pid: u8) {
        if let Some((place, hit)) = self.data_hit(line, pid) {
            *hit = no_data(place);
        }
    }

    /// Lets writes miss a data line of the process `pid`.
    #[inline]
    pub(super) fn drop_writes(&mut self, line: Modified, pid: u8) {
        if let Some((place, hit)) = self.data_hit(line, pid) {
            (hit.first, hit.second) = (no_address(place), no_address(place));
        }
    }

    /// The entry of a data line of the process `pid`, and its place.
    #[inline]
    fn data_hit(&mut self, line: Modified, pid: u8) -> Option<(usize, &mut DataHit)> {
        let place = Self::data_place(line.0);
        let hit = &mut self.data[place];
        (Virtual(hit.line).modified(pid) == line).then_some((place, hit))
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

/// The indices of the set bits.
pub(super) fn set_bits(mut bits: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
        bits &= bits - 1;
        Some(lowest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether compiled code finds an aligned read and an aligned write at `at`: it compares fewer bits than
    /// [`Hits::read`] and [`Hits::write`].
    fn found(hits: &Hits, at: u32) -> [bool; 2] {
        let hit = &hits.data[(at & READS.mask) as usize / size_of::<DataHit>()];
        let half = if at & HALF == 0 { hit.first } else { hit.second };
        [(hit.line ^ at) & !(LINE - 1) == 0, (half ^ at) & !(HALF - 1) == 0]
    }

    #[test]
    fn compiled_code_finds_what_was_added_and_nothing_that_is_gone() {
        let pid = 3;
        for at in (0..1 << 16).step_by(LINE as usize).chain([1 << 16, 5 << 20]) {
            let modified = Virtual(at).modified(pid);
            let line = DataLine { index: 1, at: modified, host: 0x1000 };
            let page = Page { at: [at; 2], mask: !(LINE - 1) };
            let gone: [fn(&mut Hits, Modified, Page); 4] = [
                |hits, line, _| hits.drop_data_line(line, 3),
                |hits, _, _| hits.clear_data(),
                |hits, line, page| {
                    let mut marks = Marks::NONE;
                    marks.add_data(Virtual(line.0 & 0x1FF_FFFF));
                    hits.drop_page(page, &mut marks);
                },
                |hits, line, page| {
                    let mut marks = Marks::NONE;
                    marks.add_data(Virtual(line.0 & 0x1FF_FFFF));
                    let mut to = Hits::NONE;
                    hits.move_page(&mut to, page, &mut marks);
                    assert_eq!(found(&to, page.at[0]), [true, true]);
                },
            ];
            let mut hits = Box::new(Hits::NONE);
            let all = |hits: &Hits| [0, HALF, 1 << 16].map(|offset| found(hits, at + offset));
            let none = [[false; 2]; 3];
            for end in gone {
                assert_eq!(all(&hits), none, "{at:#x}");
                hits.add_data(Virtual(at), false, line);
                assert_eq!(all(&hits), [[true, false], [true, false], [false; 2]], "{at:#x}");
                hits.add_data(Virtual(at + 4), true, line);
                assert_eq!(all(&hits), [[true, true], [true, false], [false; 2]], "{at:#x}");
                end(&mut hits, modified, page);
            }
            assert_eq!(all(&hits), none, "{at:#x}");
            hits.add_data(Virtual(at + HALF), true, line);
            hits.drop_writes(modified, pid);
            assert_eq!(all(&hits), [[true, false], [true, false], [false; 2]], "{at:#x}");
        }
    }
}
