//! The SLC cache: its speed, a full cache, and the cost of folding.

use boardlab_ftl::pool::Tier;
use boardlab_ftl::{
    Admission, Cache, CacheSize, Cause, CellTimes, Event, Extent, Folding, Geometry, PageMapped,
    Policies, Stripe, TimedMedium, Timing, Translation, WhenFull,
};
use boardlab_sim::{Bytes, Duration, Instant, Rate, Seed};

const LOGICAL: u32 = 24_000;

/// One die of two planes; 1 ms for a program with three bits, 250 us with one; nothing overlaps.
fn card(cache: Cache) -> PageMapped<TimedMedium> {
    let stripe = Stripe { channels: 1, dies: 1, planes: 2, units: 1 };
    let part = Geometry::new(160, 192, Bytes::kib(16), LOGICAL).unwrap().striped(stripe).unwrap();
    let micros = Duration::from_micros;
    let rate = |bytes| Rate::new(Bytes::new(bytes), micros(1)).unwrap();
    let timing = Timing {
        native: CellTimes::uniform(micros(75), micros(1_000), micros(4_500)),
        slc: CellTimes::uniform(micros(25), micros(250), micros(2_000)),
        channel: rate(400),
        link: rate(45),
        command: Duration::ZERO,
        slots: 0,
        cache_program: false,
    };
    let policies = Policies { cache, ..Policies::default() };
    let medium = TimedMedium::new(&part, &timing).unwrap();
    PageMapped::new(part, policies, medium, Seed::new(1)).unwrap()
}

fn fixed(blocks: u32, when_full: WhenFull) -> Cache {
    Cache { size: CacheSize::Fixed(blocks), when_full, ..Cache::default() }
}

/// Bytes a microsecond of `pages` pages written in order from page `first` on, and when it ended.
fn bandwidth(ftl: &mut PageMapped<TimedMedium>, at: Instant, extent: Extent) -> (u64, Instant) {
    let mut now = at;
    for first in (extent.first..extent.first + extent.count).step_by(64) {
        now = ftl.write(now, Extent::new(first, 64)).unwrap().accepted;
    }
    let bytes = u64::from(extent.count) * 16_384 * 1_000;
    (bytes / now.since(at).as_nanos(), now)
}

#[test]
fn the_cache_is_fast_until_it_is_full_and_fast_again_after_a_rest() {
    // 16 blocks of 64 pages.
    let mut ftl = card(fixed(16, WhenFull::Fold));
    let (fresh, now) = bandwidth(&mut ftl, Instant::ZERO, Extent::new(0, 1_024));
    let occupancy = ftl.occupancy();
    assert_eq!((occupancy.cache_blocks, occupancy.pages), (16, 1_024));
    assert!((28..=34).contains(&fresh), "{fresh} MB/s into the cache");
    let (full, now) = bandwidth(&mut ftl, now, Extent::new(1_024, 4_096));
    assert!(full < fresh / 2, "{full} MB/s while folding");
    let folded = ftl.counters().programs[Cause::Fold];
    assert!((4_000..=4_100).contains(&folded), "{folded} pages folded");
    let rested = ftl.idle(now, now + Duration::from_secs(60));
    assert!(rested > now, "folding takes time");
    assert_eq!(ftl.occupancy().cache_blocks, 0);
    assert_eq!(ftl.counters().programs[Cause::Fold], 1_024 + 4_096);
    let (again, _) = bandwidth(&mut ftl, rested, Extent::new(0, 1_024));
    // Less the erases of ordinary blocks whose data these were.
    assert!(again + 2 >= fresh, "{again} MB/s, {fresh} before");
    ftl.assert_sound();
}

#[test]
fn a_full_cache_is_an_event_and_folding_is_what_the_request_waits_for() {
    let mut ftl = card(fixed(2, WhenFull::Fold));
    let mut now = Instant::ZERO;
    let mut folding = 0;
    for request in 0..40 {
        let done = ftl.write(now, Extent::new(request * 64, 64)).unwrap();
        assert_eq!(done.events.has(Event::CacheFull), request >= 2, "request {request}");
        folding += u32::from(done.waited[Cause::Fold] > 0);
        assert_eq!(done.work[Cause::Fold] > 0, done.events.has(Event::CacheFull));
        now = done.accepted;
    }
    assert!(folding >= 38, "{folding} requests waited for folding");
}

#[test]
fn past_a_full_cache_writes_go_to_ordinary_blocks() {
    let mut ftl = card(fixed(4, WhenFull::Bypass));
    let (_, now) = bandwidth(&mut ftl, Instant::ZERO, Extent::new(0, 256));
    let (past, _) = bandwidth(&mut ftl, now, Extent::new(256, 4_096));
    assert!((16..=20).contains(&past), "{past} MB/s as with three bits");
    assert_eq!(ftl.counters().programs[Cause::Fold], 0);
    ftl.assert_sound();
}

#[test]
fn what_is_overwritten_in_the_cache_is_never_folded() {
    let mut ftl = card(fixed(4, WhenFull::Fold));
    let mut now = Instant::ZERO;
    for _ in 0..200 {
        now = bandwidth(&mut ftl, now, Extent::new(0, 64)).1;
    }
    assert_eq!(ftl.counters().programs.total(), 200 * 64);
    let wear = ftl.wear().erases;
    assert_eq!(wear[4..].iter().sum::<u32>(), 0, "the ordinary blocks rest");
}

#[test]
fn a_dynamic_cache_is_as_large_as_what_is_free() {
    let cache = Cache { size: CacheSize::Dynamic(100), ..Cache::default() };
    let sizes: Vec<u32> = [0, LOGICAL / 2, LOGICAL]
        .map(|used| {
            let mut ftl = card(cache);
            let end = if used > 0 {
                ftl.write(Instant::ZERO, Extent::new(0, used)).unwrap().accepted
            } else {
                Instant::ZERO
            };
            let mut now = ftl.idle(end, end + Duration::from_secs(3_600));
            // Until the first write that finds it full.
            let full = (0..).find(|request| {
                let first = request * 64 % LOGICAL;
                let done = ftl.write(now, Extent::new(first, 64.min(LOGICAL - first))).unwrap();
                now = done.accepted;
                done.events.has(Event::CacheFull)
            });
            ftl.assert_sound();
            full.unwrap()
        })
        .into();
    assert_eq!(sizes[0], 100, "as many blocks as allowed on an empty card");
    assert!(sizes[0] > sizes[1] && sizes[1] > sizes[2] && sizes[2] > 0, "{sizes:?}");
}

#[test]
fn a_dynamic_cache_leaves_the_blocks_that_a_full_card_needs() {
    let cache = Cache { size: CacheSize::Dynamic(100), fold_after: None, ..Cache::default() };
    let mut ftl = card(cache);
    let needed = ftl.policies().blocks_needed(ftl.flash().geometry().logical_blocks());
    let spare = ftl.flash().geometry().blocks() - needed;
    let mut now = Instant::ZERO;
    let mut most = 0;
    for round in 0..3 {
        for first in (0..LOGICAL).step_by(64) {
            now = ftl.write(now, Extent::new(first, 64)).unwrap().accepted;
            let cached = ftl.flash().pool().closed(Tier::Cache).len();
            most = if round > 0 { most.max(cached) } else { 0 };
        }
    }
    // One more is open.
    assert!(most < spare as usize, "{most} blocks of the cache, {spare} to spare");
    assert!(most > 2, "{most} blocks of the cache");
    ftl.assert_sound();
}

#[test]
fn a_run_that_goes_on_past_what_the_cache_takes_goes_past_it() {
    let short = Admission::ShortRuns { pages: 128, streams: 4 };
    let mut ftl = card(Cache { admission: short, ..fixed(16, WhenFull::Fold) });
    let mut now = Instant::ZERO;
    for request in 0..16 {
        let done = ftl.write(now, Extent::new(request * 64, 64)).unwrap();
        assert_eq!(done.events.has(Event::CacheBypass), request >= 2, "request {request}");
        now = done.accepted;
    }
    assert_eq!(ftl.occupancy().cache_blocks, 2, "the first 128 pages of 1,024");
    // The same pages again, here and there: each is a run of its own.
    for request in 0..16_u32 {
        let done = ftl.write(now, Extent::new(request * 7 % 16 * 64, 64)).unwrap();
        assert!(!done.events.has(Event::CacheBypass));
        now = done.accepted;
    }
    assert!(ftl.occupancy().cache_blocks >= 16, "{:?}", ftl.occupancy());
    ftl.assert_sound();
}

#[test]
fn a_request_longer_than_what_the_cache_takes_is_cut() {
    let short = Admission::ShortRuns { pages: 40, streams: 1 };
    let mut ftl = card(Cache { admission: short, ..fixed(16, WhenFull::Fold) });
    let done = ftl.write(Instant::ZERO, Extent::new(0, 100)).unwrap();
    assert!(done.events.has(Event::CacheBypass));
    let tier = |page| ftl.flash().pool().tier(ftl.flash().locate(page).unwrap().block);
    assert_eq!([tier(0), tier(39)], [Tier::Cache; 2]);
    assert_eq!([tier(40), tier(99)], [Tier::Main; 2]);
}

/// Fills three cache blocks, makes half of their pages stale, and has the background fold them.
fn fold_half_stale(folding: Folding) -> PageMapped<TimedMedium> {
    let mut ftl = card(Cache { folding, ..fixed(16, WhenFull::Fold) });
    let (_, mut now) = bandwidth(&mut ftl, Instant::ZERO, Extent::new(0, 192));
    for page in (0..192).step_by(2) {
        now = ftl.trim(now, Extent::new(page, 1)).unwrap().accepted;
    }
    ftl.idle(now, now + Duration::from_secs(60));
    ftl.assert_sound();
    ftl
}

#[test]
fn folding_whole_blocks_programs_what_is_stale_too() {
    let (valid, whole) = (fold_half_stale(Folding::Valid), fold_half_stale(Folding::Whole));
    assert_eq!(valid.counters().programs[Cause::Fold], 96);
    assert_eq!(whole.counters().programs[Cause::Fold], 192);
    assert_eq!(whole.counters().reads[Cause::Fold], 192);
    for page in 0..192 {
        assert_eq!(whole.flash().locate(page).is_some(), page % 2 == 1, "page {page}");
    }
    let fold = |ftl: &PageMapped<TimedMedium>| ftl.busy().by_cause[Cause::Fold];
    assert!(fold(&whole) > fold(&valid) * 3 / 2, "{} and {}", fold(&whole), fold(&valid));
}

#[test]
fn folding_whole_blocks_spares_those_in_which_nothing_is_valid() {
    let mut ftl = card(Cache { folding: Folding::Whole, ..fixed(4, WhenFull::Fold) });
    let mut now = Instant::ZERO;
    for _ in 0..100 {
        now = bandwidth(&mut ftl, now, Extent::new(0, 64)).1;
    }
    assert_eq!(ftl.counters().programs[Cause::Fold], 0);
}

#[test]
fn stale_pages_that_folding_programmed_are_found_by_collection() {
    let cache = Cache { folding: Folding::Whole, ..fixed(4, WhenFull::Fold) };
    let mut ftl = card(cache);
    let mut now = ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).unwrap().accepted;
    let mut draw = Seed::new(1).stream("pages");
    for _ in 0..60_000 {
        // Half of what is cached is overwritten there.
        let page = u32::try_from(draw.below(200)).unwrap() + 2_000;
        let page =
            if draw.chance(1, 2) { page } else { u32::try_from(draw.below(24_000)).unwrap() };
        now = ftl.write(now, Extent::new(page, 1)).unwrap().accepted;
    }
    let programs = ftl.counters().programs;
    assert!(programs[Cause::Fold] > 60_000 && programs[Cause::Collection] > 0, "{programs:?}");
    ftl.assert_sound();
}

#[test]
fn the_background_folds_only_when_the_host_has_been_away_for_long_enough() {
    let second = Duration::from_secs(1);
    let mut ftl = card(Cache { fold_after: Some(second), ..fixed(16, WhenFull::Fold) });
    let (_, mut now) = bandwidth(&mut ftl, Instant::ZERO, Extent::new(0, 640));
    // Nine tenths of a second at a time between requests: never long enough.
    for request in 0..5 {
        let away = now + Duration::from_millis(900);
        assert_eq!(ftl.idle(now, away), now, "nothing to do");
        now = ftl.write(away, Extent::new(640 + request * 64, 64)).unwrap().accepted;
    }
    assert_eq!(ftl.counters().programs[Cause::Fold], 0);
    // The same without a request between: the host is away all the time.
    let later = now + Duration::from_millis(900);
    assert_eq!(ftl.idle(now, later), now);
    let end = ftl.idle(later, later + Duration::from_millis(300));
    assert!(end > now + second, "{end}");
    let folded = ftl.counters().programs[Cause::Fold];
    assert!((200..600).contains(&folded), "{folded} pages in the two tenths that were left");
}
