//! SD cards and eMMC: the bus, the registers, and the card over a translation layer.
//!
//! Layer: rank 4. In reading order:
//!
//! - [`bus`]: [`Bus`], modes, and the clocks that commands and blocks take.
//! - [`register`]: what a host reads of a card: capacity, classes, health.
//! - [`part`]: [`Part`], the properties of a card; [`error`]: [`Error`], why they are invalid.
//! - [`card`]: [`Card`], a block device over any translation layer of `ftl`; `write` and `read` are
//!   its data paths, and `answers` has the answers to a host's queries.

mod answers;
pub mod bus;
mod cache;
pub mod card;
pub mod error;
pub mod part;
mod pieces;
mod read;
pub mod register;
mod store;
mod write;

pub use bus::{Bus, Gaps, Kind, Mode, Width};
pub use card::{Card, Counts, Data, free_link};
pub use error::Error;
pub use part::{Discard, Face, Host, Part, Shape, Wiring};
pub use register::{
    AllocationUnit, Cid, Classes, Csd, EraseTime, ExtCsd, Health, HealthFormat, LifeTime, PreEol,
    Scr, SdStatus,
};

use boardlab_sim::Bytes;

/// The block that commands count in.
pub const BLOCK: Bytes = Bytes::new(bus::BLOCK);
