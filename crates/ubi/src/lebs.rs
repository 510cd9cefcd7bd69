//! A volume of logical erase blocks (LEBs), and the errors of its operations.
//!
//! Layer: rank 4. Main types: [`Lebs`], [`Shape`], [`Error`]. The operations are those of Linux 6.1,
//! `include/linux/mtd/ubi.h`.

use crate::format::Malformed;
use boardlab_sim::{Bytes, Clock};
use std::fmt;

/// The number of a logical erase block within its volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LebIndex(pub u32);

impl fmt::Display for LebIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a physical erase block on the device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PebIndex(pub u32);

impl fmt::Display for PebIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The shape of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// The number of LEBs (`reserved_pebs` of the volume).
    pub leb_count: u32,
    /// Usable bytes of a LEB.
    pub leb_size: u32,
    /// The offset of a LEB's first byte within its PEB, for messages about places on flash.
    pub leb_start: u32,
    /// The smallest write, and its alignment: a page of NAND, 1 or 8 bytes of NOR.
    pub min_io: u32,
    /// The unit that the device writes at once where it can: the write buffer of NOR, a page of NAND.
    pub max_write: u32,
}

/// Why an operation on a LEB failed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// There is no such LEB.
    NoSuchLeb {
        /// Its number.
        leb: LebIndex,
        /// The number of LEBs of the volume.
        count: u32,
    },
    /// The range is beyond the LEB, or not in units of the smallest write.
    Range {
        /// The LEB.
        leb: LebIndex,
        /// The first byte.
        offset: u32,
        /// The number of bytes.
        length: Bytes,
    },
    /// The data could not be corrected by ECC, or a static volume's checksum is wrong. The buffer
    /// holds what was read (`-EBADMSG`).
    Uncorrectable {
        /// The LEB.
        leb: LebIndex,
        /// The first byte that was asked for.
        offset: u32,
    },
    /// No physical block is free (`-ENOSPC`).
    NoFreePeb,
    /// The device or the volume is read-only (`-EROFS`).
    ReadOnly,
    /// The volume is in the middle of an update, or damaged (`-EBADF`).
    Unusable,
    /// The LEB is mapped already (`-EBADMSG` of `ubi_leb_map`).
    Mapped {
        /// The LEB.
        leb: LebIndex,
    },
    /// A header with the right checksum is illegal (`-EINVAL`).
    Header {
        /// The physical block.
        peb: PebIndex,
        /// What is wrong.
        cause: Malformed,
    },
    /// A header that must be there is missing or damaged.
    NoHeader {
        /// The physical block.
        peb: PebIndex,
    },
    /// The erase counter of a block would be beyond 31 bits (`-EINVAL`).
    EraseCounter {
        /// The physical block.
        peb: PebIndex,
    },
    /// A block did not pass the test of erasing and writing patterns (`-EIO`).
    Torture {
        /// The physical block.
        peb: PebIndex,
    },
    /// The flash returned an error.
    Flash(boardlab_mtd::Error),
}

impl Error {
    /// Whether the data could not be corrected by ECC (`-EBADMSG`).
    #[must_use]
    pub const fn is_uncorrectable(&self) -> bool {
        matches!(
            self,
            Self::Uncorrectable { .. } | Self::Flash(boardlab_mtd::Error::Uncorrectable { .. })
        )
    }

    /// Whether the block is at fault, so that another one may do (`-EIO`).
    #[must_use]
    pub const fn is_io(&self) -> bool {
        match self {
            Self::NoHeader { .. } | Self::Torture { .. } => true,
            Self::Flash(error) => matches!(
                error,
                boardlab_mtd::Error::ProgramFailed { .. }
                    | boardlab_mtd::Error::VerifyFailed { .. }
                    | boardlab_mtd::Error::ProgramAborted { .. }
                    | boardlab_mtd::Error::EraseFailed { .. }
                    | boardlab_mtd::Error::BadBlock { .. }
                    | boardlab_mtd::Error::Timeout { .. }
            ),
            _ => false,
        }
    }

    /// Whether the power was cut.
    #[must_use]
    pub const fn is_power_cut(&self) -> bool {
        matches!(self, Self::Flash(boardlab_mtd::Error::PowerCut { .. }))
    }
}

/// Checks a range of a LEB of `size` bytes, in whole units of `unit`.
///
/// # Errors
/// [`Error::Range`].
pub fn check_range(
    leb: LebIndex,
    offset: u32,
    length: usize,
    (size, unit): (u32, u32),
) -> Result<(), Error> {
    let (start, unit, bytes) = (u64::from(offset), u64::from(unit), Bytes::new(length as u64));
    let end = start.saturating_add(bytes.get());
    let aligned = start.is_multiple_of(unit) && bytes.get().is_multiple_of(unit);
    if end <= u64::from(size) && aligned {
        return Ok(());
    }
    Err(Error::Range { leb, offset, length: bytes })
}

impl From<boardlab_mtd::Error> for Error {
    fn from(error: boardlab_mtd::Error) -> Self {
        Self::Flash(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchLeb { leb, count } => {
                write!(f, "there is no LEB {leb}: the volume has {count}")
            }
            Self::Range { leb, offset, length } => {
                write!(f, "LEB {leb}: {} bytes from {offset} on are no valid range", length.get())
            }
            Self::Uncorrectable { leb, offset } => {
                write!(f, "LEB {leb}, offset {offset}: more bit errors than ECC corrects")
            }
            Self::NoFreePeb => f.write_str("no physical erase block is free"),
            Self::ReadOnly => f.write_str("the device is read-only"),
            Self::Unusable => f.write_str("the volume's update was interrupted"),
            Self::Mapped { leb } => write!(f, "LEB {leb} is mapped already"),
            Self::Header { peb, cause } => write!(f, "block {peb}, header: {cause}"),
            Self::NoHeader { peb } => write!(f, "block {peb} has no valid header"),
            Self::EraseCounter { peb } => write!(f, "block {peb}: the erase counter overflows"),
            Self::Torture { peb } => write!(f, "block {peb} does not hold test patterns"),
            Self::Flash(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Flash(error) => Some(error),
            Self::Header { cause, .. } => Some(cause),
            _ => None,
        }
    }
}

/// A volume of logical erase blocks, open for reading and writing.
///
/// Every operation advances the run's clock by its cost. An unmapped LEB reads 0xFF. Bit errors that
/// ECC corrects are not visible here: the volume manager moves such a block by itself.
pub trait Lebs {
    /// The shape of the volume.
    fn shape(&self) -> Shape;

    /// Reads `buffer.len()` bytes (`ubi_leb_read`).
    ///
    /// # Errors
    /// [`Error::NoSuchLeb`], [`Error::Range`], [`Error::Uncorrectable`], [`Error::Flash`].
    fn read(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        offset: u32,
        buffer: &mut [u8],
    ) -> Result<(), Error>;

    /// Writes `data`, in whole units of the smallest write, to bytes not written since the LEB was
    /// last mapped; an unmapped LEB is mapped first (`ubi_leb_write`).
    ///
    /// # Errors
    /// Any.
    fn write(
        &mut self,
        clock: &mut Clock,
        leb: LebIndex,
        offset: u32,
        data: &[u8],
    ) -> Result<(), Error>;

    /// Replaces the whole content of a LEB; after a power cut it is the old or the new one
    /// (`ubi_leb_change`).
    ///
    /// # Errors
    /// Any.
    fn change(&mut self, clock: &mut Clock, leb: LebIndex, data: &[u8]) -> Result<(), Error>;

    /// Unmaps a LEB and schedules its PEB for erasure. After a power cut the old content may be back
    /// (`ubi_leb_unmap`).
    ///
    /// # Errors
    /// Any.
    fn unmap(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<(), Error>;

    /// Maps a LEB to an erased PEB, so that after a power cut it is empty (`ubi_leb_map`).
    ///
    /// # Errors
    /// Any.
    fn map(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<(), Error>;

    /// Whether a LEB is mapped (`ubi_is_mapped`).
    ///
    /// # Errors
    /// [`Error::NoSuchLeb`].
    fn is_mapped(&self, leb: LebIndex) -> Result<bool, Error>;

    /// Waits until the device has written everything (`ubi_sync`).
    ///
    /// # Errors
    /// [`Error::Flash`].
    fn sync(&mut self, clock: &mut Clock) -> Result<(), Error>;

    /// Does one step of the background thread: an erasure, a move for wear levelling, a scrub.
    /// Returns whether there is more to do.
    ///
    /// # Errors
    /// Any.
    fn background(&mut self, clock: &mut Clock) -> Result<bool, Error>;
}

/// A borrowed or boxed volume is a volume.
macro_rules! forward {
    ($($holder:ty),*) => {$(
        impl<L: Lebs + ?Sized> Lebs for $holder {
            fn shape(&self) -> Shape {
                (**self).shape()
            }
            fn read(
                &mut self,
                clock: &mut Clock,
                leb: LebIndex,
                offset: u32,
                buffer: &mut [u8],
            ) -> Result<(), Error> {
                (**self).read(clock, leb, offset, buffer)
            }
            fn write(
                &mut self,
                clock: &mut Clock,
                leb: LebIndex,
                offset: u32,
                data: &[u8],
            ) -> Result<(), Error> {
                (**self).write(clock, leb, offset, data)
            }
            fn change(
                &mut self,
                clock: &mut Clock,
                leb: LebIndex,
                data: &[u8],
            ) -> Result<(), Error> {
                (**self).change(clock, leb, data)
            }
            fn unmap(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<(), Error> {
                (**self).unmap(clock, leb)
            }
            fn map(&mut self, clock: &mut Clock, leb: LebIndex) -> Result<(), Error> {
                (**self).map(clock, leb)
            }
            fn is_mapped(&self, leb: LebIndex) -> Result<bool, Error> {
                (**self).is_mapped(leb)
            }
            fn sync(&mut self, clock: &mut Clock) -> Result<(), Error> {
                (**self).sync(clock)
            }
            fn background(&mut self, clock: &mut Clock) -> Result<bool, Error> {
                (**self).background(clock)
            }
        }
    )*};
}

forward!(&mut L, Box<L>);
