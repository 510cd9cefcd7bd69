//! Admission to the SLC cache: which writes of the host go into it.
//!
//! Layer: policy. Main types: [`Admission`], and [`Runs`], which detects sequential runs. A
//! controller sees requests one by one and cannot know how long a run will become, but it can see
//! that a request begins where a recent one ended. So the first pages of every run are admitted,
//! and its later pages bypass the cache. How a run is split into requests makes no difference.
//!
//! Source: the distinction of sequential from random writes by the first page, Lee et al., "A log
//! buffer-based flash translation layer using fully-associative sector translation" (2007), and its
//! use for a cache, Im, Shin, "ComboFTL: improving performance and lifespan of MLC flash memory
//! using SLC flash buffer" (2010). The admission of products is not published. Left out: descending
//! runs, runs with gaps, flushes that end a run.

use crate::error::Error;
use crate::translation::Extent;
use std::collections::VecDeque;

/// Which writes are admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Admission {
    /// Everything.
    #[default]
    All,
    /// The first pages of each run; its later pages bypass the cache.
    ShortRuns {
        /// The number of pages of a run that are admitted.
        pages: u32,
        /// The number of runs that are tracked at once. If there are more, the least recently
        /// continued is dropped, and its continuation counts as a new run.
        streams: u32,
    },
}

impl Admission {
    /// The largest number of runs tracked at once.
    pub const MOST_STREAMS: u32 = 64;

    /// Returns the policy if its numbers are valid.
    ///
    /// # Errors
    /// [`Error::Policy`] when no page is admitted, or no run or more than 64 are tracked.
    pub fn checked(self) -> Result<Self, Error> {
        let Self::ShortRuns { pages, streams } = self else { return Ok(self) };
        let numbers = [
            ("pages of a run that the cache admits", pages, u32::MAX),
            ("runs tracked at once", streams, Self::MOST_STREAMS),
        ];
        for (what, found, most) in numbers {
            if !(1..=most).contains(&found) {
                let (found, most) = (found.into(), most.into());
                return Err(Error::Policy { what, found, least: 1, most });
            }
        }
        Ok(self)
    }
}

/// A run that the host may continue.
#[derive(Debug, Clone, Copy)]
struct Run {
    next: u32,
    pages: u32,
}

/// The tracked runs.
#[derive(Debug, Clone)]
pub(crate) struct Runs {
    admitted: u32,
    streams: usize,
    /// The runs, the most recently continued last.
    runs: VecDeque<Run>,
}

impl Runs {
    /// The tracker for `admission`; `None` when everything is admitted.
    pub(crate) fn new(admission: Admission) -> Option<Self> {
        let Admission::ShortRuns { pages, streams } = admission else { return None };
        let streams = streams as usize;
        Some(Self { admitted: pages, streams, runs: VecDeque::with_capacity(streams) })
    }

    /// Returns how many pages of this write, from its first one on, are admitted.
    pub(crate) fn admit(&mut self, extent: Extent) -> u32 {
        let Extent { first, count } = extent;
        let continued = self.runs.iter().rposition(|run| run.next == first);
        let before = continued.and_then(|at| self.runs.remove(at)).map_or(0, |run| run.pages);
        if self.runs.len() == self.streams {
            self.runs.pop_front();
        }
        let pages = before.saturating_add(count);
        self.runs.push_back(Run { next: first + count, pages });
        self.admitted.saturating_sub(before).min(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(pages: u32, streams: u32) -> Runs {
        Runs::new(Admission::ShortRuns { pages, streams }.checked().unwrap()).unwrap()
    }

    #[test]
    fn how_a_run_is_cut_into_requests_makes_no_difference() {
        for cuts in [vec![100], vec![1; 100], vec![30, 20, 50], vec![7, 93]] {
            let (mut runs, mut next, mut admitted) = (runs(40, 2), 500, 0);
            for count in cuts {
                admitted += runs.admit(Extent::new(next, count));
                next += count;
            }
            assert_eq!(admitted, 40);
        }
    }

    #[test]
    fn runs_are_told_apart_as_many_as_are_followed() {
        let mut two = runs(4, 2);
        let admitted: u32 = (0..10)
            .flat_map(|step| [step, 1_000 + step])
            .map(|page| two.admit(Extent::new(page, 1)))
            .sum();
        assert_eq!(admitted, 8, "four pages of each");
        let mut one = runs(4, 1);
        let admitted: u32 = (0..10)
            .flat_map(|step| [step, 1_000 + step])
            .map(|page| one.admit(Extent::new(page, 1)))
            .sum();
        assert_eq!(admitted, 20, "each page begins a run, as far as anyone can see");
    }

    #[test]
    fn the_run_continued_longest_ago_is_forgotten() {
        let mut runs = runs(2, 2);
        runs.admit(Extent::new(0, 2));
        runs.admit(Extent::new(100, 2));
        assert_eq!(runs.admit(Extent::new(2, 1)), 0, "continued");
        runs.admit(Extent::new(200, 2));
        assert_eq!(runs.admit(Extent::new(3, 1)), 0, "still followed");
        assert_eq!(runs.admit(Extent::new(102, 1)), 1, "forgotten");
    }

    #[test]
    fn nonsense_is_refused() {
        for (pages, streams) in [(0, 1), (1, 0), (1, 65)] {
            assert!(Admission::ShortRuns { pages, streams }.checked().is_err());
        }
    }
}
