//! The system registers at 0x10000000: identity, counters, flags, lock and reset.
//!
//! Layer: rank 4. Main type: [`System`]. Sources: ARM DUI 0303, "Status and system control registers";
//! QEMU 7.2 `hw/misc/arm_sysctl.c` for the values on its board. Left out: oscillators, PCI, flash and
//! display control: their registers have no effect and read as zero or the last value written.

use boardlab_arm926::Cycles;
use boardlab_sim::Hertz;
use serde::{Deserialize, Serialize};

use crate::clock::CoreClock;

/// SYS_ID on QEMU's board.
pub(crate) const ID: u32 = 0xC140_0400;
/// SYS_PROCID0 on QEMU's board with an ARM926EJ-S.
pub(crate) const PROCESSOR: u32 = 0x0200_0000;
/// The value of SYS_LOCK that unlocks SYS_RESETCTL.
pub(crate) const UNLOCK: u32 = 0xA05F;

const HUNDREDTHS: Hertz = Hertz::from_hz(100);
const REFERENCE: Hertz = Hertz::from_hz(24_000_000);

/// The card detect and write protect switches in SYS_MCI.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Slot {
    /// Bit 0.
    pub(crate) present: bool,
    /// Bit 1.
    pub(crate) protected: bool,
}

/// A request to the board that a write of a register causes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SystemRequest {
    /// A reset.
    Reset,
    /// Show this word on the LEDs.
    Leds(u32),
}

/// The system registers with state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct System {
    leds: u32,
    lock: u32,
    flags: u32,
    lasting_flags: u32,
    reset: u32,
    oscillators: [u32; 5],
    configuration: [u32; 2],
    pub(crate) slot: Slot,
}

impl System {
    pub(crate) fn read(&self, offset: u32, now: Cycles, clock: CoreClock) -> u32 {
        match offset {
            0x00 => ID,
            0x08 => self.leds,
            0x0C | 0x10 | 0x14 | 0x18 | 0x1C => self.oscillators[index(offset - 0x0C)],
            0x20 => self.lock,
            0x24 => low(clock.ticks(HUNDREDTHS, now)),
            0x28 | 0x2C => self.configuration[index(offset - 0x28)],
            0x30 => self.flags,
            0x38 => self.lasting_flags,
            0x40 => self.reset,
            0x48 => u32::from(self.slot.present) | u32::from(self.slot.protected) << 1,
            0x5C => low(clock.ticks(REFERENCE, now)),
            0x84 => PROCESSOR,
            _ => 0,
        }
    }

    /// Writes a register; returns the request to the board, if there is one.
    pub(crate) fn write(&mut self, offset: u32, value: u32) -> Option<SystemRequest> {
        match offset {
            0x08 => {
                self.leds = value & 0xFF;
                return Some(SystemRequest::Leds(value));
            }
            0x0C | 0x10 | 0x14 | 0x18 | 0x1C => self.oscillators[index(offset - 0x0C)] = value,
            0x20 => self.lock = value & 0xFFFF,
            0x28 | 0x2C => self.configuration[index(offset - 0x28)] = value,
            0x30 => self.flags |= value,
            0x34 => self.flags &= !value,
            0x38 => self.lasting_flags |= value,
            0x3C => self.lasting_flags &= !value,
            0x40 if self.lock == UNLOCK => {
                self.reset = value;
                return (value != 0).then_some(SystemRequest::Reset);
            }
            _ => {}
        }
        None
    }
}

fn index(offset: u32) -> usize {
    usize::try_from(offset / 4).expect("an offset of a few words")
}

/// The value of a 32-bit counter, which wraps.
#[allow(clippy::cast_possible_truncation, reason = "a counter of 32 bits wraps")]
const fn low(count: u64) -> u32 {
    count as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: CoreClock = CoreClock::new(Hertz::from_hz(200_000_000));

    #[test]
    fn counters_follow_the_core_clock_exactly() {
        let system = System::default();
        let second = Cycles(200_000_000);
        assert_eq!(system.read(0x5C, second, CLOCK), 24_000_000);
        assert_eq!(system.read(0x5C, Cycles(second.0 - 1), CLOCK), 23_999_999);
        assert_eq!(system.read(0x24, second, CLOCK), 100);
        let wrapped = Cycles(second.0 * 200);
        assert_eq!(system.read(0x5C, wrapped, CLOCK), 505_032_704, "4.8e9 modulo 2^32");
    }

    #[test]
    fn flags_are_set_and_cleared_by_bit() {
        let mut system = System::default();
        system.write(0x30, 0xF0);
        system.write(0x30, 0x0F);
        system.write(0x34, 0x81);
        assert_eq!(system.read(0x30, Cycles(0), CLOCK), 0x7E);
        system.write(0x38, 3);
        system.write(0x3C, 1);
        assert_eq!(system.read(0x38, Cycles(0), CLOCK), 2);
    }

    #[test]
    fn reset_needs_the_lock_to_be_open() {
        let mut system = System::default();
        assert_eq!(system.write(0x40, 8), None);
        system.write(0x20, UNLOCK);
        assert_eq!(system.write(0x40, 8), Some(SystemRequest::Reset));
        system.write(0x20, 0);
        assert_eq!(system.write(0x40, 8), None);
    }

    #[test]
    fn leds_hold_eight_bits_and_the_board_hears_of_the_whole_word() {
        let mut system = System::default();
        assert_eq!(system.write(0x08, 0x1234_56A5), Some(SystemRequest::Leds(0x1234_56A5)));
        assert_eq!(system.read(0x08, Cycles(0), CLOCK), 0xA5);
    }

    #[test]
    fn identity_is_that_of_qemus_board() {
        let system = System::default();
        assert_eq!(system.read(0x00, Cycles(0), CLOCK), 0xC140_0400);
        assert_eq!(system.read(0x84, Cycles(0), CLOCK), 0x0200_0000);
    }
}
