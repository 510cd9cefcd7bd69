//! NOR flash with the AMD/CFI command set: from the bus cycle to the tuned driver.
//!
//! Layer: rank 3; uses `sim`, `media` and `mtd`. In reading order:
//!
//! - [`part`]: [`Part`], the parameters of a part. Every number comes from a part file.
//! - [`chip`]: [`chip::Chip`], the chip's state machine at the level of bus cycles.
//! - [`bus`]: [`Bus`], the time of an access, and interleaving over several chips.
//! - [`host`]: [`Host`], the actual duration of `udelay` and `msleep`.
//! - [`wait`]: [`WaitPolicy`], when a driver polls for completion.
//! - [`driver`]: [`Driver`], the write and erase paths of u-boot and Linux with every step timed.
//! - [`mtd`]: [`NorMtd`], all of it as a `boardlab_mtd::Mtd`.
//! - [`tuner`]: the best wait, by theory and by brute force.
//!
//! The caller passes a clock, which bus cycles and pauses advance. No published figure is used here.

pub mod bus;
pub mod chip;
pub mod driver;
pub mod host;
pub mod mtd;
pub mod part;
pub mod tuner;
pub mod wait;

pub use bus::{Bus, BusTiming, ChipIndex, CutPoint};
pub use driver::{Board, Driver};
pub use host::{Host, HostTiming, Pause};
pub use mtd::NorMtd;
pub use part::Part;
pub use wait::WaitPolicy;
