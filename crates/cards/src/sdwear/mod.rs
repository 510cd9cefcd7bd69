//! The SD experiment: does wear levelling keep a card alive when the same region is written again and
//! again?
//!
//! Layer: rank 10. It composes card, slot and fio jobs, and puts the published figures beside ours. In
//! reading order: `scenario`, `run` (with `measure`, the figures of a card; `free`, experiment 1;
//! `wear`, the same volume with different wear levelling; `watch` and `rewrites`, experiment 2 with
//! every controller; `bands`, clusters of throughput; `power`, the volume that could tell levelling
//! apart), `tables`, `findings`, `verdicts`, `charts`.
//!
//! A further controller is one entry in the scenario.
//!
//! Publication: LeavaTail's diary, 2024; its figures are in `reference/sdwear.toml`.

mod run;
mod scenario;

mod charts;
mod findings;
mod plan;
mod tables;
mod verdicts;

use boardlab_experiment::{Action, Experiment};

/// The SD experiment.
pub const EXPERIMENT: Experiment = Experiment {
    name: "sdwear",
    published: true,
    scenario: "sd-wear",
    title: "SD card wear levelling under 11 TB of writes",
    prints_fio: false,
    check: run::check,
    plan: Some(plan::plan),
    actions: &[(Action::Run, run::run)],
};
