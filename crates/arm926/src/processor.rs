//! The core: registers, pipeline, memory system and bus together; interrupts, exceptions, stops.
//!
//! Layer: rank 3. [`Processor`] is the whole state of a machine's core. What executes its instructions stands above it: the
//! reference in `interpreter`, and the faster engines.

use boardlab_sim::mix;
use serde::{Deserialize, Serialize};

use crate::address::{Cycles, Virtual};
use crate::bus::{Bus, Lines};
use crate::config::Config;
use crate::decode::Memo;
use crate::exception::Exception;
use crate::memory::Memory;
use crate::points::{Points, Watchpoint};
use crate::recorder::{Event, Recorder};
use crate::registers::{Psr, Registers};
use crate::timing::Pipeline;

/// Cycles of entering an exception, from the boundary before it to the vector's fetch (DDI 0214B, 9.18).
pub const ENTRY: u64 = 3;

/// Cycles before the entry into a data abort: the instruction's own one, and two until the abort is known (DDI 0165B, 5.3). Further words
/// of an LDM or STM, and interlocks, are left out.
pub const ABORTED: u64 = 3;

/// A trace hash takes in the whole state of the core once in so many cycles.
pub const CHECKPOINT: u64 = 1 << 16;

/// How far to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// To the first boundary at or after this cycle.
    pub cycles: Cycles,
    /// To this count of instructions since reset.
    pub instructions: u64,
}

impl Limit {
    /// Without end.
    pub const NONE: Self = Self { cycles: Cycles::NEVER, instructions: u64::MAX };

    /// To a cycle.
    #[must_use]
    pub const fn cycles(cycles: Cycles) -> Self {
        Self { cycles, instructions: u64::MAX }
    }

    /// To a count of instructions since reset.
    #[must_use]
    pub const fn instructions(instructions: u64) -> Self {
        Self { cycles: Cycles::NEVER, instructions }
    }
}

/// Why a run ended. The state is that between two instructions; going on is always possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The limit was reached.
    Limit,
    /// The next instruction is a semihosting call: do it, then [`Processor::return_from_call`].
    Semihosting,
    /// The core waits for an interrupt, and none can come.
    Asleep,
    /// An exception was to be taken, and its vector holds nothing.
    NoHandler {
        /// Which.
        exception: Exception,
        /// The instruction that caused it, or before which it came.
        at: u32,
    },
    /// The board asked for it ([`Lines::halt`]). Going on asks the board again.
    Board,
    /// The next instruction has a breakpoint ([`Processor::points`]). Going on executes it.
    Breakpoint {
        /// Its address.
        at: Virtual,
    },
    /// The last instruction made an access that is watched ([`Processor::points`]).
    Watchpoint {
        /// The first watchpoint that saw it.
        watchpoint: Watchpoint,
        /// The address of the access; the first one of an instruction with several.
        at: Virtual,
        /// It wrote.
        write: bool,
    },
}

/// What was executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts {
    /// Instructions, those included whose condition was not met, and those that could not be fetched.
    pub instructions: u64,
    /// Of these: the condition was not met.
    pub skipped: u64,
    /// Exceptions taken, by [`Exception`] as index.
    pub exceptions: [u64; 8],
    /// Cycles spent waiting for an interrupt.
    pub asleep: u64,
}

/// A running hash over the states and events of a run; equal runs have equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TraceHash {
    value: u64,
    next: Cycles,
}

impl TraceHash {
    /// Takes in one value.
    pub fn note(&mut self, value: u64) {
        self.value = mix(self.value.rotate_left(5) ^ value);
    }

    /// The hash.
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// When the next state is taken in: at the first boundary at or after this cycle.
    #[must_use]
    pub const fn next(&self) -> Cycles {
        self.next
    }
}

/// A core on its bus.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Processor<B> {
    /// The registers.
    pub registers: Registers,
    /// The memory system.
    pub memory: Memory,
    /// What the last instruction left pending.
    pub pipeline: Pipeline,
    /// Cycles since reset.
    pub now: Cycles,
    /// What was executed.
    pub counts: Counts,
    /// Hash over the run so far.
    pub trace: TraceHash,
    /// Notes events, if there is one.
    pub recorder: Option<Recorder>,
    /// The board.
    pub bus: B,
    /// Where a run stops, whichever engine runs it.
    #[serde(skip)]
    pub points: Points,
    pub(crate) asleep: bool,
    pub(crate) lines_irq: bool,
    pub(crate) lines_fiq: bool,
    pub(crate) lines_until: Cycles,
    /// No boundary before this cycle has anything to do, unless a single transfer went over the bus.
    #[serde(skip)]
    pub(crate) quiet_until: Cycles,
    #[serde(skip)]
    pub(crate) memo: Memo,
    pub(crate) lines_halt: bool,
}

impl<B: Bus> Processor<B> {
    /// A core after reset, at its reset vector.
    #[must_use]
    pub fn new(config: &Config, bus: B) -> Self {
        let mut registers = Registers::new();
        registers.pc = Exception::Reset.vector(config.high_vectors);
        Self {
            registers,
            memory: Memory::new(config),
            pipeline: Pipeline::IDLE,
            now: Cycles(0),
            counts: Counts::default(),
            trace: TraceHash { value: 0, next: Cycles(CHECKPOINT) },
            recorder: None,
            bus,
            points: Points::default(),
            asleep: false,
            lines_irq: false,
            lines_fiq: false,
            lines_until: Cycles(0),
            quiet_until: Cycles(0),
            memo: Memo::default(),
            lines_halt: false,
        }
    }

    /// Lets the next run execute the instruction that is next although it has a breakpoint.
    pub const fn pass_breakpoint(&mut self) {
        self.points.pass(self.registers.pc, self.counts.instructions);
    }

    /// When the engine must next come to [`Processor::boundary`]: the first boundary at or after this cycle.
    #[must_use]
    pub fn deadline(&self) -> Cycles {
        if self.asleep || self.lines_halt || self.interrupt().is_some() {
            return self.now;
        }
        self.lines_until.min(self.trace.next)
    }

    /// Asks for the interrupt lines now if the next boundary, which is not passed yet, would ask because of a transfer.
    pub(crate) fn settle(&mut self) {
        if self.now < self.trace.next && !self.asleep && self.memory.take_touched() {
            self.sample_lines();
        }
    }

    /// Asks the board at the next boundary: its lines may have changed from outside, between two runs.
    pub const fn resample_lines(&mut self) {
        (self.lines_until, self.quiet_until) = (Cycles(0), Cycles(0));
    }

    /// Waits for an interrupt from the next boundary on.
    pub(crate) const fn fall_asleep(&mut self) {
        (self.asleep, self.quiet_until) = (true, Cycles(0));
    }

    pub(crate) fn sample_lines(&mut self) {
        let Lines { irq, fiq, until, halt } = self.bus.lines(self.now);
        (self.lines_irq, self.lines_fiq, self.lines_until) = (irq, fiq, until);
        (self.lines_halt, self.quiet_until) = (halt, Cycles(0));
    }

    /// The interrupt that is to be taken now.
    pub(crate) const fn interrupt(&self) -> Option<Exception> {
        let status = self.registers.cpsr();
        if self.lines_fiq && !status.has(Psr::F) {
            Some(Exception::Fiq)
        } else if self.lines_irq && !status.has(Psr::I) {
            Some(Exception::Irq)
        } else {
            None
        }
    }

    /// Takes the state of the core into the trace hash.
    pub(crate) fn checkpoint(&mut self) {
        let Self { registers, now, counts, trace, .. } = self;
        trace.note(now.0);
        trace.note(counts.instructions);
        trace.note(u64::from(registers.pc) << 32 | u64::from(registers.cpsr().0));
        for &value in &registers.r {
            trace.note(u64::from(value));
        }
        trace.next = Cycles(now.0 / CHECKPOINT * CHECKPOINT + CHECKPOINT);
    }

    /// Takes `exception` at the instruction at `at`: banks, return address, vector. Stops instead where the vector is empty.
    pub(crate) fn enter(&mut self, exception: Exception, at: u32) -> Option<Stop> {
        let vector = exception.vector(self.memory.high_vectors());
        if self.memory.config().stop_without_handler
            && matches!(self.memory.peek(Virtual(vector), &self.bus), None | Some(0))
        {
            self.registers.pc = at;
            return Some(Stop::NoHandler { exception, at });
        }
        let before = self.registers.cpsr();
        if let Some(recorder) = &mut self.recorder {
            let call =
                if exception == Exception::SoftwareInterrupt { self.registers.r[7] } else { 0 };
            recorder.note(self.now, Event::Exception { exception, at, from: before.mode(), call });
        }
        self.trace.note(self.now.0 << 3 | exception as u64);
        self.trace.note(u64::from(at));
        self.counts.exceptions[exception as usize] += 1;
        self.registers.set_cpsr(exception.status(before));
        self.registers.set_spsr(before);
        self.registers.r[14] = exception.link(at, before.thumb());
        self.registers.pc = vector;
        self.pipeline = Pipeline::IDLE;
        self.now.0 += ENTRY + if exception == Exception::DataAbort { ABORTED } else { 0 };
        self.memory.retire(true);
        None
    }

    /// Goes on behind a semihosting call with `result` in r0; the call takes one cycle.
    pub fn return_from_call(&mut self, result: u32) {
        let size = if self.registers.cpsr().thumb() { 2 } else { 4 };
        self.registers.r[0] = result;
        self.registers.pc = self.registers.pc.wrapping_add(size);
        self.counts.instructions += 1;
        self.pipeline = Pipeline::IDLE;
        self.now.0 += 1;
        self.memory.retire(false);
    }
}
