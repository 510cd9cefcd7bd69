//! Experiments: their interface, and what all of them share.
//!
//! Layer: rank 9. In reading order:
//!
//! - `contract`: the interface of an [`Experiment`]: requests, actions, failures.
//! - [`figure`] and [`mod@reference`]: published tables as printed; [`verdict`]: the comparison with
//!   ours; [`finding`]: conclusions of a run in sentences.
//! - [`limits`]: limits of a product, and the order of what is held against them.
//! - [`crew`]: parallel work, within the memory that there is; [`data_file`]: files that a scenario names.
//!
//! The crate knows no particular experiment, and prints nothing.

mod contract;

pub mod crew;
pub mod data_file;
pub mod figure;
pub mod finding;
mod heap;
pub mod limits;
pub mod reference;
pub mod verdict;

pub use contract::{
    Action, Cause, Check, Experiment, Failure, Make, MakePlan, NEVER, PlanRequest, Progress,
    Request, Stop, VERSION, scenario_name,
};
