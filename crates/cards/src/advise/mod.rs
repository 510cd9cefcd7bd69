//! Which card or eMMC to take for a product: the limits of the product against the life of every card and a fio job on it.
//!
//! Layer: rank 10. In reading order: `scenario` (cards, board, and the product with its limits), `candidate` (the life of a
//! card, and its job), `rank` (limits met and missed), `run` (all of them), `tables`, `findings`, `charts`.
//!
//! No filesystem is compared: the controller of a card hides the flash, and every filesystem sees the same block device.

mod candidate;
mod charts;
mod findings;
mod rank;
mod run;
mod scenario;
mod tables;

use boardlab_experiment::{Action, Experiment};

/// The choice of a card.
pub const EXPERIMENT: Experiment = Experiment {
    name: "card-advise",
    published: false,
    scenario: "card-advise",
    title: "Which card or eMMC to take",
    prints_fio: false,
    check: run::check,
    plan: None,
    actions: &[(Action::Run, run::run), (Action::Advise, run::run)],
};
