//! The LEBs of a UBIFS on the flash of an image: a volume of UBI, or the file itself.
//!
//! Layer: rank 7. Main type: [`ImageLebs`]. In the output of `mkfs.ubifs` each LEB is one block of the
//! file. Changes stay in memory, in the [`Dump`].

use crate::dump::Dump;
use boardlab_mtd::{BlockIndex, Mtd};
use boardlab_sim::{Bytes, Clock};
use boardlab_ubi::lebs::check_range;
use boardlab_ubi::{Error, LebIndex, Lebs, Shape, Volume};
use std::ops::Range;

/// The LEBs of an image.
#[derive(Debug, Clone)]
pub(super) struct ImageLebs {
    flash: Flash,
    shape: Shape,
    /// The nodes that the last audit has found, by their place on the flash, with their inodes.
    pub(super) nodes: Vec<(Range<Bytes>, u32)>,
    /// Why an older commit is mounted in place of the newest state.
    pub(super) instead_of: Option<String>,
}

/// What is below.
#[derive(Debug, Clone)]
enum Flash {
    /// A volume of UBI.
    Volume(Box<Volume<Dump>>),
    /// Blocks that are the LEBs.
    Plain(Box<Dump>),
}

impl ImageLebs {
    /// The volume, with at least `lebs` LEBs and the smallest write `min_io`, as its superblock says.
    /// A volume that is to grow at the first attach may be smaller in the file.
    pub(super) fn of_volume(volume: Volume<Dump>, lebs: u32, min_io: u32) -> Self {
        let shape = volume.shape();
        let leb_count = shape.leb_count.max(lebs);
        let shape = Shape { leb_count, min_io, max_write: min_io, ..shape };
        Self { flash: Flash::Volume(Box::new(volume)), shape, nodes: Vec::new(), instead_of: None }
    }

    /// The blocks of `dump` are the LEBs.
    pub(super) fn plain(dump: Dump, shape: Shape) -> Self {
        Self { flash: Flash::Plain(Box::new(dump)), shape, nodes: Vec::new(), instead_of: None }
    }

    /// The flash.
    pub(super) fn dump(&self) -> &Dump {
        match &self.flash {
            Flash::Volume(volume) => volume.ubi().device(),
            Flash::Plain(dump) => dump,
        }
    }

    /// The flash.
    pub(super) const fn dump_mut(&mut self) -> &mut Dump {
        match &mut self.flash {
            Flash::Volume(volume) => volume.ubi_mut().device_mut(),
            Flash::Plain(dump) => dump,
        }
    }

    /// The place of a LEB's byte on the flash; `None` while the LEB is not mapped.
    pub(super) fn place(&self, leb: LebIndex, offset: u32) -> Option<Bytes> {
        let (block, start) = match &self.flash {
            Flash::Volume(volume) => (volume.peb(leb)?.0, volume.shape().leb_start),
            Flash::Plain(_) => (leb.0, 0),
        };
        let within = Bytes::new(u64::from(start) + u64::from(offset));
        Some(self.dump().shape().block * u64::from(block) + within)
    }

    /// Checks a range of a LEB in a plain image, and returns its first byte.
    fn start(&self, leb: LebIndex, offset: u32, length: usize) -> Result<Bytes, Error> {
        let count = self.shape.leb_count;
        if leb.0 >= count {
            return Err(Error::NoSuchLeb { leb, count });
        }
        check_range(leb, offset, length, (self.shape.leb_size, 1))?;
        let leb_size = Bytes::new(u64::from(self.shape.leb_size));
        Ok(leb_size * u64::from(leb.0) + Bytes::new(u64::from(offset)))
    }
}

impl Lebs for ImageLebs {
    fn shape(&self) -> Shape {
        self.shape
    }

    fn read(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        offset: u32,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let start = self.start(leb, offset, buffer.len())?;
        match &mut self.flash {
            Flash::Volume(volume) if leb.0 >= volume.shape().leb_count => {
                buffer.fill(0xFF);
                Ok(())
            }
            Flash::Volume(volume) => volume.read(clock, leb, offset, buffer),
            Flash::Plain(dump) => match dump.read(clock, start, buffer) {
                Err(boardlab_mtd::Error::Uncorrectable { .. }) => {
                    Err(Error::Uncorrectable { leb, offset })
                }
                read => Ok(read.map(drop)?),
            },
        }
    }

    fn write(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        offset: u32,
        data: &[u8],
    ) -> Result<(), Error> {
        let start = self.start(leb, offset, data.len())?;
        match &mut self.flash {
            Flash::Volume(volume) => volume.write(clock, leb, offset, data),
            Flash::Plain(dump) => Ok(dump.program(clock, start, data)?),
        }
    }

    fn change(&mut self, clock: &mut Clock, leb: LebIndex, data: &[u8]) -> Result<(), Error> {
        self.start(leb, 0, data.len())?;
        match &mut self.flash {
            Flash::Volume(volume) => volume.change(clock, leb, data),
            Flash::Plain(dump) => Ok(dump.replace(clock, BlockIndex(leb.0), data)?),
        }
    }

    fn unmap(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<(), Error> {
        self.start(leb, 0, 0)?;
        match &mut self.flash {
            Flash::Volume(volume) => volume.unmap(clock, leb),
            Flash::Plain(dump) => Ok(dump.erase(clock, BlockIndex(leb.0))?),
        }
    }

    fn map(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<(), Error> {
        self.start(leb, 0, 0)?;
        match &mut self.flash {
            Flash::Volume(volume) => volume.map(clock, leb),
            Flash::Plain(_) => Ok(()),
        }
    }

    /// Every LEB of a plain image counts as mapped.
    fn is_mapped(&self, leb: LebIndex) -> Result<bool, Error> {
        self.start(leb, 0, 0)?;
        match &self.flash {
            Flash::Volume(volume) => Ok(leb.0 < volume.shape().leb_count && volume.is_mapped(leb)?),
            Flash::Plain(_) => Ok(true),
        }
    }

    fn sync(&mut self, clock: &mut Clock) -> Result<(), Error> {
        match &mut self.flash {
            Flash::Volume(volume) => volume.sync(clock),
            Flash::Plain(_) => Ok(()),
        }
    }

    fn background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
        match &mut self.flash {
            Flash::Volume(volume) => volume.background(clock),
            Flash::Plain(_) => Ok(false),
        }
    }
}
