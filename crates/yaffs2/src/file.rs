//! The content of files: reading, writing, holes and sizes.
//!
//! Layer: rank 5. A chunk is written whole; what is in it is read before a part of it changes. A small hole is
//! written as zeros, a larger one begins with a header that voids what lay beyond. Source: `yaffs_file_rd`,
//! `yaffs_do_file_wr`, `yaffs_resize_file`, `yaffs_wr_data_obj` in `core/yaffs_guts.c`; `yaffs2_handle_hole`.

use crate::Yaffs;
use crate::error::Error;
use crate::format::{DELETED, Tags, UNLINKED, to_u32};
use crate::layout::Chunk;
use crate::object::Slot;
use crate::update::{HeaderChange, Written};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// A chunk of a file, by its number in it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileChunk {
    pub(crate) file: Slot,
    /// From 1.
    pub(crate) number: u32,
    /// Valid bytes.
    pub(crate) bytes: u32,
}

/// A hole of fewer chunks is written as zeros.
const SMALL_HOLE: u32 = 4;

impl<M: Mtd> Yaffs<M> {
    /// Where a chunk of a file lies; 0 in a hole.
    pub(crate) fn find_chunk(&self, slot: Slot, chunk: u32) -> Chunk {
        let found =
            self.objects.get(slot).file().and_then(|file| file.tree.get(chunk)).unwrap_or(0);
        let (block, page) = self.layout.place(found);
        if self.layout.has(found) && self.blocks.is_used(block, page) { found } else { 0 }
    }

    /// The first page from `page` on with bytes of a chunk; `None` behind the last.
    pub(crate) fn next_page_of(&self, slot: Slot, page: u64) -> Option<u64> {
        if self.cache.is_dirty(slot) {
            return Some(page);
        }
        let step = boardlab_vfs::PAGE_SIZE as u64;
        let (index, _) = self.layout.split(page.checked_mul(step)?);
        let number = self.objects.get(slot).file()?.tree.next(chunk_number(index)?)?;
        Some(page.max(u64::from(number - 1) * self.layout.chunk_bytes() / step))
    }

    /// Puts a chunk into the tree of its file.
    pub(crate) fn put_chunk(&mut self, slot: Slot, number: u32, chunk: Chunk) -> bool {
        let nodes = &mut self.nodes;
        let object = self.objects.get_mut(slot);
        let Some(file) = object.file_mut() else { return false };
        let Some(entry) = file.tree.entry(number, nodes) else { return false };
        if chunk > 0 {
            let before = std::mem::replace(entry, chunk);
            object.data_chunks += i32::from(before == 0);
        }
        true
    }

    /// Reads a chunk of a file into `data`: zeros in a hole. Returns whether it could be read.
    pub(crate) fn read_data(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        number: u32,
        data: &mut [u8],
    ) -> Result<bool, Error> {
        let chunk = self.find_chunk(slot, number);
        if chunk == 0 {
            data.fill(0);
            return Ok(true);
        }
        self.read_chunk(clock, chunk, Some(data)).map(|read| read.whole)
    }

    /// Writes a chunk of a file; `None` when there is no room.
    pub(crate) fn write_data(
        &mut self,
        clock: &mut Clock,
        place: FileChunk,
        data: &[u8],
        use_reserve: bool,
    ) -> Result<Option<Chunk>, Error> {
        let FileChunk { file: slot, number, bytes } = place;
        self.check_gc(clock, false)?;
        let before = self.find_chunk(slot, number);
        if before == 0 && !self.put_chunk(slot, number, 0) {
            return Ok(None);
        }
        let end = u64::from(number - 1) * self.layout.chunk_bytes() + u64::from(bytes);
        let object = self.objects.get_mut(slot);
        let id = object.id;
        if let Some(file) = object.file_mut() {
            file.stored_size = file.stored_size.max(end);
        }
        let tags = Tags { object: id, chunk: number, bytes, serial: 1, ..Tags::default() };
        let Some(chunk) = self.write_chunk(clock, data, &tags, use_reserve)? else {
            return Ok(None);
        };
        self.put_chunk(slot, number, chunk);
        self.delete_chunk(clock, before, true)?;
        Ok(Some(chunk))
    }

    /// Reads bytes of a file; zeros beyond its chunks.
    pub(crate) fn read_file(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        offset: u64,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let (mut at, mut left, mut whole) = (offset, buffer, Ok(()));
        while !left.is_empty() {
            let (index, within) = self.layout.split(at);
            let Some(number) = chunk_number(index) else {
                left.fill(0);
                break;
            };
            let length = left.len().min(self.layout.chunk - within);
            let (part, rest) = left.split_at_mut(length);
            let cached = self.cache.find(slot, number);
            let direct = cached.is_none() && length == self.layout.chunk && !self.in_band();
            let right = if direct {
                self.read_data(clock, slot, number, part)?
            } else {
                self.read_part(clock, slot, number, within, part)?
            };
            if !right {
                let (chunk, id) = (self.find_chunk(slot, number), self.objects.get(slot).id);
                whole = Err(self.damaged(chunk, id));
            }
            at += u64::from(to_u32(length));
            left = rest;
        }
        whole
    }

    /// Reads a part of a chunk by the cache.
    fn read_part(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        number: u32,
        within: usize,
        part: &mut [u8],
    ) -> Result<bool, Error> {
        if self.cache.entries.is_empty() {
            let mut data = self.buffer();
            let right = self.read_data(clock, slot, number, &mut data)?;
            part.copy_from_slice(&data[within..within + part.len()]);
            self.give_back(data);
            return Ok(right);
        }
        let (entry, right) = self.entry_of(clock, slot, number)?;
        self.cache.touch(entry, false);
        let data = &self.cache.entries[entry].data;
        part.copy_from_slice(&data[within..within + part.len()]);
        if !right {
            // The bytes are not those of the file: they are read again each time.
            self.cache.entries[entry].object = None;
        }
        Ok(right)
    }

    /// The entry of the cache with a chunk of a file, which is read if it is not there.
    fn entry_of(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        number: u32,
    ) -> Result<(usize, bool), Error> {
        if let Some(entry) = self.cache.find(slot, number) {
            return Ok((entry, true));
        }
        let at = self.grab_entry(clock)?;
        let entry = &mut self.cache.entries[at];
        (entry.object, entry.chunk, entry.dirty, entry.bytes) = (Some(slot), number, false, 0);
        let mut data = std::mem::take(&mut entry.data);
        let read = self.read_data(clock, slot, number, &mut data);
        self.cache.entries[at].data = data;
        Ok((at, read?))
    }

    /// Writes bytes of a file; returns how many had room.
    pub(crate) fn write_file(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        offset: u64,
        bytes: &[u8],
    ) -> Result<usize, Error> {
        self.make_hole(clock, slot, offset)?;
        self.write_bytes(clock, slot, offset, bytes)
    }

    fn write_bytes(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        offset: u64,
        bytes: &[u8],
    ) -> Result<usize, Error> {
        let (mut done, size) = (0, self.size_of(slot));
        while done < bytes.len() {
            let at = offset + u64::from(to_u32(done));
            let (index, within) = self.layout.split(at);
            let Some(number) = chunk_number(index) else { break };
            let left = bytes.len() - done;
            let length = left.min(self.layout.chunk - within);
            let end = within + length;
            // Not less is valid afterwards than before.
            let old = size.saturating_sub(index * self.layout.chunk_bytes());
            let old =
                usize::try_from(old).map_or(self.layout.chunk, |old| old.min(self.layout.chunk));
            let part = &bytes[done..done + length];
            let place = FileChunk { file: slot, number, bytes: to_u32(old.max(end)) };
            if !self.write_part(clock, place, within, part)? {
                break;
            }
            done += length;
        }
        let end = offset + u64::from(to_u32(done));
        let object = self.objects.get_mut(slot);
        if let Some(file) = object.file_mut() {
            file.size = file.size.max(end);
        }
        object.dirty = true;
        Ok(done)
    }

    /// Writes a part of a chunk; returns whether there is room.
    fn write_part(
        &mut self,
        clock: &mut Clock,
        place: FileChunk,
        within: usize,
        part: &[u8],
    ) -> Result<bool, Error> {
        let FileChunk { file: slot, number, bytes } = place;
        let whole = part.len() == self.layout.chunk;
        if whole && self.options.bypass_aligned && !self.in_band() {
            if self.options.repaired {
                self.flush_file_cache(clock, slot, false)?;
            }
            let written = self.write_data(clock, place, part, false)?;
            self.cache.invalidate_chunk(slot, number);
            return Ok(written.is_some());
        }
        if self.cache.entries.is_empty() {
            let mut data = self.buffer();
            self.read_data(clock, slot, number, &mut data)?;
            data[within..within + part.len()].copy_from_slice(part);
            let written = self.write_data(clock, place, &data, false)?;
            self.give_back(data);
            return Ok(written.is_some());
        }
        let cached = self.cache.find(slot, number);
        let promised = cached.is_some_and(|entry| self.cache.entries[entry].dirty);
        if !promised && !self.has_room_for(1) {
            return Ok(false);
        }
        let (entry, _) = self.entry_of(clock, slot, number)?;
        self.cache.touch(entry, true);
        let entry = &mut self.cache.entries[entry];
        entry.data[within..within + part.len()].copy_from_slice(part);
        entry.bytes = bytes;
        Ok(true)
    }

    pub(crate) fn size_of(&self, slot: Slot) -> u64 {
        self.objects.get(slot).file().map_or(0, |file| file.size)
    }

    /// Whether an object is in the directory of unlinked or of deleted ones.
    pub(crate) fn is_gone(&self, slot: Slot) -> bool {
        let parent = self.objects.get(slot).parent.map(|parent| self.objects.get(parent).id);
        parent.is_none_or(|parent| parent == UNLINKED || parent == DELETED)
    }

    /// Makes a file longer, up to where something is written. Returns whether older data in the hole are void by
    /// a header, and not by zeros that are still to be written.
    fn make_hole(&mut self, clock: &mut Clock, slot: Slot, end: u64) -> Result<bool, Error> {
        let size = self.size_of(slot);
        if !self.options.tags.is_yaffs2() || end <= size {
            return Ok(true);
        }
        let small = u64::from(SMALL_HOLE) * self.layout.chunk_bytes();
        if end - size < small && self.has_room_for(SMALL_HOLE.cast_signed() + 1) {
            let zeros = vec![0; self.layout.chunk];
            let mut at = size;
            while at < end {
                let length = (end - at).min(self.layout.chunk_bytes());
                let length = usize::try_from(length).expect("a chunk at most");
                if self.write_bytes(clock, slot, at, &zeros[..length])? < length {
                    break;
                }
                at += u64::from(to_u32(length));
            }
            if at >= end {
                return Ok(false);
            }
            self.shorten(clock, slot, size)?;
        }
        if !self.is_gone(slot) {
            let change = HeaderChange { shrink: true, ..HeaderChange::default() };
            self.write_header(clock, slot, &change)?;
        }
        Ok(true)
    }

    /// Deletes the chunks of a file from the last to the first beyond a size.
    fn prune_chunks(&mut self, clock: &mut Clock, slot: Slot, size: u64) -> Result<(), Error> {
        let chunk = self.layout.chunk_bytes();
        let last = self.size_of(slot).div_ceil(chunk).max(1);
        let first = size.div_ceil(chunk) + 1;
        let leaves = self.objects.get(slot).file().map(|file| file.tree.leaves());
        let numbers = leaves.into_iter().flatten().flat_map(|(base, _)| base..base + 16);
        let numbers: Vec<u32> =
            numbers.filter(|&number| (first..=last).contains(&u64::from(number))).collect();
        for number in numbers.into_iter().rev() {
            let found = self.find_chunk(slot, number);
            if found == 0 {
                continue;
            }
            let nodes = &mut self.nodes;
            let object = self.objects.get_mut(slot);
            if let Some(file) = object.file_mut() {
                file.tree.take(number, nodes);
                object.data_chunks -= 1;
            }
            self.delete_chunk(clock, found, true)?;
        }
        Ok(())
    }

    fn shorten(&mut self, clock: &mut Clock, slot: Slot, size: u64) -> Result<(), Error> {
        self.prune_chunks(clock, slot, size)?;
        self.cut_chunk(clock, slot, size)?;
        self.set_shorter_size(slot, size);
        Ok(())
    }

    /// Writes the chunk that a size lies in, with zeros beyond it.
    fn cut_chunk(&mut self, clock: &mut Clock, slot: Slot, size: u64) -> Result<bool, Error> {
        let (index, within) = self.layout.split(size);
        let Some(number) = chunk_number(index).filter(|_| within > 0) else { return Ok(true) };
        let mut data = self.buffer();
        self.read_data(clock, slot, number, &mut data)?;
        data[within..].fill(0);
        let place = FileChunk { file: slot, number, bytes: to_u32(within) };
        let written = self.write_data(clock, place, &data, true)?;
        self.give_back(data);
        Ok(written.is_some())
    }

    fn set_shorter_size(&mut self, slot: Slot, size: u64) {
        let nodes = &mut self.nodes;
        if let Some(file) = self.objects.get_mut(slot).file_mut() {
            (file.size, file.stored_size) = (size, size);
            file.tree.prune(nodes);
        }
    }

    /// Changes the size of a file, and writes its header.
    pub(crate) fn resize(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        size: u64,
    ) -> Result<Written, Error> {
        self.flush_file_cache(clock, slot, true)?;
        self.cache.invalidate(slot);
        self.check_gc(clock, false)?;
        let before = self.size_of(slot);
        if size == before {
            return Ok(Written::Done);
        }
        if size > before {
            let stores = self.make_hole(clock, slot, size)? && self.options.repaired;
            if let Some(file) = self.objects.get_mut(slot).file_mut() {
                file.size = size;
                file.stored_size = if stores { size } else { file.stored_size };
            }
        } else if self.options.repaired && self.has_header(slot) {
            return self.shorten_by_header(clock, slot, size);
        } else {
            self.shorten(clock, slot, size)?;
        }
        if !self.has_header(slot) {
            return Ok(Written::Done);
        }
        self.write_header(clock, slot, &HeaderChange::default())
    }

    /// Whether the header of a file follows its size: not when it is being deleted.
    fn has_header(&self, slot: Slot) -> bool {
        !self.objects.get(slot).shadowed && !self.is_gone(slot)
    }

    /// Makes a file shorter, its header before the data go. The sources write it last. The blocks of the data may
    /// be erased before; a cut then leaves a size that the file never had, or what was in these chunks earlier.
    fn shorten_by_header(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        size: u64,
    ) -> Result<Written, Error> {
        if !self.cut_chunk(clock, slot, size)? {
            return Ok(Written::NoRoom);
        }
        let Some(file) = self.objects.get_mut(slot).file_mut() else { return Ok(Written::Done) };
        let before = std::mem::replace(&mut file.stored_size, size);
        let written = self.write_header(clock, slot, &HeaderChange::default())?;
        if written != Written::NoRoom {
            self.prune_chunks(clock, slot, size)?;
            self.set_shorter_size(slot, size);
        } else if let Some(file) = self.objects.get_mut(slot).file_mut() {
            file.stored_size = before;
        }
        Ok(written)
    }

    /// Writes what the cache has of a file, and its header with a new time.
    pub(crate) fn flush_file(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        update_time: bool,
        discard: bool,
    ) -> Result<Written, Error> {
        if !self.objects.get(slot).dirty {
            return Ok(Written::Done);
        }
        self.flush_file_cache(clock, slot, discard)?;
        if update_time {
            self.objects.get_mut(slot).times.modified = self.now(clock);
        }
        self.write_header(clock, slot, &HeaderChange::default())
    }
}

/// The number of a chunk in its file, counted from 1; `None` beyond the last.
pub(crate) fn chunk_number(index: u64) -> Option<u32> {
    u32::try_from(index + 1).ok().filter(|&number| number <= crate::format::CHUNK_MAX)
}

/// Bytes of the largest file.
pub(crate) fn size_max(chunk: usize) -> u64 {
    u64::from(crate::format::CHUNK_MAX) * u64::from(to_u32(chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_of_a_file_are_numbered_from_1_to_the_last() {
        assert_eq!(chunk_number(0), Some(1));
        assert_eq!(chunk_number(u64::from(crate::format::CHUNK_MAX)), None);
        assert_eq!(chunk_number(4), Some(5));
        assert_eq!(size_max(2_048), ((1 << 28) - 1) * 2_048);
    }
}
