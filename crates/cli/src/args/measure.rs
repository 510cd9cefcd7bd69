//! The arguments of `measure`: the same workloads on a real board.
//!
//! Layer: rank 12. Main type: [`MeasureAction`].

use super::over::Over;
use super::{SCENARIO, SET, Scenario, candidates};
use clap::{Args, Subcommand, ValueHint};
use std::path::PathBuf;

pub(super) const MEASURE: &str = "\
The agent, a small C program, does a plan on the board and measures. It writes only to what --destroy names.

Examples:
  boardlab measure plan nor-write --device /dev/mtd0 > board.plan
  boardlab measure run board.plan --over ssh:root@board --destroy /dev/mtd0 --save board.jsonl
  boardlab measure read board.jsonl --out board";

const PLAN: &str = "\
The plan goes to standard output; it is text, and may be changed by hand.

Examples:
  boardlab measure plan nor-write > board.plan
  boardlab measure plan nor-write --device /dev/mtd0 --max-cycles 100 > board.plan";

const READ: &str = "\
A file may hold several measurements. Exit status 1: one is partial, damaged or failed; what there is of it is shown.

Examples:
  boardlab measure read board.jsonl
  boardlab measure read board.jsonl --out board
  boardlab measure read monday.jsonl tuesday.jsonl --json";

const RUN: &str = "\
Nothing is written on the board but to what --destroy names, and never to what is mounted or in use. The agent is \
built from its sources, which boardlab carries, or is that of --agent. Ctrl-C ends it in order. Exit status 1: partial \
or failed; 3: refused, nothing was written.

Examples:
  boardlab measure run board.plan --save board.jsonl
  boardlab measure run board.plan --over ssh:root@board --destroy /dev/mtd0 --save board.jsonl
  boardlab measure run board.plan --over serial:/dev/ttyUSB0 --agent boardlab-agent --save board.jsonl";

const AGENT: &str = "\
For boards without a compiler: make -C DIR BUILD=build CC=arm-linux-gnueabi-gcc LDFLAGS=-static

Examples:
  boardlab measure agent agent
  boardlab measure agent /tmp/agent";

/// The most cycles that a plan may take of a block, where nobody says otherwise; the agent's own.
pub(super) const MAX_CYCLES: &str = "10";

/// What `measure` does.
#[derive(Debug, Subcommand)]
pub(crate) enum MeasureAction {
    /// Print the plan with the workload of a scenario
    #[command(after_help = PLAN)]
    Plan(MeasurePlan),
    /// Run a plan on this machine or on a board, and save what it measures
    #[command(after_help = RUN)]
    Run(MeasureRun),
    /// Show what was measured, with the predictions of the plan beside it
    #[command(after_help = READ)]
    Read {
        /// Measurements: what the agent wrote, or the log of a serial line
        #[arg(value_name = "OUT.jsonl", required = true, value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
    },
    /// Write the sources of the agent into a new folder
    #[command(after_help = AGENT)]
    Agent {
        /// Folder, which must not exist
        #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
        folder: PathBuf,
    },
}

/// A plan that is run.
#[derive(Debug, Args)]
pub(crate) struct MeasureRun {
    /// Plan, as `measure plan` prints it
    #[arg(value_hint = ValueHint::FilePath)]
    pub(crate) plan: PathBuf,
    /// Where: local, ssh:[USER@]HOST[:PORT] or serial:TTY[:BAUD]
    #[arg(long, value_name = "WHERE", default_value = "local")]
    pub(crate) over: Over,
    /// Device or folder that may be written to, as the plan names it; what is there is lost
    #[arg(long, value_name = "TARGET")]
    pub(crate) destroy: Vec<String>,
    /// The same, even if there is a filesystem or a partition table on it
    #[arg(long, value_name = "TARGET")]
    pub(crate) destroy_data: Vec<String>,
    /// Times that a block may be erased at most; plans that need more are refused
    #[arg(long, value_name = "N", default_value = MAX_CYCLES)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_cycles: u64,
    /// Agent, as a program for the board; built there from its sources if left out
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) agent: Option<PathBuf>,
    /// New file for the measurements, written as they come
    #[arg(long, value_name = "OUT.jsonl", required = true, value_hint = ValueHint::FilePath)]
    pub(crate) save: PathBuf,
}

/// A scenario whose workload becomes a plan.
#[derive(Debug, Args)]
#[command(mut_arg(SCENARIO, |one| one.add(candidates::planned())))]
#[command(mut_arg(SET, |one| one.help("Value in place of the one in the scenario, its part or its board")))]
pub(crate) struct MeasurePlan {
    /// The scenario.
    #[command(flatten)]
    pub(crate) scenario: Scenario,
    /// Device of the board, with a name before it where the scenario has several
    #[arg(long, value_name = "[NAME=]/dev/X", value_parser = device, value_hint = ValueHint::FilePath)]
    pub(crate) device: Vec<(String, String)>,
    /// Folder of the board, with a name before it where the scenario has several
    #[arg(long, value_name = "[NAME=]DIR", value_parser = folder, value_hint = ValueHint::DirPath)]
    pub(crate) path: Vec<(String, String)>,
    /// Times that a block may be erased at most; the volume of the workload follows
    #[arg(long, value_name = "N", default_value = MAX_CYCLES)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_cycles: u64,
}

fn device(text: &str) -> Result<(String, String), String> {
    named(text, "device")
}

fn folder(text: &str) -> Result<(String, String), String> {
    named(text, "path")
}

/// A path of the board and its name, or `name` where it has none.
fn named(text: &str, name: &str) -> Result<(String, String), String> {
    let (name, path) = match text.split_once('=') {
        Some((name, path)) if !text.starts_with('/') => (name, path),
        _ => (name, text),
    };
    match path.starts_with('/') && !name.is_empty() {
        true => Ok((name.into(), path.into())),
        false => Err("expected an absolute path of the board, such as /dev/mtd0".into()),
    }
}
