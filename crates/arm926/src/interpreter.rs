//! The reference interpreter: one instruction at a time.
//!
//! Layer: rank 3. Main types: [`Interpreter`], and [`Processor::step`]. An instruction is fetched at
//! the clock's `now`, accesses data after the fetch, and then advances the clock by the pipeline's
//! cycles. Interrupts are sampled at the boundary between two instructions.

use crate::address::{Cycles, Virtual};
use crate::bus::{Bus, Width};
use crate::engine::Engine;
use crate::exception::Exception;
use crate::execute::{self, End};
use crate::memory::{Abort, Access};
use crate::points::WatchHit;
use crate::processor::{Limit, Processor, Stop};
use crate::timing::Outcome;

/// The reference engine: runs instruction by instruction, with every lookup.
#[derive(Debug, Clone, Copy, Default)]
pub struct Interpreter;

impl<B: Bus> Engine<B> for Interpreter {
    fn run(&mut self, processor: &mut Processor<B>, limit: Limit) -> Stop {
        processor.run(limit)
    }
}

impl<B: Bus> Processor<B> {
    /// Runs instruction by instruction.
    pub fn run(&mut self, limit: Limit) -> Stop {
        if !self.points.is_empty() {
            return self.run_to_points(limit);
        }
        while self.now < limit.cycles && self.counts.instructions < limit.instructions {
            if let Some(stop) = self.step_within(limit.cycles) {
                return stop;
            }
        }
        Stop::Limit
    }

    /// Like [`Processor::run`], with breakpoints and watchpoints.
    fn run_to_points(&mut self, limit: Limit) -> Stop {
        self.memory.watch(&self.points);
        let mut stop = None;
        while stop.is_none()
            && self.now < limit.cycles
            && self.counts.instructions < limit.instructions
        {
            stop = self.step_to_points(limit.cycles);
        }
        self.memory.stop_watching();
        stop.unwrap_or(Stop::Limit)
    }

    fn step_to_points(&mut self, limit: Cycles) -> Option<Stop> {
        match self.boundary_if_due(limit) {
            Boundary::Execute => {}
            Boundary::Done => return None,
            Boundary::Stop(stop) => return Some(stop),
        }
        let at = self.registers.pc;
        if self.points.stops_at(at, self.counts.instructions) {
            return Some(Stop::Breakpoint { at: Virtual(at) });
        }
        let stop = self.execute_next();
        stop.or_else(|| self.watchpoint_stop())
    }

    /// Like [`Processor::step_within`]; also stops after an access that hits a watchpoint.
    pub fn step_watched(&mut self, limit: Cycles) -> Option<Stop> {
        self.memory.watch(&self.points);
        let stop = self.step_within(limit).or_else(|| self.watchpoint_stop());
        self.memory.stop_watching();
        stop
    }

    /// The stop for a watchpoint that the last instruction hit.
    fn watchpoint_stop(&mut self) -> Option<Stop> {
        let WatchHit { watchpoint, at, write } = self.memory.take_watch_hit()?;
        Some(Stop::Watchpoint { watchpoint, at, write })
    }

    /// Executes one instruction, enters an interrupt or sleeps for a span.
    pub fn step(&mut self) -> Option<Stop> {
        self.step_within(Cycles::NEVER)
    }

    /// Like [`Processor::step`]; sleep ends at `limit`.
    pub fn step_within(&mut self, limit: Cycles) -> Option<Stop> {
        match self.boundary_if_due(limit) {
            Boundary::Execute => self.execute_next(),
            Boundary::Done => None,
            Boundary::Stop(stop) => Some(stop),
        }
    }

    #[inline(always)]
    fn boundary_if_due(&mut self, limit: Cycles) -> Boundary {
        if self.now >= self.quiet_until || self.memory.touched() {
            self.boundary(limit)
        } else {
            Boundary::Execute
        }
    }

    /// Performs the work between two instructions: trace hash, interrupt lines, sleep, interrupts.
    #[inline(never)]
    fn boundary(&mut self, limit: Cycles) -> Boundary {
        if self.now >= self.trace.next() {
            self.checkpoint();
        }
        if self.memory.take_touched() || self.now >= self.lines_until || self.lines_halt {
            self.sample_lines();
            if self.lines_halt {
                return Boundary::Stop(Stop::Board);
            }
        }
        if self.asleep {
            if !(self.lines_irq || self.lines_fiq) {
                return self.sleep(limit);
            }
            self.asleep = false;
        }
        match self.interrupt() {
            Some(exception) => {
                let at = self.registers.pc;
                self.enter(exception, at).map_or(Boundary::Done, Boundary::Stop)
            }
            None => {
                let masked = self.lines_irq || self.lines_fiq;
                self.quiet_until = if masked { Cycles(0) } else { self.deadline() };
                Boundary::Execute
            }
        }
    }

    /// Advances the clock to the next cycle at which something may happen.
    fn sleep(&mut self, limit: Cycles) -> Boundary {
        if self.lines_until == Cycles::NEVER {
            return Boundary::Stop(Stop::Asleep);
        }
        let to = self.lines_until.min(self.trace.next()).min(limit).max(self.now.plus(1));
        self.counts.asleep += to.0 - self.now.0;
        self.now = to;
        Boundary::Done
    }

    /// Fetches, decodes and executes the next instruction.
    pub(crate) fn execute_next(&mut self) -> Option<Stop> {
        let (at, status) = (self.registers.pc, self.registers.cpsr());
        let width = if status.thumb() { Width::Half } else { Width::Word };
        let access = Access { at: Virtual(at), width, privileged: status.privileged() };
        match self.memory.fetch(access, &mut self.bus, &mut self.now) {
            Ok(code) => self.execute_fetched(code),
            Err(abort) => self.abort_fetch(abort),
        }
    }

    /// Takes the prefetch abort of the next instruction.
    #[cold]
    pub(crate) fn abort_fetch(&mut self, abort: Abort) -> Option<Stop> {
        self.counts.instructions += 1;
        self.memory.note_prefetch_abort(abort);
        self.enter(Exception::PrefetchAbort, self.registers.pc)
    }

    /// Decodes and executes the next instruction, already fetched.
    #[inline]
    pub(crate) fn execute_fetched(&mut self, code: u32) -> Option<Stop> {
        let (at, status) = (self.registers.pc, self.registers.cpsr());
        let instruction = self.memo.decode(at, code, status.thumb()).instruction;
        self.counts.instructions += 1;
        let following = at.wrapping_add(if status.thumb() { 2 } else { 4 });
        self.registers.pc = following;
        if !instruction.condition.holds(status) {
            self.counts.skipped += 1;
            self.now.0 += u64::from(self.pipeline.pass(&self.memo.last(at).timing.skipped()));
            self.memory.retire(false);
            return None;
        }
        let end = execute::execute(self, &instruction, at);
        let End::Done(outcome) = end else { return self.interrupted(end, at) };
        let timing = &self.memo.last(at).timing;
        self.now.0 += u64::from(match outcome {
            Outcome::Executed => self.pipeline.pass(timing),
            _ => self.pipeline.advance(&instruction, outcome),
        });
        if self.memory.fetch_pid().is_none() {
            self.memory.retire(self.registers.pc != following || instruction.jumps());
        }
        None
    }

    /// Takes the exception of the instruction at `at`, which did not complete.
    #[cold]
    fn interrupted(&mut self, end: End, at: u32) -> Option<Stop> {
        let exception = match end {
            End::Done(_) => return None,
            End::SoftwareInterrupt { comment } if self.is_call(comment) => {
                self.registers.pc = at;
                self.counts.instructions -= 1;
                return Some(Stop::Semihosting);
            }
            End::SoftwareInterrupt { .. } => Exception::SoftwareInterrupt,
            End::Undefined => Exception::Undefined,
            End::Breakpoint => Exception::PrefetchAbort,
            End::Abort(abort) => {
                self.memory.note_data_abort(abort);
                Exception::DataAbort
            }
        };
        self.enter(exception, at)
    }

    /// Whether an SWI is a semihosting call: its comment is 0x123456 in ARM state, 0xAB in Thumb state.
    /// In user mode it is not, as on QEMU, since it would bypass the guest's kernel.
    fn is_call(&self, comment: u32) -> bool {
        let status = self.registers.cpsr();
        let of_calls = if status.thumb() { 0xAB } else { 0x12_3456 };
        comment == of_calls && self.memory.config().semihosting && status.privileged()
    }
}

/// The result of a boundary.
enum Boundary {
    Execute,
    Done,
    Stop(Stop),
}
