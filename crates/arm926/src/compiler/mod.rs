//! The just-in-time compiler: regions of hot code as host functions.
//!
//! Layer: rank 3. [`Compiler`] keeps the regions of hot code. `plan` selects the instructions of a
//! region, `class` classifies them, `lower` generates Cranelift's IR, `code` owns the machine code,
//! `run` calls it, and `frame` is the data that both sides share. A region keeps the guest's
//! registers that it is using in host registers, accesses data through [`crate::memory::Lookaside`] and
//! adds cycles as constants. What misses the look-aside is executed by the reference, one instruction at
//! a time. A region exits at an instruction boundary: before the deadline, at a line that misses, after an
//! access to a device, or at a jump out of it. Cycles, counts and state equal the reference's. Source:
//! Cranelift 0.135. Left out: big-endian hosts, and those without a code generator.
#![allow(
    unsafe_code,
    reason = "machine code is called, and calls back, by raw pointers; each block says why it is sound"
)]

mod class;
mod code;
mod engine;
mod frame;
mod lower;
mod plan;
mod run;
mod thunk;

use std::collections::HashMap;

use crate::address::Virtual;
use crate::bus::Bus;
use crate::memory::lookaside::LineHit;
use crate::processor::{Limit, Processor, Stop};
use code::Code;
pub use engine::Compiled;
use plan::{Key, Place};
use run::{Bounds, Region};

/// The default number of entries after which code is compiled; each 4 million cycles halve the count. Less
/// frequent code does not repay its compilation: see docs/models/arm926-engines.md.
pub const THRESHOLD: u32 = 8_192;

/// The maximum number of compilations of one head, so that self-modifying code is given up.
const ATTEMPTS_MAX: u8 = 8;

/// The bytes of machine code beyond which all regions are discarded.
const CODE_MAX: usize = 32 << 20;

/// The maximum number of known heads.
const HEADS_MAX: usize = 1 << 16;

/// The entries of the direct-mapped table in front of the map of heads.
const FRONT: usize = 1 << 12;

/// The entry point of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Head {
    key: Key,
    privileged: bool,
    /// The line of the first instruction. Processes with the same contents there share regions.
    line: LineHit,
}

impl Head {
    /// The index in the front table.
    const fn slot(&self) -> usize {
        (self.key.place.at >> 1 ^ self.line.stamp().wrapping_mul(0x9E5)) as usize % FRONT
    }
}

/// The state of a head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct State {
    /// The index of its region.
    region: Option<usize>,
    /// The number of compilations, or [`ATTEMPTS_MAX`] if it cannot be compiled.
    attempts: u8,
}

/// The outcome of an attempt to run compiled code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// Nothing was executed: there is no region, or it cannot be entered now.
    Nothing,
    /// Nothing was executed, and there will never be a region here.
    Never,
    /// Some instructions were executed.
    Some,
    /// The run stops.
    Stop(Stop),
}

/// The compiled regions by their heads.
#[derive(Debug)]
pub struct Compiler {
    code: Option<Code>,
    /// Whether Cranelift does not support this host.
    unsupported: bool,
    /// Whether Cranelift's verifier is enabled.
    verify: bool,
    regions: Vec<Region>,
    heads: HashMap<Head, State>,
    front: Vec<Option<(Head, usize)>>,
    /// The number of instructions that regions executed.
    executed: u64,
}

impl Default for Compiler {
    fn default() -> Self {
        Self {
            code: None,
            unsupported: false,
            verify: false,
            regions: Vec::new(),
            heads: HashMap::new(),
            front: vec![None; FRONT],
            executed: 0,
        }
    }
}

impl Compiler {
    /// Enables Cranelift's verifier and discards all regions.
    pub(super) fn verify(&mut self) {
        self.forget();
        self.verify = true;
    }

    /// Discards all regions.
    pub fn forget(&mut self) {
        self.regions.clear();
        self.front.fill(None);
        self.heads.clear();
        self.code = None;
    }

    /// The number of regions, and the bytes of their machine code.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.regions.len(), self.code.as_ref().map_or(0, Code::bytes))
    }

    /// The number of instructions that regions executed, including those passed to the reference.
    #[must_use]
    pub const fn executed(&self) -> u64 {
        self.executed
    }

    /// Runs the region at the processor's pc up to `limit`. Compiles it first if missing and `hot`.
    #[inline]
    pub fn run<B: Bus>(
        &mut self,
        processor: &mut Processor<B>,
        limit: Limit,
        hot: bool,
    ) -> Attempt {
        let Some(head) = head_of(processor) else { return Attempt::Nothing };
        let number = match self.front[head.slot()] {
            Some((known, number)) if known == head => number,
            _ if !hot => return Attempt::Nothing,
            _ => match self.find(processor, head) {
                Some(number) => number,
                None => return Attempt::Never,
            },
        };
        processor.settle();
        let deadline = processor.deadline().min(limit.cycles);
        let ready = processor.now < deadline
            && !processor.memory.touched()
            && run::representable(processor.registers.cpsr());
        if !ready || !self.regions[number].enter_line(processor) {
            return Attempt::Nothing;
        }
        let (before, instructions) = (processor.now, processor.counts.instructions);
        let bounds = Bounds { deadline, limit: limit.cycles, instructions: limit.instructions };
        let left = self.regions[number].run(processor, bounds);
        self.executed += processor.counts.instructions - instructions;
        if left.stale {
            self.discard(head);
        }
        match left.stop {
            Some(stop) => Attempt::Stop(stop),
            None if processor.now == before => Attempt::Nothing,
            None => Attempt::Some,
        }
    }

    /// The index of the region of `head`, compiled on demand.
    fn find<B: Bus>(&mut self, processor: &mut Processor<B>, head: Head) -> Option<usize> {
        let mut state = self.heads.get(&head).copied().unwrap_or_default();
        if state.region.is_none() && state.attempts < ATTEMPTS_MAX {
            state.region = self.compile(processor, head);
            state.attempts += if state.region.is_some() { 1 } else { ATTEMPTS_MAX };
            self.heads.insert(head, state);
        }
        let number = state.region?;
        self.front[head.slot()] = Some((head, number));
        Some(number)
    }

    fn compile<B: Bus>(&mut self, processor: &mut Processor<B>, head: Head) -> Option<usize> {
        let full = self.code.as_ref().is_some_and(|code| code.bytes() > CODE_MAX);
        if full || self.heads.len() >= HEADS_MAX {
            self.forget();
        }
        if self.code.is_none() && !self.unsupported {
            self.code = Code::new(run::hosts::<B>(), self.verify);
            self.unsupported = self.code.is_none();
        }
        let region = Region::compile(self.code.as_mut()?, processor, head.key)?;
        self.regions.push(region);
        Some(self.regions.len() - 1)
    }

    /// Discards a region whose code changed.
    fn discard(&mut self, head: Head) {
        self.front[head.slot()] = None;
        if let Some(state) = self.heads.get_mut(&head) {
            state.region = None;
        }
    }
}

/// The head at the processor's pc; `None` where compiled code must not be entered.
fn head_of<B: Bus>(processor: &mut Processor<B>) -> Option<Head> {
    processor.memory.fetch_pid()?;
    if processor.memory.armv4_loads() || processor.memory.checker().is_some() {
        return None;
    }
    let status = processor.registers.cpsr();
    let place = Place { at: processor.registers.pc, thumb: status.thumb() };
    let key = Key { place, pipeline: processor.pipeline };
    let privileged = status.privileged();
    let line = processor.memory.line_of(Virtual(place.at), privileged)?;
    Some(Head { key, privileged, line })
}
