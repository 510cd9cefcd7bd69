//! The cells of a NAND part: pages with OOB bytes, their contents and their stress.
//!
//! Layer: physics below the chip. Main types: [`NandGeometry`], [`Row`], [`NandArray`]. A page that was
//! not programmed takes no memory, nor do ones at the end of its main bytes; the memory of whole pages is
//! handed on to the next part (`nand_memory`). A clone of the whole device shares each block, and within a
//! changed block each page, until either side changes it, so that power cuts can be explored by forking.
//!
//! A violation of the data sheets' rules (number and order of page programs) is reported as a
//! [`Violation`], but does not prevent the operation.
//!
//! Source: K9F2G08U0M and K9F4G08U0M data sheets, "Page program": at most four consecutive partial
//! programs of the main array and four of the spare array, pages of a block in sequential order.
//! Left out: planes, and paired pages of multi-level cells, where a program can corrupt the other page.

use crate::nand_memory;
use boardlab_sim::{Bytes, Duration, Instant, MIX_STEP};
use std::fmt;
use std::sync::Arc;

/// The value of an erased byte.
const ERASED: u8 = 0xFF;

/// The kind of cell, by its number of bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CellKind {
    /// One bit.
    Slc,
    /// Two bits.
    Mlc,
    /// Three bits.
    Tlc,
    /// Four bits.
    Qlc,
}

impl CellKind {
    /// Bits per cell.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Slc => 1,
            Self::Mlc => 2,
            Self::Tlc => 3,
            Self::Qlc => 4,
        }
    }
}

/// The geometry of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NandGeometry {
    /// The number of erase blocks.
    pub blocks: u32,
    /// Pages per block.
    pub pages_per_block: u32,
    /// Main bytes of a page.
    pub page: Bytes,
    /// OOB bytes of a page.
    pub oob: Bytes,
}

impl NandGeometry {
    /// Main bytes of the part.
    #[must_use]
    pub fn size(&self) -> Bytes {
        self.block_size() * u64::from(self.blocks)
    }

    /// Main bytes of a block.
    #[must_use]
    pub fn block_size(&self) -> Bytes {
        self.page * u64::from(self.pages_per_block)
    }

    /// Main and OOB bytes of a page: the size of the page register.
    #[must_use]
    pub fn row_bytes(&self) -> usize {
        (self.page + self.oob).to_usize()
    }

    /// Pages of the part.
    #[must_use]
    pub const fn rows(&self) -> u64 {
        self.blocks as u64 * self.pages_per_block as u64
    }

    /// Page number `index`, counted from the start of the part; `None` beyond it.
    #[must_use]
    pub fn row(&self, index: u32) -> Option<Row> {
        let row = Row { block: index / self.pages_per_block, page: index % self.pages_per_block };
        self.contains(row).then_some(row)
    }

    /// Whether there is such a page.
    #[must_use]
    pub const fn contains(&self, row: Row) -> bool {
        row.block < self.blocks && row.page < self.pages_per_block
    }

    /// Whether the geometry is valid: pages of a power of two from 512 bytes to 32 KiB, at most 1,024
    /// per block, at most 2^24 in total (three address cycles), no more OOB bytes than main bytes.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let page = self.page.get();
        page.is_power_of_two()
            && (512..=32_768).contains(&page)
            && self.oob <= self.page
            && (1..=1_024).contains(&self.pages_per_block)
            && (1..=1 << 24).contains(&self.rows())
    }
}

/// The address of a page: ONFI's row address in its two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Row {
    /// Block.
    pub block: u32,
    /// Page within the block.
    pub page: u32,
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {} page {}", self.block, self.page)
    }
}

/// The rules of the data sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProgramRules {
    /// The most programs of the main bytes of a page between two erases, and of its OOB bytes.
    pub programs_per_page: u32,
    /// Whether pages of a block must be programmed in ascending order, as multi-level cells require.
    pub ascending: bool,
}

impl ProgramRules {
    /// The rules of a part with this kind of cell and this many programs per page.
    #[must_use]
    pub fn of(cell: CellKind, programs_per_page: u32) -> Self {
        Self { programs_per_page, ascending: cell != CellKind::Slc }
    }
}

/// A program that the data sheet does not allow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Violation {
    /// The main or the OOB bytes of the page were programmed too often since the erase.
    TooManyPrograms {
        /// The page.
        row: Row,
        /// The number of programs, including this one.
        programs: u32,
    },
    /// A later page of the block was programmed before.
    OutOfOrder {
        /// The page.
        row: Row,
        /// The latest page programmed before.
        after: u32,
    },
}

/// A programmed page.
#[derive(Debug)]
struct Page {
    /// Main bytes up to the last one that is not erased, then OOB bytes.
    bytes: Box<[u8]>,
    /// The number of these main bytes.
    used: u32,
    /// Whether the memory of the bytes is lent.
    lent: bool,
    /// Programs since the erase, of main and of OOB bytes.
    programs: [u32; 2],
    /// The time of the first program since the erase.
    written: Instant,
}

/// The pages of a block of which at least one was programmed.
type Pages = Box<[Option<Arc<Page>>]>;

#[derive(Debug, Clone, Default)]
struct Block {
    /// `None` while every page is erased.
    pages: Option<Arc<Pages>>,
    /// Completed and interrupted erases.
    erases: u32,
    /// Page programs in its lifetime.
    programs: u64,
    /// Page reads since the erase.
    reads: u64,
    /// The latest page programmed since the erase.
    latest: Option<u32>,
    /// After an incomplete erase: the seed that selects the weak cells, which lose what is programmed.
    weak: Option<u64>,
}

/// The stress of a page: the input of [`crate::BitErrors`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stress {
    /// Erases of its block.
    pub erases: u32,
    /// Time since it was programmed; zero while it is erased.
    pub retention: Duration,
    /// Reads of any page of its block since the erase.
    pub reads: u64,
    /// Whether it holds data.
    pub programmed: bool,
}

/// The cells of a NAND part.
#[derive(Debug, Clone)]
pub struct NandArray {
    geometry: NandGeometry,
    rules: ProgramRules,
    blocks: Vec<Block>,
    /// Storage time, which is added to the retention of every page.
    shelf: Duration,
}

impl NandArray {
    /// A factory-new part: erased, without wear.
    ///
    /// # Panics
    /// If the geometry is invalid.
    #[must_use]
    pub fn new(geometry: NandGeometry, rules: ProgramRules) -> Self {
        assert!(geometry.is_sound(), "NandArray: a geometry that is not sound: {geometry:?}");
        let blocks = (0..geometry.blocks).map(|_| Block::default()).collect();
        Self { geometry, rules, blocks, shelf: Duration::ZERO }
    }

    /// The geometry.
    #[must_use]
    pub const fn geometry(&self) -> &NandGeometry {
        &self.geometry
    }

    /// Copies the bytes of a page from `column` on (OOB bytes follow the main bytes) to `buffer`, as
    /// they were written, without counting a read.
    ///
    /// # Panics
    /// When there is no such page or the range ends beyond its spare bytes.
    pub fn peek(&self, row: Row, column: usize, buffer: &mut [u8]) {
        assert!(
            column + buffer.len() <= self.geometry.row_bytes(),
            "NandArray::peek: beyond {row}"
        );
        match self.page(row) {
            Some(page) => page.copy_to(self.geometry.page.to_usize(), column, buffer),
            None => buffer.fill(ERASED),
        }
    }

    /// Counts a read of a page, which disturbs its whole block.
    ///
    /// # Panics
    /// When there is no such block.
    pub fn count_read(&mut self, row: Row) {
        let block = &mut self.blocks[slot(row.block)];
        block.reads = block.reads.saturating_add(1);
    }

    /// Programs `data` into a page from `column` on: clears the bits that are zero in it. Returns the
    /// rule that it violated, if any.
    ///
    /// # Panics
    /// When there is no such page or the range ends beyond its spare bytes.
    pub fn program(
        &mut self,
        now: Instant,
        row: Row,
        column: usize,
        data: &[u8],
    ) -> Option<Violation> {
        let size = self.geometry.row_bytes();
        assert!(self.geometry.contains(row), "NandArray::program: no {row}");
        assert!(column + data.len() <= size, "NandArray::program: beyond {row}");
        let main = self.geometry.page.to_usize();
        let touched = [column < main && !data.is_empty(), column + data.len() > main];
        let block = &mut self.blocks[slot(row.block)];
        let weak = block.weak.map(|seed| (seed, row.page));
        block.programs += 1;
        let late = block.latest.filter(|&latest| row.page < latest);
        block.latest = block.latest.max(Some(row.page));
        let page = block.page_mut(row.page, self.geometry.pages_per_block);
        let page = page.get_or_insert_with(|| Arc::new(Page::erased(now)));
        let page = Arc::make_mut(page);
        let held = weak.map(|(seed, page)| held_by_weak_cells(seed, page, column, data));
        page.clear((main, size), column, held.as_deref().unwrap_or(data));
        for (count, touched) in page.programs.iter_mut().zip(touched) {
            *count += u32::from(touched);
        }
        let programs = page.programs[0].max(page.programs[1]);
        match late {
            Some(after) if self.rules.ascending => Some(Violation::OutOfOrder { row, after }),
            _ if programs > self.rules.programs_per_page => {
                Some(Violation::TooManyPrograms { row, programs })
            }
            _ => None,
        }
    }

    /// Preloads a page, zeros to ones as well, without wear, as if it had been programmed before the
    /// run. Data that are all ones leave the page erased.
    ///
    /// # Panics
    /// When there is no such page, or `data` is not the whole of it.
    pub fn load(&mut self, row: Row, data: &[u8]) {
        assert!(self.geometry.contains(row), "NandArray::load: no {row}");
        assert!(data.len() == self.geometry.row_bytes(), "NandArray::load: not a whole page");
        let erased = data.iter().all(|&byte| byte == ERASED);
        let block = &mut self.blocks[slot(row.block)];
        if erased && block.pages.is_none() {
            return;
        }
        let mut page = Page::erased(Instant::ZERO);
        page.programs = [1, 1];
        page.store(self.geometry.page.to_usize(), data);
        let place = block.page_mut(row.page, self.geometry.pages_per_block);
        *place = (!erased).then(|| Arc::new(page));
        if !erased {
            block.latest = block.latest.max(Some(row.page));
        }
    }

    /// Sets every bit of a block and counts one erase.
    ///
    /// # Panics
    /// When there is no such block.
    pub fn erase(&mut self, block: u32) {
        let block = &mut self.blocks[slot(block)];
        let erases = block.erases.saturating_add(1);
        *block = Block { erases, programs: block.programs, ..Block::default() };
    }

    /// The number of erases of a block, including interrupted ones.
    ///
    /// # Panics
    /// When there is no such block.
    #[must_use]
    pub fn erase_count(&self, block: u32) -> u32 {
        self.blocks[slot(block)].erases
    }

    /// The number of page programs of a block in its lifetime.
    ///
    /// # Panics
    /// When there is no such block.
    #[must_use]
    pub fn program_count(&self, block: u32) -> u64 {
        self.blocks[slot(block)].programs
    }

    /// Sets the erase count of a block before the run.
    ///
    /// # Panics
    /// When there is no such block.
    pub fn wear(&mut self, block: u32, erases: u32) {
        self.blocks[slot(block)].erases = erases;
    }

    /// Adds storage time to the retention of every page, including pages programmed later, so call it
    /// before or after a run, not within one.
    pub fn age(&mut self, span: Duration) {
        self.shelf = self.shelf.checked_add(span).unwrap_or(Duration::MAX);
    }

    /// The stress of a page at `now`.
    ///
    /// # Panics
    /// When there is no such page.
    #[must_use]
    pub fn stress(&self, row: Row, now: Instant) -> Stress {
        let block = &self.blocks[slot(row.block)];
        let page = self.page(row);
        let kept = page.map(|page| now.saturating_since(page.written));
        let kept = kept.map(|kept| kept.checked_add(self.shelf).unwrap_or(Duration::MAX));
        Stress {
            erases: block.erases,
            retention: kept.unwrap_or_default(),
            reads: block.reads,
            programmed: page.is_some(),
        }
    }

    /// Whether no page of a block is programmed.
    ///
    /// # Panics
    /// When there is no such block.
    #[must_use]
    pub fn is_erased(&self, block: u32) -> bool {
        let pages = &self.blocks[slot(block)].pages;
        let blank = |page: &Option<Arc<Page>>| {
            page.as_ref().is_none_or(|page| page.bytes.iter().all(|&byte| byte == ERASED))
        };
        pages.as_ref().is_none_or(|pages| pages.iter().all(blank))
    }

    /// The number of pages that take memory.
    #[must_use]
    pub fn stored_pages(&self) -> usize {
        let pages = self.blocks.iter().filter_map(|block| block.pages.as_ref());
        pages.map(|pages| pages.iter().flatten().count()).sum()
    }

    /// The number of blocks that share their contents with `other`, including erased ones.
    #[must_use]
    pub fn shared_blocks(&self, other: &Self) -> usize {
        let same = |(ours, theirs): &(&Block, &Block)| match (&ours.pages, &theirs.pages) {
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        };
        self.blocks.iter().zip(&other.blocks).filter(same).count()
    }

    /// The first page in which two parts differ, or `None` if all contents are equal; wear is ignored.
    ///
    /// # Panics
    /// When the geometries differ.
    #[must_use]
    pub fn first_difference(&self, other: &Self) -> Option<Row> {
        assert!(self.geometry == other.geometry, "NandArray::first_difference: other geometry");
        let (mut mine, mut theirs) =
            (vec![0; self.geometry.row_bytes()], vec![0; self.geometry.row_bytes()]);
        let blocks = self.blocks.iter().zip(&other.blocks).zip(0_u32..);
        let changed = blocks.filter(|((mine, theirs), _)| match (&mine.pages, &theirs.pages) {
            (Some(mine), Some(theirs)) => !Arc::ptr_eq(mine, theirs),
            (mine, theirs) => mine.is_some() || theirs.is_some(),
        });
        let rows = changed.flat_map(|(_, block)| {
            (0..self.geometry.pages_per_block).map(move |page| Row { block, page })
        });
        rows.into_iter().find(|&row| {
            self.peek(row, 0, &mut mine);
            other.peek(row, 0, &mut theirs);
            mine != theirs
        })
    }

    /// Changes the bytes of every stored page of a block; for [`crate::nand_torn`].
    pub(crate) fn change_block(&mut self, block: u32, mut change: impl FnMut(&mut [u8])) {
        let main = self.geometry.page.to_usize();
        let mut whole = vec![ERASED; self.geometry.row_bytes()];
        let Some(pages) = &mut self.blocks[slot(block)].pages else { return };
        for page in Arc::make_mut(pages).iter_mut().flatten() {
            page.copy_to(main, 0, &mut whole);
            change(&mut whole);
            Arc::make_mut(page).store(main, &whole);
        }
    }

    /// Counts one interrupted erase and leaves the block weak by `seed`.
    pub(crate) fn weaken(&mut self, block: u32, seed: u64) {
        let block = &mut self.blocks[slot(block)];
        block.erases = block.erases.saturating_add(1);
        block.weak = Some(seed);
    }

    fn page(&self, row: Row) -> Option<&Page> {
        assert!(self.geometry.contains(row), "NandArray: no {row}");
        let pages = self.blocks[slot(row.block)].pages.as_ref()?;
        pages[slot(row.page)].as_deref()
    }
}

impl Block {
    fn page_mut(&mut self, page: u32, count: u32) -> &mut Option<Arc<Page>> {
        let blank = || Arc::new(vec![None; slot(count)].into_boxed_slice());
        let pages = self.pages.get_or_insert_with(blank);
        &mut Arc::make_mut(pages)[slot(page)]
    }
}

impl Clone for Page {
    fn clone(&self) -> Self {
        let Self { used, programs, written, .. } = *self;
        let lent = if self.lent { nand_memory::lend(&self.bytes) } else { None };
        let is_lent = lent.is_some();
        let bytes = lent.unwrap_or_else(|| self.bytes.clone());
        Self { bytes, used, lent: is_lent, programs, written }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl Page {
    /// A page without bytes, which the first program stores.
    fn erased(now: Instant) -> Self {
        Self { bytes: Box::default(), used: 0, lent: false, programs: [0; 2], written: now }
    }

    /// Stores all bytes of a page with `main` main bytes.
    fn store(&mut self, main: usize, whole: &[u8]) {
        let (data, oob) = whole.split_at(main);
        let last = data.iter().rposition(|&byte| byte != ERASED);
        let used = last.map_or(0, |last| last + 1);
        let lent = if used == main { nand_memory::lend(whole) } else { None };
        self.give_back();
        self.lent = lent.is_some();
        self.bytes = lent.unwrap_or_else(|| [&data[..used], oob].concat().into());
        self.used = u32::try_from(used).expect("at most 32 KiB");
    }

    /// Gives back memory that is lent.
    fn give_back(&mut self) {
        if std::mem::take(&mut self.lent) {
            nand_memory::take_back(std::mem::take(&mut self.bytes));
        }
    }

    /// Copies bytes from `column` on to `buffer`.
    fn copy_to(&self, main: usize, column: usize, buffer: &mut [u8]) {
        let end = column + buffer.len();
        let used = slot(self.used);
        if used == main {
            buffer.copy_from_slice(&self.bytes[column..end]);
            return;
        }
        buffer.fill(ERASED);
        let (data, oob) = self.bytes.split_at(used);
        if column < used {
            let data = &data[column..end.min(used)];
            buffer[..data.len()].copy_from_slice(data);
        }
        if end > main {
            let first = column.max(main);
            buffer[first - column..].copy_from_slice(&oob[first - main..end - main]);
        }
    }

    /// Clears the bits that are zero in `data`, in a page of `main` main bytes and `size` in all.
    fn clear(&mut self, (main, size): (usize, usize), column: usize, data: &[u8]) {
        if self.bytes.is_empty() && data.len() == size {
            self.store(main, data);
            return;
        }
        let clear = |cells: &mut [u8]| {
            let cells = &mut cells[column..column + data.len()];
            cells.iter_mut().zip(data).for_each(|(cell, &byte)| *cell &= byte);
        };
        if slot(self.used) == main {
            clear(&mut self.bytes);
            return;
        }
        let mut whole = vec![ERASED; size];
        if !self.bytes.is_empty() {
            self.copy_to(main, 0, &mut whole);
        }
        clear(&mut whole);
        self.store(main, &whole);
    }
}

/// `data` as a block with weak cells holds them: about one bit in 256 remains one. The fraction is
/// assumed.
fn held_by_weak_cells(seed: u64, page: u32, column: usize, data: &[u8]) -> Vec<u8> {
    let byte = |(at, &byte): (usize, &u8)| {
        let place = (u64::from(page) << 32) ^ u64::try_from(column + at).expect("a column");
        let drawn = mix(seed ^ mix(place));
        // One byte in 32 has one weak cell: 1 bit in 256.
        if drawn.is_multiple_of(32) { byte | 1 << (drawn >> 32 & 7) } else { byte }
    };
    data.iter().enumerate().map(byte).collect()
}

/// The next number of SplitMix64 after the state `value`.
#[inline]
pub(crate) const fn mix(value: u64) -> u64 {
    boardlab_sim::mix(value.wrapping_add(MIX_STEP))
}

#[inline]
fn slot(index: u32) -> usize {
    usize::try_from(index).expect("usize holds u32")
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_sim::Seed;

    const GIB: NandGeometry = NandGeometry {
        blocks: 8_192,
        pages_per_block: 64,
        page: Bytes::new(2_048),
        oob: Bytes::new(64),
    };
    const ROW: Row = Row { block: 7, page: 9 };

    fn array(cell: CellKind) -> NandArray {
        NandArray::new(GIB, ProgramRules::of(cell, 4))
    }

    fn read(array: &NandArray, row: Row) -> Vec<u8> {
        let mut bytes = vec![0; GIB.row_bytes()];
        array.peek(row, 0, &mut bytes);
        bytes
    }

    #[test]
    fn a_program_clears_bits_of_main_and_spare_bytes_and_sets_none() {
        let mut array = array(CellKind::Slc);
        array.program(Instant::ZERO, ROW, 2_047, &[0x0F, 0x55]);
        array.program(Instant::ZERO, ROW, 2_047, &[0xF5, 0xA5]);
        let bytes = read(&array, ROW);
        assert_eq!(bytes[2_046..2_050], [0xFF, 0x05, 0x05, 0xFF]);
        array.erase(7);
        assert_eq!(read(&array, ROW), vec![0xFF; 2_112]);
        assert_eq!((array.erase_count(7), array.program_count(7), array.erase_count(8)), (1, 2, 0));
    }

    #[test]
    fn a_page_reads_as_it_was_programmed_whatever_of_it_is_stored() {
        let mut stream = Seed::new(1).stream("page");
        let mut draw = move |bound: usize| {
            usize::try_from(stream.below(u64::try_from(bound).unwrap())).unwrap()
        };
        for _ in 0..200 {
            let mut array = array(CellKind::Slc);
            let mut model = vec![0xFF; GIB.row_bytes()];
            for _ in 0..6 {
                let column = [0, 0, 512, 2_048, draw(2_112)][draw(5)];
                let most = GIB.row_bytes() - column;
                let mut data = vec![0xFF; [most, 64.min(most), draw(most + 1)][draw(3)]];
                for _ in 0..draw(4).min(data.len()) {
                    let at = draw(data.len());
                    data[at] = 0x5A;
                }
                array.program(Instant::ZERO, ROW, column, &data);
                model[column..].iter_mut().zip(&data).for_each(|(cell, &byte)| *cell &= byte);
                let from = draw(2_112);
                let mut found = vec![0; draw(2_112 - from + 1)];
                array.peek(ROW, from, &mut found);
                assert!(found == model[from..from + found.len()]);
                assert!(read(&array, ROW) == model);
                assert_eq!(array.is_erased(7), model.iter().all(|&byte| byte == 0xFF));
            }
            array.change_block(7, |page| {
                assert!(page == model);
                page[100] |= 0xF0;
            });
            model[100] |= 0xF0;
            assert!(read(&array, ROW) == model);
        }
    }

    #[test]
    fn ones_at_the_end_of_the_main_bytes_take_no_memory() {
        let mut array = array(CellKind::Slc);
        let stored = |array: &NandArray| array.page(ROW).unwrap().bytes.len();
        array.program(Instant::ZERO, ROW, 2_048, &[0; 8]);
        assert_eq!(stored(&array), 64);
        array.program(Instant::ZERO, ROW, 0, &[0; 100]);
        assert_eq!(stored(&array), 164);
        array.program(Instant::ZERO, ROW, 2_000, &[0; 48]);
        assert_eq!(stored(&array), 2_112);
    }

    #[test]
    fn a_mostly_empty_gibibyte_stores_only_what_was_programmed() {
        let mut array = array(CellKind::Slc);
        for block in (0..GIB.blocks).step_by(1_000) {
            array.program(Instant::ZERO, Row { block, page: 63 }, 0, &[0; 2_112]);
        }
        assert_eq!(array.stored_pages(), 9);
        array.load(ROW, &[0xFF; 2_112]);
        assert_eq!(array.stored_pages(), 9);
    }

    #[test]
    fn a_clone_shares_blocks_and_pages_until_one_side_writes() {
        let mut array = array(CellKind::Slc);
        for page in 0..64 {
            array.program(Instant::ZERO, Row { block: 7, page }, 0, &[0x77; 2_112]);
        }
        let before = array.clone();
        assert_eq!(array.shared_blocks(&before), 8_192);
        assert_eq!(array.first_difference(&before), None);
        array.program(Instant::ZERO, ROW, 0, &[0]);
        assert_eq!(array.shared_blocks(&before), 8_191);
        assert_eq!(array.first_difference(&before), Some(ROW));
        let shared = |page: usize| {
            let pages = |array: &NandArray| array.blocks[7].pages.clone().unwrap();
            Arc::ptr_eq(
                pages(&array)[page].as_ref().unwrap(),
                pages(&before)[page].as_ref().unwrap(),
            )
        };
        assert!(shared(8) && !shared(9));
    }

    #[test]
    fn too_many_programs_of_main_or_of_spare_bytes_are_reported_and_done() {
        let mut array = array(CellKind::Slc);
        for _ in 0..4 {
            assert_eq!(array.program(Instant::ZERO, ROW, 0, &[0xFE; 512]), None);
            assert_eq!(array.program(Instant::ZERO, ROW, 2_048, &[0xFE; 16]), None);
        }
        let broken = Some(Violation::TooManyPrograms { row: ROW, programs: 5 });
        assert_eq!(array.program(Instant::ZERO, ROW, 2_111, &[0]), broken);
        assert_eq!(read(&array, ROW)[2_111], 0);
        array.erase(7);
        assert_eq!(array.program(Instant::ZERO, ROW, 0, &[0; 2_112]), None);
    }

    #[test]
    fn pages_of_multi_level_cells_go_upwards_and_those_of_slc_anywhere() {
        for (cell, after) in [(CellKind::Slc, None), (CellKind::Mlc, Some(9))] {
            let mut array = array(cell);
            let earlier = Row { page: 8, ..ROW };
            assert_eq!(array.program(Instant::ZERO, ROW, 0, &[0]), None);
            let broken = after.map(|after| Violation::OutOfOrder { row: earlier, after });
            assert_eq!(array.program(Instant::ZERO, earlier, 0, &[0]), broken, "{cell:?}");
            array.erase(7);
            assert_eq!(array.program(Instant::ZERO, earlier, 0, &[0]), None);
        }
    }

    #[test]
    fn stress_counts_reads_of_the_block_and_time_since_the_program() {
        let mut array = array(CellKind::Slc);
        let now = Instant::from_nanos(1_000);
        array.program(now, ROW, 0, &[0]);
        array.count_read(Row { page: 1, ..ROW });
        array.age(Duration::from_secs(60));
        let stress = array.stress(ROW, now + Duration::from_nanos(5));
        let retention = Duration::from_secs(60) + Duration::from_nanos(5);
        assert_eq!(stress, Stress { erases: 0, retention, reads: 1, programmed: true });
        let erased = array.stress(Row { page: 1, ..ROW }, now);
        assert_eq!((erased.retention, erased.programmed), (Duration::ZERO, false));
        array.erase(7);
        assert_eq!(array.stress(ROW, now), Stress { erases: 1, ..Stress::default() });
    }

    #[test]
    fn geometries_that_cannot_be_are_told_apart() {
        assert!(GIB.is_sound());
        assert_eq!((GIB.size(), GIB.rows()), (Bytes::mib(1_024), 524_288));
        for unsound in [
            NandGeometry { blocks: 0, ..GIB },
            NandGeometry { pages_per_block: 0, ..GIB },
            NandGeometry { page: Bytes::new(2_000), ..GIB },
            NandGeometry { page: Bytes::new(256), ..GIB },
            NandGeometry { oob: Bytes::new(4_096), ..GIB },
            NandGeometry { blocks: 1 << 20, ..GIB },
        ] {
            assert!(!unsound.is_sound(), "{unsound:?}");
        }
    }
}
