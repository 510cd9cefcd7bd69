//! What differs from one ARM926EJ-S to the next: cache sizes, clock ratio, and what the manual leaves open.
//!
//! Layer: rank 3. [`Config`] is given by a board. Where the manual says nothing (the index of the TLB, replacement there)
//! the field is a parameter, because results may hang on it.

use std::num::NonZeroU8;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// The size of a cache: 4 to 128 KiB in powers of two, four ways of 32-byte lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u8", into = "u8")]
pub struct CacheSize(u8);

impl TryFrom<u8> for CacheSize {
    type Error = Error;

    /// From the power of two that KiB are, as it is saved.
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
    /// 16 KiB, as most parts have it.
    pub const KIB_16: Self = Self(4);

    /// The size of `kib` KiB.
    ///
    /// # Errors
    ///
    /// [`Error::CacheSize`] for what the core cannot be made with.
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

    /// In KiB.
    #[must_use]
    pub const fn kib(self) -> u32 {
        1 << self.0
    }

    /// In bytes.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self.kib() << 10
    }

    /// Sets of four lines: 32 to 1024.
    #[must_use]
    pub const fn sets(self) -> u32 {
        self.bytes() / 128
    }
}

/// How the main part of the TLB (two ways of 32 entries) picks the set of a page. The manual excludes it from the programmer's model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TlbIndex {
    /// The five lowest bits of the page's number, whatever the size of the page is (assumed).
    #[default]
    Low,
    /// All groups of five bits of the page's number combined by exclusive or, so that FCSE slots spread (assumed).
    Folded,
}

/// How the main part of the TLB picks the way that a new entry replaces. The manual excludes it from the programmer's model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TlbReplacement {
    /// The ways of a set in turn (assumed).
    #[default]
    RoundRobin,
    /// By a shift register with feedback that moves on with each replacement (assumed).
    PseudoRandom,
}

/// One core as it was made and wired.
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
    /// Core clock cycles a bus clock cycle (HCLKEN).
    pub bus_ratio: NonZeroU8,
    /// VINITHI: exceptions go to 0xFFFF0000 after reset.
    pub high_vectors: bool,
    /// A semihosting call stops the run instead of taking the exception.
    pub semihosting: bool,
    /// An exception whose vector holds zero, or cannot be read, stops the run instead of being taken.
    pub stop_without_handler: bool,
    /// Look for violations of coherence.
    pub check_coherence: bool,
}

impl Default for Config {
    /// 16 KiB and 16 KiB at half the core's clock on the bus, low vectors, semihosting on, no checker.
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
