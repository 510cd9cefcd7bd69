//! Which filesystem to take for a product: the limits of the product against what every filesystem does on its flash.
//!
//! Layer: rank 10. In reading order: `scenario` (with `flash`, part and board; the product with its limits), `candidate` (a filesystem
//! with its settings, and what it does), `trials` (its runs), `run` (all of them), `rank` (limits met and missed), `tables`, `findings`,
//! `charts`.

mod candidate;
mod charts;
mod findings;
mod flash;
mod rank;
mod run;
mod scenario;
mod tables;
mod trials;

use boardlab_experiment::{Action, Experiment};

/// The choice of a filesystem.
pub const EXPERIMENT: Experiment = Experiment {
    name: "nand-advise",
    published: false,
    scenario: "nand-advise",
    title: "Which filesystem to take",
    prints_fio: false,
    check: run::check,
    plan: None,
    actions: &[(Action::Run, run::run), (Action::Advise, run::run)],
};
