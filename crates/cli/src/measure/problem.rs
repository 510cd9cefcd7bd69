//! What can go wrong before, while and after an agent runs.
//!
//! Layer: rank 12. Main type: [`Problem`]; the program's error renders it.

use crate::error::{ReadProblem, shown_path};
use crate::exit::Status;
use boardlab_measure::foreign;
use boardlab_measure::plan::Flaw;
use boardlab_result::foreign::shown_at_most;
use std::io;
use std::path::{Path, PathBuf};

/// The number of characters of what a board says that an error repeats.
const TEXT_SHOWN: usize = 600;
/// What to do where a board cannot compile.
const BUILD: &str = "build the agent here: boardlab measure agent DIR; make -C DIR BUILD=build CC=arm-linux-gnueabi-gcc \
                     LDFLAGS=-static; then give --agent DIR/build/boardlab-agent";

/// What would write.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Writer {
    /// Steps of a plan.
    Plan,
    /// Jobs of fio.
    Jobs,
}

impl Writer {
    /// A part of it.
    const fn part(self) -> &'static str {
        match self {
            Self::Plan => "step of the plan",
            Self::Jobs => "job",
        }
    }

    /// That it writes.
    const fn writes(self) -> &'static str {
        match self {
            Self::Plan => "the plan writes",
            Self::Jobs => "the jobs write",
        }
    }
}

/// Why a plan was not run to its end.
#[derive(Debug)]
pub(crate) enum Problem {
    /// The plan cannot be read.
    PlanUnreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: ReadProblem,
    },
    /// A measurement cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: ReadProblem,
    },
    /// A file has no line of the agent.
    NoMeasurement {
        /// The file.
        path: PathBuf,
    },
    /// A file of another program is not what it seems to be.
    NotForeign {
        /// The file.
        path: PathBuf,
        /// The program.
        program: &'static str,
        /// What is wrong.
        problem: foreign::Problem,
    },
    /// The file is no plan.
    NoPlan {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        flaw: Flaw,
    },
    /// A target is named for destruction, and no step writes to it.
    NotWritten {
        /// What does not write to it.
        writer: Writer,
        /// The target.
        target: String,
        /// Those to which steps write.
        written: Vec<String>,
    },
    /// Steps write to targets that are not named for destruction.
    NotPermitted {
        /// What writes to them.
        writer: Writer,
        /// The targets.
        targets: Vec<String>,
    },
    /// The file for the measurements is there already.
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    Unwritable {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: io::Error,
    },
    /// The agent of the user cannot be read.
    AgentUnreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: io::Error,
    },
    /// The agent of the user is a folder or a device.
    AgentNotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A program of this machine cannot be started.
    CannotStart {
        /// The program.
        program: String,
        /// Why.
        problem: io::Error,
    },
    /// The agent cannot be compiled.
    NotCompiled {
        /// What the compiler says.
        why: String,
    },
    /// The board has no compiler.
    NoCompiler,
    /// ssh reaches no shell.
    NoConnection {
        /// The host.
        host: String,
        /// What ssh says.
        why: String,
    },
    /// The board does not take the agent.
    NotPrepared {
        /// The host.
        host: String,
        /// What its shell says.
        why: String,
    },
    /// A serial line fails.
    Tty {
        /// Its device.
        path: PathBuf,
        /// Why.
        problem: io::Error,
    },
    /// A file is no serial line.
    NotATty {
        /// The file.
        path: PathBuf,
    },
    /// Nothing answers at the other end of a serial line.
    Silent {
        /// Its device.
        path: PathBuf,
    },
    /// What is sent over a serial line does not arrive as it is.
    Garbled {
        /// Its device.
        path: PathBuf,
    },
    /// The board at the other end of a serial line lacks a program.
    Lacks {
        /// The program.
        program: &'static str,
    },
    /// The agent refuses the device.
    Refused {
        /// Why.
        why: String,
    },
    /// A device cannot be opened.
    DeviceUnopened {
        /// Its name.
        target: String,
        /// Why.
        problem: io::Error,
    },
    /// fio is for block devices.
    NotABlockDevice {
        /// What else was named.
        target: String,
    },
    /// A device became another one between the check and the run.
    Changed {
        /// Its name.
        target: String,
    },
    /// fio ended without a report, or with a part of one.
    NoReport,
    /// fio on a device gives its JSON only.
    OnlyJson,
    /// The scenario has no fio jobs.
    NoJobs {
        /// The scenario.
        scenario: String,
    },
    /// The user interrupted before anything was measured.
    Interrupted,
    /// The agent ended, and nothing of it came.
    NothingCame {
        /// Its exit status.
        status: Option<i32>,
    },
}

impl Problem {
    /// The exit status.
    pub(crate) const fn status(&self) -> Status {
        match self {
            Self::NotPermitted { .. } | Self::Refused { .. } | Self::Changed { .. } => {
                Status::Refused
            }
            Self::PlanUnreadable { .. }
            | Self::Unreadable { .. }
            | Self::NoMeasurement { .. }
            | Self::NotForeign { .. }
            | Self::NoPlan { .. }
            | Self::NotWritten { .. }
            | Self::Exists { .. }
            | Self::AgentUnreadable { .. }
            | Self::AgentNotAFile { .. }
            | Self::NotATty { .. }
            | Self::DeviceUnopened { .. }
            | Self::NotABlockDevice { .. }
            | Self::OnlyJson
            | Self::NoJobs { .. } => Status::Input,
            Self::Unwritable { .. }
            | Self::CannotStart { .. }
            | Self::NotCompiled { .. }
            | Self::NoCompiler
            | Self::NoConnection { .. }
            | Self::NotPrepared { .. }
            | Self::Tty { .. }
            | Self::Silent { .. }
            | Self::Garbled { .. }
            | Self::Lacks { .. }
            | Self::Interrupted
            | Self::NoReport
            | Self::NothingCame { .. } => Status::Failed,
        }
    }

    /// What is wrong.
    pub(crate) fn title(&self) -> String {
        let quoted = |path: &Path| format!("`{}`", shown_path(path));
        match self {
            Self::PlanUnreadable { path, problem } => {
                format!("cannot read the plan {}: {problem}", quoted(path))
            }
            Self::Unreadable { path, problem } => {
                format!("cannot read {}: {problem}", quoted(path))
            }
            Self::NoMeasurement { path } => format!("{} has no measurement", quoted(path)),
            Self::NotForeign { program, problem: foreign::Problem::Flaw(flaw), .. } => {
                format!("not of {program}: found {}, expected {}", flaw.found, flaw.expected)
            }
            Self::NotForeign { path, problem, .. } => {
                format!("cannot read {}: {problem}", quoted(path))
            }
            Self::NoPlan { flaw, .. } => {
                format!("not a plan: found {}, expected {}", flaw.found, flaw.expected)
            }
            Self::NotWritten { writer, target, .. } => {
                format!("no {} writes to `{}`", writer.part(), shown(target))
            }
            Self::NotPermitted { writer, targets } => {
                format!("refused: {} to {}", writer.writes(), listed(targets))
            }
            Self::Exists { path } => format!("{} exists already", quoted(path)),
            Self::Unwritable { path, problem } => {
                format!("cannot write {}: {}", quoted(path), reason(problem))
            }
            Self::AgentUnreadable { path, problem } => {
                format!("cannot read the agent {}: {}", quoted(path), reason(problem))
            }
            Self::AgentNotAFile { path } => format!("the agent {} is no file", quoted(path)),
            Self::CannotStart { program, problem } => {
                format!("cannot run `{}`: {}", shown(program), reason(problem))
            }
            Self::NotCompiled { why } => with("the agent cannot be compiled", why),
            Self::NoCompiler => "the board has no C compiler `cc`".into(),
            Self::NoConnection { host, why } => with(&format!("ssh does not reach `{host}`"), why),
            Self::NotPrepared { host, why } => {
                with(&format!("`{host}` does not take the agent"), why)
            }
            Self::Tty { path, problem } => {
                format!("the serial line {} fails: {}", quoted(path), reason(problem))
            }
            Self::NotATty { path } => format!("{} is no serial line", quoted(path)),
            Self::Silent { path } => format!("no shell answers at {}", quoted(path)),
            Self::Garbled { path } => format!("what is sent over {} is damaged", quoted(path)),
            Self::Lacks { program, .. } => format!("the board has no `{program}`"),
            Self::Refused { why } => format!("refused: {}", shown(why)),
            Self::DeviceUnopened { target, problem } => {
                format!("cannot open `{}`: {}", shown(target), reason(problem))
            }
            Self::NotABlockDevice { target } => format!("`{}` is no block device", shown(target)),
            Self::Changed { target } => {
                format!("refused: `{}` became another device after the check", shown(target))
            }
            Self::NoReport => "fio ended without a whole report".into(),
            Self::OnlyJson => "of fio on a device there is only its JSON".into(),
            Self::NoJobs { scenario } => format!("`{}` has no fio jobs", shown(scenario)),
            Self::Interrupted => "interrupted before the measurement".into(),
            Self::NothingCame { status } => match status {
                Some(status) => {
                    format!("the agent ended with status {status} and measured nothing")
                }
                None => "the agent ended and measured nothing".into(),
            },
        }
    }

    /// What to try.
    pub(crate) fn help(&self) -> String {
        match self {
            Self::PlanUnreadable { .. } | Self::NoPlan { .. } => {
                "make one: boardlab measure plan SCENARIO > board.plan; its form: docs/formats/measurement-plan.md"
                    .into()
            }
            Self::Unreadable { .. } | Self::NoMeasurement { .. } => {
                "name a file of `boardlab measure run`, the agent, fio (JSON), iostat -x, blkparse or flash_speed".into()
            }
            Self::NotForeign { .. } => "what is read of which program: docs/formats/foreign-measurements.md".into(),
            Self::NotWritten { written, .. } if written.is_empty() => "leave it out: there are only reads".into(),
            Self::NotWritten { written, .. } => {
                format!("name what is written: {}", listed(written))
            }
            Self::NotPermitted { targets, .. } => {
                let options: Vec<_> =
                    targets.iter().map(|target| format!("--destroy {}", shown(target))).collect();
                format!("what is there is lost; if that is meant: {}", options.join(" "))
            }
            Self::Exists { .. } => "a measurement is never overwritten; name another file with --save".into(),
            Self::Unwritable { .. } => "make room, or name another place: --save FILE, TMPDIR for temporary files".into(),
            Self::AgentUnreadable { .. } | Self::AgentNotAFile { .. } => {
                "name the program with --agent FILE, or leave it out".into()
            }
            Self::CannotStart { program, .. } if program == "cc" => {
                "install a C compiler, or give --agent FILE".into()
            }
            Self::CannotStart { program, .. } if program == "fio" => {
                "install fio, version 3 (Debian's package fio)".into()
            }
            Self::CannotStart { program, .. } if program == "ssh" => "install an ssh client".into(),
            Self::CannotStart { .. } => "is it a program for this machine?".into(),
            Self::NotCompiled { .. } | Self::NoCompiler => BUILD.into(),
            Self::NoConnection { host, .. } => format!("try it by hand: ssh {host} true"),
            Self::NotPrepared { .. } => {
                "the board needs a POSIX shell, mktemp, and room in /tmp".into()
            }
            Self::Tty { .. } | Self::NotATty { .. } => {
                "name the device of the line, such as serial:/dev/ttyUSB0:115200; another program may have it".into()
            }
            Self::Silent { .. } => {
                "log in first, with a terminal program, and leave it at the prompt; is the speed right?".into()
            }
            Self::Garbled { .. } => "is the speed right, and is nobody else at the line?".into(),
            Self::Lacks { .. } => "install it, or use --over ssh".into(),
            Self::Refused { .. } | Self::Changed { .. } => "nothing was written".into(),
            Self::DeviceUnopened { .. } => {
                "is it there, may you open it, and does nothing else use it? A symbolic link is not followed".into()
            }
            Self::NotABlockDevice { .. } => "name a disk, a card or a partition, such as /dev/mmcblk0".into(),
            Self::OnlyJson => "give --format fio-json, table, json or csv".into(),
            Self::NoJobs { .. } => {
                "--on is for a job file, card-fio or drive-fio; other workloads: boardlab measure plan".into()
            }
            Self::Interrupted => "nothing was measured".into(),
            Self::NoReport => {
                "its messages are above; is there room in the folder for temporary files (TMPDIR)?".into()
            }
            Self::NothingCame { .. } => "its messages are above".into(),
        }
    }

    /// The file that is to blame.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::PlanUnreadable { path, .. }
            | Self::Unreadable { path, .. }
            | Self::NoMeasurement { path }
            | Self::NoPlan { path, .. }
            | Self::NotForeign { path, .. }
            | Self::Exists { path }
            | Self::Unwritable { path, .. }
            | Self::AgentUnreadable { path, .. }
            | Self::AgentNotAFile { path } => Some(path),
            _ => None,
        }
    }

    /// The line and the column in it.
    pub(crate) const fn at(&self) -> Option<(usize, usize)> {
        match self {
            Self::NoPlan { flaw, .. }
            | Self::NotForeign { problem: foreign::Problem::Flaw(flaw), .. } => {
                Some((flaw.line, flaw.column))
            }
            _ => None,
        }
    }
}

fn shown(text: &str) -> String {
    shown_at_most(text, TEXT_SHOWN)
}

fn reason(problem: &io::Error) -> String {
    boardlab_document::error::reason(problem)
}

/// `title`, and the last lines of what another program says.
fn with(title: &str, why: &str) -> String {
    let lines: Vec<_> = why.trim().lines().collect();
    match &lines[lines.len().saturating_sub(3)..] {
        [] => title.into(),
        last => format!("{title}: {}", shown(&last.join("; "))),
    }
}

fn listed(targets: &[String]) -> String {
    let targets: Vec<_> = targets.iter().map(|target| format!("`{}`", shown(target))).collect();
    targets.join(", ")
}
