//! The best wait before the first poll: by theory, by brute force, and learned while running.
//!
//! Layer: beside the drivers; it analyses, so it may use floating point. In reading order:
//!
//! - [`theory`]: [`Completion`] and [`PollLoop`], closed formulas for time, polls and optimum.
//! - [`replay`]: the poll loop over drawn completion times, without bus and chip: fast enough to
//!   try every wait. The tests hold it against the bus-cycle model.
//!
//! The trade: a longer wait saves polls (bus traffic, wake-ups, energy) and ends late when the chip
//! was done earlier. With `L` for the value of one poll, the best wait is the quantile
//! `L / (L + period)` of the completion time, the newsvendor's answer. Derivation and validity:
//! `docs/models/nor.md`.

pub mod replay;
pub mod theory;

pub use replay::{Replay, Tried};
pub use theory::{Completion, Expected, PollLoop};
