//! The NAND experiment: mount time, throughput, memory and flash space of flash filesystems.
//!
//! Layer: rank 10. It composes part, board, filesystem and workload, and puts the published figures
//! beside ours. In reading order: `fs` (the filesystems), `scenario` (with `errors`), `run` (with
//! `stand`, what all runs stand on; `measure`, the figures of a filesystem; `filesystem`, the runs of one; `fit`, two constants that the
//! publication leaves undetermined; `powercut`, losses under power cuts), `tables`, `grades`, `judgements`, `findings`,
//! `verdicts`, `charts`.
//!
//! A further filesystem is a file in `fs` and a line in its list.
//!
//! Publication: Namihira, Toshiba; its figures are in `reference/nandfs.toml`.

mod charts;
mod findings;
pub(crate) mod flash;
pub(crate) mod fs;
mod grades;
mod judgements;
mod plan;
pub(crate) mod run;
pub(crate) mod scenario;
pub(crate) mod tables;
mod verdicts;

use boardlab_experiment::{Action, Experiment};

/// The evaluation of flash filesystems.
pub const EXPERIMENT: Experiment = Experiment {
    name: "nandfs",
    published: true,
    scenario: "nand-filesystems",
    title: "Flash filesystems for large NAND",
    prints_fio: false,
    check: run::check,
    plan: Some(plan::plan),
    actions: &[(Action::Run, run::run), (Action::PowerCut, run::powercut::powercut)],
};
