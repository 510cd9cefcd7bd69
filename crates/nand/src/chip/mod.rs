//! The chip: the effect of bus cycles on the cells.
//!
//! Layer: inside the crate, below the port. In reading order:
//!
//! - [`die`]: [`Die`], array, page register, ready/busy and power, independent of the bus.
//! - [`parallel`]: [`ParallelChip`], command, address and data cycles.
//! - [`spi`]: [`SpiChip`], the same die behind a serial bus, with on-die ECC.
//! - [`parameter`]: the ONFI parameter page.
//!
//! Time is an argument of every cycle. A sequence that no data sheet allows returns a [`Refusal`]
//! and changes nothing.
//!
//! Source: ONFI 1.0, sections 4 and 5; data sheets of the K9F1G08U0A, the K9F5608U0C (small page)
//! and the W25N01GV. Left out: cache, copy-back, multi-plane and interleaved operations, one-time
//! areas, locking of single blocks.

pub mod die;
pub mod parallel;
pub mod parameter;
pub mod spi;

pub use die::{Cut, Die, Fault, Setup, Violations};
pub use parallel::ParallelChip;
pub use spi::{Phase, SpiChip};

use boardlab_media::Row;
use std::fmt;

/// Why the chip refused a cycle. Nothing changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// There is no power.
    Off,
    /// The chip is busy and accepts only a status command or a reset.
    Busy,
    /// There is no such command.
    UnknownCommand(u8),
    /// The command is not allowed after those before it.
    OutOfSequence(u8),
    /// An address cycle without a command that takes it.
    UnexpectedAddress,
    /// Fewer address cycles than the command takes.
    AddressIncomplete {
        /// The number that the command takes.
        expected: u32,
        /// The number of cycles so far.
        found: u32,
    },
    /// A data-in cycle without a command that takes it.
    UnexpectedData,
    /// A data-out cycle when there is nothing to read.
    NoData,
    /// There is no such page.
    NoSuchRow(Row),
    /// The column, or the end of the data, is beyond the OOB bytes.
    BeyondPage {
        /// The first column beyond.
        column: usize,
    },
    /// The array is locked, or was not unlocked for this operation.
    Locked,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("the chip has no power"),
            Self::Busy => f.write_str("the chip is busy"),
            Self::UnknownCommand(code) => write!(f, "the chip has no command {code:02X}h"),
            Self::OutOfSequence(code) => {
                write!(f, "command {code:02X}h is not allowed after the commands before it")
            }
            Self::UnexpectedAddress => f.write_str("no command takes this address cycle"),
            Self::AddressIncomplete { expected, found } => {
                write!(f, "{found} address cycles were sent where the command takes {expected}")
            }
            Self::UnexpectedData => f.write_str("no command takes this data cycle"),
            Self::NoData => f.write_str("there is nothing to read"),
            Self::NoSuchRow(row) => write!(f, "there is no {row}"),
            Self::BeyondPage { column } => write!(f, "column {column} lies beyond the page"),
            Self::Locked => f.write_str("the array is locked"),
        }
    }
}

impl std::error::Error for Refusal {}
