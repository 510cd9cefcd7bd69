//! The machine as GDB sees it: registers, memory, breakpoints, steps, and commands of its own.
//!
//! Layer: rank 8. Main type: [`Debugged`]. Memory is that of the program: through the MMU as it is, with what the data cache holds, without time
//! and without a trace. `monitor` knows `cycles`, `stats`, `symbol ADDRESS` and `help`.

use super::arch::{Armv5te, CoreRegisters};
use super::points::{Breaking, Hit, Points, Watch};
use crate::os::failure::Failure;
use crate::os::instruments::{Shared, locked};
use crate::os::run::{Console, Done};
use crate::os::session::Session;
use crate::os::tables;
use boardlab_arm926::{Exception, Limit, Psr, Virtual};
use boardlab_realview::Outcome;
use boardlab_sim::Seed;
use gdbstub::common::Signal;
use gdbstub::outputln;
use gdbstub::stub::SingleThreadStopReason;
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::base::singlethread::{
    SingleThreadBase, SingleThreadResume, SingleThreadResumeOps, SingleThreadSingleStep,
    SingleThreadSingleStepOps,
};
use gdbstub::target::ext::breakpoints::{
    Breakpoints, BreakpointsOps, HwBreakpoint, HwBreakpointOps, HwWatchpoint, HwWatchpointOps,
    SwBreakpoint, SwBreakpointOps, WatchKind,
};
use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd, MonitorCmdOps};
use gdbstub::target::{Target, TargetError, TargetResult};
use std::io;
use std::sync::{Arc, Mutex};

/// Cycles between two looks at GDB.
const TURN: u64 = 200_000;
/// Bytes that a watchpoint may watch.
const WATCHED: u32 = 4_096;

/// Why the machine stopped, for GDB.
pub(super) type Reason = SingleThreadStopReason<u32>;

/// A machine under GDB.
pub(super) struct Debugged<'a> {
    session: &'a mut Session,
    console: &'a mut dyn Console,
    points: Shared<Points>,
}

impl<'a> Debugged<'a> {
    pub(super) fn new(session: &'a mut Session, console: &'a mut dyn Console) -> Self {
        let points = Arc::new(Mutex::new(Points::default()));
        session.machine.set_engine(Breaking(Arc::clone(&points)));
        Self { session, console, points }
    }

    /// Runs for a while; why it stopped, if it did.
    pub(super) fn turn(&mut self) -> io::Result<Option<Reason>> {
        let limit = Limit::cycles(self.session.machine.now().plus(TURN));
        let points = Arc::clone(&self.points);
        let enough = || locked(&points).hit.is_some();
        let outcome = self.session.converse_until(limit, self.console, enough)?;
        let hit = locked(&self.points).hit.take();
        if let Some(hit) = hit {
            return Ok(Some(match hit {
                Hit::Stepped => Reason::DoneStep,
                Hit::Breakpoint => Reason::SwBreak(()),
                Hit::Watchpoint(addr) => Reason::Watch { tid: (), kind: WatchKind::Write, addr },
            }));
        }
        let Some(outcome) = outcome.filter(|outcome| *outcome != Outcome::Limit) else {
            return Ok(None);
        };
        self.tell(&outcome)?;
        Ok(Some(reason(&outcome)))
    }

    /// Says on the console what GDB has no words for: it has some for an exit code.
    fn tell(&mut self, outcome: &Outcome) -> io::Result<()> {
        if matches!(outcome, Outcome::Exit { .. }) {
            return Ok(());
        }
        let session = &self.session;
        match Failure::of_outcome(outcome, &session.machine, &session.symbols) {
            Some(failure) => self.console.print(format!("{}\n", failure.title()).as_bytes()),
            None => Ok(()),
        }
    }

    fn statistics(&self) -> Vec<String> {
        let outcome = Outcome::Limit;
        let seed = Seed::new(0);
        let done = Done { session: self.session, outcome: &outcome, profile: None, seed };
        tables::lines(&done)
    }
}

/// How an end is told to GDB.
const fn reason(outcome: &Outcome) -> Reason {
    match outcome {
        Outcome::Exit { code, .. } => Reason::Exited(low(*code)),
        Outcome::Reset => Reason::Exited(0),
        Outcome::NoHandler { exception: Exception::Undefined, .. } => {
            Reason::Signal(Signal::SIGILL)
        }
        Outcome::NoHandler {
            exception: Exception::DataAbort | Exception::PrefetchAbort, ..
        } => Reason::Signal(Signal::SIGSEGV),
        Outcome::NotModelled { .. } => Reason::Signal(Signal::SIGBUS),
        _ => Reason::Signal(Signal::SIGSTOP),
    }
}

#[allow(clippy::cast_possible_truncation, reason = "the protocol's exit code has eight bits")]
const fn low(code: u32) -> u8 {
    (code & 0xFF) as u8
}

impl Target for Debugged<'_> {
    type Arch = Armv5te;
    type Error = io::Error;

    fn base_ops(&mut self) -> BaseOps<'_, Armv5te, io::Error> {
        BaseOps::SingleThread(self)
    }

    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Self>> {
        Some(self)
    }

    fn support_monitor_cmd(&mut self) -> Option<MonitorCmdOps<'_, Self>> {
        Some(self)
    }
}

impl SingleThreadBase for Debugged<'_> {
    fn read_registers(&mut self, registers: &mut CoreRegisters) -> TargetResult<(), Self> {
        let from = &self.session.machine.processor().registers;
        registers.r[..15].copy_from_slice(&from.r);
        registers.r[15] = from.pc;
        registers.cpsr = from.cpsr().0;
        Ok(())
    }

    fn write_registers(&mut self, registers: &CoreRegisters) -> TargetResult<(), Self> {
        let to = &mut self.session.machine.processor_mut().registers;
        // The mode first: it decides which registers are seen.
        to.set_cpsr(Psr(registers.cpsr));
        to.r.copy_from_slice(&registers.r[..15]);
        to.pc = registers.r[15] & if to.cpsr().thumb() { !1 } else { !3 };
        Ok(())
    }

    fn read_addrs(&mut self, start: u32, data: &mut [u8]) -> TargetResult<usize, Self> {
        let mut read = 0;
        for (at, byte) in (0..).map(|offset| start.wrapping_add(offset)).zip(data.iter_mut()) {
            let Some(word) = self.session.machine.peek(Virtual(at & !3)) else { break };
            *byte = word.to_le_bytes()[index(at)];
            read += 1;
        }
        if read == 0 && !data.is_empty() { Err(TargetError::NonFatal) } else { Ok(read) }
    }

    fn write_addrs(&mut self, start: u32, data: &[u8]) -> TargetResult<(), Self> {
        for (at, byte) in (0..).map(|offset| start.wrapping_add(offset)).zip(data) {
            let place = Virtual(at & !3);
            let mut bytes =
                self.session.machine.peek(place).ok_or(TargetError::NonFatal)?.to_le_bytes();
            bytes[index(at)] = *byte;
            if !self.session.machine.poke(place, u32::from_le_bytes(bytes)) {
                return Err(TargetError::NonFatal);
            }
        }
        Ok(())
    }

    fn support_resume(&mut self) -> Option<SingleThreadResumeOps<'_, Self>> {
        Some(self)
    }
}

/// Which byte of its word `at` is.
fn index(at: u32) -> usize {
    usize::try_from(at & 3).expect("at most 3")
}

impl Debugged<'_> {
    fn let_go(&self, single: bool) {
        let mut points = locked(&self.points);
        (points.single, points.moved, points.hit) = (single, false, None);
    }
}

impl SingleThreadResume for Debugged<'_> {
    fn resume(&mut self, _signal: Option<Signal>) -> Result<(), io::Error> {
        self.let_go(false);
        Ok(())
    }

    fn support_single_step(&mut self) -> Option<SingleThreadSingleStepOps<'_, Self>> {
        Some(self)
    }
}

impl SingleThreadSingleStep for Debugged<'_> {
    fn step(&mut self, _signal: Option<Signal>) -> Result<(), io::Error> {
        self.let_go(true);
        Ok(())
    }
}

impl Breakpoints for Debugged<'_> {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_breakpoint(&mut self) -> Option<HwBreakpointOps<'_, Self>> {
        Some(self)
    }

    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Self>> {
        Some(self)
    }
}

impl SwBreakpoint for Debugged<'_> {
    fn add_sw_breakpoint(&mut self, addr: u32, _kind: usize) -> TargetResult<bool, Self> {
        locked(&self.points).breakpoints.insert(addr & !1);
        Ok(true)
    }

    fn remove_sw_breakpoint(&mut self, addr: u32, _kind: usize) -> TargetResult<bool, Self> {
        Ok(locked(&self.points).breakpoints.remove(&(addr & !1)))
    }
}

impl HwBreakpoint for Debugged<'_> {
    fn add_hw_breakpoint(&mut self, addr: u32, kind: usize) -> TargetResult<bool, Self> {
        self.add_sw_breakpoint(addr, kind)
    }

    fn remove_hw_breakpoint(&mut self, addr: u32, kind: usize) -> TargetResult<bool, Self> {
        self.remove_sw_breakpoint(addr, kind)
    }
}

impl HwWatchpoint for Debugged<'_> {
    fn add_hw_watchpoint(
        &mut self,
        addr: u32,
        len: u32,
        kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        if kind != WatchKind::Write || len == 0 || len > WATCHED {
            return Ok(false);
        }
        let watch = Watch::new(self.session.machine.processor(), addr, len);
        locked(&self.points).watches.push(watch);
        Ok(true)
    }

    fn remove_hw_watchpoint(
        &mut self,
        addr: u32,
        len: u32,
        _kind: WatchKind,
    ) -> TargetResult<bool, Self> {
        let watches = &mut locked(&self.points).watches;
        let before = watches.len();
        watches.retain(|watch| (watch.at, watch.length) != (addr, len));
        Ok(watches.len() < before)
    }
}

impl MonitorCmd for Debugged<'_> {
    fn handle_monitor_cmd(
        &mut self,
        command: &[u8],
        mut out: ConsoleOutput<'_>,
    ) -> Result<(), io::Error> {
        let command = String::from_utf8_lossy(command);
        let mut words = command.split_whitespace();
        match (words.next(), words.next()) {
            (Some("cycles"), None) => {
                let processor = self.session.machine.processor();
                let (now, instructions) = (processor.now.0, processor.counts.instructions);
                outputln!(out, "{now} cycles, {instructions} instructions");
            }
            (Some("stats"), None) => {
                for line in self.statistics() {
                    outputln!(out, "{line}");
                }
            }
            (Some("symbol"), Some(place)) => match self.session.address(place) {
                Ok(at) => outputln!(out, "{at:#010x} {}", self.session.symbols.name(at)),
                Err(failure) => outputln!(out, "{}", failure.title()),
            },
            _ => {
                outputln!(out, "monitor cycles          cycles and instructions so far");
                outputln!(out, "monitor stats           caches, TLB, and where the cycles went");
                outputln!(
                    out,
                    "monitor symbol PLACE    a name's address, or what is at an address"
                );
            }
        }
        Ok(())
    }
}
