//! Worn-out blocks, pages that need correction, and the end of life of a device.

use boardlab_ftl::{
    Cache, CacheSize, Cause, CellTimes, Collection, Contents, EndOfLife, Endurance, Error, Event,
    Extent, Geometry, Levelling, MapMemory, Medium, PageMapped, Policies, ReadErrors, Reliability,
    Streams, TimedMedium, Timing, Translation, UntimedMedium, Version,
};
use boardlab_media::ErrorRates;
use boardlab_sim::{Bytes, Duration, Instant, Rate, Seed, Stream};

const LOGICAL: u32 = 1_200;

fn quality(cycles: &[u32]) -> Reliability {
    Reliability {
        endurance: Endurance::new(cycles).unwrap(),
        slc_wear: 100,
        factory_bad: 0,
        program_failures: 0,
        end_of_life: EndOfLife::ReadOnly,
        reads: None,
    }
}

fn policies() -> Policies {
    Policies { reserve: 2, ..Policies::default() }
}

fn layer<M: Medium>(
    policies: Policies,
    of: &Reliability,
    seed: u64,
    medium: impl FnOnce(&Geometry) -> M,
) -> Result<PageMapped<M>, Error> {
    let part = Geometry::new(100, 16, Bytes::kib(4), LOGICAL).unwrap();
    PageMapped::new(part, policies, medium(&part), Seed::new(seed))?
        .with_reliability(of, Seed::new(seed))
}

fn below(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(bound.into())).unwrap()
}

#[test]
fn a_device_lives_as_long_as_its_blocks_and_then_only_reads() {
    let mut ftl = layer(policies(), &quality(&[100]), 1, UntimedMedium::new).unwrap();
    let spare = ftl.wear().spare_blocks;
    assert!(spare > 10);
    let error = loop {
        match ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)) {
            Ok(_) => assert!(!ftl.wear().read_only),
            Err(error) => break error,
        }
    };
    let wear = ftl.wear();
    assert!(wear.read_only && wear.spare_blocks == 0);
    assert!(matches!(error, Error::ReadOnly { retired } if retired == wear.retired));
    let beyond = wear.retired - spare;
    assert!((1..=3).contains(&beyond), "{} died of {spare} that were spare", wear.retired);
    // 100 blocks of 16 pages and 100 cycles; all wear alike.
    let share = ftl.counters().written * 100 / (100 * 16 * 100);
    assert!((90..=102).contains(&share), "{share} % of all cycles were used");
    assert!(ftl.read(Instant::ZERO, Extent::new(0, LOGICAL), &mut []).is_ok());
    assert!(ftl.trim(Instant::ZERO, Extent::new(0, 1)).is_err());
    ftl.assert_sound();
}

#[test]
fn with_the_end_of_life_ignored_blocks_go_on() {
    let of = Reliability { end_of_life: EndOfLife::Ignored, ..quality(&[10]) };
    let mut ftl = layer(policies(), &of, 1, UntimedMedium::new).unwrap();
    for _ in 0..1_000 {
        ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).unwrap();
    }
    assert_eq!(ftl.wear().retired, 0);
    assert!(ftl.wear().summary().least > 500);
}

#[test]
fn cells_used_with_one_bit_wear_less() {
    let worn = |size| {
        let policies = Policies { cache: Cache { size, ..Cache::default() }, ..policies() };
        let mut ftl = layer(policies, &quality(&[1_000]), 1, UntimedMedium::new).unwrap();
        for _ in 0..2_000 {
            ftl.write(Instant::ZERO, Extent::new(0, 4)).unwrap();
        }
        let health = ftl.flash().health().unwrap();
        (0..100).map(|block| health.cycles(block)).sum::<u64>()
    };
    let (native, cached) = (worn(CacheSize::None), worn(CacheSize::Fixed(5)));
    // Five pages a block with one bit, sixteen with three, at a tenth of the wear.
    assert!(native > 400 && cached < native / 2, "{native} and {cached}");
}

#[test]
fn bad_blocks_from_the_factory_count_against_the_spare() {
    let of = |share| Reliability { factory_bad: share, ..quality(&[100]) };
    let ftl = layer(policies(), &of(3_000), 7, UntimedMedium::new).unwrap();
    let wear = ftl.wear();
    assert!((1..=12).contains(&wear.factory_bad), "{}", wear.factory_bad);
    assert_eq!(wear.retired, wear.factory_bad);
    let error = layer(policies(), &of(40_000), 7, UntimedMedium::new).unwrap_err();
    assert!(matches!(error, Error::TooFewBlocks { .. }), "{error}");
}

#[test]
fn nonsense_is_refused() {
    assert!(Endurance::new(&[]).is_err());
    let error = Endurance::new(&[0, 5]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "endurance in P/E cycles, rising with the quantile, of 0: from 1 to 4294967295"
    );
    assert!(Endurance::new(&[9, 5]).is_err());
    let one = Policies { reserve: 1, ..policies() };
    assert!(matches!(layer(one, &quality(&[9]), 1, UntimedMedium::new), Err(Error::Policy { .. })));
}

#[test]
fn nothing_accepted_is_lost_while_blocks_die_under_any_policy() {
    let collections =
        [Collection::Random, Collection::Fifo, Collection::Greedy, Collection::CostBenefit(8)];
    let levellings = [Levelling::None, Levelling::Threshold(4), Levelling::RandomSwap(9)];
    for seed in 0..60 {
        let mut draw = Seed::new(seed).stream("operations");
        let policies = Policies {
            collection: collections[below(&mut draw, 4) as usize],
            levelling: levellings[below(&mut draw, 3) as usize],
            streams: [Streams::Single, Streams::CopiesApart][below(&mut draw, 2) as usize],
            cache: Cache {
                size: [CacheSize::None, CacheSize::Fixed(3), CacheSize::Dynamic(4)]
                    [below(&mut draw, 3) as usize],
                ..Cache::default()
            },
            map: [MapMemory::Whole, MapMemory::Cached { cache: Bytes::new(512), segment: 4 }]
                [below(&mut draw, 2) as usize],
            reserve: 4,
            ..policies()
        };
        let program_failures = [0, 200_000_000, 2_000_000_000][below(&mut draw, 3) as usize];
        let of = Reliability { factory_bad: 500, program_failures, ..quality(&[1, 20, 40, 60]) };
        let mut ftl = layer(policies, &of, seed, Contents::new).unwrap();
        let mut shadow = vec![Version(0); LOGICAL as usize];
        let mut writes = 0;
        loop {
            let first = below(&mut draw, LOGICAL);
            let extent = Extent::new(first, 1 + below(&mut draw, (LOGICAL - first).min(12)));
            match ftl.write(Instant::ZERO, extent) {
                Ok(done) => {
                    shadow[first as usize..(first + extent.count) as usize].fill(done.version);
                    writes += 1;
                }
                Err(Error::ReadOnly { .. }) => {
                    // The refused write may have written some of its pages.
                    let mut found = vec![Version(0); LOGICAL as usize];
                    ftl.read(Instant::ZERO, Extent::new(0, LOGICAL), &mut found).unwrap();
                    let refused = first..first + extent.count;
                    let lost = (0..LOGICAL)
                        .filter(|page| !refused.contains(page))
                        .any(|page| found[page as usize] != shadow[page as usize]);
                    assert!(!lost, "seed {seed}: {policies:?}");
                    break;
                }
                Err(error) => panic!("seed {seed}: {error}"),
            }
        }
        assert!(writes > 100, "seed {seed}: {writes} writes with {policies:?}");
        ftl.assert_sound();
    }
}

fn reads(rate: u64, correctable: u32, refresh_at: u32) -> ReadErrors {
    ReadErrors {
        rates: ErrorRates::constant(rate),
        codeword: Bytes::kib(1),
        correctable,
        retries: vec![500, 100],
        refresh_at,
        patrol: Duration::ZERO,
    }
}

/// In 10^-18: four wrong bits of each 8,192 on average.
const FOUR: u64 = 488_000_000_000_000;

#[test]
fn a_read_that_does_not_correct_is_tried_again_and_takes_longer() {
    let micros = Duration::from_micros;
    let rate = Rate::new(Bytes::new(400), micros(1)).unwrap();
    let cells = CellTimes::uniform(micros(75), micros(1_000), micros(4_000));
    let timing = Timing {
        slc: cells.clone(),
        native: cells,
        channel: rate,
        link: rate,
        command: Duration::ZERO,
        slots: 2,
        cache_program: false,
    };
    let of = Reliability { reads: Some(reads(FOUR, 5, 1_000)), ..quality(&[100]) };
    let medium = |part: &Geometry| TimedMedium::new(part, &timing).unwrap();
    let mut ftl = layer(policies(), &of, 3, medium).unwrap();
    let mut now = ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).unwrap().finished;
    let (mut plain, mut retried) = (Vec::new(), Vec::new());
    for page in 0..LOGICAL {
        let done = ftl.read(now, Extent::new(page, 1), &mut []).unwrap();
        let retries = done.work[Cause::Retry] / 75_000;
        assert_eq!(retries > 0, done.events.has(Event::ReadRetry));
        assert!(done.work[Cause::Host] == 75_000);
        (if retries == 0 { &mut plain } else { &mut retried }).push(retries);
        now = done.finished;
    }
    assert!(plain.len() > 100 && retried.len() > 100, "{} {}", plain.len(), retried.len());
    assert_eq!(retried.iter().sum::<u64>(), ftl.flash().health().unwrap().retries);
    assert_eq!(ftl.counters().reads[Cause::Retry], ftl.flash().health().unwrap().retries);
}

#[test]
fn what_no_step_of_the_ladder_corrects_is_unreadable() {
    let of = Reliability { reads: Some(reads(FOUR * 10, 2, 1_000)), ..quality(&[100]) };
    let mut ftl = layer(policies(), &of, 3, UntimedMedium::new).unwrap();
    ftl.write(Instant::ZERO, Extent::new(0, 16)).unwrap();
    let done = ftl.read(Instant::ZERO, Extent::new(0, 16), &mut []).unwrap();
    assert!(done.events.has(Event::Unreadable));
    assert!(ftl.wear().unreadable > 10);
}

#[test]
fn a_block_with_many_wrong_bits_is_written_anew_while_the_host_is_away() {
    let disturb =
        ErrorRates { disturb: ErrorRates::constant(FOUR / 2_000).program, ..ErrorRates::none() };
    let errors = ReadErrors { rates: disturb, ..reads(0, 40, 6) };
    let of = Reliability { reads: Some(errors), ..quality(&[100]) };
    let mut ftl = layer(policies(), &of, 3, UntimedMedium::new).unwrap();
    ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).unwrap();
    for _ in 0..4_000 {
        ftl.read(Instant::ZERO, Extent::new(5, 1), &mut []).unwrap();
    }
    assert_eq!(ftl.counters().programs[Cause::Refresh], 0);
    ftl.idle(Instant::ZERO, Instant::ZERO);
    assert_eq!(ftl.counters().programs[Cause::Refresh], 16, "the block that was read so often");
    ftl.assert_sound();
}

#[test]
fn a_patrol_finds_what_retention_spoils_before_the_host_reads_it() {
    let run = |patrol| {
        let rates = ErrorRates {
            retention: ErrorRates::constant(FOUR * 4).program,
            retention_share: boardlab_media::Curve::new(&[(0, 0), (8_760, 1_000)]).unwrap(),
            ..ErrorRates::none()
        };
        let errors = ReadErrors { rates, patrol, retries: vec![], ..reads(0, 12, 8) };
        let of = Reliability { reads: Some(errors), ..quality(&[100]) };
        let mut ftl = layer(policies(), &of, 3, UntimedMedium::new).unwrap();
        ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).unwrap();
        let month = Duration::from_secs(30 * 86_400);
        let mut now = Instant::ZERO;
        for _ in 0..12 {
            ftl.idle(now, now + month);
            now += month;
        }
        ftl.read(now, Extent::new(0, LOGICAL), &mut []).unwrap();
        (ftl.wear().unreadable, ftl.counters().programs[Cause::Refresh])
    };
    let (lost, refreshed) = run(Duration::ZERO);
    assert!(lost > 500 && refreshed == 0, "{lost} lost without a patrol");
    let (lost, refreshed) = run(Duration::from_secs(30 * 86_400));
    assert!(lost < 50 && refreshed > 1_000, "{lost} lost, {refreshed} written anew");
}

#[test]
fn the_same_seed_gives_the_same_lives() {
    let of = quality(&[5, 50, 500]);
    let lives = |seed| {
        let mut ftl = layer(policies(), &of, seed, UntimedMedium::new).unwrap();
        while ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).is_ok() {}
        (ftl.counters().written, ftl.wear().erases)
    };
    assert_eq!(lives(1), lives(1));
    assert_ne!(lives(1).0, lives(2).0);
}

#[test]
fn a_program_that_fails_is_made_up_for_and_its_block_given_up() {
    // One of 2,000 programs.
    let of = Reliability { program_failures: 500_000_000, ..quality(&[1_000_000]) };
    let policies = Policies { reserve: 4, ..policies() };
    let mut ftl = layer(policies, &of, 5, Contents::new).unwrap();
    let mut shadow = vec![Version(0); LOGICAL as usize];
    let mut draw = Seed::new(5).stream("pages");
    while ftl.flash().health().unwrap().failed_programs < 8 {
        let page = below(&mut draw, LOGICAL);
        shadow[page as usize] = ftl.write(Instant::ZERO, Extent::new(page, 1)).unwrap().version;
    }
    ftl.idle(Instant::ZERO, Instant::ZERO);
    let mut found = vec![Version(0); LOGICAL as usize];
    ftl.read(Instant::ZERO, Extent::new(0, LOGICAL), &mut found).unwrap();
    assert_eq!(found, shadow, "all data lie elsewhere");
    assert_eq!(ftl.wear().retired, 8, "each took its block along");
    let programs = ftl.counters().programs;
    assert_eq!(programs[Cause::Retry], 8, "each was tried once");
    assert!(programs[Cause::Refresh] > 0 && programs[Cause::Refresh] < 8 * 16, "{programs:?}");
    ftl.assert_sound();
}

#[test]
fn programs_fail_as_often_as_the_part_says() {
    let of = Reliability { program_failures: 1_000_000_000, ..quality(&[1_000_000]) };
    let policies = Policies { reserve: 4, ..policies() };
    let (mut programs, mut failed) = (0, 0);
    for seed in 0..40 {
        let mut ftl = layer(policies, &of, seed, UntimedMedium::new).unwrap();
        while ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).is_ok() {}
        programs += ftl.counters().programs.total();
        failed += ftl.flash().health().unwrap().failed_programs;
    }
    // Of 900 failures the standard deviation is 30.
    assert!(failed > 500 && (programs / failed).abs_diff(1_000) < 120, "{failed} of {programs}");
}

#[test]
fn programs_that_fail_need_more_reserve() {
    let of = Reliability { program_failures: 1, ..quality(&[9]) };
    let error = layer(policies(), &of, 1, UntimedMedium::new).unwrap_err();
    assert_eq!(
        error.to_string(),
        "reserve of free blocks, where blocks wear out, of 2: from 4 to 100"
    );
}

/// Times of rows that share a word line, lower pages first, and the cycles of the worst, the middle and
/// the best block. The figures are of the order of the parts'.
const CELLS: [(u32, &[u64], [u32; 3]); 4] = [
    (1, &[250], [60_000, 100_000, 140_000]),
    (2, &[600, 1_500], [2_000, 3_000, 4_500]),
    (3, &[500, 1_500, 3_500], [700, 1_000, 1_600]),
    (4, &[700, 2_000, 4_000, 8_000], [150, 300, 500]),
];

#[test]
fn cells_of_one_to_four_bits_have_rows_and_lives_of_their_own() {
    let micros = Duration::from_micros;
    let rate = Rate::new(Bytes::new(400), micros(1)).unwrap();
    let mut lives = Vec::new();
    for (bits, program, cycles) in CELLS {
        let spans = |each: &[u64]| each.iter().map(|&span| micros(span)).collect::<Vec<_>>();
        let timing = Timing {
            native: CellTimes { read: spans(&[50]), program: spans(program), erase: micros(4_000) },
            slc: CellTimes::uniform(micros(25), micros(200), micros(2_000)),
            channel: rate,
            link: rate,
            command: Duration::ZERO,
            slots: 2,
            cache_program: false,
        };
        let cache = Cache { size: CacheSize::Fixed(4), bits, ..Cache::default() };
        let policies = Policies { cache, ..policies() };
        let of = quality(&cycles.map(|cycles| cycles.div_ceil(50)));
        let mut ftl =
            layer(policies, &of, 3, |part| TimedMedium::new(part, &timing).unwrap()).unwrap();
        let mut now = Instant::ZERO;
        while let Ok(done) = ftl.write(now, Extent::new(0, LOGICAL)) {
            now = done.accepted;
        }
        let wear = ftl.wear().summary();
        let middle = cycles[1].div_ceil(50);
        let mean = u32::try_from(wear.total / 100).unwrap();
        assert!(mean > middle / 3 && mean < cycles[2].div_ceil(50), "{bits} bits: {wear}");
        // Blocks die at different times: it is a distribution.
        assert!(wear.least < wear.most, "{bits} bits: {wear}");
        let busy = ftl.busy().by_cause;
        assert!(busy[Cause::Fold] > 0 && busy[Cause::Host] > 0, "{bits} bits");
        lives.push(ftl.counters().written);
    }
    assert!(lives.is_sorted_by(|more, fewer| more > fewer), "{lives:?}");
}

#[test]
fn lives_of_blocks_follow_their_quantiles() {
    let endurance = Endurance::new(&[150, 250, 300, 350, 500]).unwrap();
    let mut draw = Seed::new(1).stream("blocks");
    let mut lives: Vec<u32> = (0..100_000).map(|_| endurance.draw(&mut draw)).collect();
    lives.sort_unstable();
    for (quarter, expected) in [(1, 250), (2, 300), (3, 350)] {
        assert!(lives[quarter * 25_000].abs_diff(expected) <= 2, "quarter {quarter}");
    }
    assert!(lives[0] >= 150 && lives[99_999] <= 500);
}
