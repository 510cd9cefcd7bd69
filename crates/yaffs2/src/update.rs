//! Object headers: written whenever something about an object changes, read when it is needed.
//!
//! Layer: rank 5. Main type: [`HeaderChange`]. A header is written from the object in memory; the old one is
//! read for its name and for the extended attributes behind it, which move along. Source: `yaffs_update_oh`,
//! `yaffs_check_obj_details_loaded`, `yaffs_get_obj_name` in `core/yaffs_guts.c`.

use crate::Yaffs;
use crate::error::Error;
use crate::format::header::{self, ObjectHeader};
use crate::format::{DELETED, Extra, LOST_AND_FOUND, ObjectType, Tags, UNLINKED, xattr};
use crate::object::{Slot, Variant};
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;
use boardlab_vfs::Errno;

/// The name of lost+found, which has no header.
pub(crate) const LOST_AND_FOUND_NAME: &[u8] = b"lost+found";

/// What a new header is to say besides what is in memory.
#[derive(Debug, Default)]
pub(crate) struct HeaderChange<'a> {
    /// A new name; the old one stays without.
    pub(crate) name: Option<&'a [u8]>,
    /// Whether a header is written for an object that may be on no flash.
    pub(crate) force: bool,
    /// Whether everything beyond the size is void that was written before.
    pub(crate) shrink: bool,
    /// The object whose place this one takes.
    pub(crate) shadows: u32,
    /// A change of an extended attribute: its name, and its value unless it is removed.
    pub(crate) xattr: Option<(&'a [u8], Option<&'a [u8]>)>,
}

/// What became of a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Written {
    Done,
    NoRoom,
    /// The header was written, but its attribute could not be changed.
    XattrRefused(Errno),
}

impl Written {
    pub(crate) fn check(self) -> Result<(), Error> {
        match self {
            Self::Done => Ok(()),
            Self::NoRoom => Err(Errno::NoSpc.into()),
            Self::XattrRefused(errno) => Err(errno.into()),
        }
    }
}

impl<M: Mtd> Yaffs<M> {
    /// Reads what a scan left on the flash of an object: name, attributes, target.
    pub(crate) fn load_details(&mut self, clock: &mut Clock, slot: Slot) -> Result<(), Error> {
        let object = self.objects.get(slot);
        let header = object.header;
        if !object.lazy || header == 0 {
            return Ok(());
        }
        let mut data = self.buffer();
        let read = self.read_chunk(clock, header, Some(&mut data))?;
        if read.whole {
            let header = self.parse_header(&data);
            self.set_details(slot, &header);
            self.objects.get_mut(slot).lazy = false;
            self.objects.get_mut(slot).set_name(&header.name);
            if let Variant::Symlink { target } = &mut self.objects.get_mut(slot).variant {
                *target = Some(header.alias.unwrap_or_default());
            }
        }
        self.give_back(data);
        Ok(())
    }

    pub(crate) fn parse_header(&self, data: &[u8]) -> ObjectHeader {
        ObjectHeader::parse(data, self.options.byte_order, self.in_band())
    }

    /// Takes over mode, owner, times and device.
    pub(crate) fn set_details(&mut self, slot: Slot, header: &ObjectHeader) {
        let object = self.objects.get_mut(slot);
        object.mode = header.mode;
        (object.uid, object.gid) = (header.uid, header.gid);
        object.times = header.times;
        object.rdev = header.rdev;
    }

    /// The name of an object: from memory if it is short, else from the flash.
    pub(crate) fn name_of(&mut self, clock: &mut Clock, slot: Slot) -> Result<Vec<u8>, Error> {
        self.load_details(clock, slot)?;
        let object = self.objects.get(slot);
        if object.id == LOST_AND_FOUND {
            return Ok(LOST_AND_FOUND_NAME.to_vec());
        }
        if !object.short_name.is_empty() {
            return Ok(object.short_name.clone());
        }
        let mut name = Vec::new();
        if object.header > 0 {
            let chunk = object.header;
            let mut data = self.buffer();
            if self.read_chunk(clock, chunk, Some(&mut data))?.whole {
                name = self.parse_header(&data).name;
            }
            self.give_back(data);
        }
        if name.is_empty() {
            name = self.objects.get(slot).made_up_name();
        }
        Ok(name)
    }

    /// Writes the header of an object.
    pub(crate) fn write_header(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
        change: &HeaderChange<'_>,
    ) -> Result<Written, Error> {
        let fake = self.objects.get(slot).fake && slot != self.dirs.root;
        if fake && !change.force && change.xattr.is_none() {
            return Ok(Written::Done);
        }
        self.check_gc(clock, false)?;
        self.load_details(clock, slot)?;
        let before = self.objects.get(slot).header;
        let mut data = self.buffer();
        let mut old_name = Vec::new();
        data.fill(0xFF);
        if before > 0 && self.read_chunk(clock, before, Some(&mut data))?.whole {
            old_name = self.parse_header(&data).name;
        }
        let mut header = self.header_of(slot, change);
        if header.name.is_empty() {
            header.name = old_name;
        }
        header.emit(&mut data, self.options.byte_order, self.options.long_times);
        let refused = change.xattr.and_then(|change| self.change_xattr(slot, &mut data, change));
        let tags = self.header_tags(slot, &header);
        let written = self.write_chunk(clock, &data, &tags, before > 0)?;
        self.give_back(data);
        let Some(chunk) = written else { return Ok(Written::NoRoom) };
        self.objects.get_mut(slot).header = chunk;
        self.delete_chunk(clock, before, true)?;
        if !self.cache.is_dirty(slot) {
            self.objects.get_mut(slot).dirty = false;
        }
        if change.shrink {
            let (block, _) = self.layout.place(chunk);
            self.blocks.get_mut(block).has_shrink_header = true;
        }
        Ok(refused.map_or(Written::Done, Written::XattrRefused))
    }

    fn header_of(&self, slot: Slot, change: &HeaderChange<'_>) -> ObjectHeader {
        let object = self.objects.get(slot);
        let parent = object.parent.map_or(0, |parent| self.objects.get(parent).id);
        let gone = parent == UNLINKED || parent == DELETED;
        ObjectHeader {
            kind: object.kind().number(),
            parent,
            name: change.name.unwrap_or_default().to_vec(),
            mode: object.mode,
            uid: object.uid,
            gid: object.gid,
            times: object.times,
            size: object.file().map(|file| if gone { 0 } else { file.stored_size }),
            equivalent: match object.variant {
                Variant::HardLink { number, .. } => Some(number),
                _ => None,
            },
            alias: match &object.variant {
                Variant::Symlink { target } => Some(target.clone().unwrap_or_default()),
                _ => None,
            },
            rdev: object.rdev,
            shadows: change.shadows,
            shrink: change.shrink,
        }
    }

    fn header_tags(&mut self, slot: Slot, header: &ObjectHeader) -> Tags {
        let object = self.objects.get_mut(slot);
        object.serial = object.serial.wrapping_add(1);
        let extra = Extra {
            kind: u8::try_from(header.kind).expect("one of six"),
            parent: header.parent,
            shrink: header.shrink,
            shadows: header.shadows > 0,
            size: header.size.unwrap_or(0),
            equivalent: header.equivalent.unwrap_or(0),
        };
        let extra = self.options.tags.is_yaffs2().then_some(extra);
        Tags { object: object.id, serial: object.serial & 3, extra, ..Tags::default() }
    }

    /// Changes an attribute behind a header. The header is written even if that fails, as in YAFFS.
    fn change_xattr(
        &mut self,
        slot: Slot,
        data: &mut [u8],
        (name, value): (&[u8], Option<&[u8]>),
    ) -> Option<Errno> {
        let order = self.options.byte_order;
        let area = data.get_mut(header::SIZE..).unwrap_or_default();
        let refused = match value {
            Some(value) => xattr::set(area, order, name, value).err().map(|_| Errno::NoSpc),
            None => (!xattr::remove(area, order, name)).then_some(Errno::NoData),
        };
        self.objects.get_mut(slot).has_xattr = Some(!xattr::list(area, order).is_empty());
        refused
    }

    /// The bytes behind the header of an object; `None` when it is known to have no attributes.
    pub(crate) fn xattr_area(
        &mut self,
        clock: &mut Clock,
        slot: Slot,
    ) -> Result<Option<Vec<u8>>, Error> {
        let object = self.objects.get(slot);
        let (chunk, id) = (object.header, object.id);
        if chunk == 0 || object.has_xattr == Some(false) {
            return Ok(None);
        }
        let mut data = self.buffer();
        let read = self.read_chunk(clock, chunk, Some(&mut data))?;
        let area = data.get(header::SIZE..).unwrap_or_default().to_vec();
        self.give_back(data);
        if !read.whole {
            return Err(self.damaged(chunk, id));
        }
        let some = !xattr::list(&area, self.options.byte_order).is_empty();
        self.objects.get_mut(slot).has_xattr.get_or_insert(some);
        Ok(Some(area))
    }

    /// A directory got or lost a name. Its header is written later.
    pub(crate) fn touch_directory(&mut self, clock: &Clock, dir: Slot) {
        let now = self.now(clock);
        let object = self.objects.get_mut(dir);
        object.dirty = true;
        (object.times.modified, object.times.changed) = (now, now);
        if let Variant::Directory { waiting, .. } = &mut object.variant
            && !std::mem::replace(waiting, true)
        {
            self.waiting.push(dir);
        }
    }

    /// Writes the headers of directories that wait for it, the last that was touched first.
    pub(crate) fn write_directories(&mut self, clock: &mut Clock) -> Result<(), Error> {
        while let Some(dir) = self.waiting.pop() {
            if let Variant::Directory { waiting, .. } = &mut self.objects.get_mut(dir).variant {
                *waiting = false;
            }
            if self.objects.get(dir).dirty {
                self.write_header(clock, dir, &HeaderChange::default())?;
            }
        }
        Ok(())
    }

    /// The times of a directory that is removed are not written.
    pub(crate) fn forget_waiting(&mut self, slot: Slot) {
        if self.objects.get(slot).kind() == ObjectType::Directory {
            self.waiting.retain(|&dir| dir != slot);
        }
    }
}
