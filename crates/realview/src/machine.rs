//! The whole machine: core, board, engine and semihosting.
//!
//! Layer: rank 4. Main types: [`Machine`], [`Outcome`]. A machine is created from [`Settings`], loads a
//! program and perhaps a raw image, and runs to a limit or to the program's end. The caller takes its
//! output, sends its input, and saves and restores it. A run with a limit ends whatever the guest does.

use std::fmt;

use boardlab_arm926::{
    Cycles, Engine, Event, Exception, Interpreter, Limit, Mode, Physical, Processor, Psr, Recorder,
    Stop, Virtual, Watchpoint,
};

use crate::board::{Access, Board, Halt};
use crate::card::Card;
use crate::elf::Program;
use crate::engine::EngineKind;
use crate::error::Error;
use crate::semihosting::{Answer, Semihosting};
use crate::settings::Settings;

/// The longest run of the engine, in cycles, between two checks for the board's request to end the run.
const SLICE: u64 = 10_000_000;

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The limit was reached.
    Limit,
    /// The program exited.
    Exit {
        /// The semihosting reason code; [`crate::semihosting::APPLICATION_EXIT`] is an ordinary exit.
        reason: u32,
        /// The exit code.
        code: u32,
    },
    /// The core waits for an interrupt, and none can occur without input from the host.
    Asleep,
    /// A semihosting call reads from the console and there is no input: send some
    /// ([`Machine::push_semihosting_input`]) or close the input, and continue the run.
    Input,
    /// The output buffer is full: take the output ([`Machine::take_output`]) and continue the run.
    Output,
    /// An exception was taken, and the word at its vector is zero.
    NoHandler {
        /// The exception.
        exception: Exception,
        /// The instruction that caused it, or before which it was taken.
        at: u32,
    },
    /// The program accessed a part of the board that is not modelled.
    NotModelled {
        /// The part, the address, and whether it was written.
        access: Access,
        /// The instruction.
        at: u32,
    },
    /// The next instruction has a breakpoint (`points` of the processor). Continuing executes it.
    Breakpoint {
        /// The instruction's address.
        at: Virtual,
    },
    /// The last instruction made an access that hit a watchpoint (`points` of the processor).
    Watchpoint {
        /// The first watchpoint that was hit.
        watchpoint: Watchpoint,
        /// The address of the access.
        at: Virtual,
        /// Whether it was a write.
        write: bool,
    },
    /// The program requested a reset of the board.
    Reset,
    /// The program wrote to the LEDs, and they are watched ([`Machine::watch_marks`]).
    Mark {
        /// The word written; the LEDs show its low eight bits.
        value: u32,
    },
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit => write!(f, "the limit was reached"),
            Self::Exit { code, .. } => write!(f, "the program ended with {code}"),
            Self::Breakpoint { at } => write!(f, "a breakpoint at {:#010x}", at.0),
            Self::Watchpoint { at, write, .. } => {
                write!(f, "a watched {} at {:#010x}", if *write { "write" } else { "read" }, at.0)
            }
            Self::Asleep => write!(f, "the core waits for an interrupt, and none can occur"),
            Self::Input => write!(f, "the program reads from the console, and there is no input"),
            Self::Output => write!(f, "the output buffer is full"),
            Self::NoHandler { exception, at } => {
                write!(f, "{exception:?} at {at:#010x}, and there is no handler at its vector")
            }
            Self::NotModelled { access: Access { part, at: address, write }, at } => {
                let access = if *write { "a write to" } else { "a read of" };
                let part = part.name();
                write!(f, "{access} {address:#010x} at {at:#010x}: the {part} is not modelled")
            }
            Self::Reset => write!(f, "the program requested a reset of the board"),
            Self::Mark { value } => write!(f, "the program wrote {value:#x} to the LEDs"),
        }
    }
}

/// The outcome of a stop at a breakpoint or watchpoint. A request of the board stays pending for the
/// next stop.
const fn point(stop: Stop) -> Option<Outcome> {
    match stop {
        Stop::Breakpoint { at } => Some(Outcome::Breakpoint { at }),
        Stop::Watchpoint { watchpoint, at, write } => {
            Some(Outcome::Watchpoint { watchpoint, at, write })
        }
        _ => None,
    }
}

/// A core with its board, an engine that runs it, and the state of semihosting.
pub struct Machine {
    pub(crate) processor: Processor<Board>,
    pub(crate) semihosting: Semihosting,
    engine: Box<dyn Engine<Board> + Send>,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Processor { registers, now, .. } = &self.processor;
        f.debug_struct("Machine").field("now", now).field("registers", registers).finish()
    }
}

impl Machine {
    /// A machine after power-on, its memory zero, run by the reference interpreter.
    ///
    /// # Errors
    ///
    /// [`Error`] for settings that the board cannot have.
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        let processor = Processor::new(&settings.core, Board::new(settings)?);
        Ok(Self::from_parts(processor, Semihosting::default()))
    }

    pub(crate) fn from_parts(processor: Processor<Board>, semihosting: Semihosting) -> Self {
        Self { processor, semihosting, engine: Box::new(Interpreter) }
    }

    /// Returns this machine with another engine. The engine may be replaced at any time; the machine
    /// behaves the same with each.
    #[must_use]
    pub fn with_engine(mut self, engine: impl Engine<Board> + Send + 'static) -> Self {
        self.set_engine(engine);
        self
    }

    /// Replaces the engine by one of this kind.
    pub fn select_engine(&mut self, kind: EngineKind) {
        self.engine = kind.engine();
    }

    /// Replaces the engine.
    pub fn set_engine(&mut self, engine: impl Engine<Board> + Send + 'static) {
        self.engine = Box::new(engine);
    }

    /// Loads a program into memory and sets the core to start it: supervisor mode, interrupts
    /// disabled, at its entry. Other state stays, so MMU and caches are off on a new machine.
    ///
    /// # Errors
    ///
    /// [`Error`] if the program does not fit into memory.
    pub fn load(&mut self, program: &Program) -> Result<(), Error> {
        let memory = self.processor.bus.memory_size();
        for segment in &program.segments {
            let (at, length) = (segment.at, segment.size);
            let refused =
                Error::SegmentBeyondMemory { segment: segment.number, at, length, memory };
            let size = usize::try_from(length).map_err(|_| refused.clone())?;
            let place = self.processor.bus.memory_mut(Physical(at), size).ok_or(refused)?;
            let (contents, rest) = place.split_at_mut(segment.contents.len());
            contents.copy_from_slice(&segment.contents);
            rest.fill(0);
        }
        let (entry, thumb) = (program.entry & !1, program.entry & 1 != 0);
        if self.processor.bus.memory(Physical(entry), 4).is_none() {
            return Err(Error::EntryBeyondMemory { entry, memory });
        }
        let state = if thumb { Psr::T } else { 0 };
        let status = Psr(Psr::I | Psr::F | state | Mode::Supervisor.bits());
        self.processor.registers.set_cpsr(status);
        self.processor.registers.pc = entry;
        self.semihosting.pending = None;
        self.semihosting.heap = self.semihosting.heap.max(program.end());
        self.engine.forget();
        Ok(())
    }

    /// Copies a raw image into memory.
    ///
    /// # Errors
    ///
    /// [`Error::ImageBeyondMemory`].
    pub fn load_raw(&mut self, at: Physical, image: &[u8]) -> Result<(), Error> {
        let memory = self.processor.bus.memory_size();
        let place = self.processor.bus.memory_mut(at, image.len());
        let refused = Error::ImageBeyondMemory { at: at.0, length: image.len(), memory };
        place.ok_or(refused)?.copy_from_slice(image);
        let end = u32::try_from(image.len()).map_or(at.0, |length| at.0.saturating_add(length));
        self.semihosting.heap = self.semihosting.heap.max(end);
        self.engine.forget();
        Ok(())
    }

    /// Inserts a card into the slot, replacing any card in it.
    pub fn insert_card(&mut self, card: Card) {
        self.processor.bus.insert_card(card);
        self.processor.resample_lines();
    }

    /// Sets the command line that semihosting returns to the program.
    pub fn set_command_line(&mut self, text: &str) {
        self.semihosting.command_line = text.to_owned();
    }

    /// Runs to the limit or until another [`Outcome`]. The run may always be continued.
    pub fn run(&mut self, limit: Limit) -> Outcome {
        if self.semihosting.pending.take() == Some(self.processor.registers.pc)
            && let Some(outcome) = self.serve()
        {
            return outcome;
        }
        loop {
            let slice = self.processor.now.plus(SLICE).min(limit.cycles);
            let stop = self.engine.run(&mut self.processor, Limit { cycles: slice, ..limit });
            if let Some(outcome) = point(stop).or_else(|| self.halted(stop)) {
                return outcome;
            }
            match stop {
                Stop::Limit if slice == limit.cycles || self.limit_reached(limit) => {
                    return Outcome::Limit;
                }
                Stop::Limit | Stop::Board | Stop::Breakpoint { .. } | Stop::Watchpoint { .. } => {}
                Stop::Asleep => return Outcome::Asleep,
                Stop::NoHandler { exception, at } => return Outcome::NoHandler { exception, at },
                Stop::Semihosting => {
                    if let Some(outcome) = self.serve() {
                        return outcome;
                    }
                }
            }
        }
    }

    fn limit_reached(&self, limit: Limit) -> bool {
        self.processor.counts.instructions >= limit.instructions
    }

    /// The outcome for a request of the board to end the run.
    fn halted(&mut self, stop: Stop) -> Option<Outcome> {
        self.processor.bus.halt()?;
        let halt = self.processor.bus.take_halt()?;
        Some(match halt {
            Halt::Reset => Outcome::Reset,
            Halt::Output => Outcome::Output,
            Halt::Mark(value) => Outcome::Mark { value },
            Halt::NotModelled(access) => {
                Outcome::NotModelled { access, at: self.instruction_before(stop) }
            }
        })
    }

    /// The address of the instruction whose access got the bus error: from the abort it caused,
    /// otherwise the instruction before the program counter.
    fn instruction_before(&self, stop: Stop) -> u32 {
        let registers = &self.processor.registers;
        let high = self.processor.memory.high_vectors();
        match stop {
            Stop::NoHandler { at, .. } => at,
            _ if registers.pc == Exception::DataAbort.vector(high) => {
                registers.r[14].wrapping_sub(8)
            }
            _ if registers.pc == Exception::PrefetchAbort.vector(high) => {
                registers.r[14].wrapping_sub(4)
            }
            _ => registers.pc.wrapping_sub(if registers.cpsr().thumb() { 2 } else { 4 }),
        }
    }

    /// Executes the semihosting call at the program counter; returns the outcome if the run ends.
    fn serve(&mut self) -> Option<Outcome> {
        let answer = self.semihosting.serve(&mut self.processor);
        if !matches!(answer, Answer::Return(_)) {
            // The instruction was fetched and must not be fetched again when the host continues the
            // run.
            self.semihosting.pending = Some(self.processor.registers.pc);
        }
        match answer {
            Answer::Return(result) => {
                let Processor { registers, now, bus, .. } = &mut self.processor;
                bus.note(1 << 62 | u64::from(registers.r[0]), result, *now);
                self.processor.return_from_call(result);
                self.processor.bus.halt().is_some().then_some(())?;
                self.processor.bus.take_halt();
                Some(Outcome::Output)
            }
            Answer::Exit { reason, code } => Some(Outcome::Exit { reason, code }),
            Answer::Wait => Some(Outcome::Input),
        }
    }

    /// Takes the program's output since the last call: UART 0 and semihosting.
    pub fn take_console(&mut self) -> Vec<u8> {
        self.take_output(0)
    }

    /// Takes the output of UART `uart` (0 to 3) since the last call.
    pub fn take_output(&mut self, uart: usize) -> Vec<u8> {
        self.processor.bus.take_output(uart)
    }

    /// Sends input to UART `uart` (0 to 3).
    pub fn push_input(&mut self, uart: usize, bytes: &[u8]) {
        self.processor.bus.push_input(uart, bytes);
        self.processor.resample_lines();
    }

    /// Appends input for semihosting calls that read.
    pub fn push_semihosting_input(&mut self, bytes: &[u8]) {
        self.semihosting.push(bytes);
    }

    /// Closes the input of semihosting calls: when it is read to its end, they return end of file.
    pub const fn close_semihosting_input(&mut self) {
        self.semihosting.close_input();
    }

    /// Sets whether a write to the LEDs ends the run, at the next instruction boundary. A program
    /// marks instants so, at which the host reads time and counts. The program's behaviour is the
    /// same either way.
    pub const fn watch_marks(&mut self, on: bool) {
        self.processor.bus.watch_marks(on);
    }

    /// Starts to record up to `limit` events and discards those recorded before. The engine keeps its
    /// derived code.
    pub fn record(&mut self, limit: usize) {
        self.processor.recorder = Some(Recorder::new(limit));
    }

    /// Takes the events recorded since [`Machine::record`] or the last call; the limit then applies
    /// anew.
    pub fn take_events(&mut self) -> Vec<(Cycles, Event)> {
        self.processor.recorder.as_mut().map(Recorder::take).unwrap_or_default()
    }

    /// Reads the aligned word at `at` as the program sees it; `None` where there is no memory.
    #[must_use]
    pub fn peek(&self, at: Virtual) -> Option<u32> {
        self.processor.memory.peek(at, &self.processor.bus)
    }

    /// Writes the aligned word at `at` as the program sees it; returns whether there is memory.
    pub fn poke(&mut self, at: Virtual, value: u32) -> bool {
        self.engine.forget();
        let Processor { memory, bus, .. } = &mut self.processor;
        memory.poke(at, value, bus)
    }

    /// Cycles since reset.
    #[must_use]
    pub const fn now(&self) -> Cycles {
        self.processor.now
    }

    /// The core; its `bus` is the board.
    #[must_use]
    pub const fn processor(&self) -> &Processor<Board> {
        &self.processor
    }

    /// The core and the board, to be changed; the engine drops the code that it derived from them.
    pub fn processor_mut(&mut self) -> &mut Processor<Board> {
        self.engine.forget();
        &mut self.processor
    }

    /// A hash of the whole run: the core's states and exceptions, and the address, value and cycle of
    /// each access to a device.
    #[must_use]
    pub const fn trace_hash(&self) -> u64 {
        boardlab_sim::mix(self.processor.trace.value().rotate_left(1) ^ self.processor.bus.trace())
    }
}
