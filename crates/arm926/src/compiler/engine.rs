//! The engine: compiled regions where execution is hot, predecoded blocks elsewhere.
//!
//! Layer: rank 3. [`Compiled`] takes turns: it leaves the counting of how often a place is come by to [`Predecoded`], which stops in front of hot code.

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
    /// The cycle from which on entries are counted again.
    again: Cycles,
}

/// Entries are counted in spans of so many cycles. What runs between leaving a region at a checkpoint and coming by its head is so not
/// compiled once more, as it is entered a few times in a span.
const SPAN: u64 = 1 << 22;

impl Default for Compiled {
    fn default() -> Self {
        Self::new()
    }
}

impl Compiled {
    /// An engine that knows nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::with_threshold(THRESHOLD)
    }

    /// As [`Compiled::new`]; compiles what was entered so often.
    #[must_use]
    pub fn with_threshold(threshold: u32) -> Self {
        let (compiler, predecoded) = (Compiler::default(), Predecoded::with_threshold(threshold));
        Self { compiler, predecoded, again: Cycles(SPAN) }
    }

    /// The same engine with Cranelift's verifier, for tests: it takes a third of the time of compilation, and panics at
    /// code that makes no sense.
    #[must_use]
    pub fn verified(mut self) -> Self {
        self.compiler.verify();
        self
    }

    /// How many regions there are, and their machine code in bytes.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        self.compiler.size()
    }

    /// How many instructions compiled code executed since the engine was made.
    #[must_use]
    pub const fn executed(&self) -> u64 {
        self.compiler.executed()
    }

    /// Runs what is in front of the processor by whichever engine can.
    fn turn<B: Bus>(&mut self, processor: &mut Processor<B>, limit: Limit) -> Option<Stop> {
        match self.compiler.run(processor, limit, false) {
            Attempt::Some => return None,
            Attempt::Stop(stop) => return Some(stop),
            Attempt::Nothing | Attempt::Never => {}
        }
        let mut anyway = false;
        loop {
            let code = match self.predecoded.run_until_hot(processor, limit, anyway) {
                RunEnd::Stop(stop) => return Some(stop),
                RunEnd::Hot(code) => code,
            };
            match self.compiler.run(processor, limit, true) {
                Attempt::Some => return None,
                Attempt::Stop(stop) => return Some(stop),
                Attempt::Never => self.predecoded.cool(code),
                Attempt::Nothing => {}
            }
            anyway = true;
        }
    }
}

impl<B: Bus> Engine<B> for Compiled {
    fn run(&mut self, processor: &mut Processor<B>, limit: Limit) -> Stop {
        if self.predecoded.attend_to(processor) {
            self.compiler.forget();
            self.again = Cycles(0);
        }
        if !processor.points.is_empty() {
            return self.predecoded.leave_to_reference(processor, limit);
        }
        while processor.now < limit.cycles && processor.counts.instructions < limit.instructions {
            if processor.now >= self.again {
                self.again = processor.now.plus(SPAN);
                self.predecoded.count_again();
            }
            if let Some(stop) = self.turn(processor, limit) {
                return stop;
            }
        }
        Stop::Limit
    }

    fn forget(&mut self) {
        self.compiler.forget();
        self.again = Cycles(0);
        Engine::<B>::forget(&mut self.predecoded);
    }
}
