//! Running codes one after another.
//!
//! Layer: rank 3. [`run`] takes the processor's state into [`Working`], runs, and leaves the exact state in the processor.

use super::class;
use super::code::{Code, Codes, JumpKey};
use super::span::Span;
use super::step::{Leave, Lookup, Progress, Working, go_on};
use crate::address::{Cycles, Virtual};
use crate::bus::Bus;
use crate::exception::Exception;
use crate::execute::{self, End as Executed};
use crate::processor::{Processor, Stop};
use crate::timing::{Outcome, Pipeline};

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
    /// From a code by a jump to where registers said.
    Jump { code: u32, key: JumpKey },
}

impl From {
    const fn code(self) -> u32 {
        match self {
            Self::Way { code, .. } | Self::Jump { code, .. } => code,
        }
    }
}

/// How a chain of codes was left.
#[derive(Debug, Clone, Copy)]
pub(super) enum Left {
    /// In front of a piece whose line is to be looked at.
    Line(Place),
    /// Behind a code; what follows is not known, or may not be entered so.
    Behind(From),
    /// Behind an instruction that the reference completed; or in front of the first code.
    Nowhere,
    /// The run is to stop.
    Stop(Stop),
}

/// How a chain begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    pub(super) place: Place,
    /// The stamp of the line that fetching is in, if that is the piece's; else 0.
    pub(super) stamp: u64,
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

/// Where a chain ended.
#[derive(Debug, Clone, Copy)]
enum End {
    /// In front of a piece of a code: of its line, or of a step that is not a hit.
    Before(Place, Leave),
    /// Behind a code.
    Behind(From),
    /// In front of the first code.
    Nowhere,
}

/// Runs from `start` on; how it was left, and how many instructions the reference executed.
pub(super) fn run<B: Bus>(
    codes: &Codes,
    processor: &mut Processor<B>,
    mut start: Start,
) -> (Left, u64) {
    let Some(code) = codes.get(start.place.code) else { return (Left::Nowhere, 0) };
    let Some(piece) = code.block.pieces.get(start.place.piece) else { return (Left::Nowhere, 0) };
    let (privileged, pid) = (code.block.key.privileged, processor.memory.pid());
    let mut progress = Progress {
        base: processor.now.0.wrapping_sub(u64::from(piece.before)),
        was_skipped: piece.if_skipped == Some(processor.pipeline),
        instructions: 0u64.wrapping_sub(start.place.piece as u64),
        ..Progress::default()
    };
    let left = loop {
        let Some(code) = codes.get(start.place.code) else { break Left::Nowhere };
        progress.stamp = start.stamp;
        let (lookaside, data) = processor.memory.hits();
        let mut core = Working::load(
            &processor.registers,
            progress,
            Lookup { hits: lookaside.hits(privileged), data, pid, privileged },
        );
        let end = chain(codes, &mut core, code, start);
        core.store(&mut processor.registers);
        progress = core.progress;
        match end {
            End::Nowhere => break Left::Nowhere,
            End::Behind(from) => {
                if let Some(code) = codes.get(from.code()) {
                    Arrival::behind(code, from, &progress).store(processor);
                }
                break Left::Behind(from);
            }
            End::Before(place, leave) => {
                let Some(code) = codes.get(place.code) else { break Left::Nowhere };
                if !leave.is_slow() {
                    Arrival::before(code, place.piece, &mut progress).store(processor);
                    break Left::Line(place);
                }
                match access(processor, code, place, &mut progress, &mut start.bounds) {
                    Accessed::Next(next) => {
                        let entered = !code.block.enters_line(next.piece);
                        let stamp = if entered { progress.stamp } else { 0 };
                        start = Start { place: next, stamp, ..start };
                    }
                    Accessed::Left(left) => break left,
                }
            }
        }
    };
    note(processor, &progress, privileged);
    (left, progress.stepped)
}

/// Counts what was run, and makes the line that was entered last the current one.
fn note<B>(processor: &mut Processor<B>, progress: &Progress, privileged: bool) {
    let counts = &mut processor.counts;
    counts.instructions = counts.instructions.wrapping_add(progress.instructions);
    counts.skipped += progress.skipped;
    processor.memory.note_hits(progress.reads, progress.writes, progress.lines);
    if progress.lines != 0 {
        processor.memory.enter_line(Virtual(progress.line), privileged);
    }
}

/// How the access of a piece ended that was no known hit.
enum Accessed {
    /// The same code goes on with this piece.
    Next(Place),
    /// The code is left, with the state in the processor.
    Left(Left),
}

/// Has the reference execute the piece at `place`, an access that is no known hit; the registers are those in front of it. Nothing is
/// to be looked at in front of it, and its line is the current one.
fn access<B: Bus>(
    processor: &mut Processor<B>,
    code: &Code,
    place: Place,
    progress: &mut Progress,
    bounds: &mut Bounds,
) -> Accessed {
    let piece = &code.block.pieces[place.piece];
    Arrival::before(code, place.piece, progress).store(processor);
    let (begin, thumb) = (processor.now, code.block.key.thumb);
    let following = piece.at.0.wrapping_add(class::size(thumb));
    processor.registers.pc = following;
    let span = Span::of(processor, piece);
    let misses = processor.memory.statistics().data_cache.write_misses;
    let end = execute::execute(processor, &piece.instruction, piece.at.0);
    progress.instructions = progress.instructions.wrapping_add(1);
    progress.stepped += 1;
    let outcome = match end {
        Executed::Done(outcome) => outcome,
        Executed::Abort(abort) => {
            processor.memory.note_data_abort(abort);
            let stop = processor.enter(Exception::DataAbort, piece.at.0);
            return Accessed::Left(stop.map_or(Left::Nowhere, Left::Stop));
        }
        _ => return Accessed::Left(Left::Nowhere),
    };
    if misses == processor.memory.statistics().data_cache.write_misses {
        Span::learn(span, &mut processor.memory);
    }
    let next = Place { piece: place.piece + 1, ..place };
    let is_last = next.piece == code.block.pieces.len();
    let complete = processor.now;
    if outcome == Outcome::Executed && !is_last {
        progress.base += complete.0 - begin.0;
        let boundary = complete.plus(u64::from(piece.executed));
        if processor.memory.touched() && boundary.0 < bounds.limit {
            // The boundary behind it asks for the interrupt lines.
            processor.now = boundary;
            processor.settle();
            bounds.stop = processor.deadline().0.min(bounds.limit);
            processor.now = complete;
        }
        let ends = progress.base.saturating_add(u64::from(code.longest));
        if ends < bounds.stop && !processor.memory.touched() {
            progress.instructions = progress.instructions.wrapping_sub(next.piece as u64);
            return Accessed::Next(next);
        }
    }
    processor.now.0 += u64::from(processor.pipeline.advance(&piece.instruction, outcome));
    let status = processor.registers.cpsr();
    let target = processor.registers.pc | u32::from(status.thumb());
    let key = JumpKey::new(target, processor.memory.pid(), status.mode().privileged());
    let jumps = code.block.executed.is_some_and(|exit| exit.to.is_none());
    Accessed::Left(match (outcome, is_last) {
        (Outcome::Executed, false) => Left::Line(next),
        (Outcome::Executed, true) if jumps => Left::Behind(From::Jump { code: place.code, key }),
        (Outcome::Executed, true) => Left::Behind(From::Way { code: place.code, way: 0 }),
        _ => Left::Nowhere,
    })
}

/// Enters the line with this stamp, if it is known to hit.
#[inline(always)]
fn enter(core: &mut Working<'_>, code: &Code) -> bool {
    match core.hits.lines.get(code.place as usize) {
        Some(hit) if hit.stamp == code.stamp => {
            (core.progress.stamp, core.progress.line) = (hit.stamp, hit.tag);
            core.progress.lines += 1;
            true
        }
        _ => false,
    }
}

/// Runs codes until one is left otherwise than to a known one.
fn chain<'a>(codes: &'a Codes, core: &mut Working<'_>, mut code: &'a Code, start: Start) -> End {
    let Start { place: Place { code: mut index, piece }, stamp, bounds: Bounds { stop, .. } } =
        start;
    if stamp == 0 && piece == 0 && !enter(core, code) {
        return End::Nowhere;
    }
    let mut steps = code.steps_from(piece, stamp != 0);
    loop {
        let leave = go_on(core, steps);
        let (way, next) = match leave.way() {
            Some(way) => (way, code.ways[way].link),
            None if leave == Leave::DYNAMIC => (0, codes.jump(core.jump_key())),
            None => {
                let piece = code.piece(leave.steps());
                return End::Before(Place { code: index, piece }, leave);
            }
        };
        core.progress.instructions = core.progress.instructions.wrapping_add(u64::from(code.count));
        core.progress.base = core.progress.base.wrapping_add(u64::from(code.ways[way].cycles));
        match codes.get(next) {
            Some(following)
                if core.progress.base.wrapping_add(u64::from(following.longest)) < stop
                    && !following.is_hot()
                    && (following.stamp == core.progress.stamp || enter(core, following)) =>
            {
                (index, code, steps) = (next, following, &following.steps);
            }
            _ if leave == Leave::DYNAMIC => {
                return End::Behind(From::Jump { code: index, key: core.jump_key() });
            }
            _ => return End::Behind(From::Way { code: index, way }),
        }
    }
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
    /// In front of a piece.
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
