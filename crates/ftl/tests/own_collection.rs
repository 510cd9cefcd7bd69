//! Victims that a policy of the caller names: it sees what the built-in ones see, it names several at a time, and
//! names that have become stale do no harm.

use boardlab_ftl::{
    Collection, Extent, Geometry, PageMapped, Policies, Translation, UntimedMedium,
};
use boardlab_sim::own::Column;
use boardlab_sim::{Bytes, Decide, Instant, OwnPolicy, Seed};
use std::cmp::Reverse;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const PAGES: u32 = 1_200;

/// What is named of the blocks with their valid pages, erases and ages, and of the pages of a block.
type Name = fn(&[[u64; 4]], u64) -> Vec<u64>;

#[derive(Clone)]
struct Naming {
    name: Name,
    batch: usize,
    asked: Arc<AtomicU64>,
}

impl Decide for Naming {
    fn name(&self) -> &'static str {
        "naming"
    }

    fn batch(&self) -> usize {
        self.batch
    }

    fn decide(&mut self, seen: &[Column<'_>]) -> Vec<u64> {
        let names: Vec<_> = seen.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["block", "valid", "erases", "age", "pages_per_block"]);
        self.asked.fetch_add(1, Ordering::Relaxed);
        let blocks: Vec<_> =
            (0..seen[0].1.len()).map(|at| [0, 1, 2, 3].map(|column| seen[column].1[at])).collect();
        (self.name)(&blocks, seen[4].1[0])
    }

    fn boxed_clone(&self) -> Box<dyn Decide> {
        Box::new(self.clone())
    }
}

/// Erases, copies and victims of random writes, and how often the policy was asked.
fn ran(collection: Collection, own: Option<(Name, usize)>) -> ([u64; 3], u64) {
    let part = Geometry::new(72, 24, Bytes::new(512), PAGES).unwrap();
    let policies = Policies { collection, ..Policies::default() };
    let asked = Arc::new(AtomicU64::new(0));
    let policy =
        own.map(|(name, batch)| OwnPolicy::new(Naming { name, batch, asked: Arc::clone(&asked) }));
    let mut ftl = PageMapped::new(part, policies, UntimedMedium::new(&part), Seed::new(1))
        .unwrap()
        .with_own_collection(policy.as_ref());
    let mut stream = Seed::new(7).stream("host");
    ftl.write(Instant::ZERO, Extent::new(0, PAGES)).unwrap();
    for _ in 0..20 * PAGES {
        // A tenth of the pages gets half of the writes.
        let bound = if stream.chance(1, 2) { PAGES / 10 } else { PAGES };
        let page = u32::try_from(stream.below(bound.into())).unwrap();
        ftl.write(Instant::ZERO, Extent::new(page, 1)).unwrap();
    }
    ftl.assert_sound();
    let counters = ftl.counters();
    let figures = [counters.erases.total(), counters.victim_pages, counters.victims];
    (figures, asked.load(Ordering::Relaxed))
}

/// Age (1 - u) / 2u, as [`Collection::CostBenefit`] computes it.
fn cost_benefit(blocks: &[[u64; 4]], pages: u64) -> Vec<u64> {
    let better = |&[block, valid, _, age]: &[u64; 4], best: &[u64; 4]| {
        let (gain, gained) = ((pages - valid) * (age + 1), (pages - best[1]) * (best[3] + 1));
        let order = (valid != 0).cmp(&(best[1] != 0));
        order.then((gained * valid).cmp(&(gain * best[1]))).then(block.cmp(&best[0])).is_lt()
    };
    let best =
        blocks.iter().copied().reduce(|best, one| if better(&one, &best) { one } else { best });
    best.into_iter().map(|[block, ..]| block).collect()
}

fn fewest_first(blocks: &[[u64; 4]], _pages: u64) -> Vec<u64> {
    let mut sorted = blocks.to_vec();
    sorted.sort_by_key(|&[block, valid, ..]| (valid, block));
    sorted.into_iter().map(|[block, ..]| block).collect()
}

#[test]
fn a_policy_sees_enough_to_do_what_the_built_in_ones_do() {
    let (built_in, _) = ran(Collection::CostBenefit(0), None);
    let (own, asked) = ran(Collection::Own, Some((cost_benefit, 1)));
    assert_eq!(own, built_in);
    assert_eq!(asked, own[2], "one victim each time");
    assert_ne!(own, ran(Collection::Fifo, None).0);
}

#[test]
fn several_victims_are_named_at_a_time() {
    let (one, asked_for_one) = ran(Collection::Own, Some((fewest_first, 1)));
    let (eight, asked_for_eight) = ran(Collection::Own, Some((fewest_first, 8)));
    let (greedy, _) = ran(Collection::Greedy, None);
    let near = |found: u64, due: u64| found.abs_diff(due) * 20 < due;
    assert!(near(one[1], greedy[1]), "{one:?} {greedy:?}");
    assert!(near(eight[1], one[1]), "{eight:?} {one:?}");
    assert!(asked_for_eight * 4 < asked_for_one, "{asked_for_eight} {asked_for_one}");
}

#[test]
fn names_that_are_no_closed_blocks_are_passed_over() {
    let all_and_more: Name = |blocks, _| {
        let mut sorted = blocks.to_vec();
        sorted.sort_by_key(|&[.., age]| Reverse(age));
        let closed = sorted.into_iter().map(|[block, ..]| block);
        // No block of the part, free and open ones, and each of the closed ones twice.
        let others = [u64::MAX, u64::from(u32::MAX), 72, 1_000].into_iter().chain(0..72);
        others.chain(closed.clone()).chain(closed).collect()
    };
    let (found, _) = ran(Collection::Own, Some((all_and_more, usize::MAX)));
    assert!(found[2] > 0);
    let nothing: Name = |_, _| vec![];
    let (none, asked) = ran(Collection::Own, Some((nothing, 16)));
    assert!(asked >= none[2], "it is asked each time");
    let (greedy, _) = ran(Collection::Greedy, None);
    assert!(
        none[1].abs_diff(greedy[1]) * 20 < greedy[1],
        "the fewest valid pages: {none:?} {greedy:?}"
    );
}
