//! Running codes one after another.
//!
//! Layer: rank 3. [`run`] takes the processor's state into [`Working`], runs, and leaves the exact state in the processor. What happens often is
//! done on the way: an access that is no known hit, a code whose line is in the cache but not among the known hits, and a way that is not chained yet.

use super::block::Key;
use super::code::{Code, Codes, JumpKey};
use super::missed;
use super::step::{Leave, Lookup, Progress, Working, enter, go_on};
use crate::address::{Cycles, Virtual};
use crate::bus::Bus;
use crate::exception::Exception;
use crate::memory::Abort;
use crate::memory::lookaside::LineHit;
use crate::processor::{Processor, Stop};
use crate::timing::Pipeline;

/// A piece of a code.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) code: u32,
    pub(super) piece: usize,
}

/// A way from one code to another.
#[derive(Debug, Clone, Copy)]
pub(super) enum From {
    /// Behind the last piece of a code, executed (0) or skipped (1).
    Way { code: u32, way: usize },
    /// By a jump to where registers said.
    Jump(JumpKey),
    /// Behind an instruction that is left to the reference.
    Rare { code: u32 },
}

/// How a chain of codes was left, with the state in the processor.
#[derive(Debug, Clone, Copy)]
pub(super) enum ChainExit {
    /// In front of a piece that the reference is to execute.
    Reference(Place),
    /// In front of a piece; something is to be looked at first.
    Boundary(Place),
    /// In front of an instruction that the reference is to execute, and nothing is to be looked at first: at a piece, of a code without pieces too.
    Fetched(Option<Place>),
    /// Behind a code; what follows is not known, or may not be entered so.
    Behind(From),
    /// Elsewhere.
    Nowhere,
    /// The run is to stop.
    Stop(Stop),
}

/// How a chain begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    pub(super) place: Place,
    /// The line of the piece.
    pub(super) line: LineHit,
    /// Fetching is in that line; else it enters it.
    pub(super) is_current: bool,
    /// Until when.
    pub(super) bounds: Bounds,
}

/// The cycles before which all codes must end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    /// At the first boundary at or after this one something is to be looked at.
    pub(super) stop: u64,
    /// As far as that follows from the limit of the run alone.
    pub(super) limit: u64,
}

/// Where a chain of known codes ended.
#[derive(Debug, Clone, Copy)]
enum End {
    /// In front of a step of a code: of an access, or of a line.
    Before { code: u32, leave: Leave },
    /// Behind a code, with the next one as far as known.
    Behind { code: u32, from: From, next: u32 },
}

/// Where running goes on in a code.
#[derive(Debug, Clone, Copy)]
enum At {
    /// At this step.
    Step(usize),
    /// Behind the last step, which ended so.
    Behind(Leave),
}

/// Why a code was not entered.
enum Entry {
    /// It is not known, or may not be entered now.
    Not,
    /// Its line was fetched, and something is to be looked at behind its first instruction.
    Fetched,
    /// The fetch of its line was aborted.
    Aborted(Abort),
}

/// Codes in a run.
struct Chain<'a, B> {
    codes: &'a mut Codes,
    processor: &'a mut Processor<B>,
    core: Working,
    bounds: Bounds,
}

/// Runs from `start` on; how it was left, and how many instructions accessed what was no known hit.
pub(super) fn run<B: Bus>(
    codes: &mut Codes,
    processor: &mut Processor<B>,
    start: Start,
) -> (ChainExit, u64) {
    let Start { place, line, is_current, bounds } = start;
    let Some(code) = codes.get(place.code) else { return (ChainExit::Nowhere, 0) };
    let Some(piece) = code.block.pieces.get(place.piece) else { return (ChainExit::Nowhere, 0) };
    let first = code.first_step(place.piece);
    let progress = Progress {
        was_skipped: piece.if_skipped == Some(processor.pipeline),
        instructions: 0u64.wrapping_sub(place.piece as u64),
        lines: u64::from(!is_current),
        ..Progress::new(processor.now.0.wrapping_sub(u64::from(piece.before)), line)
    };
    let mut chain =
        Chain { codes, core: Working::load(&processor.registers, progress), processor, bounds };
    let left = chain.run(place.code, At::Step(first));
    chain.note();
    (left, chain.core.progress.stepped)
}

/// Runs codes until one is left otherwise than to a known one.
fn follow<'a>(
    codes: &'a Codes,
    core: &mut Working,
    lookup: &mut Lookup<'_>,
    (mut index, mut code): (u32, &'a Code),
    (mut leave, stop): (Leave, u64),
) -> End {
    loop {
        let (way, next) = match leave.way() {
            Some(way) => (way, code.ways[way].link),
            None if leave == Leave::DYNAMIC => (0, codes.jump(core.jump_key())),
            None => return End::Before { code: index, leave },
        };
        let progress = &mut core.progress;
        progress.instructions = progress.instructions.wrapping_add(u64::from(code.count));
        progress.base = progress.base.wrapping_add(u64::from(code.ways[way].cycles));
        match codes.get(next) {
            Some(following)
                if progress.base.wrapping_add(u64::from(following.longest)) < stop
                    && !following.is_hot()
                    && (following.line == progress.line || enter(core, lookup, following.line)) =>
            {
                (index, code) = (next, following);
                leave = go_on(core, &following.steps, lookup);
            }
            _ => {
                let from = if leave == Leave::DYNAMIC {
                    From::Jump(core.jump_key())
                } else {
                    From::Way { code: index, way }
                };
                return End::Behind { code: index, from, next };
            }
        }
    }
}

impl<B: Bus> Chain<'_, B> {
    /// Runs from a place of a code on.
    fn run(&mut self, mut index: u32, mut at: At) -> ChainExit {
        loop {
            let Self { codes, processor, core, bounds } = self;
            let Some(code) = codes.get(index) else { return ChainExit::Nowhere };
            let (lookaside, data) = processor.memory.hits();
            let mut lookup = Lookup { hits: lookaside.hits(core.privileged()), data };
            let leave = match at {
                At::Step(step) => go_on(core, code.steps.get(step..).unwrap_or(&[]), &mut lookup),
                At::Behind(leave) => leave,
            };
            let end = follow(codes, core, &mut lookup, (index, code), (leave, bounds.stop));
            let on = match end {
                End::Before { code, leave } if leave.is_access() => self.access(code, leave),
                End::Before { code, leave } => self.line(code, leave),
                End::Behind { code, from, next } => self.following(code, from, next),
            };
            match on {
                Ok(on) => (index, at) = on,
                Err(left) => return left,
            }
        }
    }

    /// Leaves in front of a piece.
    fn before(&mut self, code: u32, piece: usize) -> Place {
        let Self { codes, processor, core, .. } = self;
        core.store(&mut processor.registers);
        if let Some(code) = codes.get(code) {
            Arrival::before(code, piece, &mut core.progress).store(processor);
        }
        Place { code, piece }
    }

    /// Performs the access that was no known hit.
    fn access(&mut self, index: u32, leave: Leave) -> Result<(u32, At), ChainExit> {
        let Self { codes, processor, core, bounds } = self;
        let code = codes.get(index).ok_or(ChainExit::Nowhere)?;
        let (at, source) = code.source(leave.steps());
        let begin = core.progress.base.wrapping_add(u64::from(source.before));
        let piece = usize::from(source.piece);
        let mut now = Cycles(begin);
        let memory = (&mut processor.memory, &mut processor.bus);
        let leave = match missed::perform(core, &code.steps[at], memory, &mut now) {
            Ok(Some(leave)) => leave,
            Ok(None) => return Err(ChainExit::Reference(self.before(index, piece))),
            Err(abort) => {
                let at = code.block.pieces[piece].at.0;
                self.before(index, piece);
                self.core.progress.stepped += 1;
                self.core.progress.instructions = self.core.progress.instructions.wrapping_add(1);
                let processor = &mut *self.processor;
                processor.now = now;
                processor.memory.note_data_abort(abort);
                let stop = processor.enter(Exception::DataAbort, at);
                return Err(stop.map_or(ChainExit::Nowhere, ChainExit::Stop));
            }
        };
        core.progress.stepped += 1;
        core.progress.base = core.progress.base.wrapping_add(now.0 - begin);
        if processor.memory.touched() {
            bounds.stop = ask_behind(processor, now.plus(u64::from(source.executed)), bounds.limit);
        }
        // An access is the last step of its piece; a branch behind it may have none.
        if piece + 1 == code.count as usize {
            return Ok((index, At::Behind(leave)));
        }
        if core.progress.base.wrapping_add(u64::from(code.longest)) < bounds.stop {
            return Ok((index, At::Step(at + 1)));
        }
        Err(ChainExit::Boundary(self.before(index, piece + 1)))
    }

    /// Enters the line that was not known to hit.
    fn line(&mut self, index: u32, leave: Leave) -> Result<(u32, At), ChainExit> {
        let code = self.codes.get(index).ok_or(ChainExit::Nowhere)?;
        let (step, source) = code.source(leave.steps());
        let piece = usize::from(source.piece);
        let wanted = code.block.lines[code.block.pieces[piece].line];
        let Self { processor, core, bounds, .. } = self;
        let (at, privileged) = (Virtual(wanted.at()), core.privileged());
        if let Some(line) = processor.memory.line_hit(at, privileged) {
            if line == wanted {
                return Ok((index, At::Step(step)));
            }
            self.before(index, piece);
            self.codes.retire(index);
            return Err(ChainExit::Nowhere);
        }
        let at = code.block.pieces[piece].at;
        let Some(fetched) = fetch(processor, core, at, source.before) else {
            return Err(ChainExit::Reference(self.before(index, piece)));
        };
        if let Err(abort) = fetched {
            self.before(index, piece);
            return Err(self.abort_fetch(abort));
        }
        let ends = core.progress.base.wrapping_add(u64::from(code.longest));
        if core.progress.line == wanted && ends < bounds.stop && !processor.memory.touched() {
            return Ok((index, At::Step(step + 1)));
        }
        Err(ChainExit::Fetched(Some(self.before(index, piece))))
    }

    /// Takes the abort of a fetch, with the state in front of it in the processor.
    fn abort_fetch(&mut self, abort: Abort) -> ChainExit {
        self.core.progress.stepped += 1;
        self.processor.abort_fetch(abort).map_or(ChainExit::Nowhere, ChainExit::Stop)
    }

    /// Goes on behind a code, where `next` follows as far as known.
    fn following(&mut self, index: u32, from: From, next: u32) -> Result<(u32, At), ChainExit> {
        let code = self.codes.get(index).ok_or(ChainExit::Nowhere)?;
        let arrival = Arrival::behind(code, from, &self.core.progress);
        self.enter(arrival, from, next).map_err(|entry| {
            self.core.store(&mut self.processor.registers);
            Arrival { now: self.core.progress.base, ..arrival }.store(self.processor);
            match entry {
                Entry::Fetched => ChainExit::Fetched(None),
                Entry::Aborted(abort) => self.abort_fetch(abort),
                Entry::Not if self.codes.is_rare(next) && arrival.now < self.bounds.stop => {
                    ChainExit::Fetched(Some(Place { code: next, piece: 0 }))
                }
                Entry::Not => ChainExit::Behind(from),
            }
        })
    }

    /// Enters the code at `arrival`, if that is known and may be entered now.
    fn enter(&mut self, arrival: Arrival, from: From, next: u32) -> Result<(u32, At), Entry> {
        let Self { codes, processor, core, bounds } = self;
        let is_ready = |code: &Code, base: u64| {
            base.wrapping_add(u64::from(code.longest)) < bounds.stop && !code.was_hot()
        };
        let linked = codes.get(next);
        if linked.is_some_and(|code| !is_ready(code, core.progress.base)) {
            return Err(Entry::Not);
        }
        let (at, privileged) = (Virtual(arrival.at), core.privileged());
        let line = if core.progress.line.is_of(at.0) {
            core.progress.line
        } else if let Some(line) = processor.memory.line_hit(at, privileged) {
            line
        } else if core.progress.base < bounds.stop {
            let fetched = fetch(processor, core, at, 0).ok_or(Entry::Not)?;
            let line = fetched.map_err(Entry::Aborted)?.ok_or(Entry::Fetched)?;
            if core.progress.base >= bounds.stop || processor.memory.touched() {
                return Err(Entry::Fetched);
            }
            line
        } else {
            return Err(Entry::Not);
        };
        let found = if linked.is_some_and(|code| code.line == line) {
            next
        } else {
            let Arrival { thumb, pipeline, .. } = arrival;
            let key = Key { at, line, thumb, privileged, pipeline };
            let found = codes.find(&key).ok_or(Entry::Not)?;
            codes.link(from, found);
            found
        };
        if !codes.get(found).is_some_and(|code| is_ready(code, core.progress.base)) {
            return Err(Entry::Not);
        }
        if core.progress.line != line {
            core.progress.line = line;
            core.progress.lines += 1;
        }
        Ok((found, At::Step(0)))
    }

    /// Counts what was run, and makes the line that was entered last the current one.
    fn note(&mut self) {
        let Self { processor, core, .. } = self;
        let progress = &core.progress;
        let counts = &mut processor.counts;
        counts.instructions = counts.instructions.wrapping_add(progress.instructions);
        counts.skipped += progress.skipped;
        processor.memory.note_hits(progress.reads, progress.writes, progress.lines);
        if progress.lines != 0 && progress.line != LineHit::NONE {
            processor.memory.enter_line(Virtual(progress.line.at()), core.privileged());
        }
    }
}

/// Fetches the line of `at`, `before` cycles behind the base, which waits put later; as [`Memory::fetch_line`](crate::memory::Memory::fetch_line).
fn fetch<B: Bus>(
    processor: &mut Processor<B>,
    core: &mut Working,
    at: Virtual,
    before: u16,
) -> Option<Result<Option<LineHit>, Abort>> {
    let begin = core.progress.base.wrapping_add(u64::from(before));
    let mut now = Cycles(begin);
    let Processor { memory, bus, .. } = processor;
    let fetched = memory.fetch_line(at, core.privileged(), (bus, &mut now))?;
    core.progress.base = core.progress.base.wrapping_add(now.0 - begin);
    core.progress.line = fetched.unwrap_or_default().unwrap_or_default();
    Some(fetched)
}

/// Asks for the interrupt lines ahead of the boundary behind an instruction that used the bus; when the next thing is to be looked at.
fn ask_behind<B: Bus>(processor: &mut Processor<B>, boundary: Cycles, limit: u64) -> u64 {
    if boundary.0 >= limit {
        return 0;
    }
    processor.now = boundary;
    processor.settle();
    if processor.memory.touched() { 0 } else { processor.deadline().0.min(limit) }
}

/// The state in which a chain was left, besides the registers.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    at: u32,
    thumb: bool,
    now: u64,
    pipeline: Pipeline,
}

impl Arrival {
    /// In front of a piece, up to which instructions are counted.
    fn before(code: &Code, piece: usize, progress: &mut Progress) -> Self {
        progress.instructions = progress.instructions.wrapping_add(piece as u64);
        let piece = &code.block.pieces[piece];
        let pipeline = piece.if_skipped.filter(|_| progress.was_skipped).unwrap_or(piece.pipeline);
        let now = progress.base.wrapping_add(u64::from(piece.before));
        Self { at: piece.at.0, thumb: code.block.key.thumb, now, pipeline }
    }

    /// Behind a code, whose cycles are counted.
    fn behind(code: &Code, from: From, progress: &Progress) -> Self {
        let exit = match from {
            From::Way { way: 1, .. } => code.block.skipped,
            _ => code.block.executed,
        };
        let pipeline = exit.map_or(Pipeline::IDLE, |exit| exit.pipeline);
        let (at, thumb) = match (from, exit.and_then(|exit| exit.to)) {
            (From::Way { .. }, Some((at, thumb))) => (at.0, thumb),
            _ => (progress.target & !1, progress.target & 1 != 0),
        };
        Self { at, thumb, now: progress.base, pipeline }
    }

    /// Into the processor.
    fn store<B>(self, processor: &mut Processor<B>) {
        processor.registers.pc = self.at;
        processor.registers.set_thumb(self.thumb);
        processor.pipeline = self.pipeline;
        processor.now = Cycles(self.now);
    }
}
