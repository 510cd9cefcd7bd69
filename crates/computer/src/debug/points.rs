//! Single steps: the engine of the debugger for them. Breakpoints and watchpoints are the core's own.
//!
//! Layer: rank 9. Main type: [`Single`].

use crate::instruments::{Shared, locked};
use boardlab_arm926::{Bus, Engine, Limit, Processor, Stop};

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

    fn forget(&mut self) {}
}
