//! Changes of a dump, in a file beside it, while the dump stays as it is.
//!
//! Layer: rank 7. In reading order: [`format`] is the log, a header and records; [`Log`] writes one, and is the
//! [`Journal`] of a flash; [`replay`] reads one, cuts off what a kill or a power cut left torn, and gives the
//! [`Contents`] that the flash has now. `docs/formats/overlay.md` describes the bytes.
//!
//! ```text
//!   dump ----> Contents --+
//!                         +--> replay --> patched Contents --> mount --> Dump --changes--> Log
//!   overlay -> records ---+                                                                 |
//!                 ^                                                                         |
//!                 +-------------------------------------------------------------------------+
//! ```
//!
//! A log is begun anew at each mount, with the blocks that differ from the dump by then: what the mount itself
//! changed is in no order, so it must be there as a whole or not at all.

mod format;
mod log;
mod replay;

pub use format::{HEADER_SIZE, Header, Identity, Record};
pub use log::{Log, State};
pub use replay::{OverlayError, Replayed, replay};

use crate::dump::Dump;
use boardlab_mtd::Mtd;

/// The erase blocks of a flash, those beyond the end of its dump included.
#[must_use]
pub fn blocks(flash: &Dump) -> u32 {
    flash.geometry().block_count()
}

#[cfg(test)]
mod tests;
