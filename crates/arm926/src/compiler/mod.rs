//! A just-in-time compiler: regions of hot code as functions of the host, with the same cycles, counts and state as the reference.
//!
//! Layer: rank 3. [`Compiler`] keeps, for places where execution comes by often, a region made by Cranelift: `plan` chooses its instructions, `class` sorts
//! them, `lower` writes them, `code` owns the machine code, `run` enters and leaves it, `frame` is what both sides share. A region holds
//! guest registers and flags in host registers, finds data by the tables of [`crate::memory::Lookaside`], and adds cycles as constants; what these tables do not
//! know is executed by the reference, one instruction at a time. It is left at a boundary between two instructions
//! when the deadline may come, a line does not hit, a device was touched, or the code goes on elsewhere.
//! Source: Cranelift 0.135. Left out: hosts that Cranelift has no code generator for, and big-endian ones: there nothing is compiled.
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

use std::collections::HashMap;

use crate::address::Virtual;
use crate::bus::Bus;
use crate::memory::lookaside::LineHit;
use crate::processor::{Limit, Processor, Stop};
use code::Code;
pub use engine::Compiled;
use plan::{Key, Place};
use run::{Bounds, Region};

/// How often execution comes by a place within a span of 4 million cycles before it is compiled, unless said otherwise. What runs less often
/// does not pay for its compilation: see docs/models/arm926-engines.md.
pub const THRESHOLD: u32 = 8_192;

/// How often a place is compiled at most: code that changes all the time is not worth it.
const ATTEMPTS_MAX: u8 = 8;

/// Bytes of machine code at which all is dropped.
const CODE_MAX: usize = 32 << 20;

/// Places that are known at once at most.
const HEADS_MAX: usize = 1 << 16;

/// Entries of the table in front of the map of heads.
const FRONT: usize = 1 << 12;

/// Where a region begins, and under what circumstances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Head {
    key: Key,
    privileged: bool,
    /// The line that it begins in: processes with the same contents there share regions.
    line: LineHit,
}

impl Head {
    /// Its place in the front table.
    const fn slot(&self) -> usize {
        (self.key.place.at >> 1 ^ self.line.stamp().wrapping_mul(0x9E5)) as usize % FRONT
    }
}

/// What is known of a head.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct State {
    /// The number of its region.
    region: Option<usize>,
    /// How often it was compiled, or found to be impossible to compile.
    attempts: u8,
}

/// How an attempt to run compiled code ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// There is no region here, or it cannot be entered now: nothing happened.
    Nothing,
    /// There is none, and never will be.
    Never,
    /// Some instructions were executed.
    Some,
    /// The run is to stop.
    Stop(Stop),
}

/// Compiled regions, by where they begin.
#[derive(Debug)]
pub struct Compiler {
    code: Option<Code>,
    /// Set when this host cannot be compiled for.
    barred: bool,
    /// Whether Cranelift verifies what it is given.
    verify: bool,
    regions: Vec<Region>,
    heads: HashMap<Head, State>,
    front: Vec<Option<(Head, usize)>>,
    /// Instructions that regions executed.
    executed: u64,
}

impl Default for Compiler {
    fn default() -> Self {
        Self {
            code: None,
            barred: false,
            verify: false,
            regions: Vec::new(),
            heads: HashMap::new(),
            front: vec![None; FRONT],
            executed: 0,
        }
    }
}

impl Compiler {
    /// Lets Cranelift verify what it is given from now on.
    pub(super) fn verify(&mut self) {
        self.forget();
        self.verify = true;
    }

    /// Forgets all that was compiled.
    pub fn forget(&mut self) {
        self.regions.clear();
        self.front.fill(None);
        self.heads.clear();
        self.code = None;
    }

    /// How many regions there are, and their machine code in bytes.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        (self.regions.len(), self.code.as_ref().map_or(0, Code::bytes))
    }

    /// How many instructions regions executed, those included that they left to the reference.
    #[must_use]
    pub const fn executed(&self) -> u64 {
        self.executed
    }

    /// Runs the region that begins where `processor` is, if there is one, to the limit at most. If it is `hot` here and there is none,
    /// it is compiled now.
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

    /// The region of `head`, compiled now if there is none.
    fn find<B: Bus>(&mut self, processor: &Processor<B>, head: Head) -> Option<usize> {
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

    fn compile<B: Bus>(&mut self, processor: &Processor<B>, head: Head) -> Option<usize> {
        let full = self.code.as_ref().is_some_and(|code| code.bytes() > CODE_MAX);
        if full || self.heads.len() >= HEADS_MAX {
            self.forget();
        }
        if self.code.is_none() && !self.barred {
            self.code = Code::new(run::hosts::<B>(), self.verify);
            self.barred = self.code.is_none();
        }
        let region = Region::compile(self.code.as_mut()?, processor, head.key)?;
        self.regions.push(region);
        Some(self.regions.len() - 1)
    }

    /// Forgets a region whose code changed.
    fn discard(&mut self, head: Head) {
        self.front[head.slot()] = None;
        if let Some(state) = self.heads.get_mut(&head) {
            state.region = None;
        }
    }
}

/// Where the processor is; nothing where compiled code must not be entered.
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
