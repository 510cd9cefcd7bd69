//! The agent on this machine.
//!
//! Layer: rank 12. Function: [`start`].

use super::Order;
use super::agent::{self, FLAGS, PROGRAM};
use super::problem::Problem;
use super::process::{Ending, Process, cannot_start};
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// The compiler.
const COMPILER: &str = "cc";

/// Starts the agent, which is built first if the user names none.
pub(super) fn start(order: &Order<'_>) -> Result<Process, Problem> {
    let folder = tempfile::Builder::new().prefix("boardlab-").tempdir();
    let folder =
        folder.map_err(|problem| Problem::Unwritable { path: std::env::temp_dir(), problem })?;
    let program = match order.agent {
        // Without a folder, a name would be looked for where programs are.
        Some(agent) => fs::canonicalize(agent)
            .map_err(|problem| Problem::AgentUnreadable { path: agent.into(), problem })?,
        None => {
            build(folder.path())?;
            folder.path().join(PROGRAM)
        }
    };
    let plan = folder.path().join("plan");
    fs::write(&plan, &order.plan)
        .map_err(|problem| Problem::Unwritable { path: plan.clone(), problem })?;
    let mut command = Command::new(program);
    command.args(&order.arguments).arg(plan);
    // In a group of its own, so that the signal of a terminal reaches it by us alone.
    command.process_group(0);
    Process::start(command, Ending::Signal, Some(folder))
}

/// Compiles the agent in `folder`.
fn build(folder: &Path) -> Result<(), Problem> {
    agent::write(folder)?;
    let mut command = Command::new(COMPILER);
    command.args(FLAGS).args(["-o", PROGRAM]).args(agent::translation_units());
    command.current_dir(folder).stdin(Stdio::null());
    let output = command.output().map_err(|problem| cannot_start(&command, problem))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            Err(Problem::NotCompiled { why: String::from_utf8_lossy(&output.stderr).into_owned() })
        }
    }
}
