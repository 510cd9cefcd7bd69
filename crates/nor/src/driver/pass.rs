//! Polls that cannot find anything new are passed at once.
//!
//! Layer: inside the driver. While a chip is busy, every poll is the same: two reads that differ in the toggle bit, and a
//! pause of `udelay`. A pause ends on a tick of the CPU's counter. Let the counter run at `f`, and two reads take `c`
//! nanoseconds. The reads begin less than a nanosecond behind the tick, so that at their end the counter shows
//! `floor(c f)` more ticks, unless the fraction of `c f` is within `f` times a nanosecond of the next tick. So from one poll
//! to the next there pass `floor(c f)` ticks and those of the pause, always, and the moment of each poll is known without
//! the polls before it. What would be different in any way ends the passing: the next event of the chip, the deadline, a
//! power cut.

use super::Board;
use super::poll::Deadline;
use crate::bus::ChipIndex;
use crate::host::Pause;
use boardlab_sim::{Clock, Instant, Ticks};

/// Nanoseconds of a second.
const SECOND: u128 = 1_000_000_000;
/// Reads of a poll.
const READS: u64 = 2;

impl Board {
    /// Passes polls of two reads with a pause of `gap` after each, which find the chip busy; returns how many. The clock
    /// stands at the end of a pause, before and afterwards.
    pub(super) fn pass_polls(
        &mut self,
        clock: &mut Clock,
        chip: ChipIndex,
        gap: Option<Pause>,
        deadline: &Deadline,
    ) -> u64 {
        let Some(Pause::Spin(micros)) = gap else { return 0 };
        let Some(busy) = self.bus.chip(chip).busy_until() else { return 0 };
        let counter = self.host.time_base();
        let frequency = u128::from(counter.frequency().get());
        let reads = self.bus.timing().read_cycle * READS;
        let passed = u128::from(reads.as_nanos()) * frequency;
        let first = counter.read(clock.now());
        if passed % SECOND + frequency > SECOND || counter.instant_of(first) != clock.now() {
            return 0;
        }
        let ticks = u64::try_from(passed / SECOND).ok();
        // A pause of no tick ends where it begins, between two of them.
        let pause = Some(self.host.ticks_of(micros)).filter(|pause| *pause > 0);
        let Some(step) = ticks.zip(pause).and_then(|(ticks, pause)| ticks.checked_add(pause))
        else {
            return 0;
        };
        // How many polls begin before a moment.
        let begin_before = |moment: Instant| {
            let Some(last) = moment.as_nanos().checked_sub(1).map(Instant::from_nanos) else {
                return 0;
            };
            let last = counter.read(last).get();
            last.checked_sub(first.get()).map_or(0, |ticks| ticks / step + 1)
        };
        let busy = Instant::from_nanos(busy.as_nanos().saturating_sub(reads.as_nanos()));
        let mut count = begin_before(busy.min(deadline.ends(self)));
        if let Some((cycles, cut)) = self.bus.until_cut() {
            // The pause after the last of them ends before the cut as well.
            let powered = if cut == Instant::MAX { u64::MAX } else { begin_before(cut) };
            count = count.min(cycles / READS).min(powered.saturating_sub(1));
        }
        if count > 0 {
            clock.advance_to(counter.instant_of(Ticks::new(first.get() + count * step)));
            self.bus.pass_reads(chip, count * READS);
        }
        count
    }
}
