//! The SATA experiment: how fast is an SSD on a host core, and what does command sequencing in firmware cost?
//!
//! Layer: rank 11. It composes drives, a link and a host, and puts the published figures beside ours. In reading
//! order: [`console`] (the serial menu of its host), [`scenario`] (what is run), `run` (with `bench`, one drive, run after
//! run; `measure`, the runs of the publication; `what_if`, what it does not ask; `trace`, one command on the wire),
//! `tables` (with `means`, the printed means recomputed), `findings`, `verdicts`, `charts`.
//!
//! Publication: SATA-IP application note 1, 2009; its figures are in `reference/sata.toml`.

pub mod console;
pub mod scenario;

mod charts;
mod findings;
mod plan;
mod run;
mod tables;
mod verdicts;

use boardlab_experiment::{Action, Experiment};

pub(crate) const EXPERIMENT: Experiment = Experiment {
    name: "sata",
    published: true,
    scenario: "sata-ssd",
    title: "SSD transfer rates of a SATA host",
    prints_fio: false,
    check: run::check,
    plan: Some(plan::plan),
    actions: &[(Action::Run, run::run)],
};
