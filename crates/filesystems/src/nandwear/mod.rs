//! The wear of a NAND under a file that is written over and over beside data at rest, which the publication on flash
//! filesystems left open.
//!
//! Layer: rank 10. In reading order: `scenario`, `run` (what it runs is `nandfs::run::wear`), `tables`, `findings`,
//! `charts`.

mod charts;
mod findings;
mod run;
mod scenario;
mod tables;

use boardlab_experiment::{Action, Experiment};

/// The experiment on wear levelling.
pub const EXPERIMENT: Experiment = Experiment {
    name: "nand-wear",
    published: false,
    scenario: "nand-wear",
    title: "Wear of a NAND by filesystem and fill level",
    prints_fio: false,
    check: run::check,
    plan: None,
    actions: &[(Action::Run, run::run)],
};
