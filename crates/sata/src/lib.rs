//! SATA: what goes over the wire, the two ends of a link, a host and an SSD over a translation layer.
//!
//! Layer: rank 4. In reading order:
//!
//! - [`wire`]: [`Speed`], [`Tick`] (a dword's time), primitives, CRC, scrambler, FISes, IDENTIFY data.
//!   [`Error`] says what of it cannot be.
//! - [`agent`]: [`Agent`], what stands above a link end: a host's sequencer or a device's command layer.
//!   Both engines below run the same agents.
//! - [`link`]: the dword engine: link and transport of both ends, dword by dword, with faults.
//! - [`fast`]: the FIS engine: the same times from one step a FIS.
//! - [`arithmetic`]: link rates in closed form. [`shares`]: [`Shares`], where a link's time goes.
//! - [`device`]: the SSD: commands, buffer, translation layer. [`host`]: the builds of a host.
//! - [`disk`]: the same drive on its link as a block device.

pub mod agent;
pub mod arithmetic;
pub mod device;
pub mod disk;
pub mod error;
pub mod fast;
pub mod host;
pub mod link;
pub mod shares;
pub mod wire;

pub use agent::{Agent, Gate, Outcome, Outgoing, Reception};
pub use error::Error;
pub use link::Stop;
pub use shares::Shares;
pub use wire::fis::Fis;
pub use wire::{Counting, Speed, Tick};

use boardlab_sim::Bytes;

/// The sector that commands count in.
pub const SECTOR: Bytes = Bytes::new(512);
/// Dwords of a sector.
pub const SECTOR_DWORDS: u32 = 128;
/// Payload dwords that a Data FIS carries at most: 8 KiB.
pub const LARGEST_DATA: u32 = 2_048;
