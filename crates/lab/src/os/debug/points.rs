//! Breakpoints, watchpoints and single steps: the engine of the debugger.
//!
//! Layer: rank 8. Main types: [`Points`], [`Breaking`]. It steps the reference interpreter, so that a program that is debugged takes the cycles that
//! it always takes. A watchpoint stops behind an instruction after which the bytes differ, as the program sees them: that is what
//! GDB asks hardware for, which then compares by itself.

use crate::os::instruments::{Shared, locked};
use boardlab_arm926::{Bus, Engine, Limit, Processor, Stop, Virtual};
use std::collections::BTreeSet;

/// Why a run stopped by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hit {
    /// A single step is done.
    Stepped,
    /// The next instruction has a breakpoint.
    Breakpoint,
    /// Bytes at this address changed.
    Watchpoint(u32),
}

/// Watched bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Watch {
    pub(super) at: u32,
    pub(super) length: u32,
    /// The words that they are in, as they were.
    words: Vec<Option<u32>>,
}

/// Where to stop.
#[derive(Debug, Default)]
pub(super) struct Points {
    pub(super) breakpoints: BTreeSet<u32>,
    pub(super) watches: Vec<Watch>,
    /// Stop after this step.
    pub(super) single: bool,
    /// A step was made since the debugger let go: a breakpoint at the first address does not count.
    pub(super) moved: bool,
    pub(super) hit: Option<Hit>,
}

/// The aligned words of `length` bytes from `at` on.
fn words<B: Bus>(processor: &Processor<B>, at: u32, length: u32) -> Vec<Option<u32>> {
    let first = at & !3;
    let count = (at - first + length).div_ceil(4);
    let word =
        |index: u32| processor.memory.peek(Virtual(first.wrapping_add(4 * index)), &processor.bus);
    (0..count).map(word).collect()
}

impl Watch {
    pub(super) fn new<B: Bus>(processor: &Processor<B>, at: u32, length: u32) -> Self {
        Self { at, length, words: words(processor, at, length) }
    }

    /// Whether the bytes changed since the last question; other bytes of their words do not count.
    fn changed<B: Bus>(&mut self, processor: &Processor<B>) -> bool {
        let now = words(processor, self.at, self.length);
        let bytes = |words: &[Option<u32>]| -> Vec<u8> {
            let all = words.iter().flat_map(|word| word.unwrap_or_default().to_le_bytes());
            let skip = usize::try_from(self.at & 3).expect("at most 3");
            all.skip(skip)
                .take(usize::try_from(self.length).expect("limited when it was set"))
                .collect()
        };
        let changed = bytes(&now) != bytes(&self.words);
        self.words = now;
        changed
    }
}

/// Steps until something is hit.
#[derive(Debug)]
pub(super) struct Breaking(pub(super) Shared<Points>);

impl<B: Bus> Engine<B> for Breaking {
    fn run(&mut self, processor: &mut Processor<B>, limit: Limit) -> Stop {
        let mut points = locked(&self.0);
        while points.hit.is_none()
            && processor.now < limit.cycles
            && processor.counts.instructions < limit.instructions
        {
            if points.moved && points.breakpoints.contains(&processor.registers.pc) {
                points.hit = Some(Hit::Breakpoint);
                break;
            }
            let stop = processor.step_within(limit.cycles);
            points.moved = true;
            let changed = points
                .watches
                .iter_mut()
                .find_map(|watch| watch.changed(processor).then_some(watch.at));
            points.hit = changed.map(Hit::Watchpoint).or(points.single.then_some(Hit::Stepped));
            if let Some(stop) = stop {
                return stop;
            }
        }
        Stop::Limit
    }

    fn forget(&mut self) {}
}
