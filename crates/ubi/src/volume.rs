//! An open volume.
//!
//! Layer: rank 4. Main types: [`Volume`], which owns its device, and [`VolumeMut`], which borrows it.
//! Both are [`Lebs`].
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/kapi.c`; `misc.c`, `ubi_check_volume`; `upd.c`.

use crate::device::Ubi;
use crate::eba::Leb;
use crate::eba::copy::used_length;
use crate::error::VolumeError;
use crate::format::{VolumeKind, to_usize};
use crate::lebs::{Error, LebIndex, Lebs, PebIndex, Shape, check_range};
use crate::state::VolumeState;
use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};

/// An open volume with its device.
#[derive(Debug, Clone)]
pub struct Volume<M> {
    ubi: Ubi<M>,
    id: u32,
}

/// An open volume on a borrowed device.
#[derive(Debug)]
pub struct VolumeMut<'a, M> {
    ubi: &'a mut Ubi<M>,
    id: u32,
}

impl<M: Mtd> Ubi<M> {
    /// Opens a volume and takes the device with it. A static volume is verified first.
    ///
    /// # Errors
    /// [`VolumeError::NoSuchVolume`], and those of reading a static volume.
    pub fn into_volume(mut self, clock: &mut Clock, id: u32) -> Result<Volume<M>, VolumeError> {
        self.check_volume(clock, id)?;
        Ok(Volume { ubi: self, id })
    }

    /// Opens a volume. A static volume is verified first (`ubi_open_volume`).
    ///
    /// # Errors
    /// [`VolumeError::NoSuchVolume`], and those of reading a static volume.
    pub fn volume(&mut self, clock: &mut Clock, id: u32) -> Result<VolumeMut<'_, M>, VolumeError> {
        self.check_volume(clock, id)?;
        Ok(VolumeMut { ubi: self, id })
    }

    /// Verifies a static volume that was not verified yet.
    fn check_volume(&mut self, clock: &mut Clock, id: u32) -> Result<(), VolumeError> {
        let volume = self.user_volume(id)?;
        if !volume.checked && !volume.skip_check {
            self.verify(clock, id)?;
        }
        Ok(())
    }

    /// Reads all data of a static volume and verifies them (`ubi_check_volume`).
    fn verify(&mut self, clock: &mut Clock, id: u32) -> Result<(), Error> {
        let VolumeState { kind, used_lebs, last_bytes, leb_size, .. } = *self.volume_state(id);
        let count = if kind == VolumeKind::Static { used_lebs } else { 0 };
        for leb in 0..count {
            let size = if leb + 1 == count { last_bytes } else { leb_size };
            let mut buffer = vec![0; to_usize(size)];
            let at = Leb { volume: id, leb: LebIndex(leb) };
            match self.read_leb(clock, at, 0, &mut buffer, true) {
                Ok(()) => {}
                Err(error) if error.is_uncorrectable() => {
                    self.volume_state_mut(id).corrupted = true;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        self.volume_state_mut(id).checked = true;
        Ok(())
    }

    /// Replaces the whole content of a volume. An interruption leaves a volume that cannot be used
    /// until it is updated again (`ubi_start_update`, `ubi_more_update_data`).
    ///
    /// # Errors
    /// [`VolumeError::Size`] when the volume is too small, and any of writing.
    pub fn update_volume(
        &mut self,
        clock: &mut Clock,
        id: u32,
        data: &[u8],
    ) -> Result<(), VolumeError> {
        let volume = self.user_volume(id)?;
        let (reserved, leb_size, kind) = (volume.reserved, volume.leb_size, volume.kind);
        let room = u64::from(reserved) * u64::from(leb_size);
        if Bytes::of(data).get() > room {
            return Err(VolumeError::Size { found: Bytes::of(data) });
        }
        self.mark_update(clock, id, true)?;
        for leb in 0..reserved {
            self.unmap_leb(Leb { volume: id, leb: LebIndex(leb) })?;
        }
        self.flush(clock, None, None)?;
        let chunks = data.chunks(to_usize(leb_size));
        let used = u32::try_from(chunks.len()).expect("the size was checked");
        for (leb, chunk) in (0..).zip(chunks) {
            let at = Leb { volume: id, leb: LebIndex(leb) };
            match kind {
                VolumeKind::Static => self.write_static(clock, at, chunk, used)?,
                VolumeKind::Dynamic => self.update_leb(clock, at, chunk)?,
            }
        }
        if !data.is_empty() {
            self.flush(clock, None, None)?;
        }
        if kind == VolumeKind::Static {
            self.volume_state_mut(id).set_static_size(Bytes::of(data).get());
        }
        self.mark_update(clock, id, false)?;
        Ok(self.verify(clock, id)?)
    }

    /// Writes a LEB of a dynamic volume without the 0xFF at its end.
    fn update_leb(&mut self, clock: &mut Clock, at: Leb, chunk: &[u8]) -> Result<(), Error> {
        let unit = self.io.layout.min_io;
        let mut padded = chunk.to_vec();
        padded.resize(chunk.len().next_multiple_of(to_usize(unit)), 0xFF);
        padded.truncate(used_length(&padded, unit));
        if padded.is_empty() { Ok(()) } else { self.write_leb(clock, at, 0, &padded) }
    }

    /// Sets or clears the update marker.
    fn mark_update(&mut self, clock: &mut Clock, id: u32, updating: bool) -> Result<(), Error> {
        if self.volume_state(id).updating == updating {
            return Ok(());
        }
        let mut record = self.record(id);
        record.updating = updating;
        let changed = self.change_record(clock, id, Some(record));
        self.volume_state_mut(id).updating = updating;
        changed
    }

    fn shape_of(&self, id: u32) -> Shape {
        let volume = self.volume_state(id);
        let layout = &self.io.layout;
        Shape {
            leb_count: volume.reserved,
            leb_size: volume.leb_size,
            leb_start: layout.leb_start,
            min_io: layout.min_io,
            max_write: layout.max_write,
        }
    }

    /// Checks the number of a LEB, of which there are `count`, and that no update was interrupted.
    fn check_leb(&self, at: Leb, count: u32) -> Result<(), Error> {
        if at.leb.0 >= count {
            return Err(Error::NoSuchLeb { leb: at.leb, count });
        }
        if self.volume_state(at.volume).updating { Err(Error::Unusable) } else { Ok(()) }
    }

    /// Checks a LEB that is to be changed.
    fn check_change(&self, at: Leb) -> Result<(), Error> {
        let volume = self.volume_state(at.volume);
        if volume.kind == VolumeKind::Static {
            return Err(Error::ReadOnly);
        }
        self.check_leb(at, volume.reserved)
    }

    /// Checks a range of a LEB.
    fn check_range(&self, at: Leb, offset: u32, length: usize, unit: u32) -> Result<(), Error> {
        let volume = self.volume_state(at.volume);
        let last = volume.kind == VolumeKind::Static && at.leb.0 + 1 == volume.used_lebs;
        let size = if last { volume.last_bytes } else { volume.leb_size };
        check_range(at.leb, offset, length, (size, unit))
    }

    fn read_checked(
        &mut self,
        clock: &mut Clock,
        at: Leb,
        offset: u32,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        self.check_leb(at, self.volume_state(at.volume).used_lebs)?;
        self.check_range(at, offset, buffer.len(), 1)?;
        if buffer.is_empty() {
            return Ok(());
        }
        let read = self.read_leb(clock, at, offset, buffer, false);
        let volume = self.volume_state_mut(at.volume);
        if volume.kind == VolumeKind::Static && read.as_ref().is_err_and(Error::is_uncorrectable) {
            volume.corrupted = true;
        }
        read
    }

    fn write_checked(
        &mut self,
        clock: &mut Clock,
        at: Leb,
        offset: u32,
        data: &[u8],
    ) -> Result<(), Error> {
        self.check_change(at)?;
        self.check_range(at, offset, data.len(), self.io.layout.min_io)?;
        if data.is_empty() { Ok(()) } else { self.write_leb(clock, at, offset, data) }
    }

    fn change_checked(&mut self, clock: &mut Clock, at: Leb, data: &[u8]) -> Result<(), Error> {
        self.check_change(at)?;
        self.check_range(at, 0, data.len(), self.io.layout.min_io)?;
        if data.is_empty() { Ok(()) } else { self.change_leb(clock, at, data) }
    }

    fn map_checked(&mut self, clock: &mut Clock, at: Leb) -> Result<(), Error> {
        self.check_change(at)?;
        if self.peb_of(at).is_some() {
            return Err(Error::Mapped { leb: at.leb });
        }
        self.write_leb(clock, at, 0, &[])
    }
}

impl<M: Mtd> Ubi<M> {
    /// The block of a LEB of a user volume; `None` when it is not mapped, or when there is no such LEB.
    #[must_use]
    pub fn peb(&self, volume: u32, leb: LebIndex) -> Option<PebIndex> {
        let state = self.user_volume(volume).ok()?;
        (leb.0 < state.reserved).then(|| self.peb_of(Leb { volume, leb })).flatten()
    }
}

impl<M: Mtd> Volume<M> {
    /// The block of a LEB; `None` when it is not mapped.
    #[must_use]
    pub fn peb(&self, leb: LebIndex) -> Option<PebIndex> {
        self.ubi.peb_of(Leb { volume: self.id, leb })
    }
}

impl<M> Volume<M> {
    /// The device.
    #[must_use]
    pub const fn ubi(&self) -> &Ubi<M> {
        &self.ubi
    }

    /// The device.
    #[must_use]
    pub const fn ubi_mut(&mut self) -> &mut Ubi<M> {
        &mut self.ubi
    }

    /// Closes the volume.
    #[must_use]
    pub fn into_ubi(self) -> Ubi<M> {
        self.ubi
    }

    /// The number of the volume.
    #[must_use]
    pub const fn id(&self) -> u32 {
        self.id
    }
}

impl<M> VolumeMut<'_, M> {
    /// The device.
    #[must_use]
    pub const fn ubi(&self) -> &Ubi<M> {
        self.ubi
    }

    /// The number of the volume.
    #[must_use]
    pub const fn id(&self) -> u32 {
        self.id
    }
}

macro_rules! lebs {
    ($holder:ty) => {
        impl<M: Mtd> Lebs for $holder {
            fn shape(&self) -> Shape {
                self.ubi.shape_of(self.id)
            }

            fn read(
                &mut self,
                clock: &mut Clock,
                leb: LebIndex,
                offset: u32,
                buffer: &mut [u8],
            ) -> Result<(), Error> {
                self.ubi.read_checked(clock, Leb { volume: self.id, leb }, offset, buffer)
            }

            fn write(
                &mut self,
                clock: &mut Clock,
                leb: LebIndex,
                offset: u32,
                data: &[u8],
            ) -> Result<(), Error> {
                self.ubi.write_checked(clock, Leb { volume: self.id, leb }, offset, data)
            }

            fn change(
                &mut self,
                clock: &mut Clock,
                leb: LebIndex,
                data: &[u8],
            ) -> Result<(), Error> {
                self.ubi.change_checked(clock, Leb { volume: self.id, leb }, data)
            }

            fn unmap(&mut self, _clock: &mut Clock, leb: LebIndex) -> Result<(), Error> {
                let at = Leb { volume: self.id, leb };
                self.ubi.check_change(at)?;
                self.ubi.unmap_leb(at)
            }

            fn map(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<(), Error> {
                self.ubi.map_checked(clock, Leb { volume: self.id, leb })
            }

            fn is_mapped(&self, leb: LebIndex) -> Result<bool, Error> {
                let at = Leb { volume: self.id, leb };
                self.ubi.check_leb(at, self.ubi.volume_state(self.id).reserved)?;
                Ok(self.ubi.peb_of(at).is_some())
            }

            /// Every write is complete when it returns, so nothing waits.
            fn sync(&mut self, _clock: &mut Clock) -> Result<(), Error> {
                Ok(())
            }

            fn background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
                self.ubi.background(clock)
            }
        }
    };
}

lebs!(Volume<M>);
lebs!(VolumeMut<'_, M>);
