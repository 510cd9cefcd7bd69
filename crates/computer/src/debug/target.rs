//! The machine as GDB sees it: registers, memory, breakpoints, steps, and commands of its own.
//!
//! Layer: rank 9. Main type: [`DebugTarget`]. Memory is that of the program: through the MMU as it is, with what the data cache holds, without time
//! and without a trace. `monitor` knows `cycles`, `stats`, `symbol ADDRESS` and `help`.

use super::arch::{CoreRegisters, DESCRIPTION};
use super::commands::{Command, Point, Resume};
use super::hex;
use super::packets::{MALFORMED, PACKET};
use crate::failure::Failure;
use crate::instruments::{Shared, Single, locked};
use crate::run::Console;
use crate::session::Session;
use crate::tables::{self, Measurement};
use boardlab_arm926::{Exception, Limit, Points, Psr, Virtual, WatchKind, Watchpoint};
use boardlab_realview::Outcome;
use boardlab_result::foreign::{shown, shown_at_most};
use boardlab_sim::Seed;
use std::io;
use std::num::NonZeroU32;
use std::sync::Arc;

/// Cycles between two looks at GDB.
const TURN: u64 = 200_000;

/// Breakpoints that there may be.
const BREAKPOINTS: usize = 4_096;
/// Watchpoints that there may be.
const WATCHPOINTS: usize = 64;
/// Characters of a line of `monitor`.
const LINE: usize = 2_000;

/// The answer where there is no memory (EFAULT).
const FAULT: &str = "E0e";
/// The answer where there are too many points (ENOSPC).
const FULL: &str = "E1c";
/// The answer where there is no such point (ENOENT).
const NO_POINT: &str = "E02";

/// Why the machine stopped, for GDB; signals by GDB's numbers (`include/gdb/signals.def`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// With a signal.
    Signal(u8),
    /// Bytes were accessed that are watched.
    Watch(Watchpoint),
    /// The program ended.
    Exited(u8),
}

/// Ctrl-C.
const INT: u8 = 2;
/// An undefined instruction.
const ILL: u8 = 4;
/// A step or a breakpoint.
const TRAP: u8 = 5;
/// A part of the board that is not modelled.
const BUS: u8 = 10;
/// An abort.
const SEGV: u8 = 11;
/// Anything else.
const STOP: u8 = 17;

impl Reason {
    /// The answer that says so.
    pub(super) fn answer(self) -> String {
        match self {
            Self::Signal(signal) => format!("T{signal:02x}thread:1;"),
            Self::Watch(Watchpoint { at, of, .. }) => {
                let kind = match of {
                    WatchKind::Writes => "watch",
                    WatchKind::Reads => "rwatch",
                    WatchKind::Accesses => "awatch",
                };
                format!("T{TRAP:02x}{kind}:{:x};thread:1;", at.0)
            }
            Self::Exited(code) => format!("W{code:02x}"),
        }
    }
}

/// A machine under GDB.
pub(super) struct DebugTarget<'a> {
    session: &'a mut Session,
    console: &'a mut dyn Console,
    /// Whether the single step is done, if one was asked for.
    step: Option<Shared<bool>>,
    /// Why it stopped last.
    reason: Reason,
}

impl<'a> DebugTarget<'a> {
    pub(super) fn new(session: &'a mut Session, console: &'a mut dyn Console) -> Self {
        session.machine.processor_mut().points.clear();
        Self { session, console, step: None, reason: Reason::Signal(TRAP) }
    }

    /// Runs for a while; why it stopped, if it did.
    pub(super) fn turn(&mut self) -> io::Result<Option<Reason>> {
        let stopped = self.stopped()?;
        self.reason = stopped.unwrap_or(self.reason);
        Ok(stopped)
    }

    /// It is to stop where it is.
    pub(super) fn interrupt(&mut self) -> Reason {
        self.reason = Reason::Signal(INT);
        self.reason
    }

    fn stopped(&mut self) -> io::Result<Option<Reason>> {
        let limit = Limit::cycles(self.session.machine.now().plus(TURN));
        let step = self.step.clone();
        let done = || step.as_ref().is_some_and(|done| *locked(done));
        let outcome = self.session.converse_until(limit, self.console, done)?;
        Ok(match outcome {
            None | Some(Outcome::Breakpoint { .. }) => Some(Reason::Signal(TRAP)),
            Some(Outcome::Watchpoint { watchpoint, .. }) => Some(Reason::Watch(watchpoint)),
            Some(Outcome::Limit) => None,
            Some(outcome) => {
                self.tell(&outcome)?;
                Some(reason(&outcome))
            }
        })
    }

    /// Says on the console what GDB has no words for: it has some for an exit code.
    fn tell(&mut self, outcome: &Outcome) -> io::Result<()> {
        if matches!(outcome, Outcome::Exit { .. }) {
            return Ok(());
        }
        let failure = Failure::of_outcome(outcome, &self.session.machine, &self.session.symbols);
        // It names symbols, and a guest's console takes bytes as they are.
        let words = failure.map(|failure| format!("{}\n", shown(&failure.title())));
        words.map_or(Ok(()), |words| self.console.print(words.as_bytes()))
    }

    fn statistics(&self) -> Vec<String> {
        let (session, outcome) = (&*self.session, &Outcome::Limit);
        tables::lines(&Measurement { session, outcome, profile: None, seed: Seed::new(0) })
    }
}

/// How an end is told to GDB.
const fn reason(outcome: &Outcome) -> Reason {
    match outcome {
        Outcome::Exit { code, .. } => Reason::Exited(low(*code)),
        Outcome::Reset => Reason::Exited(0),
        Outcome::NoHandler { exception: Exception::Undefined, .. } => Reason::Signal(ILL),
        Outcome::NoHandler {
            exception: Exception::DataAbort | Exception::PrefetchAbort, ..
        } => Reason::Signal(SEGV),
        Outcome::NotModelled { .. } => Reason::Signal(BUS),
        _ => Reason::Signal(STOP),
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the protocol's exit code has eight bits")]
const fn low(code: u32) -> u8 {
    (code & 0xFF) as u8
}

impl DebugTarget<'_> {
    /// Is about to go on.
    pub(super) fn go(&mut self, resume: Resume) {
        if let Some(at) = resume.at {
            let mut registers = self.registers();
            registers.r[15] = at;
            self.set_registers(&registers);
        }
        self.session.machine.processor_mut().pass_breakpoint();
        if resume.step {
            let single = Single::default();
            self.step = Some(Arc::clone(&single.done));
            self.session.machine.set_engine(single);
        } else {
            self.step = None;
            self.session.usual_engine();
        }
    }

    pub(super) fn points(&mut self) -> &mut Points {
        &mut self.session.machine.processor_mut().points
    }

    /// Does what needs no running; returns the answer.
    pub(super) fn perform(&mut self, command: Command) -> String {
        match command {
            Command::Supported => format!(
                "PacketSize={PACKET:x};QStartNoAckMode+;qXfer:features:read+;vContSupported+"
            ),
            Command::Description(offset, length) => description(offset, length),
            Command::Why => self.reason.answer(),
            Command::ReadRegisters => hex(&self.registers().bytes()),
            Command::WriteRegisters(bytes) => match CoreRegisters::from_bytes(&bytes) {
                Some(registers) => self.set_registers(&registers),
                None => MALFORMED.into(),
            },
            Command::ReadRegister(number) => match self.registers().register(number) {
                Some(value) => hex(&value.to_le_bytes()),
                None => MALFORMED.into(),
            },
            Command::WriteRegister(number, value) => {
                let mut registers = self.registers();
                let Some(register) = registers.register(number) else { return MALFORMED.into() };
                *register = value;
                self.set_registers(&registers)
            }
            Command::Read(at, length) => self.read(at, length),
            Command::Write(at, data) => self.write(at, &data),
            Command::Insert(point) => self.insert(point),
            Command::Remove(point) => self.remove(point),
            Command::Actions => "vCont;c;C;s;S".into(),
            Command::Thread => "QC1".into(),
            Command::Threads => "m1".into(),
            Command::MoreThreads => "l".into(),
            Command::Attached => "1".into(),
            Command::Agree => "OK".into(),
            Command::Resume(_) | Command::Monitor(_) | Command::Kill(_) | Command::Detach => {
                "".into()
            }
        }
    }

    fn registers(&self) -> CoreRegisters {
        let from = &self.session.machine.processor().registers;
        let mut registers = CoreRegisters { cpsr: from.cpsr().0, ..CoreRegisters::default() };
        registers.r[..15].copy_from_slice(&from.r);
        registers.r[15] = from.pc;
        registers
    }

    fn set_registers(&mut self, registers: &CoreRegisters) -> String {
        let to = &mut self.session.machine.processor_mut().registers;
        // The mode first: it decides which registers are seen.
        to.set_cpsr(Psr(registers.cpsr));
        to.r.copy_from_slice(&registers.r[..15]);
        to.pc = registers.r[15] & if to.cpsr().thumb() { !1 } else { !3 };
        "OK".into()
    }

    /// As far as there is memory, and as fits into a packet.
    fn read(&self, at: u32, length: usize) -> String {
        let places = (0..).map(|offset| at.wrapping_add(offset)).take(length.min(PACKET / 2));
        let byte = |at: u32| {
            let word = self.session.machine.peek(Virtual(at & !3))?;
            Some(word.to_le_bytes()[index(at)])
        };
        let bytes: Vec<u8> = places.map_while(byte).collect();
        if bytes.is_empty() && length > 0 { FAULT.into() } else { hex(&bytes) }
    }

    /// All or nothing.
    fn write(&mut self, at: u32, data: &[u8]) -> String {
        let places = || (0..).map(|offset| at.wrapping_add(offset)).zip(data);
        let machine = &mut self.session.machine;
        if places().any(|(at, _)| machine.peek(Virtual(at & !3)).is_none()) {
            return FAULT.into();
        }
        for (at, byte) in places() {
            let place = Virtual(at & !3);
            let Some(word) = machine.peek(place) else { return FAULT.into() };
            let mut bytes = word.to_le_bytes();
            bytes[index(at)] = *byte;
            if !machine.poke(place, u32::from_le_bytes(bytes)) {
                return FAULT.into();
            }
        }
        "OK".into()
    }

    fn insert(&mut self, point: Point) -> String {
        let points = self.points();
        match watchpoint(point) {
            None if point.watched.is_some() => MALFORMED.into(),
            None if points.breakpoints().len() >= BREAKPOINTS => FULL.into(),
            None => {
                points.set_breakpoint(Virtual(point.at));
                "OK".into()
            }
            Some(_) if points.watchpoints().len() >= WATCHPOINTS => FULL.into(),
            Some(watchpoint) => {
                points.set_watchpoint(watchpoint);
                "OK".into()
            }
        }
    }

    fn remove(&mut self, point: Point) -> String {
        let points = self.points();
        let removed = match watchpoint(point) {
            None => points.clear_breakpoint(Virtual(point.at)),
            Some(watchpoint) => points.clear_watchpoint(watchpoint),
        };
        if removed { "OK".into() } else { NO_POINT.into() }
    }

    /// What is said to a command of `monitor`, in lines. Names are foreign text, and GDB prints what it gets.
    pub(super) fn monitor(&self, command: &[u8]) -> Vec<String> {
        let command = String::from_utf8_lossy(command);
        let mut words = command.split_whitespace();
        let lines = match (words.next(), words.next()) {
            (Some("cycles"), None) => {
                let processor = self.session.machine.processor();
                let (now, instructions) = (processor.now.0, processor.counts.instructions);
                vec![format!("{now} cycles, {instructions} instructions")]
            }
            (Some("stats"), None) => self.statistics(),
            (Some("symbol"), Some(place)) => vec![match self.session.address(place) {
                Ok(at) => format!("{at:#010x} {}", self.session.symbols.name(at)),
                Err(failure) => failure.title(),
            }],
            _ => [
                "monitor cycles          cycles and instructions so far",
                "monitor stats           caches, TLB, and where the cycles went",
                "monitor symbol PLACE    a name's address, or what is at an address",
            ]
            .map(Into::into)
            .into(),
        };
        lines.iter().map(|line| shown_at_most(line, LINE) + "\n").collect()
    }
}

/// The watchpoint that a point is, unless it is a breakpoint or watches nothing.
fn watchpoint(point: Point) -> Option<Watchpoint> {
    let (length, of) = (NonZeroU32::new(point.length)?, point.watched?);
    Some(Watchpoint { at: Virtual(point.at), length, of })
}

/// A piece of the description of the registers: more to come, or the last one.
fn description(offset: usize, length: usize) -> String {
    let rest = DESCRIPTION.get(offset..).unwrap_or_default();
    let length = length.min(PACKET - 1);
    let more = rest.get(..length).filter(|piece| piece.len() < rest.len());
    more.map_or_else(|| format!("l{rest}"), |piece| format!("m{piece}"))
}

/// Which byte of its word `at` is.
fn index(at: u32) -> usize {
    usize::try_from(at & 3).expect("at most 3")
}
