//! The codecs by the page: what a filesystem and a driver pay for each.
//!
//! Targets: Hamming at least 1 GB/s; zlib and rtime together, both trying a random page in vain, at
//! least 90 MB/s, so that JFFS2 can write 60 MB/s of incompressible data.

use boardlab_codec::hamming::Step;
use boardlab_codec::zlib::{Inflate, Jffs2Deflate, RawDeflate};
use boardlab_codec::{Bch, crc32, hamming, lzo, rtime, zstd};
use boardlab_sim::Seed;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const PAGE: usize = 4096;

fn random(length: usize) -> Vec<u8> {
    let mut data = vec![0; length];
    Seed::new(1).stream("codec").fill(&mut data);
    data
}

/// Pages of one kind, all different where the kind allows it.
fn pages(kind: &str) -> Vec<Vec<u8>> {
    let mut pages: Vec<_> = random(64 * PAGE).chunks(PAGE).map(<[u8]>::to_vec).collect();
    for page in &mut pages {
        match kind {
            "zero" => page.fill(0),
            "half" => page[PAGE / 2..].fill(0),
            "text" => page.iter_mut().for_each(|byte| *byte = b'a' + *byte % 16),
            _ => {}
        }
    }
    pages
}

fn compressors(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("compress 4 KiB");
    group.throughput(Throughput::Bytes(PAGE as u64));
    for kind in ["random", "half", "text", "zero"] {
        let pages = pages(kind);
        let mut output = vec![0; 2 * PAGE];
        let (mut zlib, mut raw, mut lzo, mut zstd) =
            (Jffs2Deflate::new(), RawDeflate::ubifs(), lzo::Lzo::new(), zstd::Compressor::new());
        let mut next = pages.iter().cycle();
        group.bench_function(BenchmarkId::new("zlib", kind), |bencher| {
            bencher.iter(|| zlib.compress(next.next().expect("a cycle"), &mut output[..PAGE]));
        });
        group.bench_function(BenchmarkId::new("rtime", kind), |bencher| {
            bencher.iter(|| rtime::compress(next.next().expect("a cycle"), &mut output[..PAGE]));
        });
        group.bench_function(BenchmarkId::new("zlib, then rtime", kind), |bencher| {
            bencher.iter(|| {
                let page = next.next().expect("a cycle");
                zlib.compress(page, &mut output[..PAGE])
                    .or_else(|| rtime::compress(page, &mut output[..PAGE]))
            });
        });
        group.bench_function(BenchmarkId::new("lzo", kind), |bencher| {
            bencher.iter(|| lzo.compress(next.next().expect("a cycle"), &mut output));
        });
        group.bench_function(BenchmarkId::new("raw", kind), |bencher| {
            bencher.iter(|| raw.compress(next.next().expect("a cycle"), &mut output));
        });
        group.bench_function(BenchmarkId::new("zstd", kind), |bencher| {
            bencher.iter(|| zstd.compress(next.next().expect("a cycle"), &mut output));
        });
    }
    group.finish();
}

fn decompressors(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("decompress 4 KiB");
    group.throughput(Throughput::Bytes(PAGE as u64));
    for kind in ["half", "text", "zero"] {
        let page = &pages(kind)[0];
        let (mut stream, mut back) = (vec![0; 2 * PAGE], vec![0; PAGE]);
        let done = Jffs2Deflate::new().compress(page, &mut stream).expect("shrinks");
        let mut inflate = Inflate::new();
        group.bench_function(BenchmarkId::new("zlib", kind), |bencher| {
            bencher.iter(|| inflate.jffs2(&stream[..done.produced], &mut back));
        });
        if let Some(done) = rtime::compress(page, &mut stream) {
            group.bench_function(BenchmarkId::new("rtime", kind), |bencher| {
                bencher.iter(|| rtime::decompress(&stream[..done.produced], &mut back));
            });
        }
        let length = lzo::Lzo::new().compress(page, &mut stream).expect("room for the worst case");
        group.bench_function(BenchmarkId::new("lzo", kind), |bencher| {
            bencher.iter(|| lzo::decompress(&stream[..length], &mut back));
        });
        group.bench_function(BenchmarkId::new("lzo, by lzokay", kind), |bencher| {
            bencher.iter(|| lzokay::decompress::decompress(&stream[..length], &mut back));
        });
        let length = zstd::Compressor::new().compress(page, &mut stream).expect("room for it");
        let mut unzstd = zstd::Decompressor::new();
        group.bench_function(BenchmarkId::new("zstd", kind), |bencher| {
            bencher.iter(|| unzstd.decompress(&stream[..length], &mut back));
        });
    }
    group.finish();
}

fn codes(criterion: &mut Criterion) {
    let data = random(512);
    let mut group = criterion.benchmark_group("code");
    for (name, step) in [("hamming 256", Step::Bytes256), ("hamming 512", Step::Bytes512)] {
        group.throughput(Throughput::Bytes(step.bytes() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| hamming::calculate(step, black_box(&data[..step.bytes()])));
        });
    }
    group.throughput(Throughput::Bytes(PAGE as u64));
    let page = random(PAGE);
    group.bench_function("crc32 4096", |bencher| bencher.iter(|| crc32(0, black_box(&page))));
    group.throughput(Throughput::Bytes(64));
    group.bench_function("crc32 64", |bencher| bencher.iter(|| crc32(0, black_box(&page[..64]))));
    group.finish();
}

fn bch(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("BCH of 512 bytes");
    group.throughput(Throughput::Bytes(512));
    for strength in [4, 8] {
        let bch = Bch::linux(512, strength).expect("fits");
        let mut data = random(512);
        let mut code = vec![0; bch.code_bytes()];
        group.bench_function(BenchmarkId::new("encode", strength), |bencher| {
            bencher.iter(|| bch.encode(black_box(&data), &mut code));
        });
        for errors in [0, 1, 2, strength as usize] {
            let name = BenchmarkId::new(format!("decode {errors} errors"), strength);
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    flip(&mut data, errors);
                    bch.decode(black_box(&mut data), &code)
                });
            });
        }
    }
    group.finish();
}

/// Flips as many bits, far from each other; decoding flips them back.
fn flip(data: &mut [u8], errors: usize) {
    for error in 0..errors {
        data[error * 60 + 7] ^= 0x10;
    }
}

criterion_group!(benches, compressors, decompressors, codes, bch);
criterion_main!(benches);
