//! PL031, the real-time clock.
//!
//! Layer: rank 4. Main type: [`Rtc`]. Source: ARM DDI 0224B, chapter 3. It counts seconds of virtual
//! time from the start date in the board's settings, so two runs see the same dates. It always runs,
//! as in QEMU.

use boardlab_arm926::Cycles;
use boardlab_sim::Hertz;
use serde::{Deserialize, Serialize};

use crate::clock::CoreClock;
use crate::map::identification;

const SECOND: Hertz = Hertz::from_hz(1);
const IDENTIFICATION: [u8; 8] = [0x31, 0x10, 0x14, 0x00, 0x0D, 0xF0, 0x05, 0xB1];

/// A PL031.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rtc {
    /// The counter's value minus the seconds since reset.
    offset: u32,
    load: u32,
    matching: u32,
    /// The second, counted from reset, at which the counter next equals the match register.
    due: Option<u64>,
    mask: bool,
    raised: bool,
}

impl Rtc {
    /// A clock with the value `start` at reset: seconds since 1 January 1970.
    pub(crate) const fn new(start: u32) -> Self {
        Self { offset: start, load: 0, matching: 0, due: None, mask: false, raised: false }
    }

    /// The counter's value (RTCDR).
    pub(crate) fn seconds(&self, now: Cycles, clock: CoreClock) -> u32 {
        low(clock.ticks(SECOND, now)).wrapping_add(self.offset)
    }

    /// Raises the interrupt if the match is due.
    pub(crate) fn advance(&mut self, now: Cycles, clock: CoreClock) {
        if self.due.is_some_and(|due| clock.ticks(SECOND, now) >= due) {
            self.raised = true;
            self.due = None;
        }
    }

    /// The next time at which the interrupt line may rise without an access.
    pub(crate) fn next_event(&self, clock: CoreClock) -> Cycles {
        self.due.map_or(Cycles::NEVER, |due| clock.cycle_of(SECOND, due))
    }

    /// The level of the interrupt line.
    pub(crate) const fn line(&self) -> bool {
        self.raised && self.mask
    }

    /// Computes the second of the next match; a match in the current second counts.
    fn arm(&mut self, now: Cycles, clock: CoreClock) {
        let ahead = self.matching.wrapping_sub(self.seconds(now, clock));
        self.due = Some(clock.ticks(SECOND, now) + u64::from(ahead));
    }

    pub(crate) fn read(&self, offset: u32, now: Cycles, clock: CoreClock) -> u32 {
        match offset {
            0x00 => self.seconds(now, clock),
            0x04 => self.matching,
            0x08 => self.load,
            0x0C => 1,
            0x10 => u32::from(self.mask),
            0x14 => u32::from(self.raised),
            0x18 => u32::from(self.line()),
            _ => identification(IDENTIFICATION, offset).unwrap_or_default(),
        }
    }

    pub(crate) fn write(&mut self, offset: u32, value: u32, now: Cycles, clock: CoreClock) {
        match offset {
            0x04 => {
                self.matching = value;
                self.arm(now, clock);
            }
            0x08 => {
                self.load = value;
                self.offset = value.wrapping_sub(low(clock.ticks(SECOND, now)));
                self.arm(now, clock);
            }
            0x10 => self.mask = value & 1 != 0,
            0x1C if value & 1 != 0 => self.raised = false,
            _ => {}
        }
        self.advance(now, clock);
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a counter of 32 bits wraps")]
const fn low(count: u64) -> u32 {
    count as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: CoreClock = CoreClock::new(Hertz::from_hz(1_000));

    #[test]
    fn it_counts_whole_seconds_of_virtual_time_from_its_start() {
        let rtc = Rtc::new(1_000_000_000);
        assert_eq!(rtc.read(0x00, Cycles(0), CLOCK), 1_000_000_000);
        assert_eq!(rtc.read(0x00, Cycles(4_999), CLOCK), 1_000_000_004);
    }

    #[test]
    fn the_alarm_comes_at_the_second_that_matches_and_not_before() {
        let mut rtc = Rtc::new(100);
        rtc.write(0x10, 1, Cycles(0), CLOCK);
        rtc.write(0x04, 103, Cycles(500), CLOCK);
        assert_eq!(rtc.next_event(CLOCK), Cycles(3_000));
        rtc.advance(Cycles(2_999), CLOCK);
        assert!(!rtc.line());
        rtc.advance(Cycles(3_000), CLOCK);
        assert!(rtc.line());
        assert_eq!(rtc.next_event(CLOCK), Cycles::NEVER);
        rtc.write(0x1C, 1, Cycles(3_001), CLOCK);
        assert!(!rtc.line());
    }

    #[test]
    fn loading_sets_the_time_and_keeps_the_alarm() {
        let mut rtc = Rtc::new(0);
        rtc.write(0x04, 50, Cycles(0), CLOCK);
        rtc.write(0x08, 48, Cycles(10_000), CLOCK);
        assert_eq!(rtc.read(0x00, Cycles(10_000), CLOCK), 48);
        assert_eq!(rtc.read(0x00, Cycles(11_000), CLOCK), 49);
        assert_eq!(rtc.next_event(CLOCK), Cycles(12_000));
    }

    #[test]
    fn a_match_in_the_past_comes_after_the_counter_wrapped() {
        let mut rtc = Rtc::new(10);
        rtc.write(0x04, 9, Cycles(0), CLOCK);
        assert_eq!(rtc.next_event(CLOCK), Cycles(1_000 * u64::from(u32::MAX)));
    }
}
