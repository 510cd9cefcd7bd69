//! Requests a second of wall time: jobs of fio on a device in memory, contents left out.
//!
//! The target is a few million requests a second on one core, so that an experiment of 10,000 runs is a
//! matter of seconds.

#![allow(missing_docs, reason = "criterion's macros make public items")]

use boardlab_block::{Costs, Geometry, RamBlock};
use boardlab_sim::{Bytes, Clock, Duration};
use boardlab_workload::fio::{Host, JobFile, parse_arguments, run};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const REQUESTS: u64 = 1_000_000;

fn job(options: &str) -> JobFile {
    let fixed = format!("--name=j --filename=/dev/x --direct=1 --size=16g --number_ios={REQUESTS}");
    let words = fixed.split(' ').chain(options.split(' ')).map(str::to_owned);
    parse_arguments(&words.collect::<Vec<_>>()).expect("a good job")
}

fn jobs(criterion: &mut Criterion) {
    let each = Duration::from_micros(80);
    let costs = Costs { read: each, write: each, lanes: 8, ..Costs::default() };
    let geometry = Geometry { depth: 32, ..Geometry::of_size(Bytes::mib(16 << 10)) };
    for (name, options) in [
        ("sequential writes, depth 1", "--rw=write"),
        ("random writes, depth 1", "--rw=randwrite"),
        ("random writes, depth 32", "--rw=randwrite --ioengine=libaio --iodepth=32"),
        (
            "random mix by Zipf, depth 4",
            "--rw=randrw --random_distribution=zipf:1.2 --ioengine=libaio --iodepth=4",
        ),
    ] {
        let file = job(options);
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10).throughput(Throughput::Elements(REQUESTS));
        group.bench_function("ram", |bencher| {
            bencher.iter(|| {
                let device = RamBlock::new(geometry.clone());
                let mut device = device.without_contents().with_costs(costs);
                let result = run(&mut device, &mut Clock::new(), &file, &Host::default());
                black_box(result.expect("it runs"))
            });
        });
        group.finish();
    }
}

criterion_group!(benches, jobs);
criterion_main!(benches);
