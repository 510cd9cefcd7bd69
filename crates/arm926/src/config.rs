//! The configuration of an ARM926EJ-S: cache sizes, clock ratio, and properties that the manual
//! leaves open.
//!
//! Layer: rank 3. Main type: [`Config`], which a board gives. Properties that the manual does not
//! define (index and replacement of the TLB) are parameters, because results may depend on them.

use std::num::NonZeroU8;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The size of a cache: 4 to 128 KiB in powers of two, four ways of 32-byte lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct CacheSize(u8);

impl TryFrom<u8> for CacheSize {
    type Error = Error;

    /// From the binary logarithm of the size in KiB, as in a snapshot.
    fn try_from(power: u8) -> Result<Self, Error> {
        Self::from_kib(1_u32.checked_shl(power.into()).unwrap_or(0))
    }
}

impl From<CacheSize> for u8 {
    fn from(size: CacheSize) -> Self {
        size.0
    }
}

impl CacheSize {
    /// 16 KiB, the size in most parts.
    pub const KIB_16: Self = Self(4);

    /// The size of `kib` KiB.
    ///
    /// # Errors
    ///
    /// [`Error::CacheSize`] for a size that the core does not support.
    pub const fn from_kib(kib: u32) -> Result<Self, Error> {
        match kib {
            4 => Ok(Self(2)),
            8 => Ok(Self(3)),
            16 => Ok(Self(4)),
            32 => Ok(Self(5)),
            64 => Ok(Self(6)),
            128 => Ok(Self(7)),
            _ => Err(Error::CacheSize { kib }),
        }
    }

    /// The size in KiB.
    #[must_use]
    pub const fn kib(self) -> u32 {
        1 << self.0
    }

    /// The size in bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self.kib() << 10
    }

    /// The number of sets, of four lines each: 32 to 1024.
    #[must_use]
    pub const fn sets(self) -> u32 {
        self.bytes() / 128
    }
}

/// The set index of the main TLB (two ways of 32 entries). The manual excludes it from the
/// programmer's model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TlbIndex {
    /// The five lowest bits of the 4 KiB page number, for pages of any size (assumed).
    #[default]
    Low,
    /// The exclusive OR of all five-bit groups of the page number, to distribute FCSE slots (assumed).
    Folded,
}

/// The replacement policy of the main TLB, which is outside the programmer's model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TlbReplacement {
    /// Round robin within a set (assumed).
    #[default]
    RoundRobin,
    /// By a linear feedback shift register that advances with each replacement (assumed).
    PseudoRandom,
}

/// The configuration of a core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Config {
    /// The instruction cache.
    pub instruction_cache: CacheSize,
    /// The data cache.
    pub data_cache: CacheSize,
    /// The index of the TLB.
    pub tlb_index: TlbIndex,
    /// The replacement of the TLB.
    pub tlb_replacement: TlbReplacement,
    /// Core clock cycles per bus clock cycle (HCLKEN).
    pub bus_ratio: NonZeroU8,
    /// VINITHI: whether the vectors are at 0xFFFF0000 after reset.
    pub high_vectors: bool,
    /// Whether a semihosting call stops the run instead of taking the exception.
    pub semihosting: bool,
    /// Whether an exception whose vector is zero or cannot be read stops the run.
    pub stop_without_handler: bool,
    /// Whether to check for violations of coherence.
    pub check_coherence: bool,
}

impl Default for Config {
    /// Caches of 16 KiB each, a bus at half the core's clock, low vectors, semihosting on, no checker.
    fn default() -> Self {
        Self {
            instruction_cache: CacheSize::KIB_16,
            data_cache: CacheSize::KIB_16,
            tlb_index: TlbIndex::Low,
            tlb_replacement: TlbReplacement::RoundRobin,
            bus_ratio: const { NonZeroU8::new(2).expect("two is not zero") },
            high_vectors: false,
            semihosting: true,
            stop_without_handler: true,
            check_coherence: false,
        }
    }
}
