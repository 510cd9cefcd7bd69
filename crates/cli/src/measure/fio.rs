//! fio itself, on a block device of this machine.
//!
//! Layer: rank 12. Function: [`run`]. fio checks little of what it writes to. So the agent checks the device first, by a
//! plan that writes as much as the jobs. Then the device is opened, exclusively where jobs write, and fio gets what
//! is open: nothing can come in between under the same name.

use super::board::Board as _;
use super::problem::{Problem, Writer};
use super::process::{Ending, Process};
use super::{AGENT, Order, agent, agent_arguments, follow, interrupts, local, scratch};
use crate::args::OnDevice;
use crate::error::Error;
use crate::progress::Progress;
use boardlab_cards::fio::DeviceJobs;
use boardlab_measure::foreign::Foreign;
use boardlab_measure::foreign::fio::Report;
use boardlab_measure::plan::Plan;
use boardlab_measure::reading::{self, Reading};
use boardlab_result::{Attachment, RunResult};
use rustix::fs::{FileType, Mode, OFlags, fstat, major, minor, open};
use std::fs;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// The program.
const FIO: &str = "fio";
/// What it writes, and what it reads.
const REPORT: &str = "fio.json";
const JOBS: &str = "jobs.fio";
/// The largest log that becomes a part of the result, in bytes.
const LOG_MAX: u64 = 64 << 20;
/// Jobs that need other capacities than this share of the model's differ from the prediction.
const LIKE: u64 = 10;

/// Runs the jobs on the device called `name`: the figures of fio beside those of the model.
pub(crate) fn run(
    name: &str,
    options: &OnDevice,
    jobs: &DeviceJobs,
    quiet: bool,
) -> Result<Foreign, Error> {
    expect_permission(name, options, jobs)?;
    if let Some(agent) = &options.agent {
        agent::expect_file(agent)?;
    }
    let version = Command::new(FIO).arg("--version").output();
    version.map_err(|problem| Problem::CannotStart { program: FIO.into(), problem })?;
    let before = Device::open(name, false)?;
    let interrupted = interrupts();
    let progress = Progress::begin(FIO, quiet);
    let board = check(options, &jobs.plan(name), &progress, &interrupted)?;
    let device = Device::open(name, jobs.write())?;
    if device.number != before.number {
        return Err(Problem::Changed { target: name.into() }.into());
    }
    let folder = scratch()?;
    let text = jobs.text(&device.path())?;
    let path = folder.path().join(JOBS);
    fs::write(&path, text).map_err(|problem| Problem::Unwritable { path, problem })?;
    if interrupted.load(Ordering::Relaxed) {
        return Err(Problem::Interrupted.into());
    }
    let scheduler = Scheduler::set(&device, &jobs.schedulers());
    let ended = perform(folder.path(), jobs.write(), &progress, &interrupted);
    let scheduler = scheduler.map_or_else(Some, |set| set.and_then(Scheduler::put_back));
    drop(progress);
    let (status, is_interrupted) = ended?;
    let report = report(folder.path())?;
    let mut run = report.beside(&jobs.predicted, name, &board);
    run.warnings.extend(scheduler);
    run.warnings.extend(warnings(&device, jobs, status, is_interrupted));
    attach(&mut run, folder.path())?;
    let is_whole = report.is_whole && status == Some(0) && !is_interrupted;
    Ok(Foreign { run, is_whole })
}

/// Jobs that write need the name of the device once more; others must not have it.
fn expect_permission(name: &str, options: &OnDevice, jobs: &DeviceJobs) -> Result<(), Problem> {
    let writer = Writer::Jobs;
    let named = options.destroy.as_ref().or(options.destroy_data.as_ref());
    match named {
        None if jobs.write() => Err(Problem::NotPermitted { writer, targets: vec![name.into()] }),
        Some(target) if !jobs.write() || target != name => {
            let written = if jobs.write() { vec![name.into()] } else { Vec::new() };
            Err(Problem::NotWritten { writer, target: target.clone(), written })
        }
        _ => Ok(()),
    }
}

/// Has the agent check the device by a plan like the jobs; what it tells of the machine.
fn check(
    options: &OnDevice,
    plan: &Plan,
    progress: &Progress,
    interrupted: &AtomicBool,
) -> Result<Reading, Problem> {
    let OnDevice { destroy, destroy_data, max_cycles, .. } = options;
    let mut arguments = vec![String::from("--check")];
    arguments.extend(agent_arguments(destroy, destroy_data, *max_cycles));
    let plan = plan.to_string();
    let mut agent = local::start(&Order { plan, arguments, agent: options.agent.as_deref() })?;
    let mut bytes = Vec::new();
    let mut take = |more: &[u8]| {
        bytes.extend_from_slice(more);
        Ok(())
    };
    let is_interrupted = follow(AGENT, &mut agent, &mut take, progress, interrupted)?;
    let status = Box::new(agent).finish()?;
    if is_interrupted {
        return Err(Problem::Interrupted);
    }
    let readings = reading::read(&bytes[..]);
    let reading = readings.ok().and_then(|all| all.into_iter().next()).unwrap_or_default();
    match reading.refusal {
        Some(refusal) => Err(Problem::Refused { why: refusal.why }),
        None if status == Some(0) => Ok(reading),
        None => Err(Problem::NothingCame { status }),
    }
}

/// Runs fio in `folder`, which may write to the device where jobs `write`. Its exit status, and whether the user
/// interrupted it.
fn perform(
    folder: &Path,
    write: bool,
    progress: &Progress,
    interrupted: &AtomicBool,
) -> Result<(Option<i32>, bool), Problem> {
    let mut command = Command::new(FIO);
    command.args(["--output-format=json+", "--eta=never"]);
    if !write {
        command.arg("--readonly");
    }
    command.arg(format!("--output={REPORT}")).arg(JOBS).current_dir(folder);
    // In a group of its own, so that the signal of a terminal reaches it by us alone.
    command.process_group(0);
    let mut fio = Process::start(command, Ending::Kill, None)?;
    let mut take = |words: &[u8]| {
        progress.tell(String::from_utf8_lossy(words).trim_end());
        Ok(())
    };
    let is_interrupted = follow(FIO, &mut fio, &mut take, progress, interrupted)?;
    Ok((Box::new(fio).finish()?, is_interrupted))
}

/// What fio reports.
fn report(folder: &Path) -> Result<Report, Problem> {
    let bytes = fs::read(folder.join(REPORT)).unwrap_or_default();
    Report::read(&String::from_utf8_lossy(&bytes)).map_err(|_| Problem::NoReport)
}

/// What fio wrote becomes part of the result: its report, and the logs that the jobs ask for.
fn attach(run: &mut RunResult, folder: &Path) -> Result<(), Problem> {
    let unreadable = |path: &Path, problem| Problem::Unwritable { path: path.into(), problem };
    let entries = fs::read_dir(folder).map_err(|problem| unreadable(folder, problem))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_log = name.ends_with(".log");
        if name != REPORT && !is_log {
            continue;
        }
        if fs::metadata(&path).is_ok_and(|metadata| metadata.len() > LOG_MAX) {
            run.warnings.push(format!(
                "The log {name} has more than {} MiB and is left out.",
                LOG_MAX >> 20
            ));
            continue;
        }
        let bytes = fs::read(&path).map_err(|problem| unreadable(&path, problem))?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let title =
            if is_log { "log of fio" } else { "what fio prints with --output-format=json+" };
        run.attachments.push(Attachment::named(&name, title.into(), text));
    }
    Ok(())
}

fn warnings(
    device: &Device,
    jobs: &DeviceJobs,
    status: Option<i32>,
    interrupted: bool,
) -> Vec<String> {
    let mut warnings = Vec::new();
    match status {
        _ if interrupted => warnings.push("fio was interrupted: its figures are partial.".into()),
        Some(0) => {}
        Some(status) => warnings.push(format!("fio ended with status {status}.")),
        None => warnings.push("fio was ended by a signal.".into()),
    }
    let model = jobs.capacity().get();
    if let Some(capacity) = device.capacity()
        && capacity.abs_diff(model) > model / LIKE
    {
        warnings.push(format!(
            "The device has {capacity} bytes and that of the model {model}: jobs that depend on the size differ. \
             --set part=NAME chooses another one."
        ));
    }
    warnings
}

/// An open block device.
struct Device {
    file: OwnedFd,
    number: u64,
}

impl Device {
    fn open(name: &str, exclusively: bool) -> Result<Self, Problem> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let flags = if exclusively { flags | OFlags::EXCL } else { flags };
        let problem = |problem: rustix::io::Errno| Problem::DeviceUnopened {
            target: name.into(),
            problem: problem.into(),
        };
        let file = open(name, flags, Mode::empty()).map_err(problem)?;
        let status = fstat(&file).map_err(problem)?;
        match FileType::from_raw_mode(status.st_mode) {
            FileType::BlockDevice => Ok(Self { file, number: status.st_rdev }),
            _ => Err(Problem::NotABlockDevice { target: name.into() }),
        }
    }

    /// The path by which another process opens what is open here.
    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }

    /// Its folder in sysfs.
    fn folder(&self) -> PathBuf {
        format!("/sys/dev/block/{}:{}", major(self.number), minor(self.number)).into()
    }

    fn capacity(&self) -> Option<u64> {
        let sectors = fs::read_to_string(self.folder().join("size")).ok()?;
        sectors.trim().parse::<u64>().ok()?.checked_mul(512)
    }
}

/// The I/O scheduler of a device, which jobs choose.
struct Scheduler {
    path: PathBuf,
    before: String,
}

impl Scheduler {
    /// Sets what the jobs name. The error is what is to be told.
    fn set(device: &Device, named: &[&str]) -> Result<Option<Self>, String> {
        let name = match named {
            [] => return Ok(None),
            [name] => *name,
            several => {
                return Err(format!(
                    "The jobs name several I/O schedulers ({}): none is set.",
                    several.join(", ")
                ));
            }
        };
        // Of a partition that of its disk.
        let folder = device.folder();
        let mut paths =
            [folder.join("queue/scheduler"), folder.join("../queue/scheduler")].into_iter();
        let found = paths.find_map(|path| Some(Self { before: chosen(&path)?, path }));
        let Some(found) = found else {
            return Err(format!("The device has no I/O scheduler; `{name}` is not set."));
        };
        match fs::write(&found.path, name) {
            Ok(()) => Ok(Some(found)),
            Err(error) => Err(format!("The I/O scheduler cannot be set to `{name}`: {error}.")),
        }
    }

    /// Sets the one that was there before. Returns what is to be told.
    fn put_back(self) -> Option<String> {
        let Self { path, before } = self;
        let problem = fs::write(path, &before).err()?;
        Some(format!("The I/O scheduler cannot be set to `{before}` again: {problem}."))
    }
}

/// The scheduler in brackets: `mq-deadline [none]`.
fn chosen(path: &Path) -> Option<String> {
    let all = fs::read_to_string(path).ok()?;
    Some(all.split_once('[')?.1.split_once(']')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_check_that_the_user_interrupts_permits_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let agent = folder.path().join("agent");
        fs::write(&agent, "#!/bin/sh\ntrap 'exit 0' TERM\nsleep 9 >/dev/null 2>&1 & wait\n")
            .unwrap();
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o755)).unwrap();
        let options = OnDevice {
            on: None,
            destroy: None,
            destroy_data: None,
            max_cycles: 1,
            agent: Some(agent),
        };
        let progress = Progress::begin("test", true);
        let checked = check(&options, &Plan::new("test"), &progress, &AtomicBool::new(true));
        assert!(matches!(checked, Err(Problem::Interrupted)), "{checked:?}");
    }
}
