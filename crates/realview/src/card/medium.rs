//! The storage of a card.
//!
//! Layer: rank 4. Main type: [`Medium`]: either memory without latency, which snapshots save, or any
//! block device, whose latencies apply and which snapshots cannot save.

use std::fmt;

use boardlab_block::{BlockDevice, Contents, Extent, Geometry, Payload, RamBlock, Request, Target};
use boardlab_sim::{Bytes, Instant};

use crate::error::Error;

/// The block size in bytes.
pub(crate) const BLOCK: usize = 512;

/// The storage of a card's blocks.
pub enum Medium {
    /// Memory without latency.
    Memory(Box<RamBlock>),
    /// A block device.
    Device(Box<dyn BlockDevice + Send>),
}

impl fmt::Debug for Medium {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_memory() { "Memory" } else { "Device" };
        write!(f, "{kind}({} blocks)", self.geometry().count)
    }
}

impl Medium {
    /// Memory of this size, all zero.
    ///
    /// # Errors
    ///
    /// [`Error::CardSize`] if the size is zero or not a multiple of the block size.
    pub fn empty(size: Bytes) -> Result<Self, Error> {
        let geometry = Geometry::of_size(size);
        if !geometry.is_sound() || geometry.size() != size {
            return Err(Error::CardSize { size });
        }
        Ok(Self::Memory(Box::new(RamBlock::new(geometry))))
    }

    /// Memory with these contents.
    ///
    /// # Errors
    ///
    /// [`Error::CardSize`] if the size is zero or not a multiple of the block size.
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

    pub(crate) const fn is_memory(&self) -> bool {
        matches!(self, Self::Memory(_))
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        match self {
            Self::Memory(ram) => ram.geometry(),
            Self::Device(device) => device.geometry(),
        }
    }

    fn device(&mut self) -> &mut dyn BlockDevice {
        match self {
            Self::Memory(ram) => ram.as_mut(),
            Self::Device(device) => device.as_mut(),
        }
    }

    /// Reads blocks; returns the time of completion, or `None` if the device reports an error.
    pub(crate) fn read(&mut self, at: Instant, first: u64, into: &mut [u8]) -> Option<Instant> {
        let extent = extent(first, into.len())?;
        let request = Request::Read { extent, into: Target::Buffer(into) };
        self.device().submit(at, request).ok().map(|completion| completion.ended)
    }

    /// Writes blocks; returns the time of completion, or `None` if the device reports an error.
    pub(crate) fn write(&mut self, at: Instant, first: u64, bytes: &[u8]) -> Option<Instant> {
        let extent = extent(first, bytes.len())?;
        let data = Payload::Bytes(bytes);
        let request = Request::Write { extent, data, durable: false };
        self.device().submit(at, request).ok().map(|completion| completion.ended)
    }

    /// The contents of a medium in memory; `None` for a device.
    pub(crate) fn memory_contents(&self) -> Option<&Contents> {
        match self {
            Self::Memory(ram) => Some(ram.contents()),
            Self::Device(_) => None,
        }
    }

    /// Copies blocks of a medium in memory; `None` for a device or blocks beyond the end.
    pub(crate) fn contents(&self, first: u64, into: &mut [u8]) -> Option<()> {
        let extent = extent(first, into.len())?;
        self.geometry().check(extent).ok()?;
        self.memory_contents()?.read(extent, into);
        Some(())
    }
}

fn extent(first: u64, length: usize) -> Option<Extent> {
    let count = u64::try_from(length / BLOCK).ok()?;
    length.is_multiple_of(BLOCK).then(|| Extent::new(first, count))
}
