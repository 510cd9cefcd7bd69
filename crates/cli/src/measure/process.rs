//! A program of this machine: the agent itself, or the ssh that runs it.
//!
//! Layer: rank 12. Main type: [`Process`]. Two threads read its streams; its standard input stays open, and its end
//! is a signal to whom it reaches.

use super::board::{Board, Next};
use super::problem::Problem;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// The bytes that are read at once.
const CHUNK: usize = 64 << 10;
/// The messages that wait at most.
const WAITING: usize = 64;
/// The bytes of a line for people.
const WORDS_MAX: u64 = 4_096;

/// How a program ends in order, and what becomes of it where nobody waits for that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// By the end of its input; then it is killed: ssh and the shell, with which the agent ends in order.
    Input,
    /// By a signal; then it is killed with its children: fio, whose jobs would go on writing.
    Kill,
}

/// A program that runs, and whose output is the measurement.
pub(super) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Next>,
    ending: Ending,
    /// Whether it is not waited for.
    is_abandoned: bool,
    /// What is kept as long as it runs.
    _kept: Option<tempfile::TempDir>,
}

impl Process {
    /// Starts `command`.
    pub(super) fn start(
        mut command: Command,
        ending: Ending,
        kept: Option<tempfile::TempDir>,
    ) -> Result<Self, Problem> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|problem| cannot_start(&command, problem))?;
        let (sender, messages) = sync_channel(WAITING);
        if let Some(output) = child.stdout.take() {
            let sender = sender.clone();
            thread::spawn(move || read_bytes(output, &sender));
        }
        if let Some(errors) = child.stderr.take() {
            thread::spawn(move || read_words(errors, &sender));
        }
        let input = child.stdin.take();
        Ok(Self { child, input, messages, ending, is_abandoned: false, _kept: kept })
    }

    fn signal(&self, signal: Signal) {
        // It may have ended meanwhile; then it is not waited for yet, and its number is still its own.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }
}

/// The children of `parent`, which may be in other process groups: fio puts each job in a session of its own.
fn children(parent: &Child) -> Vec<Pid> {
    let parent = parent.id();
    let list = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace().filter_map(|child| Pid::from_raw(child.parse().ok()?)).collect()
}

/// The problem that the program of `command` cannot be started.
pub(super) fn cannot_start(command: &Command, problem: std::io::Error) -> Problem {
    let program = command.get_program();
    Problem::CannotStart { program: OsStr::to_string_lossy(program).into_owned(), problem }
}

fn read_bytes(mut output: impl Read, sender: &SyncSender<Next>) {
    let mut chunk = vec![0; CHUNK];
    loop {
        match output.read(&mut chunk) {
            Ok(0) => return,
            Ok(length) => {
                if sender.send(Next::Bytes(chunk[..length].to_vec())).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                let _ = sender.send(Next::Lost(error.to_string()));
                return;
            }
        }
    }
}

fn read_words(errors: impl Read, sender: &SyncSender<Next>) {
    let mut errors = BufReader::new(errors);
    loop {
        let mut line = Vec::new();
        match errors.by_ref().take(WORDS_MAX).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {
                let words = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
                if sender.send(Next::Words(words)).is_err() {
                    return;
                }
            }
        }
    }
}

impl Board for Process {
    fn next(&mut self, wait: Duration) -> Next {
        match self.messages.recv_timeout(wait) {
            Ok(next) => next,
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => Next::End,
        }
    }

    fn stop(&mut self) {
        self.input = None;
        if self.ending != Ending::Input {
            self.signal(Signal::TERM);
        }
    }

    fn abandon(&mut self) {
        self.input = None;
        self.is_abandoned = true;
        match self.ending {
            Ending::Input => self.signal(Signal::KILL),
            Ending::Kill => {
                // Stopped, it starts no further ones.
                self.signal(Signal::STOP);
                for child in children(&self.child) {
                    let _ = kill_process(child, Signal::KILL);
                }
                self.signal(Signal::KILL);
            }
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Option<i32>, Problem> {
        if self.is_abandoned {
            return Ok(None);
        }
        let ended = self.child.wait();
        ended
            .map(|status| status.code())
            .map_err(|problem| Problem::CannotStart { program: "the agent".into(), problem })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn fio_is_left_with_none_of_its_jobs_running() {
        // A job in a session of its own, which no signal ends in order.
        let mut command = Command::new("sh");
        command
            .args(["-c", "trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$; sleep 60' & wait"]);
        let mut fio = Process::start(command, Ending::Kill, None).unwrap();
        let job = loop {
            if let Next::Bytes(bytes) = fio.next(Duration::from_secs(9)) {
                break String::from_utf8(bytes).unwrap();
            }
        };
        fio.stop();
        assert!(matches!(fio.next(Duration::from_millis(100)), Next::Nothing));
        fio.abandon();
        let is_running = || {
            let status = fs::read_to_string(format!("/proc/{}/stat", job.trim()));
            status.is_ok_and(|status| !status.contains(") Z "))
        };
        let began = Instant::now();
        while is_running() && began.elapsed() < Duration::from_secs(9) {
            thread::sleep(Duration::from_millis(10));
        }
        assert!(!is_running());
        assert_eq!(Box::new(fio).finish().unwrap(), None);
    }
}
