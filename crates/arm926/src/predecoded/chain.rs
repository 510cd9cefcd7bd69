//! Running codes one after another.
//!
//! Layer: rank 3. [`run`] takes the processor's state into [`Working`], runs, and leaves the exact state in the processor.

use super::code::{Code, Codes};
use super::step::{Leave, Working, go_on};
use crate::address::{Cycles, Virtual};
use crate::processor::Processor;
use crate::registers::Registers;
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
    /// From a code by a jump to where registers said, with the state in bit 0.
    Jump { code: u32, target: u32 },
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
    /// In front of a piece that is to be done by the reference, in the line with this stamp.
    Slow(Place, u64),
    /// In front of a piece whose line is to be looked at.
    Line(Place),
    /// Behind a code; what follows is not known, or may not be entered so.
    Behind(From),
    /// In front of the first code.
    Nowhere,
}

/// How a chain begins.
#[derive(Debug, Clone, Copy)]
pub(super) struct Start {
    pub(super) place: Place,
    /// The stamp of the line that fetching is in, if that is the piece's; else 0.
    pub(super) stamp: u64,
    /// Until when.
    pub(super) stop: u64,
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

/// Runs from `start` on.
pub(super) fn run<B>(codes: &Codes, processor: &mut Processor<B>, start: Start) -> Left {
    let Some(code) = codes.get(start.place.code) else { return Left::Nowhere };
    let Some(piece) = code.block.pieces.get(start.place.piece) else { return Left::Nowhere };
    let privileged = code.block.key.privileged;
    let base = processor.now.0.wrapping_sub(u64::from(piece.before));
    let (lookaside, data) = processor.memory.hits();
    let hits = lookaside.hits(privileged);
    let mut core = Working::load(&processor.registers, (base, start.stamp), hits, data);
    core.was_skipped = piece.if_skipped == Some(processor.pipeline);
    core.instructions = 0u64.wrapping_sub(start.place.piece as u64);
    let end = chain(codes, &mut core, code, start);
    let (arrival, left) = match end {
        End::Before(place, leave) => {
            let Some(code) = codes.get(place.code) else { return Left::Nowhere };
            let left =
                if leave.is_slow() { Left::Slow(place, core.stamp) } else { Left::Line(place) };
            (Arrival::before(code, place.piece, &mut core), left)
        }
        End::Behind(from) => {
            let Some(code) = codes.get(from.code()) else { return Left::Nowhere };
            (Arrival::behind(code, from, &core), Left::Behind(from))
        }
        End::Nowhere => return Left::Nowhere,
    };
    let (reads, writes, lines, line) = (core.reads, core.writes, core.lines, core.line);
    core.store(&mut processor.registers);
    arrival.store(&mut processor.registers, &mut processor.pipeline, &mut processor.now);
    let counts = &mut processor.counts;
    counts.instructions = counts.instructions.wrapping_add(core.instructions);
    counts.skipped += core.skipped;
    processor.memory.note_hits(reads, writes, lines);
    if lines != 0 {
        processor.memory.enter_line(Virtual(line), privileged);
    }
    left
}

/// Enters the line with this stamp, if it is known to hit.
#[inline(always)]
fn enter(core: &mut Working<'_>, code: &Code) -> bool {
    match core.hits.lines.get(code.place as usize) {
        Some(hit) if hit.stamp == code.stamp => {
            (core.stamp, core.line) = (hit.stamp, hit.tag);
            core.lines += 1;
            true
        }
        _ => false,
    }
}

/// Runs codes until one is left otherwise than to a known one.
fn chain<'a>(codes: &'a Codes, core: &mut Working<'_>, mut code: &'a Code, start: Start) -> End {
    let Start { place: Place { code: mut index, piece }, stamp, stop } = start;
    if stamp == 0 && piece == 0 && !enter(core, code) {
        return End::Nowhere;
    }
    let mut steps = code.steps_from(piece, stamp != 0);
    loop {
        let leave = go_on(core, steps);
        let (way, next) = match leave.way() {
            Some(way) => (way, code.ways[way].link),
            None if leave == Leave::DYNAMIC => (0, codes.jump(core.target)),
            None => {
                let piece = code.piece(leave.steps());
                return End::Before(Place { code: index, piece }, leave);
            }
        };
        core.instructions = core.instructions.wrapping_add(u64::from(code.count));
        core.base = core.base.wrapping_add(u64::from(code.ways[way].cycles));
        match codes.get(next) {
            Some(following)
                if core.base.wrapping_add(u64::from(following.longest)) < stop
                    && !following.is_hot()
                    && (following.stamp == core.stamp || enter(core, following)) =>
            {
                (index, code, steps) = (next, following, &following.steps);
            }
            _ if leave == Leave::DYNAMIC => {
                return End::Behind(From::Jump { code: index, target: core.target });
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
    fn before(code: &Code, piece: usize, core: &mut Working<'_>) -> Self {
        core.instructions = core.instructions.wrapping_add(piece as u64);
        let piece = &code.block.pieces[piece];
        let pipeline = piece.if_skipped.filter(|_| core.was_skipped).unwrap_or(piece.pipeline);
        let now = core.base.wrapping_add(u64::from(piece.before));
        Self { at: piece.at.0, thumb: code.block.key.thumb, now, pipeline }
    }

    /// Behind a code, whose cycles are counted.
    fn behind(code: &Code, from: From, core: &Working<'_>) -> Self {
        let exit = match from {
            From::Way { way: 1, .. } => code.block.skipped,
            _ => code.block.executed,
        };
        let pipeline = exit.map_or(Pipeline::IDLE, |exit| exit.pipeline);
        let (at, thumb) = match (from, exit.and_then(|exit| exit.to)) {
            (From::Way { .. }, Some((at, thumb))) => (at.0, thumb),
            _ => (core.target & !1, core.target & 1 != 0),
        };
        Self { at, thumb, now: core.base, pipeline }
    }

    /// Into the processor.
    fn store(self, registers: &mut Registers, pipeline: &mut Pipeline, now: &mut Cycles) {
        registers.pc = self.at;
        registers.set_thumb(self.thumb);
        *pipeline = self.pipeline;
        *now = Cycles(self.now);
    }
}
