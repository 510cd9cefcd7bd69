//! The registers that a host reads: identification, capacity, classes, health.
//!
//! Layer: bytes only, independent of a device. In reading order: [`bits`] (fields by number),
//! [`cid`], [`csd`], [`scr`], [`sd_status`], [`ext_csd`] (eMMC), [`health`] (the answer to CMD56).

pub mod bits;
pub mod cid;
pub mod csd;
pub mod ext_csd;
pub mod health;
pub mod scr;
pub mod sd_status;

pub use cid::Cid;
pub use csd::Csd;
pub use ext_csd::{ExtCsd, LifeTime, PreEol};
pub use health::{Health, HealthFormat};
pub use scr::Scr;
pub use sd_status::{AllocationUnit, Classes, EraseTime, SdStatus};
