//! Runs of the host on an idle part: one as long as the last one takes as long.
//!
//! Layer: part of [`crate::timed`]. Main types: [`IdleRun`], [`Outcome`]. If no resource is busy any
//! longer when a run begins, each moment after it is the beginning plus a sum of spans, and these
//! depend on the run alone. A card without a write cache finishes each transfer before it takes the
//! next one, so nearly all of its runs begin like that.
//!
//! Left out: causes other than the host, times that differ between rows, and runs that leave a die or
//! a slot as it was.

use super::laps::LEAST;
use super::{NOTHING, TimedMedium};
use crate::cause::Cause;
use crate::geometry::PageRun;
use crate::medium::CellMode;

/// What the outcome of a run on an idle part depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct IdleRun {
    mode: CellMode,
    /// The die of its first group.
    die: u32,
    pages: u32,
    pace: u64,
}

/// The outcome of the last run on an idle part.
#[derive(Debug, Clone, Default)]
pub(super) struct Outcome {
    run: Option<IdleRun>,
    /// All moments, after the beginning of the run.
    moments: Vec<u64>,
    /// By how much each sum of times increased.
    spans: Vec<u64>,
}

impl TimedMedium {
    /// `run` as one on an idle part, if it is one and long enough.
    #[inline]
    pub(super) fn idle_run(&self, run: PageRun, cause: Cause) -> Option<IdleRun> {
        let least = self.slots.len().max(self.dies.len() * LEAST as usize);
        if cause != Cause::Host || (run.count as usize) < least * self.group as usize {
            return None;
        }
        let (place, mode) = (self.geometry.place(run.offset), self.mode[run.block as usize]);
        let whole = place.within == 0 && run.count.is_multiple_of(self.group);
        let alike = self.cycles[mode as usize].program.len() == 1;
        // Otherwise the channel may have taken a part of the data before the run.
        let begins = self.overlapped || self.has_link || self.pace > 0;
        let run = IdleRun { mode, die: place.die, pages: run.count, pace: self.pace };
        (whole && alike && begins && self.is_idle()).then_some(run)
    }

    /// Whether nothing is busy, and nothing of the current request ends later than now. No page
    /// register holds data longer than cells or channel are busy.
    fn is_idle(&self) -> bool {
        let now = self.now;
        self.transferred.max(self.finished).max(self.link.free) <= now
            && self.channels.iter().all(|channel| channel.free <= now)
            && self.dies.iter().all(|die| die.cells.free <= now)
            && self.slots.iter().all(|slot| slot.free <= now)
    }

    /// Does what the last run on an idle part did, if that was like `run`; otherwise lets `compute`
    /// do it, and records what it did.
    pub(super) fn run_idle(&mut self, run: IdleRun, compute: impl FnOnce(&mut Self)) {
        let mut last = std::mem::take(&mut self.last_idle);
        if last.run == Some(run) {
            self.repeat(&last);
        } else {
            let began = self.now;
            last.run = Some(run);
            last.spans.clear();
            self.each_span(Cause::Host, |span| last.spans.push(*span));
            compute(self);
            last.moments.clear();
            self.each_moment(Cause::Host, |moment| last.moments.push(*moment - began));
            let mut spans = last.spans.iter_mut();
            self.each_span(Cause::Host, |span| {
                if let Some(before) = spans.next() {
                    *before = *span - *before;
                }
            });
        }
        self.last_idle = last;
    }

    fn repeat(&mut self, last: &Outcome) {
        let began = self.now;
        let mut moments = last.moments.iter();
        self.each_moment(Cause::Host, |moment| {
            *moment = began + moments.next().copied().unwrap_or(0);
        });
        let mut spans = last.spans.iter();
        self.each_span(Cause::Host, |span| *span += spans.next().copied().unwrap_or(0));
        self.dies.iter_mut().for_each(|die| die.loaded = NOTHING);
        self.slots.iter_mut().for_each(|slot| slot.behind = Cause::Host);
    }
}
