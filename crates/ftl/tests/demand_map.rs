//! The demand-paged map: hits and misses by the size of the cache, and their cost.

use boardlab_ftl::{
    Cause, Event, Extent, Geometry, MapMemory, PageMapped, Policies, Translation, UntimedMedium,
};
use boardlab_sim::{Bytes, Instant, Seed};

const LOGICAL: u32 = 64 * 1_024;

fn layer(map: MapMemory) -> PageMapped<UntimedMedium> {
    let part = Geometry::new(1_200, 64, Bytes::kib(4), LOGICAL).unwrap();
    let policies = Policies { map, ..Policies::default() };
    PageMapped::new(part, policies, UntimedMedium::new(&part), Seed::new(1)).unwrap()
}

/// A cache of a quarter of the map: 64 translation pages of 1,024 entries.
fn quarter(segment: u32) -> MapMemory {
    MapMemory::Cached { cache: Bytes::kib(64), segment }
}

fn access(ftl: &mut PageMapped<UntimedMedium>, count: u32, write: bool) {
    let mut host = Seed::new(2).stream("host");
    for _ in 0..count {
        let page = u32::try_from(host.below(LOGICAL.into())).unwrap();
        let extent = Extent::new(page, 1);
        if write {
            ftl.write(Instant::ZERO, extent).unwrap();
        } else {
            ftl.read(Instant::ZERO, extent, &mut []).unwrap();
        }
    }
}

#[test]
fn uniform_reads_miss_as_often_as_the_map_is_larger_than_the_cache() {
    for segment in [1, 16, 1_024] {
        let mut ftl = layer(quarter(segment));
        ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).unwrap();
        access(&mut ftl, 100_000, false);
        let (hits, misses) = (ftl.demand_map().unwrap().hits, ftl.demand_map().unwrap().misses);
        let before = *ftl.counters();
        access(&mut ftl, 100_000, false);
        let map = ftl.demand_map().unwrap();
        let share = (map.hits - hits) * 1_000 / (map.hits - hits + map.misses - misses);
        assert!((240..=260).contains(&share), "{share} of 1,000 hit with segments of {segment}");
        let counted = ftl.counters().since(&before);
        assert_eq!(counted.reads[Cause::Map], map.misses - misses, "a read for each miss");
        assert_eq!(counted.programs[Cause::Map], 0, "reading changes nothing");
    }
}

#[test]
fn each_changed_segment_that_leaves_costs_a_program_of_its_page() {
    let mut ftl = layer(quarter(1_024));
    ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).unwrap();
    access(&mut ftl, 100_000, true);
    let (before, misses) = (*ftl.counters(), ftl.demand_map().unwrap().misses);
    access(&mut ftl, 50_000, true);
    let counted = ftl.counters().since(&before);
    let misses = ftl.demand_map().unwrap().misses - misses;
    // Every segment that leaves was written to; others are stale by collection.
    assert!(counted.programs[Cause::Map] >= misses, "{counted:?}");
    assert!(counted.programs[Cause::Map] < misses * 2, "{counted:?}");
    assert!(counted.reads[Cause::Map] >= 2 * misses, "one to look up, one to merge");
    ftl.assert_sound();
}

#[test]
fn a_cache_of_the_whole_map_costs_next_to_nothing() {
    let mut whole = layer(MapMemory::Cached { cache: Bytes::kib(256), segment: 1_024 });
    let mut small = layer(quarter(1_024));
    let mut memory = layer(MapMemory::Whole);
    let programs = |ftl: &mut PageMapped<UntimedMedium>| {
        ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).unwrap();
        access(ftl, 200_000, true);
        ftl.counters().programs.total()
    };
    let (whole, small, memory) =
        (programs(&mut whole), programs(&mut small), programs(&mut memory));
    assert!(whole.abs_diff(memory) * 100 < memory, "{whole} and {memory}");
    assert!(small > memory * 5 / 4, "{small} and {memory}");
}

#[test]
fn sequential_writes_miss_once_a_segment() {
    let mut ftl = layer(quarter(1_024));
    let mut missed = 0;
    for first in (0..LOGICAL).step_by(16) {
        let done = ftl.write(Instant::ZERO, Extent::new(first, 16)).unwrap();
        missed += u32::from(done.events.has(Event::MapMiss));
    }
    assert_eq!(missed, 64);
    assert_eq!(ftl.demand_map().unwrap().misses, 64);
}

#[test]
fn collection_changes_what_is_cached_and_makes_stale_what_is_not() {
    // First pages of both halves of the space are mixed in all blocks; then only one half is written,
    // and collection moves pages whose translation pages nobody looks up.
    let mut ftl = layer(MapMemory::Cached { cache: Bytes::kib(136), segment: 1_024 });
    ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).unwrap();
    let mut host = Seed::new(2).stream("host");
    let mut half = |ftl: &mut PageMapped<UntimedMedium>, writes: u32| {
        for _ in 0..writes {
            let page = u32::try_from(host.below(u64::from(LOGICAL / 2))).unwrap();
            ftl.write(Instant::ZERO, Extent::new(page, 1)).unwrap();
        }
    };
    access(&mut ftl, 150_000, true);
    half(&mut ftl, 20_000);
    let (before, misses) = (*ftl.counters(), ftl.demand_map().unwrap().misses);
    half(&mut ftl, 100_000);
    let counted = ftl.counters().since(&before);
    assert_eq!(ftl.demand_map().unwrap().misses, misses, "the half that is written is cached");
    // The other half lies among it, is moved with it, and its translation pages go stale.
    assert!(counted.programs[Cause::Map] > 100, "{counted:?}");
    // What collection moved and the cache held is written when it leaves, though only read since.
    let before = *ftl.counters();
    for page in (0..LOGICAL).step_by(1_024) {
        ftl.read(Instant::ZERO, Extent::new(page, 1), &mut []).unwrap();
    }
    assert!(ftl.counters().since(&before).programs[Cause::Map] >= 32);
}
