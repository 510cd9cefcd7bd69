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
use std::collections::BTreeMap;

/// What the scan knows of objects until it has seen everything.
#[derive(Debug, Default)]
struct Found {
    links: Vec<Slot>,
    /// Objects, and those whose place they take.
    shadows: Vec<(u32, u32)>,
    /// Sizes of files by their headers.
    sizes: BTreeMap<Slot, u64>,
}

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
        let mut found = Found::default();
        for block in self.layout.all() {
            if self.blocks.get(block).state == State::NeedsScan {
                self.scan_block1(clock, block, &mut found)?;
            }
        }
        self.connect_links(&found.links);
        if self.options.repaired {
            for (slot, size) in found.sizes {
                if let Some(file) = self.objects.get_mut(slot).file_mut() {
                    (file.size, file.stored_size) =
                        (file.size.max(size), file.stored_size.max(size));
                }
            }
        }
        if self.options.read_only {
            return Ok(());
        }
        self.complete_renames1(clock, found.shadows)
    }

    /// Completes renames over other objects.
    fn complete_renames1(
        &mut self,
        clock: &mut Clock,
        shadows: Vec<(u32, u32)>,
    ) -> Result<(), Error> {
        for (id, shadowed) in shadows.into_iter().rev() {
            let (new, old) = (self.objects.find(id), self.objects.find(shadowed));
            match (new, old) {
                (Some(new), Some(old)) if self.options.repaired => {
                    self.unlink_shadowed1(clock, new, old)?;
                }
                (_, Some(old)) => {
                    self.delete_object(clock, old).or_else(Error::unless_flash)?;
                }
                _ => {}
            }
            if let Some(slot) = self.objects.find(id) {
                let change = HeaderChange { force: true, ..HeaderChange::default() };
                self.write_header(clock, slot, &change)?;
            }
        }
        Ok(())
    }

    /// Takes its name from an object that another has taken the place of. The sources delete it, with all of its
    /// hard links. It has another name already if the power failed later.
    fn unlink_shadowed1(&mut self, clock: &mut Clock, new: Slot, old: Slot) -> Result<(), Error> {
        let same_parent = self.objects.get(new).parent == self.objects.get(old).parent;
        if new != old && same_parent && self.name_of(clock, new)? == self.name_of(clock, old)? {
            self.unlink_object(clock, old).map(drop).or_else(Error::unless_flash)?;
        }
        Ok(())
    }

    fn scan_block1(
        &mut self,
        clock: &mut Clock,
        block: Block,
        found: &mut Found,
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
            self.blocks.take(block, page);
            if tags.chunk > 0 {
                self.scan_data1(clock, chunk, &tags)?;
            } else {
                self.scan_header1(clock, chunk, &tags, found)?;
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
        let base = u64::from(tags.chunk - 1) * self.layout.chunk_bytes();
        let existing = self.find_chunk(slot, tags.chunk);
        if existing > 0 {
            // The sources read the tags of both.
            self.read_chunk(clock, chunk, None)?;
            let old = self.read_chunk(clock, existing, None)?.tags.unwrap_or_default();
            let kept = !is_next(old.serial, tags.serial);
            if kept && !(self.options.repaired && self.is_torn(clock, existing)?) {
                return self.drop_chunk1(clock, chunk);
            }
            if self.options.repaired && self.is_torn(clock, chunk)? {
                self.findings.torn.push(chunk);
                return self.drop_chunk1(clock, chunk);
            }
            self.drop_chunk1(clock, existing)?;
            if self.options.repaired {
                self.take_end1(slot, base + u64::from(old.bytes), base);
            }
        }
        self.put_chunk(slot, tags.chunk, chunk);
        let end = base + u64::from(tags.bytes);
        if let Some(file) = self.objects.get_mut(slot).file_mut()
            && file.stored_size < end
        {
            (file.stored_size, file.size) = (end, end);
        }
        Ok(())
    }

    /// The last chunk of a file is replaced by one that may be shorter. Its header has the larger size until the
    /// truncation is through.
    fn take_end1(&mut self, slot: Slot, end: u64, base: u64) {
        if let Some(file) = self.objects.get_mut(slot).file_mut()
            && file.stored_size == end
        {
            (file.stored_size, file.size) = (base, base);
        }
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
        found: &mut Found,
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
        let shadows = Some(header.shadows).filter(|id| (DELETED + 1..=OBJECT_MAX).contains(id));
        let repaired = self.options.repaired;
        if let Some(shadowed) = shadows.filter(|_| !repaired) {
            found.shadows.push((tags.object, shadowed));
        }
        let object = self.objects.get(slot);
        if object.valid {
            if !is_next(object.serial & 3, tags.serial) {
                return self.drop_chunk1(clock, chunk);
            }
            let old = object.header;
            self.drop_chunk1(clock, old)?;
        }
        if repaired {
            // The header after that has none, whether this one is deleted or not.
            found.shadows.retain(|&(id, _)| id != tags.object);
            found.shadows.extend(shadows.map(|shadowed| (tags.object, shadowed)));
        }
        let object = self.objects.get_mut(slot);
        (object.valid, object.header, object.serial) = (true, chunk, tags.serial);
        self.set_details(slot, &header);
        if !special {
            self.adopt_header1(clock, slot, &header, found);
        }
        Ok(())
    }

    fn adopt_header1(
        &mut self,
        clock: &Clock,
        slot: Slot,
        header: &ObjectHeader,
        found: &mut Found,
    ) {
        self.objects.get_mut(slot).set_name(&header.name);
        self.objects.get_mut(slot).dirty = false;
        let parent = self.parent_of(clock, slot, header.parent);
        self.enter_directory(parent, slot);
        match &mut self.objects.get_mut(slot).variant {
            Variant::File(_) => {
                found.sizes.insert(slot, header.size.unwrap_or(0));
            }
            Variant::HardLink { number, .. } => {
                *number = header.equivalent.unwrap_or(0);
                found.links.retain(|&link| link != slot);
                found.links.push(slot);
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
