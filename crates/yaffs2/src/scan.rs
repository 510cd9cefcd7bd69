//! The scan of YAFFS2 at mount: from the newest chunk to the oldest.
//!
//! Layer: rank 5. What is seen first is newer, and what is seen later of the same chunk or object is void. A
//! header that shrinks its file voids all data beyond its size that come later. Source: `yaffs2_scan_backwards`
//! in `core/yaffs_yaffs2.c`.
//!
//! Two deviations guard against forged tags: objects 0, 3 and 4, which are never on flash, count as bad tags,
//! and nothing turns root and lost+found into something else.

use crate::Yaffs;
use crate::block::State;
use crate::error::Error;
use crate::flash::Ecc;
use crate::format::{
    CHUNK_MAX, DELETED, Extra, LOST_AND_FOUND, OBJECT_MAX, ObjectHeader, ObjectType, ROOT,
    SEQUENCE_BAD, SEQUENCE_CHECKPOINT, SEQUENCE_END, SEQUENCE_FIRST, SUMMARY, Tags, UNLINKED,
    to_u32,
};
use crate::layout::{Block, Chunk};
use crate::object::{Slot, Variant};
use crate::options::Mistake;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// A chunk by its tags, as a scan sees it.
struct ScannedChunk {
    chunk: Chunk,
    tags: Option<Tags>,
    ecc: Ecc,
}

/// What the tags or the header of an object say.
struct Said {
    kind: ObjectType,
    parent: u32,
    size: u64,
    equivalent: u32,
    shrink: bool,
}

impl Said {
    fn by_tags(extra: &Extra) -> Self {
        Self {
            kind: extra.kind(),
            parent: extra.parent,
            size: extra.size,
            equivalent: extra.equivalent,
            shrink: extra.shrink,
        }
    }

    fn by_header(header: &ObjectHeader) -> Self {
        Self {
            kind: header.kind(),
            parent: header.parent,
            size: header.size.unwrap_or(0),
            equivalent: header.equivalent.unwrap_or(0),
            shrink: header.shrink,
        }
    }
}

impl<M: Mtd> Yaffs<M> {
    /// Scans the whole flash.
    pub(crate) fn scan_backwards(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.space.sequence = SEQUENCE_FIRST;
        self.checkpoint.blocks = 0;
        let mut found = Vec::new();
        for block in self.layout.all() {
            if let Some(sequence) = self.first_look(clock, block)? {
                found.push((sequence, block));
                self.space.sequence = self.space.sequence.max(sequence);
            }
        }
        if self.options.mistake != Some(Mistake::IgnoresSequence) {
            found.sort_unstable();
        }
        let mut links = Vec::new();
        for (_, block) in found.into_iter().rev() {
            self.scan_block(clock, block, &mut links)?;
        }
        self.skip_rest_of_block();
        self.connect_links(&links);
        Ok(())
    }

    /// What the first chunk of a block says; returns the sequence number of one that is to be scanned.
    fn first_look(&mut self, clock: &mut Clock, block: Block) -> Result<Option<u32>, Error> {
        let (state, sequence) = self.query_block(clock, block)?;
        self.blocks.clear_used(block);
        let info = self.blocks.get_mut(block);
        (info.in_use, info.soft_deleted) = (0, 0);
        (info.state, info.sequence) = (state, sequence);
        match sequence {
            SEQUENCE_CHECKPOINT => info.state = State::Checkpoint,
            SEQUENCE_BAD => info.state = State::Dead,
            _ => {}
        }
        match info.state {
            State::Checkpoint => self.checkpoint.blocks += 1,
            State::Empty => {
                self.space.erased_blocks += 1;
                self.space.free_chunks += self.chunks_per_block();
            }
            State::NeedsScan if (SEQUENCE_FIRST..SEQUENCE_END).contains(&sequence) => {
                return Ok(Some(sequence));
            }
            // No chunk in it has right tags, so it is erased.
            State::NeedsScan if self.options.repaired && sequence == 0 => {
                return Ok(Some(sequence));
            }
            State::NeedsScan => self.findings.bad_sequences.push(block),
            _ => {}
        }
        Ok(None)
    }

    fn scan_block(
        &mut self,
        clock: &mut Clock,
        block: Block,
        links: &mut Vec<Slot>,
    ) -> Result<(), Error> {
        let summary = self.read_summary(clock, block)?;
        let described = self.layout.summary.map_or(0, |shape| shape.described);
        let pages = if summary.is_some() { described } else { self.layout.chunks_per_block };
        let (mut found, mut programmed) = (false, summary.is_some());
        for page in (0..pages).rev() {
            let state = self.blocks.get(block).state;
            if !matches!(state, State::NeedsScan | State::Allocating) {
                break;
            }
            let by_summary =
                summary.as_ref().and_then(|entries| self.tags_by_summary(entries, block, page));
            let chunk = self.layout.chunk_of(block, page);
            let (tags, ecc) = match by_summary {
                Some(tags) => (Some(tags), Ecc::Clean),
                None => {
                    let read = self.read_chunk(clock, chunk, None)?;
                    (read.tags, if read.whole { read.ecc } else { Ecc::Unfixed })
                }
            };
            let last = tags.is_some() && !programmed;
            programmed |= last;
            // A summary with right tags and wrong content is in use already. The sources count it as free too.
            if self.blocks.is_used(block, page) {
                continue;
            }
            let believed = ecc < Ecc::Unfixed;
            if last && believed && self.options.repaired && self.is_torn(clock, chunk)? {
                self.findings.torn.push(chunk);
                self.space.free_chunks += 1;
                continue;
            }
            self.scan_chunk(clock, &ScannedChunk { chunk, tags, ecc }, &mut found, links)?;
        }
        let info = self.blocks.get_mut(block);
        if info.state == State::NeedsScan {
            info.state = State::Full;
        }
        let empty = info.in_use == 0 && !info.has_shrink_header && info.state == State::Full;
        if empty && !self.options.read_only {
            self.erase_block(clock, block)?;
        }
        Ok(())
    }

    /// Whether the data of a chunk cannot be read, though its tags can: the power failed while it was programmed.
    /// The sources take it for the newest one of its data.
    pub(crate) fn is_torn(&mut self, clock: &mut Clock, chunk: Chunk) -> Result<bool, Error> {
        let mut data = self.buffer();
        let read = self.read_chunk(clock, chunk, Some(&mut data));
        self.give_back(data);
        let read = read?;
        Ok(!read.whole || read.ecc == Ecc::Unfixed)
    }

    fn has_bad_tags(&self, tags: &Tags, block: Block) -> bool {
        tags.object > OBJECT_MAX
            || tags.chunk > CHUNK_MAX
            || matches!(tags.object, 0 | UNLINKED | DELETED | SUMMARY)
            || (tags.chunk > 0 && tags.bytes > to_u32(self.layout.chunk))
            || tags.sequence != self.blocks.get(block).sequence
    }

    fn scan_chunk(
        &mut self,
        clock: &mut Clock,
        scanned: &ScannedChunk,
        found: &mut bool,
        links: &mut Vec<Slot>,
    ) -> Result<(), Error> {
        let ScannedChunk { chunk, tags, ecc } = *scanned;
        let (block, page) = self.layout.place(chunk);
        let Some(tags) = tags.filter(|_| ecc < Ecc::Unfixed) else {
            if tags.is_none() && ecc < Ecc::Unfixed {
                self.scan_unused(block, page, *found);
            } else {
                self.findings.uncorrectable_tags.push(chunk);
            }
            self.space.free_chunks += 1;
            return Ok(());
        };
        if self.has_bad_tags(&tags, block) {
            self.space.free_chunks += 1;
            if tags.object != SUMMARY {
                self.findings.bad_tags.push(chunk);
            }
            return Ok(());
        }
        *found = true;
        self.blocks.take(block, page);
        if tags.chunk > 0 {
            self.scan_data(clock, chunk, &tags)
        } else {
            self.scan_header(clock, chunk, &tags, links)
        }
    }

    /// A chunk that was not programmed: one that was skipped, or where writing goes on.
    fn scan_unused(&mut self, block: Block, page: u32, found: bool) {
        if found {
            return;
        }
        let info = self.blocks.get_mut(block);
        if page == 0 {
            info.state = State::Empty;
            self.space.erased_blocks += 1;
        } else if info.sequence == self.space.sequence {
            info.state = State::Allocating;
            // Two blocks with the same number are forged: one of them is full.
            if let Some(other) = self.space.block.replace(block).filter(|&other| other != block) {
                self.blocks.get_mut(other).state = State::Full;
            }
            (self.space.page, self.space.finder) = (page, block);
        }
    }

    fn scan_data(&mut self, clock: &mut Clock, chunk: Chunk, tags: &Tags) -> Result<(), Error> {
        let slot = self.find_or_make(clock, tags.object, ObjectType::File);
        let base = u64::from(tags.chunk - 1) * self.layout.chunk_bytes();
        let shrinks = self.options.mistake != Some(Mistake::IgnoresShrinkHeaders);
        let beyond = |file: &crate::object::FileState| shrinks && base >= file.shrink_size;
        let kept = self.objects.get(slot).file().is_some_and(|file| !beyond(file));
        let known = self.objects.get(slot).file().and_then(|file| file.tree.get(tags.chunk));
        if !kept || known.is_some_and(|known| known > 0) {
            return self.delete_chunk(clock, chunk, true);
        }
        self.put_chunk(slot, tags.chunk, chunk);
        self.see_end(slot, base, tags.bytes);
        Ok(())
    }

    /// Before a header is seen, data make their file longer.
    fn see_end(&mut self, slot: Slot, base: u64, bytes: u32) {
        let object = self.objects.get_mut(slot);
        let valid = object.valid;
        if let Some(file) = object.file_mut().filter(|_| !valid) {
            let end = base + u64::from(bytes);
            if file.stored_size < end {
                (file.stored_size, file.size) = (end, end);
            }
        }
    }

    fn scan_header(
        &mut self,
        clock: &mut Clock,
        chunk: Chunk,
        tags: &Tags,
        links: &mut Vec<Slot>,
    ) -> Result<(), Error> {
        let special = matches!(tags.object, ROOT | LOST_AND_FOUND);
        let mut slot = tags.extra.map(|extra| self.find_or_make(clock, tags.object, extra.kind()));
        let new = slot.is_none_or(|slot| !self.objects.get(slot).valid);
        let needed = slot.is_none()
            || (new && (!self.options.lazy_load || special))
            || tags.extra.is_some_and(|extra| extra.shadows);
        let mut header = None;
        if needed {
            let mut data = self.buffer();
            let read = self.read_chunk(clock, chunk, Some(&mut data))?;
            header = read.whole.then(|| self.parse_header(&data));
            self.give_back(data);
        }
        let said = match (&header, &tags.extra) {
            (Some(header), _) => Said::by_header(header),
            (None, Some(extra)) => Said::by_tags(extra),
            (None, None) => {
                self.findings.unreadable_headers.push(chunk);
                return self.delete_chunk(clock, chunk, true);
            }
        };
        let slot = *slot.get_or_insert_with(|| self.find_or_make(clock, tags.object, said.kind));
        if self.objects.get(slot).valid {
            return self.scan_older_header(clock, chunk, slot, &said);
        }
        if special {
            let object = self.objects.get_mut(slot);
            (object.valid, object.header, object.lazy) = (true, chunk, header.is_none());
            if let Some(header) = &header {
                self.set_details(slot, header);
            }
            return Ok(());
        }
        if self.objects.get(slot).kind() != said.kind {
            self.change_type(clock, slot, said.kind)?;
        }
        self.adopt_header(clock, chunk, slot, &said, header.as_ref());
        if let Variant::HardLink { number, .. } = &mut self.objects.get_mut(slot).variant {
            *number = said.equivalent;
            if !self.is_gone(slot) {
                links.push(slot);
            }
        }
        Ok(())
    }

    /// The object has a newer header; this one may void older data.
    fn scan_older_header(
        &mut self,
        clock: &mut Clock,
        chunk: Chunk,
        slot: Slot,
        said: &Said,
    ) -> Result<(), Error> {
        if said.kind == ObjectType::File
            && let Some(file) = self.objects.get_mut(slot).file_mut()
        {
            let gone = said.parent == DELETED || said.parent == UNLINKED;
            if gone || said.shrink {
                let size = if gone { 0 } else { said.size };
                file.shrink_size = file.shrink_size.min(size);
                let (block, _) = self.layout.place(chunk);
                self.blocks.get_mut(block).has_shrink_header = true;
            }
        }
        self.delete_chunk(clock, chunk, true)
    }

    /// The newest header of an object: it says where it is and how large.
    fn adopt_header(
        &mut self,
        clock: &Clock,
        chunk: Chunk,
        slot: Slot,
        said: &Said,
        header: Option<&ObjectHeader>,
    ) {
        let object = self.objects.get_mut(slot);
        (object.valid, object.header, object.dirty) = (true, chunk, false);
        object.lazy = header.is_none();
        if let Some(header) = header {
            self.set_details(slot, header);
            if header.shadows.cast_signed() > 0 {
                if self.options.repaired && !self.options.read_only {
                    self.shadows.push((slot, header.shadows));
                } else {
                    self.shadow(clock, header.shadows);
                }
            }
            self.objects.get_mut(slot).set_name(&header.name);
        }
        let parent = self.parent_of(clock, slot, said.parent);
        self.enter_directory(parent, slot);
        if said.shrink {
            let (block, _) = self.layout.place(chunk);
            self.blocks.get_mut(block).has_shrink_header = true;
        }
        match &mut self.objects.get_mut(slot).variant {
            Variant::File(file) => {
                if file.stored_size < said.size {
                    (file.size, file.stored_size) = (said.size, said.size);
                } else if file.stored_size > said.size {
                    self.extended.push((slot, said.size));
                }
                file.shrink_size = file.shrink_size.min(said.size);
            }
            Variant::Symlink { target } => {
                *target = header.and_then(|header| header.alias.clone());
            }
            _ => {}
        }
    }

    /// The directory with a number; lost+found where that is none.
    pub(crate) fn parent_of(&mut self, clock: &Clock, slot: Slot, id: u32) -> Slot {
        let lost = self.dirs.lost_and_found;
        if !(1..=OBJECT_MAX).contains(&id) {
            return lost;
        }
        let parent = self.find_or_make(clock, id, ObjectType::Directory);
        if self.objects.get(parent).kind() == ObjectType::Unknown {
            self.objects.get_mut(parent).variant =
                Variant::Directory { first: None, waiting: false };
        }
        let sound = self.objects.is_directory(parent) && parent != slot;
        if sound { parent } else { lost }
    }

    /// An object took the place of another, which no newer header mentions: it is to be deleted.
    pub(crate) fn shadow(&mut self, clock: &Clock, id: u32) {
        if !(1..=OBJECT_MAX).contains(&id) || id <= DELETED || self.objects.find(id).is_some() {
            return;
        }
        let slot = self.find_or_make(clock, id, ObjectType::File);
        let unlinked = self.dirs.unlinked;
        let object = self.objects.get_mut(slot);
        (object.shadowed, object.valid) = (true, true);
        if let Some(file) = object.file_mut() {
            file.shrink_size = 0;
        }
        self.enter_directory(unlinked, slot);
    }

    /// The object with a number; a new one of this type, in lost+found, if there is none.
    pub(crate) fn find_or_make(&mut self, clock: &Clock, id: u32, kind: ObjectType) -> Slot {
        self.objects.find(id).unwrap_or_else(|| self.new_object(clock, id, kind))
    }

    /// A header contradicts what older chunks said of its object, which loses what it had.
    pub(crate) fn change_type(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        kind: ObjectType,
    ) -> Result<(), Error> {
        match self.objects.get(slot).kind() {
            ObjectType::File => {
                let mut chunks = Vec::new();
                let nodes = &mut self.nodes;
                if let Some(file) = self.objects.get_mut(slot).file_mut() {
                    file.tree.dismantle(nodes, |chunk| chunks.push(chunk));
                }
                self.objects.get_mut(slot).data_chunks = 0;
                for chunk in chunks {
                    self.delete_chunk(clock, chunk, true)?;
                }
            }
            ObjectType::Directory => {
                let lost = self.dirs.lost_and_found;
                while let Some(child) = self.objects.first_child(slot) {
                    self.enter_directory(lost, child);
                }
            }
            _ => {}
        }
        let variant = self.new_variant(kind);
        self.objects.get_mut(slot).variant = variant;
        Ok(())
    }

    /// Connects hard links with what they lead to. One that leads to nothing, to a directory or to another
    /// link has no target.
    pub(crate) fn connect_links(&mut self, links: &[Slot]) {
        for &link in links.iter().rev() {
            let Variant::HardLink { number, .. } = self.objects.get(link).variant else { continue };
            let found = self.objects.find(number).filter(|&found| {
                let kind = self.objects.get(found).kind();
                !matches!(kind, ObjectType::Directory | ObjectType::HardLink | ObjectType::Unknown)
            });
            if let Some(target) = found {
                self.objects.get_mut(target).links.push(link);
            } else {
                self.findings.dangling_links.push(self.objects.get(link).id);
            }
            self.objects.get_mut(link).variant = Variant::HardLink { target: found, number };
        }
    }
}
