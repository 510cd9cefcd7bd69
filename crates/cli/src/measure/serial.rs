//! The agent on a board whose shell is at the other end of a serial line.
//!
//! Layer: rank 12. Function: [`start`]; main type: [`Serial`]. Nothing logs in: a prompt is expected. A shell without
//! a terminal of its own takes the commands, so that there are neither prompts nor line editing. Files go in
//! pieces as base64, each with the checksum of POSIX's `cksum`; a piece that was damaged is sent again. An interrupt
//! of the user is the character Ctrl-C, which the board's terminal makes a signal.

use super::agent::{PROGRAM, SOURCES};
use super::board::{Board, Next};
use super::port::Port;
use super::problem::Problem;
use super::{Order, script};
use crate::args::over::Line;
use crc::{CRC_32_CKSUM, Crc};
use data_encoding::BASE64;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long a shell may take for a small command.
const ANSWER: Duration = Duration::from_secs(5);
/// How long it may take until the shell answers at all, each time.
const GREETING: Duration = Duration::from_secs(2);
/// How long the compiler may take.
const COMPILING: Duration = Duration::from_secs(600);
/// How often something is tried.
const TRIES: usize = 3;
/// The bytes of a piece of a file.
const PIECE: usize = 1_536;
/// The characters of a line of base64.
const LINE: usize = 64;
/// What is before every answer. The commands that print it have it in two pieces, so that their echo is none.
const TOLD: &str = "boardlab-told:";
/// How the shell prints it.
const TELL: &str = "printf 'boardlab-%s:%s\\n' told";
/// Ctrl-C and Ctrl-D.
const INTERRUPT: &[u8] = b"\x03";
const END_OF_INPUT: &[u8] = b"\x04";

/// Starts the agent at the other end of `line`.
pub(super) fn start(
    line: &Line,
    order: &Order<'_>,
    interrupted: &AtomicBool,
) -> Result<Serial, Problem> {
    let mut shell = Shell { port: Port::open(line)?, interrupted };
    shell.greet()?;
    let prepared = prepare(&mut shell, order);
    let Shell { mut port, .. } = shell;
    match prepared {
        Ok(folder) => {
            port.send(format!("sh {folder}/{}\n", script::RUN).as_bytes())?;
            Ok(Serial { port, line: Vec::new(), status: None, is_left: false })
        }
        Err(problem) => {
            let _ = port.send(END_OF_INPUT);
            Err(problem)
        }
    }
}

/// Makes a folder on the board with all that is needed. Returns its path.
fn prepare(shell: &mut Shell<'_>, order: &Order<'_>) -> Result<String, Problem> {
    let folder = shell.ask("\"`mktemp -d /tmp/boardlab-XXXXXX`\"", ANSWER)?;
    if !script::is_folder(&folder) {
        return Err(shell.garbled());
    }
    match fill(shell, order, &folder) {
        Ok(()) => Ok(folder),
        Err(problem) => {
            let _ = shell.command(&format!("cd /; rm -rf {folder}"));
            Err(problem)
        }
    }
}

/// Writes what is needed into the folder of the board.
fn fill(shell: &mut Shell<'_>, order: &Order<'_>, folder: &str) -> Result<(), Problem> {
    shell.command(&format!("cd {folder}"))?;
    if shell.ask("\"`command -v base64`\"", ANSWER)?.is_empty() {
        return Err(Problem::Lacks { program: "base64" });
    }
    shell.file(script::PLAN, order.plan.as_bytes())?;
    // After an interrupt a prompt may be before it, and it has to begin a line.
    let told = format!("echo\n{TELL} $status");
    let run = script::run(folder, &order.arguments, false, &told);
    shell.file(script::RUN, run.as_bytes())?;
    match order.agent {
        Some(agent) => {
            let bytes = fs::read(agent);
            let bytes = bytes
                .map_err(|problem| Problem::AgentUnreadable { path: agent.into(), problem })?;
            shell.file(PROGRAM, &bytes)?;
            shell.command(&format!("chmod 755 {PROGRAM}"))
        }
        None => build(shell),
    }
}

/// Builds the agent on the board.
fn build(shell: &mut Shell<'_>) -> Result<(), Problem> {
    if shell.ask("\"`command -v cc`\"", ANSWER)?.is_empty() {
        return Err(Problem::NoCompiler);
    }
    for (name, source) in SOURCES {
        shell.file(name, source.as_bytes())?;
    }
    shell.command(&format!("{{ {}; }} >/dev/null 2>&1", script::compile()))?;
    match shell.ask("$?", COMPILING)?.as_str() {
        "0" => Ok(()),
        _ => Err(Problem::NotCompiled { why: String::new() }),
    }
}

/// The shell of the board.
struct Shell<'a> {
    port: Port,
    interrupted: &'a AtomicBool,
}

impl Shell<'_> {
    /// Waits for the shell, and starts one that takes commands without a prompt.
    fn greet(&mut self) -> Result<(), Problem> {
        for _ in 0..TRIES {
            // What is on the line was typed by somebody else, or is noise.
            self.port.send(format!("\n{TELL} ready\n").as_bytes())?;
            if self.answer(GREETING)?.as_deref() == Some("ready") {
                self.port.send(b"stty -echo 2>/dev/null; cat | sh; stty echo 2>/dev/null\n")?;
                // The echo of what follows may be mixed with it; an answer shows that the inner shell runs.
                self.port.send(format!("{TELL} inner\n").as_bytes())?;
                return match self.answer(ANSWER)?.as_deref() {
                    Some("inner") => Ok(()),
                    _ => Err(self.garbled()),
                };
            }
        }
        Err(Problem::Silent { path: self.port.path() })
    }

    /// Sends a command that prints nothing.
    fn command(&mut self, command: &str) -> Result<(), Problem> {
        self.port.send(format!("{command}\n").as_bytes())
    }

    /// What the shell makes of `word`.
    fn ask(&mut self, word: &str, wait: Duration) -> Result<String, Problem> {
        self.command(&format!("{TELL} {word}"))?;
        self.answer(wait)?.ok_or_else(|| Problem::Silent { path: self.port.path() })
    }

    /// The next answer.
    fn answer(&mut self, wait: Duration) -> Result<Option<String>, Problem> {
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Problem::Interrupted);
        }
        self.port.line(TOLD, wait)
    }

    /// Writes a file on the board.
    fn file(&mut self, name: &str, bytes: &[u8]) -> Result<(), Problem> {
        self.command(&format!(": > {name}"))?;
        for (piece, number) in bytes.chunks(PIECE).zip(1_u32..) {
            self.piece(name, piece, number)?;
        }
        let whole = self.ask(&format!("\"`cksum < {name}`\""), ANSWER)?;
        if whole == sum(bytes) { Ok(()) } else { Err(self.garbled()) }
    }

    /// Appends a piece to a file, again if it was damaged.
    fn piece(&mut self, name: &str, piece: &[u8], number: u32) -> Result<(), Problem> {
        let mut text = String::from("base64 -d > piece 2>/dev/null <<'END'\n");
        for line in BASE64.encode(piece).as_bytes().chunks(LINE) {
            text.extend(line.iter().map(|byte| char::from(*byte)));
            text.push('\n');
        }
        text.push_str("END\n");
        for attempt in 0..TRIES {
            self.port.send(text.as_bytes())?;
            let mark = format!("{number}-{attempt}:");
            self.command(&format!("{TELL} \"{mark}`cksum < piece`\""))?;
            let expected = format!("{mark}{}", sum(piece));
            // An answer to an earlier attempt may come late.
            while let Some(answer) = self.answer(ANSWER)? {
                if answer == expected {
                    return self.command(&format!("cat piece >> {name}"));
                }
                if answer.starts_with(&mark) {
                    break;
                }
            }
            // The end of the document may be what was damaged.
            self.command("\nEND")?;
        }
        Err(self.garbled())
    }

    fn garbled(&self) -> Problem {
        Problem::Garbled { path: self.port.path() }
    }
}

/// An agent at the other end of a serial line.
pub(super) struct Serial {
    port: Port,
    /// The beginning of a line that may say how the agent ended.
    line: Vec<u8>,
    /// The exit status of the agent.
    status: Option<i32>,
    /// Whether the shell that took the commands is gone, or left to itself.
    is_left: bool,
}

impl Serial {
    /// The bytes of the measurement in `bytes`: all but the line that says how the agent ended, which is the last one.
    fn measured(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut measured = Vec::with_capacity(bytes.len());
        for byte in bytes {
            self.line.push(*byte);
            let told = TOLD.as_bytes();
            let length = self.line.len().min(told.len());
            if self.line[..length] != told[..length] {
                // Of a line that was passed on in part, a mark is left.
                measured.extend(self.line.iter().filter(|byte| **byte != MIDDLE));
                self.line.clear();
                self.line.extend((*byte != b'\n').then_some(MIDDLE));
            } else if *byte == b'\n' {
                let status = String::from_utf8_lossy(&self.line[told.len()..]);
                self.status = Some(status.trim().parse().unwrap_or(-1));
                return measured;
            }
        }
        measured
    }
}

/// Stands for what was already passed on of a line.
const MIDDLE: u8 = 0;

impl Board for Serial {
    fn next(&mut self, _wait: Duration) -> Next {
        if self.status.is_some() {
            return Next::End;
        }
        match self.port.receive() {
            Err(error) => Next::Lost(error.to_string()),
            Ok(bytes) if bytes.is_empty() => Next::Nothing,
            Ok(bytes) => match self.measured(&bytes) {
                measured if measured.is_empty() => Next::Nothing,
                measured => Next::Bytes(measured),
            },
        }
    }

    fn stop(&mut self) {
        // It reaches the shell that takes the commands as well; its own parent is at the line again.
        let _ = self.port.send(INTERRUPT);
        self.is_left = true;
    }

    fn abandon(&mut self) {
        self.is_left = true;
    }

    fn finish(mut self: Box<Self>) -> Result<Option<i32>, Problem> {
        if !self.is_left {
            let _ = self.port.send(END_OF_INPUT);
        }
        Ok(self.status)
    }
}

/// What `cksum` prints of `bytes`: their checksum, behind which their number is summed, and their number
/// (POSIX.1-2017, cksum).
fn sum(bytes: &[u8]) -> String {
    const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_CKSUM);
    let mut digest = CRC.digest();
    digest.update(bytes);
    let length = bytes.len().to_le_bytes();
    let digits = length.iter().rposition(|digit| *digit > 0).map_or(0, |last| last + 1);
    digest.update(&length[..digits]);
    format!("{} {}", digest.finalize(), bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_cksum() {
        for text in ["", "a", "boardlab\n"] {
            let output = std::process::Command::new("sh")
                .args(["-c", "printf %s \"$0\" | cksum", text])
                .output()
                .unwrap();
            assert_eq!(String::from_utf8(output.stdout).unwrap().trim(), sum(text.as_bytes()));
        }
    }
}
