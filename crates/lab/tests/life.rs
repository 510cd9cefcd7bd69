//! Lives of cards against theory, against the simulation in full, and through the scenario.
use boardlab_cards::life::run::factors::factors;
use boardlab_cards::life::run::faults::beyond;
use boardlab_cards::life::run::live::CardLife;
use boardlab_cards::life::run::places::{Source, Work};
use boardlab_cards::life::run::study::{Study, study};
use boardlab_cards::life::scenario::{Days, Life, Method, Pattern, Places};
use boardlab_document::quantity::Ratio;
use boardlab_document::source::Kind;
use boardlab_document::{Document, Override};
use boardlab_experiment::{Action, Failure, NEVER};
use boardlab_ftl::{Levelling, ReadErrors};
use boardlab_lab::registry;
use boardlab_media::{Curve, ErrorRates};
use boardlab_parts::card::part::{self, CardPart};
use boardlab_parts::catalog;
use boardlab_result::RunResult;
use boardlab_sim::{Bytes, Duration, Seed};
use std::fs;
use std::path::{Path, PathBuf};

/// A card of 256 MiB with 184 blocks of 1.5 MiB, 96 pages of 16 KiB each; some seven of a hundred are spare.
const SMALL: [&str; 4] = [
    "capacity=256 MiB",
    "flash.pages_per_block=48",
    "endurance.rated=1000",
    "endurance.pe_cycles=[1000]",
];

fn card(set: &[&str]) -> CardPart {
    let source = catalog::find(Kind::Part, "kioxia-16gb", None).unwrap();
    let mut document = Document::parse(&source).unwrap();
    let all: Vec<_> = SMALL.iter().chain(set).map(|one| Override::parse(one).unwrap()).collect();
    document.set(&all).unwrap();
    document.read(part::read).unwrap().value
}

fn percent(value: u64) -> Ratio {
    Ratio::from_millionths(value * 10_000)
}

const DAYS: Days = Days {
    stale: true,
    reads_a_day: Bytes::ZERO,
    powered: Duration::from_secs(86_400),
    shelf: Duration::ZERO,
};

fn pattern(places: Places) -> Pattern {
    Pattern {
        bytes_a_day: Bytes::new(1_000_000_000),
        places,
        request: Bytes::kib(16),
        used: percent(100),
        trim: percent(0),
    }
}

fn work(pattern: Pattern) -> Work {
    Work { bytes_a_day: 1e9, source: Source::Pattern(pattern), days: DAYS }
}

fn lives(part: &CardPart, work: Work, method: Method, cards: u64) -> Study {
    let horizon = Duration::from_secs(250 * 365 * 86_400);
    let life = Life { cards, horizon, method };
    study(part, work, life, cards, Seed::new(7), &NEVER).unwrap()
}

/// Bytes written until half of the cards are at their end.
fn median(study: &Study) -> f64 {
    study.band(CardLife::first).0[1].unwrap().bytes
}

fn assert_near(found: f64, expected: f64, share: f64, what: &str) {
    let off = found / expected - 1.0;
    assert!(off.abs() <= share, "{what}: {found} against {expected}, {:.2} % off", off * 100.0);
}

const HOT_SPOT: Places = Places::HotCold {
    space: Ratio::from_millionths(2_000),
    writes: Ratio::from_millionths(999_999),
};

#[test]
fn sequential_writes_of_all_blocks_live_for_their_cycles() {
    let part = card(&[]);
    let study = lives(&part, work(pattern(Places::Sequential)), Method::Full, 3);
    let blocks = f64::from(part.geometry().unwrap().blocks());
    let block = 1.5 * 1_048_576.0;
    // Every block takes its cycles; then all die within the spare's number of erases.
    assert_near(median(&study), 1_000.0 * blocks * block, 0.01, "bytes");
    let lived = study.median();
    assert!(lived.worn.iter().all(|worn| *worn >= 990.0), "wear is even");
}

#[test]
fn twice_the_endurance_is_twice_the_bytes() {
    let random = work(pattern(Places::Random));
    let bytes = |cycles: &str| {
        let cycles = format!("endurance.pe_cycles=[{cycles}]");
        median(&lives(&card(&[&cycles]), random.clone(), Method::Full, 3))
    };
    assert_near(bytes("400"), 2.0 * bytes("200"), 0.01, "bytes");
}

#[test]
fn a_hot_spot_kills_the_first_block_early_without_levelling_and_spares_cold_ones_with_dynamic() {
    let with = |levelling| {
        let mut part = card(&[]);
        part.managed.policies.levelling = levelling;
        lives(&part, work(pattern(HOT_SPOT)), Method::Full, 3)
    };
    let first = |study: &Study| study.band(|card| card.first_bad).0[1].unwrap().bytes;
    let (none, dynamic, fixed) =
        (with(Levelling::None), with(Levelling::Dynamic), with(Levelling::Threshold(32)));
    assert!(first(&none) < 0.4 * first(&dynamic), "{} {}", first(&none), first(&dynamic));
    assert!(median(&fixed) > 5.0 * median(&dynamic), "cold blocks take their share");
    // Only the spare and what is open wears: as many blocks as the card does not need for its data.
    let part = card(&[]);
    let spare = part.geometry().unwrap().blocks() - part.geometry().unwrap().logical_blocks();
    let bound = f64::from(spare) * 1_000.0 * 1.5 * 1_048_576.0;
    assert!((0.7 * bound..1.1 * bound).contains(&median(&dynamic)), "{}", median(&dynamic));
}

/// Median bytes of a scaled card and of one in full; blocks live for `cycles` and up to a fifth more.
fn assert_scaled_as_full(name: &str, cycles: u32, set: &[&str], pattern: Pattern) {
    let cycles =
        format!("endurance.pe_cycles=[{cycles}, {}, {}]", cycles * 11 / 10, cycles * 6 / 5);
    let mut all = vec![cycles.as_str()];
    all.extend(set);
    let part = card(&all);
    let bytes = |method| median(&lives(&part, work(pattern), method, 3));
    assert_near(bytes(Method::Scaled), bytes(Method::Full), 0.05, name);
}

#[test]
fn a_scaled_card_lives_as_long_as_one_in_full_under_even_loads() {
    assert_scaled_as_full("sequential", 1_000, &[], pattern(Places::Sequential));
    assert_scaled_as_full("random", 1_000, &[], pattern(Places::Random));
}

#[test]
fn a_scaled_card_lives_as_long_as_one_in_full_under_uneven_loads() {
    let hot = pattern(Places::HotCold { space: percent(10), writes: percent(90) });
    assert_scaled_as_full("hot and cold", 400, &[], hot);
    let levelling = ["levelling.policy=threshold", "levelling.threshold=20"];
    assert_scaled_as_full("hot and cold, static levelling", 400, &levelling, hot);
    if std::env::var_os("BOARDLAB_FULL").is_none() {
        return;
    }
    let zipf = pattern(Places::Zipf(percent(100)));
    assert_scaled_as_full("zipf", 400, &[], Pattern { request: Bytes::kib(4), ..zipf });
    let cache = ["slc_cache.size=dynamic", "slc_cache.blocks=8"];
    assert_scaled_as_full("cache", 1_000, &cache, pattern(Places::Random));
    let most = Pattern { used: percent(80), ..pattern(Places::Random) };
    assert_scaled_as_full("random, 80 % in use", 1_000, &[], most);
}

#[test]
fn factors_multiply_to_the_life_and_wear_never_exceeds_lives() {
    for places in [Places::Sequential, Places::Random, HOT_SPOT] {
        let part = card(&["endurance.pe_cycles=[900, 1000, 1300]", "endurance.factory_bad=1 %"]);
        let study = lives(&part, work(pattern(places)), Method::Full, 3);
        let lived = study.median();
        let factors = factors(lived, &study);
        let end = lived.first().unwrap().years;
        assert_near(factors.last().unwrap().years, end, 1e-9, "years");
        for one in &factors {
            let free = ["ideal", "spare", "endurance", "cells"].contains(&one.id);
            assert!(free || one.factor <= 1.02, "{} is {}", one.id, one.factor);
        }
        for (worn, life) in lived.worn.iter().zip(&lived.lives) {
            assert!(worn <= &(life + 1.0), "a block is erased once more than it lives for");
        }
    }
}

#[test]
fn data_are_lost_at_the_cycle_that_the_code_gives() {
    const CORRECTABLE: u32 = 8;
    const SLOPE: f64 = 2e-6; // wrong bits of each bit and cycle
    let steps: Vec<(u64, u64)> = vec![(0, 0), (10_000, 20_000_000_000_000_000)];
    let rates = ErrorRates { program: Curve::new(&steps).unwrap(), ..ErrorRates::none() };
    let mut part = card(&["endurance.pe_cycles=[5000]", "endurance.rated=5000"]);
    part.managed.reads = Some(ReadErrors {
        rates,
        codeword: Bytes::kib(1),
        correctable: CORRECTABLE,
        retries: Vec::new(),
        refresh_at: 60_000,
        patrol: Duration::ZERO,
    });
    let study = lives(&part, work(pattern(Places::Sequential)), Method::Full, 31);
    // Each cycle reads every codeword of the card's data once; half of the cards lose one when ln 2 are
    // expected.
    let codewords = 256.0 * 1_024.0;
    let (mut cycle, mut expected) = (0.0, 0.0);
    while expected < std::f64::consts::LN_2 {
        cycle += 1.0;
        expected += codewords * beyond(SLOPE * cycle * 8_192.0, CORRECTABLE);
    }
    let blocks = f64::from(part.geometry().unwrap().blocks());
    let lost = study.band(|card| card.uncorrectable).0[1].unwrap().bytes;
    let cycles = lost / (blocks * 1.5 * 1_048_576.0);
    assert!(cycle > 50.0 && cycle < 2_000.0, "{cycle}");
    assert!((cycles - cycle).abs() < 0.03 * cycle + 20.0, "{cycles} against {cycle}");
}

#[test]
fn retention_and_shelf_shorten_the_life_of_data() {
    let rates = ErrorRates {
        retention: Curve::new(&[(0, 0), (1_000, 3_000_000_000_000_000)]).unwrap(),
        retention_share: Curve::new(&[(0, 0), (8_760, 1_000)]).unwrap(),
        ..ErrorRates::none()
    };
    let mut part = card(&[]);
    part.managed.reads = Some(ReadErrors {
        rates,
        codeword: Bytes::kib(1),
        correctable: 24,
        retries: Vec::new(),
        refresh_at: 60_000,
        patrol: Duration::ZERO,
    });
    let with = |shelf: u64| {
        let shelf = Duration::from_secs(shelf * 86_400);
        let work = Work { days: Days { shelf, ..DAYS }, ..work(pattern(Places::Sequential)) };
        let study = lives(&part, work, Method::Full, 5);
        study.band(|card| card.uncorrectable).0[1].map_or(f64::INFINITY, |point| point.years)
    };
    let (none, year, two) = (with(0), with(365), with(730));
    assert!(year < none && two < 0.8 * year, "{none} {year} {two}");
}

fn life(set: &[&str]) -> Result<RunResult, Failure> {
    registry::perform(Action::Life, "sd-life", set, Seed::new(1), &|_| ())
}

/// A small card, few of them.
const QUICK: [&str; 6] = [
    "part.capacity=64 MiB",
    "part.flash.pages_per_block=24",
    "part.endurance.rated=100",
    "part.endurance.pe_cycles=[90, 100, 120]",
    "life.cards=4",
    "what_if.cards=2",
];

fn quick(set: &[&str]) -> Result<RunResult, Failure> {
    let all: Vec<&str> = QUICK.iter().chain(set).copied().collect();
    life(&all)
}

fn years(run: &RunResult) -> f64 {
    run.table("life").unwrap().cell("end", "years_50").unwrap().value.as_f64().unwrap()
}

#[test]
fn the_result_has_its_tables_charts_and_findings() {
    let run = quick(&[]).unwrap();
    let ids: Vec<_> = run.tables.iter().map(|table| table.id.as_str()).collect();
    assert_eq!(ids, ["life", "factors", "what-if", "wear", "health"]);
    let what_ifs: Vec<_> =
        run.table("what-if").unwrap().rows.iter().map(|row| row.id.as_str()).collect();
    let expected = ["as-is", "levelling-none", "levelling-static", "spare", "cache", "trim"];
    assert_eq!(what_ifs, expected);
    assert_eq!(run.charts.len(), 4);
    assert!(run.findings[0].starts_with("Half of the cards reach their end of life after"));
    let health = run.table("health").unwrap();
    let steps = health.rows.iter().filter(|row| row.id.starts_with("life_"));
    let steps: Vec<_> = steps.map(|row| row.id.clone()).collect();
    assert!(steps.is_sorted() && steps.len() > 3, "{steps:?}");
    assert!(steps.iter().all(|step| step.as_str() <= "life_0b"));
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let with = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| quick(&["life.method=scaled"]).unwrap())
    };
    assert_eq!(with(1), with(3));
}

fn file(name: &str, text: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("life");
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// All of a card of 64 MiB, a MiB each of 64 seconds.
fn trace_of_the_card() -> String {
    let line = |at: u64| {
        let sector = at * 2_048;
        format!("  8,0    0 {at:8} {at:5}.000000000   697  D   W {sector} + 2048 [fio]\n")
    };
    (0..64).map(line).collect()
}

#[test]
fn a_job_of_fio_a_trace_and_a_pattern_that_write_the_same_live_equally_long() {
    let shared = ["workload.unused=trimmed", "what_if.cards=0"];
    let with = |set: &[&str]| {
        let all: Vec<&str> = shared.iter().chain(set).copied().collect();
        years(&quick(&all).unwrap())
    };
    let pattern = with(&[
        "pattern.places=sequential",
        "pattern.request=1 MiB",
        "pattern.used=100 %",
        "pattern.bytes_a_day=640 MiB",
    ]);
    let job = "[a]\nfilename=/dev/mmcblk0\ndirect=1\nrw=write\nbs=1m\nsize=100%\n";
    let job = format!("fio.file={}", file("job.fio", job).display());
    let fio = with(&["workload.kind=fio", "workload.runs_a_day=10", &job]);
    let trace = format!("trace.file={}", file("trace.txt", &trace_of_the_card()).display());
    let trace = with(&["workload.kind=trace", "trace.every=144 min", &trace]);
    assert_near(fio, pattern, 0.02, "fio");
    assert_near(trace, pattern, 0.02, "trace");
}

#[test]
fn a_trace_that_does_not_fit_is_refused_with_its_line_or_wrapped_and_said() {
    let path = file("long.txt", &trace_of_the_card().replace("W 0 +", "W 131072 +"));
    let named = format!("trace.file={}", path.display());
    let set = ["workload.kind=trace", &named, "what_if.cards=0"];
    let error = quick(&set).unwrap_err().to_string();
    assert!(error.contains("long.txt:1:1") && error.contains("within the device"), "{error}");
    let wrapped = [set[0], set[1], set[2], "trace.beyond=wrap"];
    let run = quick(&wrapped).unwrap();
    assert!(run.warnings.iter().any(|one| one.contains("1 requests lay behind the end")));
}

/// The built-in scenario with more text behind it.
fn scenario(name: &str, more: &str) -> PathBuf {
    let source = catalog::find(Kind::Scenario, "sd-life", None).unwrap();
    file(name, &format!("{}\n{more}", source.text()))
}

#[test]
fn a_load_of_another_kind_is_refused_in_an_argument_and_told_of_a_file() {
    for (set, says) in [
        ("trace.file=nofile.txt", "`nofile.txt` has no effect with workload.kind = \"pattern\""),
        ("fio.job=[a]", "add --set workload.kind=fio"),
        ("workload.runs_a_day=3", "`workload.runs_a_day`: `3` has no effect"),
        ("pattern.exponent=90 %", "has no effect with places = \"random\""),
    ] {
        let error = quick(&[set]).unwrap_err().to_string();
        assert!(error.contains(says), "{set}: {error}");
    }
    let error = quick(&["workload.kind=fio", "fio.job=[a]", "pattern.used=10 %"]).unwrap_err();
    assert!(error.to_string().contains("no effect with workload.kind = \"fio\""), "{error}");
    let path = file("there.txt", &trace_of_the_card());
    let named = |name: &str| format!("[trace]\nfile = \"{name}\"\n");
    let live = |scenario: &Path| {
        registry::perform(Action::Life, scenario.to_str().unwrap(), &QUICK, Seed::new(1), &|_| ())
    };
    let lacks = live(&scenario("lacks.toml", &named("nofile.txt"))).unwrap_err().to_string();
    assert!(
        lacks.contains("nofile.txt` : there") || lacks.contains("nofile.txt`: there"),
        "{lacks}"
    );
    let has = scenario("has.toml", &named(path.file_name().unwrap().to_str().unwrap()));
    let warnings = live(&has).unwrap().warnings;
    assert!(warnings.iter().any(|one| one.contains("section [trace] is not used")), "{warnings:?}");
}
