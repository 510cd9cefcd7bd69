//! What each instruction does: the reference interpreter.
//!
//! Layer: rank 3. [`crate::Processor::step`] fetches, decodes and calls [`execute`]; the fast engine falls back to it for whatever
//! is rare.

use crate::bus::Bus;
use crate::instruction::Instruction;
use crate::memory::Abort;
use crate::processor::Processor;
use crate::timing::Outcome;

/// How an instruction ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It went this way; `pc` is where execution goes on.
    Done(Outcome),
    /// It is not defined here.
    Undefined,
    /// SWI.
    SoftwareInterrupt {
        /// Its comment field.
        comment: u32,
    },
    /// BKPT.
    Breakpoint,
    /// A data access failed; nothing but memory may have changed, the base register is as before.
    Abort(Abort),
}

/// Executes `instruction`, which lies at `at`; the pc is already that of the next one.
pub fn execute<B: Bus>(_processor: &mut Processor<B>, _instruction: &Instruction, _at: u32) -> End {
    End::Undefined
}
