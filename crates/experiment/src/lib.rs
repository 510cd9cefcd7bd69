//! What an experiment is, and what all of them share.
//!
//! Layer: rank 9. In reading order:
//!
//! - `contract`: what is requested of an [`Experiment`], what can be done, why it failed.
//! - [`figure`] and [`mod@reference`]: published tables as printed; [`verdict`]: ours beside them; [`finding`]: what a run
//!   says in sentences.
//! - [`crew`]: work side by side; [`data_file`]: files that a scenario names.
//!
//! Nothing here knows an experiment, and nothing prints.

mod contract;

pub mod crew;
pub mod data_file;
pub mod figure;
pub mod finding;
pub mod reference;
pub mod verdict;

pub use contract::{
    Action, Cause, Check, Experiment, Failure, Make, Progress, Request, VERSION, scenario_name,
};
