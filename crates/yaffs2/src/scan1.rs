//! The scan of YAFFS1 at mount: from the first chunk of the flash to the last.
//!
//! Layer: rank 5. Deleted chunks say so. Where the power failed between the new copy of a chunk and the deletion
//! of the old one, both are there, and the serial number decides. Source: `core/yaffs_yaffs1.c`.

use crate::Yaffs;
use crate::block::State;
use crate::error::Error;
use crate::flash::Ecc;
use crate::format::{
    DELETED, LOST_AND_FOUND, OBJECT_MAX, ObjectHeader, ObjectType, ROOT, Tags, UNLINKED,
};
use crate::format::{SEQUENCE_FIRST, to_u32};
use crate::layout::{Block, Chunk};
use crate::object::{Slot, Variant};
use crate::update::HeaderChange;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// Whether a copy with serial number `new` is the next after one with `old`.
const fn is_next(old: u8, new: u8) -> bool {
    (old + 1) & 3 == new
}

impl<M: Mtd> Yaffs<M> {
    /// Scans the whole flash.
    pub(crate) fn scan_forwards(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.space.sequence = SEQUENCE_FIRST;
        for block in self.layout.all() {
            let (state, _) = self.query_block(clock, block)?;
            self.blocks.clear_used(block);
            let info = self.blocks.get_mut(block);
            (info.in_use, info.soft_deleted, info.state) = (0, 0, state);
            if state == State::Empty {
                self.space.erased_blocks += 1;
                self.space.free_chunks += self.chunks_per_block();
            }
        }
        let (mut links, mut shadows) = (Vec::new(), Vec::new());
        for block in self.layout.all() {
            if self.blocks.get(block).state == State::NeedsScan {
                self.scan_block1(clock, block, &mut links, &mut shadows)?;
            }
        }
        self.connect_links(&links);
        if self.options.read_only {
            return Ok(());
        }
        // A rename over another object is completed.
        for (id, shadowed) in shadows.into_iter().rev() {
            if let Some(slot) = self.objects.find(shadowed) {
                self.delete_object(clock, slot)?;
            }
            if let Some(slot) = self.objects.find(id) {
                let change = HeaderChange { force: true, ..HeaderChange::default() };
                self.write_header(clock, slot, &change)?;
            }
        }
        Ok(())
    }

    fn scan_block1(
        &mut self,
        clock: &mut Clock,
        block: Block,
        links: &mut Vec<Slot>,
        shadows: &mut Vec<(u32, u32)>,
    ) -> Result<(), Error> {
        let mut state = State::Full;
        for page in 0..self.layout.chunks_per_block {
            let chunk = self.layout.chunk_of(block, page);
            let read = self.read_chunk(clock, chunk, None)?;
            if !read.whole {
                self.findings.uncorrectable_tags.push(chunk);
                continue;
            }
            let unfixed = read.ecc == Ecc::Unfixed;
            if unfixed || read.tags.is_some_and(|tags| tags.deleted) {
                if unfixed {
                    self.findings.uncorrectable_tags.push(chunk);
                }
                self.space.free_chunks += 1;
                continue;
            }
            let Some(tags) = read.tags else {
                if page == 0 {
                    state = State::Empty;
                    self.space.erased_blocks += 1;
                } else {
                    self.space.finder = block;
                }
                self.space.free_chunks += self.chunks_per_block() - page.cast_signed();
                break;
            };
            if matches!(tags.object, 0 | UNLINKED | DELETED)
                || tags.bytes > to_u32(self.layout.chunk)
            {
                self.findings.bad_tags.push(chunk);
                self.space.free_chunks += 1;
                continue;
            }
            self.blocks.set_used(block, page, true);
            self.blocks.get_mut(block).in_use += 1;
            if tags.chunk > 0 {
                self.scan_data1(clock, chunk, &tags)?;
            } else {
                self.scan_header1(clock, chunk, &tags, links, shadows)?;
            }
        }
        let info = self.blocks.get_mut(block);
        info.state = state;
        let empty = info.in_use == 0 && !info.has_shrink_header && state == State::Full;
        if empty && !self.options.read_only {
            self.erase_block(clock, block)?;
        }
        Ok(())
    }

    fn scan_data1(&mut self, clock: &mut Clock, chunk: Chunk, tags: &Tags) -> Result<(), Error> {
        let slot = self.find_or_make(clock, tags.object, ObjectType::File);
        if self.objects.get(slot).file().is_none() {
            return self.drop_chunk1(clock, chunk);
        }
        let existing = self.find_chunk(slot, tags.chunk);
        if existing > 0 {
            self.read_chunk(clock, chunk, None)?;
            let old = self.read_chunk(clock, existing, None)?.tags.unwrap_or_default();
            if !is_next(old.serial, tags.serial) {
                return self.drop_chunk1(clock, chunk);
            }
            self.drop_chunk1(clock, existing)?;
        }
        self.put_chunk(slot, tags.chunk, chunk);
        let end = u64::from(tags.chunk - 1) * self.layout.chunk_bytes() + u64::from(tags.bytes);
        if let Some(file) = self.objects.get_mut(slot).file_mut()
            && file.stored_size < end
        {
            (file.stored_size, file.size) = (end, end);
        }
        Ok(())
    }

    /// One of two copies is of no use.
    fn drop_chunk1(&mut self, clock: &mut Clock, chunk: Chunk) -> Result<(), Error> {
        self.delete_chunk(clock, chunk, !self.options.read_only)
    }

    fn scan_header1(
        &mut self,
        clock: &mut Clock,
        chunk: Chunk,
        tags: &Tags,
        links: &mut Vec<Slot>,
        shadows: &mut Vec<(u32, u32)>,
    ) -> Result<(), Error> {
        let mut data = self.buffer();
        let read = self.read_chunk(clock, chunk, Some(&mut data))?;
        let header = self.parse_header(&data);
        self.give_back(data);
        if !read.whole || read.ecc == Ecc::Unfixed {
            self.findings.unreadable_headers.push(chunk);
            return self.drop_chunk1(clock, chunk);
        }
        let special = matches!(tags.object, ROOT | LOST_AND_FOUND);
        if !special
            && let Some(slot) = self.objects.find(tags.object)
            && self.objects.get(slot).kind() != header.kind()
        {
            self.change_type1(clock, slot, header.kind())?;
        }
        let slot = self.find_or_make(clock, tags.object, header.kind());
        if (1..=OBJECT_MAX).contains(&header.shadows) && header.shadows > DELETED {
            shadows.push((tags.object, header.shadows));
        }
        let object = self.objects.get(slot);
        if object.valid {
            if !is_next(object.serial & 3, tags.serial) {
                return self.drop_chunk1(clock, chunk);
            }
            let old = object.header;
            self.drop_chunk1(clock, old)?;
        }
        let object = self.objects.get_mut(slot);
        (object.valid, object.header, object.serial) = (true, chunk, tags.serial);
        self.set_details(slot, &header);
        if !special {
            self.adopt_header1(clock, slot, &header, links);
        }
        Ok(())
    }

    fn adopt_header1(
        &mut self,
        clock: &Clock,
        slot: Slot,
        header: &ObjectHeader,
        links: &mut Vec<Slot>,
    ) {
        self.objects.get_mut(slot).set_name(&header.name);
        self.objects.get_mut(slot).dirty = false;
        let parent = self.parent_of(clock, slot, header.parent);
        self.enter_directory(parent, slot);
        match &mut self.objects.get_mut(slot).variant {
            Variant::HardLink { number, .. } => {
                *number = header.equivalent.unwrap_or(0);
                links.retain(|&link| link != slot);
                links.push(slot);
            }
            Variant::Symlink { target } => *target = header.alias.clone(),
            _ => {}
        }
    }

    /// The number of an object was used again for one of another type.
    fn change_type1(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        kind: ObjectType,
    ) -> Result<(), Error> {
        let empty = self.objects.first_child(slot).is_none();
        if self.options.read_only || !empty {
            return self.change_type(clock, slot, kind);
        }
        self.objects.get_mut(slot).links.clear();
        self.change_type(clock, slot, kind)?;
        let header = std::mem::take(&mut self.objects.get_mut(slot).header);
        self.objects.get_mut(slot).valid = false;
        self.drop_chunk1(clock, header)
    }
}
