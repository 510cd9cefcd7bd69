//! Running the agent on a board: here, over ssh, or over a serial line.
//!
//! Layer: rank 12. Function: [`run`]. In reading order: [`agent`]: the sources of the agent; [`script`]: what
//! shells are told; [`board`]: what the three ways have in common; [`process`], [`local`] and [`ssh`];
//! [`serial`], over [`port`]; [`save`]: the file of the measurements; [`fio`]: fio in place of the agent;
//! [`problem`]: what can go wrong.
//!
//! What comes from the board is untrusted: it is saved as it is, and shown escaped. The agent decides what it
//! may write to; here only the plan is compared with `--destroy`, before anything is sent.

pub(crate) mod agent;
mod board;
pub(crate) mod fio;
mod local;
mod port;
pub(crate) mod problem;
mod process;
mod save;
mod script;
mod serial;
mod ssh;

use crate::args::MeasureRun;
use crate::args::over::Over;
use crate::progress::Progress;
use crate::saved;
use board::{Board, Next};
use boardlab_measure::plan::Plan;
use problem::{Problem, Writer};
use save::Save;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What runs on a board, in messages.
const AGENT: &str = "the agent";
/// How often an interrupt is looked for while nothing comes.
const TICK: Duration = Duration::from_millis(50);
/// How long an agent may take to end in order; after that it is left alone.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is sent to a board.
pub(super) struct Order<'a> {
    /// The text of the plan, as the user has it; it was checked.
    pub(super) plan: String,
    /// The arguments of the agent before the plan.
    pub(super) arguments: Vec<String>,
    /// The agent as a program for the board; built from its sources otherwise.
    pub(super) agent: Option<&'a Path>,
}

/// Runs a plan, and saves what comes. Returns the exit status of the agent, as far as it is known.
pub(crate) fn run(arguments: &MeasureRun, quiet: bool) -> Result<Option<i32>, Problem> {
    let plan = checked(arguments)?;
    if let Some(agent) = &arguments.agent {
        agent::expect_file(agent)?;
    }
    let MeasureRun { destroy, destroy_data, max_cycles, .. } = arguments;
    let order = Order {
        plan,
        arguments: agent_arguments(destroy, destroy_data, *max_cycles),
        agent: arguments.agent.as_deref(),
    };
    let interrupted = interrupts();
    let mut save = Save::new(&arguments.save)?;
    let progress = Progress::begin("measure", quiet);
    let mut board: Box<dyn Board> = match &arguments.over {
        Over::Local => Box::new(local::start(&order)?),
        Over::Ssh(host) => Box::new(ssh::start(host, &order)?),
        Over::Serial(line) => Box::new(serial::start(line, &order, &interrupted)?),
    };
    let mut take = |bytes: &[u8]| save.take(bytes, &progress);
    follow(AGENT, &mut *board, &mut take, &progress, &interrupted)?;
    drop(progress);
    let status = board.finish()?;
    save.finish()?;
    Ok(status)
}

/// The text of the plan, if the user permits what it writes.
fn checked(arguments: &MeasureRun) -> Result<String, Problem> {
    let path = &arguments.plan;
    let bytes = saved::read_bytes(path)
        .map_err(|problem| Problem::PlanUnreadable { path: path.clone(), problem })?;
    // A byte that is no text is refused by the reader, with its place.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let plan = Plan::parse(&text).map_err(|flaw| Problem::NoPlan { path: path.clone(), flaw })?;
    let named: Vec<&String> = arguments.destroy.iter().chain(&arguments.destroy_data).collect();
    let written = plan.written();
    if let Some(target) = named.iter().find(|target| !written.contains(&target.as_str())) {
        let written = written.iter().map(ToString::to_string).collect();
        let (writer, target) = (Writer::Plan, (*target).clone());
        return Err(Problem::NotWritten { writer, target, written });
    }
    let missing = written.iter().filter(|target| !named.iter().any(|name| name == *target));
    let missing: Vec<_> = missing.map(ToString::to_string).collect();
    match missing.is_empty() {
        true => Ok(text),
        false => Err(Problem::NotPermitted { writer: Writer::Plan, targets: missing }),
    }
}

/// The arguments of an agent that may write to these targets.
fn agent_arguments<'t>(
    destroy: impl IntoIterator<Item = &'t String>,
    destroy_data: impl IntoIterator<Item = &'t String>,
    max_cycles: u64,
) -> Vec<String> {
    let option = |name: &str, value: &str| [name.to_owned(), value.to_owned()];
    let destroy = destroy.into_iter().map(|target| option("--destroy", target));
    let data = destroy_data.into_iter().map(|target| option("--destroy-data", target));
    let cycles = option("--max-cycles", &max_cycles.to_string());
    destroy.chain(data).chain([cycles]).flatten().collect()
}

/// A folder of this machine for what runs here.
fn scratch() -> Result<TempDir, Problem> {
    let folder = tempfile::Builder::new().prefix("boardlab-").tempdir();
    folder.map_err(|problem| Problem::Unwritable { path: std::env::temp_dir(), problem })
}

/// Whether the user interrupted, from now on.
fn interrupts() -> Arc<AtomicBool> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let hangup = (!ignores_hangup()).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(hangup) {
        // Without a handler the signal ends the program, and the agent on its own notices.
        let _ = signal_hook::flag::register(signal, Arc::clone(&interrupted));
    }
    interrupted
}

/// Whether the program outlives its terminal: `nohup` starts it with SIGHUP ignored.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask >> (SIGHUP - 1) & 1 == 1)
}

/// Takes what comes until the agent, or what else `name` is, has ended. An interrupt ends it in order, and a second one
/// at once. Returns whether there was one.
fn follow(
    name: &str,
    board: &mut dyn Board,
    take: &mut dyn FnMut(&[u8]) -> Result<(), Problem>,
    progress: &Progress,
    interrupted: &AtomicBool,
) -> Result<bool, Problem> {
    let mut stopped: Option<Instant> = None;
    loop {
        match board.next(TICK) {
            Next::Bytes(bytes) => {
                if let Err(problem) = take(&bytes) {
                    board.stop();
                    return Err(problem);
                }
            }
            Next::Words(words) => progress.tell(&words),
            Next::Nothing => {}
            Next::Lost(why) => {
                progress.warn(&format!("the connection was lost: {why}"));
                return Ok(stopped.is_some());
            }
            Next::End => return Ok(stopped.is_some()),
        }
        let again = interrupted.swap(false, Ordering::Relaxed);
        match stopped {
            None if again => {
                progress.tell(&format!("ending {name} in order; a second Ctrl-C leaves it"));
                board.stop();
                stopped = Some(Instant::now());
            }
            Some(since) if again || since.elapsed() > PATIENCE => {
                board.abandon();
                progress.warn(&format!("{name} was left before it ended"));
                return Ok(true);
            }
            _ => {}
        }
    }
}
