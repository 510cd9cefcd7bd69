//! SD cards and eMMC: the bus, the registers, and the card over a translation layer.
//!
//! Layer: rank 4. In reading order:
//!
//! - [`bus`]: [`Bus`], modes, and the clocks that commands and blocks take.
//! - [`register`]: what a host reads of a card: capacity, classes, health.

pub mod bus;
pub mod register;

pub use bus::{Bus, Gaps, Kind, Mode, Width};
pub use register::{
    AllocationUnit, Cid, Classes, Csd, EraseTime, ExtCsd, Health, HealthFormat, LifeTime, PreEol,
    Scr, SdStatus,
};
