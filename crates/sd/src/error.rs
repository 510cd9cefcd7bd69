//! Why a card cannot be built.
//!
//! Layer: rank 4. Main type: [`Error`]. What a card answers to requests is an error of `block`.

use crate::bus::{Kind, Mode, Width};
use boardlab_sim::{Bytes, Hertz};
use std::fmt;

/// Why a part is no card.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A capacity that is not a multiple of the allocation unit, or nothing.
    Capacity {
        /// The capacity.
        found: Bytes,
        /// The allocation unit.
        unit: Bytes,
    },
    /// A page of the map that is not a whole number of blocks, or more than 64 KiB.
    Page {
        /// Its size.
        found: Bytes,
    },
    /// A translation layer that offers more or fewer pages than the card has.
    Pages {
        /// Pages that it offers.
        found: u32,
        /// Pages that the capacity takes.
        needed: u64,
        /// Size of one.
        page: Bytes,
    },
    /// A bus that this kind of card does not have.
    Bus {
        /// SD or eMMC.
        kind: Kind,
        /// The mode.
        mode: Mode,
        /// The width.
        width: Width,
        /// The clock, if not the mode's own.
        clock: Option<Hertz>,
    },
    /// A size that is too small.
    Limit {
        /// Of what.
        what: &'static str,
        /// What was given.
        found: Bytes,
        /// The least that works.
        least: Bytes,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capacity { found, unit } => {
                let (below, rest) = (*found / *unit, found.get() % unit.get());
                write!(
                    f,
                    "a capacity of {} bytes is not a multiple of the allocation unit of {unit}: ",
                    found.get()
                )?;
                write!(f, "{below} units and {rest} bytes")
            }
            Self::Page { found } => {
                write!(f, "a mapped page of {found} is not a whole number of blocks of 512 B, ")?;
                write!(f, "at most 64 KiB")
            }
            Self::Pages { found, needed, page } => {
                write!(
                    f,
                    "the translation layer has {found} pages of {page}: the capacity takes {needed}"
                )
            }
            Self::Bus { kind, mode, width, clock } => {
                let kind = match kind {
                    Kind::Sd => "an SD card",
                    Kind::Emmc => "an eMMC",
                };
                write!(f, "{kind} has no mode {mode} on {} lines", width.lines())?;
                clock.map_or(Ok(()), |clock| write!(f, " at {} Hz", clock.get()))
            }
            Self::Limit { what, found, least } => {
                write!(f, "{what} of {found}: at least {least}")
            }
        }
    }
}

impl std::error::Error for Error {}
