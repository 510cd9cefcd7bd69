//! The hybrid layer: no lost write, the three merges, and thrashing beyond the open units.

#![allow(clippy::unwrap_used, reason = "tests")]

use boardlab_ftl::{
    Cause, Contents, Error, Event, Extent, Geometry, LogBlocks, LogPolicies, Merges, Stripe,
    Translation, Untimed, Version,
};
use boardlab_sim::{Bytes, Instant, Seed, Stream};

const NOW: Instant = Instant::ZERO;
const SEED: Seed = Seed::new(1);

fn below(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(bound.into())).unwrap()
}

#[test]
fn no_write_is_lost_and_causes_add_up() {
    let full = std::env::var_os("BOARDLAB_FULL").is_some();
    for seed in 0..10 {
        let mut draw = Seed::new(seed).stream("log blocks");
        let stripe = Stripe { units: 1 + below(&mut draw, 2), ..Stripe::SINGLE };
        let part = Geometry::new(24, 16, Bytes::kib(4), 310).unwrap().striped(stripe).unwrap();
        let open = 1 + below(&mut draw, 3);
        let mut ftl =
            LogBlocks::new(part, LogPolicies::own(open), Contents::new(&part), SEED).unwrap();
        let mut shadow = vec![Version(0); 310];
        for step in 0..if full { 100_000 } else { 10_000 } {
            let first = below(&mut draw, 310);
            let extent = Extent::new(first, 1 + below(&mut draw, (310 - first).min(24)));
            let range = first as usize..(first + extent.count) as usize;
            match draw.below(100) {
                0..55 => shadow[range].fill(ftl.write(NOW, extent).unwrap().version),
                55..70 => {
                    ftl.trim(NOW, extent).unwrap();
                    shadow[range].fill(Version(0));
                }
                70..75 => drop(ftl.flush(NOW)),
                _ => {
                    let mut found = vec![Version(0); extent.count as usize];
                    ftl.read(NOW, extent, &mut found).unwrap();
                    assert_eq!(found, shadow[range], "seed {seed}, step {step}: a stale read");
                }
            }
        }
        let held = shadow.iter().filter(|&&version| version != Version(0)).count();
        assert_eq!(ftl.occupancy().pages as usize, held, "seed {seed}");
        let programs = ftl.counters().programs;
        let known = [Cause::Host, Cause::Merge, Cause::Padding].map(|cause| programs[cause]);
        assert_eq!(programs.total(), known.iter().sum::<u64>());
    }
}

/// 16 units of 64 pages, all full, with `open` of them open at most.
fn filled(open: u32) -> LogBlocks<Untimed> {
    let part = Geometry::new(32, 64, Bytes::kib(4), 1_024).unwrap();
    let mut ftl = LogBlocks::new(part, LogPolicies::own(open), Untimed::new(&part), SEED).unwrap();
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
        LogBlocks::new(part, LogPolicies::own(2), Untimed::new(&part), SEED)
    };
    assert!(matches!(make(9), Err(Error::TooFewBlocks { needed: 10, logical: 7, .. })));
    let mut ftl = make(10).unwrap();
    let mut draw = Seed::new(3).stream("pages");
    for _ in 0..5_000 {
        ftl.write(NOW, Extent::new(below(&mut draw, 100), 1)).unwrap();
    }
    let part = Geometry::new(10, 16, Bytes::kib(4), 100).unwrap();
    assert!(matches!(
        LogBlocks::new(part, LogPolicies::own(0), Untimed::new(&part), SEED),
        Err(Error::Policy { .. })
    ));
}
