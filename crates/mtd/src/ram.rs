//! A raw flash in memory: the rules of flash without its physics.
//!
//! Layer: rank 2. Main types: [`RamMtd`] and [`Costs`]. Any geometry works: NOR that programs bytes
//! or words, NAND with pages, OOB bytes and bad blocks, or plain RAM blocks. A program changes bits
//! from 1 to 0 only (old AND new), and an erase sets them. A clone shares the contents of all blocks
//! until one side changes them, so a run can be forked at every operation.
//!
//! Source of the rules: Linux 6.1 `drivers/mtd/nand/raw/nand_base.c` (an erase of a bad block is
//! refused, reads and programs are not). The user gives the costs, zero by default.
//! Left out: bit errors, wear and real timing (crates `nor` and `nand`), and NAND's rule that
//! pages of a block are programmed in order.

use crate::device::{Mtd, RawPages, ReadHealth, ReadResult};
use crate::error::Error;
use crate::geometry::{FlashKind, Geometry, Oob};
use crate::index::{BlockIndex, PageIndex};
use boardlab_sim::{Bytes, Clock, Duration, Rate};
use std::ops::Range;
use std::sync::Arc;

/// Constant costs of operations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Costs {
    /// The time of a read.
    pub read: Duration,
    /// The time of a program, per write buffer in its range.
    pub program: Duration,
    /// The time of an erase.
    pub erase: Duration,
    /// The transfer rate of the bytes of a read or a program, whose time is added; infinite if `None`.
    pub transfer: Option<Rate>,
}

impl Costs {
    fn transfer(&self, length: Bytes) -> Duration {
        self.transfer.map_or(Duration::ZERO, |rate| rate.time_for(length))
    }
}

/// A flash in memory.
#[derive(Debug, Clone)]
pub struct RamMtd {
    geometry: Geometry,
    costs: Costs,
    program_once: bool,
    blocks: Vec<Block>,
}

/// One erase block.
#[derive(Debug, Clone, Default)]
struct Block {
    /// `None` while the block is erased.
    cells: Option<Arc<Cells>>,
    erases: u64,
    bad: bool,
}

/// The contents of a block that is not erased.
#[derive(Debug, Clone)]
struct Cells {
    data: Box<[u8]>,
    /// OOB bytes, page after page.
    oob: Box<[u8]>,
    /// Whether each page is programmed; empty unless a page may be programmed only once.
    programmed: Box<[bool]>,
}

impl RamMtd {
    /// An erased flash of this geometry.
    ///
    /// # Panics
    /// If the geometry is inconsistent, see [`Geometry::is_sound`].
    #[must_use]
    pub fn new(geometry: Geometry) -> Self {
        assert!(geometry.is_sound(), "RamMtd: a geometry that is not sound: {geometry:?}");
        let blocks = (0..geometry.block_count()).map(|_| Block::default()).collect();
        Self { geometry, costs: Costs::default(), program_once: false, blocks }
    }

    /// An erased NOR of `count` blocks of `size`, each byte of which can be programmed.
    #[must_use]
    pub fn nor(count: u32, size: Bytes) -> Self {
        Self::new(Geometry::uniform(FlashKind::Nor, count, size))
    }

    /// An erased NAND of `count` blocks of `pages` pages, all of whose `oob` bytes are free.
    #[must_use]
    pub fn nand(count: u32, pages: u32, page: Bytes, oob: Bytes) -> Self {
        Self::new(Geometry {
            write_size: page,
            write_buffer: page,
            oob: Some(Oob { size: oob, available: oob }),
            ..Geometry::uniform(FlashKind::Nand, count, page * u64::from(pages))
        })
    }

    /// This flash with these costs.
    #[must_use]
    pub const fn with_costs(mut self, costs: Costs) -> Self {
        self.costs = costs;
        self
    }

    /// This flash with the rule that a page may be programmed once between erases, as on MLC NAND.
    /// A program of OOB bytes alone remains possible, for bad-block marks.
    #[must_use]
    pub const fn program_once(mut self) -> Self {
        self.program_once = true;
        self
    }

    /// The number of erases of a block.
    ///
    /// # Errors
    /// [`Error::NoSuchBlock`].
    pub fn erase_count(&self, block: BlockIndex) -> Result<u64, Error> {
        self.index(block).map(|index| self.blocks[index].erases)
    }

    /// All main bytes of the device.
    #[must_use]
    pub fn image(&self) -> Vec<u8> {
        let mut image = vec![0; self.geometry.size().to_usize()];
        self.copy_out(Bytes::ZERO..self.geometry.size(), &mut image);
        image
    }

    /// The number of blocks that share their contents with `other`, including erased ones.
    #[must_use]
    pub fn shared_blocks(&self, other: &Self) -> usize {
        let same = |(ours, theirs): &(&Block, &Block)| match (&ours.cells, &theirs.cells) {
            (Some(ours), Some(theirs)) => Arc::ptr_eq(ours, theirs),
            (ours, theirs) => ours.is_none() && theirs.is_none(),
        };
        self.blocks.iter().zip(&other.blocks).filter(same).count()
    }

    fn index(&self, block: BlockIndex) -> Result<usize, Error> {
        self.geometry.block_range(block)?;
        Ok(slot(block))
    }

    fn copy_out(&self, range: Range<Bytes>, buffer: &mut [u8]) {
        let from = range.start;
        for (block, piece) in self.geometry.by_block(range) {
            let target =
                &mut buffer[(piece.start - from).to_usize()..(piece.end - from).to_usize()];
            match &self.blocks[slot(block)].cells {
                None => target.fill(0xFF),
                Some(cells) => {
                    target.copy_from_slice(&cells.data[within(&self.geometry, block, &piece)]);
                }
            }
        }
    }

    /// The contents of `block`, unshared.
    fn cells(&mut self, block: BlockIndex) -> &mut Cells {
        let (geometry, once) = (&self.geometry, self.program_once);
        let cells = &mut self.blocks[slot(block)].cells;
        Arc::make_mut(cells.get_or_insert_with(|| Arc::new(Cells::erased(geometry, block, once))))
    }

    /// The block, and the index in it, of the page that starts at `start`, which is in the device.
    fn page_in_block(&self, start: Bytes) -> (BlockIndex, usize) {
        let block = self.geometry.block_at(start).expect("the page lies within the device");
        let (first, _) = self.geometry.block(block).expect("the block is one of the device");
        (block, (start - first).to_usize() / self.geometry.write_size.to_usize())
    }

    fn check_once(&self, range: &Range<Bytes>) -> Result<(), Error> {
        if !self.program_once {
            return Ok(());
        }
        let unit = self.geometry.write_size;
        for number in range.start / unit..range.end / unit {
            let (block, page) = self.page_in_block(unit * number);
            let cells = self.blocks[slot(block)].cells.as_ref();
            if cells.is_some_and(|cells| cells.programmed[page]) {
                let page = u32::try_from(number).expect("pages are counted in u32");
                return Err(Error::AlreadyProgrammed { page: PageIndex(page) });
            }
        }
        Ok(())
    }

    /// Programs `data`: old AND new, block by block. The range is in the device and aligned.
    fn merge(&mut self, range: Range<Bytes>, data: &[u8]) {
        let (from, unit) = (range.start, self.geometry.write_size.to_usize());
        let pieces: Vec<_> = self.geometry.by_block(range).collect();
        for (block, piece) in pieces {
            let new = &data[(piece.start - from).to_usize()..(piece.end - from).to_usize()];
            let place = within(&self.geometry, block, &piece);
            let cells = self.cells(block);
            if !cells.programmed.is_empty() {
                cells.programmed[place.start / unit..place.end / unit].fill(true);
            }
            cells.data[place].iter_mut().zip(new).for_each(|(old, new)| *old &= new);
        }
    }

    fn program_time(&self, range: &Range<Bytes>) -> Duration {
        if range.is_empty() {
            return Duration::ZERO;
        }
        let buffer = self.geometry.write_buffer;
        let touched = range.end.div_ceil(buffer) - range.start / buffer;
        self.costs.program * touched + self.costs.transfer(range.end - range.start)
    }
}

impl Cells {
    fn erased(geometry: &Geometry, block: BlockIndex, once: bool) -> Self {
        let (_, size) = geometry.block(block).expect("the block is one of the device");
        let pages = size.to_usize() / geometry.write_size.to_usize();
        let spare = geometry.oob.map_or(0, |oob| oob.size.to_usize());
        Self {
            data: vec![0xFF; size.to_usize()].into(),
            oob: vec![0xFF; spare * pages].into(),
            programmed: vec![false; if once { pages } else { 0 }].into(),
        }
    }
}

fn slot(block: BlockIndex) -> usize {
    usize::try_from(block.0).expect("usize holds u32")
}

/// The range of `piece`, which is in `block`, within the block's bytes.
fn within(geometry: &Geometry, block: BlockIndex, piece: &Range<Bytes>) -> Range<usize> {
    let (start, _) = geometry.block(block).expect("the block is one of the device");
    (piece.start - start).to_usize()..(piece.end - start).to_usize()
}

impl Mtd for RamMtd {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
        let range = self.geometry.range(offset, Bytes::of(buffer))?;
        clock.advance(self.costs.read + self.costs.transfer(Bytes::of(buffer)));
        self.copy_out(range, buffer);
        Ok(ReadHealth::default())
    }

    fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error> {
        let range = self.geometry.program_range(offset, Bytes::of(data))?;
        self.check_once(&range)?;
        clock.advance(self.program_time(&range));
        self.merge(range, data);
        Ok(())
    }

    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        let index = self.index(block)?;
        let target = &mut self.blocks[index];
        if target.bad {
            return Err(Error::BadBlock { block });
        }
        clock.advance(self.costs.erase);
        target.cells = None;
        target.erases += 1;
        Ok(())
    }

    fn read_oob(&mut self, clock: &mut Clock, page: PageIndex, buffer: &mut [u8]) -> ReadResult {
        let oob = self.geometry.oob_range(page, Bytes::of(buffer))?;
        let start = self.geometry.page_range(page)?.start;
        clock.advance(self.costs.read + self.costs.transfer(Bytes::of(buffer)));
        let (block, index) = self.page_in_block(start);
        let first = index * oob.size.to_usize();
        match &self.blocks[slot(block)].cells {
            None => buffer.fill(0xFF),
            Some(cells) => buffer.copy_from_slice(&cells.oob[first..first + buffer.len()]),
        }
        Ok(ReadHealth::default())
    }

    fn read_page(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> ReadResult {
        let start = self.geometry.page_range(page)?.start;
        self.geometry.range(start, Bytes::of(data))?;
        self.read_oob(clock, page, oob)?;
        clock.advance(self.costs.transfer(Bytes::of(data)));
        self.copy_out(start..start + Bytes::of(data), data);
        Ok(ReadHealth::default())
    }

    fn program_oob(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), Error> {
        let spare = self.geometry.oob_range(page, Bytes::of(oob))?;
        let start = self.geometry.page_range(page)?.start;
        let range = self.geometry.program_range(start, Bytes::of(data))?;
        if Bytes::of(data) > self.geometry.write_size {
            let unit = self.geometry.write_size;
            return Err(Error::Misaligned { offset: start, length: Bytes::of(data), unit });
        }
        self.check_once(&range)?;
        clock.advance(self.costs.program + self.costs.transfer(Bytes::of(data) + Bytes::of(oob)));
        self.merge(range, data);
        let (block, index) = self.page_in_block(start);
        let first = index * spare.size.to_usize();
        let target = &mut self.cells(block).oob[first..first + oob.len()];
        target.iter_mut().zip(oob).for_each(|(old, new)| *old &= new);
        Ok(())
    }

    fn is_bad(&mut self, _clock: &mut Clock, block: BlockIndex) -> Result<bool, Error> {
        self.index(block).map(|index| self.blocks[index].bad)
    }

    fn mark_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
        let index = self.index(block)?;
        self.geometry.oob.ok_or(Error::NoOob)?;
        clock.advance(self.costs.program);
        self.blocks[index].bad = true;
        Ok(())
    }
}

/// All OOB bytes are free, so raw pages equal pages.
impl RawPages for RamMtd {
    fn read_raw(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> Result<(), Error> {
        let start = self.geometry.page_range(page)?.start;
        self.read_oob(clock, page, oob)?;
        self.read(clock, start, data).map(|_| ())
    }

    fn program_raw(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), Error> {
        self.program_oob(clock, page, data, oob)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Bytes = Bytes::new(512);

    fn nand() -> RamMtd {
        RamMtd::nand(4, 8, PAGE, Bytes::new(16))
    }

    #[test]
    fn a_program_clears_bits_and_only_an_erase_sets_them() {
        let (mut flash, mut clock) = (RamMtd::nor(2, Bytes::new(16)), Clock::new());
        flash.program(&mut clock, Bytes::new(15), &[0x55, 0xF0]).unwrap();
        flash.program(&mut clock, Bytes::new(15), &[0xA5, 0xFF]).unwrap();
        assert_eq!(flash.image()[14..18], [0xFF, 0x05, 0xF0, 0xFF]);
        flash.erase(&mut clock, BlockIndex(0)).unwrap();
        assert_eq!(flash.image()[14..18], [0xFF, 0xFF, 0xF0, 0xFF]);
        assert_eq!(flash.erase_count(BlockIndex(0)), Ok(1));
        assert_eq!(flash.erase_count(BlockIndex(1)), Ok(0));
    }

    #[test]
    fn a_clone_shares_blocks_until_one_side_writes() {
        let (mut flash, mut clock) = (RamMtd::nor(100, Bytes::kib(64)), Clock::new());
        flash.program(&mut clock, Bytes::kib(64), &[1]).unwrap();
        flash.program(&mut clock, Bytes::kib(128), &[2]).unwrap();
        let before = flash.clone();
        assert_eq!(flash.shared_blocks(&before), 100);
        flash.program(&mut clock, Bytes::kib(64) + Bytes::new(1), &[3]).unwrap();
        flash.erase(&mut clock, BlockIndex(2)).unwrap();
        assert_eq!(flash.shared_blocks(&before), 98);
        assert_eq!(before.image()[65_537], 0xFF);
        assert_eq!(before.image()[131_072], 2);
    }

    #[test]
    fn costs_count_touched_write_buffers_and_the_transfer_once() {
        let geometry = Geometry {
            write_buffer: Bytes::new(32),
            ..Geometry::uniform(FlashKind::Nor, 2, Bytes::kib(1))
        };
        let costs = Costs {
            read: Duration::from_nanos(100),
            program: Duration::from_micros(200),
            erase: Duration::from_millis(300),
            transfer: Rate::new(Bytes::new(3), Duration::from_nanos(10)),
        };
        let (mut flash, mut clock) = (RamMtd::new(geometry).with_costs(costs), Clock::new());
        let mut took = |run: &mut dyn FnMut(&mut RamMtd, &mut Clock)| {
            let start = clock.now();
            run(&mut flash, &mut clock);
            clock.now().since(start).as_nanos()
        };
        let mut program = |offset, length| {
            took(&mut |flash, clock| {
                flash.program(clock, Bytes::new(offset), &vec![0; length]).unwrap();
            })
        };
        assert_eq!(program(0, 30), 200_000 + 100);
        assert_eq!(program(31, 2), 400_000 + 7);
        assert_eq!(program(32, 0), 0);
        let read = took(&mut |flash, clock| {
            flash.read(clock, Bytes::ZERO, &mut [0; 3]).unwrap();
        });
        assert_eq!(read, 110);
        let erase = took(&mut |flash, clock| flash.erase(clock, BlockIndex(0)).unwrap());
        assert_eq!(erase, 300_000_000);
    }

    #[test]
    fn a_page_takes_data_once_when_that_is_the_rule() {
        let (mut flash, mut clock) = (nand().program_once(), Clock::new());
        flash.program_oob(&mut clock, PageIndex(9), &[], &[0xFE]).unwrap();
        flash.program(&mut clock, PAGE * 8, &[7; 1_024]).unwrap();
        let again = flash.program(&mut clock, PAGE * 7, &[7; 1_024]);
        assert_eq!(again, Err(Error::AlreadyProgrammed { page: PageIndex(8) }));
        assert!(flash.image()[7 * 512..8 * 512].iter().all(|&byte| byte == 0xFF));
        let again = flash.program_oob(&mut clock, PageIndex(9), &[7; 512], &[]);
        assert_eq!(again, Err(Error::AlreadyProgrammed { page: PageIndex(9) }));
        flash.program_oob(&mut clock, PageIndex(9), &[], &[0xFC]).unwrap();
        flash.erase(&mut clock, BlockIndex(1)).unwrap();
        flash.program(&mut clock, PAGE * 8, &[7; 512]).unwrap();
    }

    #[test]
    fn spare_bytes_belong_to_their_page_and_go_with_their_block() {
        let (mut flash, mut clock) = (nand(), Clock::new());
        flash.program_oob(&mut clock, PageIndex(8), &[1; 512], &[2, 3]).unwrap();
        flash.program_oob(&mut clock, PageIndex(9), &[], &[0xF0; 16]).unwrap();
        let mut oob = [0; 3];
        flash.read_oob(&mut clock, PageIndex(8), &mut oob).unwrap();
        assert_eq!(oob, [2, 3, 0xFF]);
        flash.read_oob(&mut clock, PageIndex(9), &mut oob).unwrap();
        assert_eq!(oob, [0xF0; 3]);
        assert_eq!(flash.image()[8 * 512..][..513], [&[1; 512][..], &[0xFF]].concat());
        flash.erase(&mut clock, BlockIndex(1)).unwrap();
        flash.read_oob(&mut clock, PageIndex(9), &mut oob).unwrap();
        assert_eq!(oob, [0xFF; 3]);
    }

    #[test]
    fn spare_bytes_are_refused_beyond_their_number_and_without_any() {
        let (mut flash, mut clock) = (nand(), Clock::new());
        let length = Bytes::new(17);
        let page = PageIndex(0);
        let refused = Err(Error::OobOutOfRange { page, length, size: Bytes::new(16) });
        assert_eq!(flash.read_oob(&mut clock, page, &mut [0; 17]), refused);
        let page = PageIndex(32);
        let refused = Err(Error::NoSuchPage { page, count: 32 });
        assert_eq!(flash.program_oob(&mut clock, page, &[], &[0]), refused);
        let two = flash.program_oob(&mut clock, PageIndex(0), &[0; 1_024], &[]);
        assert!(matches!(two, Err(Error::Misaligned { .. })));
        let mut nor = RamMtd::nor(1, Bytes::kib(1));
        assert_eq!(nor.read_oob(&mut clock, PageIndex(0), &mut [0]), Err(Error::NoOob));
        assert_eq!(nor.mark_bad(&mut clock, BlockIndex(0)), Err(Error::NoOob));
        assert_eq!(nor.is_bad(&mut clock, BlockIndex(0)), Ok(false));
    }

    #[test]
    fn a_bad_block_is_not_erased_but_still_read() {
        let (mut flash, mut clock) = (nand(), Clock::new());
        let block = BlockIndex(2);
        flash.program(&mut clock, PAGE * 16, &[9; 512]).unwrap();
        flash.mark_bad(&mut clock, block).unwrap();
        assert_eq!(flash.is_bad(&mut clock, block), Ok(true));
        assert_eq!(flash.erase(&mut clock, block), Err(Error::BadBlock { block }));
        assert_eq!(flash.image()[16 * 512], 9);
        assert_eq!(flash.erase_count(block), Ok(0));
    }

    #[test]
    #[should_panic(expected = "not sound")]
    fn an_unsound_geometry_is_a_broken_invariant() {
        let _ = RamMtd::nor(0, Bytes::kib(1));
    }
}
