//! The parameters of a drive, as plain data, checked once against the layer below.
//!
//! Layer: configuration. Main types: [`Drive`], [`WriteCache`], [`Refusal`]. All values come from a
//! part file; there are no defaults here. The flash behind the interface (cells, mapping, erased
//! blocks) is `boardlab-ftl`.

use crate::device::read_path::DATA_FIS_SECTORS;
use crate::wire::error::Error;
use crate::wire::identify::{SECTORS_28, SECTORS_48};
use crate::{LARGEST_DATA, SECTOR, SECTOR_DWORDS};
use boardlab_ftl::Stripe;
use boardlab_sim::{Bytes, Duration};
use std::fmt;

/// The maximum number of sectors per page: the bits of a sector mask.
const LARGEST_PAGE: u64 = 128;
/// The number of tags, which have 5 bits.
const TAGS: u32 = 32;

/// When a write command completes, and whether a power cut loses its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WriteCache {
    /// Write through: the command completes when its data are on flash.
    Through,
    /// Write back: the command completes when its data are in the buffer, and a power cut loses them.
    /// This much of the buffer may hold incomplete pages that wait for their other sectors.
    Back(Bytes),
    /// Write back with capacitors, so that a power cut loses nothing.
    Protected(Bytes),
}

impl WriteCache {
    /// Returns the buffer for incomplete pages.
    #[must_use]
    pub const fn size(self) -> Bytes {
        match self {
            Self::Through => Bytes::ZERO,
            Self::Back(size) | Self::Protected(size) => size,
        }
    }
}

/// The parameters of a drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drive {
    /// The sectors that the host can address.
    pub sectors: u64,
    /// Whether 48-bit commands are supported; otherwise the drive has fewer than 2^28 sectors.
    pub lba48: bool,
    /// The queue depth, 1 to 32; `None` if queued commands are not supported.
    pub queue: Option<u32>,
    /// Whether DATA SET MANAGEMENT with TRIM is supported. Whole trimmed pages read as zeros.
    pub trims: bool,
    /// The controller's time from a command to its first effect.
    pub command: Duration,
    /// How mapped pages are distributed over the dies.
    pub stripe: Stripe,
    /// The buffer for data on their way from flash to the host, which limits prefetching. The buffer
    /// for data on their way to flash belongs to the medium below (`slots` of `boardlab_ftl::Timing`).
    pub read_buffer: Bytes,
    /// Whether the drive reads ahead if a command begins where the last one ended.
    pub look_ahead: bool,
    /// The write cache. SET FEATURES may turn it off and on again.
    pub write_cache: WriteCache,
    /// The time without commands after which background work starts.
    pub idle_after: Duration,
    /// Whether DMA Activate is sent before there is room for the Data FIS, which then meets HOLD.
    /// Otherwise it is sent when there is room.
    pub activates_early: bool,
    /// The maximum payload of a Data FIS to the host in dwords, a multiple of a sector.
    pub frame: u32,
    /// The maximum payload of a Data FIS of IDENTIFY data in dwords; 128 for all at once.
    pub identify_frame: u32,
}

impl Drive {
    /// Checks that all values are consistent, with a layer below of `pages` mapped pages of `page`
    /// bytes.
    ///
    /// # Errors
    /// [`Error::Drive`] with the value that is out of range.
    pub fn check(&self, page: Bytes, pages: u32) -> Result<(), Error> {
        let read_buffer = self.read_buffer / SECTOR;
        let sectors = page.get() / SECTOR.get();
        let whole = page.is_multiple_of(SECTOR);
        let addressed = if self.lba48 { SECTORS_48 } else { SECTORS_28 };
        let group = u64::from(self.stripe.program_pages()) * sectors;
        check_range("sectors per mapped page", if whole { sectors } else { 0 }, 1, LARGEST_PAGE)?;
        check_range("sectors", self.sectors, 1, addressed.min(u64::from(pages) * sectors))?;
        check_range("queue entries", self.queue.unwrap_or(1).into(), 1, TAGS.into())?;
        check_range("sectors that a die programs at once", group, 1, u64::MAX)?;
        let frame = u64::from(self.frame);
        // The buffer must hold a whole Data FIS, wherever it begins.
        let least = group.max(DATA_FIS_SECTORS) + frame / u64::from(SECTOR_DWORDS);
        check_range("sectors of the read buffer", read_buffer, least, u64::MAX)?;
        let whole_sectors = frame.next_multiple_of(SECTOR_DWORDS.into());
        check_range(
            "dwords of a Data FIS",
            frame,
            whole_sectors.max(SECTOR_DWORDS.into()),
            LARGEST_DATA.into(),
        )?;
        check_range(
            "dwords per Data FIS of IDENTIFY data",
            self.identify_frame.into(),
            1,
            SECTOR_DWORDS.into(),
        )
    }
}

fn check_range(what: &'static str, found: u64, least: u64, most: u64) -> Result<(), Error> {
    let fits = (least..=most).contains(&found);
    if fits { Ok(()) } else { Err(Error::Drive { what, found, least, most }) }
}

/// Why a drive refuses a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Too few good blocks remain: the drive accepts no more data. Data in a volatile cache may be
    /// lost.
    WornOut,
    /// A sector is unreadable.
    Unreadable {
        /// The first unreadable sector.
        sector: u64,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WornOut => f.pad("the drive is worn out and takes no more data"),
            Self::Unreadable { sector } => write!(f, "sector {sector} cannot be read"),
        }
    }
}

impl std::error::Error for Refusal {}
