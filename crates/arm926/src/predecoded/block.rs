//! Blocks: runs of instructions with one entry, decoded, and with their cycles added up.
//!
//! Layer: rank 3. Main types: [`Key`], [`Block`], [`Piece`], [`Exit`]. A block is made from the contents of lines of the
//! instruction cache, not from memory, so that stale lines execute as on the core; it may run while each line that it enters hits with the
//! stamp that it was made from. It holds what needs neither exceptions nor coprocessors ([`Class::Plain`]) and ends behind
//! the first instruction that may jump.
//!
//! Cycles: interlocks depend on the state of the pipeline, so this is part of the key, and is known in front of each piece. Behind a
//! conditional instruction there are two states, executed or skipped; the block goes on only if they cost the same and become one state with the next instruction
//! ([`Piece::if_skipped`]). Waits for memory are not in these sums: they freeze the pipeline.

use super::class::{self, Class};
use crate::address::{LINE, Virtual};
use crate::decode;
use crate::instruction::{Condition, Instruction};
use crate::memory::lookaside::LineHit;
use crate::timing::{Outcome, Pipeline};

/// Instructions of a block at most.
pub const LONGEST: usize = 48;

/// Under what circumstances a block runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// Its first instruction.
    pub at: Virtual,
    /// The line of that instruction: with other contents it is another block.
    pub line: LineHit,
    /// In Thumb state.
    pub thumb: bool,
    /// In a privileged mode.
    pub privileged: bool,
    /// What the instruction before it left pending.
    pub pipeline: Pipeline,
}

/// One instruction of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub instruction: Instruction,
    /// Where it is.
    pub at: Virtual,
    /// Which of the block's lines it is in; it enters that line if the piece before it is in another one.
    pub line: usize,
    /// Cycles of the pipeline from the entry of the block to this instruction, if all before it are executed.
    pub before: u32,
    /// Cycles that it takes when executed.
    pub executed: u32,
    /// Cycles that it takes when skipped; as `executed` if it has no condition.
    pub skipped: u32,
    /// What is pending in front of it.
    pub pipeline: Pipeline,
    /// What is pending instead if the piece before it was skipped, where that differs. This piece costs the same and leaves the same.
    pub if_skipped: Option<Pipeline>,
}

/// One way out of a block behind its last instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exit {
    /// Where it leads, and whether in Thumb state; nothing if that is known at run time only.
    pub to: Option<(Virtual, bool)>,
    /// Cycles of the pipeline from the entry of the block, if all before the last instruction are executed.
    pub cycles: u32,
    /// What is pending then.
    pub pipeline: Pipeline,
}

/// A run of instructions with one entry. Without pieces: the instruction at its key is one for the reference interpreter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// When it runs.
    pub key: Key,
    /// Its lines, in the order in which it enters them.
    pub lines: Vec<LineHit>,
    /// Its instructions.
    pub pieces: Vec<Piece>,
    /// Behind the last piece when that is executed; nothing in a block without pieces.
    pub executed: Option<Exit>,
    /// Behind the last piece when that is skipped.
    pub skipped: Option<Exit>,
}

impl Block {
    /// Decodes the block at `key`; `line` gives lines that are in the cache, with their contents. Nothing if the first is not.
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

    /// Whether a piece is the first one of its line.
    #[must_use]
    pub fn enters_line(&self, piece: usize) -> bool {
        let line = |index: usize| self.pieces.get(index).map(|piece| piece.line);
        piece.checked_sub(1).is_none_or(|before| line(before) != line(piece))
    }

    /// The most cycles of the pipeline that it takes.
    #[must_use]
    pub fn longest(&self) -> u32 {
        let ends = [self.executed, self.skipped];
        ends.into_iter().flatten().map(|exit| exit.cycles).max().unwrap_or(0)
    }
}

/// A line, and what is in it.
pub type Line = (LineHit, [u8; LINE as usize]);

/// A block that is not yet complete.
struct Builder {
    block: Block,
    /// What is in the last line.
    contents: [u8; LINE as usize],
    at: Virtual,
    cycles: u32,
    pipeline: Pipeline,
    /// The cycles and the state behind the last piece if that is skipped, where it has a condition.
    skipped: Option<(u32, Pipeline)>,
}

impl Builder {
    fn new(key: Key, (line, contents): Line) -> Self {
        let (lines, pieces) = (vec![line], Vec::new());
        let block = Block { key, lines, pieces, executed: None, skipped: None };
        Self { block, contents, at: key.at, cycles: 0, pipeline: key.pipeline, skipped: None }
    }

    fn needs_line(&self) -> bool {
        self.block.lines.last().is_none_or(|line| line.at() != self.at.0 & !(LINE - 1))
    }

    fn enter_line(&mut self, line: &mut impl FnMut(Virtual) -> Option<Line>) -> Option<()> {
        let (line, contents) = line(self.at)?;
        self.contents = contents;
        self.block.lines.push(line);
        Some(())
    }

    /// Takes in the next instruction; whether another one may follow.
    fn take(&mut self) -> bool {
        let instruction = decode::in_line(&self.contents, self.at.0, self.block.key.thumb);
        let class = class::of(&instruction, self.block.key.thumb);
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
        class == Class::Plain
    }

    /// The other state in front of the next instruction, if there is one; nothing if it makes a difference that would last.
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

    /// Where the last piece, a jump, leads, if that does not depend on registers.
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
            let thumb = self.block.key.thumb;
            let following = Some((self.at, thumb));
            let to = match class::of(&last.instruction, thumb) {
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

/// The cycles of an instruction, and what it leaves pending.
fn advanced(
    mut pipeline: Pipeline,
    instruction: &Instruction,
    outcome: Outcome,
) -> (u32, Pipeline) {
    let cycles = pipeline.advance(instruction, outcome);
    (cycles, pipeline)
}
