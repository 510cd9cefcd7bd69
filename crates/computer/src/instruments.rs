//! Engines that look: the reference interpreter with a profile, a listing, stops at addresses, or single steps.
//!
//! Layer: rank 9. Main types: [`Profiling`], [`Watching`], [`Listing`], [`Seeking`], [`Single`]. They step the reference
//! interpreter, so the machine does the same as with any engine. What they gather is shared with their maker behind a
//! lock that is taken once a run.

use super::listing::Before;
use super::masked::MaskedStretches;
use super::profile::{Mark, Profile};
use super::symbols::Symbols;
use boardlab_arm926::{Bus, Engine, Limit, Processor, Stop};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// What maker and engine share.
pub type Shared<T> = Arc<Mutex<T>>;

/// The value behind the lock, also after a panic of another thread: it is only read then.
pub fn locked<T>(shared: &Shared<T>) -> std::sync::MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Steps up to `limit`, and tells `look` before and after each step; ends early when it says so.
fn steps<B: Bus>(
    processor: &mut Processor<B>,
    limit: Limit,
    mut step: impl FnMut(&mut Processor<B>) -> (Option<Stop>, bool),
) -> Stop {
    while processor.now < limit.cycles && processor.counts.instructions < limit.instructions {
        match step(processor) {
            (Some(stop), _) => return stop,
            (None, true) => return Stop::Limit,
            (None, false) => {}
        }
    }
    Stop::Limit
}

/// Steps with a profile and with a look at what interrupts may come.
#[derive(Debug, Clone)]
pub(super) struct Profiling {
    pub(super) profile: Shared<Profile>,
    pub(super) masked: Shared<MaskedStretches>,
}

impl<B: Bus> Engine<B> for Profiling {
    fn run(&mut self, processor: &mut Processor<B>, limit: Limit) -> Stop {
        let (mut profile, mut masked) = (locked(&self.profile), locked(&self.masked));
        let mut before = Mark::of(processor);
        profile.resume(&before);
        let stop = steps(processor, limit, |processor| {
            let stop = processor.step_within(limit.cycles);
            let after = Mark::of(processor);
            profile.step(&before, &after);
            masked.look(processor);
            before = after;
            (stop, false)
        });
        profile.pause(before);
        stop
    }
}

/// Steps with a look at what interrupts may come.
#[derive(Debug, Clone, Default)]
pub struct Watching(pub Shared<MaskedStretches>);

impl<B: Bus> Engine<B> for Watching {
    fn run(&mut self, processor: &mut Processor<B>, limit: Limit) -> Stop {
        let mut masked = locked(&self.0);
        steps(processor, limit, |processor| {
            let stop = processor.step_within(limit.cycles);
            masked.look(processor);
            (stop, false)
        })
    }
}

/// Where a listing goes, and what became of it.
pub(super) struct Sheet {
    pub(super) out: Box<dyn Write + Send>,
    pub(super) broken: Option<io::Error>,
}

/// Steps and writes a line each.
pub(super) struct Listing {
    pub(super) sheet: Shared<Sheet>,
    pub(super) symbols: Arc<Symbols>,
}

impl<B: Bus> Engine<B> for Listing {
    fn run(&mut self, processor: &mut Processor<B>, limit: Limit) -> Stop {
        let mut sheet = locked(&self.sheet);
        steps(processor, limit, |processor| {
            let before = Before::of(processor);
            let stop = processor.step_within(limit.cycles);
            let line = match stop {
                None => before.line(processor, &self.symbols),
                Some(Stop::Semihosting) => before.call(&self.symbols),
                Some(_) => return (stop, false),
            };
            if let Err(error) = writeln!(sheet.out, "{line}") {
                sheet.broken = Some(error);
            }
            (stop, sheet.broken.is_some())
        })
    }
}

/// Makes one step by the reference interpreter, over breakpoints and up to watched accesses, and then none.
#[derive(Debug, Default)]
pub(super) struct Single {
    /// Whether it is done.
    pub(super) done: Shared<bool>,
}

impl<B: Bus> Engine<B> for Single {
    fn run(&mut self, processor: &mut Processor<B>, limit: Limit) -> Stop {
        let mut done = locked(&self.done);
        if *done || processor.now >= limit.cycles {
            return Stop::Limit;
        }
        *done = true;
        processor.step_watched(limit.cycles).unwrap_or(Stop::Limit)
    }
}

/// Whether the address that is sought was reached.
#[derive(Debug, Default)]
pub(super) struct Sought {
    pub(super) at: u32,
    pub(super) found: bool,
}

/// Steps until an address is next.
pub(super) struct Seeking(pub(super) Shared<Sought>);

impl<B: Bus> Engine<B> for Seeking {
    fn run(&mut self, processor: &mut Processor<B>, limit: Limit) -> Stop {
        let mut sought = locked(&self.0);
        steps(processor, limit, |processor| {
            sought.found |= processor.registers.pc == sought.at;
            if sought.found {
                return (None, true);
            }
            (processor.step_within(limit.cycles), false)
        })
    }
}
