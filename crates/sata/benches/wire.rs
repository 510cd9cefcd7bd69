//! CRC and scrambler by the longest frame: what the dword engine pays at each end for each dword.
//!
//! Target: each at least 200 million dwords/s one by one, so that four of them leave the engine its 40
//! million.

use boardlab_sata::wire::crc::crc;
use boardlab_sata::wire::{Crc, Scrambler, frame, scrambler};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

fn wire(criterion: &mut Criterion) {
    let mut words: Vec<u32> = (0..).take(scrambler::FRAME).collect();
    let mut group = criterion.benchmark_group("2,050 dwords");
    group.throughput(Throughput::Elements(scrambler::FRAME as u64));
    group.bench_function("crc of a slice", |bencher| bencher.iter(|| crc(black_box(&words))));
    group.bench_function("crc dword by dword", |bencher| {
        bencher.iter(|| {
            let mut crc = Crc::new();
            black_box(&words).iter().for_each(|&word| crc.update(black_box(word)));
            crc
        });
    });
    group.bench_function("scramble a slice", |bencher| {
        bencher.iter(|| Scrambler::new().apply(black_box(&mut words)));
    });
    group.bench_function("scramble dword by dword", |bencher| {
        bencher.iter(|| {
            let mut scrambler = Scrambler::new();
            black_box(&words).iter().fold(0, |sum, &word| sum ^ black_box(word ^ scrambler.key()))
        });
    });
    group.bench_function("key stream step by step", |bencher| {
        bencher.iter(|| (0..scrambler::FRAME).fold(u32::MAX, |last, _| scrambler::step(last)));
    });
    group.bench_function("check a received frame", |bencher| {
        let mut sealed = words[..scrambler::FRAME - 1].to_vec();
        frame::encode(&mut sealed);
        let mut received = sealed.clone();
        bencher.iter(|| {
            received.copy_from_slice(black_box(&sealed));
            frame::decode(&mut received).is_ok()
        });
    });
    group.finish();
}

criterion_group!(benches, wire);
criterion_main!(benches);
