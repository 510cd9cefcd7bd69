//! The agent on this machine.
//!
//! Layer: rank 12. Function: [`start`].

use super::agent::{self, FLAGS, PROGRAM};
use super::problem::Problem;
use super::process::{Ending, Process, cannot_start};
use super::{Order, scratch, script};
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

/// The compiler.
const COMPILER: &str = "cc";

/// Starts the agent, which is built first if the user names none.
pub(super) fn start(order: &Order<'_>) -> Result<Process, Problem> {
    let folder = scratch()?;
    let program = folder.path().join(PROGRAM);
    match order.agent {
        Some(agent) => link(agent, &program)?,
        None => build(folder.path())?,
    }
    let run = script::run_in_place(&order.arguments);
    let place = folder.path().join(script::RUN);
    for (path, text) in [(&folder.path().join(script::PLAN), &order.plan), (&place, &run)] {
        fs::write(path, text)
            .map_err(|problem| Problem::Unwritable { path: path.clone(), problem })?;
    }
    // As on a board: when this program is gone, the end of its input ends the agent in order.
    let mut command = Command::new("sh");
    command.arg(place);
    // In a group of its own, so that the signal of a terminal reaches it by us alone.
    command.process_group(0);
    Process::start(command, Ending::Input, Some(folder))
}

/// Puts the agent of the user at `place`.
fn link(agent: &Path, place: &Path) -> Result<(), Problem> {
    let linked = fs::canonicalize(agent).and_then(|agent| symlink(agent, place));
    linked.map_err(|problem| Problem::AgentUnreadable { path: agent.into(), problem })
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
