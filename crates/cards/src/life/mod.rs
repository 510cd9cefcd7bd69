//! How long a card lives: years and bytes until it is read-only or loses data, over many cards, and why.
//!
//! Layer: rank 10. In reading order: [`scenario`] (card, load, days), [`run`] (with `model`, the card in full, and scaled;
//! `places`, which pages a load writes; `recorded`, jobs of fio, traces; `pace`, what puts a scaled card right; `live`, one
//! card; `faults`, when data can no longer be corrected; `study`, many cards; `factors`, what a life is made of;
//! `what_if`, what else could be chosen), `tables`, `findings`, `charts`.
//!
//! Equations, parameters and known error: docs/models/life.md.

pub mod run;
pub mod scenario;

mod charts;
mod findings;
mod tables;

use boardlab_experiment::{Action, Experiment};

/// The bench for the life of a card.
pub const EXPERIMENT: Experiment = Experiment {
    name: "life",
    published: false,
    scenario: "sd-life",
    title: "How long an SD card lives",
    prints_fio: false,
    check: run::check,
    actions: &[(Action::Run, run::life), (Action::Life, run::life)],
};
