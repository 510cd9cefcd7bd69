//! Chunks with their tags on the flash.
//!
//! Layer: rank 5. Main type: [`ChunkRead`]. A chunk is read with its tags or by its tags alone, and is
//! programmed with them at once. Errors of the medium are results, for YAFFS goes on with another block; only
//! a power cut is an error. Source: `core/yaffs_tagsmarshall.c`, `core/yaffs_tagscompat.c`, `core/yaffs_nand.c`.

use crate::Yaffs;
use crate::block::State;
use crate::error::Error;
use crate::format::tags::Checked;
use crate::format::tags1::{self, Layout1};
use crate::format::{Tags, tags, to_u32};
use crate::layout::{Block, Chunk, Layout};
use crate::options::TagsPlace;
use boardlab_codec::hamming;
use boardlab_mtd::{Error as FlashError, Mtd, PageIndex, ReadResult};
use boardlab_sim::{Bytes, Clock};
use boardlab_vfs::host::Work;

/// The most bytes of tags, for which there is always room.
const TAGS_MAX: usize = tags::PROTECTED;

/// What the error correction said of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ecc {
    Clean,
    Fixed,
    Unfixed,
}

/// What was read of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkRead {
    /// `None` on a chunk that was not programmed.
    pub(crate) tags: Option<Tags>,
    /// The worse of that of the data and that of the tags.
    pub(crate) ecc: Ecc,
    /// Whether the device gave the data: YAFFS does not use them otherwise.
    pub(crate) whole: bool,
}

/// The result of an operation of the medium; a power cut remains an error.
fn outcome<T>(result: Result<T, FlashError>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error @ FlashError::PowerCut { .. }) => Err(error.into()),
        Err(_) => Ok(None),
    }
}

fn health(result: ReadResult) -> Result<(Ecc, bool), Error> {
    match result {
        Ok(health) if health.corrected > 0 => Ok((Ecc::Fixed, true)),
        Ok(_) => Ok((Ecc::Clean, true)),
        Err(error @ FlashError::PowerCut { .. }) => Err(error.into()),
        Err(_) => Ok((Ecc::Unfixed, false)),
    }
}

impl From<Checked> for Ecc {
    fn from(checked: Checked) -> Self {
        match checked {
            Checked::Right => Self::Clean,
            Checked::Corrected => Self::Fixed,
            Checked::Wrong => Self::Unfixed,
        }
    }
}

impl<M: Mtd> Yaffs<M> {
    fn start_of(&self, page: PageIndex) -> Bytes {
        Bytes::new(u64::from(page.0)) * u64::from(to_u32(self.layout.page))
    }

    /// Reads the tags of a chunk, and its data where `data` is given, of the length of a chunk. An error
    /// that was corrected, or not, makes the block one that is collected soon.
    pub(crate) fn read_chunk(
        &mut self,
        clock: &mut Clock,
        chunk: Chunk,
        data: Option<&mut [u8]>,
    ) -> Result<ChunkRead, Error> {
        let read = self.read_raw_chunk(clock, chunk, data)?;
        if read.ecc > Ecc::Clean {
            let (block, _) = self.layout.place(chunk);
            self.note_chunk_error(block);
        }
        Ok(read)
    }

    /// As [`Yaffs::read_chunk`], without consequences.
    pub(crate) fn read_raw_chunk(
        &mut self,
        clock: &mut Clock,
        chunk: Chunk,
        data: Option<&mut [u8]>,
    ) -> Result<ChunkRead, Error> {
        self.host.spend(clock, Work::Node, 0);
        match self.options.tags {
            TagsPlace::InBand => self.read_in_band(clock, chunk, data),
            TagsPlace::Oob { ecc } => self.read_oob_tags(clock, chunk, data, ecc),
            TagsPlace::Yaffs1(layout) => self.read_tags1(clock, chunk, data, layout),
        }
    }

    /// Reads spare bytes, and the data if they are wanted.
    fn read_with_spare(
        &mut self,
        clock: &mut Clock,
        chunk: Chunk,
        data: Option<&mut [u8]>,
        spare: &mut [u8],
    ) -> Result<(Ecc, bool), Error> {
        let page = self.layout.page_of(chunk);
        health(match data {
            Some(data) => self.device.read_page(clock, page, data, spare),
            None => self.device.read_oob(clock, page, spare),
        })
    }

    fn read_oob_tags(
        &mut self,
        clock: &mut Clock,
        chunk: Chunk,
        data: Option<&mut [u8]>,
        protected: bool,
    ) -> Result<ChunkRead, Error> {
        let mut spare = [0xFF; TAGS_MAX];
        let length = if protected { tags::PROTECTED } else { tags::SIZE };
        let (ecc, whole) = self.read_with_spare(clock, chunk, data, &mut spare[..length])?;
        let (tags, checked) = tags::parse(&spare[..length], self.options.byte_order);
        Ok(ChunkRead { tags, ecc: ecc.max(checked.into()), whole })
    }

    fn read_in_band(
        &mut self,
        clock: &mut Clock,
        chunk: Chunk,
        data: Option<&mut [u8]>,
    ) -> Result<ChunkRead, Error> {
        let start = self.start_of(self.layout.page_of(chunk));
        let mut page = std::mem::take(&mut self.page);
        let read = health(self.device.read(clock, start, &mut page));
        if let Some(data) = data {
            data.copy_from_slice(&page[..data.len()]);
        }
        let tags = Tags::parse(&page[self.layout.chunk..], self.options.byte_order);
        self.page = page;
        let (ecc, whole) = read?;
        Ok(ChunkRead { tags, ecc, whole })
    }

    fn read_tags1(
        &mut self,
        clock: &mut Clock,
        chunk: Chunk,
        mut data: Option<&mut [u8]>,
        layout: Layout1,
    ) -> Result<ChunkRead, Error> {
        let mut spare = [0xFF; tags1::SPARE];
        let length = if layout == Layout1::Around { tags1::SPARE } else { tags1::SIZE };
        let read = self.read_with_spare(clock, chunk, data.as_deref_mut(), &mut spare[..length])?;
        let (mut ecc, whole) = read;
        let (tags, checked) = tags1::parse(&spare, self.options.byte_order, layout);
        if layout == Layout1::Around
            && let Some(data) = data
            && tags.is_some_and(|tags| !tags.deleted)
        {
            ecc = ecc.max(correct_data1(data, &spare));
        }
        if checked == Checked::Wrong && layout == Layout1::Packed {
            return Ok(ChunkRead { tags: None, ecc: Ecc::Unfixed, whole });
        }
        // Around the status, YAFFS uses tags that it could not correct.
        Ok(ChunkRead { tags, ecc, whole })
    }

    /// Programs a chunk with its tags. Returns whether the device says that it succeeded.
    pub(crate) fn program_chunk(
        &mut self,
        clock: &mut Clock,
        chunk: Chunk,
        data: &[u8],
        tags: &Tags,
    ) -> Result<bool, Error> {
        self.host.spend(clock, Work::Node, 0);
        let (page, order) = (self.layout.page_of(chunk), self.options.byte_order);
        let done = match self.options.tags {
            TagsPlace::InBand => {
                let mut whole = data.to_vec();
                whole.extend(tags.emit(order));
                let start = self.start_of(page);
                self.device.program(clock, start, &whole)
            }
            TagsPlace::Oob { ecc } => {
                let spare = tags::emit(tags, order, ecc);
                self.device.program_oob(clock, page, data, &spare)
            }
            TagsPlace::Yaffs1(layout) => {
                let mut spare = tags1::emit(tags, order, layout);
                if layout == Layout1::Around {
                    tags1::protect(data, &mut spare);
                }
                self.device.program_oob(clock, page, data, &spare)
            }
        };
        outcome(done).map(|done| done.is_some())
    }

    /// Marks a chunk of YAFFS1 as deleted by a second program of its spare bytes.
    pub(crate) fn program_deletion(
        &mut self,
        clock: &mut Clock,
        chunk: Chunk,
    ) -> Result<(), Error> {
        let TagsPlace::Yaffs1(layout) = self.options.tags else { return Ok(()) };
        self.host.spend(clock, Work::Node, 0);
        let page = self.layout.page_of(chunk);
        let tags = Tags { deleted: true, ..Tags::default() };
        let spare = tags1::emit(&tags, self.options.byte_order, layout);
        outcome(self.device.program_oob(clock, page, &[], &spare)).map(drop)
    }

    /// Erases a block. Returns whether the device says that it succeeded.
    pub(crate) fn erase_flash(&mut self, clock: &mut Clock, block: Block) -> Result<bool, Error> {
        outcome(self.device.erase(clock, Layout::block_of(block))).map(|done| done.is_some())
    }

    /// Marks a block bad on the flash.
    pub(crate) fn mark_bad(&mut self, clock: &mut Clock, block: Block) -> Result<bool, Error> {
        if self.options.tags == TagsPlace::Yaffs1(Layout1::Around) {
            let mut spare = [0xFF; tags1::SPARE];
            spare[BLOCK_STATUS] = b'Y';
            for page in 0..2 {
                let page = self.layout.page_of(self.layout.chunk_of(block, page));
                outcome(self.device.program_oob(clock, page, &[], &spare))?;
            }
            return Ok(true);
        }
        outcome(self.device.mark_bad(clock, Layout::block_of(block))).map(|done| done.is_some())
    }

    /// What the first chunk of a block says at mount: its state and its sequence number.
    pub(crate) fn query_block(
        &mut self,
        clock: &mut Clock,
        block: Block,
    ) -> Result<(State, u32), Error> {
        let first = self.layout.chunk_of(block, 0);
        if self.options.tags == TagsPlace::Yaffs1(Layout1::Around) {
            return self.query_block1(clock, first);
        }
        let index = Layout::block_of(block);
        if outcome(self.device.is_bad(clock, index))?.is_none_or(|bad| bad) {
            return Ok((State::Dead, 0));
        }
        let read = self.read_raw_chunk(clock, first, None)?;
        // The sources believe tags that they cannot correct: where the first program of a block was torn, the block
        // gets any number, and all later ones go on from there until none is left.
        let torn = self.options.repaired && (!read.whole || read.ecc == Ecc::Unfixed);
        Ok(match read.tags {
            Some(_) if torn => (State::NeedsScan, self.number_of_others(clock, block)?),
            Some(tags) => (State::NeedsScan, tags.sequence),
            None if read.ecc == Ecc::Unfixed => (State::NeedsScan, 0),
            None => (State::Empty, 0),
        })
    }

    /// The sequence number that the other chunks of a block have; 0 without any.
    fn number_of_others(&mut self, clock: &mut Clock, block: Block) -> Result<u32, Error> {
        for page in 1..self.layout.chunks_per_block {
            let chunk = self.layout.chunk_of(block, page);
            let read = self.read_raw_chunk(clock, chunk, None)?;
            if let (Some(tags), true) = (read.tags, read.whole && read.ecc < Ecc::Unfixed) {
                return Ok(tags.sequence);
            }
        }
        Ok(0)
    }

    /// YAFFS1 finds marks of bad blocks itself, in the first two chunks.
    fn query_block1(&mut self, clock: &mut Clock, first: Chunk) -> Result<(State, u32), Error> {
        let mut spares = [[0xFF; tags1::SPARE]; 2];
        for (chunk, spare) in (first..).zip(&mut spares) {
            self.read_with_spare(clock, chunk, None, spare)?;
        }
        let status = spares[0][BLOCK_STATUS] & spares[1][BLOCK_STATUS];
        Ok(if status.count_ones() < 7 {
            (State::Dead, 0)
        } else if spares[0] == [0xFF; tags1::SPARE] {
            (State::Empty, 0)
        } else {
            (State::NeedsScan, 0)
        })
    }
}

/// The position of the mark of a bad block of YAFFS1.
const BLOCK_STATUS: usize = 5;

fn correct_data1(data: &mut [u8], spare: &[u8]) -> Ecc {
    let mut worst = Ecc::Clean;
    for (step, at) in data.chunks_mut(256).zip(tags1::CODES) {
        let stored = [spare[at + 1], spare[at], spare[at + 2]];
        let found = hamming::calculate(hamming::Step::Bytes256, step);
        let ecc = match hamming::correct(hamming::Step::Bytes256, step, stored, found) {
            Ok(hamming::Correction::None) => Ecc::Clean,
            Ok(_) => Ecc::Fixed,
            Err(_) => Ecc::Unfixed,
        };
        worst = worst.max(ecc);
    }
    worst
}
