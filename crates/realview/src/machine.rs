//! The whole machine: core, board, engine and host's side.
//!
//! Layer: rank 4. Main types: [`Machine`], [`Outcome`]. A machine is made from [`Settings`], given a program and perhaps a raw image, and
//! run to a limit or to the program's end. Its caller takes what it prints, types what it reads, saves and restores
//! it. Whatever the guest does, a run to a limit ends.

use std::fmt;

use boardlab_arm926::{
    Cycles, Engine, Event, Exception, Interpreter, Limit, Mode, Physical, Processor, Psr, Recorder,
    Stop, Virtual, Watchpoint,
};

use crate::board::{Board, Halt, Touch};
use crate::card::Card;
use crate::elf::Program;
use crate::engine::EngineKind;
use crate::error::Error;
use crate::semihosting::{Answer, Semihosting};
use crate::settings::Settings;

/// The board is asked whether it wants the run to end at least once in so many cycles.
const SLICE: u64 = 10_000_000;

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The limit was reached.
    Limit,
    /// The program ended itself.
    Exit {
        /// Why, as semihosting numbers reasons; [`crate::semihosting::APPLICATION_EXIT`] is the program's own wish.
        reason: u32,
        /// Its exit code.
        code: u32,
    },
    /// The core waits for an interrupt, and none can come unless the host types.
    Asleep,
    /// A semihosting call reads from the console, and nothing was typed: type ([`Machine::push_input`]) or end the input, and run on.
    Input,
    /// There is more output than is kept: take it ([`Machine::take_output`]), and run on.
    Output,
    /// An exception came, and its vector holds nothing.
    NoHandler {
        /// Which.
        exception: Exception,
        /// The instruction that caused it, or before which it came.
        at: u32,
    },
    /// The program touched a part of the board that is not modelled.
    NotModelled {
        /// The part, the address, and whether it was written.
        touch: Touch,
        /// The instruction.
        at: u32,
    },
    /// The next instruction has a breakpoint (`points` of the processor). Going on executes it.
    Breakpoint {
        /// Its address.
        at: Virtual,
    },
    /// The last instruction made an access that is watched (`points` of the processor).
    Watchpoint {
        /// The first watchpoint that saw it.
        watchpoint: Watchpoint,
        /// The address of the access.
        at: Virtual,
        /// It wrote.
        write: bool,
    },
    /// The program asked for a reset of the board.
    Reset,
    /// The program wrote to the LEDs, and they are watched ([`Machine::watch_marks`]).
    Mark {
        /// The word, of which the LEDs show the low eight bits.
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
            Self::Asleep => write!(f, "the core waits for an interrupt, and none can come"),
            Self::Input => write!(f, "the program reads from the console, and nothing was typed"),
            Self::Output => write!(f, "there is more output than is kept"),
            Self::NoHandler { exception, at } => {
                write!(f, "{exception:?} at {at:#010x}, and its vector holds nothing")
            }
            Self::NotModelled { touch: Touch { part, at: address, write }, at } => {
                let access = if *write { "a write to" } else { "a read of" };
                let part = part.name();
                write!(f, "{access} {address:#010x} at {at:#010x}: the {part} is not modelled")
            }
            Self::Reset => write!(f, "the program asked for a reset of the board"),
            Self::Mark { value } => write!(f, "the program showed {value:#x} on the LEDs"),
        }
    }
}

/// What a stop at a point is; the board's wish to end the run is told by the next one.
const fn point(stop: Stop) -> Option<Outcome> {
    match stop {
        Stop::Breakpoint { at } => Some(Outcome::Breakpoint { at }),
        Stop::Watchpoint { watchpoint, at, write } => {
            Some(Outcome::Watchpoint { watchpoint, at, write })
        }
        _ => None,
    }
}

/// A machine.
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
    /// A machine after power on, with empty memory, run by the reference interpreter.
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

    /// This machine with another engine. Engines may take turns at any time; what a machine does is the same with each.
    #[must_use]
    pub fn with_engine(mut self, engine: impl Engine<Board> + Send + 'static) -> Self {
        self.set_engine(engine);
        self
    }

    /// Continues with an engine of this kind.
    pub fn select_engine(&mut self, kind: EngineKind) {
        self.engine = kind.engine();
    }

    /// Continues with another engine.
    pub fn set_engine(&mut self, engine: impl Engine<Board> + Send + 'static) {
        self.engine = Box::new(engine);
    }

    /// Puts a program in memory and sets the core to start it: supervisor mode, interrupts masked, MMU and caches off.
    ///
    /// # Errors
    ///
    /// [`Error`] for what does not fit memory.
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

    /// Puts an image in memory as it is.
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

    /// Puts a card in the slot, in the place of the one that was there.
    pub fn insert_card(&mut self, card: Card) {
        self.processor.bus.insert_card(card);
        self.processor.ask_again();
    }

    /// What the program is told as its command line.
    pub fn set_command_line(&mut self, text: &str) {
        self.semihosting.command_line = text.to_owned();
    }

    /// Runs to the limit, which is met exactly, or until something ends the run. Going on is always possible.
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
                Stop::Limit if slice == limit.cycles || self.done(limit) => return Outcome::Limit,
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

    fn done(&self, limit: Limit) -> bool {
        self.processor.counts.instructions >= limit.instructions
    }

    /// What the board ended the run for, if it did.
    fn halted(&mut self, stop: Stop) -> Option<Outcome> {
        self.processor.bus.halt()?;
        let halt = self.processor.bus.take_halt()?;
        Some(match halt {
            Halt::Reset => Outcome::Reset,
            Halt::Output => Outcome::Output,
            Halt::Mark(value) => Outcome::Mark { value },
            Halt::NotModelled(touch) => {
                Outcome::NotModelled { touch, at: self.instruction_before(stop) }
            }
        })
    }

    /// The instruction that the bus answered with an error: from the abort that it took, else the one before the present one.
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

    /// Serves the semihosting call that the core stands at; tells how the run ends, if it does.
    fn serve(&mut self) -> Option<Outcome> {
        let answer = self.semihosting.serve(&mut self.processor);
        if !matches!(answer, Answer::Return(_)) {
            // The call was fetched and must not be fetched again, however often the host asks.
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

    /// What the program printed since this was last called: UART 0 and semihosting.
    pub fn take_console(&mut self) -> Vec<u8> {
        self.take_output(0)
    }

    /// What UART `uart` (0 to 3) sent since this was last called.
    pub fn take_output(&mut self, uart: usize) -> Vec<u8> {
        self.processor.bus.take_output(uart)
    }

    /// Types on UART `uart` (0 to 3).
    pub fn push_input(&mut self, uart: usize, bytes: &[u8]) {
        self.processor.bus.push_input(uart, bytes);
        self.processor.ask_again();
    }

    /// Types what semihosting calls read.
    pub fn push_semihosting_input(&mut self, bytes: &[u8]) {
        self.semihosting.push(bytes);
    }

    /// Tells that semihosting calls will have nothing more to read.
    pub const fn close_semihosting_input(&mut self) {
        self.semihosting.close_input();
    }

    /// Whether a write to the LEDs ends the run, at the next boundary between two instructions: a program marks instants so, at which
    /// the host reads time and counts. What the program does is the same either way.
    pub const fn watch_marks(&mut self, on: bool) {
        self.processor.bus.watch_marks(on);
    }

    /// Notes up to `limit` events from here on, in place of what was noted. The engine keeps what it derived.
    pub fn record(&mut self, limit: usize) {
        self.processor.recorder = Some(Recorder::new(limit));
    }

    /// The events since [`Machine::record`], or since this was last called; as many can be noted again.
    pub fn take_events(&mut self) -> Vec<(Cycles, Event)> {
        self.processor.recorder.as_mut().map(Recorder::take).unwrap_or_default()
    }

    /// The aligned word at `at` as the program sees it.
    #[must_use]
    pub fn peek(&self, at: Virtual) -> Option<u32> {
        self.processor.memory.peek(at, &self.processor.bus)
    }

    /// Replaces the aligned word at `at` as the program sees it; tells whether there is memory.
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

    /// The core and, as its `bus`, the board.
    #[must_use]
    pub const fn processor(&self) -> &Processor<Board> {
        &self.processor
    }

    /// The core and the board, to be changed; the engine forgets what it derived from them.
    pub fn processor_mut(&mut self) -> &mut Processor<Board> {
        self.engine.forget();
        &mut self.processor
    }

    /// A hash over the whole run: the core's states and exceptions, and each access to a device with address, value and cycle.
    #[must_use]
    pub const fn trace_hash(&self) -> u64 {
        boardlab_sim::mix(self.processor.trace.value().rotate_left(1) ^ self.processor.bus.trace())
    }
}
