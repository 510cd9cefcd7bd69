//! A bench for the operations of a block device of constant latencies: null_blk, a loop device, a drive
//! that QEMU throttles, or whatever a table of latencies describes well enough.
//!
//! Layer: rank 10. In reading order: `scenario`, `run`, `findings`. Cards and drives with a translation
//! layer are in the benches for fio jobs.

mod findings;
mod run;
mod scenario;

use boardlab_experiment::{Action, Experiment};

/// The record in the list of experiments.
pub const EXPERIMENT: Experiment = Experiment {
    name: "block-steps",
    published: false,
    scenario: "block-steps",
    title: "Operations of a block device of constant latencies",
    prints_fio: false,
    check: run::check,
    actions: &[(Action::Run, run::run)],
    plan: Some(run::plan),
};
