//! Attributes, inodes and syncs, as the layer above sees them.
//!
//! Layer: rank 5. An inode is an object that is no hard link; its number is that of the object. Source:
//! `yaffs_vfs_multi.c` of the sources' module for Linux, `direct/yaffsfs.c`.

use crate::Yaffs;
use crate::error::Error;
use crate::format::{OBJECT_MAX, ObjectType};
use crate::object::{Slot, Variant};
use crate::options::Version;
use crate::update::HeaderChange;
use boardlab_mtd::Mtd;
use boardlab_sim::{Clock, Duration};
use boardlab_vfs::{
    Attributes, Device, Entry, Errno, Ino, Kind, NewInode, SetAttr, StatFs, Timestamp,
};

/// Bytes in which Linux reports space.
const STAT_BLOCK: u64 = 4_096;
/// Chunks that must be free for a write from Linux (`yaffs_hold_space`).
const HELD_CHUNKS: i32 = 20;
/// A step of a thread that waits between steps, besides the wait itself.
const TICK: Duration = Duration::from_millis(10);

/// What a special file is, by its mode. The sources have two bytes for the number of a device; the bits that do not
/// fit there are above them, as in [`Device::encoded`].
#[must_use]
pub fn special_kind(mode: u32, rdev: u32) -> Option<Kind> {
    let kind = Kind::of_mode(mode, Device::decoded(rdev));
    kind.filter(|kind| !matches!(kind, Kind::File | Kind::Directory | Kind::Symlink))
}

impl<M: Mtd> Yaffs<M> {
    /// The object of an inode.
    pub(crate) fn slot_of(&self, ino: Ino) -> Result<Slot, Error> {
        let id = u32::try_from(ino.0).ok().filter(|&id| id <= OBJECT_MAX);
        id.and_then(|id| self.objects.find(id)).ok_or_else(|| Errno::Stale.into())
    }

    /// As [`Yaffs::slot_of`], for a directory.
    pub(crate) fn dir_of(&self, ino: Ino) -> Result<Slot, Error> {
        let slot = self.slot_of(ino)?;
        if self.objects.is_directory(slot) { Ok(slot) } else { Err(Errno::NotDir.into()) }
    }

    pub(crate) fn file_of(&self, ino: Ino) -> Result<Slot, Error> {
        let slot = self.slot_of(ino)?;
        match self.objects.get(slot).kind() {
            ObjectType::File => Ok(slot),
            ObjectType::Directory => Err(Errno::IsDir.into()),
            _ => Err(Errno::Inval.into()),
        }
    }

    pub(crate) fn check_writable(&self) -> Result<(), Error> {
        if self.options.read_only { Err(Errno::RoFs.into()) } else { Ok(()) }
    }

    /// The layer above has the inode in memory, from the first look on.
    pub(crate) fn hold(&mut self, slot: Slot) -> Ino {
        let object = self.objects.get_mut(slot);
        if !std::mem::replace(&mut object.in_use, true) {
            self.inodes.push(slot);
        }
        Ino(u64::from(self.objects.get(slot).id))
    }

    pub(crate) fn do_lookup(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
    ) -> Result<Ino, Error> {
        let dir = self.dir_of(dir)?;
        let child = self.find_by_name(clock, dir, name)?.ok_or(Errno::NoEnt)?;
        let slot = self.equivalent(clock, child)?.ok_or(Errno::NoEnt)?;
        Ok(self.hold(slot))
    }

    pub(crate) fn do_getattr(&mut self, clock: &mut Clock, ino: Ino) -> Result<Attributes, Error> {
        let slot = self.slot_of(ino)?;
        self.load_details(clock, slot)?;
        self.attributes(slot)
    }

    fn attributes(&self, slot: Slot) -> Result<Attributes, Error> {
        let object = self.objects.get(slot);
        let (kind, size) = match &object.variant {
            Variant::File(file) => (Kind::File, file.size),
            Variant::Directory { .. } => (Kind::Directory, self.layout.chunk_bytes()),
            Variant::Symlink { target } => {
                let length = target.as_ref().map_or(0, Vec::len);
                (Kind::Symlink, u64::from(crate::format::to_u32(length)))
            }
            Variant::Special => {
                let kind = special_kind(object.mode, object.rdev).ok_or(Errno::Io)?;
                (kind, self.layout.chunk_bytes())
            }
            Variant::HardLink { .. } | Variant::Unknown => return Err(Errno::Io.into()),
        };
        let links = u32::from(!object.unlinked) + crate::format::to_u32(object.links.len());
        Ok(Attributes {
            ino: Ino(u64::from(object.id)),
            kind,
            mode: object.mode & 0o7777,
            links,
            uid: object.uid,
            gid: object.gid,
            size,
            accessed: Timestamp::seconds(object.times.accessed),
            modified: Timestamp::seconds(object.times.modified),
            changed: Timestamp::seconds(object.times.changed),
        })
    }

    pub(crate) fn do_setattr(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        change: &SetAttr,
    ) -> Result<(), Error> {
        let slot = if change.size.is_some() { self.file_of(ino)? } else { self.slot_of(ino)? };
        if change.size.is_some_and(|size| size > crate::file::size_max(self.layout.chunk)) {
            return Err(Errno::FBig.into());
        }
        self.load_details(clock, slot)?;
        if self.options.repaired && change.modified.is_some() && self.cache.is_dirty(slot) {
            // What the cache has of the file would be written at its close, with the time of then.
            self.flush_file_cache(clock, slot, false)?;
        }
        let now = self.now(clock);
        let object = self.objects.get_mut(slot);
        if let Some(mode) = change.mode {
            object.mode = object.mode & !0o7777 | mode & 0o7777;
        }
        object.uid = change.uid.unwrap_or(object.uid);
        object.gid = change.gid.unwrap_or(object.gid);
        if let Some(time) = change.accessed {
            object.times.accessed = time.seconds;
        }
        if let Some(time) = change.modified {
            object.times.modified = time.seconds;
        }
        // Linux gives no time of change to truncate(2).
        if change.size.is_none() {
            object.times.changed = now;
        }
        self.changed = true;
        if let Some(size) = change.size {
            self.resize(clock, slot, size)?;
        }
        let change = HeaderChange { force: true, ..HeaderChange::default() };
        self.write_header(clock, slot, &change)?.check()
    }

    pub(crate) fn do_create(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        new: &NewInode<'_>,
    ) -> Result<Ino, Error> {
        use crate::dir::{NewObject, NewVariant};
        let dir = self.dir_of(dir)?;
        let (variant, rdev) = match new.kind {
            Kind::File => (NewVariant::File, 0),
            Kind::Directory => (NewVariant::Directory, 0),
            Kind::Symlink if new.target.len() > crate::format::ALIAS_MAX => {
                return Err(Errno::NameTooLong.into());
            }
            Kind::Symlink => (NewVariant::Symlink(new.target.to_vec()), 0),
            Kind::Fifo | Kind::Socket => (NewVariant::Special, 0),
            Kind::Character(device) | Kind::Block(device) => {
                (NewVariant::Special, device.encoded())
            }
        };
        if name.len() > crate::format::NAME_MAX - 1 {
            // The sources cut the last byte off.
            return Err(Errno::NameTooLong.into());
        }
        let mode = new.kind.mode_bits() | new.mode & 0o7777;
        let new = NewObject { variant, mode, uid: new.uid, gid: new.gid, rdev };
        self.changed = true;
        let made = self.create_object(clock, dir, name, new)?;
        made.map(|slot| self.hold(slot)).ok_or_else(|| Errno::NoSpc.into())
    }

    pub(crate) fn do_link(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        dir: Ino,
        name: &[u8],
    ) -> Result<(), Error> {
        use crate::dir::{NewObject, NewVariant};
        let (slot, dir) = (self.slot_of(ino)?, self.dir_of(dir)?);
        if self.objects.is_directory(slot) {
            return Err(Errno::Perm.into());
        }
        if name.len() > crate::format::NAME_MAX - 1 {
            return Err(Errno::NameTooLong.into());
        }
        self.changed = true;
        let variant = NewVariant::HardLink(slot);
        let new = NewObject { variant, mode: 0, uid: 0, gid: 0, rdev: 0 };
        let made = self.create_object(clock, dir, name, new)?;
        made.map(drop).ok_or_else(|| Errno::NoSpc.into())
    }

    /// Removes a name of anything but a directory, or an empty directory.
    pub(crate) fn do_unlink(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
        name: &[u8],
        directory: bool,
    ) -> Result<(), Error> {
        let dir = self.dir_of(dir)?;
        let slot = self.find_by_name(clock, dir, name)?.ok_or(Errno::NoEnt)?;
        if self.objects.is_directory(slot) != directory {
            return Err(if directory { Errno::NotDir } else { Errno::IsDir }.into());
        }
        if self.objects.first_child(slot).is_some() {
            return Err(Errno::NotEmpty.into());
        }
        self.changed = true;
        self.unlink_object(clock, slot)?.check()
    }

    pub(crate) fn do_rename(
        &mut self,
        clock: &mut Clock,
        (old_dir, old_name): (Ino, &[u8]),
        (new_dir, new_name): (Ino, &[u8]),
    ) -> Result<(), Error> {
        let (old_dir, new_dir) = (self.dir_of(old_dir)?, self.dir_of(new_dir)?);
        if new_name.len() > crate::format::NAME_MAX - 1 {
            return Err(Errno::NameTooLong.into());
        }
        let target = self.find_by_name(clock, new_dir, new_name)?;
        let slot = self.find_by_name(clock, old_dir, old_name)?.ok_or(Errno::NoEnt)?;
        if let Some(target) = target {
            let (from, to) = (self.objects.is_directory(slot), self.objects.is_directory(target));
            match (from, to) {
                (true, false) => return Err(Errno::NotDir.into()),
                (false, true) => return Err(Errno::IsDir.into()),
                _ => {}
            }
            if self.equivalent(clock, slot)? == self.equivalent(clock, target)? {
                return Ok(());
            }
        }
        self.changed = true;
        self.rename_object(clock, slot, new_dir, new_name)?.check()
    }

    pub(crate) fn do_readdir(&mut self, clock: &mut Clock, dir: Ino) -> Result<Vec<Entry>, Error> {
        let dir = self.dir_of(dir)?;
        let children: Vec<Slot> = self.objects.children(dir).collect();
        let mut entries = Vec::with_capacity(children.len());
        for child in children {
            let name = self.name_of(clock, child)?;
            let Some(slot) = self.equivalent(clock, child)? else { continue };
            let Ok(attributes) = self.attributes(slot) else { continue };
            let kind = attributes.kind.dirent_type();
            if is_proper(&name) {
                entries.push(Entry { name, ino: attributes.ino, kind });
            }
        }
        Ok(entries)
    }

    /// The entries that no path leads through.
    pub(crate) fn do_unreachable_entries(
        &mut self,
        clock: &mut Clock,
        dir: Ino,
    ) -> Result<Vec<(Entry, Option<&'static str>)>, Error> {
        let dir = self.dir_of(dir)?;
        let children: Vec<Slot> = self.objects.children(dir).collect();
        let mut found = Vec::new();
        for child in children {
            let name = self.name_of(clock, child)?;
            let target = self.equivalent(clock, child)?;
            let attributes = target.map(|slot| self.attributes(slot));
            let reason = match attributes {
                None => Some("a hard link to what does not exist"),
                Some(Err(_)) => Some("an object of no known type"),
                Some(Ok(_)) if !is_proper(&name) => None,
                Some(Ok(_)) => continue,
            };
            let ino = Ino(u64::from(self.objects.get(child).id));
            found.push((Entry { name, ino, kind: 0 }, reason));
        }
        Ok(found)
    }

    pub(crate) fn do_readlink(&mut self, clock: &mut Clock, ino: Ino) -> Result<Vec<u8>, Error> {
        let slot = self.slot_of(ino)?;
        self.load_details(clock, slot)?;
        match &self.objects.get(slot).variant {
            Variant::Symlink { target } => Ok(target.clone().unwrap_or_default()),
            _ => Err(Errno::Inval.into()),
        }
    }

    /// Writes a part of a page. Since 2009 some free chunks must be left.
    pub(crate) fn do_write(
        &mut self,
        clock: &mut Clock,
        ino: Ino,
        offset: u64,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let slot = self.file_of(ino)?;
        if offset + u64::from(crate::format::to_u32(bytes.len()))
            > crate::file::size_max(self.layout.chunk)
        {
            return Err(Errno::FBig.into());
        }
        let holds = self.options.version == Version::Y2026;
        if holds && self.reported_free_chunks() <= HELD_CHUNKS {
            return Err(Errno::NoSpc.into());
        }
        self.changed = true;
        let written = self.write_file(clock, slot, offset, bytes)?;
        if written < bytes.len() { Err(Errno::NoSpc.into()) } else { Ok(()) }
    }

    /// Free chunks as YAFFS reports them.
    fn reported_free_chunks(&self) -> i32 {
        let required = self.checkpoint_blocks_required();
        let reserved = self.reserved_blocks() + 1 + required;
        let dirty = i32::try_from(self.cache.dirty_count()).expect("a few entries");
        let free = self.space.free_chunks + self.space.deleted_files - dirty;
        (free - reserved * self.chunks_per_block()).max(0)
    }

    pub(crate) fn do_statfs(&self) -> StatFs {
        let blocks = |chunks: u64| chunks * self.layout.chunk_bytes() / STAT_BLOCK;
        let all = u64::from(self.layout.blocks) * u64::from(self.layout.chunks_per_block);
        let free = blocks(u64::try_from(self.reported_free_chunks()).expect("not negative"));
        StatFs {
            block_size: u32::try_from(STAT_BLOCK).expect("4,096"),
            blocks: blocks(all),
            free,
            available: free,
            name_max: crate::format::to_u32(crate::format::NAME_MAX - 1),
        }
    }

    /// Makes everything durable.
    pub(crate) fn do_sync(&mut self, clock: &mut Clock) -> Result<(), Error> {
        if self.options.read_only {
            return Ok(());
        }
        // Linux calls it twice.
        for _ in 0..2 {
            let checkpoint = self.urgency() == 0 && !self.checkpoint.valid;
            if self.changed || checkpoint {
                self.flush_everything(clock, checkpoint)?;
            }
        }
        Ok(())
    }

    fn flush_everything(&mut self, clock: &mut Clock, checkpoint: bool) -> Result<(), Error> {
        for slot in self.inodes.clone().into_iter().rev() {
            if self.objects.try_get(slot).is_some_and(|object| object.in_use) {
                self.flush_file(clock, slot, true, false)?;
            }
        }
        self.write_directories(clock)?;
        self.flush_cache(clock, true)?;
        if checkpoint {
            self.save_checkpoint(clock)?;
        }
        self.changed = false;
        Ok(())
    }

    pub(crate) fn do_evict(&mut self, clock: &mut Clock, ino: Ino) -> Result<(), Error> {
        let slot = self.slot_of(ino)?;
        self.inodes.retain(|&other| other != slot);
        let object = self.objects.get(slot);
        let gone = self.is_unlinked(slot) && object.links.is_empty();
        if gone && !self.options.read_only {
            self.delete_object(clock, slot)?;
        }
        if self.objects.try_get(slot).is_some() {
            self.release_object(slot);
        }
        Ok(())
    }

    /// What the thread of Linux does when it wakes.
    pub(crate) fn do_background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        if self.options.read_only {
            return Ok(false);
        }
        let second = Duration::from_secs(1);
        if clock.now() >= self.next_directories {
            self.write_directories(clock)?;
            self.next_directories = clock.now() + second;
        }
        if clock.now() >= self.next_collection {
            if self.checkpoint.valid {
                self.next_collection = self.next_directories;
            } else {
                let urgency = self.urgency();
                self.check_gc(clock, true)?;
                self.next_collection = clock.now()
                    + match urgency {
                        0 => second * 2,
                        1 => Duration::from_millis(100) + TICK,
                        _ => Duration::from_millis(50) + TICK,
                    };
            }
        }
        Ok(false)
    }

    pub(crate) fn do_unmount(&mut self, clock: &mut Clock) -> Result<(), Error> {
        self.do_sync(clock)?;
        for slot in std::mem::take(&mut self.inodes) {
            if let Some(object) = self.objects.try_get(slot) {
                let ino = Ino(u64::from(object.id));
                self.do_evict(clock, ino)?;
            }
        }
        if self.options.read_only {
            return Ok(());
        }
        self.flush_everything(clock, true)
    }

    pub(crate) fn do_closed(&mut self, clock: &mut Clock, ino: Ino) -> Result<bool, Error> {
        let Ok(slot) = self.slot_of(ino) else { return Ok(false) };
        let object = self.objects.get(slot);
        let changes = object.dirty && object.kind() == ObjectType::File;
        if changes && !self.options.read_only {
            self.flush_file(clock, slot, true, false)?.check()?;
        }
        Ok(changes)
    }
}

/// Whether a path can lead through a name.
fn is_proper(name: &[u8]) -> bool {
    !name.is_empty() && name != b"." && name != b".." && !name.contains(&b'/')
}
