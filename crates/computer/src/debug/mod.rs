//! A program under GDB, by its remote protocol.
//!
//! Layer: rank 9. [`Session::debug`] speaks with GDB over a [`Connection`]. In reading order: [`packets`], frames and acknowledgments;
//! [`commands`], what GDB may ask for; [`arch`], the registers; `target`, the machine as GDB sees it. Nothing that comes
//! over the line ends the connection but the words for it (`D`, `k`), and nothing at all loses the machine: it is the
//! session's.

pub mod arch;
pub mod commands;
pub mod packets;
mod target;

use super::failure::Failure;
use super::run::Console;
use super::session::Session;
use commands::{Command, Resume};
use packets::{GdbInput, MALFORMED, PACKET, Packets};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
use target::{DebugTarget, Reason};

/// Packets that wait for a program that runs to stop.
const WAITING: usize = 16;
/// The answer to more of them (EBUSY).
const BUSY: &str = "E10";
/// Bytes of `monitor` in one packet: GDB takes as much as it may send.
const TOLD: usize = PACKET / 2 - 1;

/// The way to GDB: bytes both ways.
pub trait Connection {
    /// What came since the last question, a bounded piece at a time: nothing is nothing, unless `wait` says to wait for something.
    ///
    /// # Errors
    /// Of the line; the end of the line is one.
    fn receive(&mut self, wait: bool) -> io::Result<Vec<u8>>;

    /// Sends bytes.
    ///
    /// # Errors
    /// Of the line.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;
}

/// How a session with GDB ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEnd {
    /// GDB said that it leaves.
    Left,
    /// The line ended or broke without a word. The program is where it was.
    Lost,
    /// GDB ended the program.
    Killed,
    /// The program ended itself.
    Exited(u8),
}

impl Session {
    /// Lets GDB at the other end of `connection` debug the program, from where it is now. The next one may go on from where this one stopped.
    ///
    /// # Errors
    /// When the console breaks.
    pub fn debug<C: Connection>(
        &mut self,
        connection: C,
        console: &mut dyn Console,
    ) -> Result<SessionEnd, Failure> {
        let target = DebugTarget::new(self, console);
        let mut server = Server {
            line: connection,
            packets: Packets::default(),
            waiting: VecDeque::new(),
            interrupted: false,
            target,
        };
        let ended = server.serve();
        server.target.points().clear();
        self.usual_engine();
        match ended {
            Ok(parted) => Ok(parted),
            Err(Broken::Line) => Ok(SessionEnd::Lost),
            Err(Broken::Console(error)) => Err(Failure::Console(error)),
        }
    }
}

/// What does not work any more.
enum Broken {
    /// The line to GDB: it does not matter how.
    Line,
    /// The console.
    Console(io::Error),
}

/// What to do behind a command.
enum Next {
    /// To wait for the next one.
    Wait,
    /// To run the program.
    Run(Resume),
    /// To end.
    Part(SessionEnd),
}

/// One GDB, and the machine.
struct Server<'a, C> {
    line: C,
    packets: Packets,
    /// What came while the program ran.
    waiting: VecDeque<Vec<u8>>,
    /// GDB sent Ctrl-C; if the program does not run, it stops when it is to go on (E.9).
    interrupted: bool,
    target: DebugTarget<'a>,
}

impl<C: Connection> Server<'_, C> {
    /// Does what GDB says, until one of both leaves.
    fn serve(&mut self) -> Result<SessionEnd, Broken> {
        loop {
            let Some(packet) = self.waiting.pop_front() else {
                self.hear(false)?;
                continue;
            };
            let next = match self.perform(&packet) {
                Next::Run(resume) => self.run(resume)?.map_or(Next::Wait, Next::Part),
                next => next,
            };
            self.tell()?;
            if let Next::Part(parted) = next {
                return Ok(parted);
            }
        }
    }

    /// Takes a piece of what GDB sent; of a program that runs, no more packets than may wait for it.
    fn hear(&mut self, running: bool) -> Result<(), Broken> {
        for byte in self.line.receive(!running).map_err(|_| Broken::Line)? {
            match self.packets.take(byte) {
                None => {}
                Some(GdbInput::Interrupt) => self.interrupted = true,
                Some(GdbInput::Packet(_)) if running && self.waiting.len() >= WAITING => {
                    self.packets.answer(BUSY.as_bytes());
                }
                Some(GdbInput::Packet(packet)) => self.waiting.push_back(packet),
            }
        }
        self.tell()
    }

    /// How the session ends while the program runs: what ends it does not wait.
    fn parted(&mut self) -> Option<SessionEnd> {
        let ends = |packet: &Vec<u8>| {
            matches!(Command::parse(packet), Ok(Command::Kill(_) | Command::Detach))
        };
        let at = self.waiting.iter().position(ends)?;
        let packet = self.waiting.remove(at)?;
        match self.perform(&packet) {
            Next::Part(parted) => Some(parted),
            Next::Wait | Next::Run(_) => None,
        }
    }

    /// Runs the program until it stops, and tells GDB why; how the session ends, if it does.
    fn run(&mut self, resume: Resume) -> Result<Option<SessionEnd>, Broken> {
        self.target.go(resume);
        self.tell()?;
        if let Some(parted) = self.parted() {
            return Ok(Some(parted));
        }
        let reason = loop {
            if std::mem::take(&mut self.interrupted) {
                break self.target.interrupt();
            }
            if let Some(reason) = self.target.turn().map_err(Broken::Console)? {
                break reason;
            }
            self.hear(true)?;
            if let Some(parted) = self.parted() {
                return Ok(Some(parted));
            }
        };
        self.packets.answer(reason.answer().as_bytes());
        self.tell()?;
        Ok(match reason {
            Reason::Exited(code) => Some(SessionEnd::Exited(code)),
            _ => None,
        })
    }

    /// Does what a packet asks for, and answers, unless the program is to run.
    fn perform(&mut self, packet: &[u8]) -> Next {
        let command = match Command::parse(packet) {
            Ok(command) => command,
            Err(misfit) => {
                let answer = if misfit == commands::Misfit::Unknown { "" } else { MALFORMED };
                self.packets.answer(answer.as_bytes());
                return Next::Wait;
            }
        };
        match command {
            Command::Resume(resume) => return Next::Run(resume),
            Command::Kill(answered) => {
                if answered {
                    self.packets.answer(b"OK");
                }
                return Next::Part(SessionEnd::Killed);
            }
            Command::Detach => {
                self.packets.answer(b"OK");
                return Next::Part(SessionEnd::Left);
            }
            Command::Monitor(words) => {
                for line in self.target.monitor(&words) {
                    for part in line.as_bytes().chunks(TOLD) {
                        self.packets.answer(format!("O{}", hex(part)).as_bytes());
                    }
                }
                self.packets.answer(b"OK");
            }
            command => self.packets.answer(self.target.perform(command).as_bytes()),
        }
        Next::Wait
    }

    /// Sends what is to be sent.
    fn tell(&mut self) -> Result<(), Broken> {
        let output = self.packets.output();
        if output.is_empty() {
            return Ok(());
        }
        self.line.send(&output).map_err(|_| Broken::Line)
    }
}

/// Two hexadecimal digits a byte.
fn hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        write!(hex, "{byte:02x}").expect("a String takes all text");
    }
    hex
}
