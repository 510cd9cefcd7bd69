//! The experiments: what is run on systems of parts and boards, and judged.
//!
//! Layer: rank 10, on top of all models. In reading order:
//!
//! - [`experiment`]: what an experiment is, and what can be asked of one.
//! - [`figure`] and [`mod@reference`]: published tables as printed; [`verdict`]: ours beside them; [`finding`]: what a run
//!   says in sentences.
//! - [`nor`]: the NOR experiment; [`nandfs`]: the NAND experiment; [`sdwear`]: the SD experiment; [`sata`]: the SATA experiment; [`fcse`]: the context-switch experiment; [`fio`]: fio jobs on a card; [`life`]: how long a card lives; [`registry`]: the list of them, and what the command line calls.
//! - [`mod@sweep`]: any of them at every point of a grid.
//!
//! Nothing here prints.

pub mod experiment;
pub mod figure;
pub mod finding;
pub mod reference;
pub mod verdict;

mod data_file;
mod in_order;

pub mod fcse;
pub mod fio;
pub mod life;
pub mod nandfs;
pub mod nor;
pub mod registry;
pub mod sata;
pub mod sdwear;

pub mod sweep;
