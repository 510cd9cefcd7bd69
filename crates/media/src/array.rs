//! The cells of a NOR part: their contents, and their erase and program counts.
//!
//! Layer: physics below the chip. Main types: [`Layout`], the positions of the sectors;
//! [`NorArray`], their contents. An erased sector takes no memory, and a clone shares the contents
//! of a sector until either side changes it, so that power cuts can be explored by forking.
//!
//! Left out: cells near the read level that read differently each time, and program and erase times
//! that grow with wear.

use boardlab_sim::Bytes;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The value of an erased byte.
const ERASED: u8 = 0xFF;

/// The number of a sector, in address order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SectorIndex(u32);

impl SectorIndex {
    /// Sector number `index`.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self(index)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The number as an index into memory of this process.
    #[must_use]
    #[inline]
    pub const fn to_usize(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for SectorIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The positions of the sectors. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    map: Arc<Map>,
}

#[derive(Debug, PartialEq, Eq)]
struct Map {
    /// The first byte of each sector, followed by the size of the part.
    starts: Vec<u64>,
    /// The binary logarithm of the grain: the largest power of two that divides every start.
    grain: u32,
    /// The sector of each grain.
    sector_of: Vec<u32>,
}

impl Layout {
    /// A layout of regions `(count, size)` of sectors in address order.
    ///
    /// `None` if there are no sectors, the size of one is zero or odd, or the part is larger than
    /// 4 GiB.
    #[must_use]
    pub fn new(runs: &[(u32, Bytes)]) -> Option<Self> {
        let mut starts = vec![0_u64];
        for &(count, size) in runs {
            let odd = size.is_zero() || !size.is_multiple_of(Bytes::new(2));
            let end = size.get().checked_mul(u64::from(count))?;
            if odd || end.checked_add(*starts.last()?)? > 1 << 32 {
                return None;
            }
            for _ in 0..count {
                starts.push(starts.last()? + size.get());
            }
        }
        if starts.len() == 1 {
            return None;
        }
        let grain = starts[1..].iter().map(|start| start.trailing_zeros()).min()?;
        let mut sector_of = Vec::new();
        for (sector, pair) in (0_u32..).zip(starts.windows(2)) {
            sector_of.extend((pair[0] >> grain..pair[1] >> grain).map(|_| sector));
        }
        Some(Self { map: Arc::new(Map { starts, grain, sector_of }) })
    }

    /// The size of the part.
    #[must_use]
    pub fn size(&self) -> Bytes {
        Bytes::new(self.map.starts[self.map.starts.len() - 1])
    }

    /// The number of sectors.
    #[must_use]
    pub fn sector_count(&self) -> u32 {
        u32::try_from(self.map.starts.len() - 1).expect("at most 2^31 sectors of two bytes")
    }

    /// All sectors in address order.
    pub fn sectors(&self) -> impl Iterator<Item = SectorIndex> + use<> {
        (0..self.sector_count()).map(SectorIndex)
    }

    /// The sector that holds the byte at `offset`.
    ///
    /// # Panics
    /// When `offset` lies beyond the part.
    #[must_use]
    #[inline]
    pub fn sector_at(&self, offset: Bytes) -> SectorIndex {
        let grain = offset.get() >> self.map.grain;
        SectorIndex(self.map.sector_of[index(grain)])
    }

    /// First byte of a sector.
    ///
    /// # Panics
    /// When there is no such sector.
    #[must_use]
    #[inline]
    pub fn start(&self, sector: SectorIndex) -> Bytes {
        Bytes::new(self.map.starts[sector.to_usize()])
    }

    /// Size of a sector.
    ///
    /// # Panics
    /// When there is no such sector.
    #[must_use]
    pub fn sector_size(&self, sector: SectorIndex) -> Bytes {
        let at = sector.to_usize();
        Bytes::new(self.map.starts[at + 1] - self.map.starts[at])
    }
}

impl Layout {
    /// Splits a range at sector boundaries: each sector, the offset in it, and the part of the range.
    fn pieces(
        &self,
        offset: Bytes,
        length: usize,
    ) -> impl Iterator<Item = (SectorIndex, usize, Range<usize>)> + use<'_> {
        let mut done = 0;
        std::iter::from_fn(move || {
            if done == length {
                return None;
            }
            let here = offset + Bytes::new(u64::try_from(done).expect("a length fits u64"));
            let sector = self.sector_at(here);
            let at = (here - self.start(sector)).to_usize();
            let room = self.sector_size(sector).to_usize() - at;
            let piece = done..done + room.min(length - done);
            done = piece.end;
            Some((sector, at, piece))
        })
    }
}

/// An offset that was checked against the part, as an index; the part fits into memory.
#[inline]
fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("NorArray: larger than this machine's memory")
}

/// One sector.
#[derive(Debug, Clone, Default)]
struct Sector {
    /// Contents; `None` while every bit is one.
    cells: Option<Arc<[u8]>>,
    /// Completed and interrupted erases.
    erases: u32,
    /// Programs, of a word or of a buffer.
    programs: u64,
}

/// The cells of a NOR part. Bytes lie in address order; a word has its low byte first.
#[derive(Debug, Clone)]
pub struct NorArray {
    layout: Layout,
    sectors: Vec<Sector>,
}

impl NorArray {
    /// A factory-new part: erased, without wear.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        let sectors = layout.sectors().map(|_| Sector::default()).collect();
        Self { layout, sectors }
    }

    /// The positions of the sectors.
    #[must_use]
    #[inline]
    pub const fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The byte at `offset`.
    ///
    /// # Panics
    /// When `offset` lies beyond the part.
    #[must_use]
    #[inline]
    pub fn byte(&self, offset: Bytes) -> u8 {
        let (sector, at) = self.locate(offset);
        self.sectors[sector.to_usize()].cells.as_ref().map_or(ERASED, |cells| cells[at])
    }

    /// The word at `offset`, which must be even.
    ///
    /// # Panics
    /// When `offset` lies beyond the part or is the last byte of a sector.
    #[must_use]
    #[inline]
    pub fn word(&self, offset: Bytes) -> u16 {
        let (sector, at) = self.locate(offset);
        match &self.sectors[sector.to_usize()].cells {
            Some(cells) => u16::from_le_bytes([cells[at], cells[at + 1]]),
            None => u16::MAX,
        }
    }

    /// Copies the bytes from `offset` on to `buffer`.
    ///
    /// # Panics
    /// When the range ends beyond the part.
    pub fn read(&self, offset: Bytes, buffer: &mut [u8]) {
        for (sector, at, piece) in self.layout.pieces(offset, buffer.len()) {
            let buffer = &mut buffer[piece];
            match &self.sectors[sector.to_usize()].cells {
                Some(cells) => buffer.copy_from_slice(&cells[at..at + buffer.len()]),
                None => buffer.fill(ERASED),
            }
        }
    }

    /// Programs `data`: clears the bits that are zero in it. Counts one program in each sector of the
    /// range.
    ///
    /// # Panics
    /// When the range ends beyond the part.
    pub fn program(&mut self, offset: Bytes, data: &[u8]) {
        self.change(offset, data, |cell, byte| *cell &= byte);
        for (sector, ..) in self.layout.pieces(offset, data.len()) {
            self.sectors[sector.to_usize()].programs += 1;
        }
    }

    /// Preloads the bytes from `offset` on, zeros to ones as well, without wear, as if the part had
    /// been programmed before the run.
    ///
    /// # Panics
    /// When the range ends beyond the part.
    pub fn load(&mut self, offset: Bytes, data: &[u8]) {
        self.change(offset, data, |cell, byte| *cell = byte);
    }

    /// Sets every bit of a sector and counts one erase.
    ///
    /// # Panics
    /// When there is no such sector.
    pub fn erase(&mut self, sector: SectorIndex) {
        let sector = &mut self.sectors[sector.to_usize()];
        sector.cells = None;
        sector.erases = sector.erases.saturating_add(1);
    }

    /// The number of erases of a sector, including interrupted ones.
    #[must_use]
    pub fn erase_count(&self, sector: SectorIndex) -> u32 {
        self.sectors[sector.to_usize()].erases
    }

    /// The number of programs in a sector, of a word or of a buffer.
    #[must_use]
    pub fn program_count(&self, sector: SectorIndex) -> u64 {
        self.sectors[sector.to_usize()].programs
    }

    /// Whether every bit of a sector is one.
    #[must_use]
    pub fn is_erased(&self, sector: SectorIndex) -> bool {
        let cells = &self.sectors[sector.to_usize()].cells;
        cells.as_ref().is_none_or(|cells| cells.iter().all(|&cell| cell == ERASED))
    }

    /// The first byte in which two parts differ, or `None` if all contents are equal; wear is ignored.
    ///
    /// # Panics
    /// When the layouts differ.
    #[must_use]
    pub fn first_difference(&self, other: &Self) -> Option<Bytes> {
        assert!(self.layout == other.layout, "NorArray::first_difference: other layout");
        self.layout.sectors().find_map(|sector| {
            let at = sector.to_usize();
            let (mine, theirs) = (&self.sectors[at].cells, &other.sectors[at].cells);
            let differs = match (mine, theirs) {
                (None, None) => None,
                (Some(mine), Some(theirs)) if Arc::ptr_eq(mine, theirs) => None,
                (Some(mine), Some(theirs)) => {
                    mine.iter().zip(theirs.iter()).position(|(mine, theirs)| mine != theirs)
                }
                (Some(cells), None) | (None, Some(cells)) => {
                    cells.iter().position(|&cell| cell != ERASED)
                }
            }?;
            let within = u64::try_from(differs).expect("an offset within a sector");
            Some(self.layout.start(sector) + Bytes::new(within))
        })
    }

    /// The cells of a sector, to be changed by [`crate::torn`]; does not count wear.
    pub(crate) fn cells_mut(&mut self, sector: SectorIndex) -> &mut [u8] {
        let size = self.layout.sector_size(sector);
        self.sectors[sector.to_usize()].cells_mut(size)
    }

    /// Counts one interrupted erase.
    pub(crate) fn count_erase(&mut self, sector: SectorIndex) {
        let sector = &mut self.sectors[sector.to_usize()];
        sector.erases = sector.erases.saturating_add(1);
    }

    /// Changes the cells in the range of `data`, sector by sector. An erased sector takes no memory as
    /// long as none of its bits changes.
    fn change(&mut self, offset: Bytes, data: &[u8], mut change: impl FnMut(&mut u8, u8)) {
        for (sector, at, piece) in self.layout.pieces(offset, data.len()) {
            let data = &data[piece];
            let size = self.layout.sector_size(sector);
            let sector = &mut self.sectors[sector.to_usize()];
            if sector.cells.is_none() && data.iter().all(|&byte| byte == ERASED) {
                continue;
            }
            let cells = &mut sector.cells_mut(size)[at..at + data.len()];
            cells.iter_mut().zip(data).for_each(|(cell, &byte)| change(cell, byte));
        }
    }

    /// The sector of `offset`, and the offset in it.
    #[inline]
    fn locate(&self, offset: Bytes) -> (SectorIndex, usize) {
        let sector = self.layout.sector_at(offset);
        (sector, index(offset.get() - self.layout.start(sector).get()))
    }
}

impl Sector {
    /// The cells, for which memory is allocated; `size` is the sector's.
    fn cells_mut(&mut self, size: Bytes) -> &mut [u8] {
        let erased = || vec![ERASED; size.to_usize()].into();
        Arc::make_mut(self.cells.get_or_insert_with(erased))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOP_BOOT: [(u32, Bytes); 4] =
        [(127, Bytes::kib(64)), (1, Bytes::kib(32)), (2, Bytes::kib(8)), (1, Bytes::kib(16))];

    fn top_boot() -> NorArray {
        NorArray::new(Layout::new(&TOP_BOOT).unwrap())
    }

    #[test]
    fn every_byte_belongs_to_the_sector_that_begins_last_before_it() {
        let layout = Layout::new(&TOP_BOOT).unwrap();
        assert_eq!(layout.size(), Bytes::mib(8));
        assert_eq!(layout.sector_count(), 131);
        let mut end = Bytes::ZERO;
        for sector in layout.sectors() {
            assert_eq!(layout.start(sector), end);
            end += layout.sector_size(sector);
            assert_eq!(layout.sector_at(layout.start(sector)), sector);
            assert_eq!(layout.sector_at(end - Bytes::new(1)), sector);
        }
        assert_eq!(end, layout.size());
    }

    #[test]
    fn layouts_that_cannot_be_are_refused() {
        assert!(Layout::new(&[]).is_none());
        assert!(Layout::new(&[(0, Bytes::kib(64))]).is_none());
        assert!(Layout::new(&[(1, Bytes::ZERO)]).is_none());
        assert!(Layout::new(&[(1, Bytes::new(3))]).is_none());
        assert!(Layout::new(&[(1 << 16, Bytes::kib(64)), (1, Bytes::kib(64))]).is_none());
        assert!(Layout::new(&[(u32::MAX, Bytes::new(u64::MAX))]).is_none());
    }

    #[test]
    fn a_program_clears_bits_and_sets_none() {
        let mut array = top_boot();
        array.program(Bytes::new(5), &[0x0F, 0x55]);
        array.program(Bytes::new(5), &[0xF5, 0xA5]);
        assert_eq!((array.byte(Bytes::new(5)), array.byte(Bytes::new(6))), (0x05, 0x05));
        assert_eq!(array.word(Bytes::new(4)), 0x05FF);
        assert_eq!(array.program_count(SectorIndex::new(0)), 2);
    }

    #[test]
    fn a_program_and_a_read_go_across_sectors() {
        let mut array = top_boot();
        let start = array.layout().start(SectorIndex::new(128)) - Bytes::new(2);
        let data: Vec<u8> = (0..=255).cycle().take(8 * 1024 + 4).collect();
        array.program(start, &data);
        let mut read = vec![0; data.len()];
        array.read(start, &mut read);
        assert_eq!(read, data);
        let counts = [127, 128, 129, 130].map(|at| array.program_count(SectorIndex::new(at)));
        assert_eq!(counts, [1, 1, 1, 0]);
    }

    #[test]
    fn an_erase_sets_every_bit_of_one_sector_and_counts() {
        let mut array = top_boot();
        let sector = SectorIndex::new(128);
        let start = array.layout().start(sector);
        array.program(start - Bytes::new(1), &[0; 3]);
        array.erase(sector);
        assert!(array.is_erased(sector) && !array.is_erased(SectorIndex::new(127)));
        assert_eq!(array.byte(start - Bytes::new(1)), 0);
        assert_eq!((array.erase_count(sector), array.erase_count(SectorIndex::new(0))), (1, 0));
    }

    #[test]
    fn an_erased_sector_takes_no_memory_even_when_ones_are_programmed() {
        let mut array = top_boot();
        array.program(Bytes::ZERO, &[0xFF; 100]);
        array.load(Bytes::kib(64), &[0xFF; 100]);
        assert!(array.sectors.iter().all(|sector| sector.cells.is_none()));
    }

    #[test]
    fn loading_sets_bits_and_wears_nothing() {
        let mut array = top_boot();
        array.load(Bytes::ZERO, &[0x00, 0x12]);
        array.load(Bytes::ZERO, &[0x34]);
        assert_eq!(array.word(Bytes::ZERO), 0x1234);
        assert_eq!(array.program_count(SectorIndex::new(0)), 0);
    }

    #[test]
    fn a_clone_is_independent() {
        let mut array = top_boot();
        array.program(Bytes::ZERO, &[0x12]);
        let mut fork = array.clone();
        assert_eq!(fork.first_difference(&array), None);
        fork.program(Bytes::new(3), &[0x00]);
        assert_eq!(array.byte(Bytes::new(3)), 0xFF);
        assert_eq!(fork.first_difference(&array), Some(Bytes::new(3)));
        array.erase(SectorIndex::new(0));
        assert_eq!(fork.byte(Bytes::ZERO), 0x12);
        assert_eq!(array.first_difference(&fork), Some(Bytes::ZERO));
    }

    #[test]
    fn contents_are_compared_whatever_memory_they_take() {
        let (mut array, erased) = (top_boot(), top_boot());
        array.load(Bytes::kib(64), &[0]);
        assert_eq!(array.first_difference(&erased), Some(Bytes::kib(64)));
        array.load(Bytes::kib(64), &[0xFF]);
        assert_eq!(array.first_difference(&erased), None);
        assert_eq!(erased.first_difference(&array), None);
    }
}
