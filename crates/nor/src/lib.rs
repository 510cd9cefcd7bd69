//! NOR flash with the AMD/CFI command set: from the bus cycle to the tuned driver.
//!
//! Layer: rank 3; uses `sim`, `media` and `mtd`. In reading order:
//!
//! - [`part`]: [`Part`], what a part is. Every number comes from a part file.
//! - [`chip`]: [`chip::Chip`], the state machine behind the bus, cycle by cycle.
//! - [`bus`]: [`Bus`], what an access costs, and several chips in turn.
//! - [`host`]: [`Host`], how long `udelay` and `msleep` really last.
//! - [`wait`]: [`WaitPolicy`], when to ask whether the chip is done.
//! - [`driver`]: [`Driver`], u-boot's and Linux' write and erase paths with every step timed.
//! - [`mtd`]: [`NorMtd`], all of it as a `boardlab_mtd::Mtd`.
//! - [`tuner`]: the best wait, by theory and by brute force.
//!
//! Time is passed in and moved on by bus cycles and pauses; nothing here knows a published figure.

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
