//! The exceptions: vectors, modes, return addresses.
//!
//! Layer: rank 3. Main type: [`Exception`]. Source: ARM DDI 0100E, A2.6; high vectors: DDI 0198D,
//! 2.3.2.

use serde::{Deserialize, Serialize};

use crate::registers::{Mode, Psr};

/// An exception, numbered by its entry in the vector table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[repr(u8)]
pub enum Exception {
    /// nRESET.
    Reset = 0,
    /// An undefined instruction.
    Undefined = 1,
    /// SWI.
    SoftwareInterrupt = 2,
    /// An instruction whose fetch aborted, and BKPT.
    PrefetchAbort = 3,
    /// A data access that aborted.
    DataAbort = 4,
    /// nIRQ.
    Irq = 6,
    /// nFIQ.
    Fiq = 7,
}

impl Exception {
    /// All exceptions.
    pub const ALL: [Self; 7] = [
        Self::Reset,
        Self::Undefined,
        Self::SoftwareInterrupt,
        Self::PrefetchAbort,
        Self::DataAbort,
        Self::Irq,
        Self::Fiq,
    ];

    /// The address of its vector.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "const: the number of a vector, 0 to 7")]
    pub const fn vector(self, high: bool) -> u32 {
        (if high { 0xFFFF_0000 } else { 0 }) + 4 * self as u32
    }

    /// The mode that handles it.
    #[must_use]
    pub const fn mode(self) -> Mode {
        match self {
            Self::Reset | Self::SoftwareInterrupt => Mode::Supervisor,
            Self::Undefined => Mode::Undefined,
            Self::PrefetchAbort | Self::DataAbort => Mode::Abort,
            Self::Irq => Mode::Irq,
            Self::Fiq => Mode::Fiq,
        }
    }

    /// The CPSR on entry, from that before: ARM state, IRQs disabled; reset and FIQ disable FIQs too.
    #[must_use]
    pub const fn status(self, before: Psr) -> Psr {
        let masks = match self {
            Self::Reset | Self::Fiq => Psr::I | Psr::F,
            _ => Psr::I,
        };
        Psr((before.0 & !(Psr::T | 31)) | masks | self.mode().bits())
    }

    /// The value of r14 of the mode on entry. For interrupts `at` is the address of the next
    /// instruction, for other exceptions that of the instruction that caused it.
    #[must_use]
    pub const fn link(self, at: u32, thumb: bool) -> u32 {
        let offset = match self {
            Self::Reset => 0,
            Self::Undefined | Self::SoftwareInterrupt => {
                if thumb {
                    2
                } else {
                    4
                }
            }
            Self::PrefetchAbort | Self::Irq | Self::Fiq => 4,
            Self::DataAbort => 8,
        };
        at.wrapping_add(offset)
    }
}
