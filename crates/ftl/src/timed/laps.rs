//! Long runs: a few laps over all dies are computed, and all further ones from what they changed.
//!
//! Layer: part of [`crate::timed`]. Main function: [`TimedMedium::by_lap`]. A *lap* is a number of
//! complete groups after which a run is at the same die again, with the same times of its rows. It
//! takes the moments x, until when each resource is busy, to
//!
//! ```text
//!   x'[i] = max over j of (x[j] + a[i][j])
//! ```
//!
//! where `a` is the same in every lap. If all moments of x are later by d, so are all of x'. So once a
//! lap has moved every moment by the same d, each further lap of the run does as well, and adds as much
//! busy time and waiting time as that one: k laps are one multiplication, exact to the nanosecond.
//!
//! That presumes that nothing depends on a moment that stays where it is while the run lasts. Data of
//! the host arrive one after the other; if no die has other work in front of it when a lap begins, none
//! has later ([`TimedMedium::is_in_step`]). Copies and padding may all begin at once, but after one lap
//! every resource is busy until then or longer.
//!
//! Source: max-plus linear systems, Baccelli et al., "Synchronization and Linearity" (1992).
//! Left out: laps that repeat themselves only every other time; these are computed one by one.

use super::{NOTHING, TimedMedium};
use crate::cause::Cause;
use crate::geometry::PageRun;
use crate::medium::Copies;

/// With fewer laps than this a comparison saves nothing.
pub(super) const LEAST: u32 = 4;

impl TimedMedium {
    /// Calls `each` for parts of `run`, from the first page on, and extends the last of them to all
    /// pages that it leaves out. The times of the cells repeat after `rows` rows.
    #[inline]
    pub(super) fn by_lap(
        &mut self,
        run: PageRun,
        rows: usize,
        cause: Cause,
        each: impl Fn(&mut Self, PageRun),
    ) {
        let rows = u32::try_from(rows).unwrap_or(u32::MAX);
        let lap = self.geometry.stripe().row_pages().saturating_mul(rows);
        if run.count < lap.saturating_mul(LEAST) {
            return each(self, run);
        }
        // The first lap, with what is left of a group before it, brings the dies into step.
        let (mut next, end) =
            (run.offset.next_multiple_of(self.group) + lap, run.offset + run.count);
        each(self, PageRun { count: next - run.offset, ..run });
        let mut left = (end - next) / lap;
        let mut before = std::mem::take(&mut self.before);
        while left > 0 {
            let compares = left > 1 && self.is_in_step(cause);
            if compares {
                self.record(cause, &mut before);
            }
            each(self, PageRun { offset: next, count: lap, ..run });
            (next, left) = (next + lap, left - 1);
            if compares && self.is_in_step(cause) && self.has_shifted(cause, &before) {
                self.extend(left.into(), cause, &before);
                (next, left) = (next + lap * left, 0);
            }
        }
        self.before = before;
        each(self, PageRun { offset: next, count: end - next, ..run });
    }

    /// Whether copies are of adjacent pages, all of them on the flash and in another block.
    pub(super) fn repeats(&self, copies: Copies<'_>, cause: Cause) -> bool {
        let Copies { from, offsets, to, .. } = copies;
        let Some(&first) = offsets.first() else { return false };
        let adjacent =
            || offsets.iter().zip(first..first + to.count).all(|(&one, next)| one == next);
        let apart = from != to.block && self.gathered[from as usize].pages == 0;
        apart && cause != Cause::Host && adjacent()
    }

    /// Whether the next lap depends on no moment that stays where it is.
    fn is_in_step(&self, cause: Cause) -> bool {
        let alone = self.dies.iter().all(|die| die.others.0 <= self.now)
            && self.slots.iter().all(|slot| slot.behind == Cause::Host);
        (cause != Cause::Host || alone) && self.dies.iter().all(|die| die.loaded == NOTHING)
    }

    /// Records all moments and spans in `before`.
    fn record(&mut self, cause: Cause, before: &mut Vec<u64>) {
        before.clear();
        self.each_moment(cause, |moment| before.push(*moment));
        self.each_span(cause, |span| before.push(*span));
    }

    /// Whether all moments are later than `before` by the same time. That of a slot may be earlier.
    fn has_shifted(&mut self, cause: Cause, before: &[u64]) -> bool {
        let (mut old, mut shift, mut same) = (before.iter(), None, true);
        self.each_moment(cause, |moment| {
            let moved = old.next().and_then(|old| moment.checked_sub(*old));
            same &= moved.is_some() && moved == *shift.get_or_insert(moved);
        });
        same
    }

    /// Changes all moments and spans `laps` times more as they have changed since `before`.
    fn extend(&mut self, laps: u64, cause: Cause, before: &[u64]) {
        let mut old = before.iter();
        let mut more = |value: &mut u64| {
            *value += old.next().map_or(0, |old| (*value - old) * laps);
        };
        self.each_moment(cause, &mut more);
        self.each_span(cause, more);
    }

    /// Calls `each` with every moment that a lap of `cause` moves: the slots from the oldest on, so
    /// that they compare whichever is the oldest.
    #[inline]
    pub(super) fn each_moment(&mut self, cause: Cause, mut each: impl FnMut(&mut u64)) {
        each(&mut self.finished);
        self.channels.iter_mut().for_each(|channel| each(&mut channel.free));
        for die in &mut self.dies {
            each(&mut die.cells.free);
            each(&mut die.register);
            if cause != Cause::Host {
                each(&mut die.others.0);
            }
        }
        if cause == Cause::Host {
            each(&mut self.now);
            each(&mut self.transferred);
            each(&mut self.link.free);
            let (newer, older) = self.slots.split_at_mut(self.oldest);
            older.iter_mut().chain(newer).for_each(|slot| each(&mut slot.free));
        }
    }

    /// Calls `each` with every sum of times that a lap of `cause` increases.
    #[inline]
    pub(super) fn each_span(&mut self, cause: Cause, mut each: impl FnMut(&mut u64)) {
        each(&mut self.work[cause]);
        each(&mut self.by_cause[cause]);
        each(&mut self.waited[Cause::Host]);
        each(&mut self.link.busy);
        self.channels.iter_mut().for_each(|channel| each(&mut channel.busy));
        self.dies.iter_mut().for_each(|die| each(&mut die.cells.busy));
    }
}
