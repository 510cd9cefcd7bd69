//! Chains: cached blocks run one after another.
//!
//! Layer: rank 3. [`run`] loads the processor's state, runs blocks and stores the exact state. It
//! handles frequent misses itself: of an access, of a line in the cache, and of a link between blocks.

use super::block::{self, Key, Piece};
use super::cache::{BlockCache, CachedBlock, JumpKey};
use super::class::Class;
use super::lower::Source;
use super::port::{NoEntry, Port};
use super::step::{Cause, Core, Exit, Progress, dispatch, enter};
use super::{class, missed};
use crate::address::{Cycles, Virtual};
use crate::bus::Bus;
use crate::exception::Exception;
use crate::execute;
use crate::memory::lookaside::LineHit;
use crate::memory::{Abort, Memory};
use crate::processor::{Processor, Stop};
use crate::timing::{Outcome, Pipeline};

/// A piece of a cached block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) code: u32,
    pub(super) piece: usize,
}

/// The source of a transfer of control to a block.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin {
    /// After the last piece of a block, executed (0) or skipped (1).
    Exit { code: u32, outcome: usize },
    /// A dynamic jump.
    Jump(JumpKey),
    /// After an instruction left to the reference.
    Rare { code: u32 },
}

/// The exit of a chain, with the state in the processor.
#[derive(Debug, Clone, Copy)]
pub(super) enum ChainExit {
    /// Before a piece that the reference executes, and its boundary.
    Reference(Place),
    /// Before a piece whose boundary has work.
    Boundary(Place),
    /// Before an instruction that the reference executes, after its boundary; its piece if known.
    Fetched(Option<Place>),
    /// After a block whose successor is unknown or cannot be entered.
    After(Origin),
    /// Elsewhere, after an exception or a change of code.
    Elsewhere,
    /// The run stops.
    Stop(Stop),
}

/// The start of a chain.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    pub(super) place: Place,
    /// The line of the piece.
    pub(super) line: LineHit,
    /// Whether that line is already the current one.
    pub(super) is_current: bool,
    /// The limits of the chain.
    pub(super) bounds: Bounds,
}

/// The cycles before which all blocks must end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// The first cycle at which a boundary has work.
    pub(super) stop: u64,
    /// The same, by the limit of the run alone.
    pub(super) limit: u64,
}

/// The end of a run of linked blocks.
#[derive(Debug, Clone, Copy)]
enum End {
    /// At a step, with the number of remaining steps.
    At { code: u32, left: usize, cause: Cause },
    /// After a block, with the linked successor, and why it was not entered.
    After { code: u32, from: Origin, next: u32, entry: NoEntry },
}

/// Where a block is entered.
#[derive(Debug, Clone, Copy)]
enum Entry {
    /// At this step.
    Step(usize),
    /// After the last step, with this exit.
    After(Exit),
}

/// A chain in progress.
struct Chain<'a, B> {
    cache: &'a mut BlockCache,
    processor: &'a mut Processor<B>,
    core: Core,
    bounds: Bounds,
}

/// Runs from `start` on. Returns the exit, and the number of instructions with an access that missed.
pub(super) fn run<B: Bus>(
    cache: &mut BlockCache,
    processor: &mut Processor<B>,
    start: Start,
) -> (ChainExit, u64) {
    let Start { place, line, is_current, bounds } = start;
    let Some(code) = cache.get(place.code) else { return (ChainExit::Elsewhere, 0) };
    let Some(piece) = code.block.pieces.get(place.piece) else { return (ChainExit::Elsewhere, 0) };
    let first = code.first_step(place.piece);
    let progress = Progress {
        was_skipped: piece.if_skipped == Some(processor.pipeline),
        instructions: 0u64.wrapping_sub(place.piece as u64),
        lines: u64::from(!is_current),
        ..Progress::new(processor.now.0.wrapping_sub(u64::from(piece.before)), line)
    };
    let mut chain =
        Chain { cache, core: Core::load(&processor.registers, progress), processor, bounds };
    let left = chain.run(place.code, Entry::Step(first));
    chain.add_counts();
    (left, chain.core.progress.stepped)
}

/// Runs linked blocks up to a missing link, or to what needs more than the memory system.
fn follow<'a>(
    cache: &'a BlockCache,
    core: &mut Core,
    port: &mut Port<'a>,
    mut index: u32,
    mut exit: Exit,
) -> End {
    loop {
        let (outcome, next) = match exit.outcome() {
            Some(outcome) => (outcome, port.code.exits[outcome].link),
            None => match exit.cause() {
                None => (0, cache.jump(core.jump_key())),
                Some(cause) => return End::At { code: index, left: exit.steps(), cause },
            },
        };
        let progress = &mut core.progress;
        progress.instructions = progress.instructions.wrapping_add(u64::from(port.code.count));
        progress.base = progress.base.wrapping_add(u64::from(port.code.exits[outcome].cycles));
        let mut entry = NoEntry::Missing;
        if let Some(following) = cache.get(next)
            && following.ends_before(port.stop, progress.base)
            && !following.is_hot()
        {
            let entered = if following.line == progress.line || enter(core, port, following.line) {
                Ok(())
            } else {
                missed::entry(core, port, following)
            };
            match entered {
                Ok(()) => {
                    (index, port.code) = (next, following);
                    exit = dispatch(core, &following.steps, port);
                    continue;
                }
                Err(error) => entry = error,
            }
        }
        let from = if exit == Exit::DYNAMIC {
            Origin::Jump(core.jump_key())
        } else {
            Origin::Exit { code: index, outcome }
        };
        return End::After { code: index, from, next, entry };
    }
}

impl<B: Bus> Chain<'_, B> {
    /// Runs from a step of a block on.
    fn run(&mut self, mut index: u32, mut at: Entry) -> ChainExit {
        loop {
            let Self { cache, processor, core, bounds } = self;
            let Some(code) = cache.get(index) else { return ChainExit::Elsewhere };
            let Processor { memory, bus, .. } = &mut **processor;
            let mut port = Port { memory, bus, code, stop: bounds.stop, abort: None };
            let exit = match at {
                Entry::Step(step) => {
                    dispatch(core, code.steps.get(step..).unwrap_or(&[]), &mut port)
                }
                Entry::After(exit) => exit,
            };
            let end = follow(cache, core, &mut port, index, exit);
            let abort = port.abort;
            let on = match end {
                End::At { code, left, cause } => self.at_step(code, left, cause, abort),
                End::After { code, from, next, entry } => {
                    let entered = match entry {
                        NoEntry::Missing => self.enter(code, from, next),
                        entry => Err(entry),
                    };
                    entered.map_err(|entry| self.after(code, from, next, entry))
                }
            };
            match on {
                Ok(on) => (index, at) = on,
                Err(left) => return left,
            }
        }
    }

    /// Stores the state before a piece.
    fn before(&mut self, code: u32, piece: usize) -> Place {
        let Self { cache, processor, core, .. } = self;
        core.store(&mut processor.registers);
        if let Some(code) = cache.get(code) {
            Boundary::before(code, piece, &mut core.progress).store(processor);
        }
        Place { code, piece }
    }

    /// Continues at the step that is `left` before the end of its block, at which a run of blocks ended.
    fn at_step(
        &mut self,
        index: u32,
        left: usize,
        cause: Cause,
        abort: Option<Abort>,
    ) -> Result<(u32, Entry), ChainExit> {
        let code = self.cache.get(index).ok_or(ChainExit::Elsewhere)?;
        let (at, source) = (code.steps.len() - left, code.source(left));
        let piece = usize::from(source.piece);
        let left = match cause {
            Cause::System => return self.system(index, at, source),
            Cause::Sampled => {
                let Key { thumb, privileged, .. } = code.block.key;
                let class = class::of(&code.block.pieces[piece].instruction, thumb, privileged);
                let exit = if class == Class::Jump { Exit::DYNAMIC } else { Exit::EXECUTED };
                let Self { processor, core, bounds, .. } = self;
                // Whether an interrupt is taken depends on CPSR.
                core.store(&mut processor.registers);
                let cycles = u64::from(source.before) + u64::from(source.executed);
                let boundary = Cycles(core.progress.base.wrapping_add(cycles));
                bounds.stop = resample(processor, boundary, bounds.limit);
                return self.behind(index, (at, piece), exit);
            }
            Cause::Reference => ChainExit::Reference(self.before(index, piece)),
            Cause::Boundary => ChainExit::Boundary(self.before(index, piece + 1)),
            Cause::Fetched => ChainExit::Fetched(Some(self.before(index, piece))),
            Cause::Changed => {
                self.before(index, piece);
                self.cache.retire(index);
                ChainExit::Elsewhere
            }
            Cause::DataAbort | Cause::FetchAbort => {
                let at = code.block.pieces[piece].at.0;
                self.before(index, piece);
                match abort {
                    Some(abort) if cause == Cause::DataAbort => self.abort_access(abort, at),
                    Some(abort) => self.abort_fetch(abort),
                    None => ChainExit::Elsewhere,
                }
            }
        };
        Err(left)
    }

    /// Takes the abort of an access of the instruction at `at`, with the state before it in the processor.
    fn abort_access(&mut self, abort: Abort, at: u32) -> ChainExit {
        let Self { processor, core, .. } = self;
        core.progress.instructions = core.progress.instructions.wrapping_add(1);
        processor.memory.note_data_abort(abort);
        let stop = processor.enter(Exception::DataAbort, at);
        stop.map_or(ChainExit::Elsewhere, ChainExit::Stop)
    }

    /// Continues behind a step, the last one of its piece, which exits the block with `exit` if the piece
    /// is its last one.
    fn behind(
        &mut self,
        index: u32,
        (at, piece): (usize, usize),
        exit: Exit,
    ) -> Result<(u32, Entry), ChainExit> {
        let code = self.cache.get(index).ok_or(ChainExit::Elsewhere)?;
        // A branch may have no step.
        if piece + 1 == code.count as usize {
            return Ok((index, Entry::After(exit)));
        }
        if code.ends_before(self.bounds.stop, self.core.progress.base) {
            return Ok((index, Entry::Step(at + 1)));
        }
        Err(ChainExit::Boundary(self.before(index, piece + 1)))
    }

    /// Lets the reference execute an instruction of [`Class::System`](super::class::Class::System).
    fn system(&mut self, index: u32, at: usize, source: Source) -> Result<(u32, Entry), ChainExit> {
        let Self { cache, processor, core, bounds } = self;
        let code = cache.get(index).ok_or(ChainExit::Elsewhere)?;
        let piece = usize::from(source.piece);
        let Piece { instruction, at: address, .. } = code.block.pieces[piece];
        let begin = core.progress.base.wrapping_add(u64::from(source.before));
        core.store(&mut processor.registers);
        // The chain may have come from code in the other state.
        processor.registers.set_thumb(code.block.key.thumb);
        processor.registers.pc = address.0.wrapping_add(class::size(code.block.key.thumb));
        processor.now = Cycles(begin);
        let end = execute::execute(processor, &instruction, address.0);
        assert_eq!(end, execute::End::Done(Outcome::Executed), "of its class");
        let stalls = processor.now.0 - begin;
        *core = Core::load(&processor.registers, core.progress);
        core.progress.stepped += 1;
        core.progress.base = core.progress.base.wrapping_add(stalls);
        if block::writes_coprocessor(&instruction) {
            core.progress.line = LineHit::NONE;
        }
        let boundary = processor.now.plus(u64::from(source.executed));
        if !core.privileged() {
            // A line that was current for the kernel is looked up again.
            enter_line(&mut processor.memory, &core.progress, true);
            let mut pipeline = code.block.pieces[piece].pipeline;
            pipeline.advance(&instruction, Outcome::Executed);
            (processor.pipeline, processor.now) = (pipeline, boundary);
            core.progress.instructions = core.progress.instructions.wrapping_add(piece as u64 + 1);
            core.progress.line = LineHit::NONE;
            return Err(ChainExit::Elsewhere);
        }
        // Interrupts may be enabled now.
        bounds.stop = resample(processor, boundary, bounds.limit);
        self.behind(index, (at, piece), Exit::EXECUTED)
    }

    /// Takes the abort of a fetch, with the state before it in the processor.
    fn abort_fetch(&mut self, abort: Abort) -> ChainExit {
        self.core.progress.stepped += 1;
        self.processor.abort_fetch(abort).map_or(ChainExit::Elsewhere, ChainExit::Stop)
    }

    /// The exit after a block whose successor cannot be entered, with the state in the processor.
    fn after(&mut self, index: u32, from: Origin, next: u32, entry: NoEntry) -> ChainExit {
        let Some(code) = self.cache.get(index) else { return ChainExit::Elsewhere };
        let boundary = Boundary::after(code, from, &self.core.progress);
        self.core.store(&mut self.processor.registers);
        boundary.store(self.processor);
        match entry {
            NoEntry::Fetched => ChainExit::Fetched(None),
            NoEntry::Aborted(abort) => self.abort_fetch(abort),
            NoEntry::Missing if self.cache.is_rare(next) && boundary.now < self.bounds.stop => {
                ChainExit::Fetched(Some(Place { code: next, piece: 0 }))
            }
            NoEntry::Missing => ChainExit::After(from),
        }
    }

    /// Enters the successor of a block, if it is cached and may run now.
    fn enter(&mut self, index: u32, from: Origin, next: u32) -> Result<(u32, Entry), NoEntry> {
        let Self { cache, processor, core, bounds } = self;
        let code = cache.get(index).ok_or(NoEntry::Missing)?;
        let boundary = Boundary::after(code, from, &core.progress);
        let is_ready =
            |code: &CachedBlock, base: u64| code.ends_before(bounds.stop, base) && !code.was_hot();
        let linked = cache.get(next);
        if linked.is_some_and(|code| !is_ready(code, core.progress.base)) {
            return Err(NoEntry::Missing);
        }
        let (at, privileged) = (Virtual(boundary.at), core.privileged());
        let line = if core.progress.line.is_of(at.0) {
            core.progress.line
        } else {
            let Processor { memory, bus, .. } = &mut **processor;
            Port { memory, bus, code, stop: bounds.stop, abort: None }.line(core, at)?
        };
        let found = if linked.is_some_and(|code| code.line == line) {
            next
        } else {
            let Boundary { thumb, pipeline, .. } = boundary;
            let key = Key { at, line, thumb, privileged, pipeline };
            let found = cache.find(&key).ok_or(NoEntry::Missing)?;
            cache.link(from, found);
            found
        };
        if !cache.get(found).is_some_and(|code| is_ready(code, core.progress.base)) {
            return Err(NoEntry::Missing);
        }
        if core.progress.line != line {
            core.progress.enter(line);
        }
        Ok((found, Entry::Step(0)))
    }

    /// Adds the counts, and makes the last line entered the current one.
    fn add_counts(&mut self) {
        let Self { processor, core, .. } = self;
        let progress = &core.progress;
        let counts = &mut processor.counts;
        counts.instructions = counts.instructions.wrapping_add(progress.instructions);
        counts.skipped += progress.skipped;
        processor.memory.note_hits(progress.reads, progress.writes, progress.lines);
        enter_line(&mut processor.memory, progress, core.privileged());
    }
}

/// Makes the last line that was entered the current one of the memory system.
fn enter_line(memory: &mut Memory, progress: &Progress, privileged: bool) {
    if progress.lines != 0 && progress.line != LineHit::NONE {
        memory.enter_line(Virtual(progress.line.at()), privileged);
    }
}

/// Samples the interrupt lines, if an access may have moved them, at the boundary behind an instruction
/// after which an interrupt may be taken; returns [`Bounds::stop`].
fn resample<B: Bus>(processor: &mut Processor<B>, boundary: Cycles, limit: u64) -> u64 {
    if boundary.0 >= limit {
        return 0;
    }
    processor.now = boundary;
    processor.settle();
    if processor.memory.touched() { 0 } else { processor.deadline().0.min(limit) }
}

/// The processor's state at an exit besides the registers.
#[derive(Debug, Clone, Copy)]
struct Boundary {
    at: u32,
    thumb: bool,
    now: u64,
    pipeline: Pipeline,
}

impl Boundary {
    /// Before a piece; the instructions up to it are counted.
    fn before(code: &CachedBlock, piece: usize, progress: &mut Progress) -> Self {
        progress.instructions = progress.instructions.wrapping_add(piece as u64);
        let piece = &code.block.pieces[piece];
        let pipeline = piece.if_skipped.filter(|_| progress.was_skipped).unwrap_or(piece.pipeline);
        let now = progress.base.wrapping_add(u64::from(piece.before));
        Self { at: piece.at.0, thumb: code.block.key.thumb, now, pipeline }
    }

    /// After a block, whose cycles are counted.
    fn after(code: &CachedBlock, from: Origin, progress: &Progress) -> Self {
        let exit = match from {
            Origin::Exit { outcome: 1, .. } => code.block.skipped,
            _ => code.block.executed,
        };
        let pipeline = exit.map_or(Pipeline::IDLE, |exit| exit.pipeline);
        let (at, thumb) = match (from, exit.and_then(|exit| exit.to)) {
            (Origin::Exit { .. }, Some((at, thumb))) => (at.0, thumb),
            _ => (progress.target & !1, progress.target & 1 != 0),
        };
        Self { at, thumb, now: progress.base, pipeline }
    }

    /// Stores the state.
    fn store<B>(self, processor: &mut Processor<B>) {
        processor.registers.pc = self.at;
        processor.registers.set_thumb(self.thumb);
        processor.pipeline = self.pipeline;
        processor.now = Cycles(self.now);
    }
}
