//! The predecoded engine: blocks of instructions that were decoded before, and lookups left out that would hit.
//!
//! Layer: rank 3. Main types: [`Predecoded`], the engine; [`block::Block`], what is known of a run of instructions before it runs, which the
//! compiler uses too. A block runs only if no boundary inside it can matter (its cycles end before the next deadline) and while each line that it enters
//! is known to hit with the contents that it was made from. An access that is not a known hit goes to the memory system on the way; whatever is rare
//! is left to [`Processor::step_within`] for one instruction, with the exact state in front of it. See docs/models/arm926-engines.md.

mod access;
pub mod block;
mod chain;
mod class;
mod code;
mod compute;
mod lower;
mod missed;
mod step;

use crate::address::Virtual;
use crate::bus::Bus;
use crate::engine::Engine;
use crate::memory::Memory;
use crate::memory::lookaside::{Identity, LineHit};
use crate::processor::{Limit, Processor, Stop};
pub use block::Block;
use block::{Key, Line};
use chain::{Bounds, ChainExit, From, Place, Start};
pub use class::Class;
use code::{Code, Codes, NONE};

/// The engine of predecoded blocks.
#[derive(Debug, Default)]
pub struct Predecoded {
    codes: Codes,
    /// The way that led to where the processor is, if that is not chained yet.
    from: Option<From>,
    /// The core that it is derived from.
    core: Option<Identity>,
    /// Instructions that were left to the reference interpreter.
    stepped: u64,
}

/// How a run of the fast engine ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// The run is to stop.
    Stop(Stop),
    /// In front of a code that was entered so often that it is worth compiling: its number.
    Hot(u32),
}

/// Why no chain begins.
enum NoStart {
    /// The reference makes a step, by this piece if it is known.
    Step(Option<Place>),
    /// The reference executes the instruction whose line was fetched: the boundary in front of it is passed.
    Fetched,
    /// The processor has gone on elsewhere.
    Elsewhere,
    /// The run is to stop.
    Stop(Stop),
}

impl<B: Bus> Engine<B> for Predecoded {
    fn run(&mut self, processor: &mut Processor<B>, limit: Limit) -> Stop {
        self.bind(processor);
        if !processor.points.is_empty() {
            return self.leave_to_reference(processor, limit);
        }
        loop {
            match self.run_until_hot(processor, limit, false) {
                RunEnd::Stop(stop) => return stop,
                RunEnd::Hot(code) => self.cool(code),
            }
        }
    }

    fn forget(&mut self) {
        self.codes.clear();
        self.from = None;
        self.core = None;
    }
}

/// The cycles before which everything that is run must end; nothing if the next boundary must be looked at.
fn bounds<B: Bus>(processor: &mut Processor<B>, limit: Limit) -> Option<Bounds> {
    processor.settle();
    if processor.memory.armv4_loads() || processor.memory.checker().is_some() {
        return None;
    }
    let instructions = limit.instructions - processor.counts.instructions;
    // Each instruction takes a cycle at least.
    let by_count = processor.now.plus(instructions);
    let limit = limit.cycles.min(by_count);
    let stop = processor.deadline().min(limit);
    let bounds = Bounds { stop: stop.0, limit: limit.0 };
    (!processor.memory.touched() && processor.now < stop).then_some(bounds)
}

/// The line of `at`, if a fetch there is in it already or would hit, with what is in it.
fn contents(memory: &mut Memory, at: Virtual, privileged: bool) -> Option<Line> {
    let line = memory.line_of(at, privileged)?;
    let current = memory.current_line(at, privileged);
    let contents = current.or_else(|| memory.instruction_line(at, privileged))?;
    Some((line, *contents))
}

impl Predecoded {
    /// An engine that knows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs all by the reference interpreter.
    pub(crate) fn leave_to_reference<B: Bus>(
        &mut self,
        processor: &mut Processor<B>,
        limit: Limit,
    ) -> Stop {
        // What follows is not where the last way led.
        self.from = None;
        let before = processor.counts.instructions;
        let stop = processor.run(limit);
        self.stepped += processor.counts.instructions - before;
        stop
    }

    /// How many instructions the reference interpreter executed for the engine since it was made, those included that took an exception; an
    /// interrupt, sleep, and a semihosting call, which the host serves, are none.
    #[must_use]
    pub const fn stepped(&self) -> u64 {
        self.stepped
    }

    /// Forgets what is derived from another core than this one; whether it was.
    pub(crate) fn bind<B: Bus>(&mut self, processor: &mut Processor<B>) -> bool {
        processor.memory.renew_lookaside();
        let identity = processor.memory.lookaside().identity();
        if self.core.as_ref() == Some(identity) {
            return false;
        }
        Engine::<B>::forget(self);
        self.core = Some(identity.clone());
        true
    }

    /// An engine that stops in front of what it entered so often.
    #[cfg(feature = "compiler")]
    pub(crate) fn with_threshold(threshold: u32) -> Self {
        Self { codes: Codes::with_threshold(threshold), ..Self::default() }
    }

    /// A code is not worth compiling.
    pub(crate) fn cool(&mut self, code: u32) {
        if let Some(code) = self.codes.get(code) {
            code.cool();
        }
    }

    /// Counts from the beginning how often codes are entered.
    #[cfg(feature = "compiler")]
    pub(crate) fn reset_counts(&self) {
        self.codes.reset_counts();
    }

    /// Runs to the limit, or until the next code is hot; with `ignore_heat` the first is not asked.
    pub(crate) fn run_until_hot<B: Bus>(
        &mut self,
        processor: &mut Processor<B>,
        limit: Limit,
        mut ignore_heat: bool,
    ) -> RunEnd {
        let mut resume = None;
        while processor.now < limit.cycles && processor.counts.instructions < limit.instructions {
            let (place, is_due) = match self.start(processor, limit, resume.take()) {
                Err(NoStart::Stop(stop)) => return RunEnd::Stop(stop),
                Err(NoStart::Elsewhere) => continue,
                Err(NoStart::Step(place)) => (place, true),
                Err(NoStart::Fetched) => (None, false),
                Ok(start) => {
                    let Start { place: Place { code, piece }, .. } = start;
                    if piece == 0
                        && self.codes.get(code).is_some_and(Code::is_hot)
                        && !std::mem::take(&mut ignore_heat)
                    {
                        return RunEnd::Hot(code);
                    }
                    let (left, stepped) = chain::run(&mut self.codes, processor, start);
                    self.stepped += stepped;
                    match left {
                        ChainExit::Reference(place) => (Some(place), true),
                        ChainExit::Fetched(place) => (place, false),
                        ChainExit::Boundary(place) => {
                            resume = Some(place);
                            continue;
                        }
                        ChainExit::Behind(from) => {
                            self.from = Some(from);
                            continue;
                        }
                        ChainExit::Nowhere => continue,
                        ChainExit::Stop(stop) => return RunEnd::Stop(stop),
                    }
                }
            };
            let before = processor.counts.instructions;
            let stop =
                if is_due { processor.step_within(limit.cycles) } else { processor.execute_next() };
            self.stepped += processor.counts.instructions - before;
            if let Some(stop) = stop {
                return RunEnd::Stop(stop);
            }
            resume = place.and_then(|place| self.next_piece(processor, place));
            self.from = place
                .filter(|place| self.codes.is_rare(place.code))
                .map(|place| From::Rare { code: place.code });
        }
        RunEnd::Stop(Stop::Limit)
    }

    /// Where a chain can begin; else the piece that the reference is to execute, if it is known.
    fn start<B: Bus>(
        &mut self,
        processor: &mut Processor<B>,
        limit: Limit,
        resumed: Option<Place>,
    ) -> Result<Start, NoStart> {
        let Some(bounds) = bounds(processor, limit) else {
            // What comes next may be an interrupt: not where the last way led.
            self.from = None;
            return Err(NoStart::Step(resumed));
        };
        let place = match resumed {
            Some(place) => place,
            None => self.place(processor, bounds)?,
        };
        self.verify(processor, place, bounds).ok_or(NoStart::Step(Some(place)))
    }

    /// The line of the next instruction, fetched if need be; nothing is to be looked at in front of it.
    fn line<B: Bus>(
        &mut self,
        processor: &mut Processor<B>,
        bounds: Bounds,
    ) -> Result<LineHit, NoStart> {
        let privileged = processor.registers.cpsr().privileged();
        let Processor { memory, bus, now, registers, .. } = processor;
        let at = Virtual(registers.pc);
        if let Some(line) = memory.line_of(at, privileged) {
            return Ok(line);
        }
        match memory.fetch_line(at, privileged, (bus, now)) {
            None => Err(NoStart::Step(None)),
            Some(Ok(Some(line))) if now.0 < bounds.stop && !memory.touched() => Ok(line),
            Some(Ok(_)) => Err(NoStart::Fetched),
            Some(Err(abort)) => {
                self.stepped += 1;
                Err(processor.abort_fetch(abort).map_or(NoStart::Elsewhere, NoStart::Stop))
            }
        }
    }

    /// The start of the code that is to be executed.
    fn place<B: Bus>(
        &mut self,
        processor: &mut Processor<B>,
        bounds: Bounds,
    ) -> Result<Place, NoStart> {
        let from = self.from.take();
        if processor.memory.fetch_pid().is_none() {
            return Err(NoStart::Step(None));
        }
        let line = self.line(processor, bounds)?;
        let status = processor.registers.cpsr();
        let (at, privileged) = (Virtual(processor.registers.pc), status.privileged());
        let (thumb, pipeline) = (status.thumb(), processor.pipeline);
        let key = Key { at, line, thumb, privileged, pipeline };
        let guess = from.map_or(NONE, |from| self.codes.next(from));
        if self.codes.key(guess) == Some(&key) {
            return Ok(Place { code: guess, piece: 0 });
        }
        let code = match self.codes.find(&key) {
            Some(code) => code,
            None if !self.codes.is_warm(at.0) => return Err(NoStart::Step(None)),
            None => {
                let memory = &mut processor.memory;
                let block = Block::build(key, |at| contents(memory, at, privileged));
                self.codes.add(block.ok_or(NoStart::Step(None))?)
            }
        };
        if let Some(from) = from {
            self.codes.link(from, code);
        }
        Ok(Place { code, piece: 0 })
    }

    /// Where a chain begins, if the code at `place` ends in time and its line has the contents that it was made from.
    fn verify<B>(
        &mut self,
        processor: &mut Processor<B>,
        place: Place,
        bounds: Bounds,
    ) -> Option<Start> {
        let code = self.codes.get(place.code)?;
        let piece = code.block.pieces.get(place.piece)?;
        let ahead = u64::from(code.longest - piece.before);
        if processor.now.0.saturating_add(ahead) >= bounds.stop {
            return None;
        }
        let (at, privileged) = (piece.at, code.block.key.privileged);
        let current = processor.memory.current_hit(at, privileged);
        let is_current = current.is_some();
        let line = current.or_else(|| processor.memory.line_hit(at, privileged))?;
        if line != code.block.lines[piece.line] {
            self.codes.retire(place.code);
            return None;
        }
        Some(Start { place, line, is_current, bounds })
    }

    /// Where to go on after the reference has executed the piece at `place`, if it went on straight.
    fn next_piece<B>(&self, processor: &Processor<B>, place: Place) -> Option<Place> {
        let code = self.codes.get(place.code)?;
        let piece = code.block.pieces.get(place.piece + 1)?;
        let (status, pipeline) = (processor.registers.cpsr(), processor.pipeline);
        let same = processor.registers.pc == piece.at.0
            && status.thumb() == code.block.key.thumb
            && status.mode().privileged() == code.block.key.privileged
            && (pipeline == piece.pipeline || Some(pipeline) == piece.if_skipped);
        let place = Place { piece: place.piece + 1, ..place };
        same.then_some(place)
    }
}
