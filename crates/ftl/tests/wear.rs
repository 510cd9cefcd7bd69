//! Wear at the volumes of the published card evaluation: 14.4 GiB of 16 KiB pages in blocks of 12 MiB.
//!
//! Experiment 1 rewrites 1.0687 GiB in sequence, 11,205,597,184 KiB in all, on an otherwise empty
//! card. Experiment 2 rewrites 4 MiB on a full card. An independent reference of a hundred lines
//! computed the expected figures: none of them was published, and none is an input.

use boardlab_ftl::{
    Cause, EmptyBlocks, Extent, Geometry, Levelling, LevellingTime, PageMapped, Policies, Streams,
    Translation, UntimedMedium, WearSummary,
};
use boardlab_sim::{Bytes, Instant, Seed};

/// 14.4 GiB.
const LOGICAL: u32 = 943_718;
const PAGES_PER_BLOCK: u32 = 768;
/// The rated P/E cycles of the cells.
const RATED: u32 = 3_000;

fn card(policies: Policies, spare_percent: u32) -> PageMapped<UntimedMedium> {
    let data = (LOGICAL * 100 / (100 - spare_percent)).div_ceil(PAGES_PER_BLOCK);
    let blocks = data + policies.kept_blocks();
    let part = Geometry::new(blocks, PAGES_PER_BLOCK, Bytes::kib(16), LOGICAL).unwrap();
    PageMapped::new(part, policies, UntimedMedium::new(&part), Seed::new(1)).unwrap()
}

fn policies(levelling: Levelling) -> Policies {
    Policies { levelling, streams: Streams::Single, ..Policies::default() }
}

/// The result of a run.
struct Run {
    wear: WearSummary,
    /// Bytes written when the first block went beyond its rated cycles.
    worn_at: Option<u64>,
    ftl: PageMapped<UntimedMedium>,
}

/// Writes `pages` pages in requests of 64, round and round in the first `region` pages.
fn rewrite(mut ftl: PageMapped<UntimedMedium>, region: u32, pages: u64) -> Run {
    let (mut at, mut left, mut worn_at) = (0, pages, None);
    let mut checked = 0;
    while left > 0 {
        let count = 64.min(region - at).min(u32::try_from(left).unwrap_or(u32::MAX));
        ftl.write(Instant::ZERO, Extent::new(at, count)).unwrap();
        at = (at + count) % region;
        left -= u64::from(count);
        let written = pages - left;
        if worn_at.is_none() && written / 1_000_000 > checked {
            checked = written / 1_000_000;
            let worn = ftl.flash().pool().wear().iter().any(|&erases| erases > RATED);
            worn_at = worn.then_some(written * 16_384);
        }
    }
    Run { wear: ftl.wear().summary(), worn_at, ftl }
}

fn experiment_1(policies: Policies) -> Run {
    let kib: u64 = 11_205_597_184;
    rewrite(card(policies, 7), 70_035, kib / 16)
}

/// So many times the published 1,000 * 101 * 4 MiB on a full card.
fn experiment_2(policies: Policies, spare_percent: u32, times: u64) -> Run {
    let mut ftl = card(policies, spare_percent);
    ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).unwrap();
    rewrite(ftl, 256, times * 1_000 * 101 * 256)
}

#[test]
fn experiment_1_spreads_over_all_blocks_with_dynamic_levelling() {
    let run = experiment_1(policies(Levelling::Dynamic));
    assert!((688..=695).contains(&run.wear.most), "{}", run.wear);
    assert!(run.wear.most - run.wear.least <= 2, "{}", run.wear);
    assert_eq!(run.worn_at, None);
    let millionths = run.ftl.counters().amplification_millionths();
    assert!(millionths < 1_001_000, "sequential writes are not amplified: {millionths}");
}

#[test]
fn experiment_1_wears_a_few_blocks_out_without_levelling() {
    let run = experiment_1(policies(Levelling::None));
    assert!(run.wear.most > 9_000, "{}", run.wear);
    assert_eq!(run.wear.least, 0, "{}", run.wear);
    let tenths = run.worn_at.unwrap() / 100_000_000_000;
    assert!((34..=38).contains(&tenths), "worn after {tenths} tenths of a terabyte");
}

#[test]
fn dynamic_levelling_does_nothing_when_empty_blocks_are_collected_one_at_a_time() {
    let kept = Policies { emptied: EmptyBlocks::Kept, ..policies(Levelling::Dynamic) };
    let run = experiment_1(kept);
    assert!(run.wear.most > 9_000, "{}", run.wear);
    assert!(run.worn_at.is_some());
}

#[test]
fn experiment_2_cannot_tell_static_from_dynamic_levelling() {
    let dynamic = experiment_2(policies(Levelling::Dynamic), 7, 1);
    assert!((300..=400).contains(&dynamic.wear.most), "{}", dynamic.wear);
    let little = experiment_2(policies(Levelling::Dynamic), 2, 1);
    assert!((900..=1_300).contains(&little.wear.most), "{}", little.wear);
    let fixed = experiment_2(policies(Levelling::Threshold(64)), 7, 1);
    assert!((60..=90).contains(&fixed.wear.most), "{}", fixed.wear);
    for run in [&dynamic, &little, &fixed] {
        assert_eq!(run.worn_at, None, "none reaches its rated cycles: {}", run.wear);
    }
    let counters = fixed.ftl.counters();
    let moved = counters.programs[Cause::Levelling] * 1_000 / counters.written;
    assert!((1..=100).contains(&moved), "levelling adds {moved} thousandths");
    let none = experiment_2(policies(Levelling::None), 7, 1);
    assert!(none.wear.most > 10_000, "{}", none.wear);
}

#[test]
fn twelve_times_the_volume_tells_static_from_dynamic_levelling() {
    let dynamic = experiment_2(policies(Levelling::Dynamic), 7, 12);
    let tenths = dynamic.worn_at.unwrap() / 100_000_000_000;
    assert!((34..=38).contains(&tenths), "worn after {tenths} tenths of a terabyte");
    let fixed = experiment_2(policies(Levelling::Threshold(64)), 7, 12);
    assert_eq!(fixed.worn_at, None, "{}", fixed.wear);
    assert!(fixed.wear.most < 400, "{}", fixed.wear);
    assert!(fixed.wear.most - fixed.wear.least <= 80, "{}", fixed.wear);
}

#[test]
fn every_static_policy_keeps_the_blocks_of_a_full_card_together() {
    for (levelling, most) in [
        (Levelling::Threshold(16), 48),
        (Levelling::DualPool(16), 60),
        (Levelling::SwLeveler { shift: 0, threshold: 16 }, 120),
        (Levelling::RandomSwap(16), 120),
    ] {
        let run = experiment_2(policies(levelling), 7, 1);
        assert!(run.wear.most <= most, "{levelling:?}: {}", run.wear);
        assert!(run.ftl.counters().levelled > 100, "{levelling:?}");
        run.ftl.assert_sound();
    }
}

#[test]
fn levelling_while_idle_costs_requests_nothing() {
    let policies =
        Policies { levelling_time: LevellingTime::Idle, ..policies(Levelling::Threshold(16)) };
    let mut ftl = card(policies, 7);
    ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).unwrap();
    for round in 0..30_000 {
        let before = ftl.counters().programs[Cause::Levelling];
        ftl.write(Instant::ZERO, Extent::new(0, 256)).unwrap();
        assert_eq!(ftl.counters().programs[Cause::Levelling], before);
        if round % 100 == 0 {
            ftl.idle(Instant::ZERO, Instant::ZERO);
        }
    }
    let wear = ftl.wear().summary();
    assert!(wear.most < 60, "{wear}");
    assert!(ftl.counters().levelled > 10);
}
