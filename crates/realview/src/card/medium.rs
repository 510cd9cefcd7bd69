//! What a card keeps its blocks on.
//!
//! Layer: rank 4. Main type: [`Medium`]: either memory, which is saved with a machine, or any block device, whose time then
//! counts and which is not saved.

use std::fmt;

use boardlab_block::{BlockDevice, Contents, Extent, Geometry, Payload, RamBlock, Request, Target};
use boardlab_sim::{Bytes, Instant};

use crate::error::Error;

/// Bytes of a block.
pub(crate) const BLOCK: usize = 512;

/// What a card keeps its blocks on.
pub enum Medium {
    /// Memory that answers at once.
    Kept(Box<RamBlock>),
    /// A device.
    Given(Box<dyn BlockDevice + Send>),
}

impl fmt::Debug for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_kept() { "Kept" } else { "Given" };
        write!(f, "{kind}({} blocks)", self.geometry().count)
    }
}

impl Medium {
    /// Memory of this size, full of zeros.
    ///
    /// # Errors
    ///
    /// [`Error::CardSize`] for sizes without whole blocks.
    pub fn empty(size: Bytes) -> Result<Self, Error> {
        let geometry = Geometry::of_size(size);
        if !geometry.is_sound() || geometry.size() != size {
            return Err(Error::CardSize { size });
        }
        Ok(Self::Kept(Box::new(RamBlock::new(geometry))))
    }

    /// Memory with these contents.
    ///
    /// # Errors
    ///
    /// [`Error::CardSize`] for sizes without whole blocks.
    pub fn image(contents: &[u8]) -> Result<Self, Error> {
        let mut medium = Self::empty(Bytes::of(contents))?;
        let extent = medium.geometry().whole();
        let write = Request::Write { extent, data: Payload::Bytes(contents), durable: false };
        medium
            .device()
            .submit(Instant::ZERO, write)
            .map_err(|_| Error::CardSize { size: Bytes::of(contents) })?;
        Ok(medium)
    }

    pub(crate) const fn is_kept(&self) -> bool {
        matches!(self, Self::Kept(_))
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        match self {
            Self::Kept(ram) => ram.geometry(),
            Self::Given(device) => device.geometry(),
        }
    }

    fn device(&mut self) -> &mut dyn BlockDevice {
        match self {
            Self::Kept(ram) => ram.as_mut(),
            Self::Given(device) => device.as_mut(),
        }
    }

    /// Reads blocks, and tells when they are there; nothing if the device cannot.
    pub(crate) fn read(&mut self, at: Instant, first: u64, into: &mut [u8]) -> Option<Instant> {
        let extent = extent(first, into.len())?;
        let request = Request::Read { extent, into: Target::Buffer(into) };
        self.device().submit(at, request).ok().map(|completion| completion.ended)
    }

    /// Writes blocks, and tells when that is done; nothing if the device cannot.
    pub(crate) fn write(&mut self, at: Instant, first: u64, bytes: &[u8]) -> Option<Instant> {
        let extent = extent(first, bytes.len())?;
        let data = Payload::Bytes(bytes);
        let request = Request::Write { extent, data, durable: false };
        self.device().submit(at, request).ok().map(|completion| completion.ended)
    }

    /// What kept memory holds.
    pub(crate) fn kept(&self) -> Option<&Contents> {
        match self {
            Self::Kept(ram) => Some(ram.contents()),
            Self::Given(_) => None,
        }
    }

    /// What blocks of kept memory hold.
    pub(crate) fn contents(&self, first: u64, into: &mut [u8]) -> Option<()> {
        let extent = extent(first, into.len())?;
        self.geometry().check(extent).ok()?;
        self.kept()?.read(extent, into);
        Some(())
    }
}

fn extent(first: u64, length: usize) -> Option<Extent> {
    let count = u64::try_from(length / BLOCK).ok()?;
    length.is_multiple_of(BLOCK).then(|| Extent::new(first, count))
}
