//! Blocks: decoded runs of instructions with one entry and their cycles.
//!
//! Layer: rank 3. Main types: [`Key`], [`Block`], [`Piece`], [`Exit`]. A block is built from lines in
//! the instruction cache instead of memory, so that stale lines execute as on the core. It may run
//! while its lines hit with the same stamps. It holds instructions that need no exception ([`Class::Plain`],
//! [`Class::System`]) and ends after the first possible jump.
//!
//! Cycles: interlocks depend on the pipeline state, which is therefore part of the key and known before
//! each piece. After a conditional instruction there are two states. The block continues only if the
//! next instruction costs the same in both and leaves the same state ([`Piece::if_skipped`]). Memory
//! stalls freeze the pipeline and are not in these sums.

use super::class::{self, Class};
use crate::address::{LINE, Virtual};
use crate::decode;
use crate::instruction::{Condition, Instruction, Operation};
use crate::memory::lookaside::LineHit;
use crate::timing::{Outcome, Pipeline};

/// The maximum number of instructions of a block.
pub const LONGEST: usize = 48;

/// The conditions under which a block runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// Its first instruction.
    pub at: Virtual,
    /// Its line. Other contents there make another block.
    pub line: LineHit,
    /// Whether in Thumb state.
    pub thumb: bool,
    /// Whether in a privileged mode.
    pub privileged: bool,
    /// The pipeline state before it.
    pub pipeline: Pipeline,
}

/// One instruction of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// The instruction.
    pub instruction: Instruction,
    /// Its address.
    pub at: Virtual,
    /// The index of its line, which is entered if it is not that of the previous piece.
    pub line: usize,
    /// Cycles from the block's entry to this instruction if all before it are executed.
    pub before: u32,
    /// Its cycles when executed.
    pub executed: u32,
    /// Its cycles when skipped; equals `executed` without a condition.
    pub skipped: u32,
    /// The pipeline state before it.
    pub pipeline: Pipeline,
    /// That state if the previous piece was skipped, where it differs. Cycles and result are the same.
    pub if_skipped: Option<Pipeline>,
}

/// An exit of a block after its last instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// The target, and whether it is in Thumb state; `None` for a dynamic target.
    pub to: Option<(Virtual, bool)>,
    /// Cycles from the block's entry if all before the last instruction are executed.
    pub cycles: u32,
    /// The pipeline state after it.
    pub pipeline: Pipeline,
}

/// A run of instructions with one entry. Without pieces, the reference executes the one at its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// The conditions under which it runs.
    pub key: Key,
    /// Its lines, in the order of their entry.
    pub lines: Vec<LineHit>,
    /// Its instructions.
    pub pieces: Vec<Piece>,
    /// The exit if the last piece is executed; `None` without pieces.
    pub executed: Option<Exit>,
    /// The exit if the last piece is skipped.
    pub skipped: Option<Exit>,
}

impl Block {
    /// Decodes the block at `key`; `line` returns cached lines. `None` if the first one is not cached.
    pub fn build(key: Key, mut line: impl FnMut(Virtual) -> Option<Line>) -> Option<Self> {
        let mut builder = Builder::new(key, line(key.at)?);
        while builder.block.pieces.len() < LONGEST {
            if builder.needs_line() && builder.enter_line(&mut line).is_none() {
                break;
            }
            if !builder.take() {
                break;
            }
        }
        Some(builder.finish())
    }

    /// Whether a piece enters a line.
    #[must_use]
    pub fn enters_line(&self, piece: usize) -> bool {
        let line = |index: usize| self.pieces.get(index).map(|piece| piece.line);
        piece.checked_sub(1).is_none_or(|before| line(before) != line(piece))
    }

    /// The maximum number of cycles without stalls.
    #[must_use]
    pub fn longest(&self) -> u32 {
        let ends = [self.executed, self.skipped];
        ends.into_iter().flatten().map(|exit| exit.cycles).max().unwrap_or(0)
    }
}

/// A line and its contents.
pub type Line = (LineHit, [u8; LINE as usize]);

/// A block under construction.
struct Builder {
    block: Block,
    /// The contents of the last line.
    contents: [u8; LINE as usize],
    at: Virtual,
    /// Whether the last piece forgets the current line, so that the next one enters its line again.
    forgets_line: bool,
    cycles: u32,
    pipeline: Pipeline,
    /// Cycles and pipeline state if the last piece is skipped, where it is conditional.
    skipped: Option<(u32, Pipeline)>,
}

impl Builder {
    fn new(key: Key, (line, contents): Line) -> Self {
        let (lines, pieces) = (vec![line], Vec::new());
        let block = Block { key, lines, pieces, executed: None, skipped: None };
        Self {
            block,
            contents,
            at: key.at,
            forgets_line: false,
            cycles: 0,
            pipeline: key.pipeline,
            skipped: None,
        }
    }

    fn needs_line(&self) -> bool {
        let last = self.block.lines.last();
        self.forgets_line || last.is_none_or(|line| line.at() != self.at.0 & !(LINE - 1))
    }

    fn enter_line(&mut self, line: &mut impl FnMut(Virtual) -> Option<Line>) -> Option<()> {
        let (line, contents) = line(self.at)?;
        self.contents = contents;
        self.block.lines.push(line);
        Some(())
    }

    /// Appends the next instruction; returns whether another one may follow.
    fn take(&mut self) -> bool {
        let instruction = decode::in_line(&self.contents, self.at.0, self.block.key.thumb);
        let Key { thumb, privileged, .. } = self.block.key;
        let class = class::of(&instruction, thumb, privileged);
        if class == Class::Rare {
            return false;
        }
        let Some(if_skipped) = self.join(&instruction) else { return false };
        let pipeline = self.pipeline;
        let (executed, after) = advanced(pipeline, &instruction, Outcome::Executed);
        let (skipped, after_skipped) = if instruction.condition == Condition::Al {
            (executed, None)
        } else {
            let (skipped, after) = advanced(pipeline, &instruction, Outcome::Skipped);
            (skipped, Some((self.cycles + skipped, after)))
        };
        let line = self.block.lines.len() - 1;
        let (at, before) = (self.at, self.cycles);
        let piece =
            Piece { instruction, at, line, before, executed, skipped, pipeline, if_skipped };
        self.block.pieces.push(piece);
        self.at.0 = self.at.0.wrapping_add(class::size(self.block.key.thumb));
        (self.cycles, self.pipeline, self.skipped) = (before + executed, after, after_skipped);
        self.forgets_line = writes_coprocessor(&instruction);
        class != Class::Jump
    }

    /// The state if the last piece is skipped, where it differs; `None` if the difference would last.
    fn join(&self, instruction: &Instruction) -> Option<Option<Pipeline>> {
        let Some((_, other)) = self.skipped.filter(|&(_, other)| other != self.pipeline) else {
            return Some(None);
        };
        let same = |outcome| {
            advanced(self.pipeline, instruction, outcome) == advanced(other, instruction, outcome)
        };
        let joined = same(Outcome::Executed)
            && (instruction.condition == Condition::Al || same(Outcome::Skipped));
        joined.then_some(Some(other))
    }

    /// The target of the last piece, a jump, if it is static.
    fn target(&self) -> Option<(Virtual, bool)> {
        let (last, before) = self.block.pieces.split_last()?;
        let before = before.last().map(|piece| &piece.instruction.operation);
        let operation = &last.instruction.operation;
        let (to, thumb) = operation.target(last.at.0, self.block.key.thumb, before)?;
        Some((Virtual(to), thumb))
    }

    fn finish(mut self) -> Block {
        while self.block.lines.len() > 1
            && self.block.pieces.last().is_none_or(|piece| piece.line + 1 < self.block.lines.len())
        {
            self.block.lines.pop();
        }
        if let Some(last) = self.block.pieces.last() {
            let Key { thumb, privileged, .. } = self.block.key;
            let following = Some((self.at, thumb));
            let to = match class::of(&last.instruction, thumb, privileged) {
                Class::Jump => self.target(),
                _ => following,
            };
            self.block.executed = Some(Exit { to, cycles: self.cycles, pipeline: self.pipeline });
            self.block.skipped =
                self.skipped.map(|(cycles, pipeline)| Exit { to: following, cycles, pipeline });
        }
        self.block
    }
}

/// Whether an instruction is an MCR, after which a fetch looks its line up again.
pub(super) const fn writes_coprocessor(instruction: &Instruction) -> bool {
    matches!(instruction.operation, Operation::Coprocessor(access) if !access.load)
}

/// The cycles of an instruction, and the pipeline state after it.
fn advanced(
    mut pipeline: Pipeline,
    instruction: &Instruction,
    outcome: Outcome,
) -> (u32, Pipeline) {
    let cycles = pipeline.advance(instruction, outcome);
    (cycles, pipeline)
}
