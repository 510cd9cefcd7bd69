//! The context-switch experiment: what does FCSE save a small operating system on an ARM926EJ-S?
//!
//! Layer: rank 11. It boots the system of `os/` on the simulated board, types commands at its shell, watches it at marks, and puts the published
//! figures beside ours. In reading order: [`scenario`] (what is run), `run` (with `guest`, the system at its prompt; `spent`, what a piece of a run
//! cost; `switches`, `latency`, `sections`, `programs`, what is measured; `card`, what programs are started from; `qemu`, the same on the machine of the publication; `measure`,
//! all of it side by side), `tables`, `findings`, `verdicts`, `charts` (with `picture`, who runs when).
//!
//! Publication: Saito, Oikawa, University of Tsukuba; its figures are in `reference/fcse.toml`.

pub mod scenario;

mod charts;
mod findings;
mod plan;
mod run;
mod tables;
mod verdicts;

use boardlab_experiment::{Action, Experiment};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "fcse",
    published: true,
    scenario: "context-switch",
    title: "Context switches with the Fast Context Switch Extension",
    prints_fio: false,
    check: run::check,
    plan: Some(plan::plan),
    actions: &[(Action::Run, run::run)],
};
