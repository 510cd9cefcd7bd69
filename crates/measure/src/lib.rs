//! Measuring on real boards: the plans of the agent, and its measurements as results.
//!
//! Layer: rank 8; it faces no device itself. The agent (`agent/`, C99) runs on the board; it and this
//! crate share two formats and no code. In reading order:
//!
//! - [`plan`]: [`plan::Plan`] and [`plan::Step`], which experiments build; their text, and its reader;
//!   [`plan::operations`]: what the agent can do, as a table.
//! - [`pattern`]: the places that a step visits.
//! - [`reading`]: the lines that the agent wrote, checked: [`reading::Reading`].
//! - [`foreign`]: what other programs measured, as results.
//! - [`mod@result`]: them as results, with the predictions of the plan beside what was measured.
//!
//! ```
//! use boardlab_measure::plan::{Plan, Step};
//!
//! let erase = Step::new("erase", "mtd.erase").device("/dev/mtd0").key("length", 4_194_304);
//! let write = Step::new("write", "mtd.program").device("/dev/mtd0").key("size", 65_536);
//! let plan = Plan::new("nor-write")
//!     .endurance("/dev/mtd0", 100_000)
//!     .step(erase)
//!     .step(write.predict("mean_ns", 254_264));
//! assert!(plan.to_string().ends_with("size=65536 predict.mean_ns=254264\n"));
//! assert_eq!(Plan::parse(&plan.to_string()), Ok(plan));
//! ```

pub mod foreign;
pub mod pattern;
pub mod plan;
pub mod reading;
pub mod result;
