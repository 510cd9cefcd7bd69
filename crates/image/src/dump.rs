//! An image as a flash that can be read, programmed and erased, while its file stays unchanged.
//!
//! Layer: rank 7. Main type: [`Dump`], an [`Mtd`] with [`RawPages`]. Programmed or erased blocks
//! are kept in memory beside the file, so that a filesystem may recover, collect garbage and write.
//! A clone shares everything that neither side has changed. A [`Journal`] hears of each change before it
//! happens, and may prevent it.
//!
//! With OOB bytes in the file, data are corrected as they are read, and a page without errors is
//! not checked again. Bad blocks are recognised by their marks, as in Linux 6.1 (`nand_block_isbad`
//! in `drivers/mtd/nand/raw/nand_legacy.c`): the mark in the first or in the second page is not
//! 0xFF. Bytes beyond the end of the file read as erased.
//!
//! Operations take no virtual time, because the flash of a dump is not present. Left out: the rule
//! that pages of a block are programmed in order.

use crate::contents::{Contents, Reader};
use crate::error::Error;
use crate::health::Health;
use crate::shape::Shape;
use crate::spare::Spare;
use boardlab_mtd::{BlockIndex, Error as MtdError, Geometry, Mtd, PageIndex, RawPages, ReadHealth};
use boardlab_sim::{Bytes, Clock};
use std::io;
use std::ops::Range;
use std::sync::Arc;

/// The pages that are fetched from the file at once.
const RUN: u64 = 32;

/// The flash of an image.
#[derive(Debug, Clone)]
pub struct Dump {
    file: Reader,
    shape: Shape,
    geometry: Geometry,
    /// `None` without OOB bytes in the file.
    spare: Option<Spare>,
    blocks: Vec<Layer>,
    /// By page, whether it was read without errors.
    clean: Vec<u64>,
    /// The results of the error correction so far.
    health: Health,
    /// The buffer for raw pages.
    scratch: Vec<u8>,
    /// Whether parts of pages are programmed, as UBI does with its headers.
    partial_pages: bool,
    tap: Tap,
}

/// A change of a flash. Offsets are those of the dump: with the OOB bytes after each page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// A block is erased.
    Erase {
        /// Which.
        block: BlockIndex,
    },
    /// Bits become 0: those that are 0 in the data, and no others.
    Program {
        /// The first byte.
        at: Bytes,
        /// The data, all in one block.
        data: &'a [u8],
    },
    /// A block is erased and programmed from its first byte on, both or neither.
    Replace {
        /// Which.
        block: BlockIndex,
        /// The data, at most a block.
        data: &'a [u8],
    },
}

/// Hears of the changes of a flash.
pub trait Journal: std::fmt::Debug + Send {
    /// Called before each change, which happens only if this succeeds.
    ///
    /// # Errors
    /// The change cannot be noted.
    fn note(&mut self, change: Change<'_>) -> io::Result<()>;
}

/// The journal of a flash. There is one flash to a journal, so a clone has none.
#[derive(Debug, Default)]
struct Tap(Option<Box<dyn Journal>>);

impl Clone for Tap {
    fn clone(&self) -> Self {
        Self(None)
    }
}

impl Tap {
    /// Whether the change may happen.
    fn takes(&mut self, change: Change<'_>) -> bool {
        self.0.as_mut().is_none_or(|journal| journal.note(change).is_ok())
    }
}

/// What replaces the file's bytes of an erase block.
#[derive(Debug, Clone)]
enum Layer {
    /// Nothing.
    File,
    /// Erased bytes.
    Erased,
    /// These bytes, laid out as in the file.
    Changed(Arc<Vec<u8>>),
}

impl Dump {
    /// The flash of this shape that `contents` is a dump of, without error correction.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Unsound`], [`Error::TooLarge`].
    pub fn new(contents: Contents, shape: Shape) -> Result<Self, Error> {
        shape.check().map_err(|problem| Error::Unsound { problem })?;
        let spare = (!shape.oob.is_zero()).then(|| Spare::uncorrected(shape, None));
        Self::with_spare(contents, shape, spare)
    }

    /// As [`Dump::new`], with the OOB layout `spare`.
    ///
    /// # Errors
    /// Those of [`Dump::new`].
    ///
    /// # Panics
    /// When the layout is for another OOB size, or missing.
    pub fn with_spare(
        contents: Contents,
        shape: Shape,
        spare: Option<Spare>,
    ) -> Result<Self, Error> {
        shape.check().map_err(|problem| Error::Unsound { problem })?;
        let length = contents.length();
        if length.is_zero() {
            return Err(Error::Empty);
        }
        let size = spare.as_ref().map_or(0, |spare| spare.layout().size());
        assert_eq!(size, shape.oob.to_usize(), "Dump: a layout for other spare bytes");
        let available = spare.as_ref().map_or(Bytes::ZERO, Spare::available);
        let geometry = shape.geometry(length, available);
        let geometry = geometry.ok_or(Error::TooLarge { length, shape })?;
        let blocks = vec![Layer::File; index(u64::from(geometry.block_count()))];
        let pages = if shape.oob.is_zero() { 0 } else { geometry.page_count() };
        let clean = vec![0; index(pages.div_ceil(64))];
        let (file, health, scratch) = (Reader::new(contents), Health::default(), Vec::new());
        let partial_pages = false;
        let tap = Tap::default();
        Ok(Self {
            file,
            shape,
            geometry,
            spare,
            blocks,
            clean,
            health,
            scratch,
            partial_pages,
            tap,
        })
    }

    /// The same flash, of which parts of pages can be programmed: whole ECC steps, whose ECC bytes are
    /// erased while their data are.
    pub(crate) const fn with_partial_pages(mut self) -> Self {
        self.partial_pages = true;
        self
    }

    /// The same flash with at least `blocks` erase blocks, those beyond the file erased.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub(crate) fn extended(mut self, blocks: u32) -> Result<Self, Error> {
        if blocks <= self.geometry.block_count() {
            return Ok(self);
        }
        let length = self.shape.raw_block() * u64::from(blocks);
        let available = self.spare.as_ref().map_or(Bytes::ZERO, Spare::available);
        let geometry = self.shape.geometry(length, available);
        self.geometry = geometry.ok_or(Error::TooLarge { length, shape: self.shape })?;
        self.blocks.resize(index(u64::from(blocks)), Layer::File);
        let pages = if self.shape.oob.is_zero() { 0 } else { self.geometry.page_count() };
        self.clean.resize(index(pages.div_ceil(64)), 0);
        Ok(self)
    }

    /// The shape of the flash.
    #[must_use]
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// The use of each OOB byte, where there are any.
    #[must_use]
    pub const fn spare(&self) -> Option<&Spare> {
        self.spare.as_ref()
    }

    /// The results of the error correction in all reads so far.
    #[must_use]
    pub const fn health(&self) -> &Health {
        &self.health
    }

    /// Whether a read in `range` was uncorrectable or failed.
    #[must_use]
    pub fn is_lost(&self, range: &Range<Bytes>) -> bool {
        self.health.is_lost(range, self.unit(), self.step())
    }

    /// The data bytes of an ECC step; 0 without error correction.
    #[must_use]
    pub fn step(&self) -> Bytes {
        self.spare.as_ref().map_or(Bytes::ZERO, Spare::step)
    }

    /// The unit of places: pages, or 512 bytes without pages.
    #[must_use]
    pub fn unit(&self) -> Bytes {
        if self.shape.is_nand() { self.shape.page } else { Bytes::new(512) }
    }

    /// The number of zero bits in the byte of the bad-block mark of `block` that has the most; 0 where there
    /// is no mark.
    ///
    /// # Errors
    /// As [`Mtd::is_bad`].
    pub fn mark_zeros(&mut self, block: BlockIndex) -> Result<u32, MtdError> {
        let place = self.spare.as_ref().map(Spare::mark);
        place.map_or(Ok(0), |place| self.zeros_at(block, &place))
    }

    /// The same for a mark in these OOB bytes.
    pub(crate) fn zeros_at(
        &mut self,
        block: BlockIndex,
        place: &Range<usize>,
    ) -> Result<u32, MtdError> {
        self.geometry.block_range(block)?;
        let within = Bytes::new(place.start as u64);
        let (mut mark, mut most) = (vec![0; place.len()], 0);
        for page in 0..self.shape.pages_per_block().min(2) {
            let start = self.shape.raw_page() * page + self.shape.page + within;
            self.copy_raw(block, start, &mut mark)?;
            let zeros = mark.iter().map(|byte| byte.count_zeros());
            most = zeros.fold(most, u32::max);
        }
        Ok(most)
    }

    /// The number of blocks that differ from the file.
    #[must_use]
    pub fn changed_blocks(&self) -> usize {
        self.blocks.iter().filter(|layer| !matches!(layer, Layer::File)).count()
    }

    /// Copies the raw bytes of `block` from `start` on, an offset within the block in the file.
    /// Bytes beyond the end of the file are erased.
    fn copy_raw(
        &mut self,
        block: BlockIndex,
        start: Bytes,
        target: &mut [u8],
    ) -> Result<(), MtdError> {
        // Processors take long to fill nothing at an address that there is not, as empty slices have.
        if target.is_empty() {
            return Ok(());
        }
        match &self.blocks[slot(block)] {
            Layer::Erased => target.fill(0xFF),
            Layer::Changed(bytes) => {
                let start = start.to_usize();
                target.copy_from_slice(&bytes[start..start + target.len()]);
            }
            Layer::File => {
                let offset = self.shape.raw_block() * u64::from(block.0) + start;
                // Bytes that the operating system cannot read are as lost as uncorrectable ones.
                let read = self.file.read(offset, target);
                let read = read.map_err(|_| self.unreadable(block, start, target.len()))?;
                if read < target.len() {
                    target[read..].fill(0xFF);
                }
            }
        }
        Ok(())
    }

    /// Records an unreadable page; longer reads are repeated page by page.
    fn unreadable(&mut self, block: BlockIndex, start: Bytes, length: usize) -> MtdError {
        let page = start / self.shape.raw_page();
        let offset = self.shape.block * u64::from(block.0) + self.shape.page * page;
        let unit = self.unit();
        if Bytes::new(length as u64) <= unit.max(self.shape.raw_page()) {
            self.health.note_unreadable(offset / unit);
        }
        MtdError::Uncorrectable { offset }
    }

    /// Lets `journal` hear of all changes from now on.
    pub fn set_journal(&mut self, journal: Box<dyn Journal>) {
        self.tap = Tap(Some(journal));
    }

    /// The raw bytes of a block that differs from the file; empty ones when it is erased.
    #[must_use]
    pub fn changed_block(&self, block: BlockIndex) -> Option<&[u8]> {
        match self.blocks.get(slot(block))? {
            Layer::File => None,
            Layer::Erased => Some(&[]),
            Layer::Changed(bytes) => Some(bytes),
        }
    }

    /// Erases a block and programs `data` from its first byte on; a power cut leaves both or neither.
    ///
    /// # Errors
    /// As [`Mtd::erase`] and [`Mtd::program`].
    pub(crate) fn replace(
        &mut self,
        clock: &mut Clock,
        block: BlockIndex,
        data: &[u8],
    ) -> Result<(), MtdError> {
        if self.is_bad(clock, block)? {
            return Err(MtdError::BadBlock { block });
        }
        let offset = self.geometry.block_range(block)?.start;
        self.geometry.program_range(offset, Bytes::of(data))?;
        let raw = match &self.spare {
            None => data.to_vec(),
            Some(spare) => {
                let pages = data.chunks_exact(self.shape.page.to_usize());
                pages.flat_map(|page| [page, &spare.protect(page, &[])].concat()).collect()
            }
        };
        if !self.tap.takes(Change::Replace { block, data: &raw }) {
            return Err(MtdError::EraseFailed { block });
        }
        self.forget_clean(block);
        let mut bytes = raw;
        bytes.resize(self.shape.raw_block().to_usize(), 0xFF);
        self.blocks[slot(block)] = Layer::Changed(Arc::new(bytes));
        Ok(())
    }

    /// Replaces the data of a page in memory: the ECC bytes are those of the new data, and the free OOB bytes stay.
    /// Without pages in the flash it is a block.
    ///
    /// # Errors
    /// As [`Mtd::read_oob`].
    ///
    /// # Panics
    /// When the page has another size.
    pub(crate) fn put_page(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &[u8],
    ) -> Result<(), MtdError> {
        let Some(available) = self.spare.as_ref().map(Spare::available) else {
            let at = Bytes::new(u64::from(page.0)) * data.len() as u64;
            let block = at / self.shape.block;
            let start = (at - self.shape.block * block).to_usize();
            let block = BlockIndex(u32::try_from(block).expect("a block of the flash"));
            self.changed(block)?[start..start + data.len()].copy_from_slice(data);
            return Ok(());
        };
        let mut free = vec![0xFF; available.to_usize()];
        match self.read_oob(clock, page, &mut free) {
            Ok(_) | Err(MtdError::Uncorrectable { .. }) => {}
            Err(error) => return Err(error),
        }
        let spare = self.spare.as_ref().expect("it was there");
        let raw = [data, &spare.protect(data, &free)].concat();
        let (block, start) = self.place(page)?;
        let start = start.to_usize();
        self.changed(block)?[start..start + raw.len()].copy_from_slice(&raw);
        Ok(())
    }

    /// Erases a block, whatever mark it has.
    pub(crate) fn blank(&mut self, block: BlockIndex) {
        self.forget_clean(block);
        self.blocks[slot(block)] = Layer::Erased;
    }

    /// The raw bytes of `block`, which are kept in memory from now on.
    fn changed(&mut self, block: BlockIndex) -> Result<&mut Vec<u8>, MtdError> {
        self.forget_clean(block);
        let slot = slot(block);
        if !matches!(self.blocks[slot], Layer::Changed(_)) {
            let mut bytes = vec![0; self.shape.raw_block().to_usize()];
            self.copy_raw(block, Bytes::ZERO, &mut bytes)?;
            self.blocks[slot] = Layer::Changed(Arc::new(bytes));
        }
        match &mut self.blocks[slot] {
            Layer::Changed(bytes) => Ok(Arc::make_mut(bytes)),
            Layer::File | Layer::Erased => unreachable!("the block has just been copied"),
        }
    }

    /// The block of a page, and the offset of the page in it, as in the file.
    fn place(&self, page: PageIndex) -> Result<(BlockIndex, Bytes), MtdError> {
        self.geometry.page_range(page)?;
        let pages = self.shape.pages_per_block();
        let block = u32::try_from(u64::from(page.0) / pages).expect("fewer blocks than pages");
        Ok((BlockIndex(block), self.shape.raw_page() * (u64::from(page.0) % pages)))
    }

    fn is_clean(&self, page: u64) -> bool {
        self.clean[index(page / 64)] & (1 << (page % 64)) != 0
    }

    fn note_clean(&mut self, page: u64) {
        self.clean[index(page / 64)] |= 1 << (page % 64);
    }

    fn forget_clean(&mut self, block: BlockIndex) {
        if self.clean.is_empty() {
            return;
        }
        let pages = self.shape.pages_per_block();
        for page in u64::from(block.0) * pages..(u64::from(block.0) + 1) * pages {
            self.clean[index(page / 64)] &= !(1 << (page % 64));
        }
    }

    /// Reads `piece` of `block` from a file with OOB bytes, in runs of pages.
    fn read_pages(
        &mut self,
        block: BlockIndex,
        piece: Range<Bytes>,
        target: &mut [u8],
        seen: &mut ReadOutcome,
    ) -> Result<(), MtdError> {
        let page = self.shape.page;
        let mut next = piece.start;
        let mut scratch = std::mem::take(&mut self.scratch);
        while next < piece.end {
            let end = piece.end.min(page * (next / page + RUN));
            let part = (next - piece.start).to_usize()..(end - piece.start).to_usize();
            self.copy_run(block, next..end, &mut scratch)?;
            self.take_run(next..end, &mut scratch, &mut target[part], seen);
            next = end;
        }
        self.scratch = scratch;
        Ok(())
    }

    /// Fetches the raw pages of `run`, which lies in `block`.
    fn copy_run(
        &mut self,
        block: BlockIndex,
        run: Range<Bytes>,
        scratch: &mut Vec<u8>,
    ) -> Result<(), MtdError> {
        let Shape { page, block: size, .. } = self.shape;
        let (first, end) = (run.start / page, run.end.div_ceil(page));
        let raw = self.shape.raw_page();
        scratch.resize(raw.to_usize() * index(end - first), 0);
        let in_block = first - size * u64::from(block.0) / page;
        self.copy_raw(block, raw * in_block, scratch)
    }

    /// Corrects the raw pages in `scratch` and copies `run` out of them.
    fn take_run(
        &mut self,
        run: Range<Bytes>,
        scratch: &mut [u8],
        target: &mut [u8],
        seen: &mut ReadOutcome,
    ) {
        let page = self.shape.page;
        let pages = scratch.chunks_exact_mut(self.shape.raw_page().to_usize());
        for (number, bytes) in (run.start / page..).zip(pages) {
            self.correct(number, bytes, seen);
            let (start, stop) = (page * number, page * (number + 1));
            let (from, to) = (start.max(run.start), stop.min(run.end));
            let source = &bytes[(from - start).to_usize()..(to - start).to_usize()];
            target[(from - run.start).to_usize()..(to - run.start).to_usize()]
                .copy_from_slice(source);
        }
    }

    /// Corrects a raw page in place, as far as that is possible.
    fn correct(&mut self, number: u64, bytes: &mut [u8], seen: &mut ReadOutcome) {
        let Some(spare) = self.spare.as_ref().filter(|spare| spare.corrects()) else { return };
        if self.is_clean(number) {
            return;
        }
        let erased = boardlab_mtd::is_erased(bytes);
        let (data, oob) = bytes.split_at_mut(self.shape.page.to_usize());
        let health = &mut self.health;
        let corrected = if erased {
            Some(ReadHealth::default())
        } else {
            spare.correct_steps(data, oob, |step, bits| health.note(number, step, bits))
        };
        match corrected {
            None => seen.lost = true,
            Some(health) if health.corrected == 0 => self.note_clean(number),
            Some(health) => seen.health.add(health.corrected, health.worst),
        }
    }

    /// Reads a page, corrected as far as possible, and its first OOB bytes as they are. Both are filled even
    /// where bits are wrong, and erased where the file cannot be read.
    ///
    /// # Errors
    /// Those of [`Mtd::read`] and [`RawPages::read_raw`].
    pub(crate) fn read_with_oob(
        &mut self,
        page: PageIndex,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> Result<ReadHealth, MtdError> {
        self.check_raw(page, data, oob)?;
        let (block, start) = self.place(page)?;
        if !self.spare.as_ref().is_some_and(Spare::corrects) {
            return self.read_stored(block, start, data, oob);
        }
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.resize(self.shape.raw_page().to_usize(), 0);
        let copied = self.copy_raw(block, start, &mut scratch);
        let mut seen = ReadOutcome::default();
        if copied.is_ok() {
            self.correct(u64::from(page.0), &mut scratch, &mut seen);
            let (main, spare) = scratch.split_at(self.shape.page.to_usize());
            data.copy_from_slice(&main[..data.len()]);
            oob.copy_from_slice(&spare[..oob.len()]);
        } else {
            data.fill(0xFF);
            if self.copy_raw(block, start + self.shape.page, oob).is_err() {
                oob.fill(0xFF);
            }
        }
        self.scratch = scratch;
        copied?;
        let offset = self.shape.page * u64::from(page.0);
        if seen.lost { Err(MtdError::Uncorrectable { offset }) } else { Ok(seen.health) }
    }

    /// As [`Dump::read_with_oob`], of a page without a code: both parts go where they are wanted at once.
    fn read_stored(
        &mut self,
        block: BlockIndex,
        start: Bytes,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> Result<ReadHealth, MtdError> {
        let mut read = Ok(ReadHealth::default());
        for (start, target) in [(start, data), (start + self.shape.page, oob)] {
            if let Err(problem) = self.copy_raw(block, start, target) {
                target.fill(0xFF);
                read = read.and(Err(problem));
            }
        }
        read
    }

    /// Programs a raw page: bits go from 1 to 0 only. Empty halves stay as they are.
    fn merge(&mut self, page: PageIndex, data: &[u8], oob: &[u8]) -> Result<(), MtdError> {
        let (block, start) = self.place(page)?;
        // An empty half programs no bits.
        let mut raw = vec![0xFF; self.shape.raw_page().to_usize()];
        raw[..data.len()].copy_from_slice(data);
        let length = self.shape.page.to_usize();
        raw[length..length + oob.len()].copy_from_slice(oob);
        self.program_raw_bytes(block, start, &raw)
    }

    /// Programs bytes of a block from `start` on, an offset within the block in the file.
    fn program_raw_bytes(
        &mut self,
        block: BlockIndex,
        start: Bytes,
        data: &[u8],
    ) -> Result<(), MtdError> {
        let at = self.shape.raw_block() * u64::from(block.0) + start;
        if !self.tap.takes(Change::Program { at, data }) {
            let page = start / self.shape.raw_page();
            let offset = self.shape.block * u64::from(block.0) + self.shape.page * page;
            return Err(MtdError::ProgramFailed { offset });
        }
        let bytes = &mut self.changed(block)?[start.to_usize()..];
        bytes.iter_mut().zip(data).for_each(|(old, new)| *old &= new);
        Ok(())
    }

    /// Programs whole pages.
    fn program_pages(&mut self, offset: Bytes, data: &[u8]) -> Result<(), MtdError> {
        let range = self.geometry.program_range(offset, Bytes::of(data))?;
        let Some(spare) = &self.spare else {
            let pieces: Vec<_> = self.geometry.by_block(range).collect();
            for (block, piece) in pieces {
                let start = piece.start - self.shape.block * u64::from(block.0);
                let new = &data[(piece.start - offset).to_usize()..(piece.end - offset).to_usize()];
                self.program_raw_bytes(block, start, new)?;
            }
            return Ok(());
        };
        let first = page_index(offset / self.shape.page);
        let pages = data.chunks_exact(self.shape.page.to_usize());
        let protected: Vec<_> = pages.map(|page| (page, spare.protect(page, &[]))).collect();
        for (number, (page, oob)) in (first.0..).zip(protected) {
            self.merge(PageIndex(number), page, &oob)?;
        }
        Ok(())
    }

    fn check_raw(&self, page: PageIndex, data: &[u8], oob: &[u8]) -> Result<(), MtdError> {
        let start = self.geometry.page_range(page)?.start;
        if self.shape.oob.is_zero() {
            return Err(MtdError::NoOob);
        }
        let unit = self.shape.page;
        if !data.is_empty() && Bytes::of(data) != unit {
            return Err(MtdError::Misaligned { offset: start, length: Bytes::of(data), unit });
        }
        if Bytes::of(oob) > self.shape.oob {
            let (length, size) = (Bytes::of(oob), self.shape.oob);
            return Err(MtdError::OobOutOfRange { page, length, size });
        }
        Ok(())
    }
}

impl Mtd for Dump {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn read(
        &mut self,
        _clock: &mut Clock,
        offset: Bytes,
        buffer: &mut [u8],
    ) -> Result<ReadHealth, MtdError> {
        let range = self.geometry.range(offset, Bytes::of(buffer))?;
        let (size, mut seen) = (self.shape.block, ReadOutcome::default());
        let mut next = range.start;
        while next < range.end {
            let number = next / size;
            let block = BlockIndex(u32::try_from(number).expect("blocks are counted in u32"));
            let end = range.end.min(size * (number + 1));
            let target = &mut buffer[(next - offset).to_usize()..(end - offset).to_usize()];
            if self.shape.oob.is_zero() {
                self.copy_raw(block, next - size * number, target)?;
            } else {
                self.read_pages(block, next..end, target, &mut seen)?;
            }
            next = end;
        }
        if seen.lost { Err(MtdError::Uncorrectable { offset }) } else { Ok(seen.health) }
    }

    fn program(&mut self, _clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), MtdError> {
        let (page, length) = (self.shape.page, Bytes::of(data));
        let whole = offset.is_multiple_of(page) && length.is_multiple_of(page);
        if self.partial_pages && !whole {
            let start = page * (offset / page);
            let end = page * (offset + length).div_ceil(page);
            let mut padded = vec![0xFF; (end - start).to_usize()];
            let within = (offset - start).to_usize();
            padded[within..within + data.len()].copy_from_slice(data);
            return self.program_pages(start, &padded);
        }
        self.program_pages(offset, data)
    }

    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), MtdError> {
        if self.is_bad(clock, block)? {
            return Err(MtdError::BadBlock { block });
        }
        if !self.tap.takes(Change::Erase { block }) {
            return Err(MtdError::EraseFailed { block });
        }
        self.blank(block);
        Ok(())
    }

    fn read_oob(
        &mut self,
        _clock: &mut Clock,
        page: PageIndex,
        buffer: &mut [u8],
    ) -> Result<ReadHealth, MtdError> {
        self.geometry.oob_range(page, Bytes::of(buffer))?;
        let (block, start) = self.place(page)?;
        let mut oob = vec![0; self.shape.oob.to_usize()];
        self.copy_raw(block, start + self.shape.page, &mut oob)?;
        let spare = self.spare.as_ref().ok_or(MtdError::NoOob)?;
        spare.layout().gather_free(&oob, buffer);
        Ok(ReadHealth::default())
    }

    fn program_oob(
        &mut self,
        _clock: &mut Clock,
        page: PageIndex,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), MtdError> {
        self.geometry.oob_range(page, Bytes::of(oob))?;
        self.check_raw(page, data, &[])?;
        let spare = self.spare.as_ref().ok_or(MtdError::NoOob)?;
        let oob = spare.protect(data, oob);
        self.merge(page, data, &oob)
    }

    fn is_bad(&mut self, _clock: &mut Clock, block: BlockIndex) -> Result<bool, MtdError> {
        Ok(self.mark_zeros(block)? > 0)
    }

    fn mark_bad(&mut self, _clock: &mut Clock, block: BlockIndex) -> Result<(), MtdError> {
        self.geometry.block_range(block)?;
        let place = self.spare.as_ref().map(Spare::mark).ok_or(MtdError::NoOob)?;
        let mut oob = vec![0xFF; self.shape.oob.to_usize()];
        oob[place].fill(0);
        let first = u64::from(block.0) * self.shape.pages_per_block();
        self.merge(page_index(first), &[], &oob)
    }
}

impl RawPages for Dump {
    fn read_raw(
        &mut self,
        _clock: &mut Clock,
        page: PageIndex,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> Result<(), MtdError> {
        self.check_raw(page, data, oob)?;
        let (block, start) = self.place(page)?;
        self.copy_raw(block, start, data)?;
        self.copy_raw(block, start + self.shape.page, oob)
    }

    fn program_raw(
        &mut self,
        _clock: &mut Clock,
        page: PageIndex,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), MtdError> {
        self.check_raw(page, data, oob)?;
        self.merge(page, data, oob)
    }
}

/// The result of the error correction for a read.
#[derive(Debug, Default)]
struct ReadOutcome {
    health: ReadHealth,
    /// Something could not be corrected.
    lost: bool,
}

fn slot(block: BlockIndex) -> usize {
    index(u64::from(block.0))
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("a number of this image's blocks or pages fits memory")
}

/// Page `number` of a device whose pages are counted in u32.
fn page_index(number: u64) -> PageIndex {
    PageIndex(u32::try_from(number).expect("pages are counted in u32"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Bytes = Bytes::new(512);
    const SHAPE: Shape = Shape::nand(PAGE, Bytes::new(16), Bytes::kib(4));

    /// Two blocks of eight pages; data are the number of the page, spare bytes 0xFF.
    fn file() -> Vec<u8> {
        let page = |number| [vec![number; 512], vec![0xFF; 16]].concat();
        (0..16).flat_map(page).collect()
    }

    fn dump() -> (Dump, Clock) {
        (Dump::new(Contents::of(file()), SHAPE).unwrap(), Clock::new())
    }

    #[test]
    fn data_are_read_without_the_spare_bytes_between_them() {
        let (mut dump, mut clock) = dump();
        let mut all = vec![0; 8_192];
        dump.read(&mut clock, Bytes::ZERO, &mut all).unwrap();
        assert!(all.chunks(512).zip(0..).all(|(page, number)| page == [number; 512]));
        let mut across = [0; 4];
        dump.read(&mut clock, Bytes::new(4_094), &mut across).unwrap();
        assert_eq!(across, [7, 7, 8, 8]);
        let beyond = dump.read(&mut clock, Bytes::new(8_190), &mut [0; 3]);
        assert!(matches!(beyond, Err(MtdError::OutOfRange { .. })));
    }

    #[test]
    fn a_write_stays_beside_the_file_and_out_of_clones() {
        let contents = Contents::of(file());
        let mut clock = Clock::new();
        let mut dump = Dump::new(contents.clone(), SHAPE).unwrap();
        let mut before = dump.clone();
        dump.erase(&mut clock, BlockIndex(1)).unwrap();
        dump.program_oob(&mut clock, PageIndex(8), &[0x55; 512], &[1, 2]).unwrap();
        dump.program(&mut clock, PAGE * 8, &[0x0F; 512]).unwrap();
        let (mut found, mut free) = ([0; 513], [0; 3]);
        dump.read(&mut clock, PAGE * 8, &mut found).unwrap();
        dump.read_oob(&mut clock, PageIndex(8), &mut free).unwrap();
        assert_eq!(
            (found, free),
            ([&[5; 512][..], &[0xFF]].concat().try_into().unwrap(), [1, 2, 0xFF])
        );
        assert_eq!((dump.changed_blocks(), before.changed_blocks()), (1, 0));
        before.read(&mut clock, PAGE * 8, &mut found).unwrap();
        assert_eq!((found[0], found[512]), (8, 9));
        assert_eq!(contents.window(Bytes::ZERO, 9_000), file());
    }

    #[test]
    fn a_block_is_bad_by_the_mark_of_its_first_or_second_page() {
        for (page, bad) in [(8, true), (9, true), (10, false)] {
            let (mut bytes, mut clock) = (file(), Clock::new());
            bytes[page * 528 + 512 + 5] = 0;
            let mut dump = Dump::new(Contents::of(bytes), SHAPE).unwrap();
            assert_eq!(dump.is_bad(&mut clock, BlockIndex(0)), Ok(false));
            assert_eq!(dump.is_bad(&mut clock, BlockIndex(1)), Ok(bad));
            assert_eq!(dump.erase(&mut clock, BlockIndex(1)).is_err(), bad);
        }
        let (mut dump, mut clock) = dump();
        dump.mark_bad(&mut clock, BlockIndex(0)).unwrap();
        assert_eq!(dump.is_bad(&mut clock, BlockIndex(0)), Ok(true));
        let mut page = [0; 512];
        dump.read(&mut clock, PAGE, &mut page).unwrap();
        assert_eq!(page, [1; 512]);
    }

    #[test]
    fn what_is_missing_at_the_end_reads_as_erased() {
        let mut bytes = file();
        bytes.truncate(12 * 528 + 100);
        let mut dump = Dump::new(Contents::of(bytes), SHAPE).unwrap();
        let (mut clock, mut data, mut oob) = (Clock::new(), [0; 512], [0; 16]);
        assert_eq!(dump.geometry().size(), Bytes::kib(8));
        dump.read(&mut clock, PAGE * 12, &mut data).unwrap();
        assert_eq!((data[99], data[100]), (12, 0xFF));
        dump.read_raw(&mut clock, PageIndex(13), &mut data, &mut oob).unwrap();
        assert_eq!((data, oob), ([0xFF; 512], [0xFF; 16]));
    }

    #[test]
    fn raw_pages_come_and_go_with_all_their_spare_bytes() {
        let (mut dump, mut clock) = dump();
        dump.erase(&mut clock, BlockIndex(0)).unwrap();
        let oob: Vec<u8> = (0..16).collect();
        dump.program_raw(&mut clock, PageIndex(3), &[0xA5; 512], &oob).unwrap();
        let (mut data, mut found) = ([0; 512], [0; 16]);
        dump.read_raw(&mut clock, PageIndex(3), &mut data, &mut found).unwrap();
        assert_eq!((data, &found[..]), ([0xA5; 512], &oob[..]));
        let short = dump.program_raw(&mut clock, PageIndex(3), &[0; 511], &[]);
        assert!(matches!(short, Err(MtdError::Misaligned { .. })));
        let long = dump.read_raw(&mut clock, PageIndex(3), &mut [], &mut [0; 17]);
        assert!(matches!(long, Err(MtdError::OobOutOfRange { .. })));
        let none = dump.read_raw(&mut clock, PageIndex(16), &mut [], &mut []);
        assert_eq!(none, Err(MtdError::NoSuchPage { page: PageIndex(16), count: 16 }));
    }

    #[test]
    fn without_spare_bytes_there_are_none_and_nor_takes_single_bytes() {
        let mut dump =
            Dump::new(Contents::of(vec![0xFF; 8_192]), Shape::nor(Bytes::kib(4))).unwrap();
        let mut clock = Clock::new();
        dump.program(&mut clock, Bytes::new(4_095), &[0xF0, 0x0F]).unwrap();
        dump.program(&mut clock, Bytes::new(4_095), &[0x0F, 0xFF]).unwrap();
        let mut found = [0; 4];
        dump.read(&mut clock, Bytes::new(4_094), &mut found).unwrap();
        assert_eq!(found, [0xFF, 0, 0x0F, 0xFF]);
        assert_eq!(dump.read_oob(&mut clock, PageIndex(0), &mut [0]), Err(MtdError::NoOob));
        assert_eq!(
            dump.read_raw(&mut clock, PageIndex(0), &mut [0], &mut []),
            Err(MtdError::NoOob)
        );
        assert_eq!(dump.mark_bad(&mut clock, BlockIndex(0)), Err(MtdError::NoOob));
        assert_eq!(dump.is_bad(&mut clock, BlockIndex(1)), Ok(false));
        assert_eq!(dump.changed_blocks(), 2);
    }

    /// The file with the codes of Linux' Hamming in its spare bytes.
    fn protected() -> Vec<u8> {
        let spare = Spare::linux(SHAPE, 1, Bytes::new(256)).unwrap();
        let page = |number| [vec![number; 512], spare.protect(&[number; 512], &[])].concat();
        (0..16).flat_map(page).collect()
    }

    fn correcting(bytes: Vec<u8>) -> Dump {
        let spare = Spare::linux(SHAPE, 1, Bytes::new(256));
        Dump::with_spare(Contents::of(bytes), SHAPE, spare).unwrap()
    }

    #[test]
    fn data_are_corrected_as_they_are_read() {
        let mut bytes = protected();
        bytes[528] ^= 2;
        bytes[528 + 300] ^= 8;
        bytes[2 * 528] ^= 3;
        let (mut dump, mut clock, mut buffer) = (correcting(bytes), Clock::new(), [0; 1_024]);
        for _ in 0..2 {
            let health = dump.read(&mut clock, Bytes::ZERO, &mut buffer).unwrap();
            assert_eq!(health, ReadHealth { corrected: 2, worst: 1 });
            assert_eq!((&buffer[..512], &buffer[512..]), (&[0; 512][..], &[1; 512][..]));
        }
        assert!(dump.is_clean(0) && !dump.is_clean(1));
        let mut all = [0; 4_096];
        let lost = dump.read(&mut clock, Bytes::ZERO, &mut all);
        assert_eq!(lost, Err(MtdError::Uncorrectable { offset: Bytes::ZERO }));
        // As with Linux, what was read is there all the same.
        assert_eq!((all[512], all[1_024], all[1_536]), (1, 1, 3));
    }

    #[test]
    fn a_program_is_protected_and_an_erase_forgets_what_was_right() {
        let (mut dump, mut clock) = (correcting(protected()), Clock::new());
        let mut page = [0; 512];
        dump.read(&mut clock, PAGE * 9, &mut page).unwrap();
        assert!(dump.is_clean(9));
        dump.erase(&mut clock, BlockIndex(1)).unwrap();
        assert!(!dump.is_clean(9));
        dump.program(&mut clock, PAGE * 9, &[7; 512]).unwrap();
        dump.program_oob(&mut clock, PageIndex(10), &[0xF1; 512], &[3]).unwrap();
        let health = dump.read(&mut clock, PAGE * 9, &mut [0; 1_024]).unwrap();
        assert_eq!(health.corrected, 0);
        assert!(dump.is_clean(9) && dump.is_clean(10));
        let (mut data, mut oob) = ([0; 512], [0; 16]);
        dump.read_raw(&mut clock, PageIndex(10), &mut data, &mut oob).unwrap();
        assert_eq!((data, oob[8], oob[9]), ([0xF1; 512], 3, 0xFF));
    }

    #[test]
    fn what_is_no_flash_is_refused() {
        let new = |bytes: Vec<u8>, shape| Dump::new(Contents::of(bytes), shape).unwrap_err();
        assert!(matches!(new(Vec::new(), SHAPE), Error::Empty));
        assert!(matches!(new(vec![1], Shape::nor(Bytes::new(3))), Error::Unsound { .. }));
    }

    #[test]
    #[should_panic(expected = "a layout for other spare bytes")]
    fn a_layout_of_another_flash_is_a_broken_invariant() {
        let large = Shape::nand(Bytes::kib(2), Bytes::new(64), Bytes::kib(128));
        let spare = Some(Spare::uncorrected(large, None));
        let _ = Dump::with_spare(Contents::of(file()), SHAPE, spare);
    }
}
