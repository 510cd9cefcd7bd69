//! Page programs a second, those of garbage collection included.
//!
//! 16 GiB of 4 KiB pages in blocks of 1 MiB, 7 % spare. Targets on one core: untimed random writes
//! in steady state 60 million a second, sequential ones 200 million, timed ones with statistics 20
//! million; experiment 1 of the card evaluation, 700 million timed programs of 16 KiB, in less than
//! 30 s and 64 MB. Four times the programs take four times as long (group `linear`), and memory is
//! reported for each mapped page. Criterion measures wall time: run it on an idle machine.

#![allow(missing_docs, reason = "criterion's macros make public items")]
#![allow(clippy::unwrap_used, reason = "a benchmark")]
#![allow(clippy::print_stderr, reason = "a benchmark says what it found")]

use boardlab_ftl::{
    CellTimes, Collection, Extent, Geometry, Medium, PageMapped, Policies, Stripe, TimedMedium,
    Timing, Translation, UntimedMedium,
};
use boardlab_sim::{Bytes, Duration, Instant, Rate, Seed, Stream};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const LOGICAL: u32 = 4 << 20;
/// Programs of one iteration.
const STEP: u64 = 1_000_000;

fn part(stripe: Stripe) -> Geometry {
    let blocks = (LOGICAL / 256 * 100).div_ceil(93) + 2;
    Geometry::new(blocks, 256, Bytes::kib(4), LOGICAL).unwrap().striped(stripe).unwrap()
}

fn timing() -> Timing {
    let micros = Duration::from_micros;
    let rate = |bytes| Rate::new(Bytes::new(bytes), micros(1)).unwrap();
    Timing {
        native: CellTimes::uniform(micros(75), micros(1_000), micros(4_000)),
        slc: CellTimes::uniform(micros(25), micros(250), micros(2_000)),
        channel: rate(400),
        link: rate(90),
        command: micros(5),
        slots: 4,
        cache_program: false,
    }
}

/// Writes pages at random until `programs` more were programmed.
fn random<M: Medium>(
    ftl: &mut PageMapped<M>,
    host: &mut Stream,
    at: Instant,
    programs: u64,
) -> Instant {
    let (mut now, until) = (at, ftl.counters().programs.total() + programs);
    let mut pages = [0; 256];
    while ftl.counters().programs.total() < until {
        pages.fill_with(|| u32::try_from(host.below(LOGICAL.into())).unwrap());
        now = ftl.write_each(now, &pages).unwrap().accepted;
    }
    now
}

fn layer<M: Medium>(part: Geometry, collection: Collection, medium: M) -> PageMapped<M> {
    let policies = Policies { collection, ..Policies::default() };
    PageMapped::new(part, policies, medium, Seed::new(1)).unwrap()
}

fn steady<M: Medium>(criterion: &mut Criterion, name: &str, mut ftl: PageMapped<M>) {
    let mut host = Seed::new(1).stream("host");
    let mut now = ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).unwrap().accepted;
    now = random(&mut ftl, &mut host, now, u64::from(LOGICAL) * 20);
    let mut group = criterion.benchmark_group("random");
    group.sample_size(10).throughput(Throughput::Elements(STEP));
    group.bench_function(name, |bencher| {
        bencher.iter(|| now = random(&mut ftl, &mut host, now, STEP));
    });
    group.finish();
}

fn sequential<M: Medium>(criterion: &mut Criterion, name: &str, mut ftl: PageMapped<M>) {
    let mut group = criterion.benchmark_group("sequential");
    group.sample_size(10).throughput(Throughput::Elements(LOGICAL.into()));
    let mut now = Instant::ZERO;
    group.bench_function(name, |bencher| {
        bencher.iter(|| {
            for first in (0..LOGICAL).step_by(256) {
                now = ftl.write(now, Extent::new(first, 256)).unwrap().accepted;
            }
        });
    });
    group.finish();
}

fn untimed(criterion: &mut Criterion) {
    let part = part(Stripe::SINGLE);
    for (name, collection) in [
        ("untimed, greedy", Collection::Greedy),
        ("untimed, cost-benefit of 30", Collection::CostBenefit(30)),
    ] {
        steady(criterion, name, layer(part, collection, UntimedMedium::new(&part)));
    }
    sequential(criterion, "untimed", layer(part, Collection::Greedy, UntimedMedium::new(&part)));
}

fn timed(criterion: &mut Criterion) {
    let four = Stripe { channels: 4, dies: 2, planes: 2, units: 4 };
    for (name, stripe) in [("timed, one die", Stripe::SINGLE), ("timed, eight dies", four)] {
        let part = part(stripe);
        let medium = || TimedMedium::new(&part, &timing()).unwrap();
        steady(criterion, name, layer(part, Collection::Greedy, medium()));
        sequential(criterion, name, layer(part, Collection::Greedy, medium()));
    }
}

/// The same layer with increasing numbers of programs.
fn linear(criterion: &mut Criterion) {
    let part = part(Stripe::SINGLE);
    let medium = TimedMedium::new(&part, &timing()).unwrap();
    let mut ftl = layer(part, Collection::Greedy, medium);
    let mut host = Seed::new(1).stream("host");
    let mut now = ftl.write(Instant::ZERO, Extent::new(0, LOGICAL)).unwrap().accepted;
    now = random(&mut ftl, &mut host, now, u64::from(LOGICAL) * 20);
    let mut group = criterion.benchmark_group("linear");
    for times in [1, 4, 16] {
        group.sample_size(10).throughput(Throughput::Elements(times * STEP));
        let id = BenchmarkId::new("timed, millions of programs", times);
        group.bench_function(id, |bencher| {
            bencher.iter(|| now = random(&mut ftl, &mut host, now, times * STEP));
        });
    }
    group.finish();
}

/// The memory of a timed layer, before and after requests.
fn memory(_: &mut Criterion) {
    let part = part(Stripe::SINGLE);
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut ftl = layer(part, Collection::Greedy, TimedMedium::new(&part, &timing()).unwrap());
    let tenths = |bytes: usize| (bytes - before) * 10 / LOGICAL as usize;
    let built = tenths(MEMORY.current_usage());
    let mut host = Seed::new(1).stream("host");
    random(&mut ftl, &mut host, Instant::ZERO, u64::from(LOGICAL) * 4);
    let most = tenths(MEMORY.peak_usage());
    let point = |tenths: usize| format!("{}.{}", tenths / 10, tenths % 10);
    eprintln!("memory: {} bytes a mapped page, {} at most", point(built), point(most));
}

/// 700,349,824 pages of 16 KiB, round and round in 1.0687 GiB of 14.4.
fn experiment_1(criterion: &mut Criterion) {
    const REGION: u32 = 70_035;
    let stripe = Stripe { channels: 1, dies: 1, planes: 2, units: 1 };
    let part = Geometry::new(1_325, 768, Bytes::kib(16), 943_718).unwrap();
    let part = part.striped(stripe).unwrap();
    let mut group = criterion.benchmark_group("experiment 1");
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    group.sample_size(10).throughput(Throughput::Elements(700_349_824));
    group.bench_function("timed", |bencher| {
        bencher.iter(|| {
            let medium = TimedMedium::new(&part, &timing()).unwrap();
            let mut ftl = layer(part, Collection::Greedy, medium);
            let (mut now, mut first) = (Instant::ZERO, 0);
            while ftl.counters().written < 700_349_824 {
                let count = 64.min(REGION - first);
                now = ftl.write(now, Extent::new(first, count)).unwrap().accepted;
                first = (first + count) % REGION;
            }
            now
        });
    });
    eprintln!("memory: {} kB at most", (MEMORY.peak_usage() - before) / 1_000);
    group.finish();
}

criterion_group!(benches, memory, untimed, timed, linear, experiment_1);
criterion_main!(benches);
