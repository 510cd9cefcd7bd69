//! The write path through the page cache onto a NAND in memory; mount; mount and list.
//!
//! Targets: at least 150 MB/s; a mount in 5 ms whatever the size of the flash; 3,000 files listed in 40 ms. A copy of
//! the same bytes runs beside, for machines differ.

use boardlab_logfs::mkfs::Format;
use boardlab_logfs::{Logfs, Options};
use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::{Kind, Mount};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const SIZE: usize = 16 << 20;
const CALL: usize = 65_536;
const FILES: u32 = 3_000;

type Mounted = Mount<Logfs<RamMtd>>;

/// An empty filesystem on a flash of blocks of 128 KiB.
fn empty(blocks: u32, compress: bool) -> (Mounted, Clock) {
    let mut clock = Clock::new();
    let mut flash = RamMtd::nand(blocks, 64, Bytes::new(2_048), Bytes::new(64));
    let format = Format { compress, ..Format::default() };
    format.make(&mut clock, &mut flash).expect("an erased flash");
    let fs = Logfs::mount(&mut clock, flash, Options::default()).expect("a new filesystem");
    (Mount::new(fs), clock)
}

fn write(mut mount: Mounted, mut clock: Clock, data: &[u8]) -> Mounted {
    let fd = mount.create(&mut clock, "/file", 0o644).expect("an empty filesystem");
    for (index, piece) in data.chunks(CALL).enumerate() {
        mount.write(&mut clock, fd, (index * CALL) as u64, piece).expect("there is space");
    }
    mount.fsync(&mut clock, fd).expect("there is space");
    mount
}

fn throughput(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("write 16 MiB");
    group.throughput(Throughput::Bytes(SIZE as u64)).sample_size(10);
    let mut data = vec![0; SIZE];
    Seed::new(1).stream("logfs.bench").fill(&mut data);
    for (name, compress) in [("random", false), ("random, zlib", true)] {
        group.bench_function(name, |bencher| {
            bencher.iter_batched(
                || empty(512, compress),
                |(mount, clock)| black_box(write(mount, clock, &data)),
                BatchSize::PerIteration,
            );
        });
    }
    group.bench_function("copy of the same bytes", |bencher| {
        bencher.iter(|| black_box(data.clone()));
    });
    group.finish();
}

/// A flash with many files in directories of a hundred.
fn filled(blocks: u32) -> RamMtd {
    let (mut mount, mut clock) = empty(blocks, false);
    for file in 0..FILES {
        let dir = format!("/{}", file / 100);
        if file % 100 == 0 {
            mount.mkdir(&mut clock, &dir, 0o755).expect("there is space");
        }
        let name = format!("{dir}/{file}");
        let fd = mount.create(&mut clock, &name, 0o644).expect("there is space");
        let mut data = vec![0; 12_000];
        Seed::new(u64::from(file)).stream("logfs.bench").fill(&mut data);
        mount.write(&mut clock, fd, 0, &data).expect("there is space");
        mount.close(&mut clock, fd).expect("an open file");
    }
    mount.unmount(&mut clock).expect("there is space");
    mount.into_fs().into_device()
}

fn mount(flash: RamMtd) -> (Mounted, Clock) {
    let mut clock = Clock::new();
    let fs = Logfs::mount(&mut clock, flash, Options::default()).expect("a clean filesystem");
    (Mount::new(fs), clock)
}

fn list((mut mount, mut clock): (Mounted, Clock)) -> Mounted {
    let mut found = 0;
    for dir in mount.readdir(&mut clock, "/").expect("the root") {
        let path = [b"/", dir.name.as_slice()].concat();
        for entry in mount.readdir(&mut clock, &path).expect("a directory") {
            let file = [path.as_slice(), b"/", entry.name.as_slice()].concat();
            let attributes = mount.lstat(&mut clock, &file).expect("a file");
            found += usize::from(attributes.kind == Kind::File);
        }
    }
    assert_eq!(found, 3_000);
    mount
}

fn mount_list(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("3,000 files");
    group.sample_size(20);
    for blocks in [512, 2_048, 8_192, 65_536] {
        let flash = filled(blocks);
        let size = Bytes::kib(128) * u64::from(blocks);
        group.bench_function(BenchmarkId::new("mount", size), |bencher| {
            bencher.iter_batched(
                || flash.clone(),
                |flash| mount(black_box(flash)),
                BatchSize::PerIteration,
            );
        });
        if blocks == 512 {
            group.bench_function(BenchmarkId::new("mount, list", size), |bencher| {
                bencher.iter_batched(
                    || flash.clone(),
                    |flash| list(mount(black_box(flash))),
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, throughput, mount_list);
criterion_main!(benches);
