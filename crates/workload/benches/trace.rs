//! Lines of a trace a second, read and replayed.
//!
//! The target is a million lines a second on one core.

#![allow(missing_docs, reason = "criterion's macros make public items")]

use boardlab_block::{Costs, Geometry, RamBlock};
use boardlab_sim::{Bytes, Clock, Duration, Seed};
use boardlab_workload::trace::{
    BeyondEnd, Format, Options, Pace, Reader, Reading, UnalignedPolicy, replay,
};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::fmt::Write as _;

const LINES: u64 = 1_000_000;

/// Four lines a request, as blkparse prints them for a device that merges little.
fn blkparse() -> String {
    let (mut text, mut random) = (String::new(), Seed::new(1).stream("trace"));
    for line in 0..LINES {
        let (nanos, action) = (line * 10_000, ["Q", "G", "D", "C"][(line % 4) as usize]);
        let (seconds, rest) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
        let sector = random.below(1 << 24) * 8;
        let _ = writeln!(
            text,
            "  8,0    3 {line:8} {seconds:5}.{rest:09}   697  {action} WFS {sector} + 8 [kjournald]"
        );
    }
    text
}

fn msr() -> String {
    let (mut text, mut random) = (String::new(), Seed::new(1).stream("trace"));
    for line in 0..LINES {
        let (time, offset) = (128_166_372_003_061_629 + line * 100, random.below(1 << 24) * 4_096);
        let _ = writeln!(text, "{time},hm,1,Write,{offset},4096,1331");
    }
    text
}

fn traces(criterion: &mut Criterion) {
    for (name, text) in [("blkparse", blkparse()), ("msr", msr())] {
        let reading = Reading::of(Format::detect(text.as_bytes()));
        let reader = || Reader::new(text.as_bytes(), name, reading.clone());
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10).throughput(Throughput::Elements(LINES));
        group.bench_function("read", |bencher| {
            bencher
                .iter(|| reader().map(|one| one.expect("a good line").length.get()).sum::<u64>());
        });
        let (beyond, ragged, pace) = (BeyondEnd::Wrap, UnalignedPolicy::Refuse, Pace::Recorded);
        let options = Options { pace, beyond, ragged, data: 1, file: name.into() };
        group.bench_function("replay", |bencher| {
            bencher.iter(|| {
                let write = Duration::from_micros(20);
                let costs = Costs { write, ..Costs::default() };
                let device = RamBlock::new(Geometry::of_size(Bytes::mib(16 << 10)));
                let mut device = device.with_costs(costs).without_contents();
                replay(&mut device, &mut Clock::new(), reader(), &options).expect("it fits")
            });
        });
    }
}

criterion_group!(benches, traces);
criterion_main!(benches);
