//! The write path through the page cache onto a NAND in memory; mount and list.
//!
//! Targets: at least 150 MB/s; a flash of 64 MiB with 3,000 files is mounted and listed in 40 ms by a scan, and in
//! 15 ms by its checkpoint. A copy of the same bytes runs beside, for machines differ.

use boardlab_mtd::RamMtd;
use boardlab_sim::{Bytes, Clock, Seed};
use boardlab_vfs::{Kind, Mount};
use boardlab_yaffs2::{Options, Yaffs};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const SIZE: usize = 16 << 20;
const CALL: usize = 65_536;
const FILES: u32 = 3_000;

type Mounted = Mount<Yaffs<RamMtd>>;

/// An empty filesystem on a flash of 64 MiB.
fn empty() -> (Mounted, Clock) {
    let mut clock = Clock::new();
    let flash = RamMtd::nand(512, 64, Bytes::new(2_048), Bytes::new(62));
    let fs = Yaffs::mount(&mut clock, flash, Options::default()).expect("an erased flash");
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
    Seed::new(1).stream("yaffs2.bench").fill(&mut data);
    group.bench_function("random", |bencher| {
        bencher.iter_batched(
            empty,
            |(mount, clock)| black_box(write(mount, clock, &data)),
            BatchSize::PerIteration,
        );
    });
    group.bench_function("copy of the same bytes", |bencher| {
        bencher.iter(|| black_box(data.clone()));
    });
    group.finish();
}

/// A flash with many files in directories of a hundred.
fn filled() -> RamMtd {
    let (mut mount, mut clock) = empty();
    for file in 0..FILES {
        let dir = format!("/{}", file / 100);
        if file % 100 == 0 {
            mount.mkdir(&mut clock, &dir, 0o755).expect("there is space");
        }
        let name = format!("{dir}/{file}");
        let fd = mount.create(&mut clock, &name, 0o644).expect("there is space");
        let mut data = vec![0; 12_000];
        Seed::new(u64::from(file)).stream("yaffs2.bench").fill(&mut data);
        mount.write(&mut clock, fd, 0, &data).expect("there is space");
        mount.close(&mut clock, fd).expect("an open file");
    }
    mount.unmount(&mut clock).expect("there is space");
    mount.into_fs().into_device()
}

fn list(flash: RamMtd, read_checkpoint: bool) -> usize {
    let mut clock = Clock::new();
    let options = Options { read_only: true, read_checkpoint, ..Options::default() };
    let fs = Yaffs::mount(&mut clock, flash, options).expect("a clean filesystem");
    assert_eq!(fs.is_checkpointed(), read_checkpoint);
    let mut mount = Mount::new(fs);
    let mut found = 0;
    for dir in mount.readdir(&mut clock, "/").expect("the root") {
        let path = [b"/", dir.name.as_slice()].concat();
        for entry in mount.readdir(&mut clock, &path).expect("a directory") {
            let file = [path.as_slice(), b"/", entry.name.as_slice()].concat();
            let attributes = mount.lstat(&mut clock, &file).expect("a file");
            found += usize::from(attributes.kind == Kind::File);
        }
    }
    found
}

fn mount_list(criterion: &mut Criterion) {
    let flash = filled();
    let mut group = criterion.benchmark_group("64 MiB, 3,000 files");
    group.sample_size(20);
    for way in ["scan", "checkpoint"] {
        group.bench_function(BenchmarkId::new("mount, list", way), |bencher| {
            bencher.iter_batched(
                || flash.clone(),
                |flash| assert_eq!(list(black_box(flash), way == "checkpoint"), 3_000),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, throughput, mount_list);
criterion_main!(benches);
