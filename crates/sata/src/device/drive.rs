//! What a drive is, as plain data, checked once against the layer that it stands on.
//!
//! Layer: configuration. Main types: [`Drive`], [`WriteCache`], [`Refusal`]. Everything comes from a part file; nothing here
//! has a default. What lies behind the face, cells, map and erased blocks, comes from `boardlab-ftl`.

use crate::device::read_path::DATA_FIS_SECTORS;
use crate::wire::error::Error;
use crate::wire::identify::{SECTORS_28, SECTORS_48};
use crate::{LARGEST_DATA, SECTOR, SECTOR_DWORDS};
use boardlab_ftl::Stripe;
use boardlab_sim::{Bytes, Duration};
use std::fmt;

/// A page has no more sectors than a set of them has bits.
const LARGEST_PAGE: u64 = 128;
/// Commands that 5 bits of a tag can tell apart.
const TAGS: u32 = 32;

/// When a write command ends, and what of it a cut of power takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WriteCache {
    /// When its data are on flash.
    Through,
    /// When its data are in the buffer; they are lost with the power. So much of it may hold pages that are not
    /// whole and wait for the rest.
    Back(Bytes),
    /// The same with capacitors, so that nothing is lost.
    Protected(Bytes),
}

impl WriteCache {
    /// What may be held for pages that are not whole.
    #[must_use]
    pub const fn size(self) -> Bytes {
        match self {
            Self::Through => Bytes::ZERO,
            Self::Back(size) | Self::Protected(size) => size,
        }
    }
}

/// A drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drive {
    /// Sectors that the host can address.
    pub sectors: u64,
    /// Commands with 48-bit addresses are known; without them the drive has fewer than 2^28 sectors.
    pub lba48: bool,
    /// Commands that can be queued, 1 to 32; `None` where queueing is not known.
    pub queue: Option<u32>,
    /// DATA SET MANAGEMENT with TRIM is known; whole pages that were given up read as zeros.
    pub trims: bool,
    /// From a command to its first effect: the controller's own time.
    pub command: Duration,
    /// How mapped pages lie over the dies.
    pub stripe: Stripe,
    /// Buffer for data on their way from flash to the host: so much is read ahead of the link. That for
    /// data on their way to flash is the buffer of the medium below (`slots` of `boardlab_ftl::Timing`).
    pub read_buffer: Bytes,
    /// Whether the drive goes on reading when a command begins where the last one ended.
    pub look_ahead: bool,
    /// When a write command ends. SET FEATURES may turn a cache off and on again.
    pub write_cache: WriteCache,
    /// For how long the host must be away before the drive works on its own.
    pub idle_after: Duration,
    /// DMA Activate is sent while there is no room yet, and the Data FIS meets HOLD; otherwise it is sent when
    /// there is room.
    pub activates_early: bool,
    /// Dwords of a Data FIS to the host at most, whole sectors.
    pub frame: u32,
    /// Dwords of a Data FIS with IDENTIFY data: 128 where they come at once.
    pub identify_frame: u32,
}

impl Drive {
    /// Whether all numbers fit together, over a layer of `pages` mapped pages of `page` bytes.
    ///
    /// # Errors
    /// [`Error::Drive`] with the number that does not fit.
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
        // A Data FIS is whole in the buffer, wherever it begins.
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

/// Why a drive does not do what it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Refusal {
    /// Too few blocks are good: it takes no more data. What it had taken into a volatile cache may be lost.
    WornOut,
    /// A sector cannot be read.
    Unreadable {
        /// The first of them.
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
