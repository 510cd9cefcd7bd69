//! The block-mapped layer with logs: the three merges, and thrashing beyond the limit of open
//! units.

use boardlab_ftl::{
    Cause, Error, Event, Extent, Geometry, LogBlocks, LogPolicies, Merges, Translation,
    UntimedMedium,
};
use boardlab_sim::{Bytes, Instant, Seed, Stream};

const NOW: Instant = Instant::ZERO;
const SEED: Seed = Seed::new(1);

fn below(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(bound.into())).unwrap()
}

/// 16 units of 64 pages, all full, with `open` of them open at most.
fn filled(open: u32) -> LogBlocks<UntimedMedium> {
    let part = Geometry::new(32, 64, Bytes::kib(4), 1_024).unwrap();
    let mut ftl =
        LogBlocks::new(part, LogPolicies::own(open), UntimedMedium::new(&part), SEED).unwrap();
    ftl.write(NOW, Extent::new(0, 1_024)).unwrap();
    ftl
}

#[test]
fn a_unit_written_in_order_is_switched_without_a_copy() {
    let mut ftl = filled(1);
    ftl.write(NOW, Extent::new(0, 1_024)).unwrap();
    assert_eq!(ftl.merges(), Merges { switches: 31, partial: 0, full: 0 });
    assert_eq!(ftl.counters().programs.total(), 2_048);
    assert_eq!(ftl.counters().erases.total(), 15, "each old data block but the open unit's");
}

#[test]
fn a_unit_written_in_order_in_part_is_completed_and_any_other_copied() {
    let mut ftl = filled(1);
    ftl.write(NOW, Extent::new(0, 10)).unwrap();
    ftl.write(NOW, Extent::new(64 + 5, 1)).unwrap();
    assert_eq!(ftl.merges(), Merges { switches: 16, partial: 1, full: 0 });
    assert_eq!(ftl.counters().programs[Cause::Merge], 54);
    ftl.write(NOW, Extent::new(0, 1)).unwrap();
    assert_eq!(ftl.merges(), Merges { switches: 16, partial: 1, full: 1 });
    assert_eq!(ftl.counters().programs[Cause::Merge], 54 + 64);
}

#[test]
fn one_unit_more_than_may_be_open_thrashes() {
    // Eight pages at a time in turn into so many units, each in order.
    let amplification = |units: u32| {
        let mut ftl = filled(3);
        let (before, mut misses) = (*ftl.counters(), 0);
        for round in 0..64 {
            for unit in 0..units {
                let extent = Extent::new(unit * 64 + round % 8 * 8, 8);
                let events = ftl.write(NOW, extent).unwrap().events;
                misses += u32::from(events.has(Event::OpenUnitMiss));
            }
        }
        (ftl.counters().since(&before).amplification_millionths(), misses)
    };
    let (within, misses) = amplification(3);
    assert!(within <= 1_100_000 && misses <= 3, "{within} {misses}");
    let (beyond, misses) = amplification(4);
    assert!(beyond > 7_000_000 && misses > 200, "{beyond} {misses}");
}

#[test]
fn too_few_blocks_are_refused_with_the_number_that_works() {
    let make = |blocks| {
        let part = Geometry::new(blocks, 16, Bytes::kib(4), 100).unwrap();
        LogBlocks::new(part, LogPolicies::own(2), UntimedMedium::new(&part), SEED)
    };
    assert!(matches!(make(9), Err(Error::TooFewBlocks { needed: 10, logical: 7, .. })));
    let mut ftl = make(10).unwrap();
    let mut draw = Seed::new(3).stream("pages");
    for _ in 0..5_000 {
        ftl.write(NOW, Extent::new(below(&mut draw, 100), 1)).unwrap();
    }
    let part = Geometry::new(10, 16, Bytes::kib(4), 100).unwrap();
    assert!(matches!(
        LogBlocks::new(part, LogPolicies::own(0), UntimedMedium::new(&part), SEED),
        Err(Error::Policy { .. })
    ));
}
