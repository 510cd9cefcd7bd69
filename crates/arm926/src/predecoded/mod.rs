//! The predecoded engine: decoded blocks, without the lookups that would hit.
//!
//! Layer: rank 3. Main types: [`Predecoded`], the engine, and [`block::Block`], a decoded run of
//! instructions. A block runs only if it ends before the next due boundary, and while its lines hit
//! with the contents that it was built from. An access that misses the look-aside is performed by the
//! memory system. [`Processor::step_within`] executes rare instructions, with the exact state before
//! them. See docs/models/arm926-engines.md.

mod access;
pub mod block;
mod cache;
mod chain;
mod class;
mod compute;
mod lower;
mod missed;
mod port;
mod step;

use crate::address::Virtual;
use crate::bus::Bus;
use crate::engine::Engine;
use crate::memory::Memory;
use crate::memory::lookaside::{Identity, LineHit, LineLookup};
use crate::processor::{Limit, Processor, Stop};
pub use block::Block;
use block::{Key, Line};
use cache::{BlockCache, CachedBlock, NONE};
use chain::{Bounds, ChainExit, Origin, Place, Start};
pub use class::Class;

/// The engine of predecoded blocks.
#[derive(Debug, Default)]
pub struct Predecoded {
    cache: BlockCache,
    /// The source of the last transfer of control, if it is not linked yet.
    from: Option<Origin>,
    /// The core that the blocks derive from.
    core: Option<Identity>,
    /// The count of [`Predecoded::stepped`].
    stepped: u64,
}

/// The end of a run by the fast engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// The run stops.
    Stop(Stop),
    /// Before a block, by index, that is entered often enough to be compiled.
    Hot(u32),
}

/// Why no chain starts.
enum NoStart {
    /// The reference makes a step, at this piece if it is known.
    Step(Option<Place>),
    /// The reference executes the instruction, whose line was fetched after its boundary.
    Fetched,
    /// An exception moved the processor elsewhere.
    Elsewhere,
    /// The run stops.
    Stop(Stop),
}

impl<B: Bus> Engine<B> for Predecoded {
    fn run(&mut self, processor: &mut Processor<B>, limit: Limit) -> Stop {
        self.bind(processor);
        if !processor.points.is_empty() {
            return self.run_by_reference(processor, limit);
        }
        loop {
            match self.run_until_hot(processor, limit, false) {
                RunEnd::Stop(stop) => return stop,
                RunEnd::Hot(code) => self.mark_cold(code),
            }
        }
    }

    fn forget(&mut self) {
        self.cache.clear();
        self.from = None;
        self.core = None;
    }
}

/// The bounds of a chain; `None` if the next boundary has work.
fn bounds<B: Bus>(processor: &mut Processor<B>, limit: Limit) -> Option<Bounds> {
    processor.settle();
    if processor.memory.armv4_loads() || processor.memory.checker().is_some() {
        return None;
    }
    let instructions = limit.instructions - processor.counts.instructions;
    // Each instruction takes at least one cycle.
    let by_count = processor.now.plus(instructions);
    let limit = limit.cycles.min(by_count);
    let stop = processor.deadline().min(limit);
    let bounds = Bounds { stop: stop.0, limit: limit.0 };
    (!processor.memory.touched() && processor.now < stop).then_some(bounds)
}

/// The line of `at` with its contents, if it is the current one or would hit.
fn contents(memory: &mut Memory, at: Virtual, privileged: bool) -> Option<Line> {
    let line = memory.line_of(at, privileged)?;
    let current = memory.current_line(at, privileged);
    let contents = current.or_else(|| memory.instruction_line(at, privileged))?;
    Some((line, *contents))
}

impl Predecoded {
    /// Creates an engine without blocks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs everything by the reference interpreter.
    pub(crate) fn run_by_reference<B: Bus>(
        &mut self,
        processor: &mut Processor<B>,
        limit: Limit,
    ) -> Stop {
        // What follows is not the target of the last transfer of control.
        self.from = None;
        let before = processor.counts.instructions;
        let stop = processor.run(limit);
        self.stepped += processor.counts.instructions - before;
        stop
    }

    /// The number of instructions executed by the reference or with an access that missed the
    /// look-aside, including aborted ones. Interrupts, sleep and semihosting calls do not count.
    #[must_use]
    pub const fn stepped(&self) -> u64 {
        self.stepped
    }

    /// Binds the engine to this core: discards blocks of another one; returns whether it did.
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

    /// Creates an engine that stops before blocks entered `threshold` times.
    #[cfg(feature = "compiler")]
    pub(crate) fn with_threshold(threshold: u32) -> Self {
        Self { cache: BlockCache::with_threshold(threshold), ..Self::default() }
    }

    /// Excludes a block from compilation.
    pub(crate) fn mark_cold(&mut self, code: u32) {
        if let Some(code) = self.cache.get(code) {
            code.mark_cold();
        }
    }

    /// Halves the entry counts of all blocks.
    #[cfg(feature = "compiler")]
    pub(crate) fn halve_counts(&self) {
        self.cache.halve_counts();
    }

    /// Runs to the limit or the next hot block; `ignore_heat` excepts the first block.
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
                        && self.cache.get(code).is_some_and(CachedBlock::is_hot)
                        && !std::mem::take(&mut ignore_heat)
                    {
                        return RunEnd::Hot(code);
                    }
                    let (left, stepped) = chain::run(&mut self.cache, processor, start);
                    self.stepped += stepped;
                    match left {
                        ChainExit::Reference(place) => (Some(place), true),
                        ChainExit::Fetched(place) => (place, false),
                        ChainExit::Boundary(place) => {
                            resume = Some(place);
                            continue;
                        }
                        ChainExit::After(from) => {
                            self.from = Some(from);
                            continue;
                        }
                        ChainExit::Elsewhere => continue,
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
                .filter(|place| self.cache.is_rare(place.code))
                .map(|place| Origin::Rare { code: place.code });
        }
        RunEnd::Stop(Stop::Limit)
    }

    /// The start of the next chain, or why there is none.
    fn start<B: Bus>(
        &mut self,
        processor: &mut Processor<B>,
        limit: Limit,
        resumed: Option<Place>,
    ) -> Result<Start, NoStart> {
        let Some(bounds) = bounds(processor, limit) else {
            // An interrupt may come next instead of the target of the last transfer of control.
            self.from = None;
            return Err(NoStart::Step(resumed));
        };
        let place = match resumed {
            Some(place) => place,
            None => self.place(processor, bounds)?,
        };
        self.verify(processor, place, bounds).ok_or(NoStart::Step(Some(place)))
    }

    /// The line of the next instruction, fetched if need be.
    fn line<B: Bus>(
        &mut self,
        processor: &mut Processor<B>,
        bounds: Bounds,
    ) -> Result<LineHit, NoStart> {
        let privileged = processor.registers.cpsr().privileged();
        let Processor { memory, bus, now, registers, .. } = processor;
        let at = Virtual(registers.pc);
        if let Some(line) = memory.current_hit(at, privileged) {
            return Ok(line);
        }
        let missing = match memory.find_line(at, privileged) {
            LineLookup::Hit(line) => return Ok(line),
            LineLookup::Miss(missing) => missing,
            LineLookup::Other => return Err(NoStart::Step(None)),
        };
        match memory.fetch_line(missing, bus, now) {
            Ok(Some(line)) if now.0 < bounds.stop && !memory.touched() => Ok(line),
            Ok(_) => Err(NoStart::Fetched),
            Err(abort) => {
                self.stepped += 1;
                Err(processor.abort_fetch(abort).map_or(NoStart::Elsewhere, NoStart::Stop))
            }
        }
    }

    /// The next instruction's place in the block cache; builds a block for a warm address.
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
        let guess = from.map_or(NONE, |from| self.cache.next(from));
        if self.cache.key(guess) == Some(&key) {
            return Ok(Place { code: guess, piece: 0 });
        }
        let code = match self.cache.find(&key) {
            Some(code) => code,
            None if !self.cache.is_warm(at.0) => return Err(NoStart::Step(None)),
            None => {
                let memory = &mut processor.memory;
                let block = Block::build(key, |at| contents(memory, at, privileged));
                self.cache.add(block.ok_or(NoStart::Step(None))?)
            }
        };
        if let Some(from) = from {
            self.cache.link(from, code);
        }
        Ok(Place { code, piece: 0 })
    }

    /// The start of a chain at `place`, if its block ends in time and its line is unchanged.
    fn verify<B>(
        &mut self,
        processor: &mut Processor<B>,
        place: Place,
        bounds: Bounds,
    ) -> Option<Start> {
        let code = self.cache.get(place.code)?;
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
            self.cache.retire(place.code);
            return None;
        }
        Some(Start { place, line, is_current, bounds })
    }

    /// The place after that at `place`, which the reference executed, if execution fell through.
    fn next_piece<B>(&self, processor: &Processor<B>, place: Place) -> Option<Place> {
        let code = self.cache.get(place.code)?;
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
