//! The cells of a NOR part: what they hold and how often they were erased and programmed.
//!
//! Layer: physics below the chip. Main types: [`Layout`], where the sectors lie; [`NorArray`],
//! their contents. An erased sector takes no memory, and a clone shares the contents of a sector
//! until either side changes it, so that power cuts can be explored by forking.
//!
//! Left out: cells between one and zero that read differently each time, and the growth of
//! program and erase time with wear.

use boardlab_sim::Bytes;
use std::fmt;
use std::sync::Arc;

/// What an erased byte reads.
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

/// Where the sectors lie. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    map: Arc<Map>,
}

#[derive(Debug, PartialEq, Eq)]
struct Map {
    /// First byte of each sector, and at the end the size of the part.
    starts: Vec<u64>,
    /// Logarithm of the grain: the largest power of two that divides every start.
    grain: u32,
    /// The sector of each grain.
    sector_of: Vec<u32>,
}

impl Layout {
    /// Sectors in address order, as runs of `(count, size)`.
    ///
    /// `None` when there are no sectors, one has no size or is no multiple of two bytes, or the
    /// whole is larger than 4 GiB.
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

    /// How many sectors there are.
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

/// An offset that was checked against the part, as an index; the part fits memory.
#[inline]
fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("NorArray: larger than this machine's memory")
}

/// One sector.
#[derive(Debug, Clone, Default)]
struct Sector {
    /// Contents; `None` while every bit is one.
    cells: Option<Arc<[u8]>>,
    /// Finished and interrupted erases.
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
    /// A part as it left the factory: erased, never worn.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        let sectors = layout.sectors().map(|_| Sector::default()).collect();
        Self { layout, sectors }
    }

    /// Where the sectors lie.
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
        self.pieces(offset, buffer.len(), |sector, at, piece| {
            match &self.sectors[sector.to_usize()].cells {
                Some(cells) => {
                    let length = piece.len();
                    buffer[piece].copy_from_slice(&cells[at..at + length]);
                }
                None => buffer[piece].fill(ERASED),
            }
        });
    }

    /// Clears the bits that are zero in `data`: a program can do no more. Counts one program in
    /// each sector that it touches.
    ///
    /// # Panics
    /// When the range ends beyond the part.
    pub fn program(&mut self, offset: Bytes, data: &[u8]) {
        self.for_cells(offset, data, |cell, byte| *cell &= byte);
        self.count_program(offset, data);
    }

    /// Replaces the bytes from `offset` on, ones over zeros as well, without wear: a part that was
    /// programmed before the run.
    ///
    /// # Panics
    /// When the range ends beyond the part.
    pub fn load(&mut self, offset: Bytes, data: &[u8]) {
        self.for_cells(offset, data, |cell, byte| *cell = byte);
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

    /// How often a sector was erased, interrupted erases included.
    #[must_use]
    pub fn erase_count(&self, sector: SectorIndex) -> u32 {
        self.sectors[sector.to_usize()].erases
    }

    /// How many programs touched a sector, of a word or of a buffer.
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

    /// The first byte in which two parts differ, or `None` when all contents are equal; wear does
    /// not count.
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
        let size = self.layout.sector_size(sector).to_usize();
        let cells = &mut self.sectors[sector.to_usize()].cells;
        Arc::make_mut(cells.get_or_insert_with(|| vec![ERASED; size].into()))
    }

    /// Counts one erase that did not finish.
    pub(crate) fn count_erase(&mut self, sector: SectorIndex) {
        let sector = &mut self.sectors[sector.to_usize()];
        sector.erases = sector.erases.saturating_add(1);
    }

    /// Counts one program in every sector that `data` at `offset` touches.
    pub(crate) fn count_program(&mut self, offset: Bytes, data: &[u8]) {
        let mut touched = Vec::new();
        self.pieces(offset, data.len(), |sector, _, _| touched.push(sector));
        for sector in touched {
            self.sectors[sector.to_usize()].programs += 1;
        }
    }

    /// Changes the cells under `data`, sector by sector; leaves an erased sector alone when no
    /// bit of it would change.
    pub(crate) fn for_cells(
        &mut self,
        offset: Bytes,
        data: &[u8],
        mut change: impl FnMut(&mut u8, u8),
    ) {
        let mut pieces = Vec::new();
        self.pieces(offset, data.len(), |sector, at, piece| pieces.push((sector, at, piece)));
        for (sector, at, piece) in pieces {
            let data = &data[piece];
            let untouched = self.sectors[sector.to_usize()].cells.is_none();
            if untouched && data.iter().all(|&byte| byte == ERASED) {
                continue;
            }
            let cells = &mut self.cells_mut(sector)[at..at + data.len()];
            cells.iter_mut().zip(data).for_each(|(cell, &byte)| change(cell, byte));
        }
    }

    /// The sector of `offset` and the place within it.
    #[inline]
    fn locate(&self, offset: Bytes) -> (SectorIndex, usize) {
        let sector = self.layout.sector_at(offset);
        (sector, index(offset.get() - self.layout.start(sector).get()))
    }

    /// Calls `visit` with each sector that a range touches, the place within the sector and the
    /// part of the range that lies there.
    fn pieces(
        &self,
        offset: Bytes,
        length: usize,
        mut visit: impl FnMut(SectorIndex, usize, std::ops::Range<usize>),
    ) {
        let mut done = 0;
        while done < length {
            let here = offset + Bytes::new(u64::try_from(done).expect("a length fits u64"));
            let (sector, at) = self.locate(here);
            let room = self.layout.sector_size(sector).to_usize() - at;
            let end = done + room.min(length - done);
            visit(sector, at, done..end);
            done = end;
        }
    }
}
