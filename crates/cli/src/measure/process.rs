//! A program of this machine: the agent itself, or the ssh that runs it.
//!
//! Layer: rank 12. Main type: [`Process`]. Two threads read its streams; its standard input stays open, and its end
//! is a signal to whom it reaches.

use super::board::{Board, Next};
use super::problem::Problem;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
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

/// A program that runs, and whose output is the measurement.
pub(super) struct Process {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Next>,
    /// Whether the end of its input ends the agent, and not a signal.
    ends_with_input: bool,
    /// Whether it is not waited for.
    is_abandoned: bool,
    /// What is kept as long as it runs.
    _kept: Option<tempfile::TempDir>,
}

impl Process {
    /// Starts `command`, which ends in order by a signal, or where `ends_with_input` by the end of its input.
    pub(super) fn start(
        mut command: Command,
        ends_with_input: bool,
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
        Ok(Self { child, input, messages, ends_with_input, is_abandoned: false, _kept: kept })
    }

    fn signal(&self, signal: Signal) {
        // It may have ended meanwhile; then it is not waited for yet, and its number is still its own.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }
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
        if !self.ends_with_input {
            self.signal(Signal::TERM);
        }
    }

    fn abandon(&mut self) {
        self.input = None;
        self.is_abandoned = true;
        // The connection ends, and with it the agent; one on this machine ends in order by itself.
        if self.ends_with_input {
            self.signal(Signal::KILL);
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
