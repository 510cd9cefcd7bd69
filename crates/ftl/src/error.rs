//! The errors of a translation layer.
//!
//! Layer: the interface of the crate. Main type: [`Error`], which says where, and what was expected.
//! Damage to data is not an error but an outcome of a request; a broken invariant is an assertion.

use std::fmt;

/// Why a part cannot be built, or a request is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A number of the geometry is impossible.
    Geometry {
        /// Which number.
        what: &'static str,
        /// The given number.
        found: u64,
        /// The nearest possible number.
        needed: u64,
    },
    /// The part has too few blocks for its data and its policies.
    TooFewBlocks {
        /// Blocks of the part, bad ones not counted.
        blocks: u32,
        /// Blocks that are needed.
        needed: u32,
        /// Of these, blocks that the host's pages fill.
        logical: u32,
    },
    /// A number of a policy is out of range.
    Policy {
        /// Which number of which policy.
        what: &'static str,
        /// The given number.
        found: u64,
        /// The smallest valid number.
        least: u64,
        /// The greatest valid number.
        most: u64,
    },
    /// A request beyond the last page.
    OutOfRange {
        /// First page of the request.
        first: u32,
        /// Pages of the request.
        count: u32,
        /// Pages of the device.
        pages: u32,
    },
    /// The part is at the end of its life and accepts no more data.
    ReadOnly {
        /// Blocks retired.
        retired: u32,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Geometry { what, found, needed } if found < needed => {
                write!(f, "{found} {what}: at least {needed} needed")
            }
            Self::Geometry { what, found, needed } => {
                write!(f, "{found} {what}: at most {needed}")
            }
            Self::TooFewBlocks { blocks, needed, logical } => write!(
                f,
                "{blocks} blocks are too few: {needed} needed, {logical} of them for the host's data"
            ),
            Self::Policy { what, found, least, most } => {
                write!(f, "{what} of {found}: from {least} to {most}")
            }
            Self::OutOfRange { first, count, pages } => {
                write!(f, "{count} pages from page {first} on: the device has {pages}")
            }
            Self::ReadOnly { retired } => {
                write!(f, "the device is read-only: {retired} blocks are worn out")
            }
        }
    }
}

impl std::error::Error for Error {}
