//! The reset pin and power cuts: how they interrupt operations.
//!
//! Layer: inside the chip. The contents after a torn program or an interrupted erase are those of
//! [`boardlab_media::torn`], also for a suspended operation.
//!
//! Assumed: a hardware reset tears an operation as a power cut does (S29GL-P 7.9 calls the data
//! invalid); contents are readable as soon as the power is on.

use super::command::{Command, Mode};
use super::{Chip, Work};
use boardlab_sim::{Instant, Stream};

impl Chip {
    /// Draws the bits that a torn operation leaves from `stream`.
    pub fn set_torn_stream(&mut self, stream: Stream) {
        self.streams.torn = stream;
    }

    /// Asserts RESET#: interrupts the running or suspended operation and returns to array mode. If an
    /// operation ran, reads float until the reset latency has passed.
    pub fn hardware_reset(&mut self, now: Instant) {
        if self.work == Work::Off {
            return;
        }
        self.advance(now);
        let was_idle = self.work == Work::Idle;
        self.cut(now);
        if !was_idle {
            self.work = Work::Reset;
            self.event_at = now.saturating_add(self.part.timing.reset_latency);
        }
        self.refresh();
    }

    /// Cuts the power. Until [`Chip::power_on`] writes are lost and reads float.
    pub fn power_cut(&mut self, now: Instant) {
        if self.work == Work::Off {
            return;
        }
        self.advance(now);
        self.cut(now);
        self.work = Work::Off;
        self.refresh();
    }

    /// Restores the power: array mode. Does nothing if there is power.
    pub fn power_on(&mut self, now: Instant) {
        self.advance(now);
        if self.work == Work::Off {
            self.become_idle();
            self.stuck = false;
            self.refresh();
        }
    }

    /// Leaves the running or suspended operation torn, and the command interface in array mode.
    fn cut(&mut self, now: Instant) {
        self.tear_program(now);
        self.tear_erase(now);
        self.tear_protection(now);
        self.become_idle();
        self.stuck = false;
        self.command = Command::Idle;
        self.mode = Mode::Array;
        self.register = 0;
        self.register_armed = false;
    }
}
