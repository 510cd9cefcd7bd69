//! Which block is emptied next.
//!
//! Layer: policy. Main type: [`Collection`], with [`choose`]. Sources:
//!
//! | policy | source |
//! |---|---|
//! | random, d-choices | Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid state drives" (SIGMETRICS 2013) |
//! | FIFO | Robinson, "Analysis of steady-state segment storage utilizations in a log-structured file system with least-utilized segment cleaning" (1996); Menon (1995) |
//! | greedy, windowed greedy | Hu, Eleftheriou, Haas, Iliadis, Pletka, "Write amplification analysis in flash-based solid state drives" (SYSTOR 2009) |
//! | cost-benefit | Rosenblum, Ousterhout (1992), in the form of Kawaguchi, Nishioka, Motoda, "A flash-memory based file system" (USENIX 1995): age (1 - u) / 2u |
//!
//! Left out: policies that look at the content, and FeGC's own ageing.

use crate::error::Error;
use crate::pool::{Pool, Tier};
use boardlab_sim::Stream;

/// Which closed block garbage collection takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Collection {
    /// Any, each equally likely.
    Random,
    /// The one that was closed first.
    Fifo,
    /// The one with the fewest valid pages.
    #[default]
    Greedy,
    /// The one with the fewest valid pages among so many that were closed first.
    WindowedGreedy(u32),
    /// The one with the fewest valid pages among so many drawn at random.
    Choices(u32),
    /// The one with the best `(1 - u) / 2u * age` among so many drawn at random; zero looks at all.
    CostBenefit(u32),
}

impl Collection {
    /// The same, when its number makes sense.
    ///
    /// # Errors
    /// [`Error::Policy`] when a window or a number of choices is zero.
    pub fn checked(self) -> Result<Self, Error> {
        let refused = |what| Error::Policy { what, found: 0, least: 1, most: u32::MAX.into() };
        match self {
            Self::WindowedGreedy(0) => Err(refused("window of blocks")),
            Self::Choices(0) => Err(refused("number of choices")),
            _ => Ok(self),
        }
    }

    /// Whether the pool must keep lists by valid pages.
    #[must_use]
    pub const fn needs_lists(self) -> bool {
        matches!(self, Self::Greedy)
    }

    /// The block to empty next, at `clock` in the units of [`Pool::closed_at`]; `None` when none is
    /// closed.
    pub fn choose(
        self,
        pool: &mut Pool,
        pages_per_block: u32,
        clock: u64,
        stream: &mut Stream,
    ) -> Option<u32> {
        let fewest = |pool: &Pool, best: u32, block: u32| {
            if pool.valid(block) < pool.valid(best) { block } else { best }
        };
        match self {
            Self::Random => draw(pool, stream),
            Self::Fifo => pool.by_age(Tier::Main).next(),
            Self::Greedy => pool.least_valid(),
            Self::WindowedGreedy(window) => {
                let oldest = pool.by_age(Tier::Main).take(window as usize);
                oldest.reduce(|best, block| fewest(pool, best, block))
            }
            Self::Choices(choices) => {
                let drawn = (0..choices).filter_map(|_| draw(pool, stream));
                drawn.reduce(|best, block| fewest(pool, best, block))
            }
            Self::CostBenefit(0) => {
                let all = pool.closed(Tier::Main).iter().copied();
                all.max_by_key(|&block| benefit(pool, block, pages_per_block, clock))
            }
            Self::CostBenefit(samples) => {
                let drawn = (0..samples).filter_map(|_| draw(pool, stream));
                drawn.max_by_key(|&block| benefit(pool, block, pages_per_block, clock))
            }
        }
    }
}

#[inline]
fn draw(pool: &Pool, stream: &mut Stream) -> Option<u32> {
    let closed = pool.closed(Tier::Main);
    let bound = u64::try_from(closed.len()).expect("blocks fit u64");
    if bound == 0 {
        return None;
    }
    let at = usize::try_from(stream.below(bound)).expect("below the number of blocks");
    Some(closed[at])
}

/// `(1 - u) / 2u * age`, in 2^-16; more than any for a block in which nothing is valid.
fn benefit(pool: &Pool, block: u32, pages_per_block: u32, clock: u64) -> u128 {
    let (valid, age) = (pool.valid(block), clock - pool.closed_at(block) + 1);
    let gain = u128::from(pages_per_block.saturating_sub(valid)) * u128::from(age);
    (gain << 16).checked_div(2 * u128::from(valid)).unwrap_or(u128::MAX)
}
