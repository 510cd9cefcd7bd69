//! How a flash is attached.
//!
//! Layer: rank 4. Main types: [`Options`], [`FastmapMode`]. Source: Linux 6.1, `drivers/mtd/ubi/build.c`
//! (module parameters), `Kconfig`, and `include/linux/mtd/mtd.h` (`bitflip_threshold`, `subpage_sft`).

/// What the kernel does about fastmaps, which spare the scan at attach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FastmapMode {
    /// The kernel has no fastmaps (`CONFIG_MTD_UBI_FASTMAP` unset, as in Debian).
    Absent,
    /// An existing fastmap is used and kept up to date, none is begun.
    Existing,
    /// As `Existing`, and one is begun where there is none (`fm_autoconvert=1`).
    Convert,
    /// No fastmap is read or written (`ubiattach --fm-disable`, in kernels that have fastmaps).
    Disabled,
}

/// How a flash is attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The offset of the VID header in a block; `None` puts it into the first sub-page after the EC
    /// header (`ubiattach -O`).
    pub vid_offset: Option<u32>,
    /// The smallest part of a page that the driver programs by itself; `None` for whole pages. The
    /// geometry of a device does not say it: `nand::Nand::subpage` does. Headers take one each.
    pub sub_page: Option<u32>,
    /// Bad blocks to expect among 1,024 (`CONFIG_MTD_UBI_BEB_LIMIT`).
    pub beb_limit: u32,
    /// The blocks of the whole chip if the device is a partition of it, as the kernel expects bad
    /// blocks in proportion to these.
    pub chip_blocks: Option<u32>,
    /// The difference of erase counters at which a block with old data is moved
    /// (`CONFIG_MTD_UBI_WL_THRESHOLD`).
    pub wl_threshold: u32,
    /// The corrected bits in one ECC step from which on a read counts as a bit flip: three quarters of
    /// the strength of the ECC, rounded up.
    pub bitflip_threshold: u32,
    /// The image number that an empty flash gets, where the kernel takes a random one.
    pub image_seq: u32,
    /// What is done about fastmaps.
    pub fastmap: FastmapMode,
    /// Whether nothing may be written: a write-protected flash.
    pub read_only: bool,
    /// A bug to inject, for tests of tests.
    pub mistake: Option<Mistake>,
}

impl Default for Options {
    /// Linux 6.1 as Debian configures it, on a flash without sub-pages.
    fn default() -> Self {
        Self {
            vid_offset: None,
            sub_page: None,
            beb_limit: 20,
            chip_blocks: None,
            wl_threshold: 4_096,
            bitflip_threshold: 1,
            image_seq: 0x2024_0517,
            fastmap: FastmapMode::Absent,
            read_only: false,
            mistake: None,
        }
    }
}

/// A bug in the handling of power cuts. A power-cut test that does not find each of them proves
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mistake {
    /// Of two copies of a LEB takes the newer without verifying its data.
    TrustsCopies,
    /// Of two copies of a LEB takes the older.
    PrefersOldCopies,
    /// Erases the old block of a LEB before the new one is written.
    ErasesFirst,
    /// Begins to count sequence numbers from one at each attach.
    ForgetsSqnums,
}

impl Mistake {
    /// Every mistake.
    pub const ALL: [Self; 4] =
        [Self::TrustsCopies, Self::PrefersOldCopies, Self::ErasesFirst, Self::ForgetsSqnums];
}
