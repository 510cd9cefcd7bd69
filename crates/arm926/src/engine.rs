//! The trait of engines: [`Engine`].
//!
//! Layer: rank 3. The [`Processor`] holds all state; engines hold derived data only. Engines can
//! therefore alternate at any instruction, and all produce the same registers, memory, cycles,
//! statistics and trace hash.

use crate::bus::Bus;
use crate::processor::{Limit, Processor, Stop};

/// An engine that runs a core.
pub trait Engine<B: Bus> {
    /// Runs exactly to the limit: to the first instruction boundary where it is reached.
    fn run(&mut self, processor: &mut Processor<B>, limit: Limit) -> Stop;

    /// Discards derived data, after memory or registers were changed from outside.
    fn forget(&mut self) {}
}
