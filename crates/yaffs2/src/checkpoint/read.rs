//! Reads a checkpoint, which may say anything.

use super::Stream;
use crate::Yaffs;
use crate::block::{BlockInfo, State};
use crate::error::Error;
use crate::flash::Ecc;
use crate::format::checkpoint::{
    BLOCK, BlockRecord, DEVICE, DeviceRecord, END, OBJECT, ObjectRecord, PAGE_HEADER, PageHeader,
    VALIDITY, validity,
};
use crate::format::{
    CHUNK_MAX, DELETED, OBJECT_MAX, ObjectType, ROOT, SEQUENCE_CHECKPOINT, UNLINKED, to_u32,
    to_usize,
};
use crate::layout::Layout;
use crate::object::{Slot, Variant};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

impl<M: Mtd> Yaffs<M> {
    /// Restores all tables from a checkpoint. Returns whether there is one that is whole and right.
    pub(crate) fn restore_checkpoint(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        if !self.options.tags.is_yaffs2() || !self.options.read_checkpoint {
            return Ok(false);
        }
        let mut stream = Stream {
            next: Some(Layout::FIRST),
            data: vec![0; self.layout.chunk],
            at: self.layout.chunk,
            ..Stream::default()
        };
        self.checkpoint.blocks = 0;
        let mut found = Vec::new();
        let read = self.read_tables(clock, &mut stream, &mut found)?;
        for block in found {
            let info = self.blocks.get_mut(block);
            if info.state == State::Empty {
                info.state = State::Checkpoint;
            }
        }
        self.account_for_checkpoint();
        self.checkpoint.valid = read.is_some();
        Ok(read.is_some())
    }

    fn read_tables(
        &mut self,
        clock: &mut Clock,
        stream: &mut Stream,
        found: &mut Vec<u32>,
    ) -> Result<Option<()>, Error> {
        let order = self.options.byte_order;
        let Some(head) = self.get(clock, stream, found, VALIDITY)? else { return Ok(None) };
        let Some(device) = self.get(clock, stream, found, DEVICE)? else { return Ok(None) };
        let device = DeviceRecord::parse(&device, order);
        let Some(device) = device.filter(|_| head == validity(true, order)) else {
            return Ok(None);
        };
        let blocks = to_usize(self.layout.blocks);
        let Some(records) = self.get(clock, stream, found, blocks * BLOCK)? else {
            return Ok(None);
        };
        for (block, record) in self.layout.all().zip(records.chunks(BLOCK)) {
            let record = BlockRecord::parse(record, order);
            *self.blocks.get_mut(block) = BlockInfo::from_record(&record);
        }
        let length = self.blocks.bits().len();
        let Some(bits) = self.get(clock, stream, found, length)? else { return Ok(None) };
        self.blocks.bits_mut().copy_from_slice(&bits);
        let mut links = Vec::new();
        loop {
            let Some(record) = self.get(clock, stream, found, OBJECT)? else { return Ok(None) };
            let Some(record) = ObjectRecord::parse(&record, order) else { return Ok(None) };
            if record.object == END {
                break;
            }
            let Some(slot) = self.restore_object(clock, &record) else { return Ok(None) };
            match self.objects.get(slot).kind() {
                ObjectType::File if !self.get_tree(clock, stream, found, slot)? => return Ok(None),
                ObjectType::HardLink => links.push(slot),
                _ => {}
            }
        }
        let Some(tail) = self.get(clock, stream, found, VALIDITY)? else { return Ok(None) };
        let sum = stream.checksum.value();
        let Some(stored) = self.get(clock, stream, found, 4)? else { return Ok(None) };
        let right = tail == validity(false, order) && order.get32(&stored, 0..4) == sum;
        if !right || !self.restore_device(&device) {
            return Ok(None);
        }
        self.connect_links(&links);
        Ok(Some(()))
    }

    /// Takes over the account, if it can be one of this flash.
    fn restore_device(&mut self, device: &DeviceRecord) -> bool {
        let block = match device.alloc_block {
            -1 => None,
            block => Some(block.cast_unsigned()).filter(|block| self.layout.all().contains(block)),
        };
        let chunks = self.layout.blocks.saturating_mul(self.layout.chunks_per_block).cast_signed();
        let sound = (device.alloc_block == -1 || block.is_some())
            && (block.is_none() || device.alloc_page < self.layout.chunks_per_block)
            && (0..=self.layout.blocks.cast_signed()).contains(&device.erased_blocks)
            && (0..=chunks).contains(&device.free_chunks);
        if sound {
            self.space.erased_blocks = device.erased_blocks;
            (self.space.block, self.space.page) = (block, device.alloc_page);
            self.space.free_chunks = device.free_chunks;
            self.space.deleted_files = device.deleted_files;
            self.space.unlinked_files =
                self.space.unlinked_files.wrapping_add(device.unlinked_files);
            self.space.sequence = device.sequence;
        }
        sound
    }

    fn restore_object(&mut self, clock: &Clock, record: &ObjectRecord) -> Option<Slot> {
        let in_range = (1..=OBJECT_MAX).contains(&record.object)
            && record.parent <= OBJECT_MAX
            && (record.header == 0 || self.layout.has(record.header));
        if !in_range {
            return None;
        }
        let kind = ObjectType::of(record.kind);
        let slot = self.find_or_make(clock, record.object, kind);
        if self.objects.get(slot).kind() != kind {
            return None;
        }
        // What has no directory never gets one, so that nothing leads around.
        if record.parent != 0 && !matches!(record.object, ROOT | UNLINKED | DELETED) {
            let parent = self.find_or_make(clock, record.parent, ObjectType::Directory);
            let sound = parent != slot && self.objects.is_directory(parent);
            if !sound {
                return None;
            }
            self.enter_directory(parent, slot);
        }
        let object = self.objects.get_mut(slot);
        object.header = record.header;
        object.deleted = record.deleted;
        object.soft_deleted = record.soft_deleted;
        object.unlinked = record.unlinked;
        object.fake = record.fake;
        object.rename_allowed = record.rename_allowed;
        object.unlink_allowed = record.unlink_allowed;
        object.serial = record.serial;
        object.data_chunks = record.data_chunks;
        match &mut object.variant {
            Variant::File(file) => {
                file.size = record.size_or_equivalent;
                file.stored_size = record.size_or_equivalent;
            }
            Variant::HardLink { number, .. } => {
                *number = u32::try_from(record.size_or_equivalent).unwrap_or(0);
            }
            _ => {}
        }
        object.lazy |= object.header > 0;
        Some(slot)
    }

    fn get_tree(
        &mut self,
        clock: &mut Clock,
        stream: &mut Stream,
        found: &mut Vec<u32>,
        slot: Slot,
    ) -> Result<bool, Error> {
        loop {
            let Some(first) = self.get(clock, stream, found, 4)? else { return Ok(false) };
            let first = self.options.byte_order.get32(&first, 0..4);
            if first == END {
                return Ok(true);
            }
            let node = self.layout.node;
            let Some(bytes) = self.get(clock, stream, found, node)? else { return Ok(false) };
            let entries = self.unpack_leaf(&bytes);
            let sound = first.is_multiple_of(16)
                && first <= CHUNK_MAX
                && entries.iter().all(|&chunk| chunk == 0 || self.layout.has(chunk));
            if !sound {
                return Ok(false);
            }
            let nodes = &mut self.nodes;
            let Some(file) = self.objects.get_mut(slot).file_mut() else { return Ok(false) };
            for (number, chunk) in (first..).zip(entries) {
                if let Some(entry) = file.tree.entry(number, nodes) {
                    *entry = chunk;
                }
            }
        }
    }

    /// The next bytes of the stream; `None` where it ends or is wrong.
    fn get(
        &mut self,
        clock: &mut Clock,
        stream: &mut Stream,
        found: &mut Vec<u32>,
        length: usize,
    ) -> Result<Option<Vec<u8>>, Error> {
        let mut bytes = Vec::with_capacity(length.min(1 << 20));
        while bytes.len() < length {
            if stream.at >= self.layout.chunk && !self.next_page(clock, stream, found)? {
                return Ok(None);
            }
            let end = (stream.at + length - bytes.len()).min(self.layout.chunk);
            let part = &stream.data[stream.at..end];
            stream.checksum.add(part);
            bytes.extend_from_slice(part);
            stream.at = end;
        }
        Ok(Some(bytes))
    }

    fn next_page(
        &mut self,
        clock: &mut Clock,
        stream: &mut Stream,
        found: &mut Vec<u32>,
    ) -> Result<bool, Error> {
        if stream.block.is_none() {
            self.find_checkpoint_block(clock, stream, found)?;
        }
        let Some(block) = stream.block else { return Ok(false) };
        let chunk = self.layout.chunk_of(block, stream.page);
        let read = self.read_raw_chunk(clock, chunk, Some(&mut stream.data))?;
        let wanted = (SEQUENCE_CHECKPOINT, stream.number + 1);
        let tags = read.tags.map(|tags| (tags.sequence, tags.chunk));
        let header = PageHeader {
            number: stream.number,
            sum: stream.checksum.sum,
            xor: stream.checksum.xor,
        };
        let header = header.emit(self.options.byte_order);
        let right = read.whole
            && read.ecc < Ecc::Unfixed
            && tags == Some(wanted)
            && stream.data[..PAGE_HEADER] == header;
        if !right {
            return Ok(false);
        }
        stream.at = PAGE_HEADER;
        stream.number += 1;
        stream.page += 1;
        if stream.page >= self.layout.chunks_per_block {
            stream.block = None;
        }
        Ok(true)
    }

    /// Looks for the next block of the checkpoint, from where the last one says.
    fn find_checkpoint_block(
        &mut self,
        clock: &mut Clock,
        stream: &mut Stream,
        found: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let most = (self.layout.last() - Layout::FIRST) / 16 + 2;
        let from = stream.next.take().filter(|_| self.checkpoint.blocks < most);
        let Some(from) = from else { return Ok(()) };
        for block in from.max(Layout::FIRST)..=self.layout.last() {
            let first = self.layout.chunk_of(block, 0);
            let read = self.read_raw_chunk(clock, first, None)?;
            let Some(tags) = read.tags.filter(|tags| tags.sequence == SEQUENCE_CHECKPOINT) else {
                continue;
            };
            if self.query_block(clock, block)?.0 == State::Dead {
                continue;
            }
            stream.next = Some(tags.object).filter(|&next| next > 0);
            (stream.block, stream.page) = (Some(block), 0);
            found.push(block);
            self.checkpoint.blocks = to_u32(found.len());
            return Ok(());
        }
        Ok(())
    }
}
