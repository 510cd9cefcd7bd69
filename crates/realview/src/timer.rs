//! SP804, the dual timer: two 32-bit down counters.
//!
//! Layer: rank 4. Main types: [`DualTimer`] and `Counter`. Source: ARM DDI 0271D, chapters 2 and 3.
//! The counters count the ticks of TIMCLK, 1 MHz as on QEMU's board, divided by 1, 16 or 256. The
//! ticks have a fixed grid that a write does not restart, so the first period may be up to one tick
//! short. A load value of N gives a period of N ticks, as in the manual's formula: the counter
//! reaches zero and reloads on the same tick. The state is a counter value at a tick, from which
//! later values are computed.
//!
//! Left out: the integration test registers; changes of TIMCLK by the system controller.

use boardlab_arm926::Cycles;
use boardlab_sim::Hertz;
use serde::{Deserialize, Serialize};

use crate::clock::CoreClock;
use crate::map::identification;

/// TIMCLK.
pub(crate) const RATE: Hertz = Hertz::from_hz(1_000_000);

const ENABLE: u32 = 1 << 7;
const PERIODIC: u32 = 1 << 6;
const INTERRUPT: u32 = 1 << 5;
const WIDE: u32 = 1 << 1;
const ONE_SHOT: u32 = 1;
const IDENTIFICATION: [u8; 8] = [0x04, 0x18, 0x14, 0x00, 0x0D, 0xF0, 0x05, 0xB1];

/// One counter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Counter {
    control: u32,
    /// The reload value of a periodic counter.
    load: u32,
    /// The ticks from `base` to the next zero; for a stopped counter, its value.
    left: u64,
    /// The tick, divided by the prescaler, at which `left` is valid.
    base: u64,
    /// Whether a one-shot counter has reached zero.
    halted: bool,
    raised: bool,
}

impl Counter {
    const fn new() -> Self {
        Self {
            control: INTERRUPT,
            load: 0,
            left: 0xFFFF_FFFF,
            base: 0,
            halted: false,
            raised: false,
        }
    }

    const fn counts(&self) -> bool {
        self.control & ENABLE != 0 && !self.halted
    }

    /// The prescaler as a shift; the reserved setting divides by 256.
    const fn shift(&self) -> u32 {
        match self.control >> 2 & 3 {
            0 => 0,
            1 => 4,
            _ => 8,
        }
    }

    fn tick(&self, now: Cycles, clock: CoreClock) -> u64 {
        clock.ticks(RATE, now) >> self.shift()
    }

    /// The number of counter values: 2^16 or 2^32.
    const fn span(&self) -> u64 {
        if self.control & WIDE != 0 { 1 << 32 } else { 1 << 16 }
    }

    /// The ticks from one zero to the next.
    fn period(&self) -> u64 {
        if self.control & PERIODIC == 0 {
            return self.span();
        }
        (u64::from(self.load) % self.span()).max(1)
    }

    /// Advances the counter to `now`: handles the zeros up to then.
    fn advance(&mut self, now: Cycles, clock: CoreClock) {
        if !self.counts() {
            return;
        }
        let passed = self.tick(now, clock).saturating_sub(self.base);
        if passed < self.left {
            return;
        }
        self.raised = true;
        if self.control & ONE_SHOT != 0 {
            self.halted = true;
            self.left = 0;
            return;
        }
        let period = self.period();
        self.base += self.left + (passed - self.left) / period * period;
        self.left = period;
    }

    /// The counter's value at `now`, to which it must have been advanced.
    fn value(&self, now: Cycles, clock: CoreClock) -> u32 {
        let passed =
            if self.counts() { self.tick(now, clock).saturating_sub(self.base) } else { 0 };
        low(self.left.saturating_sub(passed) % self.span())
    }

    const fn line(&self) -> bool {
        self.raised && self.control & INTERRUPT != 0
    }

    /// The next time at which the interrupt line may rise without an access.
    fn next_event(&self, clock: CoreClock) -> Cycles {
        if !self.counts() || self.raised || self.control & INTERRUPT == 0 {
            return Cycles::NEVER;
        }
        let zero = self.base.saturating_add(self.left).saturating_mul(1 << self.shift());
        clock.cycle_of(RATE, zero)
    }

    /// The start of the current period: the last zero, or the last start or restart.
    fn period_start(&self, clock: CoreClock) -> Cycles {
        clock.cycle_of(RATE, self.base.saturating_mul(1 << self.shift()))
    }

    fn set_control(&mut self, value: u32, now: Cycles, clock: CoreClock) {
        let shown = self.value(now, clock);
        self.control = value & 0xEF;
        self.left = u64::from(shown) % self.span();
        if self.halted && value & ONE_SHOT == 0 {
            self.left = self.period();
        }
        self.halted &= value & ONE_SHOT != 0;
        self.base = self.tick(now, clock);
    }

    fn read(&self, offset: u32, now: Cycles, clock: CoreClock) -> u32 {
        match offset {
            0x00 | 0x18 => self.load,
            0x04 => self.value(now, clock),
            0x08 => self.control,
            0x10 => u32::from(self.raised),
            0x14 => u32::from(self.line()),
            _ => 0,
        }
    }

    fn write(&mut self, offset: u32, value: u32, now: Cycles, clock: CoreClock) {
        match offset {
            0x00 => {
                self.load = value;
                self.left = u64::from(value) % self.span();
                self.base = self.tick(now, clock);
                self.halted = false;
            }
            0x08 => self.set_control(value, now, clock),
            0x0C => self.raised = false,
            0x18 => self.load = value,
            _ => {}
        }
    }
}

/// An SP804.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DualTimer {
    counters: [Counter; 2],
}

impl DualTimer {
    pub(crate) const fn new() -> Self {
        Self { counters: [Counter::new(), Counter::new()] }
    }

    /// Advances both counters to `now`.
    pub(crate) fn advance(&mut self, now: Cycles, clock: CoreClock) {
        for counter in &mut self.counters {
            counter.advance(now, clock);
        }
    }

    /// The level of the interrupt line, which both counters share.
    pub(crate) fn line(&self) -> bool {
        self.counters.iter().any(Counter::line)
    }

    /// The next time at which the interrupt line may rise without an access.
    pub(crate) fn next_event(&self, clock: CoreClock) -> Cycles {
        let [first, second] = &self.counters;
        first.next_event(clock).min(second.next_event(clock))
    }

    /// The start of the first counter's current period, as far as the counter was advanced.
    pub(crate) fn period_start(&self, clock: CoreClock) -> Cycles {
        self.counters[0].period_start(clock)
    }

    pub(crate) fn read(&mut self, offset: u32, now: Cycles, clock: CoreClock) -> u32 {
        self.advance(now, clock);
        match offset {
            0x00..0x20 => self.counters[0].read(offset, now, clock),
            0x20..0x40 => self.counters[1].read(offset - 0x20, now, clock),
            _ => identification(IDENTIFICATION, offset).unwrap_or_default(),
        }
    }

    pub(crate) fn write(&mut self, offset: u32, value: u32, now: Cycles, clock: CoreClock) {
        self.advance(now, clock);
        match offset {
            0x00..0x20 => self.counters[0].write(offset, value, now, clock),
            0x20..0x40 => self.counters[1].write(offset - 0x20, value, now, clock),
            _ => {}
        }
        self.advance(now, clock);
    }
}

#[allow(clippy::cast_possible_truncation, reason = "a remainder of 2^32")]
const fn low(value: u64) -> u32 {
    value as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200 cycles a tick.
    const CLOCK: CoreClock = CoreClock::new(Hertz::from_hz(200_000_000));
    const TICK: u64 = 200;

    fn started(load: u32, control: u32) -> DualTimer {
        let mut timer = DualTimer::new();
        timer.write(0x00, load, Cycles(0), CLOCK);
        timer.write(0x08, control, Cycles(0), CLOCK);
        timer
    }

    fn value(timer: &mut DualTimer, tick: u64) -> u32 {
        timer.read(0x04, Cycles(tick * TICK), CLOCK)
    }

    fn clear(timer: &mut DualTimer, tick: u64) {
        timer.write(0x0C, 0, Cycles(tick * TICK), CLOCK);
    }

    #[test]
    fn a_periodic_counter_interrupts_every_load_ticks_exactly() {
        let mut timer = started(10_000, ENABLE | PERIODIC | INTERRUPT | WIDE);
        for period in 1..=20_u64 {
            let at = Cycles(period * 10_000 * TICK);
            assert_eq!(timer.next_event(CLOCK), at);
            timer.advance(Cycles(at.0 - 1), CLOCK);
            assert!(!timer.line());
            timer.advance(at, CLOCK);
            assert!(timer.line());
            assert_eq!(timer.next_event(CLOCK), Cycles::NEVER, "the line is high already");
            assert_eq!(timer.period_start(CLOCK), at);
            clear(&mut timer, period * 10_000 + 7);
            assert_eq!(value(&mut timer, period * 10_000 + 7), 9_993);
        }
    }

    #[test]
    fn a_free_running_counter_wraps_below_zero() {
        let mut timer = started(3, ENABLE | WIDE);
        let shown: Vec<u32> = (0..6).map(|tick| value(&mut timer, tick)).collect();
        assert_eq!(shown, [3, 2, 1, 0, 0xFFFF_FFFF, 0xFFFF_FFFE]);
        assert_eq!(timer.read(0x10, Cycles(6 * TICK), CLOCK), 1);
        clear(&mut timer, 6);
        let around = 3 + (1 << 32);
        assert_eq!(value(&mut timer, around - 1), 1);
        assert_eq!(timer.read(0x10, Cycles((around - 1) * TICK), CLOCK), 0);
        assert_eq!(value(&mut timer, around), 0);
        assert_eq!(timer.read(0x10, Cycles(around * TICK), CLOCK), 1);
    }

    #[test]
    fn a_narrow_counter_has_sixteen_bits() {
        let mut timer = started(0xABC_0002, ENABLE);
        let shown: Vec<u32> = (0..4).map(|tick| value(&mut timer, tick)).collect();
        assert_eq!(shown, [2, 1, 0, 0xFFFF]);
        assert_eq!(timer.read(0x00, Cycles(0), CLOCK), 0xABC_0002, "the register keeps all bits");
    }

    #[test]
    fn a_one_shot_counter_halts_at_zero_until_it_is_loaded() {
        let mut timer = started(5, ENABLE | ONE_SHOT | INTERRUPT | WIDE);
        assert_eq!(value(&mut timer, 100), 0);
        assert!(timer.line());
        clear(&mut timer, 101);
        assert_eq!(timer.next_event(CLOCK), Cycles::NEVER);
        timer.write(0x00, 7, Cycles(200 * TICK), CLOCK);
        assert_eq!(timer.next_event(CLOCK), Cycles(207 * TICK));
    }

    #[test]
    fn the_prescaler_divides_by_16_and_256() {
        for (bits, factor) in [(1, 16), (2, 256)] {
            let mut timer = started(10, ENABLE | PERIODIC | INTERRUPT | WIDE | bits << 2);
            assert_eq!(timer.next_event(CLOCK), Cycles(10 * factor * TICK));
            assert_eq!(value(&mut timer, 3 * factor), 7);
        }
    }

    #[test]
    fn a_background_load_takes_effect_at_the_next_zero() {
        let mut timer = started(10, ENABLE | PERIODIC | INTERRUPT | WIDE);
        timer.write(0x18, 4, Cycles(3 * TICK), CLOCK);
        assert_eq!(value(&mut timer, 3), 7);
        assert_eq!(value(&mut timer, 10), 4);
        clear(&mut timer, 10);
        assert_eq!(timer.next_event(CLOCK), Cycles(14 * TICK));
        assert_eq!(timer.read(0x00, Cycles(10 * TICK), CLOCK), 4);
    }

    #[test]
    fn a_stopped_counter_keeps_its_value() {
        let mut timer = started(100, ENABLE | WIDE);
        timer.write(0x08, WIDE, Cycles(40 * TICK), CLOCK);
        assert_eq!(value(&mut timer, 4_000), 60);
        timer.write(0x08, ENABLE | WIDE, Cycles(5_000 * TICK), CLOCK);
        assert_eq!(value(&mut timer, 5_010), 50);
    }

    #[test]
    fn advancing_in_steps_or_at_once_is_the_same() {
        for control in [0xE2, 0xE0, 0xA2, 0xA0, 0xE6, 0xAB, 0xA1, 0xE3] {
            let mut steps = started(37, control);
            let mut once = steps.clone();
            for cycle in (0..200_000).step_by(61) {
                steps.advance(Cycles(cycle), CLOCK);
            }
            steps.advance(Cycles(200_000), CLOCK);
            once.advance(Cycles(200_000), CLOCK);
            assert_eq!(steps, once, "{control:#x}");
        }
    }

    #[test]
    fn both_counters_share_the_line() {
        let mut timer = DualTimer::new();
        timer.write(0x20, 6, Cycles(0), CLOCK);
        timer.write(0x28, ENABLE | PERIODIC | INTERRUPT | WIDE, Cycles(0), CLOCK);
        assert_eq!(timer.next_event(CLOCK), Cycles(6 * TICK));
        timer.advance(Cycles(6 * TICK), CLOCK);
        assert!(timer.line());
        assert_eq!(timer.read(0x14, Cycles(6 * TICK), CLOCK), 0);
        assert_eq!(timer.read(0x34, Cycles(6 * TICK), CLOCK), 1);
    }
}
