//! The compiling engine: compiled regions for hot code, predecoded blocks for the rest.
//!
//! Layer: rank 3. [`Compiled`] alternates between a [`Compiler`] and [`Predecoded`], which counts the
//! entries of its blocks and stops before hot ones.

use super::{Attempt, Compiler, THRESHOLD};
use crate::address::Cycles;
use crate::bus::Bus;
use crate::engine::Engine;
use crate::predecoded::{Predecoded, RunEnd};
use crate::processor::{Limit, Processor, Stop};

/// The engine of compiled regions.
#[derive(Debug)]
pub struct Compiled {
    compiler: Compiler,
    predecoded: Predecoded,
    /// The cycle at which the entry counts are halved.
    halve_at: Cycles,
}

/// The cycles after which the entry counts are halved. Code that runs only between a region's exit at a
/// checkpoint and the region's next entry is thereby not compiled a second time.
const SPAN: u64 = 1 << 22;

impl Default for Compiled {
    fn default() -> Self {
        Self::new()
    }
}

impl Compiled {
    /// Creates an engine without compiled code.
    #[must_use]
    pub fn new() -> Self {
        Self::with_threshold(THRESHOLD)
    }

    /// Like [`Compiled::new`]; compiles blocks after `threshold` entries.
    #[must_use]
    pub fn with_threshold(threshold: u32) -> Self {
        let (compiler, predecoded) = (Compiler::default(), Predecoded::with_threshold(threshold));
        Self { compiler, predecoded, halve_at: Cycles(SPAN) }
    }

    /// Enables Cranelift's verifier for tests. It takes a third of compile time and panics on errors.
    #[must_use]
    pub fn verified(mut self) -> Self {
        self.compiler.verify();
        self
    }

    /// The number of regions, and the bytes of their machine code.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        self.compiler.size()
    }

    /// The number of instructions that compiled code executed since the engine was created.
    #[must_use]
    pub const fn executed(&self) -> u64 {
        self.compiler.executed()
    }

    /// Runs predecoded blocks up to the next region that can be entered, and then that region.
    fn turn<B: Bus>(&mut self, processor: &mut Processor<B>, limit: Limit) -> Option<Stop> {
        match self.compiler.run(processor, limit, false) {
            Attempt::Some => return None,
            Attempt::Stop(stop) => return Some(stop),
            Attempt::Nothing | Attempt::Never => {}
        }
        let mut ignore_heat = false;
        loop {
            let code = match self.predecoded.run_until_hot(processor, limit, ignore_heat) {
                RunEnd::Stop(stop) => return Some(stop),
                RunEnd::Hot(code) => code,
            };
            match self.compiler.run(processor, limit, true) {
                Attempt::Some => return None,
                Attempt::Stop(stop) => return Some(stop),
                Attempt::Never => self.predecoded.mark_cold(code),
                Attempt::Nothing => {}
            }
            ignore_heat = true;
        }
    }
}

impl<B: Bus> Engine<B> for Compiled {
    fn run(&mut self, processor: &mut Processor<B>, limit: Limit) -> Stop {
        if self.predecoded.bind(processor) {
            self.compiler.forget();
            self.halve_at = Cycles(0);
        }
        if !processor.points.is_empty() {
            return self.predecoded.run_by_reference(processor, limit);
        }
        while processor.now < limit.cycles && processor.counts.instructions < limit.instructions {
            if processor.now >= self.halve_at {
                self.halve_at = processor.now.plus(SPAN);
                self.predecoded.halve_counts();
            }
            if let Some(stop) = self.turn(processor, limit) {
                return stop;
            }
        }
        Stop::Limit
    }

    fn forget(&mut self) {
        self.compiler.forget();
        self.halve_at = Cycles(0);
        Engine::<B>::forget(&mut self.predecoded);
    }
}
