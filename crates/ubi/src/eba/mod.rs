//! The mapping of logical to physical erase blocks: read, write, unmap, change.
//!
//! Layer: rank 4. [`copy`] moves a LEB to another block, [`recover`] saves the data of a block in which
//! a write failed.
//!
//! Source: Linux 6.1, `drivers/mtd/ubi/eba.c`. Left out: the lock tree.

pub(crate) mod compare;
pub(crate) mod copy;
pub(crate) mod recover;

use crate::attach::AttachInfo;
use crate::device::Ubi;
use crate::error::AttachError;
use crate::format::vid::{Compat, Extent, Payload, VidHeader};
use crate::format::{LAYOUT_VOLUME, VolumeKind, crc, length_of};
use crate::io::{Found, Health, RETRIES};
use crate::lebs::{Error, LebIndex, PebIndex};
use crate::options::Mistake;
use boardlab_mtd::Mtd;
use boardlab_sim::Clock;

/// Blocks reserved for atomic changes (`EBA_RESERVED_PEBS`).
pub(crate) const RESERVED: u32 = 1;

/// A LEB of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leb {
    pub(crate) volume: u32,
    pub(crate) leb: LebIndex,
}

impl<M: Mtd> Ubi<M> {
    /// Fills the mapping of each volume, and reserves blocks (`ubi_eba_init`).
    pub(crate) fn init_eba(&mut self, info: &AttachInfo) -> Result<(), AttachError> {
        let forgets = self.mistake == Some(Mistake::ForgetsSqnums);
        self.sqnum = if forgets { 1 } else { info.max_sqnum + 1 };
        for volume in self.volumes.iter_mut().flatten() {
            let Some(found) = info.volumes.get(&volume.id) else { continue };
            for (leb, block) in found.iter() {
                if let Some(slot) = volume.slot(LebIndex(leb)) {
                    *slot = Some(block.peb);
                }
            }
        }
        self.reserve(RESERVED)?;
        if self.io.layout.bad_blocks {
            self.space.calculate_reserve(self.io.layout.bad_limit);
            let taken = self.space.available.min(self.space.bad_level);
            self.space.bad_reserve = taken;
            self.space.available -= taken;
            self.space.reserved += taken;
        }
        Ok(())
    }

    /// The next sequence number (`ubi_next_sqnum`).
    pub(crate) const fn next_sqnum(&mut self) -> u64 {
        let sqnum = self.sqnum;
        self.sqnum += 1;
        sqnum
    }

    /// The block of a LEB that is in its volume.
    pub(crate) fn peb_of(&self, at: Leb) -> Option<PebIndex> {
        self.volume_state(at.volume).peb(at.leb)
    }

    pub(crate) fn set_peb(&mut self, at: Leb, peb: Option<PebIndex>) {
        let slot = self.volume_state_mut(at.volume).slot(at.leb);
        *slot.expect("the LEB is one of the volume") = peb;
    }

    /// Unmaps a LEB and schedules the erase of its block (`ubi_eba_unmap_leb`).
    pub(crate) fn unmap_leb(&mut self, at: Leb) -> Result<(), Error> {
        if self.io.read_only {
            return Err(Error::ReadOnly);
        }
        let Some(peb) = self.peb_of(at) else { return Ok(()) };
        self.set_peb(at, None);
        self.put_peb(peb, (at.volume, at.leb.0), false)
    }

    /// Reads from a LEB; with `check` all data of a LEB of a static volume, and verifies them
    /// (`ubi_eba_read_leb`).
    pub(crate) fn read_leb(
        &mut self,
        clock: &mut Clock,
        at: Leb,
        offset: u32,
        buffer: &mut [u8],
        check: bool,
    ) -> Result<(), Error> {
        let Some(peb) = self.compared_peb(clock, at)? else {
            buffer.fill(0xFF);
            return Ok(());
        };
        let kind = self.volume_state(at.volume).kind;
        let mut expected = None;
        let mut scrub = false;
        if check && kind == VolumeKind::Static {
            expected = Some(self.data_checksum(clock, peb, &mut scrub)?);
        }
        let uncorrectable = Error::Uncorrectable { leb: at.leb, offset };
        let mut read = self.io.read_data(clock, peb, offset, buffer);
        if read.as_ref().is_err_and(Error::is_uncorrectable) {
            if kind == VolumeKind::Dynamic {
                return Err(uncorrectable);
            }
            scrub = true;
            if expected.is_none() {
                expected = Some(self.data_checksum(clock, peb, &mut scrub)?);
                read = self.io.read_data(clock, peb, offset, buffer);
            }
        }
        match read {
            Ok(health) => scrub |= health == Health::Bitflips,
            Err(error) if error.is_uncorrectable() => {}
            Err(error) => return Err(error),
        }
        if expected.is_some_and(|expected| expected != crc(buffer)) {
            return Err(uncorrectable);
        }
        if scrub { self.scrub_peb(peb) } else { Ok(()) }
    }

    /// The checksum that the data of a block of a static volume shall have.
    fn data_checksum(
        &mut self,
        clock: &mut Clock,
        peb: PebIndex,
        scrub: &mut bool,
    ) -> Result<u32, Error> {
        match self.io.read_vid(clock, peb)? {
            Found::Header { header, bitflips } => {
                *scrub |= bitflips;
                let extent = header.payload.extent();
                extent.map(|data| data.crc).ok_or(Error::NoHeader { peb })
            }
            Found::Bad { .. } => {
                let (leb, offset) = (LebIndex::default(), 0);
                Err(Error::Uncorrectable { leb, offset })
            }
            Found::Erased { .. } if self.was_attached_by_fastmap() => {
                let (leb, offset) = (LebIndex::default(), 0);
                Err(Error::Uncorrectable { leb, offset })
            }
            Found::Erased { .. } => {
                self.io.read_only = true;
                Err(Error::NoHeader { peb })
            }
        }
    }

    /// A header for a LEB, with a new sequence number.
    fn header(&mut self, at: Leb, payload: Payload) -> VidHeader {
        let layout = at.volume == LAYOUT_VOLUME;
        VidHeader {
            volume: at.volume,
            leb: at.leb.0,
            compat: if layout { Compat::Reject } else { Compat::None },
            data_pad: self.volume_state(at.volume).data_pad,
            payload,
            sqnum: self.next_sqnum(),
        }
    }

    /// Writes to a LEB of a dynamic volume, and maps it first if need be (`ubi_eba_write_leb`).
    pub(crate) fn write_leb(
        &mut self,
        clock: &mut Clock,
        at: Leb,
        offset: u32,
        data: &[u8],
    ) -> Result<(), Error> {
        if self.io.read_only {
            return Err(Error::ReadOnly);
        }
        let written = match self.compared_peb(clock, at) {
            Err(error) => Err(error),
            Ok(Some(peb)) => match self.io.write_data(clock, peb, offset, data) {
                Err(error) if error.is_io() && self.io.layout.bad_blocks => {
                    self.recover_peb(clock, peb, at, offset, data)
                }
                other => other,
            },
            Ok(None) => {
                let header = self.header(at, Payload::Dynamic);
                self.write_new(clock, at, header, offset, data)
            }
        };
        self.read_only_after(written)
    }

    /// Writes a LEB of a static volume, padded to whole units (`ubi_eba_write_leb_st`).
    pub(crate) fn write_static(
        &mut self,
        clock: &mut Clock,
        at: Leb,
        data: &[u8],
        used_lebs: u32,
    ) -> Result<(), Error> {
        if self.io.read_only {
            return Err(Error::ReadOnly);
        }
        let extent = Extent { size: length_of(data), crc: crc(data) };
        let header = self.header(at, Payload::Static { data: extent, used_lebs, copy: false });
        let unit = usize::try_from(self.io.layout.min_io).expect("usize holds u32");
        let mut padded = data.to_vec();
        padded.resize(data.len().next_multiple_of(unit), 0);
        let written = self.write_new(clock, at, header, 0, &padded);
        self.read_only_after(written)
    }

    /// Replaces the content of a LEB as a whole (`ubi_eba_atomic_leb_change`).
    pub(crate) fn change_leb(
        &mut self,
        clock: &mut Clock,
        at: Leb,
        data: &[u8],
    ) -> Result<(), Error> {
        if self.io.read_only {
            return Err(Error::ReadOnly);
        }
        if data.is_empty() {
            self.unmap_leb(at)?;
            return self.write_leb(clock, at, 0, &[]);
        }
        let extent = Extent { size: length_of(data), crc: crc(data) };
        let header = self.header(at, Payload::Copied(extent));
        if self.mistake == Some(Mistake::ErasesFirst) {
            self.unmap_leb(at)?;
            self.flush(clock, Some(at.volume), Some(at.leb.0))?;
        }
        let written = self.write_new(clock, at, header, 0, data);
        self.read_only_after(written)
    }

    fn read_only_after(&mut self, written: Result<(), Error>) -> Result<(), Error> {
        if written.is_err() {
            self.io.read_only = true;
        }
        written
    }

    /// Writes header and data to a new block, to another one if the block is at fault.
    fn write_new(
        &mut self,
        clock: &mut Clock,
        at: Leb,
        mut header: VidHeader,
        offset: u32,
        data: &[u8],
    ) -> Result<(), Error> {
        let mut tries = 0;
        loop {
            let written = self.try_write_new(clock, at, &header, offset, data);
            match written {
                Err(error) if error.is_io() && self.io.layout.bad_blocks => {
                    header.sqnum = self.next_sqnum();
                    tries += 1;
                    if tries > RETRIES {
                        return Err(error);
                    }
                }
                other => return other,
            }
        }
    }

    /// Writes header and data to a new block and maps the LEB to it (`try_write_vid_and_data`).
    fn try_write_new(
        &mut self,
        clock: &mut Clock,
        at: Leb,
        header: &VidHeader,
        offset: u32,
        data: &[u8],
    ) -> Result<(), Error> {
        let peb = self.get_peb(clock)?;
        let old = self.peb_of(at);
        let mut written = self.io.write_vid(clock, peb, header);
        if written.is_ok() && !data.is_empty() {
            written = self.io.write_data(clock, peb, offset, data);
        }
        let name = (at.volume, at.leb.0);
        if let Err(error) = written {
            // A block that cannot be put back makes the device read-only, and the first error counts.
            let _ = self.put_peb(peb, name, true);
            return Err(error);
        }
        self.set_peb(at, Some(peb));
        if let Some(old) = old {
            let _ = self.put_peb(old, name, false);
        }
        Ok(())
    }
}
