//! The best wait before the first poll: by theory and by brute force.
//!
//! Layer: beside the drivers; it analyses, so it may use floating point. In reading order:
//!
//! - [`theory`]: [`Completion`] and [`PollLoop`], closed-form expressions for time, polls and optimum.
//! - [`replay`]: [`Replay`], the poll loop over drawn completion times, without bus and chip: fast
//!   enough to try every wait. The tests compare it with the bus-cycle model.
//!
//! A longer wait saves polls (bus traffic, wakeups, energy) but ends late if the chip was ready
//! earlier. With the cost `L` of one poll, the best wait is the quantile `L / (L + period)` of the
//! completion time, the solution of the newsvendor problem. Derivation and validity:
//! `docs/models/nor.md`.

pub mod replay;
pub mod theory;

pub use replay::{Replay, ReplayResult};
pub use theory::{Completion, Expectation, PollLoop};
