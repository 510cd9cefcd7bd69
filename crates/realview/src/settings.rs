//! The parameters of a board.
//!
//! Layer: rank 4. Main types: [`Settings`], [`Timing`]. A board file gives them, each with its
//! source. The defaults here are those of QEMU's `-M realview-eb -cpu arm926 -m 128`, at 200 MHz.

use boardlab_arm926::{Config, Waits};
use boardlab_sim::{Bytes, Hertz};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::sdram::LARGEST;

/// Wait states, in bus clock cycles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timing {
    /// For a read of the SDRAM.
    pub read: Waits,
    /// For a write to the SDRAM.
    pub write: Waits,
    /// For a device's register, through the bridge to the peripheral bus.
    pub register: Waits,
}

impl Default for Timing {
    /// Assumed: SDRAM at the bus clock that opens a row at every access (two cycles), with a CAS
    /// latency of three and one cycle in the controller; writes are posted after the row is open. The
    /// bridge takes one cycle to set up and one to respond.
    fn default() -> Self {
        Self {
            read: Waits { first: 6, next: 0 },
            write: Waits { first: 3, next: 0 },
            register: Waits { first: 2, next: 2 },
        }
    }
}

/// The parameters of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The core.
    pub core: Config,
    /// The core's clock.
    pub core_clock: Hertz,
    /// The size of the SDRAM: a power of two from 1 MiB to 256 MiB.
    pub memory: Bytes,
    /// Wait states.
    pub timing: Timing,
    /// The real-time clock's value at reset: seconds since 1 January 1970.
    pub start: u32,
}

impl Default for Settings {
    /// 200 MHz, 128 MiB, 1 January 2000.
    fn default() -> Self {
        Self {
            core: Config::default(),
            core_clock: Hertz::from_hz(200_000_000),
            memory: Bytes::mib(128),
            timing: Timing::default(),
            start: 946_684_800,
        }
    }
}

impl Settings {
    /// The size of the SDRAM in bytes.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] if the board does not support the size.
    pub fn memory_size(&self) -> Result<u32, Error> {
        let refused = Error::Memory { asked: self.memory };
        let size = u32::try_from(self.memory.get()).map_err(|_| refused.clone())?;
        if size.is_power_of_two() && (1 << 20..=LARGEST).contains(&size) {
            Ok(size)
        } else {
            Err(refused)
        }
    }
}
