//! The bytes of a UBI volume as they are, whatever is in it.
//!
//! Layer: rank 7. Main types: [`RawVolume`], [`RawVolumeReport`]. The blocks are read directly, so that
//! also a volume that Linux would not open can be looked at. A static volume has as many bytes as its
//! headers say, with a checksum for each LEB. A dynamic one has neither: its bytes end with its last
//! mapped LEB, and a LEB that is not mapped reads as 0xFF.

use crate::dump::Dump;
use crate::error::{Error, RawDamage, RawFault, VolumeError};
use boardlab_mtd::Mtd;
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::format::crc;
use boardlab_ubi::format::vid::{self, Extent, VidHeader, VidView};
use boardlab_ubi::{LebIndex, PebIndex, Ubi, VolumeInfo, VolumeKind};
use std::io::Write;

/// The damaged places that are listed; more are counted.
const PLACES: usize = 1_000;

/// A volume on the flash of an image.
#[derive(Debug)]
pub(super) struct RawVolume {
    dump: Dump,
    is_static: bool,
    leb_size: u32,
    /// The size of a LEB without the volume's alignment, and where it and the header begin.
    layout: (u32, Bytes, Bytes),
    /// The block of each LEB.
    blocks: Vec<Option<PebIndex>>,
}

/// What was written of a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawVolumeReport {
    /// Its name.
    pub name: String,
    /// What is in it.
    pub content: String,
    /// Whether it is static, so that it has checksums.
    pub is_static: bool,
    /// Bytes.
    pub length: Bytes,
    /// LEBs, and how many of them are not mapped.
    pub lebs: (u64, u64),
    /// LEBs whose checksums are right.
    pub verified: u64,
    /// The damaged LEBs, which were written as far as they can be read.
    pub damage: Vec<RawDamage>,
}

impl RawVolume {
    pub(super) fn of(ubi: &Ubi<Dump>, info: &VolumeInfo) -> Self {
        let layout = ubi.layout();
        let offset = |value: u32| Bytes::new(value.into());
        Self {
            dump: ubi.device().clone(),
            is_static: info.kind == VolumeKind::Static,
            leb_size: info.leb_size,
            layout: (layout.leb_size, offset(layout.leb_start), offset(layout.vid_offset)),
            blocks: (0..info.reserved_lebs).map(|leb| ubi.peb(info.id, LebIndex(leb))).collect(),
        }
    }

    /// The first mapped LEB.
    pub(super) fn first(&self) -> Option<u32> {
        (0..).zip(&self.blocks).find(|(_, block)| block.is_some()).map(|(leb, _)| leb)
    }

    /// How many LEBs are mapped.
    pub(super) fn mapped(&self) -> u64 {
        self.blocks.iter().flatten().count() as u64
    }

    /// The first bytes of a LEB, at most `length`; those that cannot be read are as they come.
    pub(super) fn head(&mut self, leb: u32, length: u32) -> Vec<u8> {
        let mut length = length.min(self.leb_size);
        if let Some(extent) = self.header(leb).and_then(|header| header.payload.extent())
            && self.is_static
        {
            length = length.min(extent.size);
        }
        self.read(leb, length).unwrap_or_else(|(bytes, _)| bytes)
    }

    fn block(&self, leb: u32) -> Option<PebIndex> {
        *self.blocks.get(usize::try_from(leb).ok()?)?
    }

    fn place(&self, leb: u32, within: Bytes) -> Option<Bytes> {
        Some(self.dump.shape().block * u64::from(self.block(leb)?.0) + within)
    }

    /// The header of a LEB, if it is right.
    fn header(&mut self, leb: u32) -> Option<VidHeader> {
        let mut bytes = [0; vid::SIZE];
        let at = self.place(leb, self.layout.2)?;
        self.dump.read(&mut Clock::new(), at, &mut bytes).ok()?;
        VidView::new(&bytes).and_then(|view| view.parse(self.layout.0)).ok()
    }

    /// The first `length` bytes of a LEB; with the error, as far as they could be read.
    fn read(&mut self, leb: u32, length: u32) -> Result<Vec<u8>, (Vec<u8>, RawFault)> {
        let mut bytes = vec![0xFF; Bytes::new(length.into()).to_usize()];
        let Some(at) = self.place(leb, self.layout.1) else {
            return if self.is_static { Err((bytes, RawFault::Missing)) } else { Ok(bytes) };
        };
        match self.dump.read(&mut Clock::new(), at, &mut bytes) {
            Ok(_) => Ok(bytes),
            Err(_) => Err((bytes, RawFault::Unreadable)),
        }
    }

    /// How many LEBs there are to write.
    fn count(&mut self) -> u32 {
        let last = (0..).zip(&self.blocks).filter(|(_, block)| block.is_some()).last();
        let mapped = last.map_or(0, |(leb, _): (u32, _)| leb + 1);
        let of = |header: VidHeader| header.payload.used_lebs();
        let said = self.first().and_then(|leb| self.header(leb)).map(of);
        match said {
            // A header may name more LEBs than there are.
            Some(said) if self.is_static => mapped.max(said).min(self.most()),
            _ => mapped,
        }
    }

    fn most(&self) -> u32 {
        u32::try_from(self.blocks.len()).unwrap_or(u32::MAX)
    }

    /// A LEB of a static volume of `count` LEBs, and what is wrong with it.
    fn static_leb(&mut self, leb: u32, count: u32) -> (Vec<u8>, Option<RawFault>) {
        if self.block(leb).is_none() {
            return (
                self.read(leb, self.leb_size).unwrap_or_else(|it| it.0),
                Some(RawFault::Missing),
            );
        }
        let extent = self.header(leb).and_then(|header| header.payload.extent());
        let Some(Extent { size, crc: expected }) = extent else {
            let bytes = self.read(leb, self.leb_size).unwrap_or_else(|it| it.0);
            return (bytes, Some(RawFault::NoHeader));
        };
        // What the checksum says counts, also where correction failed.
        let bytes = self.read(leb, size.min(self.leb_size)).unwrap_or_else(|it| it.0);
        let found = crc(&bytes);
        let fault = if found != expected {
            Some(RawFault::Checksum { found, expected })
        } else if leb + 1 < count && size != self.leb_size {
            Some(RawFault::Length { found: size, expected: self.leb_size })
        } else {
            None
        };
        (bytes, fault)
    }

    /// Writes all bytes to `file`, also those of damaged LEBs.
    pub(super) fn write(
        &mut self,
        limit: Bytes,
        file: &mut dyn Write,
    ) -> Result<RawVolumeReport, Error> {
        let count = self.count();
        let most = Bytes::new(self.leb_size.into()) * u64::from(count);
        if most > limit {
            return Err(VolumeError::Limit { length: most, limit }.into());
        }
        let mut done = RawVolumeReport { is_static: self.is_static, ..RawVolumeReport::default() };
        for leb in 0..count {
            let (bytes, fault) = if self.is_static {
                self.static_leb(leb, count)
            } else {
                self.read(leb, self.leb_size).map_or_else(|it| (it.0, Some(it.1)), |it| (it, None))
            };
            let block = self.block(leb).map(|block| block.0);
            done.verified += u64::from(self.is_static && fault.is_none());
            done.lebs.0 += 1;
            done.lebs.1 += u64::from(block.is_none());
            done.length += Bytes::of(&bytes);
            if let Some(what) = fault
                && done.damage.len() < PLACES
            {
                done.damage.push(RawDamage { leb, block, what });
            }
            file.write_all(&bytes).map_err(|problem| Error::Unwritable { problem })?;
        }
        Ok(done)
    }
}
