//! How a core is run: the trait [`Engine`].
//!
//! Layer: rank 3. All state is in the [`Processor`]; an engine holds derived data only. Engines may therefore take turns at any
//! instruction, and all leave the same registers, memory, cycles, statistics and trace hash.

use crate::bus::Bus;
use crate::processor::{Limit, Processor, Stop};

/// A way to run a core.
pub trait Engine<B: Bus> {
    /// Runs to the limit, which is met exactly: at the first boundary between two instructions where it is reached.
    fn run(&mut self, processor: &mut Processor<B>, limit: Limit) -> Stop;

    /// Forgets what it derived: memory or registers were changed from outside, or it is another core. An engine that
    /// derives nothing has nothing to forget.
    fn forget(&mut self) {}
}
