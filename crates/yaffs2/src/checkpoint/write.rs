//! Writes a checkpoint.

use super::Stream;
use crate::Yaffs;
use crate::block::State;
use crate::error::Error;
use crate::format::checkpoint::{
    DeviceRecord, END, ObjectRecord, PAGE_HEADER, PageHeader, validity,
};
use crate::format::{SEQUENCE_CHECKPOINT, Tags, to_u32};
use crate::layout::Layout;
use crate::object::{Slot, Variant};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

impl<M: Mtd> Yaffs<M> {
    pub(super) fn write_checkpoint(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let room = self.space.erased_blocks > self.reserved_blocks();
        if !self.wants_checkpoint() || !room {
            return Ok(());
        }
        let mut stream = Stream {
            next: Some(Layout::FIRST),
            data: vec![0; self.layout.chunk],
            ..Stream::default()
        };
        self.begin_page(&mut stream);
        let whole = self.write_tables(clock, &mut stream)?;
        if stream.at != PAGE_HEADER {
            self.flush_page(clock, &mut stream)?;
        }
        self.account_for_checkpoint();
        self.checkpoint.valid = whole;
        Ok(())
    }

    fn write_tables(&mut self, clock: &mut Clock, stream: &mut Stream) -> Result<bool, Error> {
        let order = self.options.byte_order;
        let device = DeviceRecord {
            erased_blocks: self.space.erased_blocks,
            alloc_block: self.space.block.map_or(-1, u32::cast_signed),
            alloc_page: self.space.page,
            free_chunks: self.space.free_chunks,
            deleted_files: self.space.deleted_files,
            unlinked_files: self.space.unlinked_files,
            sequence: self.space.sequence,
        };
        let mut whole = self.put(clock, stream, &validity(true, order))?;
        whole = whole && self.put(clock, stream, &device.emit(order))?;
        for block in self.layout.all() {
            let record = self.blocks.get(block).record().emit(order);
            whole = whole && self.put(clock, stream, &record)?;
        }
        let bits = self.blocks.bits().to_vec();
        whole = whole && self.put(clock, stream, &bits)?;
        for slot in self.objects.in_buckets() {
            if !self.objects.get(slot).free_later {
                whole = whole && self.put_object(clock, stream, slot)?;
            }
        }
        whole = whole && self.put(clock, stream, &ObjectRecord::emit_end(order))?;
        whole = whole && self.put(clock, stream, &validity(false, order))?;
        let sum = order.bytes32(stream.checksum.value());
        Ok(whole && self.put(clock, stream, &sum)?)
    }

    fn put_object(
        &mut self,
        clock: &mut Clock,
        stream: &mut Stream,
        slot: Slot,
    ) -> Result<bool, Error> {
        let order = self.options.byte_order;
        let object = self.objects.get(slot);
        match &object.variant {
            Variant::File(file) => stream.size = file.size,
            Variant::HardLink { number, .. } => stream.size = u64::from(*number),
            // The sources fill one record again and again: it keeps what the object before had.
            _ => {}
        }
        let record = ObjectRecord {
            object: object.id,
            parent: object.parent.map_or(0, |parent| self.objects.get(parent).id),
            header: object.header,
            kind: object.kind().number(),
            deleted: object.deleted,
            soft_deleted: object.soft_deleted,
            unlinked: object.unlinked,
            fake: object.fake,
            rename_allowed: object.rename_allowed,
            unlink_allowed: object.unlink_allowed,
            serial: object.serial,
            data_chunks: object.data_chunks,
            size_or_equivalent: stream.size,
        };
        let leaves = object.file().map(|file| file.tree.leaves());
        let mut bytes = record.emit(order);
        if let Some(leaves) = leaves {
            for (first, entries) in leaves {
                bytes.extend(order.bytes32(first));
                bytes.extend(self.pack_leaf(&entries));
            }
            bytes.extend(order.bytes32(END));
        }
        self.put(clock, stream, &bytes)
    }

    fn begin_page(&self, stream: &mut Stream) {
        let header = PageHeader {
            number: stream.number,
            sum: stream.checksum.sum,
            xor: stream.checksum.xor,
        };
        stream.data.fill(0);
        stream.data[..PAGE_HEADER].copy_from_slice(&header.emit(self.options.byte_order));
        stream.at = PAGE_HEADER;
    }

    /// Adds bytes to the stream; returns whether there is room.
    fn put(&mut self, clock: &mut Clock, stream: &mut Stream, bytes: &[u8]) -> Result<bool, Error> {
        let mut left = bytes;
        while !left.is_empty() {
            let room = self.layout.chunk - stream.at;
            let (part, rest) = left.split_at(left.len().min(room));
            stream.data[stream.at..stream.at + part.len()].copy_from_slice(part);
            stream.checksum.add(part);
            stream.at += part.len();
            left = rest;
            if stream.at == self.layout.chunk && !self.flush_page(clock, stream)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Programs the present chunk of the stream; returns whether there was an erased block for it.
    fn flush_page(&mut self, clock: &mut Clock, stream: &mut Stream) -> Result<bool, Error> {
        if stream.block.is_none() {
            let from = stream.next.filter(|_| self.space.erased_blocks > self.reserved_blocks());
            let found = from.and_then(|from| {
                (from..=self.layout.last())
                    .find(|&block| self.blocks.get(block).state == State::Empty)
            });
            stream.block = found;
            stream.next = found.map(|block| block + 1);
            stream.page = 0;
        }
        let Some(block) = stream.block else { return Ok(false) };
        let tags = Tags {
            sequence: SEQUENCE_CHECKPOINT,
            object: stream.next.unwrap_or(0),
            chunk: stream.number + 1,
            bytes: to_u32(self.layout.chunk),
            ..Tags::default()
        };
        if stream.page == 0 {
            self.blocks.get_mut(block).state = State::Checkpoint;
            self.checkpoint.blocks += 1;
        }
        let chunk = self.layout.chunk_of(block, stream.page);
        self.program_chunk(clock, chunk, &stream.data, &tags)?;
        stream.number += 1;
        stream.page += 1;
        if stream.page >= self.layout.chunks_per_block {
            stream.block = None;
        }
        self.begin_page(stream);
        Ok(true)
    }
}
