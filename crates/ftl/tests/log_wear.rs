//! Wear of block-mapped layers: wear levelling, worn-out blocks, and the end of life of a device.

use boardlab_ftl::{
    Cause, Contents, EndOfLife, Endurance, Error, Event, Extent, Geometry, Levelling,
    LevellingTime, LogBlocks, LogCells, LogPolicies, Logs, Medium, ReadErrors, Reliability,
    Translation, UntimedMedium, Version,
};
use boardlab_media::ErrorRates;
use boardlab_sim::{Bytes, Duration, Instant, Seed, Stream};

const NOW: Instant = Instant::ZERO;
const LOGICAL: u32 = 1_200;

fn below(stream: &mut Stream, bound: u32) -> u32 {
    u32::try_from(stream.below(bound.into())).unwrap()
}

fn part() -> Geometry {
    Geometry::new(100, 16, Bytes::kib(4), LOGICAL).unwrap()
}

fn layer<M: Medium>(policies: LogPolicies, medium: impl FnOnce(&Geometry) -> M) -> LogBlocks<M> {
    LogBlocks::new(part(), policies, medium(&part()), Seed::new(1)).unwrap()
}

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

/// Three kinds of layer, the second with logs in SLC mode.
fn kinds() -> [LogPolicies; 3] {
    let cells = LogCells::Slc { bits: 3, fixed: false };
    let logs = Logs::Own { units: 2, chain: 3, all: 6 };
    let chained = LogPolicies { logs, cells, ..LogPolicies::default() };
    [LogPolicies::in_order(2), chained, LogPolicies::shared(4)]
}

/// A full device of which 20,000 times 16 pages of the first 64 are rewritten: its wear.
fn hot(policies: LogPolicies) -> (LogBlocks<UntimedMedium>, u32, u32) {
    let mut ftl = layer(policies, UntimedMedium::new);
    ftl.write(NOW, Extent::new(0, LOGICAL)).unwrap();
    for turn in 0..20_000 {
        ftl.write(NOW, Extent::new(turn % 4 * 16, 16)).unwrap();
        ftl.idle(NOW, NOW);
    }
    ftl.assert_sound();
    let wear = ftl.wear().summary();
    (ftl, wear.least, wear.most)
}

#[test]
fn only_static_levelling_reaches_data_that_nobody_writes() {
    for kind in kinds() {
        for levelling_time in [LevellingTime::Foreground, LevellingTime::Idle] {
            let with = |levelling| hot(LogPolicies { levelling, levelling_time, ..kind });
            let (none, dynamic) = (with(Levelling::None), with(Levelling::Dynamic));
            let (ftl, least, most) = with(Levelling::Threshold(20));
            assert_eq!((none.1, dynamic.1), (0, 0), "{kind:?}");
            assert!(none.2 > 3 * dynamic.2, "{kind:?}: {} and {}", none.2, dynamic.2);
            assert!(dynamic.2 > 2 * most, "{kind:?}: {} and {most}", dynamic.2);
            assert!(most - least <= 2 * 20, "{kind:?}: {least} to {most}");
            let (levelled, programs) = (ftl.counters().levelled, ftl.counters().programs);
            assert!(levelled > 70 && programs[Cause::Levelling] == levelled * 16, "{kind:?}");
        }
    }
}

#[test]
fn fixed_logs_take_the_wear_of_the_writes_and_slc_cells_bear_it() {
    let cells = LogCells::Slc { bits: 3, fixed: true };
    let logs = Logs::Own { units: 2, chain: 3, all: 6 };
    let policies = LogPolicies { cells, logs, merge_when_idle: true, ..LogPolicies::default() };
    let ftl = layer(policies, UntimedMedium::new);
    let mut ftl = ftl.with_reliability(&quality(&[1_000_000]), Seed::new(1)).unwrap();
    for turn in 0..3_000 {
        ftl.write(NOW, Extent::new(turn % 75 * 16, 5)).unwrap();
        ftl.idle(NOW, NOW);
    }
    let wear = ftl.wear();
    assert_eq!(wear.slc_blocks, 6);
    let (fixed, others) = wear.erases.split_at(6);
    assert_eq!(fixed.iter().sum::<u32>(), 3_000, "each write filled one log");
    assert_eq!(others.iter().sum::<u32>(), 2_925, "each but the first ended a data block");
    assert!(fixed.iter().zip(&wear.worn).all(|(erases, worn)| *worn == erases / 10));
    assert_eq!(ftl.counters().programs[Cause::Fold], 3_000 * 5);
}

#[test]
fn a_device_lives_as_long_as_its_blocks_and_then_only_reads() {
    for kind in kinds() {
        let ftl = layer(kind, UntimedMedium::new);
        let mut ftl = ftl.with_reliability(&quality(&[60]), Seed::new(1)).unwrap();
        let spare = ftl.wear().spare_blocks;
        let error = loop {
            match ftl.write(NOW, Extent::new(0, LOGICAL)) {
                Ok(_) => assert!(!ftl.wear().read_only),
                Err(error) => break error,
            }
        };
        let wear = ftl.wear();
        assert!(wear.read_only && wear.spare_blocks == 0, "{kind:?}");
        assert!(matches!(error, Error::ReadOnly { retired } if retired == wear.retired));
        assert!((1..=8).contains(&(wear.retired - spare)), "{} of {spare}", wear.retired);
        let cycles: u32 = wear.worn.iter().sum();
        // Levelling counts erases, and those in SLC mode wear a tenth.
        let least = if kind.cells == LogCells::Ordinary { 5_000 } else { 2_500 };
        assert!((least..=6_100).contains(&cycles), "{kind:?}: {cycles} of 6,000 cycles");
        assert!(ftl.read(NOW, Extent::new(0, LOGICAL), &mut []).is_ok());
        assert!(ftl.trim(NOW, Extent::new(0, 1)).is_err());
        ftl.assert_sound();
    }
}

#[test]
fn with_the_end_of_life_ignored_blocks_go_on_and_bad_ones_count_against_the_spare() {
    let of = Reliability { end_of_life: EndOfLife::Ignored, ..quality(&[10]) };
    let mut ftl =
        layer(kinds()[0], UntimedMedium::new).with_reliability(&of, Seed::new(1)).unwrap();
    for _ in 0..500 {
        ftl.write(NOW, Extent::new(0, LOGICAL)).unwrap();
    }
    assert_eq!((ftl.wear().retired, ftl.wear().summary().least > 300), (0, true));
    let bad = |share| {
        let of = Reliability { factory_bad: share, ..quality(&[10]) };
        layer(kinds()[1], UntimedMedium::new).with_reliability(&of, Seed::new(7))
    };
    let (all, some) = (bad(0).unwrap().wear(), bad(3_000).unwrap().wear());
    assert!(some.factory_bad > 0 && some.retired == some.factory_bad);
    assert_eq!(some.spare_blocks, all.spare_blocks - some.retired);
    assert!(matches!(bad(40_000), Err(Error::TooFewBlocks { .. })));
    let failing = Reliability { program_failures: 1, ..quality(&[10]) };
    let refused = layer(kinds()[1], UntimedMedium::new).with_reliability(&failing, Seed::new(7));
    assert!(matches!(refused, Err(Error::Policy { found: 1, most: 0, .. })));
}

/// A random device whose blocks wear out, until it is read-only: accepted data are readable.
fn live(seed: u64) -> u32 {
    let mut draw = Seed::new(seed).stream("life");
    let kind = kinds()[usize::try_from(draw.below(3)).unwrap()];
    let levellings = [Levelling::None, Levelling::Threshold(3), Levelling::RandomSwap(7)];
    let fixed = LogCells::Slc { bits: 3, fixed: true };
    let any = !matches!(kind.logs, Logs::InOrder { .. });
    let policies = LogPolicies {
        levelling: levellings[usize::try_from(draw.below(3)).unwrap()],
        cells: if any && draw.chance(1, 3) { fixed } else { kind.cells },
        merge_when_idle: draw.chance(1, 2),
        ..kind
    };
    let of = Reliability { factory_bad: 500, ..quality(&[1, 20, 60]) };
    let ftl = layer(policies, Contents::new);
    let mut ftl = ftl.with_reliability(&of, Seed::new(seed)).unwrap();
    let mut shadow = vec![vec![Version(0)]; LOGICAL as usize];
    let mut requests = 0;
    loop {
        let first = below(&mut draw, LOGICAL);
        let count = 1 + below(&mut draw, (LOGICAL - first).min(40));
        let may = &mut shadow[first as usize..(first + count) as usize];
        match ftl.write(NOW, Extent::new(first, count)) {
            Ok(done) => {
                requests = done.version.0;
                may.fill(vec![done.version]);
            }
            Err(Error::ReadOnly { .. }) => {
                // Of the request that failed any page may have been written.
                may.iter_mut().for_each(|may| may.push(Version(requests + 1)));
                break;
            }
            Err(error) => panic!("seed {seed}: {error}"),
        }
        if draw.chance(1, 10) {
            ftl.idle(NOW, NOW);
        }
        if ftl.wear().read_only {
            break;
        }
    }
    let mut found = vec![Version(0); LOGICAL as usize];
    ftl.read(NOW, Extent::new(0, LOGICAL), &mut found).unwrap();
    for (page, (found, may)) in found.iter().zip(&shadow).enumerate() {
        assert!(may.contains(found), "seed {seed}: page {page} holds {found:?}, not of {may:?}");
    }
    ftl.assert_sound();
    ftl.wear().retired
}

#[test]
fn nothing_accepted_is_lost_while_blocks_die() {
    let full = std::env::var_os("BOARDLAB_FULL").is_some();
    for seed in 0..if full { 300 } else { 60 } {
        assert!(live(seed) > 0);
    }
}

fn weak(refresh_at: u32) -> Reliability {
    let reads = ReadErrors {
        // Four wrong bits of each 8,192 on average.
        rates: ErrorRates::constant(488_000_000_000_000),
        codeword: Bytes::kib(1),
        correctable: 6,
        retries: vec![500, 100],
        refresh_at,
        patrol: Duration::from_secs(1_000),
    };
    Reliability { reads: Some(reads), ..quality(&[1_000]) }
}

#[test]
fn pages_are_read_again_and_units_written_anew() {
    for kind in kinds() {
        let make = |refresh_at| {
            let ftl = layer(kind, UntimedMedium::new);
            let mut ftl = ftl.with_reliability(&weak(refresh_at), Seed::new(3)).unwrap();
            ftl.write(NOW, Extent::new(0, LOGICAL)).unwrap();
            ftl
        };
        let mut ftl = make(1_000);
        let mut events = 0;
        for page in 0..LOGICAL {
            let done = ftl.read(NOW, Extent::new(page, 1), &mut []).unwrap();
            events += u64::from(done.events.has(Event::ReadRetry));
        }
        let retries = ftl.counters().reads[Cause::Retry];
        assert!(events > 10 && retries >= events, "{kind:?}: {events} {retries}");
        assert_eq!(ftl.counters().programs[Cause::Refresh], 0);
        let mut ftl = make(9);
        let later = NOW + Duration::from_secs(2_000);
        ftl.idle(later, later);
        let programs = ftl.counters().programs[Cause::Refresh];
        assert!(programs > 100 && programs.is_multiple_of(16), "{kind:?}: {programs}");
        ftl.assert_sound();
    }
}
