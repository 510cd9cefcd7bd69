//! The waiting CPU: the actual durations of `udelay`, `msleep` and a high-resolution sleep.
//!
//! - `udelay(n)` of 32-bit PowerPC (Linux 3.4 `arch/powerpc/kernel/time.c`, u-boot 2013.04
//!   `lib/time.c`) spins for `n` times the *truncated* number of time base ticks a microsecond: at
//!   33.3 MHz 33 ticks, so 256 us last 253.7 us.
//! - `msleep(n)` sleeps to a timer tick (jiffy): `n` rounded up to jiffies, plus one jiffy.
//! - A high-resolution sleep ends late by `wake_latency`.
//!
//! All time in which the CPU does not sleep counts as busy: bus accesses block it.

use boardlab_sim::{
    Bytes, Clock, Duration, Hertz, Instant, QuantileTable, Rate, Stream, Ticks, TimeBase,
};

/// A pause of a driver, by the function that it calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// No pause.
    None,
    /// `udelay`: spins for this number of microseconds.
    Spin(u64),
    /// `msleep`: sleeps for this number of milliseconds, rounded up to jiffies, plus one jiffy.
    Jiffies(u64),
    /// A high-resolution sleep.
    Sleep(Duration),
}

/// Properties of the CPU and its timers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostTiming {
    /// Frequency of the time base, with which `udelay` spins and steps are measured.
    pub time_base: Hertz,
    /// Timer ticks per second (HZ).
    pub jiffies: Hertz,
    /// Latency from the end of a high-resolution sleep to the running task.
    pub wake_latency: QuantileTable,
    /// CPU time of a context switch, once for going to sleep and once for waking up.
    pub context_switch: Duration,
    /// Rate of a copy from user to kernel memory.
    pub copy_rate: Rate,
    /// CPU time of the call of the write function.
    pub call: Duration,
    /// CPU time per buffer of the loop that splits a write into buffers.
    pub split: Duration,
}

/// The CPU of one run: its timers and its idle time.
#[derive(Debug, Clone)]
pub struct Host {
    timing: HostTiming,
    time_base: TimeBase,
    /// Truncated ticks per microsecond, as the kernel computes them at boot.
    ticks_per_us: u64,
    stream: Stream,
    idle: Duration,
}

impl Host {
    /// A CPU with `timing`; `stream` draws its wake-up latencies.
    #[must_use]
    pub fn new(timing: HostTiming, stream: Stream) -> Self {
        let time_base = TimeBase::new(timing.time_base);
        let ticks_per_us = timing.time_base.get() / 1_000_000;
        Self { timing, time_base, ticks_per_us, stream, idle: Duration::ZERO }
    }

    /// The properties of the CPU.
    #[must_use]
    pub const fn timing(&self) -> &HostTiming {
        &self.timing
    }

    /// The counter with which steps are measured.
    #[must_use]
    pub const fn time_base(&self) -> TimeBase {
        self.time_base
    }

    /// The time slept so far; the rest was busy.
    #[must_use]
    pub const fn idle(&self) -> Duration {
        self.idle
    }

    /// The value of the counter.
    #[must_use]
    #[inline]
    pub fn ticks(&self, clock: &Clock) -> Ticks {
        self.time_base.read(clock.now())
    }

    /// The number of timer ticks (jiffies), the unit of timeouts.
    #[must_use]
    pub fn jiffies(&self, clock: &Clock) -> Ticks {
        TimeBase::new(self.timing.jiffies).read(clock.now())
    }

    /// The moment at which the timer tick number `count` comes.
    #[must_use]
    pub fn jiffy(&self, count: u64) -> Instant {
        TimeBase::new(self.timing.jiffies).instant_of(Ticks::new(count))
    }

    /// The ticks of the counter that `udelay(micros)` waits for.
    #[must_use]
    pub const fn ticks_of(&self, micros: u64) -> u64 {
        self.ticks_per_us * micros
    }

    /// The duration of `udelay(micros)` that starts at a tick, rounded to the nanosecond.
    #[must_use]
    pub fn udelay(&self, micros: u64) -> Duration {
        self.time_base.duration(Ticks::new(self.ticks_of(micros)))
    }

    /// The longest whole number of microseconds for `udelay` that does not exceed `span`.
    #[must_use]
    pub fn micros_within(&self, span: Duration) -> u64 {
        if self.ticks_per_us == 0 {
            return span.as_micros();
        }
        self.timing.time_base.cycles_in(span) / self.ticks_per_us
    }

    /// Keeps the CPU busy for `span`.
    pub fn work(&self, clock: &mut Clock, span: Duration) {
        clock.advance(span);
    }

    /// Copies `size` between user and kernel memory.
    pub fn copy(&self, clock: &mut Clock, size: Bytes) {
        clock.advance(self.timing.copy_rate.time_for(size));
    }

    /// Pauses.
    #[inline]
    pub fn pause(&mut self, clock: &mut Clock, pause: Pause) {
        match pause {
            Pause::None => {}
            Pause::Spin(micros) => self.spin(clock, micros),
            Pause::Jiffies(millis) => self.msleep(clock, millis),
            Pause::Sleep(span) => self.sleep(clock, span),
        }
    }

    #[inline]
    fn spin(&self, clock: &mut Clock, micros: u64) {
        let ticks = Ticks::new(self.ticks_of(micros));
        clock.advance_to(self.time_base.after(clock.now(), ticks));
    }

    fn msleep(&mut self, clock: &mut Clock, millis: u64) {
        let hz = self.timing.jiffies.get();
        let jiffies = (millis * hz).div_ceil(1_000) + 1;
        let wake = self.jiffy(self.jiffies(clock).get() + jiffies);
        let span = wake.saturating_since(clock.now());
        self.doze(clock, span);
    }

    fn sleep(&mut self, clock: &mut Clock, span: Duration) {
        let late = self.timing.wake_latency.sample(&mut self.stream);
        self.doze(clock, span + late);
    }

    /// Sleeps for `span`, of which the two context switches count as busy.
    fn doze(&mut self, clock: &mut Clock, span: Duration) {
        let switches = self.timing.context_switch * 2;
        self.idle += span.saturating_sub(switches);
        clock.advance(span);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use boardlab_sim::Seed;

    fn host(hz: u64) -> Host {
        let timing = HostTiming {
            time_base: Hertz::from_hz(33_300_000),
            jiffies: Hertz::from_hz(hz),
            wake_latency: QuantileTable::constant(Duration::from_micros(8)),
            context_switch: Duration::from_micros(2),
            copy_rate: Rate::new(Bytes::mib(4), Duration::from_millis(11)).unwrap(),
            call: Duration::ZERO,
            split: Duration::ZERO,
        };
        Host::new(timing, Seed::new(1).stream("host"))
    }

    #[test]
    fn udelay_loses_what_a_whole_tick_a_microsecond_loses() {
        let mut host = host(250);
        let mut clock = Clock::new();
        host.pause(&mut clock, Pause::Spin(256));
        assert_eq!(clock.now().as_nanos(), 253_694);
        assert_eq!(host.udelay(170).as_nanos(), 168_468);
        assert_eq!(host.idle(), Duration::ZERO);
        assert_eq!(host.micros_within(Duration::from_nanos(253_694)), 256);
        assert_eq!(host.micros_within(Duration::from_nanos(253_693)), 255);
    }

    #[test]
    fn msleep_ends_on_a_timer_tick_one_later_than_asked() {
        for (hz, millis, end) in [(100, 10, 20), (250, 4, 8), (1_000, 1, 2), (250, 128, 132)] {
            let mut host = host(hz);
            let mut clock = Clock::new();
            host.pause(&mut clock, Pause::Jiffies(millis));
            assert_eq!(clock.now().as_nanos(), end * 1_000_000, "HZ {hz}");
            assert_eq!(host.idle().as_nanos(), end * 1_000_000 - 4_000, "HZ {hz}");
        }
    }

    #[test]
    fn a_sleep_wakes_late_and_costs_two_switches() {
        let mut host = host(250);
        let mut clock = Clock::new();
        host.pause(&mut clock, Pause::Sleep(Duration::from_micros(100)));
        assert_eq!(clock.now().as_nanos(), 108_000);
        assert_eq!(host.idle(), Duration::from_micros(104));
    }
}
