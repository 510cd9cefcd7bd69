//! Virtual time and exact quantities: the base of all models in boardlab.
//!
//! Layer: rank 0, uses no other crate of boardlab. In reading order:
//!
//! - [`time`]: [`Instant`] and [`Duration`], u64 nanoseconds of virtual time.
//! - [`units`]: [`Bytes`], [`Rate`] (exact ratio) and [`Hertz`].
//! - [`clock`]: [`Clock`], the time of one run, and [`TimeBase`], a counter that a program reads.
//! - [`random`]: [`Seed`] and [`Stream`], random streams derived from one seed by name; [`mix`].
//! - [`trigger`]: [`Trigger`] and [`TriggerState`], rules that fire the nth time or by chance.
//! - [`quantile`]: [`QuantileTable`], a distribution of durations as integers.
//! - [`phase`]: [`Phase`], count, total, extremes and percentiles of a repeated step.
//! - [`own`]: [`OwnPolicy`], a policy that somebody outside of the models gives.
//! - [`series`]: [`Series`], points of a curve; [`counter`]: named counts.
//!
//! ```
//! use boardlab_sim::{Clock, Duration, Hertz, TimeBase};
//!
//! let mut clock = Clock::new();
//! let time_base = TimeBase::new(Hertz::from_hz(33_300_000));
//! let start = time_base.read(clock.now());
//! clock.advance(Duration::from_micros(73));
//! let ticks = time_base.read(clock.now()).since(start);
//! assert_eq!(time_base.duration(ticks), Duration::from_nanos(72_973)); // 2,430 whole ticks
//! ```
//!
//! Time is always an argument: nothing here reads a wall clock, and two runs in one process share
//! nothing. Time is never computed in floating point; `f64` is for display and analysis only.

pub mod clock;
pub mod counter;
pub mod own;
pub mod phase;
pub mod quantile;
pub mod random;
pub mod series;
pub mod time;
pub mod trigger;
pub mod units;

pub use clock::{Clock, Ticks, TimeBase};
pub use counter::Counters;
pub use own::{Decide, OwnPolicy};
pub use phase::Phase;
pub use quantile::QuantileTable;
pub use random::{MIX_STEP, Seed, Stream, mix};
pub use series::Series;
pub use time::{Duration, Instant};
pub use trigger::{Trigger, TriggerState};
pub use units::{Bytes, Hertz, Rate};
