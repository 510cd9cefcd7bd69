//! The life of a card: years and bytes until it is read-only or loses data, over many cards, and the
//! causes.
//!
//! Layer: rank 10. In reading order: [`scenario`] (card, load, days), [`run`] (with `model`, the card
//! in full, and scaled; `places`, the pages that a load writes; `recorded`, jobs of fio and traces;
//! `pace`, the correction of a scaled card; `live`, one card; `faults`, uncorrectable errors; `study`,
//! many cards; `factors`, the factors of a life; `what_if`, alternatives), `tables`, `findings`,
//! `charts`.
//!
//! Equations, parameters and the known error: docs/models/life.md.

pub mod run;
pub mod scenario;

mod charts;
pub(crate) mod findings;
pub(crate) mod tables;

use boardlab_experiment::{Action, Experiment};

/// The bench for the life of a card.
pub const EXPERIMENT: Experiment = Experiment {
    name: "life",
    published: false,
    scenario: "sd-life",
    title: "How long an SD card lives",
    prints_fio: false,
    check: run::check,
    plan: None,
    actions: &[(Action::Run, run::life), (Action::Life, run::life)],
};
