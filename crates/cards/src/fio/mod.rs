//! A bench for the user's own fio jobs: a card in a slot or a drive on SATA, and a job file.
//!
//! Layer: rank 10. In reading order: `scenario` (device, host, jobs; with `jobs`, the parsing of their
//! text and its errors), `run` (with `device`, the device of the jobs; `pace`, throughput over time),
//! `tables`, `findings`, `charts`; `plan` and [`DeviceJobs`] for the same jobs on a real device. The result has our tables and charts, and fio's own outputs as attachments,
//! which `--format fio`, `fio-json` and `fio-terse` print.

mod charts;
mod device_jobs;
pub(crate) mod findings;
mod plan;
pub(crate) mod run;
pub(crate) mod scenario;
mod tables;

use boardlab_experiment::{Action, Experiment};
use boardlab_parts::catalog;

pub use device_jobs::DeviceJobs;
pub use run::OUTPUTS;

/// Jobs on a card; `boardlab run FILE.fio` runs a job file with it.
pub const CARD: Experiment = Experiment {
    name: "fio",
    published: false,
    scenario: catalog::FIO,
    title: "fio jobs on an SD card or an eMMC",
    prints_fio: true,
    check: run::check,
    plan: Some(plan::plan),
    actions: &[(Action::Run, run::run)],
};

/// Jobs on a drive.
pub const DRIVE: Experiment = Experiment {
    name: "drive-fio",
    scenario: "drive-fio",
    title: "fio jobs on a SATA drive",
    ..CARD
};
