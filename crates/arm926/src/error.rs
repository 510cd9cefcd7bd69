//! The errors of a core's configuration.
//!
//! Layer: rank 3. Main type: [`Error`]. A fault of a guest is not an error here: it takes an
//! exception, or the run stops with a reason ([`crate::Stop`]).

use std::fmt;

/// An invalid configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// A cache size other than 4, 8, 16, 32, 64 or 128 KiB.
    CacheSize {
        /// The size in KiB.
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
