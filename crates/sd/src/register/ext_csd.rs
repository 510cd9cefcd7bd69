//! EXT_CSD of an eMMC: capacity, cache and life used.
//!
//! Layer: registers. Main types: [`ExtCsd`], [`LifeTime`], [`PreEol`]. Source: JEDEC JESD84-B51 (eMMC
//! 5.1), section 7.4; Linux 6.1 `include/linux/mmc/mmc.h` names the same byte numbers (`EXT_CSD_*`), as
//! does `mmc extcsd read` of mmc-utils. Only the bytes that the model fills are not zero.

use boardlab_sim::Bytes;

/// The life used of one type of cells, in tenths; `DEVICE_LIFE_TIME_EST_TYP`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LifeTime(u8);

impl LifeTime {
    /// The rated life is exceeded: 0x0B.
    pub const EXCEEDED: Self = Self(0x0B);

    /// The code for `used` of `rated` erases a block on average: 0x01 for under 10 %, up to 0x0A
    /// for under 100 %, then 0x0B. It never falls as `used` rises. `None` (0x00, not defined) when
    /// nothing is rated.
    #[must_use]
    pub fn new(used: u64, rated: u64) -> Option<Self> {
        let tenths = u128::from(used) * 10 / u128::from((rated > 0).then_some(rated)?);
        Some(u8::try_from(tenths).ok().filter(|&t| t < 10).map_or(Self::EXCEEDED, |t| Self(t + 1)))
    }

    /// The byte of the register.
    #[must_use]
    pub const fn code(self) -> u8 {
        self.0
    }
}

/// The share of spare blocks that is used; `PRE_EOL_INFO`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PreEol {
    /// Below 80 %.
    Normal,
    /// 80 % are used.
    Warning,
    /// 90 % are used.
    Urgent,
}

impl PreEol {
    /// From `used` of `spare` blocks.
    #[must_use]
    pub fn new(used: u64, spare: u64) -> Self {
        match u128::from(used) * 10 {
            tenths if tenths >= u128::from(spare) * 9 => Self::Urgent,
            tenths if tenths >= u128::from(spare) * 8 => Self::Warning,
            _ => Self::Normal,
        }
    }

    /// The byte of the register.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Normal => 1,
            Self::Warning => 2,
            Self::Urgent => 3,
        }
    }
}

/// The fields of the extended card-specific data that the model fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtCsd {
    /// What the host can address, in sectors of 512 bytes.
    pub sectors: u32,
    /// Size of the volatile cache; zero where there is none.
    pub cache: Bytes,
    /// Whether the host has switched the cache on.
    pub cache_on: bool,
    /// The life used of SLC cells (type A).
    pub life_a: Option<LifeTime>,
    /// The life used of all other cells (type B).
    pub life_b: Option<LifeTime>,
    /// The use of spare blocks.
    pub pre_eol: PreEol,
    /// The erase group of high capacity in units of 512 KiB; 0 where the device does not state it.
    pub erase_group: u8,
}

impl ExtCsd {
    /// The register.
    #[must_use]
    pub fn register(&self) -> [u8; 512] {
        let mut bytes = [0; 512];
        let kilobits = u32::try_from(self.cache.get() * 8 / 1_024).unwrap_or(u32::MAX);
        bytes[249..][..4].copy_from_slice(&kilobits.to_le_bytes()); // CACHE_SIZE
        bytes[212..][..4].copy_from_slice(&self.sectors.to_le_bytes()); // SEC_COUNT
        bytes[192] = 8; // EXT_CSD_REV: 5.1
        bytes[224] = self.erase_group; // HC_ERASE_GRP_SIZE
        bytes[33] = u8::from(self.cache_on); // CACHE_CTRL
        bytes[231] = 0x55; // SEC_FEATURE_SUPPORT: secure erase, trim, sanitize
        // PRE_EOL_INFO, DEVICE_LIFE_TIME_EST_TYP_A and _B.
        let life = [self.life_a, self.life_b].map(|life| life.map_or(0, LifeTime::code));
        bytes[267..][..3].copy_from_slice(&[self.pre_eol.code(), life[0], life[1]]);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::{LifeTime, PreEol};

    #[test]
    fn life_is_told_in_tenths_and_never_falls() {
        let code = |used| LifeTime::new(used, 3_000).unwrap().code();
        assert_eq!([0, 299, 300, 2_699, 2_999].map(code), [1, 1, 2, 9, 10]);
        assert_eq!([3_000, 90_000, u64::MAX].map(code), [11, 11, 11]);
        assert!((0..4_000).map(code).is_sorted());
        assert_eq!(LifeTime::new(1, 0), None, "nothing is rated");
    }

    #[test]
    fn spare_blocks_warn_at_80_and_90_percent() {
        let code = |used| PreEol::new(used, 40).code();
        assert_eq!([0, 31, 32, 35, 36, 40].map(code), [1, 1, 2, 2, 3, 3]);
    }

    #[test]
    fn bytes_stand_where_mmc_utils_reads_them() {
        let register = super::ExtCsd {
            sectors: 0x01D5_A000,
            cache: super::Bytes::kib(512),
            cache_on: true,
            life_a: LifeTime::new(0, 30_000),
            life_b: LifeTime::new(1_500, 3_000),
            pre_eol: PreEol::Normal,
            erase_group: 8,
        }
        .register();
        assert_eq!(register[212..216], [0x00, 0xA0, 0xD5, 0x01]);
        assert_eq!(register[249..253], 4_096_u32.to_le_bytes(), "in kilobits");
        assert_eq!(register[267..270], [1, 1, 6]);
    }
}
