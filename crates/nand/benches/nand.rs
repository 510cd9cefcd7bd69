//! Wall time of the whole path: driver, codes, port, chip, cells.
//!
//! The write path of a filesystem must reach 60 MB of host data a second, so this layer has to be well
//! above: the target is 300 MB a second for programs and reads of whole pages with Hamming codes.

#![allow(missing_docs, reason = "criterion's macros make public items")]

#[path = "../tests/rig/mod.rs"]
mod rig;

use boardlab_codec::hamming::Step;
use boardlab_media::{CellKind, ErrorRates};
use boardlab_mtd::Mtd;
use boardlab_nand::ecc::Code;
use boardlab_nand::{Nand, Profile};
use boardlab_sim::{Bytes, Clock};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const SIZE: usize = 8 << 20;

fn device(code: Code, errors: bool) -> (Nand, Clock) {
    let part = if matches!(code, Code::Bch { .. }) { rig::mlc(32) } else { rig::large(128) };
    let profile = Profile::with(&part, code, false).expect("the code fits");
    let rates = errors.then(|| ErrorRates::typical(CellKind::Slc));
    rig::nand_with(part, profile, &rig::setup(1, rates))
}

fn path(criterion: &mut Criterion) {
    let data: Vec<u8> = (0..=255).cycle().take(SIZE).collect();
    let hamming = Code::Hamming(Step::Bytes256);
    for (name, code, errors) in [
        ("none", Code::None, false),
        ("hamming", hamming, false),
        ("hamming, errors on", hamming, true),
        ("bch 8", Code::Bch { step: 512, bits: 8 }, false),
    ] {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10).throughput(Throughput::Bytes(SIZE as u64));
        let (nand, clock) = device(code, errors);
        group.bench_function("program", |bencher| {
            bencher.iter(|| {
                let (mut nand, mut clock) = (nand.clone(), clock.clone());
                nand.program(&mut clock, Bytes::ZERO, black_box(&data)).expect("a sound chip");
                nand.counts().programs
            });
        });
        let (mut nand, mut clock) = (nand, clock);
        nand.program(&mut clock, Bytes::ZERO, &data).expect("a sound chip");
        let mut back = vec![0; SIZE];
        group.bench_function("read", |bencher| {
            bencher.iter(|| nand.read(&mut clock, Bytes::ZERO, black_box(&mut back)));
        });
        group.bench_function("read 68 of each page", |bencher| {
            bencher.iter(|| {
                let mut header = [0; 68];
                for page in 0..SIZE as u64 / 2_048 {
                    let _ = nand.read(&mut clock, Bytes::new(page * 2_048), &mut header);
                }
                header
            });
        });
        group.finish();
    }
}

fn fork(criterion: &mut Criterion) {
    let (mut nand, mut clock) = rig::nand(rig::large(2_048));
    let data = vec![0x55; 96 << 20];
    nand.program(&mut clock, Bytes::ZERO, &data).expect("a sound chip");
    criterion.bench_function("fork of 256 MiB, 96 of them full", |bencher| {
        bencher.iter(|| black_box(&nand).clone());
    });
}

criterion_group!(benches, path, fork);
criterion_main!(benches);
