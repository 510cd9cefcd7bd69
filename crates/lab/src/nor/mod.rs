//! The NOR experiment: who waits how long for a write, and what the best wait is.
//!
//! Layer: rank 11. It composes part, board, driver and workload, and puts the published figures
//! beside ours. In reading order: [`scenario`] (what is run), `run` (with `write`, one system; `tune`
//! and `erase`, the best waits; `patch`, the recommended change to Linux), `tables`, `findings`, `verdicts`,
//! `charts`; `plan` measures the same on a board.
//!
//! Publication: K. Ibe, S. Ochiai, Mitsubishi Electric; its figures are in `reference/nor.toml`.

pub mod scenario;

mod charts;
mod findings;
mod plan;
mod run;
mod tables;
mod verdicts;

use boardlab_experiment::{Action, Experiment};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "nor",
    published: true,
    scenario: "nor-write",
    title: "NOR flash writes: u-boot against Linux, and the wait for completion",
    prints_fio: false,
    check: run::check,
    plan: Some(plan::plan),
    actions: &[(Action::Run, run::run), (Action::Tune, run::tune::tune)],
};
