//! The core: registers, pipeline, memory system and bus; interrupts, exceptions and stops.
//!
//! Layer: rank 3. [`Processor`] is the complete state of a core. Engines execute its instructions: the
//! reference in `interpreter`, and the faster ones.

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

/// The cycles of an exception entry, from the boundary to the fetch of the vector (DDI 0214B, 9.18).
pub const ENTRY: u64 = 3;

/// The cycles before a data abort's entry: one of the instruction, and two until the abort is known
/// (DDI 0165B, 5.3). Left out: further words of LDM and STM, and interlocks.
pub const ABORTED: u64 = 3;

/// The interval in cycles at which a trace hash includes the state of the core.
pub const CHECKPOINT: u64 = 1 << 16;

/// The limit of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The run stops at the first boundary at or after this cycle.
    pub cycles: Cycles,
    /// The run stops at this count of instructions since reset.
    pub instructions: u64,
}

impl Limit {
    /// No limit.
    pub const NONE: Self = Self { cycles: Cycles::NEVER, instructions: u64::MAX };

    /// A limit of cycles.
    #[must_use]
    pub const fn cycles(cycles: Cycles) -> Self {
        Self { cycles, instructions: u64::MAX }
    }

    /// A limit of instructions since reset.
    #[must_use]
    pub const fn instructions(instructions: u64) -> Self {
        Self { cycles: Cycles::NEVER, instructions }
    }
}

/// The reason why a run stopped, at an instruction boundary. The run can always be continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The limit was reached.
    Limit,
    /// The next instruction is a semihosting call. Perform it, then [`Processor::return_from_call`].
    Semihosting,
    /// The core waits for an interrupt, and none can occur.
    Asleep,
    /// The vector of an exception is zero or cannot be read.
    NoHandler {
        /// The exception.
        exception: Exception,
        /// The instruction that caused it, or that it would have preceded.
        at: u32,
    },
    /// The board demanded it ([`Lines::halt`]). A continued run queries the board again.
    Board,
    /// The next instruction has a breakpoint ([`Processor::points`]). A continued run executes it.
    Breakpoint {
        /// Its address.
        at: Virtual,
    },
    /// An access of the last instruction hit a watchpoint ([`Processor::points`]).
    Watchpoint {
        /// The first watchpoint hit.
        watchpoint: Watchpoint,
        /// The address of the access, the first one of the instruction that hit.
        at: Virtual,
        /// Whether it was a write.
        write: bool,
    },
}

/// Counts of what was executed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts {
    /// Instructions, including skipped ones and those whose fetch aborted.
    pub instructions: u64,
    /// Of these, those skipped because their condition failed.
    pub skipped: u64,
    /// Exceptions taken, indexed by [`Exception`].
    pub exceptions: [u64; 8],
    /// Cycles spent waiting for an interrupt.
    pub asleep: u64,
}

/// A running hash of the states and events of a run. Equal runs have equal hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TraceHash {
    value: u64,
    next: Cycles,
}

impl TraceHash {
    /// Adds a value.
    pub fn note(&mut self, value: u64) {
        self.value = mix(self.value.rotate_left(5) ^ value);
    }

    /// The hash.
    #[must_use]
    pub const fn value(&self) -> u64 {
        self.value
    }

    /// The cycle of the next checkpoint, which is at the first boundary at or after it.
    #[must_use]
    pub const fn next(&self) -> Cycles {
        self.next
    }
}

/// A core and its bus.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Processor<B> {
    /// The registers.
    pub registers: Registers,
    /// The memory system.
    pub memory: Memory,
    /// The pipeline state after the last instruction.
    pub pipeline: Pipeline,
    /// Cycles since reset.
    pub now: Cycles,
    /// Counts of what was executed.
    pub counts: Counts,
    /// The hash of the run so far.
    pub trace: TraceHash,
    /// The recorder of events, if enabled.
    pub recorder: Option<Recorder>,
    /// The board.
    pub bus: B,
    /// The breakpoints and watchpoints of all engines.
    #[serde(skip)]
    pub points: Points,
    pub(crate) asleep: bool,
    pub(crate) lines_irq: bool,
    pub(crate) lines_fiq: bool,
    pub(crate) lines_until: Cycles,
    /// No boundary before this cycle has work, except after a single transfer on the bus.
    #[serde(skip)]
    pub(crate) quiet_until: Cycles,
    #[serde(skip)]
    pub(crate) memo: Memo,
    pub(crate) lines_halt: bool,
}

impl<B: Bus> Processor<B> {
    /// Creates a core after reset, at its reset vector.
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

    /// Lets the next run execute the next instruction in spite of its breakpoint.
    pub const fn pass_breakpoint(&mut self) {
        self.points.pass(self.registers.pc, self.counts.instructions);
    }

    /// The cycle at or after which an engine must next call [`Processor::boundary`].
    #[must_use]
    pub fn deadline(&self) -> Cycles {
        if self.asleep || self.lines_halt || self.interrupt().is_some() {
            return self.now;
        }
        self.lines_until.min(self.trace.next)
    }

    /// Samples the interrupt lines now if the coming boundary would do so after a transfer.
    pub(crate) fn settle(&mut self) {
        if self.now < self.trace.next && !self.asleep && self.memory.take_touched() {
            self.sample_lines();
        }
    }

    /// Samples the lines at the next boundary, since they may have changed between two runs.
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

    /// The interrupt to take now.
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

    /// Adds the state of the core to the trace hash.
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

    /// Takes `exception` at the instruction at `at`. Stops instead if its vector is empty.
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

    /// Continues after a semihosting call, with `result` in r0. The call takes one cycle.
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
