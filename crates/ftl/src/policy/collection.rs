//! Victim selection: which block garbage collection empties next.
//!
//! Layer: policy. Main types: [`Collection`], the policy, and [`Collector`], which applies it. Sources:
//!
//! | policy | source |
//! |---|---|
//! | random, d-choices | Van Houdt, "A mean field model for a class of garbage collection algorithms in flash-based solid state drives" (SIGMETRICS 2013) |
//! | FIFO | Robinson, "Analysis of steady-state segment storage utilizations in a log-structured file system with least-utilized segment cleaning" (1996); Menon (1995) |
//! | greedy, windowed greedy | Hu, Eleftheriou, Haas, Iliadis, Pletka, "Write amplification analysis in flash-based solid state drives" (SYSTOR 2009) |
//! | cost-benefit | Rosenblum, Ousterhout (1992), in the form of Kawaguchi, Nishioka, Motoda, "A flash-memory based file system" (USENIX 1995): age (1 - u) / 2u |
//!
//! Left out: policies that depend on the content of data, and the ageing of FeGC.

use crate::error::Error;
use crate::pool::{Pool, State, Tier};
use boardlab_sim::{Decide, OwnPolicy, Stream};
use std::cmp::Ordering;
use std::collections::VecDeque;

/// Which closed block is the victim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Collection {
    /// A random one, each equally likely.
    Random,
    /// The one that was closed first.
    Fifo,
    /// The one with the fewest valid pages.
    #[default]
    Greedy,
    /// The one with the fewest valid pages in a window of this many that were closed first.
    WindowedGreedy(u32),
    /// The one with the fewest valid pages among this many random ones (d-choices).
    Choices(u32),
    /// The one with the greatest `(1 - u) / 2u * age` among this many random ones; among all if zero.
    CostBenefit(u32),
    /// Those that somebody else names, several at a time: [`Collector::with_own`].
    Own,
}

impl Collection {
    /// Returns the policy if its number is valid.
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
}

/// A policy with its state.
#[derive(Debug, Clone)]
pub struct Collector {
    policy: Collection,
    /// Cost-benefit: the runners-up, which are candidates again next time.
    kept: Vec<u32>,
    scored: Vec<Benefit>,
    own: Option<Own>,
}

/// A policy of somebody else. It sees all closed blocks of a tier, and names the next victims in order: they are taken
/// until [`OwnPolicy::batch`] of them are used up, and those that are no longer closed are passed over.
#[derive(Debug, Clone)]
struct Own {
    policy: Box<dyn Decide>,
    batch: usize,
    named: VecDeque<u32>,
}

/// The number of runners-up that are kept. A good victim stays good for a while, so a sample with
/// these comes close to a search of all blocks.
const KEPT: usize = 16;

impl Collector {
    /// A policy in its initial state.
    #[must_use]
    pub const fn new(policy: Collection) -> Self {
        Self { policy, kept: Vec::new(), scored: Vec::new(), own: None }
    }

    /// With the policy for [`Collection::Own`], in its initial state.
    #[must_use]
    pub fn with_own(self, own: &OwnPolicy) -> Self {
        Self { own: Some(Own::start(own)), ..self }
    }

    /// Returns the next victim of a tier, at `clock` in the units of [`Pool::closed_at`]; `None`
    /// when no block is closed.
    pub fn choose(
        &mut self,
        pool: &mut Pool,
        tier: Tier,
        pages_per_block: u32,
        clock: u64,
        stream: &mut Stream,
    ) -> Option<u32> {
        let fewest = |pool: &Pool, best: u32, block: u32| {
            if pool.valid(block) < pool.valid(best) { block } else { best }
        };
        match self.policy {
            Collection::Own => {
                let own = self
                    .own
                    .as_mut()
                    .and_then(|own| own.choose(pool, tier, pages_per_block, clock));
                // One that names none leaves the choice to the simplest.
                own.or_else(|| {
                    pool.closed(tier)
                        .iter()
                        .copied()
                        .reduce(|best, block| fewest(pool, best, block))
                })
            }
            Collection::Random => draw(pool, tier, stream),
            Collection::Fifo => pool.by_age(tier).next(),
            Collection::Greedy => pool.least_valid(tier),
            Collection::WindowedGreedy(window) => {
                let oldest = pool.by_age(tier).take(window as usize);
                oldest.reduce(|best, block| fewest(pool, best, block))
            }
            Collection::Choices(choices) => {
                let drawn = (0..choices).filter_map(|_| draw(pool, tier, stream));
                drawn.reduce(|best, block| fewest(pool, best, block))
            }
            Collection::CostBenefit(0) => {
                let all = pool.closed(tier).iter();
                let benefits = all.map(|&block| Benefit::of(pool, block, pages_per_block, clock));
                benefits.reduce(Benefit::better).map(|best| best.block)
            }
            Collection::CostBenefit(samples) => {
                let drawn = (0..samples).filter_map(|_| draw(pool, tier, stream));
                self.kept.extend(drawn);
                self.best_of_kept(pool, tier, pages_per_block, clock)
            }
        }
    }

    fn best_of_kept(
        &mut self,
        pool: &Pool,
        tier: Tier,
        pages_per_block: u32,
        clock: u64,
    ) -> Option<u32> {
        let closed = |block: &u32| is_closed(pool, *block, tier);
        let benefit = |block| Benefit::of(pool, block, pages_per_block, clock);
        self.scored.clear();
        self.scored.extend(self.kept.drain(..).filter(closed).map(benefit));
        self.scored.sort_unstable_by(Benefit::better_first);
        self.scored.dedup_by_key(|benefit| benefit.block);
        let best = self.scored.first()?.block;
        self.kept.extend(self.scored.iter().skip(1).take(KEPT).map(|benefit| benefit.block));
        Some(best)
    }
}

impl Own {
    fn start(policy: &OwnPolicy) -> Self {
        Self { policy: policy.start(), batch: policy.batch(), named: VecDeque::new() }
    }

    fn choose(&mut self, pool: &Pool, tier: Tier, pages_per_block: u32, clock: u64) -> Option<u32> {
        let named = self.next(pool, tier);
        named.or_else(|| {
            self.ask(pool, tier, pages_per_block, clock);
            self.next(pool, tier)
        })
    }

    /// The next block that was named and can be a victim.
    fn next(&mut self, pool: &Pool, tier: Tier) -> Option<u32> {
        while let Some(block) = self.named.pop_front() {
            if is_closed(pool, block, tier) {
                return Some(block);
            }
        }
        None
    }

    fn ask(&mut self, pool: &Pool, tier: Tier, pages_per_block: u32, clock: u64) {
        let closed = pool.closed(tier);
        let column =
            |of: &dyn Fn(u32) -> u64| closed.iter().map(|&block| of(block)).collect::<Vec<_>>();
        let blocks = column(&u64::from);
        let valid = column(&|block| pool.valid(block).into());
        let erases = column(&|block| pool.erases(block).into());
        let age = column(&|block| clock - pool.closed_at(block));
        let said = self.policy.decide(&[
            ("block", &blocks),
            ("valid", &valid),
            ("erases", &erases),
            ("age", &age),
            ("pages_per_block", &[pages_per_block.into()]),
        ]);
        let named = said.into_iter().filter_map(|block| u32::try_from(block).ok());
        self.named = named.take(self.batch).filter(|&block| block < pool.blocks()).collect();
    }
}

fn is_closed(pool: &Pool, block: u32, tier: Tier) -> bool {
    pool.state(block) == State::Closed && pool.tier(block) == tier
}

#[inline]
fn draw(pool: &Pool, tier: Tier, stream: &mut Stream) -> Option<u32> {
    let closed = pool.closed(tier);
    let bound = u64::try_from(closed.len()).expect("blocks fit u64");
    if bound == 0 {
        return None;
    }
    let at = usize::try_from(stream.below(bound)).expect("below the number of blocks");
    Some(closed[at])
}

/// `(1 - u) / 2u * age` as a fraction, so that a comparison needs two multiplications and no division.
#[derive(Debug, Clone, Copy)]
struct Benefit {
    block: u32,
    gain: u64,
    cost: u64,
}

impl Benefit {
    #[inline]
    fn of(pool: &Pool, block: u32, pages_per_block: u32, clock: u64) -> Self {
        let (valid, age) = (pool.valid(block), clock - pool.closed_at(block) + 1);
        let gain = u64::from(pages_per_block.saturating_sub(valid)).saturating_mul(age);
        Self { block, gain, cost: valid.into() }
    }

    /// Orders the greater benefit first, and of two equal ones the lower block number.
    fn better_first(&self, other: &Self) -> Ordering {
        let mine = u128::from(self.gain) * u128::from(other.cost);
        let its = u128::from(other.gain) * u128::from(self.cost);
        // A block without valid pages costs nothing.
        let nothing = (self.cost != 0).cmp(&(other.cost != 0));
        nothing.then(its.cmp(&mine)).then(self.block.cmp(&other.block))
    }

    #[inline]
    fn better(self, other: Self) -> Self {
        if self.better_first(&other).is_gt() { other } else { self }
    }
}
