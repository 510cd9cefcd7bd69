//! The same switches on QEMU, which the publication used: a machine without caches and TLB.
//!
//! Layer: rank 11. Main types: [`QemuSwitches`], [`Absent`]; function: [`run`]. QEMU counts a fixed time for each instruction (`-icount`), so that a run
//! hardly depends on the host; waits take their real time. (With `sleep=off`, which skips them, QEMU 7.2 takes two periods of the timer for one.)
//! Whether it is installed decides whether these rows are there at all.

use super::guest::{PROMPT, Problem, number};
use super::measure::Way;
use super::switches::{at_once_commands, quantum_commands};
use crate::fcse::scenario::Scenario;
use boardlab_computer::built_in;
use boardlab_experiment::Cause;
use boardlab_sim::Duration;
use std::fs;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration as WallTime;
use tempfile::NamedTempFile;

/// QEMU's time for an instruction is 2 to this power nanoseconds.
const SHIFT: u32 = 2;
/// Real time for a command.
const PATIENCE: WallTime = WallTime::from_secs(60);

/// Why there are no rows of QEMU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Absent {
    /// The command that was not found.
    pub(crate) command: String,
}

/// Switches on QEMU, by its clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QemuSwitches {
    pub(crate) way: Way,
    /// Those of table 1, from a timer interrupt on, in whole periods of the timer.
    pub(crate) waiting: Duration,
    /// As many at once, to the microsecond.
    pub(crate) at_once: Duration,
}

/// Both ways on QEMU, or that it is not there.
pub(crate) fn run(scenario: &Scenario) -> Result<Result<Vec<QemuSwitches>, Absent>, Cause> {
    let written;
    let kernel = match &scenario.path {
        Some(path) => path,
        None => {
            written = NamedTempFile::with_prefix("boardlab-kernel-")?;
            fs::write(&written, built_in::KERNEL)?;
            written.path()
        }
    };
    let mut all = Vec::new();
    for way in [Way::Tables, Way::Fcse] {
        let Some(mut console) = Console::start(&scenario.qemu, kernel, way)? else {
            return Ok(Err(Absent { command: scenario.qemu.clone() }));
        };
        console.await_prompt("boot")?;
        let published = &scenario.published;
        let waiting = console.last_of(&quantum_commands(published, Duration::ZERO))?;
        let at_once = console.last_of(&at_once_commands(published))?;
        let tick = published.tick.as_nanos();
        let (waiting, at_once) = (nearest(waiting, tick), nearest(at_once, 1_000));
        all.push(QemuSwitches { way, waiting, at_once });
    }
    Ok(Ok(all))
}

/// To whole units of so many nanoseconds, half of one up: below it, runs of QEMU differ with what else the host does.
fn nearest(time: Duration, unit: u64) -> Duration {
    Duration::from_nanos((time.as_nanos() + unit / 2) / unit * unit)
}

/// A running QEMU, which ends with this.
struct Console {
    child: Child,
    output: Receiver<Vec<u8>>,
    printed: Vec<u8>,
}

impl Drop for Console {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Console {
    fn start(program: &str, kernel: &Path, way: Way) -> io::Result<Option<Self>> {
        let started = command(program, kernel, way).spawn();
        let mut child = match started {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            started => started?,
        };
        let (sender, output) = mpsc::channel();
        if let Some(mut from) = child.stdout.take() {
            thread::spawn(move || {
                let mut bytes = [0; 4_096];
                while let Ok(count @ 1..) = from.read(&mut bytes) {
                    if sender.send(bytes[..count].to_vec()).is_err() {
                        return;
                    }
                }
            });
        }
        Ok(Some(Self { child, output, printed: Vec::new() }))
    }

    fn await_prompt(&mut self, command: &str) -> Result<(), Problem> {
        while !self.printed.ends_with(PROMPT) {
            let what = match self.output.recv_timeout(PATIENCE) {
                Ok(bytes) => {
                    self.printed.extend(bytes);
                    continue;
                }
                Err(RecvTimeoutError::Timeout) => "the prompt did not come back",
                Err(RecvTimeoutError::Disconnected) => "QEMU ended",
            };
            return Err(Problem::new(what, command, &self.printed));
        }
        Ok(())
    }

    /// Types commands; returns the time that the last one prints.
    fn last_of(&mut self, commands: &[String; 3]) -> Result<Duration, Cause> {
        for command in commands {
            self.printed.clear();
            let line = format!("{command}\n");
            let input = self.child.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe);
            input.map_err(io::Error::from)?.write_all(line.as_bytes())?;
            self.await_prompt(command)?;
        }
        let [.., command] = commands;
        let time = number(&String::from_utf8_lossy(&self.printed), "chg");
        let missing = || Problem::new("no line `chg`", command, &self.printed);
        Ok(time.map(Duration::from_nanos).ok_or_else(missing)?)
    }
}

fn command(program: &str, kernel: &Path, way: Way) -> Command {
    let mut command = Command::new(program);
    command
        .args(["-M", "realview-eb", "-cpu", "arm926", "-m", "128", "-display", "none"])
        .args(["-audiodev", "none,id=none", "-monitor", "none", "-serial", "stdio"])
        .args(["-semihosting", "-icount", &format!("shift={SHIFT}")])
        .args(["-append", way.options(), "-kernel"])
        .arg(kernel)
        .env("QEMU_AUDIO_DRV", "none")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}
