//! Virtual, modified virtual and physical addresses, and the core's cycles.
//!
//! Layer: rank 3, bottom of this crate. [`Virtual`] is an address of a program; [`Modified`] is the
//! modified virtual address (MVA) after FCSE, by which caches and TLB are indexed and tagged;
//! [`Physical`] is an address on the bus.

use serde::{Deserialize, Serialize};

/// A virtual address (VA), as a program uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(transparent)]
pub struct Virtual(pub u32);

/// A modified virtual address (MVA): below 32 MB, the virtual address plus the FCSE PID times 32 MB.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(transparent)]
pub struct Modified(pub u32);

/// A physical address (PA), on the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[repr(transparent)]
pub struct Physical(pub u32);

/// The size of a cache line in bytes.
pub const LINE: u32 = 32;

/// The limit of virtual addresses to which FCSE applies: 32 MB.
pub const SLOT: u32 = 0x0200_0000;

/// A count of core clock cycles: an instant since reset, or a span.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[repr(transparent)]
pub struct Cycles(pub u64);

impl Cycles {
    /// Never: beyond the end of any run.
    pub const NEVER: Self = Self(u64::MAX);

    /// Adds a span, saturating at [`Cycles::NEVER`].
    #[must_use]
    pub const fn plus(self, span: u64) -> Self {
        Self(self.0.saturating_add(span))
    }
}

impl Virtual {
    /// The MVA under the FCSE PID `pid` (0 to 127).
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "const: the number has seven bits")]
    pub const fn modified(self, pid: u8) -> Modified {
        if self.0 < SLOT { Modified(self.0 | ((pid as u32) << 25)) } else { Modified(self.0) }
    }
}

impl Modified {
    /// The first byte of its cache line.
    #[must_use]
    pub const fn line(self) -> Self {
        Self(self.0 & !(LINE - 1))
    }
}

impl Physical {
    /// The first byte of its cache line.
    #[must_use]
    pub const fn line(self) -> Self {
        Self(self.0 & !(LINE - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fcse_moves_the_lowest_32_megabytes_only() {
        assert_eq!(Virtual(0x0010_0000).modified(3), Modified(0x0610_0000));
        assert_eq!(Virtual(0x0200_0000).modified(3), Modified(0x0200_0000));
        assert_eq!(Virtual(0x01FF_FFFF).modified(0), Modified(0x01FF_FFFF));
    }
}
