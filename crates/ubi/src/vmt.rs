//! Makes, removes, renames and resizes volumes.
//!
//! Layer: rank 4. Main type: [`NewVolume`]. Source: Linux 6.1, `drivers/mtd/ubi/vmt.c`; `cdev.c`,
//! `verify_mkvol_req` and `rename_volumes`; `vtbl.c`, `ubi_change_vtbl_record`.

use crate::device::Ubi;
use crate::eba::Leb;
use crate::error::VolumeError;
use crate::format::vtbl::{AUTORESIZE, NAME_MAX, Record, SKIP_CHECK};
use crate::format::{LAYOUT_LEBS, LAYOUT_VOLUME, VolumeKind, to_usize};
use crate::lebs::{Error, LebIndex};
use crate::state::VolumeState;
use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};

/// A volume to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewVolume {
    /// Its number; the first that is free when `None`.
    pub id: Option<u32>,
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: VolumeKind,
    /// Its size, rounded up to whole LEBs.
    pub size: Bytes,
    /// The size of its LEBs is a multiple of this.
    pub alignment: u32,
    /// Whether a static volume is not verified when it is opened.
    pub skip_check: bool,
}

impl NewVolume {
    /// A dynamic volume with the first free number.
    #[must_use]
    pub fn dynamic(name: &str, size: Bytes) -> Self {
        let name = name.to_owned();
        Self { id: None, name, kind: VolumeKind::Dynamic, size, alignment: 1, skip_check: false }
    }

    /// A static volume with the first free number.
    #[must_use]
    pub fn fixed(name: &str, size: Bytes) -> Self {
        Self { kind: VolumeKind::Static, ..Self::dynamic(name, size) }
    }
}

impl<M: Mtd> Ubi<M> {
    /// The bytes of the largest volume that can be made (`ubimkvol --maxavsize`).
    #[must_use]
    pub fn available(&self) -> Bytes {
        Bytes::new(u64::from(self.space.available) * u64::from(self.io.layout.leb_size))
    }

    /// Makes a volume and returns its number (`ubi_create_volume`).
    ///
    /// # Errors
    /// Any.
    pub fn create_volume(
        &mut self,
        clock: &mut Clock,
        new: &NewVolume,
    ) -> Result<u32, VolumeError> {
        let (id, record) = self.check_new(new)?;
        self.space.take(record.reserved_lebs);
        let made = self.add_volume(clock, id, &record);

        if let Err(error) = made {
            self.volumes[to_usize(id)] = None;
            self.space.untake(record.reserved_lebs);
            return Err(error.into());
        }
        self.update_fastmap(clock)?;
        Ok(id)
    }

    fn add_volume(&mut self, clock: &mut Clock, id: u32, record: &Record) -> Result<(), Error> {
        self.flush(clock, Some(id), None)?;
        let mut volume = VolumeState::new(id, record, self.io.layout.leb_size);
        if volume.kind == VolumeKind::Static {
            volume.last_bytes = volume.leb_size;
        }
        self.volumes[to_usize(id)] = Some(volume);
        self.change_record(clock, id, Some(record.clone()))
    }

    /// The number and the record of a volume that can be made.
    fn check_new(&self, new: &NewVolume) -> Result<(u32, Record), VolumeError> {
        let (leb_size, unit) = (self.io.layout.leb_size, self.io.layout.min_io);
        let alignment = new.alignment;
        if new.size.is_zero() {
            return Err(VolumeError::Size { found: new.size });
        }
        let unaligned = alignment != 1 && !alignment.is_multiple_of(unit);
        if alignment == 0 || alignment > leb_size || unaligned {
            return Err(VolumeError::Alignment { found: alignment });
        }
        self.check_name(&new.name)?;
        if self.io.read_only {
            return Err(Error::ReadOnly.into());
        }
        let id = self.choose_id(new.id)?;
        if let Some(used_by) = self.id_of(&new.name) {
            return Err(VolumeError::Name { name: new.name.clone(), used_by: Some(used_by) });
        }
        let data_pad = leb_size % alignment;
        let needed = new.size.get().div_ceil(u64::from(leb_size - data_pad));
        let available = self.space.available;
        let reserved_lebs = u32::try_from(needed).ok().filter(|&needed| needed <= available);
        let reserved_lebs = reserved_lebs.ok_or(VolumeError::NoSpace { needed, available })?;
        let record = Record {
            reserved_lebs,
            alignment,
            data_pad,
            kind: new.kind,
            updating: false,
            name: new.name.as_bytes().to_vec(),
            flags: if new.skip_check { SKIP_CHECK } else { 0 },
        };
        Ok((id, record))
    }

    fn choose_id(&self, wanted: Option<u32>) -> Result<u32, VolumeError> {
        let vacant = |id: &u32| self.find_volume(*id).is_none();
        let mut ids = 0..self.table.slots();
        match wanted {
            None => ids.find(vacant).ok_or(VolumeError::Id { id: None }),
            Some(id) if ids.contains(&id) && vacant(&id) => Ok(id),
            Some(id) => Err(VolumeError::Id { id: Some(id) }),
        }
    }

    fn check_name(&self, name: &str) -> Result<(), VolumeError> {
        let bytes = name.as_bytes();
        if bytes.is_empty() || bytes.len() > NAME_MAX || bytes.contains(&0) {
            return Err(VolumeError::Name { name: name.to_owned(), used_by: None });
        }
        Ok(())
    }

    /// The number of the user volume of this name.
    #[must_use]
    pub fn id_of(&self, name: &str) -> Option<u32> {
        let user = self.volumes.iter().flatten().filter(|volume| volume.id != LAYOUT_VOLUME);
        let mut named = user.filter(|volume| volume.name == name.as_bytes());
        named.next().map(|volume| volume.id)
    }

    /// The user volume of this number.
    pub(crate) fn user_volume(&self, id: u32) -> Result<&VolumeState, VolumeError> {
        let user = Some(id).filter(|&id| id < self.table.slots());
        user.and_then(|id| self.find_volume(id)).ok_or(VolumeError::NoSuchVolume { id })
    }

    /// Removes a volume (`ubi_remove_volume`).
    ///
    /// # Errors
    /// Any.
    pub fn remove_volume(&mut self, clock: &mut Clock, id: u32) -> Result<(), VolumeError> {
        self.user_volume(id)?;
        if self.io.read_only {
            return Err(Error::ReadOnly.into());
        }
        self.change_record(clock, id, None)?;
        self.drop_volume(clock, id)
    }

    /// Unmaps all LEBs of a volume that is not in the table any more, and forgets it.
    fn drop_volume(&mut self, clock: &mut Clock, id: u32) -> Result<(), VolumeError> {
        let reserved = self.volume_state(id).reserved;
        for leb in 0..reserved {
            self.unmap_leb(Leb { volume: id, leb: LebIndex(leb) })?;
        }
        self.volumes[to_usize(id)] = None;
        self.space.give_back(reserved);
        Ok(self.update_fastmap(clock)?)
    }

    /// Changes the number of LEBs of a volume; LEBs beyond the new end are unmapped
    /// (`ubi_resize_volume`).
    ///
    /// # Errors
    /// Any.
    pub fn resize_volume(
        &mut self,
        clock: &mut Clock,
        id: u32,
        lebs: u32,
    ) -> Result<(), VolumeError> {
        let volume = self.user_volume(id)?;
        let (old, kind, used) = (volume.reserved, volume.kind, volume.used_lebs);
        let found = Bytes::new(u64::from(lebs) * u64::from(volume.leb_size));
        if self.io.read_only {
            return Err(Error::ReadOnly.into());
        }
        if lebs == 0 || (kind == VolumeKind::Static && lebs < used) {
            return Err(VolumeError::Size { found });
        }
        if lebs == old {
            return Ok(());
        }
        let available = self.space.available;
        if lebs > old && lebs - old > available {
            return Err(VolumeError::NoSpace { needed: u64::from(lebs - old), available });
        }
        for leb in lebs..old {
            self.unmap_leb(Leb { volume: id, leb: LebIndex(leb) })?;
        }
        self.volume_state_mut(id).resize_mapping(lebs);
        if lebs > old {
            self.space.take(lebs - old);
        } else {
            self.space.give_back(old - lebs);
            self.flush(clock, Some(id), None)?;
        }
        let mut record = self.record(id);
        record.reserved_lebs = lebs;
        if let Err(error) = self.change_record(clock, id, Some(record)) {
            self.space.untake(lebs.saturating_sub(old));
            return Err(error.into());
        }
        self.volume_state_mut(id).set_reserved(lebs);
        Ok(self.update_fastmap(clock)?)
    }

    /// Gives a volume all free blocks at attach (`autoresize`).
    pub(crate) fn autoresize(&mut self, clock: &mut Clock, id: u32) -> Result<(), VolumeError> {
        if self.io.read_only {
            return Ok(());
        }
        let mut record = self.record(id);
        record.flags &= !AUTORESIZE;
        let lebs = record.reserved_lebs + self.space.available;
        self.records[to_usize(id)] = Some(record.clone());
        if self.space.available == 0 {
            return Ok(self.change_record(clock, id, Some(record))?);
        }
        self.resize_volume(clock, id, lebs)
    }

    /// Renames volumes at once; a volume that has one of the new names and is not renamed is removed
    /// (`ubi_rename_volumes`).
    ///
    /// # Errors
    /// Any.
    pub fn rename_volumes(
        &mut self,
        clock: &mut Clock,
        names: &[(u32, &str)],
    ) -> Result<(), VolumeError> {
        let mut removed = Vec::new();
        for (index, &(id, name)) in names.iter().enumerate() {
            self.user_volume(id)?;
            self.check_name(name)?;
            let mut others = names[..index].iter();
            if let Some(&(used_by, _)) = others.find(|other| other.0 == id || other.1 == name) {
                let name = name.to_owned();
                return Err(VolumeError::Name { name, used_by: Some(used_by) });
            }
            let holder = self.id_of(name);
            removed.extend(holder.filter(|holder| names.iter().all(|(id, _)| id != holder)));
        }
        if self.io.read_only {
            return Err(Error::ReadOnly.into());
        }
        for &(id, name) in names {
            let mut record = self.record(id);
            record.name = name.as_bytes().to_vec();
            self.set_record(id, Some(record));
        }
        for &id in &removed {
            self.set_record(id, None);
        }
        self.write_table(clock)?;
        for &(id, name) in names {
            self.volume_state_mut(id).name = name.as_bytes().to_vec();
            self.update_fastmap(clock)?;
        }
        removed.into_iter().try_for_each(|id| self.drop_volume(clock, id))
    }

    /// The record of a user volume.
    pub(crate) fn record(&self, id: u32) -> Record {
        let record = self.records[to_usize(id)].clone();
        record.expect("a user volume has a record")
    }

    fn set_record(&mut self, id: u32, record: Option<Record>) {
        self.table.set(id, record.as_ref());
        self.records[to_usize(id)] = record;
    }

    /// Changes a record on flash.
    pub(crate) fn change_record(
        &mut self,
        clock: &mut Clock,
        id: u32,
        record: Option<Record>,
    ) -> Result<(), Error> {
        self.set_record(id, record);
        self.write_table(clock)
    }

    /// Writes both copies of the table (`ubi_update_layout_vol`).
    fn write_table(&mut self, clock: &mut Clock) -> Result<(), Error> {
        let bytes = self.table.bytes().to_vec();
        for copy in 0..LAYOUT_LEBS {
            let at = Leb { volume: LAYOUT_VOLUME, leb: LebIndex(copy) };
            self.change_leb(clock, at, &bytes)?;
        }
        Ok(())
    }
}
