//! Requests a second of wall time on a device in memory: the floor below every workload.
//!
//! The target is ten million requests a second, so that the device never is what a workload waits for.

#![allow(missing_docs, reason = "criterion's macros make public items")]

use boardlab_block::{
    BlockDevice, Costs, Extent, Geometry, Noise, Payload, RamBlock, Request, Stats,
};
use boardlab_sim::{Bytes, Duration, Instant};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const REQUESTS: u64 = 1_000_000;

fn writes<D: BlockDevice>(mut device: D) -> Instant {
    let blocks = device.geometry().count;
    let mut last = Instant::ZERO;
    for number in 0..REQUESTS {
        let extent = Extent::new(number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (blocks / 8) * 8, 8);
        let data = Payload::Noise(Noise::new(number));
        let request = Request::Write { extent, data, durable: false };
        last = device.submit(last, request).expect("within the device").ended;
    }
    last
}

fn ram(criterion: &mut Criterion) {
    let write = Duration::from_micros(100);
    let geometry = Geometry { depth: 32, ..Geometry::of_size(Bytes::mib(1_024)) };
    let device = |lanes| {
        RamBlock::new(geometry.clone()).with_costs(Costs { write, lanes, ..Costs::default() })
    };
    let mut group = criterion.benchmark_group("4 KiB writes");
    group.sample_size(10).throughput(Throughput::Elements(REQUESTS));
    group.bench_function("time only", |bencher| {
        bencher.iter(|| black_box(writes(device(1).without_contents())));
    });
    group.bench_function("described contents", |bencher| {
        bencher.iter(|| black_box(writes(device(1))));
    });
    group.bench_function("counted", |bencher| {
        bencher.iter(|| black_box(writes(Stats::over(device(8).without_contents()))));
    });
    group.finish();
}

criterion_group!(benches, ram);
criterion_main!(benches);
