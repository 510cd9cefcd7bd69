//! The agent on a board that runs sshd, by the user's own ssh.
//!
//! Layer: rank 12. Function: [`start`]. Two connections, three with an agent of the user: one makes a folder,
//! writes the plan and builds the agent; the last runs it. Nothing but ssh and a POSIX shell is needed there:
//! files go through standard input. While the agent runs, the open input of the last connection is its life
//! line: where it ends, because the user interrupts or the network is gone, the agent ends in order.

use super::agent::{PROGRAM, SOURCES};
use super::problem::Problem;
use super::process::{Ending, Process, cannot_start};
use super::{Order, script};
use crate::args::over::Host;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

/// The status with which ssh itself fails.
const BROKEN: i32 = 255;
/// The status of the script where there is no compiler.
const NO_COMPILER: i32 = 3;
/// The status of the script where the compiler fails.
const NOT_COMPILED: i32 = 4;
/// What is before the name of the folder, so that words of a login script are not taken for it.
const FOLDER: &str = "boardlab-folder:";

/// Starts the agent on `host`.
pub(super) fn start(host: &Host, order: &Order<'_>) -> Result<Process, Problem> {
    let folder = prepare(host, order)?;
    if let Some(agent) = order.agent {
        copy(host, &folder, agent).inspect_err(|_| {
            let _ = fed(command(host, &format!("exec rm -rf {folder}")), Vec::new());
        })?;
    }
    let mut command = command(host, &format!("exec sh {folder}/{}", script::RUN));
    // In a group of its own, so that the signal of a terminal ends the agent and not the connection.
    command.process_group(0);
    Process::start(command, Ending::Input, None)
}

/// The command that runs `line` on `host`.
fn command(host: &Host, line: &str) -> Command {
    let mut command = Command::new("ssh");
    command.args(["-T", "-o", "ConnectTimeout=30", "-o", "ServerAliveInterval=15"]);
    if let Some(port) = host.port {
        command.args(["-p", &port.to_string()]);
    }
    command.args(["--", &host.destination, line]);
    command
}

/// Makes a folder on the board with the plan, the script, and the agent unless the user has one. Returns its path.
fn prepare(host: &Host, order: &Order<'_>) -> Result<String, Problem> {
    let mut text = format!(
        "umask 077\nfolder=`mktemp -d /tmp/boardlab-XXXXXX` || exit 1\ncd \"$folder\" || exit 1\n\
         echo {FOLDER}\"$folder\"\n"
    );
    text += &script::here(script::PLAN, &order.plan);
    let run = script::run_in_place(&order.arguments);
    text += &script::here(script::RUN, &run);
    if order.agent.is_none() {
        let _ = writeln!(
            text,
            "command -v cc >/dev/null || {{ cd /; rm -rf \"$folder\"; exit {NO_COMPILER}; }}"
        );
        SOURCES.iter().for_each(|(name, source)| text += &script::here(name, source));
        let _ = writeln!(
            text,
            "{{ {}; }} >&2 || {{ cd /; rm -rf \"$folder\"; exit {NOT_COMPILED}; }}",
            script::compile()
        );
    }
    let output = fed(command(host, "exec sh"), text.into_bytes())?;
    match output.status.code() {
        Some(0) => {}
        Some(NO_COMPILER) if order.agent.is_none() => return Err(Problem::NoCompiler),
        Some(NOT_COMPILED) if order.agent.is_none() => {
            let why = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(Problem::NotCompiled { why });
        }
        status => return Err(refused(host, status, &output)),
    }
    let told = String::from_utf8_lossy(&output.stdout);
    let folder = told.lines().find_map(|line| line.trim_end().strip_prefix(FOLDER));
    let folder = folder.filter(|path| script::is_folder(path));
    folder.map(Into::into).ok_or_else(|| refused(host, Some(0), &output))
}

/// Copies the agent of the user into the folder of the board.
fn copy(host: &Host, folder: &str, agent: &Path) -> Result<(), Problem> {
    let line = format!("cat > {folder}/{PROGRAM} && chmod 755 {folder}/{PROGRAM}");
    let mut command = command(host, &line);
    let file = File::open(agent);
    let file = file.map_err(|problem| Problem::AgentUnreadable { path: agent.into(), problem })?;
    let output = command.stdin(file).output();
    let output = output.map_err(|problem| cannot_start(&command, problem))?;
    match output.status.code() {
        Some(0) => Ok(()),
        status => Err(refused(host, status, &output)),
    }
}

/// The output of `command` with `input`.
fn fed(mut command: Command, input: Vec<u8>) -> Result<Output, Problem> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn();
    let mut child = child.map_err(|problem| cannot_start(&command, problem))?;
    let stdin = child.stdin.take();
    // Where the other end does not read all of it, its status says why.
    let writer = thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&input)));
    let output = child.wait_with_output().map_err(|problem| cannot_start(&command, problem))?;
    let _ = writer.join();
    Ok(output)
}

fn refused(host: &Host, status: Option<i32>, output: &Output) -> Problem {
    let host = host.destination.clone();
    let why = String::from_utf8_lossy(&output.stderr).into_owned();
    match status {
        Some(BROKEN) => Problem::NoConnection { host, why },
        _ => Problem::NotPrepared { host, why },
    }
}
