//! The arguments of `run` for fio on a real device.
//!
//! Layer: rank 12. Main type: [`OnDevice`].

use super::Scenario;
use super::measure::MAX_CYCLES;
use clap::{Args, ValueHint};
use std::path::PathBuf;

/// A scenario that is run.
#[derive(Debug, Args)]
pub(crate) struct Run {
    /// The scenario.
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// Where else its jobs are run.
    #[command(flatten)]
    pub(crate) device: OnDevice,
}

/// A device of this machine, for fio jobs.
#[derive(Debug, Args)]
#[command(next_help_heading = "fio jobs on a real device")]
pub(crate) struct OnDevice {
    /// Block device of this machine on which fio itself runs the jobs, in place of those that they name
    #[arg(long, value_name = "/dev/X", value_hint = ValueHint::FilePath)]
    pub(crate) on: Option<String>,
    /// The same device, to permit jobs that write; what is there is lost
    #[arg(long, value_name = "/dev/X", requires = "on")]
    pub(crate) destroy: Option<String>,
    /// The same, even if there is a filesystem or a partition table on it
    #[arg(long, value_name = "/dev/X", requires = "on", conflicts_with = "destroy")]
    pub(crate) destroy_data: Option<String>,
    /// Times that a block may be written at most; jobs that write more are refused
    #[arg(long, value_name = "N", requires = "on", default_value = MAX_CYCLES)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_cycles: u64,
    /// Agent that checks the device, as a program; built from its sources if left out
    #[arg(long, value_name = "FILE", requires = "on", value_hint = ValueHint::FilePath)]
    pub(crate) agent: Option<PathBuf>,
}
