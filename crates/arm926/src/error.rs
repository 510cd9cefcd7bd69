//! What of a core's configuration or of a saved state cannot be.
//!
//! Layer: rank 3. What a guest does wrong is not an error here: it takes an exception, or the run stops with
//! a reason ([`crate::Stop`]).

use std::fmt;

/// A configuration that no ARM926EJ-S has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A cache size other than 4, 8, 16, 32, 64 or 128 KiB.
    CacheSize {
        /// What was asked for, in KiB.
        kib: u32,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CacheSize { kib } => write!(
                f,
                "a cache of {kib} KiB: expected 4, 8, 16, 32, 64 or 128 KiB (DDI 0198D, 4.1)"
            ),
        }
    }
}

impl std::error::Error for Error {}
