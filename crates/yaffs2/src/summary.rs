//! Block summaries, written and read.
//!
//! Layer: rank 5. A summary is written with the chunk before it; a scan takes it for the tags of the block, and
//! a collection takes it out of use first. Source: `core/yaffs_summary.c`.

use crate::Yaffs;
use crate::error::Error;
use crate::flash::Ecc;
use crate::format::summary::{ENTRY, HEADER, SummaryHeader, VERSION, sum, tags};
use crate::format::{SUMMARY, Tags, to_u32, to_usize};
use crate::layout::Block;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

impl<M: Mtd> Yaffs<M> {
    /// Writes the summary of a block, whose other chunks are written. Nothing follows from a failure: the
    /// block then has none.
    pub(crate) fn write_summary(&mut self, clock: &mut Clock, block: Block) -> Result<(), Error> {
        let Some(shape) = self.layout.summary else { return Ok(()) };
        let entries = std::mem::take(&mut self.summary);
        let header = SummaryHeader {
            version: VERSION,
            block,
            sequence: self.blocks.get(block).sequence,
            sum: sum(&entries),
        };
        let mut whole = true;
        for (number, part) in (0..).zip(entries.chunks(shape.payload)) {
            let mut data = vec![0xFF; self.layout.chunk];
            header.emit(&mut data, self.options.byte_order);
            data[HEADER..HEADER + part.len()].copy_from_slice(part);
            let tags = Tags {
                sequence: self.space.sequence,
                object: SUMMARY,
                chunk: number + 1,
                bytes: to_u32(part.len() + HEADER),
                ..Tags::default()
            };
            let page = shape.described + number;
            let chunk = self.layout.chunk_of(block, page);
            whole = self.program_chunk(clock, chunk, &data, &tags)?;
            if !whole {
                break;
            }
            self.blocks.take(block, page);
            self.space.free_chunks -= 1;
        }
        self.blocks.get_mut(block).has_summary |= whole;
        self.summary = entries;
        Ok(())
    }

    /// Reads the summary of a block at mount; `None` when there is none that can be used. Its chunks are in
    /// use as soon as they were read. Without summaries YAFFS still looks for one, in the first chunk.
    pub(crate) fn read_summary(
        &mut self,
        clock: &mut Clock,
        block: Block,
    ) -> Result<Option<Vec<u8>>, Error> {
        let Some(shape) = self.layout.summary else {
            let mut data = self.buffer();
            let first = self.layout.chunk_of(block, 0);
            self.read_chunk(clock, first, Some(&mut data))?;
            self.give_back(data);
            return Ok(None);
        };
        let mut entries = vec![0; shape.bytes()];
        let mut last = None;
        for (number, part) in (0..).zip(entries.chunks_mut(shape.payload)) {
            let page = shape.described + number;
            let mut data = self.buffer();
            let chunk = self.layout.chunk_of(block, page);
            let read = self.read_chunk(clock, chunk, Some(&mut data))?;
            let wanted = (SUMMARY, number + 1, to_u32(part.len() + HEADER));
            let found = read.tags.map(|tags| (tags.object, tags.chunk, tags.bytes));
            let right = read.whole && read.ecc < Ecc::Unfixed && found == Some(wanted);
            if right {
                self.blocks.take(block, page);
                last = Some(SummaryHeader::parse(&data, self.options.byte_order));
                part.copy_from_slice(&data[HEADER..HEADER + part.len()]);
            }
            self.give_back(data);
            if !right {
                return Ok(None);
            }
        }
        let sequence = self.blocks.get(block).sequence;
        let right = last.is_some_and(|header| {
            let found = (header.version, header.sequence, header.sum);
            found == (VERSION, sequence, sum(&entries))
        });
        if right {
            self.blocks.get_mut(block).has_summary = true;
        }
        Ok(right.then_some(entries))
    }

    /// The tags of a chunk by the summary of its block; `None` where it says nothing.
    pub(crate) fn tags_by_summary(&self, entries: &[u8], block: Block, page: u32) -> Option<Tags> {
        let at = to_usize(page) * ENTRY;
        let sequence = self.blocks.get(block).sequence;
        tags(&entries[at..at + ENTRY], sequence, self.options.byte_order)
    }

    /// Takes the summary of a block that is collected out of use.
    pub(crate) fn drop_summary(&mut self, block: Block) {
        let Some(shape) = self.layout.summary.filter(|_| self.blocks.get(block).has_summary) else {
            return;
        };
        for page in shape.described..self.layout.chunks_per_block {
            if self.blocks.is_used(block, page) {
                self.blocks.release(block, page);
                self.space.free_chunks += 1;
            }
        }
    }
}
