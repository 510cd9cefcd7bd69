//! A bench for the operations of a raw flash: reads, programs and erases of a NAND behind its driver, one
//! after the other.
//!
//! Layer: rank 10. In reading order: `scenario`, `run`, `findings`. The plan of the scenario has the
//! same steps for a board. For NOR there is the published experiment, which has a plan too.

mod findings;
mod run;
mod scenario;

use boardlab_experiment::{Action, Experiment};

/// The record in the list of experiments.
pub const EXPERIMENT: Experiment = Experiment {
    name: "nand-steps",
    published: false,
    scenario: "nand-steps",
    title: "Operations of a raw flash, one by one",
    prints_fio: false,
    check: run::check,
    actions: &[(Action::Run, run::run)],
    plan: Some(run::plan),
};
