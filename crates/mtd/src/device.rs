//! The trait that every raw flash implements, modelled or real.
//!
//! Layer: rank 2. Main types: [`Mtd`], and [`ReadHealth`], the result of a read. The operations are
//! those of Linux' `struct mtd_info` (6.1, `include/linux/mtd/mtd.h`) that filesystems use; locks,
//! one-time-programmable areas and vectored writes are left out.

use crate::error::Error;
use crate::geometry::Geometry;
use crate::index::{BlockIndex, PageIndex};
use boardlab_sim::{Bytes, Clock};

/// The result of the error correction of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadHealth {
    /// Bits corrected in the whole read.
    pub corrected: u32,
    /// The most bits corrected in one ECC step: compare with its strength.
    pub worst: u32,
}

impl ReadHealth {
    /// Adds what was corrected in a further part: so many bits in all, and at most so many in a step.
    pub const fn add(&mut self, corrected: u32, worst: u32) {
        self.corrected = self.corrected.saturating_add(corrected);
        if worst > self.worst {
            self.worst = worst;
        }
    }
}

/// What a read gives.
pub type ReadResult = Result<ReadHealth, Error>;

/// A raw flash. Every operation advances the run's clock by its cost.
///
/// Erased bytes read 0xFF; a program can only clear bits. A fault of the medium is an [`Error`]
/// value; after [`Error::PowerCut`] nothing works until the owner powers the device on again.
pub trait Mtd {
    /// The geometry of the device.
    fn geometry(&self) -> &Geometry;

    /// Reads `buffer.len()` bytes from `offset` on.
    ///
    /// # Errors
    /// [`Error::OutOfRange`], [`Error::Uncorrectable`], [`Error::PowerCut`].
    fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult;

    /// Programs `data` from `offset` on, in whole units of the write size.
    ///
    /// # Errors
    /// Any except [`Error::Uncorrectable`]; after a failure the bytes of the range are undefined.
    fn program(&mut self, clock: &mut Clock, offset: Bytes, data: &[u8]) -> Result<(), Error>;

    /// Erases one block.
    ///
    /// # Errors
    /// [`Error::EraseFailed`], [`Error::Protected`], [`Error::Timeout`] and those of an invalid range.
    fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error>;

    /// Reads the first `buffer.len()` free OOB bytes of a page: those that the driver leaves to its
    /// user, in the order of its layout (`MTD_OPS_AUTO_OOB` of Linux). [`RawPages`] has all of them.
    ///
    /// # Errors
    /// [`Error::NoOob`] when the device has no OOB area.
    fn read_oob(&mut self, _clock: &mut Clock, _page: PageIndex, _buffer: &mut [u8]) -> ReadResult {
        Err(Error::NoOob)
    }

    /// Reads a page and its first `oob.len()` free OOB bytes at once. A device that does not know this
    /// reads them one after the other. On [`Error::Uncorrectable`] both buffers are filled.
    ///
    /// # Errors
    /// Those of [`Mtd::read_oob`] and [`Mtd::read`].
    fn read_page(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> ReadResult {
        let start = self.geometry().page_range(page)?.start;
        let spare = match self.read_oob(clock, page, oob) {
            Err(error) if !matches!(error, Error::Uncorrectable { .. }) => return Err(error),
            spare => spare,
        };
        let mut health = self.read(clock, start, data)?;
        let spare = spare?;
        health.add(spare.corrected, spare.worst);
        Ok(health)
    }

    /// Programs a page and its free OOB bytes at once; either may be empty.
    ///
    /// # Errors
    /// [`Error::NoOob`] when the device has no OOB area; else as [`Mtd::program`].
    fn program_oob(
        &mut self,
        _clock: &mut Clock,
        _page: PageIndex,
        _data: &[u8],
        _oob: &[u8],
    ) -> Result<(), Error> {
        Err(Error::NoOob)
    }

    /// Whether a block is marked bad. A device without such marks returns false.
    ///
    /// # Errors
    /// Those of the range.
    fn is_bad(&mut self, _clock: &mut Clock, _block: BlockIndex) -> Result<bool, Error> {
        Ok(false)
    }

    /// Marks a block bad permanently.
    ///
    /// # Errors
    /// [`Error::NoOob`] on a device that cannot.
    fn mark_bad(&mut self, _clock: &mut Clock, _block: BlockIndex) -> Result<(), Error> {
        Err(Error::NoOob)
    }
}

/// A NAND with access to raw pages, for dumps and tests: with all OOB bytes, including the ECC bytes,
/// and without error correction.
pub trait RawPages: Mtd {
    /// Reads a page and all of its OOB bytes, as the cells return them.
    ///
    /// # Errors
    /// [`Error::NoSuchPage`], [`Error::NoOob`], [`Error::PowerCut`].
    fn read_raw(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &mut [u8],
        oob: &mut [u8],
    ) -> Result<(), Error>;

    /// Programs a page and all of its OOB bytes, as given.
    ///
    /// # Errors
    /// As [`Mtd::program_oob`].
    fn program_raw(
        &mut self,
        clock: &mut Clock,
        page: PageIndex,
        data: &[u8],
        oob: &[u8],
    ) -> Result<(), Error>;
}

/// A borrowed or boxed device is a device: middleware can wrap `&mut dyn Mtd`.
macro_rules! forward {
    ($($holder:ty),*) => {$(
        impl<M: Mtd + ?Sized> Mtd for $holder {
            fn geometry(&self) -> &Geometry {
                (**self).geometry()
            }
            fn read(&mut self, clock: &mut Clock, offset: Bytes, buffer: &mut [u8]) -> ReadResult {
                (**self).read(clock, offset, buffer)
            }
            fn program(
                &mut self,
                clock: &mut Clock,
                offset: Bytes,
                data: &[u8],
            ) -> Result<(), Error> {
                (**self).program(clock, offset, data)
            }
            fn erase(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
                (**self).erase(clock, block)
            }
            fn read_oob(&mut self, clock: &mut Clock, page: PageIndex, buffer: &mut [u8]) -> ReadResult {
                (**self).read_oob(clock, page, buffer)
            }
            fn read_page(
                &mut self,
                clock: &mut Clock,
                page: PageIndex,
                data: &mut [u8],
                oob: &mut [u8],
            ) -> ReadResult {
                (**self).read_page(clock, page, data, oob)
            }
            fn program_oob(
                &mut self,
                clock: &mut Clock,
                page: PageIndex,
                data: &[u8],
                oob: &[u8],
            ) -> Result<(), Error> {
                (**self).program_oob(clock, page, data, oob)
            }
            fn is_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<bool, Error> {
                (**self).is_bad(clock, block)
            }
            fn mark_bad(&mut self, clock: &mut Clock, block: BlockIndex) -> Result<(), Error> {
                (**self).mark_bad(clock, block)
            }
        }
    )*};
}

forward!(&mut M, Box<M>);
