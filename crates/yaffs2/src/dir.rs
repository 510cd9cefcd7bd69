//! Names: creating, linking, renaming and deleting objects.
//!
//! Layer: rank 5. A directory is on no flash as such: every header names its directory. So a rename over a
//! file is a header that shadows the file, until that is deleted. A deleted object has a header in the
//! directory of deleted ones, which voids all that it had. Source: `core/yaffs_guts.c`, from
//! `yaffs_create_obj` to `yaffs_rename_obj`.

use crate::Yaffs;
use crate::error::Error;
use crate::format::{LOST_AND_FOUND, NAME_MAX, ObjectType};
use crate::object::{Object, Slot, Variant, name_sum};
use crate::update::{HeaderChange, LOST_AND_FOUND_NAME, Written};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::Errno;

/// A new object.
#[derive(Debug)]
pub(crate) struct NewObject {
    pub(crate) variant: NewVariant,
    /// File type and permission bits.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) rdev: u32,
}

/// What a new object is.
#[derive(Debug)]
pub(crate) enum NewVariant {
    File,
    Directory,
    Symlink(Vec<u8>),
    HardLink(Slot),
    Special,
}

impl<M: Mtd> Yaffs<M> {
    /// The child of a directory with a name. Children are looked at from the newest on, and what is not in
    /// memory of them is read.
    pub(crate) fn find_by_name(
        &mut self,
        clock: &mut Clock,
        dir: Slot,
        name: &[u8],
    ) -> Result<Option<Slot>, Error> {
        let sum = name_sum(name);
        let mut next = self.objects.first_child(dir);
        while let Some(child) = next {
            self.load_details(clock, child)?;
            let object = self.objects.get(child);
            let found = if object.id == LOST_AND_FOUND {
                name == LOST_AND_FOUND_NAME
            } else if object.name_sum == sum || object.header == 0 {
                self.name_of(clock, child)? == name
            } else {
                false
            };
            if found {
                return Ok(Some(child));
            }
            next = self.objects.next_child(child);
        }
        Ok(None)
    }

    /// What an object stands for: a hard link for what it leads to. `None` if that does not exist.
    pub(crate) fn equivalent(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
    ) -> Result<Option<Slot>, Error> {
        let Variant::HardLink { target, .. } = self.objects.get(slot).variant else {
            return Ok(Some(slot));
        };
        if let Some(target) = target {
            self.load_details(clock, target)?;
        }
        Ok(target)
    }

    /// An object without a header, in lost+found until it gets a directory.
    pub(crate) fn new_object(&mut self, clock: &Clock, id: u32, kind: ObjectType) -> Slot {
        let variant = self.new_variant(kind);
        let now = self.now(clock);
        let mut object = Object::new(id, variant);
        object.times.accessed = now;
        object.times.modified = now;
        object.times.changed = now;
        let slot = self.objects.insert(object);
        self.objects.enter_directory(self.dirs.lost_and_found, slot);
        slot
    }

    pub(crate) fn new_variant(&mut self, kind: ObjectType) -> Variant {
        match kind {
            ObjectType::Unknown => Variant::Unknown,
            ObjectType::File => Variant::File(crate::object::FileState {
                size: 0,
                stored_size: 0,
                shrink_size: crate::file::size_max(self.layout.chunk),
                tree: crate::tree::Tree::new(&mut self.nodes),
            }),
            ObjectType::Symlink => Variant::Symlink { target: None },
            ObjectType::Directory => Variant::Directory { first: None, waiting: false },
            ObjectType::HardLink => Variant::HardLink { target: None, number: 0 },
            ObjectType::Special => Variant::Special,
        }
    }

    /// Puts an object into a directory; in that of unlinked or deleted ones it has no name any more.
    pub(crate) fn enter_directory(&mut self, dir: Slot, child: Slot) {
        self.objects.enter_directory(dir, child);
        if dir == self.dirs.unlinked || dir == self.dirs.deleted {
            let object = self.objects.get_mut(child);
            object.unlinked = true;
            object.rename_allowed = false;
            self.space.unlinked_files += 1;
        }
    }

    /// Creates an object with a header; `None` when there is no room.
    pub(crate) fn create_object(
        &mut self,
        clock: &mut Clock,
        dir: Slot,
        name: &[u8],
        new: NewObject,
    ) -> Result<Option<Slot>, Error> {
        if self.find_by_name(clock, dir, name)?.is_some() {
            return Err(Errno::Exist.into());
        }
        let kind = match new.variant {
            NewVariant::File => ObjectType::File,
            NewVariant::Directory => ObjectType::Directory,
            NewVariant::Symlink(_) => ObjectType::Symlink,
            NewVariant::HardLink(_) => ObjectType::HardLink,
            NewVariant::Special => ObjectType::Special,
        };
        let Some(id) = self.objects.new_id() else { return Ok(None) };
        let slot = self.new_object(clock, id, kind);
        let object = self.objects.get_mut(slot);
        object.valid = true;
        object.dirty = true;
        (object.mode, object.uid, object.gid, object.rdev) = (new.mode, new.uid, new.gid, new.rdev);
        object.set_name(name);
        self.enter_directory(dir, slot);
        match new.variant {
            NewVariant::Symlink(target) => {
                self.objects.get_mut(slot).variant = Variant::Symlink { target: Some(target) };
            }
            NewVariant::HardLink(target) => {
                let number = self.objects.get(target).id;
                self.objects.get_mut(slot).variant =
                    Variant::HardLink { target: Some(target), number };
                self.objects.get_mut(target).links.push(slot);
            }
            NewVariant::File | NewVariant::Directory | NewVariant::Special => {}
        }
        let change = HeaderChange { name: Some(name), ..HeaderChange::default() };
        if self.write_header(clock, slot, &change)? == Written::NoRoom {
            self.delete_object(clock, slot)?;
            return Ok(None);
        }
        self.touch_directory(clock, dir);
        Ok(Some(slot))
    }

    /// Gives an object a name in a directory, and a header that says so.
    pub(crate) fn change_name(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        dir: Slot,
        name: &[u8],
        (force, shadows): (bool, u32),
    ) -> Result<Written, Error> {
        let deletes = dir == self.dirs.deleted;
        let existing = self.find_by_name(clock, dir, name)?;
        let free = deletes || dir == self.dirs.unlinked || force || shadows > 0;
        if !free && existing.is_some() {
            return Err(Errno::Exist.into());
        }
        let object = self.objects.get_mut(slot);
        object.set_name(name);
        object.dirty = true;
        self.enter_directory(dir, slot);
        let change =
            HeaderChange { name: Some(name), shrink: deletes, shadows, ..HeaderChange::default() };
        self.write_header(clock, slot, &change)
    }

    /// Frees an object that is in no directory; one that is in use is freed later.
    fn free_object(&mut self, slot: Slot) {
        let object = self.objects.get_mut(slot);
        if object.in_use {
            object.free_later = true;
            return;
        }
        let links = std::mem::take(&mut object.links);
        let mut variant = std::mem::replace(&mut object.variant, Variant::Unknown);
        if let Variant::File(file) = &mut variant {
            file.tree.dismantle(&mut self.nodes, |_| {});
        }
        self.objects.remove(slot);
        // What still leads to it leads to nothing.
        for link in links {
            if let Variant::HardLink { target, .. } = &mut self.objects.get_mut(link).variant {
                *target = None;
            }
        }
    }

    /// Nobody above has an object any more.
    pub(crate) fn release_object(&mut self, slot: Slot) {
        let object = self.objects.get_mut(slot);
        object.in_use = false;
        if object.free_later {
            self.free_object(slot);
        }
    }

    /// Deletes an object with its header, without its data.
    pub(crate) fn delete_header(&mut self, clock: &mut Clock, slot: Slot) -> Result<(), Error> {
        self.cache.invalidate(slot);
        let deleted = self.dirs.deleted;
        if self.options.tags.is_yaffs2() && self.objects.get(slot).parent != Some(deleted) {
            self.change_name(clock, slot, deleted, b"deleted", (false, 0))?;
        }
        self.objects.leave_directory(slot);
        let header = std::mem::take(&mut self.objects.get_mut(slot).header);
        self.delete_chunk(clock, header, true)?;
        self.free_object(slot);
        Ok(())
    }

    /// Deletes an object.
    pub(crate) fn delete_object(&mut self, clock: &mut Clock, slot: Slot) -> Result<(), Error> {
        match self.objects.get(slot).kind() {
            ObjectType::File => return self.delete_file(clock, slot),
            ObjectType::Directory => {
                self.forget_waiting(slot);
                if self.objects.first_child(slot).is_some() {
                    return Err(Errno::NotEmpty.into());
                }
            }
            ObjectType::HardLink => self.leave_links(slot),
            ObjectType::Symlink | ObjectType::Special => {}
            ObjectType::Unknown => return Ok(()),
        }
        self.delete_header(clock, slot)
    }

    fn leave_links(&mut self, link: Slot) {
        if let Variant::HardLink { target: Some(target), .. } = self.objects.get(link).variant
            && self.objects.try_get(target).is_some()
        {
            self.objects.get_mut(target).links.retain(|&other| other != link);
        }
    }

    fn delete_file(&mut self, clock: &mut Clock, slot: Slot) -> Result<(), Error> {
        if self.options.disable_soft_deletion || self.options.tags.is_yaffs2() {
            self.resize(clock, slot, 0)?;
        }
        if self.objects.get(slot).data_chunks <= 0 {
            return self.delete_header(clock, slot);
        }
        if !self.objects.get(slot).unlinked {
            self.unlink_file(clock, slot)?;
        }
        let object = self.objects.get_mut(slot);
        if object.unlinked && !object.deleted {
            object.deleted = true;
            self.space.deleted_files += 1;
            self.delete_softly(clock, slot)?;
        }
        Ok(())
    }

    /// Moves a file of YAFFS1 to the unlinked or deleted ones (`yaffs_unlink_file_if_needed`).
    fn unlink_file(&mut self, clock: &mut Clock, slot: Slot) -> Result<(), Error> {
        let free = (false, 0);
        if self.objects.get(slot).in_use {
            let unlinked = self.dirs.unlinked;
            self.change_name(clock, slot, unlinked, b"unlinked", free)?;
            return Ok(());
        }
        let deleted = self.dirs.deleted;
        self.change_name(clock, slot, deleted, b"deleted", free)?;
        self.objects.get_mut(slot).deleted = true;
        self.space.deleted_files += 1;
        if self.options.disable_soft_deletion {
            self.resize(clock, slot, 0)?;
        }
        self.delete_softly(clock, slot)
    }

    /// Lets the chunks of a file of YAFFS1 disappear as their blocks are collected.
    fn delete_softly(&mut self, clock: &mut Clock, slot: Slot) -> Result<(), Error> {
        let object = self.objects.get_mut(slot);
        if object.kind() != ObjectType::File || !object.deleted || object.soft_deleted {
            return Ok(());
        }
        if object.data_chunks <= 0 {
            return self.delete_header(clock, slot);
        }
        object.soft_deleted = true;
        let mut chunks = Vec::new();
        let nodes = &mut self.nodes;
        if let Some(file) = object.file_mut() {
            file.tree.dismantle(nodes, |chunk| chunks.push(chunk));
            file.tree = crate::tree::Tree::new(nodes);
        }
        for chunk in chunks {
            let (block, _) = self.layout.place(chunk);
            self.blocks.get_mut(block).soft_deleted += 1;
            self.space.free_chunks += 1;
        }
        Ok(())
    }

    /// Removes a name, and the object with its last one.
    pub(crate) fn unlink_object(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
    ) -> Result<Written, Error> {
        if !self.objects.get(slot).unlink_allowed {
            return Err(Errno::Perm.into());
        }
        if let Some(parent) = self.objects.get(slot).parent {
            self.touch_directory(clock, parent);
        }
        let object = self.objects.get(slot);
        if object.kind() == ObjectType::HardLink {
            self.leave_links(slot);
            self.delete_header(clock, slot)?;
            return Ok(Written::Done);
        }
        if let Some(&link) = object.links.last() {
            return self.take_name_of_link(clock, slot, link);
        }
        if !object.in_use {
            self.delete_object(clock, slot)?;
            return Ok(Written::Done);
        }
        if self.objects.first_child(slot).is_some() {
            return Err(Errno::NotEmpty.into());
        }
        let unlinked = self.dirs.unlinked;
        self.change_name(clock, slot, unlinked, b"unlinked", (false, 0))
    }

    /// The object that has hard links loses its name: it takes that of the newest link, which is deleted.
    fn take_name_of_link(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        link: Slot,
    ) -> Result<Written, Error> {
        let name = self.name_of(clock, link)?;
        let parent = self.objects.get(link).parent.unwrap_or(self.dirs.root);
        self.objects.get_mut(slot).links.pop();
        let unlinked = self.dirs.unlinked;
        self.enter_directory(unlinked, link);
        let written = self.change_name(clock, slot, parent, &name, (false, 0))?;
        if written == Written::Done {
            self.delete_header(clock, link)?;
        }
        Ok(written)
    }

    /// Renames an object, over another if there is one of that name.
    pub(crate) fn rename_object(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        dir: Slot,
        name: &[u8],
    ) -> Result<Written, Error> {
        if name.len() > NAME_MAX {
            return Err(Errno::NameTooLong.into());
        }
        if !self.objects.get(slot).rename_allowed {
            return Err(Errno::Perm.into());
        }
        let old_dir = self.objects.get(slot).parent;
        let target = self.find_by_name(clock, dir, name)?.filter(|&target| target != slot);
        if let Some(target) = target {
            if self.objects.first_child(target).is_some() {
                return Err(Errno::NotEmpty.into());
            }
            // A collection between the two headers would take the mark of the first away.
            self.collector.disabled = true;
            let result = self.replace(clock, slot, dir, name, target);
            self.collector.disabled = false;
            result?;
        }
        let written = self.change_name(clock, slot, dir, name, (true, 0))?;
        if let Some(old_dir) = old_dir {
            self.touch_directory(clock, old_dir);
        }
        if old_dir != Some(dir) {
            self.touch_directory(clock, dir);
        }
        Ok(written)
    }

    fn replace(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        dir: Slot,
        name: &[u8],
        target: Slot,
    ) -> Result<(), Error> {
        let shadows = self.objects.get(target).id;
        self.change_name(clock, slot, dir, name, (false, shadows))?.check()?;
        self.objects.get_mut(target).shadowed = true;
        self.unlink_object(clock, target)?;
        Ok(())
    }
}
